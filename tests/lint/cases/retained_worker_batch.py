"""Loops that keep batches, and loops that keep what they made of them."""

from collections import defaultdict

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

LOADER = DataLoader(range(100_000), batch_size=4, num_workers=4)
PINNED = DataLoader(range(100_000), batch_size=4, num_workers=4, pin_memory=True)
MAYBE_PINNED = DataLoader(range(100_000), num_workers=4, pin_memory=torch.cuda.is_available())
ALONE = DataLoader(range(100_000), batch_size=4)


def plain(model):
    targets, scores, firsts = [], [], []
    for images, labels in LOADER:
        scores.append(model(images.cuda()))
        targets.append(labels.cpu())  # expect
        firsts.append(images[0].detach())  # expect
    return torch.cat(targets), torch.cat(scores), firsts


def views(model):
    kept = []
    arrays = []
    for index, batch in enumerate(tqdm(LOADER)):
        labels = batch["label"]
        flat = labels.view(-1)
        arrays.append(labels.numpy())  # expect
        kept.extend([flat.detach(), model(batch["image"].to("cuda"))])  # expect
        kept += [labels.squeeze(0).data]  # expect
    return kept, arrays


def grouped(loader, model):
    volumes = defaultdict(list)
    by_name = {}
    for batch in loader:
        output = model(batch.kspace.cuda())
        for i, name in enumerate(batch.fname):
            if name not in by_name:
                by_name[name] = []
            by_name[name].append((output[i].cpu(), batch.kspace[i].cpu(), batch.number[i]))  # expect
            volumes[name].append(output[i].cpu())
    return volumes, by_name


def grouped_all(model):
    return grouped(DataLoader(range(1000), num_workers=20), model)


class Evaluation:
    def __init__(self, model):
        self.model = model
        self.targets = []
        self.scores = {}

    def run(self, loader):
        for step, (images, labels) in enumerate(loader):
            self.scores[step] = labels.detach()  # expect
            self.targets.append(labels.numpy())  # expect
            self.last = labels
        return self.targets

    def run_all(self):
        return self.run(LOADER)


def comprehended():
    labels = torch.cat([label.detach() for _, label in LOADER])  # expect
    copies = torch.cat([label.clone() for _, label in LOADER])
    values = [label.item() for _, label in ALONE]
    total = sum(label.numpy().sum() for _, label in LOADER)
    return labels, copies, values, total


def joined(model):
    labels_seen, ids, names = [], [], []
    for images, labels, keys, texts in LOADER:
        model(images)
        labels_seen.append(labels)  # expect
        ids.append(keys)  # expect
        names.append(texts)
    weights = torch.cat([weight for *_, weight in LOADER])  # expect
    return torch.cat(labels_seen), torch.stack(ids, dim=0), names, weights


def elements(model):
    """The elements of an array of numbers are copies; those of a tensor are views."""
    seen, views = [], []
    for images, labels in LOADER:
        seen.extend(labels.numpy())
        seen.extend(model(images).cpu().numpy())
        seen.append(labels.numpy()[0])
        seen += list(labels.numpy())
        views.extend(labels.cpu())  # expect
    return seen, views


def numbers(model):
    labels_seen, losses, correct, copies = [], [], [], []
    confusion = np.zeros((10, 10))
    for images, labels in LOADER:
        outputs = model(images)
        labels_seen.extend(labels.tolist())
        losses.append(outputs.mean().item())
        correct.append((outputs.argmax(1) == labels).float())
        copies.append(labels.clone())
        copies.append(labels.numpy().copy())
        copies.append(np.array(labels))
        copies.append(labels.detach().clone().numpy())
        copies.append(labels.cpu().numpy().sum())
        copies.append(torch.cat([labels, labels]))
        copies.append(labels + 1)
        np.add.at(confusion, labels.numpy(), 1)
    return labels_seen, losses, correct, copies, confusion


