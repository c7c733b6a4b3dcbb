"""The accelerator of this machine, as far as ``torch.profiler`` records what it does."""

from __future__ import annotations

import os
from typing import Any, Literal

AcceleratorKind = Literal["cuda", "xpu"]
_WITHOUT_A_CONTEXT = "PYTORCH_NVML_BASED_CUDA_CHECK"


def accelerator() -> AcceleratorKind | None:
    """What there is, without touching it: a process that has used CUDA cannot fork workers that use it."""
    import torch

    before = os.environ.get(_WITHOUT_A_CONTEXT)
    os.environ[_WITHOUT_A_CONTEXT] = "1"
    try:
        if torch.cuda.is_available():
            return "cuda"
    finally:
        if before is None:
            del os.environ[_WITHOUT_A_CONTEXT]
        else:
            os.environ[_WITHOUT_A_CONTEXT] = before
    xpu = getattr(torch, "xpu", None)
    return "xpu" if xpu is not None and xpu.is_available() else None


def streams_of(kind: AcceleratorKind) -> Any:
    """The module with the streams, events and memory of an accelerator: ``torch.cuda`` or ``torch.xpu``."""
    import torch

    return getattr(torch, kind)


def activity_of(kind: AcceleratorKind) -> Any:
    """What ``torch.profiler`` calls the accelerator's part of a trace."""
    from torch.profiler import ProfilerActivity

    return getattr(ProfilerActivity, kind.upper())
