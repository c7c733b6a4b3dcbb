import argparse

import kit_seed
from torch.utils.data import DataLoader
from torchvision.datasets import MNIST


def get_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_workers", type=int, default=10)  # expect
    parser.add_argument("--batch_size", type=int, default=64)
    return parser


def main(options):
    print("{}".format(options))
    kit_seed.start(options)
    return make_loader(settings=options)


def make_loader(settings):
    return DataLoader(MNIST("data"), batch_size=settings.batch_size, shuffle=True)


if __name__ == "__main__":
    args = get_parser().parse_args()
    main(args)
