import sys

from torch.utils.data import DataLoader

from faces import Wanted
from words import Spoken


def main(model, path):
    model.eval()
    for data in (Wanted(path), Spoken(path)):
        for batch in DataLoader(data, num_workers=4):
            print(model(batch))


if __name__ == "__main__":
    main(*sys.argv[1:])
