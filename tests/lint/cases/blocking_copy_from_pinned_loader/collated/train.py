import functools

import numpy as np
import torch
from torch.utils.data import DataLoader


def shifted(batch):
    """Views of one tensor: the ends of rows, which lie apart in memory, and rows, which do not."""
    both = np.stack(batch)
    both = torch.LongTensor(both)
    rest = both[:, 1:]
    return both[:, :-1], rest.unsqueeze(-1), both[2:], both


def copied(batch):
    """New memory each time."""
    both = torch.stack(batch)
    return both[:, :-1].contiguous(), 2 * both[:, 1:], torch.cat([both[:, :1]]), both[:, 1:].float()


def in_some_cases(batch, whole=False):
    both = torch.stack(batch)
    if whole:
        return both, both
    last = both
    if len(batch) > 2:
        last = both[:, 1:]
    return both[:, 1:], last


def starred(batch):
    both = torch.stack(batch)
    return *both.unbind(), both[:, 1:]


class Collator:
    def __call__(self, batch):
        both = torch.stack(batch)
        return both, both[..., 0]


def train_on_shifted(model, dataset):
    for inputs, targets, rows, whole in DataLoader(dataset, num_workers=4, pin_memory=True, collate_fn=shifted):
        inputs = inputs.cuda()
        model(inputs)
        targets = targets.cuda()
        model(targets)
        rows = rows.cuda()  # expect
        model(rows)
        whole = whole.cuda()  # expect
        model(whole)


def train_on_copied(model, dataset):
    for a, b, c, d in DataLoader(dataset, num_workers=4, pin_memory=True, collate_fn=copied):
        a = a.cuda()  # expect
        model(a)
        b, c = b.cuda(), c.cuda()  # expect
        model(b, c)
        d = d.cuda()  # expect
        model(d)


def train_on_what_may_be_whole(model, dataset):
    for a, b in DataLoader(dataset, num_workers=4, pin_memory=True, collate_fn=in_some_cases):
        a = a.cuda()  # expect
        model(a)
        b = b.cuda()  # expect
        model(b)


def train_on_nobody_knows_what(model, dataset, collate):
    for a, b in DataLoader(dataset, num_workers=4, pin_memory=True, collate_fn=starred):
        model(a.cuda())  # expect
        model(b.cuda())  # expect
    for a, b in DataLoader(dataset, num_workers=4, pin_memory=True, collate_fn=collate):
        model(b.cuda())  # expect


def train_with_siblings(model, dataset, device):
    for step, (whole, last) in enumerate(DataLoader(dataset, num_workers=2, pin_memory=True, collate_fn=Collator())):
        whole, last = whole.to(device), last.to(device)
        model(step, whole, last)
    for whole, last in DataLoader(dataset, num_workers=2, pin_memory=True, collate_fn=Collator()):
        whole = whole.to(device)
        last = last.to(device)
        model(whole, last)
    for whole, last in DataLoader(dataset, num_workers=2, pin_memory=True, collate_fn=Collator()):
        whole = whole.to(device)  # expect
        model(whole)
        last = last.to(device)
        model(last)


def train_on_another(model, dataset, device):
    for inputs, targets in DataLoader(
        dataset, num_workers=2, pin_memory=True, collate_fn=functools.partial(in_some_cases, whole=True)
    ):
        inputs = inputs.to(device)  # expect
        targets = targets.to(device)  # expect
        model(inputs, targets)
