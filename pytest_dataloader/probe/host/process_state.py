"""The modes and defaults of a process that a loader may change for the training loop that iterates it."""

from __future__ import annotations

from pathlib import Path


def process_state() -> dict[str, str]:
    """What holds for the whole process or this thread, by name."""
    import torch

    return {
        "gradients": "on" if torch.is_grad_enabled() else "off",
        "inference mode": "on" if torch.is_inference_mode_enabled() else "off",
        "autocast": "on" if torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda") else "off",
        "the default dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "torch's number of threads": str(torch.get_num_threads()),
        "the working directory": _working_directory(),
    }


def changes_since(before: dict[str, str]) -> tuple[str, ...]:
    """What has changed, in words."""
    now = process_state()
    return tuple(f"{name} from {old} to {now[name]}" for name, old in before.items() if now[name] != old)


def _working_directory() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it has been removed
        return ""
