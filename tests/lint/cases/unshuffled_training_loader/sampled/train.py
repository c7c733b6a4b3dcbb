from torch.utils.data import DataLoader, RandomSampler
from torchvision.datasets import ImageFolder


def fit(model, optimizer, epochs):
    dataset = ImageFolder("/data")
    loader = DataLoader(dataset, 32, sampler=RandomSampler(dataset))
    for epoch in range(epochs):
        for images, labels in loader:
            model(images, labels).backward()
            optimizer.step()


def fit_for(model, optimizer, epochs, replaced):
    train_loader = DataLoader(ImageFolder("/data"), 32)
    replaced(train_loader, RandomSampler(train_loader.dataset))
    for epoch in range(epochs):
        for images, labels in train_loader:
            model(images, labels).backward()
            optimizer.step()
