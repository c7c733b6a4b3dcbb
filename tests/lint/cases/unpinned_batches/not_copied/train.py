from torch.utils.data import DataLoader


def train(model, dataset):
    for images, labels in DataLoader(dataset, batch_size=64, num_workers=4):
        model(images.to("cpu"), labels).backward()


def statistics(dataset):
    return [images.mean() for images, _ in DataLoader(dataset, batch_size=64, num_workers=4)]
