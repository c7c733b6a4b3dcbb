from torch.utils.data import DataLoader


def evaluate(model, dataset):
    for images, _ in DataLoader(dataset, batch_size=64, num_workers=4):
        model(images.cuda())


def train(model, dataset, settings):
    for images, labels in DataLoader(dataset, batch_size=64, num_workers=4, **settings):
        model(images.cuda(), labels.cuda()).backward()
