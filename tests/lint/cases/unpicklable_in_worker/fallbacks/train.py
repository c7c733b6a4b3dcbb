import argparse
import sys

from data import (
    Flagged,
    Lacking,
    Optional,
    Otherwise,
    OtherwiseLacking,
    Passed,
    PassedToBase,
    Reader,
    Unsaid,
)
from torch.utils.data import DataLoader


def named(index):
    return f"{index}.png"


def plain(row):
    return row


def main(rows, ways):
    parser = argparse.ArgumentParser()
    parser.add_argument("--read", default=None)
    args = parser.parse_args()
    reader = Reader(named, plain)
    for dataset in (
        Passed(rows, Reader(named)),
        Passed(rows, reader=reader, place=lambda root: root),
        PassedToBase(rows, reader),
        Lacking(rows, reader),
    ):
        yield DataLoader(dataset, num_workers=4)
    yield DataLoader(Lacking(rows), num_workers=4)
    yield DataLoader(Otherwise(rows, plain, plain, plain, plain, plain), num_workers=4)
    yield DataLoader(OtherwiseLacking(rows), num_workers=4)
    yield DataLoader(Unsaid(rows, ways["read"]), num_workers=4)
    yield DataLoader(Flagged(rows), num_workers=4)
    yield DataLoader(Optional(rows, args.read), num_workers=4)


if __name__ == "__main__":
    print(list(main(sys.argv, {})))
