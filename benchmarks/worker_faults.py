"""Every way in which a worker fails, in real processes: is the verdict right, in time, and is nothing left?

    unshare -Urm sh -c 'mount -t tmpfs -o size=64m none /dev/shm && python benchmarks/worker_faults.py fork --runs 20'

Appends a line to --out for each run; ``table`` prints what is in there. /dev/shm is a small one of its own, so that
it can be filled, and so that all that is left in it was left by this run.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import gc
import json
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

BAD, BATCH, LENGTH = 17, 4, 64
IN_FLIGHT = [16, 17, 18, 19]


class Faulty(Dataset[Any]):
    """Fails at one sample."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.main = os.getpid()

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        if index == BAD:
            self.fail()
        if self.fault == "RLIMIT_NOFILE":
            return [torch.zeros(8) for _ in range(64)]
        if self.fault == "shm full" and index == BAD:
            return torch.zeros(1 << 23) + index
        return torch.zeros(1 << 23 if self.fault == "shm full" and index >= 16 else 8) + index

    def fail(self) -> None:
        match self.fault:
            case "SIGKILL":
                os.kill(os.getpid(), signal.SIGKILL)
            case "SIGSEGV":
                ctypes.string_at(0)
            case "MemoryError":
                raise MemoryError("no room for sample 17")
            case "exception":
                raise ValueError("sample 17 is broken")
            case "os._exit":
                os._exit(3)
            case "hang in read":
                lock = threading.Lock()
                lock.acquire()
                lock.acquire()
            case "sleep in read":
                time.sleep(1_000_000)
            case "KeyboardInterrupt":
                os.kill(self.main, signal.SIGINT)
                time.sleep(60)
            case "pytest-timeout":
                while True:
                    time.sleep(0.5)


def collate(batch: list[Any]) -> Any:
    """Nothing to collate."""
    return batch


def collate_and_hang(batch: list[Any]) -> Any:
    if any(int(sample[0]) == BAD for sample in batch):
        threading.Event().wait()
    return batch


def collate_lambda(batch: list[Any]) -> Any:
    return (lambda: batch) if any(int(sample[0]) == BAD for sample in batch) else batch


def names_in(folder: str) -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


