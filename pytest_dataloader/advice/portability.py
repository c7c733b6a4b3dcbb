"""What to say of the start methods of a loader's workers, and what to change; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.advice.workers import IMPORTABLE
from pytest_dataloader.quantities import size
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_dataloader.probe.workers.evidence import Portability
    from pytest_dataloader.probe.workers.startup import WorkerStart


_OF_ANOTHER_CONTEXT = "SemLock created in a fork context"


def start_failure(start: WorkerStart) -> str:
    """What went wrong by a method: mostly no batch came, else the worker failed after one."""
    head = f"{'no batch' if start.seconds_to_first_batch is None else 'a fault'} under {start.method}"
    if start.attribute and start.what == "a torch.Generator":
        return f"{head}: {start.attribute} is a torch.Generator, which cannot be sent"
    if start.attribute:
        return f"{head}: {start.attribute} is {start.what}, which does not pickle\n{start.error}"
    if start.fault == "exit":
        said = f"\n{start.error}" if start.error else ""
        return f"{head}: the worker exited with code {start.exit_code}{_phase(start)}{said}"
    if start.fault == "killed":
        return f"{head}: the worker was killed by {start.signal or 'a signal'}{_phase(start)}"
    if start.fault == "hang":
        return f"{head}: the worker hangs{_phase(start)}\n{start.error}"
    return f"{head}: {start.error}{_phase(start)}"


def _phase(start: WorkerStart) -> str:
    if start.phase in ("starting", "exiting"):
        return f" while {start.phase}"
    return f" while reading sample {start.sample!r}" if start.sample is not None else ""


def working(evidence: Portability) -> str:
    """The methods under which one came."""
    works = [start for start in evidence.starts if start.works]
    each = [f"{start.method} ({start.seconds_to_first_batch:.2g} s to the first batch)" for start in works]
    pickles = f"\npicklable for {' and '.join(evidence.pickled_only)}" if evidence.pickled_only else ""
    return f"starts under {', '.join(each)}{pickles}" if each else ""


def luggage(evidence: Portability) -> str:
    """What each worker is handed."""
    return "" if evidence.pickled_bytes is None else f"\n{size(evidence.pickled_bytes)} pickled per worker"


def advice(evidence: Portability, failed: Sequence[WorkerStart]) -> tuple[Advice, ...]:
    """What to change where a method failed."""
    return tuple(_advice(evidence, failed))


def _advice(evidence: Portability, failed: Sequence[WorkerStart]) -> Iterator[Advice]:
    if evidence.attribute and any(_OF_ANOTHER_CONTEXT in start.error for start in failed):
        yield Advice("DL306", f"keep {evidence.attribute} in a tensor, torch.zeros(1).share_memory_(), which workers "
                              "share under every start method: locks and values of multiprocessing belong to the one "
                              "they were made for")  # fmt: skip
    elif evidence.attribute:
        yield Advice("DL306", f"make {evidence.attribute} a function or class of a module, or create it in the worker: "
                              "forkserver (Linux, from Python 3.14) and spawn (macOS, Windows) pickle it")  # fmt: skip
    if evidence.what == "an open file":
        yield Advice("DL303", "open it in the worker, at the first read: under fork workers share its position")
    if any("too many fds" in start.error for start in failed):
        yield Advice("", "torch.stack(samples): each tensor is sent as a descriptor, and a fork server sends at most "
                         "256 to a worker")  # fmt: skip
    anew = [start for start in failed if start.method != "fork" and not start.attribute]
    if "fork" in evidence.working and any(start.phase not in ("starting", "") for start in anew):
        yield Advice("", "keep in the dataset what was set in modules at run time: such a worker imports your modules "
                         "again")  # fmt: skip
    if any("ModuleNotFoundError" in start.error for start in anew):
        yield Advice("", IMPORTABLE)
    elif any(start.phase == "starting" and start.fault == "exit" for start in anew):
        yield Advice("DL307", 'start training under if __name__ == "__main__", and keep what workers need in a module '
                              "that they can import. See also what the worker printed")  # fmt: skip
