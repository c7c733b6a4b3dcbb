from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torchvision.datasets import CIFAR10, ImageFolder


class Photos(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return Image.open(self.paths[index])


def fit(model, paths, optimizer, epochs):
    loader = DataLoader(Photos(paths), batch_size=32, num_workers=4)  # expect
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()
            optimizer.step()


def fit_said(model, optimizer):
    train_loader = DataLoader(ImageFolder("/data"), batch_size=32, shuffle=False)  # expect
    for epoch in range(90):
        for images, labels in train_loader:
            model(images, labels).backward()
            optimizer.step()


def run_epoch(model, loader, optimizer):
    for batch in loader:
        loss = model(batch)
        if optimizer is not None:
            loss.backward()
            optimizer.step()


def main(model, optimizer, paths, others):
    train_loader = DataLoader(Photos(paths), 32, sampler=None)  # expect
    val_loader = DataLoader(Photos(others), 32)
    for epoch in range(10):
        run_epoch(model, train_loader, optimizer)
        run_epoch(model, val_loader, None)


# --- traps ---------------------------------------------------------------------------------


class Rows(IterableDataset):
    def __iter__(self):
        yield from self.rows


class TimeSeries(Dataset):
    def __getitem__(self, index):
        return self.values[index : index + 24]


class Drawn(Dataset):
    def __getitem__(self, index):
        import random

        return self.rows[random.randrange(len(self.rows))]


def repeated(model, optimizer, paths, epochs, make, n):
    for loader in (
        DataLoader(Photos(paths), 32, shuffle=True),
        DataLoader(Photos(paths), 32, sampler=make(paths)),
        DataLoader(Photos(paths), batch_sampler=make(paths)),
        DataLoader(Photos(paths), 32, shuffle=n > 1),
        DataLoader(Photos(paths), batch_size=len(paths)),
        DataLoader(Rows(), 32),
        DataLoader(TimeSeries(), 32),
        DataLoader(Drawn(), 32),
        DataLoader(make(paths), 32),
    ):
        for epoch in range(epochs):
            for batch in loader:
                model(batch).backward()
                optimizer.step()


def series(model, optimizer, epochs):
    loader = DataLoader(TimeSeries(), 32)
    drawn = DataLoader(Drawn(), 32)
    rows = DataLoader(Rows(), 32)
    whole = DataLoader(Photos(()), batch_size=len(Photos(())))
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()
        for batch in drawn:
            model(batch).backward()
        for batch in rows:
            model(batch).backward()
        for batch in whole:
            model(batch).backward()


def unknown(model, make, epochs, loaders):
    loader = DataLoader(make(), 32)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()


def once(model, paths):
    for batch in DataLoader(Photos(paths), 32):
        model(batch).backward()


def one_epoch(model, paths):
    loader = DataLoader(Photos(paths), 32)
    for epoch in range(1):
        for batch in loader:
            model(batch).backward()


def evaluate(model, paths):
    loader = DataLoader(CIFAR10("/data"), 32)
    for epoch in range(3):
        for batch in loader:
            model(batch)


def overfit(model, paths, epochs):
    overfit_photos = Photos(paths[:4])
    loader = DataLoader(overfit_photos, 4)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()