def on_the_device(model):
    targets, inputs, predictions = [], [], []
    for batch in LOADER:
        batch = {key: value.cuda() for key, value in batch.items()}
        targets.append(batch["target"])
        inputs.append(batch["image"].cpu())
        predictions.append(model(batch).cpu())
    return targets, inputs, predictions


def moved(model, device):
    targets = []
    for images, labels in LOADER:
        images, labels = images.to(device), labels.to(device)
        targets.append(labels.cpu())
        model(images)
    return targets


def pinned_or_alone():
    kept = []
    for images, labels in PINNED:
        kept.append(labels.detach())
    for images, labels in MAYBE_PINNED:
        kept.append(labels.detach())
    for images, labels in ALONE:
        kept.append(labels.cpu())
    for images, labels in DataLoader(range(10), num_workers=0):
        kept.append(labels.numpy())
    return kept


def emptied(model):
    group = []
    for step, (images, labels) in enumerate(LOADER):
        names = []
        names.append(labels.detach())
        pair = [images, labels]
        pair.append(labels.cpu())
        if step % 4 == 0:
            group = []
        group.append(labels.detach())
        model(pair, names, group)


def cleared(model):
    group = []
    for _, labels in LOADER:
        group.append(labels.detach())
        if len(group) == 8:
            model(torch.cat(group))
            group.clear()


def strings():
    """Nothing says that these are tensors: names and ids come as lists of strings."""
    paths, ids = [], []
    for images, names, keys in LOADER:
        paths.append(names)
        paths.extend(names)
        ids.append(keys[0])
    return paths, ids


def one_batch():
    kept = []
    for images, labels in LOADER:
        kept.append(labels.cpu())
        break
    return kept


def unknown(loader):
    kept = []
    for images, labels in loader:
        kept.append(labels.cpu())
    return kept


class Captions(Dataset):
    """414,000 pairs."""

    def __getitem__(self, index):
        return torch.tensor(index), index


def as_many_as_are_told(dataset, args):
    kept = []
    for batch in DataLoader(dataset, batch_size=args.size, num_workers=4):
        kept.append(batch.cpu())  # expect
    for batch in DataLoader(dataset, batch_size=8, num_workers=4):
        kept.append(batch.cpu())  # expect
    for batch in DataLoader(dataset, num_workers=4):
        kept.append(batch.cpu())  # expect
    for batch in DataLoader(dataset, batch_sampler=args.sampler, num_workers=4):
        kept.append(batch.cpu())  # expect
    for batch, _ in DataLoader(Captions(), batch_size=128, num_workers=4):
        kept.append(batch.cpu())  # expect
    for batch, _ in DataLoader(Captions(), batch_size=1024, num_workers=4):
        kept.append(batch.cpu())  # expect
    for batch in DataLoader(range(10_000), batch_size=64, num_workers=4):
        kept.append(batch.cpu())  # expect
    for batch in DataLoader(range(100_000), batch_size=64, num_workers=4):
        kept.append(batch.cpu())  # expect
    return torch.cat(kept)


def of_a_set_that_makes_batches(rows, size):
    metadata = []
    for labels in DataLoader(rows.batched(size), batch_size=None, num_workers=4):
        metadata.append(labels.detach())  # expect
    return torch.cat(metadata)


def until_there_are_none(dataset):
    batches, kept = iter(DataLoader(dataset, num_workers=4)), []
    while True:
        batch = next(batches, None)
        if batch is None:
            return torch.cat(kept)
        kept.append(batch.cpu())  # expect


def to_host(batch):
    if isinstance(batch, dict):
        return {key: to_host(one) for key, one in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [to_host(one) for one in batch]
    return batch.detach().cpu()


def by_a_helper_that_calls_itself(dataset):
    kept = []
    for batch in DataLoader(dataset, num_workers=4):
        kept.append(to_host(batch))  # expect
    return kept
