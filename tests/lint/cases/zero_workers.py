import lightning.pytorch as pl
import torch
import torchvision
from accelerate import Accelerator
from PIL import Image
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torchvision import datasets


class Photos(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __getitem__(self, index):
        return self.load(index)

    def load(self, index):
        return Image.open(self.paths[index])


class Numbers(Dataset):
    def __init__(self):
        self.values = torch.arange(8)

    def __getitem__(self, index):
        return self.values[index]


class Prompts(Dataset):
    def __init__(self, prompt):
        self.prompt = prompt

    def __getitem__(self, index):
        return {"prompt": self.prompt, "index": index}


def train(model, loader):
    for batch in loader:
        loss = model(batch)
        loss.backward()


def main(model, paths, epochs):
    loader = DataLoader(Photos(paths), batch_size=4, shuffle=True)  # expect
    for _ in range(epochs):
        train(model, loader)
    zero = DataLoader(Photos(paths), batch_size=4, num_workers=0)  # expect
    train(model, zero)
    folder = DataLoader(datasets.ImageFolder("train"), batch_size=4)  # expect
    train(model, folder)
    cifar = torchvision.datasets.CIFAR10("train")
    train(model, DataLoader(dataset=cifar, batch_size=100, shuffle=True))  # expect


def without_backward(update, paths):
    train_loader = DataLoader(Photos(paths), batch_size=8, shuffle=True)  # expect
    for batch in train_loader:
        update(batch)


def prepared_by_accelerate(model, paths):
    accelerator = Accelerator()
    loader = accelerator.prepare(DataLoader(Photos(paths), batch_size=8, shuffle=True))  # expect
    for batch in loader:
        accelerator.backward(model(batch))


# --- silent ----------------------------------------------------------------------------


def with_workers(model, paths, args):
    train(model, DataLoader(Photos(paths), num_workers=2))
    train(model, DataLoader(Photos(paths), num_workers=args.workers))


def in_memory(model, images):
    train(model, DataLoader(TensorDataset(images)))
    train(model, DataLoader(Numbers()))
    train(model, DataLoader([1, 2, 3]))
    train(model, DataLoader(Prompts("a photo")))
    train(model, DataLoader(datasets.MNIST("train")))


def ready_batches(model, paths):
    train(model, DataLoader(Photos(paths), batch_size=None))


def evaluation(model, paths):
    with torch.no_grad():
        for batch in DataLoader(Photos(paths), batch_size=4):
            model(batch)


def for_debugging(model, paths, debug):
    if debug:
        loader = DataLoader(Photos(paths), num_workers=0)
    else:
        loader = DataLoader(Photos(paths), num_workers=8)
    train(model, loader)


def unknown(model, make_dataset):
    train(model, DataLoader(make_dataset()))


def features_in_order(extract, train_paths):
    train_loader = DataLoader(Photos(train_paths), batch_size=8)
    for batch in train_loader:
        extract(batch)


def looked_at(show, paths):
    loader = DataLoader(Photos(paths), batch_size=8, shuffle=True)
    for batch in loader:
        show(batch)


def never_iterated(paths):
    train_loader = DataLoader(Photos(paths), batch_size=8, shuffle=True)
    return len(train_loader)


def to_be_written(paths):
    train_loader = DataLoader(Photos(paths), batch_size=8, shuffle=True)
    for images in train_loader:
        pass


def fitted(model, paths, others):
    trainer = pl.Trainer(max_steps=100_000)
    loader = DataLoader(Photos(paths), batch_size=4, shuffle=True)  # expect
    trainer.fit(model, loader, DataLoader(Photos(others), batch_size=4))
    pl.Trainer().test(model, DataLoader(Photos(others), batch_size=4))


class PhotoModule(pl.LightningDataModule):
    def __init__(self, paths, others):
        super().__init__()
        self.paths, self.others = paths, others

    def train_dataloader(self):
        return DataLoader(Photos(self.paths), batch_size=4, shuffle=True)  # expect

    def val_dataloader(self):
        return DataLoader(Photos(self.others), batch_size=4)
