from torch.utils.data import DataLoader


def train(model, dataset):
    for images in DataLoader(dataset, batch_size=64, num_workers=4):
        model(images.cuda(non_blocking=True)).backward()
