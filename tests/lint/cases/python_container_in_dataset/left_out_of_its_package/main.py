import sys

import reads
from torch.utils.data import DataLoader


def main(kind, path):
    """There is Chosen; Left is what nothing reaches, as in "reads.Left"."""
    for batch in DataLoader(getattr(reads, kind)(path), num_workers=4):
        print(batch)


if __name__ == "__main__":
    main(*sys.argv[1:])
