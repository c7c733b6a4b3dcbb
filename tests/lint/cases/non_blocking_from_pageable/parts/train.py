import torch

from data import Data


def run(model, train_set, val_set):
    data = Data(train_set, val_set, 4)
    for batch in data.train_loader():
        batch = {name: part.to("cuda", non_blocking=True) for name, part in batch.items()}  # expect
        model(batch)
    for batch in data.val_loader():
        batch = {name: part.to("cuda", non_blocking=True) for name, part in batch.items()}
        both = torch.cat([batch["left"], batch["right"]])
        model(both.to("cuda", non_blocking=True))
