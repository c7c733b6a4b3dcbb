"""There are no workers unless a user asks for some."""

import argparse

from torch.utils.data import DataLoader


def main(model, dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()
    for images in DataLoader(dataset, batch_size=64, num_workers=args.workers, pin_memory=True):
        images = images.to("cuda")  # expect advice
        model(images).backward()
