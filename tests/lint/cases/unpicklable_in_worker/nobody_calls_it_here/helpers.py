from torch.utils.data import DataLoader


def ratios(dataset):
    loader = DataLoader(dataset, num_workers=4, collate_fn=lambda samples: samples[0])  # expect
    return [image.width / image.height for image, _ in loader]
