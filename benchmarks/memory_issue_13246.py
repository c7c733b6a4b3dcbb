"""The loader of pytorch#13246 and its remedies: what this check says, and what pytest-memray says of the same test.

``python benchmarks/memory_issue_13246.py --items 24000000`` uses the size of the report.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LOADERS = '''
import os
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

ITEMS = int(os.environ.get("ITEMS", 24_000_000))

class Listed(Dataset):
    """One Python integer per sample, as the report has it."""
    def __init__(self):
        self.data = list(range(ITEMS))
    def __len__(self):
        return len(self.data)
    def __getitem__(self, at):
        return torch.tensor(np.array([self.data[at]], dtype=np.int64))

class InNumpy(Listed):
    def __init__(self):
        self.data = np.arange(ITEMS)

class InTensor(Listed):
    def __init__(self):
        self.data = torch.arange(ITEMS)
    def __getitem__(self, at):
        return self.data[at : at + 1]

def load(dataset):
    return DataLoader(dataset, batch_size=300, shuffle=True, drop_last=True, num_workers=2)
'''
CHECKED = """
import pytest
from loaders import *

@pytest.mark.parametrize("kind", [Listed, InNumpy, InTensor])
def test_workers(kind, dataloader_memory):
    dataloader_memory(load(kind()), max_worker_growth="32MB")
"""
MEMRAY = """
import pytest
from loaders import *

# The data set itself is made outside the test, as a fixture would: the limit is for what loading adds.
DATASET = Listed()

@pytest.mark.limit_memory("32 MB")
def test_workers():
    def private(pid):
        fields = dict(line.split(":", 1) for line in list(open(f"/proc/{pid}/smaps_rollup"))[1:])
        return int(fields["Private_Dirty"].split()[0]) // 1024

    dataset = DATASET
    # In order: drawing a random order of so many indices takes memory in this process, which is another matter.
    batches = iter(DataLoader(dataset, batch_size=300, num_workers=2))
    next(batches)
    first = [private(worker.pid) for worker in batches._workers]
    for _ in range(len(dataset) // 300 - 2):
        next(batches)
    print("workers' private memory, MiB:", first, "->", [private(worker.pid) for worker in batches._workers])
"""


def direct(items: int) -> None:
    """Judge each data set in this process and print seconds and sentence."""
    import os

    os.environ["ITEMS"] = str(items)
    names: dict[str, type] = {}
    exec(LOADERS, names)
    from pytest_dataloader.checks import Setting, memory

    for kind in ("Listed", "InNumpy", "InTensor"):
        loader = names["load"](names[kind]())  # type: ignore[operator]  # a function of the text above
        started = time.monotonic()
        seen = memory.measure(loader, setting=Setting())
        seconds = time.monotonic() - started
        verdict = memory.judge(seen, max_worker_growth=32 * 10**6)
        print(f"{kind}: {verdict.outcome} in {seconds:.2f} s: {verdict.reason.splitlines()[0]}", flush=True)
        del loader


def main() -> None:
    """Judge directly, then run both tests under pytest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=24_000_000)
    parser.add_argument("--skip-pytest", action="store_true")
    chosen = parser.parse_args()
    direct(chosen.items)
    if chosen.skip_pytest:
        return
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "loaders.py").write_text(LOADERS)
        Path(folder, "test_checked.py").write_text(CHECKED)
        Path(folder, "test_memray.py").write_text(MEMRAY)
        for arguments in (["test_checked.py"], ["--memray", "-s", "test_memray.py"]):
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
            # An epoch of 24,000,000 single tensors takes minutes in a worker; the effect is the same with fewer.
            items = str(min(chosen.items, 2_000_000))
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, check=False, env={"ITEMS": items, "PATH": ""}
            )
            print(f"$ pytest {' '.join(arguments)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
