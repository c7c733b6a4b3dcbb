import torch
from judge import Judge
from torch.utils.data import DataLoader


def measure(loader, judge):
    found = []
    for images, labels in loader:
        images, labels = images.to("cuda"), labels.to("cuda")
        with torch.no_grad():
            found.append((judge.features(images), labels))
    return found


def main(model, dataset):
    loader = DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True)
    return measure(loader, Judge(model, "cuda"))


def measure_all(dataset):
    found = []
    for images, _ in DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True):
        images = images.to("cuda")
        found.append(images.cpu().numpy())
    return found


def train(model, dataset, opt):
    for images, labels in DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True):
        images, labels = images.to("cuda"), labels.to("cuda")  # expect
        loss = model(images, labels)
        loss.backward()
        opt.step()
        print(images.cpu().numpy())
