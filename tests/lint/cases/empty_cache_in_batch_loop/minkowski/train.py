import torch
from MinkowskiEngine import SparseTensor
from torch.utils.data import DataLoader


def train(model, dataset):
    for batch in DataLoader(dataset, num_workers=4):
        model(SparseTensor(batch["features"], batch["points"])).backward()
        torch.cuda.empty_cache()  # expect advice
