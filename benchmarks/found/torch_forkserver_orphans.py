"""Workers of a DataLoader that a fork server started outlive a main process that was killed.

    python benchmarks/found/torch_forkserver_orphans.py [--wait 20]

Needs torch and psutil. A main process with two workers gets SIGKILL, as the out-of-memory killer sends it.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

MAIN = """
import sys, time, torch
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 10_000
    def __getitem__(self, index):
        time.sleep(0.05)
        return index

if __name__ == "__main__":
    loader = DataLoader(Slow(), num_workers=2, multiprocessing_context=sys.argv[1])
    for number, batch in enumerate(loader):
        if number == 3:
            print("ready", flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wait", type=float, default=20, help="seconds (torch looks for its parent every 5)")
    wait = parser.parse_args().wait
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "main.py")
        script.write_text(MAIN)
        for method in ("fork", "spawn", "forkserver"):
            examine(script, method, wait)


def examine(script: Path, method: str, wait: float) -> None:
    """Kill a main process, and count who is left."""
    main = subprocess.Popen([sys.executable, script, method], stdout=subprocess.PIPE)
    assert main.stdout is not None
    main.stdout.readline()
    children = psutil.Process(main.pid).children(recursive=True)
    semaphores = _mapped_semaphores([psutil.Process(main.pid), *children])
    main.send_signal(signal.SIGKILL)
    main.wait()
    ends = time.monotonic() + wait
    while time.monotonic() < ends and any(child.is_running() for child in children):
        time.sleep(0.1)
    alive = [child for child in children if child.is_running()]
    print(f"{method:11} {len(alive)} of {len(children)} processes alive {wait:.0f} s after SIGKILL of the main one")
    for child in alive:
        child.kill()
    psutil.wait_procs(alive)
    for semaphore in semaphores:  # the resource tracker, which would, is one of those killed
        semaphore.unlink(missing_ok=True)


def _mapped_semaphores(processes: list[psutil.Process]) -> set[Path]:
    """The named semaphores of multiprocessing that processes have open: theirs alone, whatever else runs."""
    maps = {Path(each.path) for process in processes for each in process.memory_maps()}
    return {path for path in maps if path.match("/dev/shm/sem.mp-*")}


if __name__ == "__main__":
    main()
