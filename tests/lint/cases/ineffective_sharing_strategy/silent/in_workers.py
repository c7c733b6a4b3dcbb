import torch
from torch.utils.data import DataLoader


def start(worker_id):
    torch.multiprocessing.set_sharing_strategy("file_system")


def main(model, dataset):
    for batch in DataLoader(dataset, num_workers=4, multiprocessing_context="spawn", worker_init_fn=start):
        model(batch)
