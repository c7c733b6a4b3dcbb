import torch.multiprocessing as mp
from torch.utils.data import DataLoader


def train(model, dataset):
    for batch in DataLoader(dataset, num_workers=4, multiprocessing_context="forkserver"):
        model(batch)


if __name__ == "__main__":
    mp.set_sharing_strategy("file_system")  # expect
    train(print, range(8))
