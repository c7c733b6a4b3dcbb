"""What is said alike of descriptors and of shared memory: leaks, leftovers, and how much of a loader was seen; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.probe.host import segments
from pytest_dataloader.probe.host.descriptors import SEGMENT, TORCH, kind
from pytest_dataloader.probe.resources.leaks import NAMED_SEGMENT
from pytest_dataloader.probe.resources.usage import TELLING_ROUNDS
from pytest_dataloader.quantities import counted, size
from pytest_dataloader.verdict import Advice, Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_dataloader.probe.resources.evidence import ResourceUse
    from pytest_dataloader.probe.resources.leaks import Leak
    from pytest_dataloader.probe.resources.leftovers import Leftovers

_LISTED = 50
_SHOWN = 5
_UNLINK = "call close() and unlink() on each multiprocessing.shared_memory.SharedMemory"


def about_leaks(leaks: Sequence[Leak]) -> Iterator[Advice]:
    """What to change where things stay open, by what they are."""
    if any(leak.per == "epoch that is left early" for leak in leaks):
        yield Advice("", "stop the prefetcher when its loop ends early: a generator's finally, or close()")
        return
    torch = [
        leak
        for leak in leaks
        if leak.sort == TORCH or (leak.sort == NAMED_SEGMENT and leak.example.startswith("torch_"))
    ]
    if any(leak.where != "a worker" for leak in torch):
        yield Advice("DL305", "keep copies (tensor.clone(), .tolist()) beyond a step, not the batch's own tensors")
    if any(leak.where == "a worker" for leak in torch):
        yield Advice("", "remove share_memory_() from what reads a sample: the loader shares each batch by itself")
    if any(leak.sort in (SEGMENT, NAMED_SEGMENT) and leak not in torch for leak in leaks):
        yield Advice("", _UNLINK)
    files = [leak for leak in leaks if leak.sort not in (TORCH, SEGMENT, NAMED_SEGMENT)]
    often = [leak.sort for leak in files if leak.per != "epoch"]
    if "file" in often:
        yield Advice("", "close each file after its sample (with open(path) as file), or open it once per worker")
    elif often:
        yield Advice("", f"close each {often[0]} after its sample, or open it once per worker")
    elif files:
        yield Advice("", "close it when the epoch ends: use with open(...) in __iter__, or open it once for all epochs")


def removal(names: Sequence[str]) -> Advice:
    """An offer: the exact names, which nobody removes unasked."""
    listed = " ".join(f"/dev/shm/{name}" for name in names[:_LISTED])
    more = f" (and {len(names) - _LISTED} more, in the evidence's names)" if len(names) > _LISTED else ""
    return Advice("", f"remove them once no process uses them: rm {listed}{more}")


def leftovers(left: Leftovers) -> list[str]:
    """Each sort of thing that a stretch of code left behind, with names."""
    found = []
    if left.workers:
        pids = ", ".join(str(process.pid) for process in left.workers[:_SHOWN])
        found.append(f"{counted(len(left.workers), 'worker of a DataLoader')} still running (pid {pids})")
    if left.names:
        held = segments.total_bytes(left.names)
        offer = removal([segment.name for segment in left.names]).text
        found.append(f"{counted(len(left.names), 'segment')} in /dev/shm, {size(held)}: {offer}")
    sorts: dict[str, list[str]] = {}
    for number, target in left.targets:
        sorts.setdefault(kind(target), []).append(f"{target} ({number})")
    for sort, targets in sorts.items():
        found.append(f"{counted(len(targets), 'open descriptor')}, {sort}: {', '.join(targets[:_SHOWN])}")
    return found


def extent(seen: ResourceUse) -> str:
    """How much of the loader was seen, in words."""
    if not seen.epochs:
        return "no short epoch ended in time: it needs more seconds"
    total, read = seen.batches_in_epoch, seen.batches_in_round
    epochs = f"seen in {counted(seen.epochs, 'epoch')}"
    if not total:
        return f"{epochs}, {counted(seen.batches, 'batch')} together"
    return f"{epochs} of the first {read:,} of {counted(total, 'batch')}" if total > read else epochs


def without_fault(
    seen: ResourceUse, *, peak: str, nothing: str, doubts: Sequence[str], advice: tuple[Advice, ...]
) -> Verdict:
    """The verdict where no fault was seen: passed, or inconclusive where something kept one from being seen."""
    if seen.exhausted or seen.hung:
        why = seen.exhausted or "no batch came for a minute"
        return Verdict("inconclusive", f"the loader did not finish: {why}\n{peak} until then", advice)
    if not seen.batches:
        return Verdict("not_measured", "the loader gave no batch: its epoch is empty", vacuous=True)
    if doubts:
        return Verdict("inconclusive", "\n".join([*doubts, peak]), advice)
    outcome: Outcome = "passed" if seen.epochs >= TELLING_ROUNDS else "inconclusive"
    unpredicted = f"\nthe need of workers was not predicted: {seen.unpredicted}" if seen.unpredicted else ""
    return Verdict(outcome, f"{peak}, {nothing}\n{extent(seen)}{unpredicted}", advice)
