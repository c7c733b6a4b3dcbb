import torch
from torch.utils.data import DataLoader


def main(model, dataset):
    torch.multiprocessing.set_sharing_strategy("file_system")
    for batch in DataLoader(dataset, num_workers=4):
        model(batch)


if __name__ == "__main__":
    torch.multiprocessing.set_sharing_strategy("file_descriptor")
    main(print, range(8))
