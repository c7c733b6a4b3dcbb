import torch
from data import Again, Both, Decorated, Learned, Ordered, Repeated, Shuffled, WithGradients
from torch.utils.data import DataLoader


def answer(model, path):
    with torch.inference_mode():
        for boxes in DataLoader(Ordered(path), num_workers=4, shuffle=False):
            print(model.generate(boxes))
        for boxes in DataLoader(Shuffled(path), num_workers=4, shuffle=True):
            print(model.generate(boxes))


@torch.no_grad()
def describe(model, path):
    for boxes in DataLoader(Decorated(path), num_workers=4):
        print(model(boxes))


def learn(model, path, optimizer):
    for boxes in DataLoader(Learned(path), num_workers=4):
        with torch.no_grad():
            print(model(boxes))
        model(boxes).backward()
        optimizer.step()


@torch.no_grad()
def repeat(model, path, epochs):
    loader = DataLoader(Repeated(path), num_workers=4)
    for _ in range(epochs):
        for boxes in loader:
            print(model(boxes))


def attribute(model, path):
    for boxes in DataLoader(WithGradients(path), num_workers=4):
        print(torch.autograd.grad(model(boxes), boxes))


@torch.no_grad()
def look(model, path):
    for boxes in DataLoader(Again(path), num_workers=4):
        print(model(boxes))


def train(model, path, optimizer):
    for boxes in DataLoader(Again(path), num_workers=4):
        model(boxes).backward()
        optimizer.step()
    for boxes in DataLoader(Both(path), num_workers=4):
        model(boxes).backward()
        optimizer.step()
