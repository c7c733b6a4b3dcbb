import argparse

from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=0)


def train(model, dataset):
    for images in DataLoader(dataset, batch_size=64):
        model(images.cuda()).backward()


def train_with_some(model, dataset):
    args = parser.parse_args()
    for images in DataLoader(dataset, batch_size=64, num_workers=args.workers):
        model(images.cuda()).backward()
