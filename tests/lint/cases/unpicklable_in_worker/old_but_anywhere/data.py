from torch.utils.data import DataLoader


def make_loader(dataset, count):
    return DataLoader(dataset, num_workers=4, collate_fn=lambda samples: samples[:count])  # expect advice
