from torch.utils.data import DataLoader


def build(dataset):
    return DataLoader(dataset, num_workers=4, pin_memory=True)
