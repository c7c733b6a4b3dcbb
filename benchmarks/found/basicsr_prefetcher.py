"""An epoch of BasicSR's PrefetchDataLoader that is left early keeps its thread, its workers and its batches.

    python benchmarks/found/basicsr_prefetcher.py PATH/basicsr/data/prefetch_dataloader.py

Needs torch and that one file of the library, which imports nothing else of it.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import threading
import time
from pathlib import Path

import psutil
import torch
from torch.utils.data import TensorDataset


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    spec = importlib.util.spec_from_file_location("prefetch_dataloader", parser.parse_args().file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    loader = module.PrefetchDataLoader(
        num_prefetch_queue=4, dataset=TensorDataset(torch.rand(4096, 256)), batch_size=16, num_workers=2
    )
    for epoch in range(5):
        for number, _ in enumerate(loader):
            if number == 2:
                break
        gc.collect()
        time.sleep(2)
        threads = sum("Generator" in type(each).__name__ for each in threading.enumerate())
        workers = len(psutil.Process().children())
        maps = sum("torch_" in each.path for each in psutil.Process().memory_maps(grouped=False))
        print(f"epoch {epoch + 1} left: {threads} threads, {workers} workers, {maps} segments of batches mapped")


if __name__ == "__main__":
    main()
