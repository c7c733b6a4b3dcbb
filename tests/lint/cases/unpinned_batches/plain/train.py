from torch.utils.data import DataLoader


def train(model, dataset):
    for images, labels in DataLoader(dataset, batch_size=64, num_workers=4):  # expect
        model(images.cuda(), labels.cuda()).backward()
