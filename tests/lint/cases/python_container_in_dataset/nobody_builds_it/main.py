import sys

from data import KINDS, Audio, Child, Records
from torch.utils.data import DataLoader


def main(path):
    for data in (Records(path), Child(path), KINDS[sys.argv[2]](path)):
        for batch in DataLoader(data, num_workers=4):
            print(batch)


if __name__ == "__main__":
    main(sys.argv[1])