def few_descriptors(_worker: int) -> None:
    used = len(names_in("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 40, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


FAULTS = {
    "SIGKILL": "killed", "SIGSEGV": "killed", "MemoryError": "exception", "exception": "exception", "os._exit": "exit",
    "hang in read": "hang", "sleep in read": "hang", "hang in collate": "hang", "unpicklable sample": "hang",
    "shm full": "exception", "RLIMIT_NOFILE": "hang", "KeyboardInterrupt": "", "pytest-timeout": "",
}  # fmt: skip
SAMPLES = {"SIGKILL", "SIGSEGV", "MemoryError", "exception", "os._exit", "hang in read", "sleep in read"}


def make(fault: str, method: str, persistent: bool) -> DataLoader[Any]:
    collates = {
        "hang in collate": collate_and_hang, "unpicklable sample": collate_lambda, "RLIMIT_NOFILE": collate,
    }  # fmt: skip
    return DataLoader(
        Faulty(fault), batch_size=BATCH, num_workers=1, persistent_workers=persistent, multiprocessing_context=method,
        collate_fn=collates.get(fault), worker_init_fn=few_descriptors if fault == "RLIMIT_NOFILE" else None,
    )  # fmt: skip


def check(fault: str, method: str, persistent: bool) -> str:
    """Run the check; what is wrong with its verdict, or nothing."""
    from pytest_dataloader import checks

    loader = make(fault, method, persistent)
    try:
        evidence = checks.measure("workers", loader, setting=checks.Setting(), limits={})
    except KeyboardInterrupt:
        return "" if fault == "KeyboardInterrupt" else "KeyboardInterrupt"
    verdict = checks.judge("workers", evidence, limits={})
    wrong = []
    if (verdict.outcome, evidence.fault) != ("failed", FAULTS[fault]):
        wrong.append(f"{verdict.outcome} {evidence.fault}: {verdict.reason}")
    if (evidence.worker, evidence.pid is None) != (0, False):
        wrong.append(f"worker {evidence.worker}, pid {evidence.pid}")
    if fault in SAMPLES and evidence.sample != BAD:
        wrong.append(f"sample {evidence.sample}")
    # Which batch runs out of descriptors is not ours to say.
    if fault != "RLIMIT_NOFILE" and list(evidence.sample_indices) != IN_FLIGHT:
        wrong.append(f"in flight {evidence.sample_indices}")
    signals = {"SIGKILL": ("SIGKILL", -9), "SIGSEGV": ("SIGSEGV", -11), "os._exit": ("", 3)}
    if fault in signals and (evidence.signal, evidence.exit_code) != signals[fault]:
        wrong.append(f"signal {evidence.signal!r}, exit code {evidence.exit_code}")
    texts = {
        "MemoryError": "MemoryError: no room", "exception": "ValueError: sample 17 is broken",
        "unpicklable sample": "Can't pickle local object", "shm full": "No space left on device",
        "RLIMIT_NOFILE": "Too many open files",
    }  # fmt: skip
    if texts.get(fault, "") not in evidence.exception:
        wrong.append(evidence.exception)
    stacks = {"hang in read": "in fail", "sleep in read": "in fail", "hang in collate": "in collate_and_hang"}
    if fault in stacks and not any(stacks[fault] in frame for frame in evidence.stack):
        wrong.append(f"stack {evidence.stack}")
    return "; ".join(wrong)


TEST = """
import worker_faults

def test_it(dataloader_workers):
    dataloader_workers(worker_faults.make("pytest-timeout", {method!r}, {persistent!r}))
"""


def check_under_pytest(method: str, persistent: bool) -> str:
    """The same in a test that pytest-timeout ends, in this process."""
    import pytest

    sys.path.insert(0, str(Path(__file__).parent))
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix="worker_faults_") as folder:
        test = Path(folder, f"test_{time.monotonic_ns()}.py")
        test.write_text(TEST.format(method=method, persistent=persistent))
        out = Path(folder, "out")
        arguments = [str(test), "-q", "-p", "no:cacheprovider", "--timeout=2.5", "--timeout-method=signal"]
        with out.open("w") as file, contextlib.redirect_stdout(file):
            code = pytest.main([*arguments, "--override-ini=addopts=", "--override-ini=filterwarnings="])
        text = out.read_text()
    return "" if code == 1 and "Timeout" in text else f"exit code {code}: {text[-500:]}"


def traces() -> dict[str, set[str]]:
    """What a process can leave behind."""
    import psutil

    gc.collect()
    me = psutil.Process()
    helpers = ("resource_tracker", "forkserver")
    processes = {
        f"{child.pid} {child.status()}"
        for child in me.children(recursive=True)
        if not any(helper in " ".join(child.cmdline()) for helper in helpers)
        or child.status() == psutil.STATUS_ZOMBIE
        or (child.parent() or me).pid != me.pid
    }
    with Path("/proc/self/maps").open() as maps:
        mapped = {line.split(maxsplit=5)[5].strip() for line in maps if "/torch_" in line}
    return {
        "processes": processes,
        "segments": mapped | names_in("/dev/shm"),
        "descriptors": {f"number {count}" for count in range(len(names_in("/proc/self/fd")))},
        "temporary files": names_in(tempfile.gettempdir()),
        "threads": {thread.name for thread in threading.enumerate()},
    }


def left(before: dict[str, set[str]]) -> dict[str, list[str]]:
    """What is there that was not; helpers may take a moment to go."""
    deadline = time.monotonic() + 8
    while True:
        after = traces()
        more = {kind: sorted(after[kind] - before[kind]) for kind in before if after[kind] - before[kind]}
        if not more or time.monotonic() > deadline:
            return more
        time.sleep(0.2)


def run(method: str, runs: int, faults: list[str], out: Path, seconds: float) -> None:
    """All cells of a start method, round by round, for as long as there is time."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs this in the background
    multiprocessing.set_forkserver_preload(["torch", "torch.utils.data"])
    started = time.monotonic()
    for fault in ("exception", "pytest-timeout"):  # starts the helpers that stay
        _one(fault, method, True)
    for number in range(runs):
        for fault in faults:
            for persistent in (False, True):
                if time.monotonic() - started > seconds:
                    return
                faulthandler.dump_traceback_later(180, exit=True)
                line = _one(fault, method, persistent)
                faulthandler.cancel_dump_traceback_later()
                with out.open("a") as file:
                    file.write(json.dumps({"run": number, **line}) + "\n")


def _one(fault: str, method: str, persistent: bool) -> dict[str, Any]:
    before, begun = traces(), time.monotonic()
    try:
        under_pytest = fault == "pytest-timeout"
        wrong = check_under_pytest(method, persistent) if under_pytest else check(fault, method, persistent)
    except Exception as error:
        wrong = f"raised {type(error).__name__}: {error}"
    seconds = round(time.monotonic() - begun, 2)
    return {
        "fault": fault, "method": method, "persistent": persistent, "wrong": wrong, "left": left(before),
        "seconds": seconds,
    }  # fmt: skip


def table(paths: list[Path]) -> None:
    """Counts per cell: runs, right verdicts, nothing left, the longest."""
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    cells = Counter((line["fault"], line["method"], line["persistent"]) for line in lines)
    methods = [method for method in ("fork", "forkserver", "spawn") if any(line["method"] == method for line in lines)]
    heads = [f"{method}{', persistent' if persistent else ''}" for method in methods for persistent in (False, True)]
    print(f"| fault | {' | '.join(heads)} | longest, s |\n|---|{'---|' * len(heads)}---:|")
    for fault in FAULTS:
        row = []
        for method in methods:
            for persistent in (False, True):
                cell = (fault, method, persistent)
                mine = [each for each in lines if (each["fault"], each["method"], each["persistent"]) == cell]
                right = sum(not each["wrong"] for each in mine)
                clean = sum(not each["left"] for each in mine)
                row.append(f"{right}/{len(mine)} right, {clean}/{len(mine)} clean" if mine else "")
        longest = max((each["seconds"] for each in lines if each["fault"] == fault), default=0)
        print(f"| {fault} | {' | '.join(row)} | {longest:.0f} |")
    bad = [line for line in lines if line["wrong"] or line["left"]]
    print(f"\n{len(lines)} runs in {len(cells)} cells, {len(bad)} of them with something wrong or left")
    for line in bad[:20]:
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("method", choices=["fork", "forkserver", "spawn", "table"])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--seconds", type=float, default=10_000)
    parser.add_argument("--out", type=Path, nargs="+", default=[Path("worker_faults.jsonl")])
    given = parser.parse_args()
    if given.method == "table":
        table(given.out)
    else:
        run(given.method, given.runs, given.faults.split(","), given.out[0], given.seconds)


if __name__ == "__main__":
    main()
