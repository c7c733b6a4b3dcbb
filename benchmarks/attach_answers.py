"""What ``attach`` says of real trainings that wait, hang, leak or are well, in ten runs of each.

    python benchmarks/attach_answers.py [--runs 10] [--seconds 6] [--only disk lock] [--markdown attach.md]

Hypothesis: no answer is wrong. A training is another process, with two workers and a step of 2 or 200 ms, and is looked
at as a user does, by the command. An answer is right where what it concludes is what is listed here, and nothing more;
where others take the CPUs meanwhile, by the kernel's scheduler, workers that compute are expected to wait for one.
Reads of ``disk`` go past the cache of the system (O_DIRECT), those of ``network`` to a server of TCP that waits.
"""

from __future__ import annotations

import argparse
import contextlib
import mmap
import multiprocessing
import os
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import torch
from torch.utils.data import DataLoader, Dataset

INPUT_BOUND, WELL, HANGS = "input-bound: ", "not input-bound: ", "deadlock: worker"
ANSWERS: dict[str, tuple[str, ...]] = {
    "disk": (f"{INPUT_BOUND}I/O wait (disk)",),
    "network": (f"{INPUT_BOUND}I/O wait (network)",),
    "network by a thread": (f"{INPUT_BOUND}I/O wait (network)",),
    "cpu": (f"{INPUT_BOUND}CPU ",),
    "cpu by a thread": (f"{INPUT_BOUND}CPU ",),
    "too few CPUs": (f"{INPUT_BOUND}CPU contention",),
    "child": (f"{INPUT_BOUND}workers wait for processes that they have started",),
    "lock": (HANGS,),
    "lock of processes": (HANGS,),
    "leak": (WELL, "memory grows: "),
    "well": (WELL,),
}
"""By the kind of training, how each line begins that says what the figures mean."""
STARVED = 0.25
_FILE_BYTES, _READ_BYTES = 1 << 27, 1 << 22
_COMPUTES = "import time; end = time.perf_counter() + 0.03\nwhile time.perf_counter() < end: pass"


class _Slow(socketserver.BaseRequestHandler):
    """Answers each byte after 20 ms."""

    def handle(self) -> None:
        while self.request.recv(1):
            time.sleep(0.02)
            self.request.sendall(b".")


class Samples(Dataset[Any]):
    """What makes a sample is the kind of training."""

    def __init__(self, kind: str, file: str) -> None:
        self.kind, self.file = kind, file
        self.kept: list[bytes] = []
        self.lock, self.shared = threading.Lock(), multiprocessing.Lock()
        self.address: Any = None
        self.opened: Any = None
        self.pool: ThreadPoolExecutor | None = None

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: int) -> torch.Tensor:
        by_thread = self.kind.endswith(" by a thread")
        do = {"disk": self.read, "network": self.ask, "cpu": compute, "too few CPUs": compute}.get(
            self.kind.removesuffix(" by a thread")
        )
        if do is not None and by_thread:
            self.pool = self.pool or ThreadPoolExecutor(1)
            self.pool.submit(do, index).result()
        elif do is not None:
            do(index)
        elif self.kind == "child":
            subprocess.run([sys.executable, "-S", "-c", _COMPUTES], check=True)
        elif self.kind == "leak":
            self.kept.append(bytes([index % 250 + 1]) * 1_000_000)
        elif self.kind.startswith("lock") and index > 100:
            lock: Any = self.shared if self.kind == "lock of processes" else self.lock
            lock.acquire()
            lock.acquire()
        return torch.zeros(8)

    def read(self, index: int) -> None:
        self.opened = self.opened or (os.open(self.file, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, _READ_BYTES))
        file, memory = self.opened
        os.preadv(file, [memory], index * _READ_BYTES % _FILE_BYTES)

    def ask(self, _index: int) -> None:
        self.opened = self.opened or socket.create_connection(self.address)
        self.opened.sendall(b".")
        self.opened.recv(1)


def compute(_index: int) -> None:
    """For 10 ms of CPU time."""
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        pass


def train(kind: str, file: str, begun: Path) -> None:
    """Train without end; ``begun`` appears once it is under way."""
    samples, workers = Samples(kind, file), 2
    if kind.startswith("network"):
        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Slow)
        server.daemon_threads = True
        if os.fork() == 0:
            server.serve_forever()
        samples.address = server.server_address
    if kind == "too few CPUs":
        workers = 4
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    loader = DataLoader(samples, batch_size=4, num_workers=workers)
    for number, _batch in enumerate(loader):
        if number == 5:
            begun.touch()
        time.sleep(0.2 if ANSWERS[kind][0] == WELL else 0.002)


def look(kind: str, seconds: float, folder: Path) -> tuple[list[str], float]:
    """What the command says of a training of this kind, its conclusions alone; and how much of the time its workers
    were kept from a CPU by others meanwhile.
    """
    begun = folder / "begun"
    begun.unlink(missing_ok=True)
    command = [sys.executable, __file__, "--train", kind, str(folder)]
    training = subprocess.Popen(command, start_new_session=True)
    try:
        while not begun.exists() and training.poll() is None:
            time.sleep(0.05)
        time.sleep(1.0)
        command = [sys.executable, "-m", "pytest_dataloader", "attach", str(training.pid), "--seconds", f"{seconds:g}"]
        workers = [child.pid for child in psutil.Process(training.pid).children()]
        before, began = delays(workers), time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        delayed = (delays(workers) - before) / 1e9 / max(1, len(workers)) / (time.monotonic() - began)
    finally:
        below = psutil.Process(training.pid).children(recursive=True)
        for process in (psutil.Process(training.pid), *below):
            with contextlib.suppress(psutil.NoSuchProcess):  # of a worker's processes, some end just then
                process.kill()
        training.wait()
        psutil.wait_procs(below, 10)
    lines = done.stdout.splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith("  shared memory")), len(lines))
    return [line.strip() for line in lines[start + 1 :]] or [done.stderr.strip()], delayed


def delays(pids: list[int]) -> int:
    """Nanoseconds that threads of processes were ready to run and did not, by the kernel's scheduler."""
    files = (path for pid in pids for path in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return sum(int(path.read_text().split()[1]) for path in files)


def is_right(kind: str, told: list[str], delayed: float) -> bool:
    expected = ANSWERS[kind]
    if kind.startswith("cpu") and delayed >= STARVED:  # then it is too few CPUs as well
        expected = ANSWERS["too few CPUs"]
    return len(told) == len(expected) and all(
        text.startswith(start) for text, start in zip(told, expected, strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--only", nargs="*", choices=ANSWERS, default=list(ANSWERS))
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--train", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.train:
        kind, folder = given.train
        train(kind, f"{folder}/data", Path(folder, "begun"))
    rows = ["| training | right | said |", "|---|---|---|"]
    # On a disk: a temporary folder may be in memory, of which no read waits.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        with (folder / "data").open("wb") as file:
            for _ in range(_FILE_BYTES // _READ_BYTES):
                file.write(os.urandom(_READ_BYTES))
            os.fsync(file.fileno())
        for kind in given.only:
            told = [look(kind, given.seconds, folder) for _ in range(given.runs)]
            right = sum(is_right(kind, *each) for each in told)
            said = Counter("; ".join(each) for each, _ in told).most_common(None if right < given.runs else 1)
            rows.append(f"| {kind} | {right} of {given.runs} | {' / '.join(text for text, _ in said)} |")
            print(rows[-1], flush=True)
    if given.markdown:
        given.markdown.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
