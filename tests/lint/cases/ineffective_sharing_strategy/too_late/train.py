import torch
from torch.utils.data import DataLoader


def main(model, dataset):
    loader = DataLoader(dataset, num_workers=4)
    for batch in loader:
        model(batch)
    torch.multiprocessing.set_sharing_strategy("file_system")  # expect
    for batch in loader:
        model(batch)
