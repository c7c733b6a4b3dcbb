import argparse

from torch.utils.data import DataLoader


def add_options(parser: argparse.ArgumentParser):
    parser.add_argument("--workers", type=int, default=8)


def make_loader(dataset):
    return DataLoader(dataset)
