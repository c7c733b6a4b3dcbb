from torch.utils.data import DataLoader


def make_loader(dataset, workers):
    return DataLoader(dataset, num_workers=workers, pin_memory=True)


def make_small_loader(dataset):
    return DataLoader(dataset, num_workers=0, pin_memory=True)  # expect


def builder(kind):
    return make_loader if kind == "large" else make_small_loader
