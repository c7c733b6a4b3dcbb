from torch.utils.data import DataLoader


def evaluate(model, dataset):
    for images, _ in DataLoader(dataset, batch_size=64, num_workers=4):
        model(images.cuda())


def train(model, dataset):
    for images, labels in DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True):
        model(images.cuda(non_blocking=True), labels.cuda(non_blocking=True)).backward()
