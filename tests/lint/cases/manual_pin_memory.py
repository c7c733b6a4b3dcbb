import threading

import numpy as np
import safetensors.torch
import torch
from torch.utils.data import DataLoader, Dataset


# --- pinned and copied each time -------------------------------------------------------------


def chained(model, batches, device):
    for images in batches:
        images = images.pin_memory().to(device, non_blocking=True)  # expect
        model(images)


def two_on_one_line(data, steps, device):
    for _ in range(steps):
        x, y = data.sample()
        x, y = x.pin_memory().cuda(non_blocking=True), y.pin_memory().cuda(non_blocking=True)  # expect


def through_a_variable(model, batches, device):
    for images in batches:
        pinned = images.pin_memory()  # expect
        model(pinned.to(device, non_blocking=True))


def rebound(model, batches):
    for images in batches:
        images = images.contiguous()
        images = images.pin_memory()  # expect
        images = images.cuda(non_blocking=True)
        model(images)


def blocking_copy(conditions, device):
    while True:
        rows = torch.from_numpy(np.stack(conditions)).pin_memory().to(device)  # expect
        yield rows


def blocking_copy_of_batches(model, batches, device):
    for images in batches:
        model(images.pin_memory().to(device))  # expect


def labels_of_one_step(model, numbers, device):
    for step in numbers:
        labels = torch.tensor([step.kind, step.size]).pin_memory()  # expect
        model(labels.to(device, non_blocking=True))


def arrays_of_a_loader(model, dataset, device):
    for images in DataLoader(dataset, num_workers=4):
        model(torch.from_numpy(images.numpy()).pin_memory().to(device))  # expect


def in_a_comprehension(batches, device):
    for batch in batches:
        yield [part.pin_memory().to(device, non_blocking=True) for part in batch]  # expect


def whatever_the_flag(batches, device, flag):
    for images in batches:
        yield images.pin_memory().to(device, non_blocking=flag)  # expect


class HandMadeLoader:
    def __init__(self, dataset, order):
        self.dataset = dataset
        self.order = iter(order)

    def __iter__(self):
        return self

    def __next__(self):
        image = self.dataset.read(next(self.order)).pin_memory().to(device="cuda", non_blocking=True)  # expect
        return image


data = np.memmap("tokens.bin", dtype=np.uint16, mode="r")
device_type = "cuda"
device = "cuda:0"


def get_batch(size):
    starts = torch.randint(len(data) - size, (size,))
    x = torch.stack([torch.from_numpy(data[i : i + size].astype(np.int64)) for i in starts])
    if device_type == "cuda":
        x = x.pin_memory().to(device, non_blocking=True)  # expect
    else:
        x = x.to(device)
    return x


def train(steps):
    for _ in range(steps):
        get_batch(8)


# --- pinned once ----------------------------------------------------------------------------------


def staging_buffer(batches, device):
    staging = torch.empty(64, 3, 224, 224).pin_memory()
    for images in batches:
        staging.copy_(images)
        yield staging.to(device, non_blocking=True)


def allocated_pinned(batches, device):
    for images in batches:
        staging = torch.empty(images.shape, pin_memory=True)
        staging.copy_(images)
        yield staging.to(device, non_blocking=True)


class Tokens:
    def __init__(self, tokens, device):
        self.tokens = tokens.view(8, -1).pin_memory()
        self.device = device

    def get_batch(self, start):
        return self.tokens[:, start : start + 8].to(self.device, non_blocking=True)


def statistics(values):
    host = torch.zeros(1).pin_memory()
    host.copy_(values, non_blocking=True)
    return host


def once(table, device):
    return table.pin_memory().to(device, non_blocking=True)


def build(table, device):
    return once(table, device)


lookup = torch.arange(10).pin_memory().to(device)


def result_dropped(batches):
    for images in batches:
        images.pin_memory()


def only_pinned(batches):
    return [images.pin_memory() for images in batches]


def pinned_for_the_host(batches):
    for images in batches:
        yield images.pin_memory().to("cpu")


# --- on the loader's thread -----------------------------------------------------------------------


class Boxes:
    def __init__(self, boxes):
        self.boxes = boxes

    def pin_memory(self):
        self.boxes = self.boxes.pin_memory()
        return self

    def to(self, device, non_blocking=False):
        return Boxes(self.boxes.to(device, non_blocking=non_blocking))


def collate(samples):
    for sample in samples:
        sample["image"] = sample["image"].pin_memory().to("cuda", non_blocking=True)
    return samples


class Images(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        return {"image": torch.zeros(3), "index": index}


collating = DataLoader(Images(), collate_fn=collate)


# --- weights --------------------------------------------------------------------------------------


class Ema:
    def __init__(self, parameters):
        self.shadow = [p.clone().detach() for p in parameters]

    def pin_memory(self):
        self.shadow = [p.pin_memory() for p in self.shadow]


def offload(modules, device, rounds):
    for _ in range(rounds):
        for parameter in modules.parameters():
            parameter.data = parameter.data.pin_memory().to(device, non_blocking=True)


def from_disk(path, targets, device):
    for key, target in targets.items():
        loaded = safetensors.torch.load_file(path, device="cpu")
        pinned = loaded[key].pin_memory()
        target.copy_(pinned.to(device, non_blocking=True))


def of_state(model, device):
    for name, tensor in model.state_dict().items():
        yield name, tensor.pin_memory().to(device, non_blocking=True)


# --- other things with these names ----------------------------------------------------------------


def ema_method(model, steps):
    ema = Ema(model.parameters())
    for _ in range(steps):
        ema.pin_memory()


def plain(model, batches, device):
    for images in batches:
        model(images.to(device, non_blocking=True))


lock = threading.Lock()
