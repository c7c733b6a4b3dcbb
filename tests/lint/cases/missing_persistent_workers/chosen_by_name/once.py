from torch.utils.data import DataLoader


def first(dataset):
    return DataLoader(dataset, num_workers=4)


def second(dataset):
    return DataLoader(dataset, num_workers=2)
