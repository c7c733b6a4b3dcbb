import torch
from torch.utils.data import DataLoader


def main(model, dataset):
    torch.multiprocessing.set_sharing_strategy("file_system")  # expect
    for batch in DataLoader(dataset, num_workers=4, multiprocessing_context="spawn", persistent_workers=True):
        model(batch)
