"""Random transforms of MONAI's SmartCacheDataset draw the same numbers in each worker and in each epoch.

    python benchmarks/found/monai_smart_cache.py

Needs torch and monai. All images are zeros, so that what comes out is the noise. An epoch is what the cache holds,
half of the rows: where it holds all, MONAI falls back to its plain CacheDataset.
"""

from __future__ import annotations

import numpy as np
import torch
from monai.data import DataLoader, SmartCacheDataset
from monai.transforms import Compose, RandGaussianNoised, ToTensord


def main() -> None:
    rows = [{"x": np.zeros((1, 4, 4), np.float32)} for _ in range(64)]
    chain = Compose([ToTensord("x"), RandGaussianNoised("x", prob=1.0)])
    cached = SmartCacheDataset(rows, chain, cache_num=32, replace_rate=0.1, progress=False)
    loader = DataLoader(cached, batch_size=8, num_workers=2)
    epochs = [torch.stack([image.as_tensor() for batch in loader for image in batch["x"]]) for _ in range(3)]
    alike = sum(torch.equal(one, other) for one, other in zip(*epochs[:2], strict=True))
    print(f"epochs 1 and 2: {alike} of {len(epochs[0])} samples have the same noise")
    noise = {image.numpy().tobytes() for epoch in epochs for image in epoch}
    print(f"3 epochs: {len(noise)} different draws for {sum(map(len, epochs))} samples")


if __name__ == "__main__":
    main()
