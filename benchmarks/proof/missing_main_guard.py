"""A script whose loader spawns workers, with and without a main guard: spawn is the default of macOS and Windows."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

CHECK = "portability"
EFFECT = "loses all {figure} batches of an epoch: workers that import the script anew start workers themselves"
COMPARE = "difference"
ROUNDS = 2
BATCHES = 10

HEAD = f"""
import torch
from torch.utils.data import DataLoader, TensorDataset

def main():
    dataset = TensorDataset(torch.arange({8 * BATCHES}))
    for _batch in DataLoader(dataset, batch_size=8, num_workers=1, multiprocessing_context="spawn"):
        print("batch")

"""
FAULTY = HEAD + "main()\n"
MENDED = HEAD + 'if __name__ == "__main__":\n    main()\n'


def lost(script: str) -> float:
    """Batches of an epoch that do not come."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.py")
        path.write_text(script)
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    return float(BATCHES - done.stdout.count("batch"))


def faulty() -> float:
    return lost(FAULTY)


def mended() -> float:
    return lost(MENDED)
