import torch
from torch.utils.data import DataLoader


def chained(model, loader: DataLoader, device):
    for images, labels in loader:
        images = images.pin_memory().to(device, non_blocking=True)  # expect
        labels = labels.pin_memory().cuda(non_blocking=True)  # expect
        model(images, labels)


def through_a_name(model, dataset, device):
    for batch in DataLoader(dataset, batch_size=4):
        pinned = batch.pin_memory()  # expect
        model(pinned.to(device, non_blocking=True))


def blocking(model, dataset, device):
    for batch in DataLoader(dataset, batch_size=4):
        model(batch.pin_memory().to(device))  # expect


def random_batches(model, data, device):
    while True:
        index = torch.randint(len(data), (32,))
        batch = torch.stack([data[i] for i in index])
        model(batch.pin_memory().to(device, non_blocking=True))  # expect


def get_batch(data, device):
    index = torch.randint(len(data), (32,))
    x = torch.stack([data[i] for i in index])
    return x.pin_memory().to(device, non_blocking=True)  # expect


def steps(model, data, device):
    for _ in range(100):
        model(get_batch(data, device))


# --- silent ----------------------------------------------------------------------------


def staging_buffer(model, dataset, device):
    staging = torch.empty(4, 8).pin_memory()
    for batch in DataLoader(dataset, batch_size=4):
        staging.copy_(batch)
        model(staging.to(device, non_blocking=True))


def allocated_pinned(model, dataset, device):
    staging = torch.empty(4, 8, pin_memory=True)
    for batch in DataLoader(dataset, batch_size=4):
        staging.copy_(batch)
        model(staging.to(device, non_blocking=True))


def once(data, device):
    table = torch.as_tensor(data).pin_memory()
    for _ in range(10):
        yield table.to(device, non_blocking=True)


def collate(samples):
    return torch.stack(samples).pin_memory()


class Batch:
    def __init__(self, images):
        self.images = images

    def pin_memory(self):
        self.images = self.images.pin_memory()
        return self

    def to(self, device, non_blocking=False):
        self.images = self.images.to(device, non_blocking=non_blocking)
        return self


def by_the_loader(model, dataset, device):
    for batch in DataLoader(dataset, batch_size=4, pin_memory=True, collate_fn=collate):
        model(batch.to(device, non_blocking=True))


def offload(model, steps):
    for _ in range(steps):
        for parameter in model.parameters():
            parameter.data = parameter.data.cpu().pin_memory()


def kept_pinned(dataset):
    kept = []
    for batch in DataLoader(dataset, batch_size=4):
        kept.append(batch.pin_memory())
    return kept


def to_the_host(tensor):
    return tensor.pin_memory().to("cpu")
