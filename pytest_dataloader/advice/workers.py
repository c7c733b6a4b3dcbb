"""What to say of workers, and what to change: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_dataloader.quantities import counted, figure, size
from pytest_dataloader.verdict import HEADLINE_CHARACTERS, Advice

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
    "return a new iterator from __iter__: def __iter__(self): yield from self.samples. One that returns self is "
    "exhausted in the next epoch"
)

_GIVE_CPUS_BACK = (
    "unset GOMP_CPU_AFFINITY and KMP_AFFINITY, or call os.sched_setaffinity(0, range(os.cpu_count())) in worker_init_fn"
)

_WRITE_ASIDE = "write to a temporary file, then os.replace(temporary, path): other workers see the whole file or none"
_CLEAN_UP = "use with tempfile.TemporaryDirectory(): workers end without atexit, so nothing else removes them"

_OPENED_IN_THE_WORKER = "open it in the worker, at the first read, not in __init__"

_KILLED = {
    True: "use less memory: fewer workers, a smaller batch_size or prefetch_factor, and what the memory check names",
    False: "find what sends SIGKILL: os.kill, a job scheduler, a daemon such as earlyoom. It was not the OOM killer",
    None: "look into dmesg for the OOM killer, and run the memory check: SIGKILL mostly means out of memory",
}
"""By whether the kernel killed anything meanwhile for want of memory; None where it does not say."""

END_WHAT_WAS_STARTED = (
    "end it in a finally around the yield: a thread that waits for its queue, or a process, outlives the epoch"
)

IMPORTABLE = 'workers find modules on sys.path only: pip install -e . or pythonpath = ["."] in pytest\'s settings'


def describe_worker_fault(seen: Workers) -> str:
    """The fault in a line; why, its batch and the stack, innermost frame last, in lines of their own."""
    at = _where(seen)
    comma = "," if seen.fault == "exception" and at.startswith(" while") else ""
    fault, more = f"{_who(seen)} {_what(seen)}{comma}{at}", list(_more(seen))
    if seen.fault == "hang" and seen.why and len(fault) + len(seen.why) + 2 <= HEADLINE_CHARACTERS:
        fault = f"{fault}: {more.pop(0)}"
    return "\n".join([fault, *more, *(f"    {frame}" for frame in seen.stack)])


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
    return {
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


def _more(seen: Workers) -> Iterator[str]:
    if seen.why:
        yield seen.why
    if seen.fault == "hang" and seen.waited_seconds >= 1 and f"{seen.waited_seconds:.0f} s" not in seen.why:
        yield f"given up after {seen.waited_seconds:.0f} s"
    if seen.sample_indices and seen.sample_indices != (seen.sample,):
        shown = ", ".join(repr(index) for index in seen.sample_indices[:_MOST_INDICES])
        rest = len(seen.sample_indices) - _MOST_INDICES
        yield f"batch in flight: {shown}{f' and {rest} more' if rest > 0 else ''}"
    if seen.signal == "SIGKILL" and seen.oom_kills is not None:
        yield f"meanwhile the kernel killed {'a' if seen.oom_kills else 'no'} process for want of memory"


def inherited(seen: Workers) -> str:
    """What all workers got by the fork, and why they must not use it."""
    return "\n".join(_inherited(seen, handle) for handle in seen.inherited)


def _inherited(seen: Workers, handle: InheritedHandle) -> str:
    who = f"{counted(seen.workers, 'worker')} {'reads' if seen.workers == 1 else 'read'}"
    what = f"{handle.attribute} ({handle.kind}, {handle.target})" if handle.attribute else handle.target
    why = {
        "position": "all workers move one file position",
        "stream": "each worker gets a part of one stream",
        "library": f"{handle.kind.partition('.')[0] or 'its library'} does not support that after a fork",
    }[handle.sharing]
    return f"{who} from {what}\nit was opened before the fork: {why}"


def describe_processes_left(seen: Workers) -> str:
    """Who did not go."""
    zombies = [f"worker process {pid} is a zombie: it ended and was never joined" for pid in seen.zombies]
    return "\n".join([*(f"{each} does not end after its epoch" for each in seen.lingering), *zombies])


def describe_workers(seen: Workers) -> str:
    """What was seen of healthy workers."""
    delivered = _extent(seen)
    if seen.seconds_to_first_batch is not None:
        delivered += f", the first after {seen.seconds_to_first_batch:.2g} s"
    if not seen.workers:
        who = f"its {counted(seen.threads, 'worker')} are threads" if seen.threads else "the loader has no workers"
        return f"{delivered}, loaded in this process: {who}"
    facts = [f"{counted(seen.workers, 'worker')} ({seen.start_method}): {delivered}"]
    if seen.restarts_per_epoch:
        facts.append(f"{counted(seen.restarts_per_epoch, 'worker')} restarted for epoch 2 (persistent_workers=False)")
    if (seen.pickling_cpu_seconds or 0.0) >= _SLOW_PICKLING_SECONDS:
        facts.append(_pickling(seen))
    return "\n".join(facts)


def _pickling(seen: Workers) -> str:
    """What a start under spawn or forkserver spends on handing the dataset over."""
    each = "each worker" if seen.persistent else "each worker and epoch"
    seconds = figure(seen.pickling_cpu_seconds or 0.0)
    return f"{seconds} s of CPU time to pickle {size(seen.pickled_bytes or 0)} for {each}"


def _extent(seen: Workers) -> str:
    """The batches that came, and how much that is of what there is."""
    if seen.whole:
        epochs = "an epoch" if len(seen.epochs) == 1 else counted(len(seen.epochs), "epoch")
        return f"{counted(seen.batches, 'batch')} in {epochs}"
    most = max(epoch.batches for epoch in seen.epochs)
    if seen.batches_in_epoch > most:
        return f"{most:,} of the {counted(seen.batches_in_epoch, 'batch')} of an epoch"
    return f"the first {counted(most, 'batch')} of an epoch"


def empty(seen: Workers) -> str:
    """An epoch that gives nothing."""
    if seen.hollow:
        does = "returns nothing" if seen.hollow_batch == "None" else "returns the same for all samples"
        return f"{seen.hollow:,} of {counted(seen.batches, 'batch')} are {seen.hollow_batch}: collate_fn {does}"
    return f"the epoch is empty: {seen.why}"


def used_up(seen: Workers) -> str:
    """An epoch that gives nothing after one that did."""
    return f"the second epoch is empty, the first had {counted(seen.batches, 'batch')}\n{seen.why}"


def files(seen: Workers) -> str:
    """Files that workers tear, and temporary ones that they leave."""
    facts = [*seen.torn_files]
    if left := seen.temporary_left:
        names = ", ".join(path.rpartition("/")[2] for path in left[:3])
        more = f" and {len(left) - 3:,} more" if len(left) > 3 else ""
        facts.append(f"{len(left):,} temporary files or folders left by workers: {names}{more}")
    return "\n".join(facts)


def file_advice(seen: Workers) -> tuple[Advice, ...]:
    """What to change about such files."""
    found = [_WRITE_ASIDE] if seen.torn_files else []
    return tuple(Advice("", text) for text in [*found, *([_CLEAN_UP] if seen.temporary_left else [])])


def confined(seen: Workers) -> str:
    """Workers that may run on fewer CPUs than this process."""
    cpus = f"{seen.worker_cpus} of {counted(seen.process_cpus, 'CPU')}"
    return f"{counted(seen.workers, 'worker')} run on {cpus} only: a library has set their CPU affinity"


def slow_start(seen: Workers) -> tuple[Advice, ...]:
    """What makes a start faster."""
    found = []
    if seen.start_method != "fork" and seen.workers:
        found.append(
            Advice("", 'multiprocessing.set_forkserver_preload(["torch", ...]), or fewer imports: each worker of '
                       f"{seen.start_method} imports torch and your modules again")
        )  # fmt: skip
    if (seen.pickling_cpu_seconds or 0.0) >= _SLOW_PICKLING_SECONDS:
        found.append(Advice("DL301", f"keep records in arrays or tensors, not in Python objects: {_pickling(seen)}"))
    if seen.workers and not seen.persistent:
        found.append(
            Advice("DL204", "DataLoader(..., persistent_workers=True): workers start once, not in every epoch")
        )
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
            "", "fix what it warns of, or filter it: warnings are errors in this run (-W error, filterwarnings)"
        )
    yield from _about_resources(text, seen)
    if seen.torn_files:
        yield Advice("", f"{_WRITE_ASIDE}. {'. '.join(seen.torn_files)}")
    if _CUDA in text:
        yield Advice("DL304", "read and collate on the CPU, and move batches to the device in the main process")
    if _SEED in text:
        yield Advice("DL408", "seed % 2**32: seeds of torch have 64 bits, those of numpy 32")
    if text.startswith("StopIteration"):
        yield Advice("DL309", "next(iterator, None), or raise another error: StopIteration in a map-style dataset or "
                              "in collate_fn ends the epoch silently")  # fmt: skip
    if seen.fault == "exception" and seen.inherited:
        yield Advice("DL303", f"{_OPENED_IN_THE_WORKER}. {inherited(seen).replace(chr(10), '. ')}")
    elif seen.fault == "exception" and seen.start_method == "fork" and seen.workers > 1 and _any(_TORN_HANDLES, text):
        yield Advice("DL303", "open the file in the worker: workers share the position of a file that was opened "
                              "before the fork")  # fmt: skip
    if seen.fault == "exit" and seen.phase != "starting":
        exits = "it exits at this line" if seen.stack else "native code exits, or the code raises SystemExit"
        yield Advice("", f"{exits}. Raise an exception instead, which names the sample: with num_workers=0 an "
                         "exit ends the training")  # fmt: skip
    if seen.phase == "starting" and seen.start_method != "fork":
        yield from _about_starting(seen)
    if seen.signal == "SIGKILL":
        yield Advice("", _KILLED[seen.oom_kills if seen.oom_kills is None else seen.oom_kills > 0])
    if seen.signal in _CRASHES:
        yield Advice("", "python -X faulthandler with num_workers=0 prints where native code crashed")
    if seen.signal == "SIGBUS":
        yield Advice("", "enlarge /dev/shm (docker run --shm-size=2g): SIGBUS means that it is full, or that a mapped "
                         "file was truncated")  # fmt: skip
    if seen.fault == "hang" and not text and seen.start_method == "fork" and seen.forked_threads:
        names = ", ".join(seen.forked_threads[:4])
        yield Advice("", f"start these threads after the workers, or use forkserver: {names}. A lock that a thread has "
                         "at the fork stays locked in the worker")  # fmt: skip

    elif seen.fault == "hang" and not text and seen.start_method == "fork" and _may_compute(seen):
        pool = f"{counted(seen.native_threads, 'thread')} of libraries ran at the fork, and none run in the workers"
        yield Advice("", f"keep torch.set_num_threads(1) in workers, or use forkserver, if this line computes with "
                         f"OpenMP or BLAS. {pool}")  # fmt: skip
    elif seen.fault == "hang" and seen.why.startswith("deadlock"):
        yield Advice("", "release the lock on each path (with lock: ...), or wait with a timeout: nothing in the "
                         "worker ends the wait")  # fmt: skip


def _may_compute(seen: Workers) -> bool:
    """Whether a worker that hangs may wait for a library's threads: not in a wait of Python's own."""
    innermost = next((line for line in reversed(seen.stack) if line.startswith("File ")), "")
    code = seen.stack[-1].strip() if seen.stack else ""
    takes_a_lock = code.startswith("with ") or ".acquire(" in code
    return seen.native_threads > 0 and bool(innermost) and not takes_a_lock and not _any(_WAITING_MODULES, innermost)


def _about_resources(text: str, seen: Workers) -> Iterator[Advice]:
    if _any(_SHARED_MEMORY_FULL, text):
        yield Advice("", "enlarge /dev/shm (docker run --shm-size=2g), or lower batch_size, prefetch_factor or "
                         "num_workers: prefetched batches do not fit")  # fmt: skip
    if _any(_DESCRIPTORS, text):
        yield Advice("", "raise ulimit -n, return fewer tensors a batch, or lower prefetch_factor or num_workers: each "
                         "prefetched tensor takes a descriptor")  # fmt: skip
    elif seen.phase == "sending" and _any(_UNPICKLABLE, text):
        yield Advice("", "return tensors, arrays or plain values from the dataset and collate_fn: no lambdas, "
                         "generators, open files or local classes")  # fmt: skip


def _about_starting(seen: Workers) -> Iterator[Advice]:
    if _any(_UNPICKLABLE, seen.exception):
        yield Advice("DL306", f"use functions and classes of a module, and make in the worker what does not pickle: "
                              f"{seen.start_method} pickles dataset, collate_fn and worker_init_fn")  # fmt: skip
    if _MISSING in seen.why:
        yield Advice("", IMPORTABLE)
    elif seen.fault == "exit":
        yield Advice("DL307", 'start training under if __name__ == "__main__": spawned workers import the script '
                              "again. See also what the worker printed")  # fmt: skip


def _any(signs: Sequence[str], text: Any) -> bool:
    return any(sign in text for sign in signs)
