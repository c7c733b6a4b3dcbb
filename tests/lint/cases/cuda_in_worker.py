"""Datasets and collate functions that touch the accelerator."""

import argparse
from functools import partial

import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info
from torch.utils.data.dataloader import default_collate
from torchvision import transforms

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
CPU = torch.device("cpu")


class Images(Dataset):
    def __init__(self, images, labels):
        self.images = images
        self.labels = labels

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = torch.from_numpy(self.images[index]).cuda()  # expect
        label = torch.tensor(self.labels[index], device=DEVICE)  # expect
        return image, label


class Moved(Dataset):
    def __init__(self, rows, device="cuda:0"):
        self.rows = rows
        self.device = device

    def __getitem__(self, index):
        return self.load(index)

    def load(self, index):
        return self.rows[index].to(self.device, non_blocking=True)  # expect




def handed(rows):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return DataLoader(Handed(rows, device), num_workers=2)


def train_loaders(images, labels, rows):
    yield DataLoader(Images(images, labels), batch_size=8, num_workers=4)
    yield DataLoader(Moved(rows), num_workers=2, shuffle=True)


def to_device(samples):
    batch = default_collate(samples)
    return {key: value.to("cuda") for key, value in batch.items()}  # expect




class Collate:
    def __init__(self, device):
        self.device = torch.device(device)

    def __call__(self, samples):
        return torch.zeros(len(samples), device=self.device)  # expect


def collated(dataset, args):
    yield DataLoader(dataset, num_workers=args.workers, collate_fn=to_device)
    yield DataLoader(dataset, num_workers=4, collate_fn=partial(with_device, device="cuda"))
    yield DataLoader(dataset, num_workers=4, collate_fn=Collate("cuda"))
    yield DataLoader(dataset, num_workers=4, collate_fn=lambda samples: torch.stack(samples).cuda())  # expect


class Synthetic(Dataset):
    """Made on the device, once, in the main process; its loader has no workers."""

    def __init__(self, rows, device="cuda"):
        self.rows = torch.rand(rows, 16, device=device)
        self.shift = torch.zeros(16, device=device)

    def __getitem__(self, index):
        return self.rows[index] + self.shift.cuda()


def synthetic(rows):
    return DataLoader(Synthetic(rows), batch_size=None, num_workers=0, collate_fn=on_device)


def on_device(sample):
    return sample.cuda()


class Host(Dataset):
    def __init__(self, rows, device="cpu"):
        self.rows = rows
        self.device = device
        self.eos = torch.tensor([2])

    def __getitem__(self, index):
        row = self.rows[index]
        eos = self.eos.to(device=row.device)
        row = row.to(torch.float32).to("cpu").to(CPU)
        blank = torch.zeros(4, device="cpu")
        padding = torch.zeros(4, device=self.device)
        return torch.cat([row, eos, blank, padding])

    def basis(self):
        """The main process calls this, before there are workers."""
        return [row.cuda() for row in self.rows]

    def reduce(self, value):
        total = torch.tensor([value]).cuda()
        torch.distributed.all_reduce(total)
        return total.item()


class Unknown(Dataset):
    """Where the device comes from is not known."""

    def __init__(self, rows, config):
        self.rows = rows
        self.config = config

    def __getitem__(self, index):
        return self.rows[index].to(self.config.device)


def host_loader(rows, config):
    host = Host(rows)
    host.basis()
    return DataLoader(host, num_workers=4), DataLoader(Unknown(rows, config), num_workers=4)


class Files(Dataset):
    """One helper builds all loaders; this one's has no workers."""

    def __init__(self, names):
        self.names = names

    def __getitem__(self, index):
        return torch.load(self.names[index]).cuda()


def build(dataset, workers=4, collate=None):
    return DataLoader(dataset, num_workers=workers, collate_fn=collate)


def built(names, rows):
    return build(Files(names), workers=0, collate=on_device), build(Host(rows), workers=8)


class Tokenizer:
    """Trained with on the CPU, on the device only where it is tried out."""

    def __init__(self, device=CPU):
        self.device = device

    def tokenize(self, row):
        return row.to(self.device)


class Tokenized(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.tokenizer = Tokenizer()

    def __getitem__(self, index):
        return self.tokenizer.tokenize(self.rows[index])


def try_tokenizer(row):
    return Tokenizer(device=torch.device("cuda:0")).tokenize(row)


class Spawned(Dataset):
    """Its loader says that its workers are not forked."""

    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        return self.rows[index].cuda()


def spawned(rows):
    return DataLoader(Spawned(rows), num_workers=4, multiprocessing_context="spawn")


class Weights:
    """A mapping of tensors, not a dataset."""

    def __init__(self, index):
        self.index = index

    def __getitem__(self, name):
        return self.index[name].to("cuda")


def train(loader, model):
    for batch in loader:
        model(batch.cuda()).sum().backward()


class Normalise:
    def __call__(self, image):
        return (image.cuda() - 0.5).cpu()  # expect


class NormaliseBatch:
    def __call__(self, batch):
        return (batch.cuda() - 0.5) * 2


class Composed(Dataset):
    def __init__(self, rows, transform):
        self.rows = rows
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(self.rows[index])


def composed(rows):
    loader = DataLoader(Composed(rows, transforms.Compose([Normalise(), torch.nn.Flatten()])), num_workers=4)
    change = transforms.Compose([NormaliseBatch()])
    return [change(batch) for batch in loader]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=4)
    args = parser.parse_args()
    rows = torch.zeros(64, 16)
    train(DataLoader(Host(rows), num_workers=args.workers), torch.nn.Linear(16, 1).cuda())
    for loader in collated(Host(rows), args):
        train(loader, torch.nn.Linear(16, 1))


class OnRequest(Dataset):
    """Where workers come by an option alone, whoever gives it learns of them."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index].cuda(), self.rows[index - 1].cuda()  # expect advice


def on_request(rows):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    return DataLoader(OnRequest(rows), num_workers=parser.parse_args().workers)


class InTheMainProcess(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        alone = get_worker_info() is None
        info = get_worker_info()
        if info is not None and index:
            return self.rows[index - 1].cuda()  # expect
        if not self.rows[index].is_cuda:
            return torch.zeros(2).cuda()  # expect
        return self.rows[index]


def in_the_main_process(rows):
    return DataLoader(InTheMainProcess(rows), num_workers=4)
