"""What to say of workers, and what to change: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_dataloader.quantities import counted, figure, size
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_dataloader.probe.workers.evidence import InheritedHandle, Workers

_MOST_INDICES = 16
_SHARED_MEMORY_FULL = ("No space left on device", "unable to allocate shared memory")
_DESCRIPTORS = ("Too many open files", "Errno 24", "received 0 items of ancdata")
_UNPICKLABLE = ("pickle", "get local object", "serialize non-leaf")  # Python 3.13: "Can't get local object"
_TORN_HANDLES = ("BadZipFile", "zlib.error", "database disk image is malformed", "Unable to synchronously")
_WAITING_MODULES = ("threading.py", "queue.py", "selectors.py", "/multiprocessing/", "/concurrent/", "socket.py")
_CRASHES = ("SIGSEGV", "SIGABRT", "SIGFPE", "SIGILL")
_MISSING = "ModuleNotFoundError"
_CUDA = "Cannot re-initialize CUDA in forked subprocess"
_SEED = "Seed must be between 0 and 2**32 - 1"

_SLOW_PICKLING_SECONDS = 0.5
"""Less than importing torch takes anew in each worker: 2 s of CPU time."""

_NEW_ITERATOR = (
    "make a new iterator in __iter__ (a generator function does, and return iter(...)): one that returns self, or what "
    "was made before, is at its end when the next epoch asks"
)

_GIVE_CPUS_BACK = (
    "look for the library that binds threads (GOMP_CPU_AFFINITY and KMP_AFFINITY do), or call "
    "os.sched_setaffinity(0, range(os.cpu_count())) in worker_init_fn"
)

_WRITE_ASIDE = "write to a file of its own name, and os.replace() it into place: others then see the whole or nothing"
_CLEAN_UP = "remove them where they are used: workers end without atexit, so that tempfile does not clean up after them"

_OPENED_IN_THE_WORKER = "open it in the worker, at the first read, and close what the constructor opened"

END_WHAT_WAS_STARTED = (
    "end it in a finally around the yield: a thread that waits for a place in a queue, or a process, outlives its epoch"
)

IMPORTABLE = "workers find modules on sys.path only: install this one, or add its folder to pytest's pythonpath"


def describe_worker_fault(seen: Workers) -> str:
    """The fault in a line; the stack, innermost frame last, in lines of its own."""
    at = _where(seen)
    comma = "," if seen.fault == "exception" and at.startswith(" while") else ""
    lines = [f"{_who(seen)} {_what(seen)}{comma}{at}{_more(seen)}"]
    return "\n".join([*lines, *(f"    {frame}" for frame in seen.stack)])


def _who(seen: Workers) -> str:
    if seen.workers == 0:
        return "the loader, in this process,"
    if seen.worker is None:
        return "the loader" if seen.fault == "hang" else "this process"
    return f"worker {seen.worker} (pid {seen.pid})"


def _what(seen: Workers) -> str:
    match seen.fault:
        case "killed":
            return f"was killed by {seen.signal}"
        case "exit":
            return f"exited with code {seen.exit_code}"
        case "hang" if seen.exception:
            return f"could not send the batch: {seen.exception}"
        case "hang":
            return "hangs" if seen.certain else "may hang"
    return f"raised {seen.exception}"


def _where(seen: Workers) -> str:
    at = {
        "": " while making a batch" if seen.sample_indices else "",
        "starting": " while starting workers" if seen.worker is None else " while starting",
        "worker_init_fn": " in worker_init_fn",
        "reading": " while reading a batch" if seen.sample is None else f" while reading sample {seen.sample!r}",
        "collating": " while collating a batch",
        "sending": "",
        "receiving": " while receiving a batch",
        "sampling": " in the sampler",
        "exiting": " as it ended, after its last batch",
    }[seen.phase]
    if not seen.sample_indices or seen.sample_indices == (seen.sample,):
        return at
    shown = ", ".join(repr(index) for index in seen.sample_indices[:_MOST_INDICES])
    rest = len(seen.sample_indices) - _MOST_INDICES
    return f"{at} (in flight: {shown}{f' and {rest} more' if rest > 0 else ''})"


def _more(seen: Workers) -> str:
    more = f": {seen.why}" if seen.why else ""
    if seen.fault == "hang" and seen.waited_seconds >= 1 and f"{seen.waited_seconds:.0f} s" not in seen.why:
        more += f" (given up after {seen.waited_seconds:.0f} s)"
    if seen.signal == "SIGKILL" and seen.oom_kills:
        more += "; meanwhile the kernel ended a process for want of memory"
    return more


def inherited(seen: Workers) -> str:
    """What all workers got by the fork, and why they must not use it."""
    return "; ".join(_inherited(seen, handle) for handle in seen.inherited)


def _inherited(seen: Workers, handle: InheritedHandle) -> str:
    who = f"{counted(seen.workers, 'worker')} {'reads' if seen.workers == 1 else 'read'}"
    what = f"{handle.attribute} ({handle.kind}, {handle.target})" if handle.attribute else handle.target
    why = {
        "position": "it has one position, which each of them moves for all",
        "stream": "it has one stream, of which each of them takes a part",
        "library": f"{handle.kind.partition('.')[0] or 'its library'} does not allow that after a fork",
    }[handle.sharing]
    return f"{who} from {what}, which was opened before the fork: {why}"


def describe_processes_left(seen: Workers) -> str:
    """Who did not go."""
    zombies = [f"worker process {pid} ended and was not waited for (a zombie)" for pid in seen.zombies]
    return "; ".join([*(f"{each} did not end by itself" for each in seen.lingering), *zombies])


def describe_workers(seen: Workers) -> str:
    """What was seen of healthy workers."""
    delivered = _extent(seen)
    if seen.seconds_to_first_batch is not None:
        delivered += f", the first after {seen.seconds_to_first_batch:.2g} s"
    if not seen.workers:
        who = f"its {counted(seen.threads, 'worker')} are threads" if seen.threads else "the loader has no workers"
        return f"{delivered}, loaded in this process: {who}"
    again = f"; {seen.restarts_per_epoch} restarted for the second epoch" if seen.restarts_per_epoch else ""
    pickling = f"; {_pickling(seen)}" if (seen.pickling_cpu_seconds or 0.0) >= _SLOW_PICKLING_SECONDS else ""
    return f"{counted(seen.workers, 'worker')} ({seen.start_method}) delivered {delivered}, and ended{again}{pickling}"


def _pickling(seen: Workers) -> str:
    """What a start under spawn or forkserver spends on handing the dataset over."""
    each = "each worker" if seen.persistent else "each worker in every epoch"
    seconds = figure(seen.pickling_cpu_seconds or 0.0)
    return f"{size(seen.pickled_bytes or 0)} are pickled for {each}, which takes {seconds} s of CPU time"


def _extent(seen: Workers) -> str:
    """The batches that came, and how much that is of what there is."""
    if seen.whole:
        epochs = "an epoch" if len(seen.epochs) == 1 else counted(len(seen.epochs), "epoch")
        return f"{counted(seen.batches, 'batch')} in {epochs}"
    most = max(epoch.batches for epoch in seen.epochs)
    if seen.batches_in_epoch > most:
        return f"{most:,} of the {counted(seen.batches_in_epoch, 'batch')} of an epoch"
    return f"{counted(most, 'batch')} of an epoch that was not watched to its end"


def empty(seen: Workers) -> str:
    """An epoch that gives nothing."""
    if seen.hollow:
        does = "returns nothing" if seen.hollow_batch == "None" else "makes the same of all samples"
        return f"every batch is {seen.hollow_batch}, {seen.hollow:,} of {seen.batches:,}: collate_fn {does}"
    return f"the epoch is empty: {seen.why}"


def used_up(seen: Workers) -> str:
    """An epoch that gives nothing after one that did."""
    return f"the second epoch is empty, after {counted(seen.batches, 'batch')} in the first: {seen.why}"


def files(seen: Workers) -> str:
    """Files that workers tear, and temporary ones that they leave."""
    told = [*seen.torn_files]
    if left := seen.temporary_left:
        names = ", ".join(path.rpartition("/")[2] for path in left[:3])
        more = f" and {len(left) - 3:,} more" if len(left) > 3 else ""
        told.append(f"workers end and leave {len(left):,} temporary files or folders: {names}{more}")
    return "; ".join(told)


def file_advice(seen: Workers) -> tuple[Advice, ...]:
    """What to change about such files."""
    found = [_WRITE_ASIDE] if seen.torn_files else []
    return tuple(Advice("", text) for text in [*found, *([_CLEAN_UP] if seen.temporary_left else [])])


def confined(seen: Workers) -> str:
    """Workers that may run on fewer CPUs than this process."""
    cpus = f"{seen.worker_cpus} of {counted(seen.process_cpus, 'CPU')}"
    return f"{counted(seen.workers, 'worker')} may run on {cpus} together: something that they call has bound them"


def slow_start(seen: Workers) -> tuple[Advice, ...]:
    """What makes a start faster."""
    found = []
    if seen.start_method != "fork" and seen.workers:
        found.append(
            Advice("", f"workers that {seen.start_method} import torch and your modules anew: keep imports light, use "
                       "fewer workers, or preload them with multiprocessing.set_forkserver_preload")
        )  # fmt: skip
    if (seen.pickling_cpu_seconds or 0.0) >= _SLOW_PICKLING_SECONDS:
        found.append(Advice("DL301", f"{_pickling(seen)}: hold records in arrays or tensors, not in Python objects"))
    if seen.workers and not seen.persistent:
        found.append(Advice("DL204", "persistent_workers=True pays for the start once and not in every epoch"))
    return tuple(found)


def advice(seen: Workers) -> tuple[Advice, ...]:
    """What to change about a fault."""
    if seen.used_up:
        return (Advice("", _NEW_ITERATOR),)
    if seen.fault == "none" and seen.inherited:
        return (Advice("DL303", _OPENED_IN_THE_WORKER),)
    if seen.fault == "none" and seen.confined:
        return (Advice("", _GIVE_CPUS_BACK),)
    if seen.fault == "none" and seen.left_by_epochs:
        return (Advice("", END_WHAT_WAS_STARTED),)
    return () if seen.fault == "none" else tuple(_advice(seen))


def _advice(seen: Workers) -> Iterator[Advice]:
    text = seen.exception
    if text.partition(":")[0].endswith("Warning"):
        yield Advice(
            "", "warnings are errors in this run (-W error, filterwarnings): mend what it warns of, or let it pass"
        )
    yield from _about_resources(text, seen)
    if seen.torn_files:
        yield Advice("", f"{'; '.join(seen.torn_files)}: {_WRITE_ASIDE}")
    if _CUDA in text:
        yield Advice("DL304", "read and collate on the CPU, and move batches to the device in the main process")
    if _SEED in text:
        yield Advice("DL408", "take the seed % 2**32: torch's seeds have 64 bits, numpy's 32")
    if text.startswith("StopIteration"):
        yield Advice("DL309", "StopIteration in a map-style dataset or in collate_fn ends the epoch without an error: "
                              "give next() a default, or raise another error")  # fmt: skip
    if seen.fault == "exception" and seen.inherited:
        yield Advice("DL303", f"{inherited(seen)}; {_OPENED_IN_THE_WORKER}")
    elif seen.fault == "exception" and seen.start_method == "fork" and seen.workers > 1 and _any(_TORN_HANDLES, text):
        yield Advice("DL303", "a file that was opened before the fork is shared by all workers, and they move each "
                              "other's position: open it in the worker")  # fmt: skip
    if seen.phase == "starting" and seen.start_method != "fork":
        yield from _about_starting(seen)
    if seen.signal == "SIGKILL":
        yield Advice("", "a kill without a trace is mostly for want of memory: the memory check tells what grows")
    if seen.signal in _CRASHES:
        yield Advice("", "native code crashed: python -X faulthandler, with num_workers=0, prints where")
    if seen.signal == "SIGBUS":
        yield Advice("", "a bus error in shared memory: /dev/shm is full (docker run --shm-size=...), or a file that "
                         "is mapped was cut short")  # fmt: skip
    if seen.fault == "hang" and not text and seen.start_method == "fork" and seen.forked_threads:
        names = ", ".join(seen.forked_threads[:4])
        yield Advice("", f"threads ran when the workers were forked ({names}): a lock that one of them held stays "
                         "locked in the worker; start them later, or use forkserver")  # fmt: skip

    elif seen.fault == "hang" and not text and seen.start_method == "fork" and _may_compute(seen):
        pool = (
            f"{counted(seen.native_threads, 'thread')} of libraries ran when the workers were forked, and none in them"
        )
        yield Advice("", f"{pool}: if this line computes with a pool of them (OpenMP, BLAS), leave "
                         "torch.set_num_threads(1) as it is in workers, or use forkserver")  # fmt: skip


def _may_compute(seen: Workers) -> bool:
    """Whether a worker that hangs may wait for a library's threads: not in a wait of Python's own."""
    innermost = seen.stack[-1] if seen.stack else ""
    return seen.native_threads > 0 and bool(innermost) and not _any(_WAITING_MODULES, innermost)


def _about_resources(text: str, seen: Workers) -> Iterator[Advice]:
    if _any(_SHARED_MEMORY_FULL, text):
        yield Advice("", "/dev/shm is too small for the batches in flight: enlarge it (docker run --shm-size=...), or "
                         "lower batch_size, prefetch_factor or num_workers")  # fmt: skip
    if _any(_DESCRIPTORS, text):
        yield Advice("", "each tensor on its way takes a descriptor: raise ulimit -n, return fewer tensors a batch, or "
                         "lower prefetch_factor or num_workers")  # fmt: skip
    elif seen.phase == "sending" and _any(_UNPICKLABLE, text):
        yield Advice("", "return tensors, arrays or plain values from the dataset and collate_fn: no lambdas, "
                         "generators, open files or local classes")  # fmt: skip


def _about_starting(seen: Workers) -> Iterator[Advice]:
    if _any(_UNPICKLABLE, seen.exception):
        yield Advice("DL306", f"{seen.start_method} pickles dataset, collate_fn and worker_init_fn: hand over "
                              "functions and classes of a module, make in the worker what does not pickle")  # fmt: skip
    if _MISSING in seen.why:
        yield Advice("", IMPORTABLE)
    elif seen.fault == "exit":
        yield Advice("DL307", "workers that are spawned import the script anew: what starts them belongs under "
                              'if __name__ == "__main__"; what the worker printed tells more')  # fmt: skip


def _any(signs: Sequence[str], text: Any) -> bool:
    return any(sign in text for sign in signs)
