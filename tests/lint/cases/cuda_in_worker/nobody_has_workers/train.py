from torch.utils.data import DataLoader

from data import *


def train(model, name, rows):
    dataset = globals()[name](rows)
    for batch in DataLoader(dataset, batch_size=4, shuffle=True):
        model(batch)
