import sys

import data
from torch.utils.data import DataLoader


def main(kind, path):
    for batch in DataLoader(getattr(data, kind)(path), num_workers=4):
        print(batch)


if __name__ == "__main__":
    main(*sys.argv[1:])
