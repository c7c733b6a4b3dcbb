import torch.multiprocessing
from torch.utils.data import DataLoader

torch.multiprocessing.set_sharing_strategy("file_system")


def whole_epochs(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4, multiprocessing_context="spawn")
    for _ in range(epochs):
        for batch in loader:
            for part in batch:
                if part:
                    break
            model(batch)


def persistent(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4, persistent_workers=True)
    for _ in range(epochs):
        for batch in loader:
            model(batch)
            break


def once(model, dataset):
    for batch in DataLoader(dataset, num_workers=4):
        model(batch)
        break
