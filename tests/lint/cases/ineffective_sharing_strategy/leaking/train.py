import torch.multiprocessing
from torch.utils.data import DataLoader

torch.multiprocessing.set_sharing_strategy("file_system")  # expect


def main(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)
    for _ in range(epochs):
        for step, batch in enumerate(loader):
            model(batch)
            if step == 100:
                break
