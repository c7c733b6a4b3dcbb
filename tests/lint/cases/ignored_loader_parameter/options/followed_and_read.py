import argparse

import kit_seed
from torch.utils.data import DataLoader
from torchvision.datasets import MNIST


def get_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_workers", type=int, default=10)
    return parser


def main(options):
    kit_seed.threads(options)
    return DataLoader(MNIST("data"), shuffle=True)


if __name__ == "__main__":
    args = get_parser().parse_args()
    main(args)
