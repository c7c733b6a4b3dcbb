"""How healthy workers look to a watch that asks whether they hang: what sets the times of probe/workers/watchdog.py.

    python benchmarks/worker_timeouts.py

Looks at each worker 20 times a second. ``locked``: how many looks in a row saw all its threads wait for locks of their
own process. ``busy`` and ``switches``: per second, of processes that wait in a loop.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.probe.host import waits
from pytest_dataloader.probe.internals import torch_private

PERIOD, SECONDS = 0.05, 6.0


class Kinds(Dataset[Any]):
    """Reads in a way of each kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Any:
        match self.kind:
            case "sleep":
                time.sleep(0.05)
            case "cpu":
                sum(range(200_000))
            case "torch":
                torch.rand(400, 400) @ torch.rand(400, 400)
            case "helper thread":
                thread = threading.Thread(target=time.sleep, args=(0.05,))
                thread.start()
                thread.join()
            case "program":
                subprocess.run(["true"], check=True)
        return torch.zeros(1 << 14)


WAITING = {
    "sleep 1 s": "while True: time.sleep(1)",
    "sleep 0.1 s": "while True: time.sleep(0.1)",
    "sleep 0.01 s": "while True: time.sleep(0.01)",
    "timed lock": "e = threading.Event()\nwhile True: e.wait(0.5)",
    "read": "import os; os.read(os.pipe()[0], 1)",
}


def watch_workers(kind: str) -> str:
    loader = DataLoader(Kinds(kind), batch_size=8, num_workers=2)
    iterator: Any = iter(loader)
    pids = [worker.pid or 0 for worker in torch_private.worker_processes(iterator)]
    looks = longest = 0
    runs = dict.fromkeys(pids, 0)
    done = threading.Event()

    def look() -> None:
        nonlocal looks, longest
        while not done.wait(PERIOD):
            for pid in pids:
                runs[pid] = runs[pid] + 1 if waits.process_activity(pid).deadlocked else 0
                looks, longest = looks + 1, max(longest, runs[pid])

    thread = threading.Thread(target=look)
    thread.start()
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        next(iterator)
    done.set()
    thread.join()
    return f"{kind:14} {looks:5} looks, locked at most {longest} in a row"


def watch_waiting(kind: str) -> str:
    code = f"import time, threading\n{WAITING[kind]}"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        time.sleep(1)
        before, begun = waits.process_activity(process.pid), time.monotonic()
        time.sleep(SECONDS)
        after, seconds = waits.process_activity(process.pid), time.monotonic() - begun
        process.kill()
    busy, switches = (after.busy_ns - before.busy_ns) * 1e-9, after.switches - before.switches
    return f"{kind:14} busy {busy / seconds:.4f}, switches {switches / seconds:.1f}"


def main() -> None:
    for kind in ("plain", "sleep", "cpu", "torch", "helper thread", "program"):
        print(watch_workers(kind), flush=True)
    for kind in WAITING:
        print(watch_waiting(kind), flush=True)


if __name__ == "__main__":
    main()
