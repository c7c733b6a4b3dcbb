"""What to say of shared memory that is left behind, and what to change where it runs short or leaks; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.advice.resources import about_leaks, removal
from pytest_dataloader.quantities import counted, size
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.probe.resources.evidence import Shm

_SHOWN = 2
_MUCH_BYTES = 1_000_000
"""Of a batch, from which it is told that no tensor shows them, where that is half of what it carries."""


def describe_segments_left(evidence: Shm) -> str:
    """What is left of shared memory, in words."""
    parts = [f"leaks {leak}" for leak in evidence.leaks]
    if evidence.kept_by:
        parts.append(f"kept by {', '.join(map(str, evidence.kept_by))}")
    if evidence.names:
        when = "by epochs that ended early" if evidence.left_early else "by workers that have ended"
        left = f"{counted(len(evidence.names), 'segment')} ({size(evidence.leaked_bytes)}) left in /dev/shm"
        parts += [f"{left} {when}", f"named {_few(evidence.names)}"]
    return "\n".join(parts)


def describe_views(evidence: Shm) -> str:
    """How much of what a batch carries its tensors do not show; empty where that is little."""
    if not _are_views(evidence):
        return ""
    shown = size(evidence.batch_bytes - evidence.unshown_bytes)
    return f"\na batch sends {size(evidence.batch_bytes)}, its tensors are views of {shown} of it"


def _are_views(evidence: Shm) -> bool:
    return evidence.unshown_bytes >= max(_MUCH_BYTES, evidence.batch_bytes / 2)


def _few(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:_SHOWN])}{', ...' if len(names) > _SHOWN else ''}"


def advice(evidence: Shm) -> tuple[Advice, ...]:
    """Advice on a loader that leaves shared memory behind, or needs more of it than there is."""
    return tuple(_advice(evidence))


def _advice(evidence: Shm) -> Iterator[Advice]:
    yield from about_leaks(evidence.leaks)
    if _are_views(evidence):
        yield Advice("", "return tensor.clone() of a view: a view sends its whole storage")
    if evidence.names:
        if evidence.left_early and any(name.startswith("torch_") for name in evidence.names):
            yield Advice(
                "DL208",
                'torch.multiprocessing.set_sharing_strategy("file_descriptor"), or persistent_workers=True: '
                "file_system keeps the batches of an epoch that ends early until this process ends",
            )
        yield removal(evidence.names)
    most = max(evidence.predicted_peak_bytes, evidence.peak_bytes)
    if (evidence.capacity_bytes and most > evidence.capacity_bytes) or evidence.exhausted:
        if evidence.uint8_saves_bytes >= evidence.batch_bytes / 2 > 0:
            narrow = size(evidence.batch_bytes - evidence.uint8_saves_bytes)
            text = f"return images as uint8 and convert them on the device: a batch of {narrow}"
            yield Advice("", f"{text} instead of {size(evidence.batch_bytes)}")
        yield Advice(
            "",
            "lower num_workers, prefetch_factor or batch_size, or enlarge /dev/shm (docker run --shm-size=2g)",
        )
