from torch.utils.data import DataLoader


def make_loader(dataset, options):
    return DataLoader(dataset, num_workers=1, pin_memory=options.pin)
