from engine import Engine
from torch.utils.data import DataLoader


def fit(model, data, optimizer):
    loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=4)
    Engine(model, optimizer).fit(loader)
