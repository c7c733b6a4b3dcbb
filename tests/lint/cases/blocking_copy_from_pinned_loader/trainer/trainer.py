from data import build_loaders
from moving import model_to, to_device, to_device_at_once


class Trainer:
    def __init__(self, model, train_set, val_set, device):
        self.device = device
        self.model = model_to(model, device)
        self.train_loader, self.val_loader = build_loaders(train_set, val_set, 4)

    def fit(self):
        for epoch in range(10):
            self.epoch(self.train_loader)
            self.evaluate()
            print(epoch)

    def epoch(self, loader):
        for batch in loader:
            batch = to_device(batch, self.device)
            self.model(batch)
        for images, labels in loader:
            images, labels = to_device_at_once((images, labels), self.device)
            self.model(images, labels)

    def evaluate(self):
        for images, labels in self.val_loader:
            self.model(images.to(self.device), labels.to(self.device))


def main(model, train_set, val_set):
    Trainer(model, train_set, val_set, "cuda").fit()
