"""What to change where descriptors or shared memory run short or leak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.probe.host.descriptors import SEGMENT, TORCH
from pytest_dataloader.probe.resources.forecast import HANDED_OVER
from pytest_dataloader.probe.resources.leaks import NAMES
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_dataloader.checks.fds import Fds
    from pytest_dataloader.checks.shm import Shm
    from pytest_dataloader.probe.resources.leaks import Leak

_MANY = 8
"""Tensors a batch from which their number, not that of workers, is what to lower."""

_SHOWN = 2
_LISTED = 50
_UNLINK = "close() and unlink() what multiprocessing.shared_memory makes"


def of_descriptors(evidence: Fds) -> tuple[Advice, ...]:
    """Advice on a loader that leaks descriptors, or may need more of them than there are."""
    return tuple(_of_descriptors(evidence))


def _of_descriptors(evidence: Fds) -> Iterator[Advice]:
    yield from _of_leaks(evidence.leaks)
    if evidence.handed_to_worker > HANDED_OVER:
        yield Advice("", "keep the dataset's tensors as one (torch.stack, torch.cat): each costs a descriptor")
    worst = max(evidence.predicted_main_peak, evidence.predicted_worker_peak)
    if worst <= evidence.limit:
        return
    if not evidence.shortage:
        yield Advice("", f"up to {worst} descriptors where one worker lags, and the limit is {evidence.limit}")
    if evidence.storages_per_batch >= _MANY:
        yield Advice(
            "", f"{evidence.storages_per_batch} tensors a batch: stack them in collate_fn, or send numpy arrays"
        )
    yield Advice("", "lower num_workers or prefetch_factor, or raise the limit (ulimit -n)")


def _of_leaks(leaks: tuple[Leak, ...]) -> Iterator[Advice]:
    torch = [leak for leak in leaks if leak.sort == TORCH or (leak.sort == NAMES and leak.example.startswith("torch_"))]
    if any(leak.where != "a worker" for leak in torch):
        yield Advice("DL305", "keep a copy (.clone()) or numbers (.tolist()) of a batch that outlives its step")
    if any(leak.where == "a worker" for leak in torch):
        yield Advice("", "keep no tensor that share_memory_() has moved for each sample")
    if any(leak.sort in (SEGMENT, NAMES) and leak not in torch for leak in leaks):
        yield Advice("", _UNLINK)
    if any(leak.sort not in (TORCH, SEGMENT, NAMES) for leak in leaks):
        yield Advice("", "close what is opened for each sample, or open it once in each worker and keep it")


def of_segments(evidence: Shm) -> tuple[Advice, ...]:
    """Advice on a loader that leaves shared memory behind, or needs more of it than there is."""
    return tuple(_of_segments(evidence))


def left_behind(evidence: Shm) -> str:
    """What is left of shared memory, in words."""
    parts = [f"shared memory stays open: {'; '.join(map(str, evidence.leaks))}"] if evidence.leaks else []
    if evidence.kept_by:
        parts.append(f"kept by {', '.join(map(str, evidence.kept_by))}")
    if evidence.names:
        why = "epochs that are left early leave" if evidence.left_early else "the workers have ended and there are"
        parts.append(
            f"{why} {len(evidence.names)} segments in /dev/shm, {evidence.leaked_bytes:,} bytes: {_few(evidence.names)}"
        )
    return "; ".join(parts)


def _few(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:_SHOWN])}{', ...' if len(names) > _SHOWN else ''}"


def _of_segments(evidence: Shm) -> Iterator[Advice]:
    yield from _of_leaks(evidence.leaks)
    if evidence.names:
        if evidence.left_early and any(name.startswith("torch_") for name in evidence.names):
            yield Advice(
                "DL208",
                "leave the sharing strategy at file_descriptor, or keep the workers (persistent_workers=True): with "
                "file_system, what an epoch has not handed out stays until this process ends",
            )
        yield removal(evidence.names)
    most = max(evidence.predicted_peak_bytes, evidence.peak_bytes)
    if (evidence.capacity_bytes and most > evidence.capacity_bytes) or evidence.exhausted:
        yield Advice(
            "",
            "lower num_workers, prefetch_factor or the batch's size, or give /dev/shm more (docker run --shm-size=2g)",
        )


def removal(names: Sequence[str]) -> Advice:
    """An offer: the exact names, which nobody removes unasked."""
    listed = " ".join(f"/dev/shm/{name}" for name in names[:_LISTED])
    more = f" (and {len(names) - _LISTED} more, in the evidence's names)" if len(names) > _LISTED else ""
    return Advice("", f"they can be removed by hand once nothing uses them: rm {listed}{more}")
