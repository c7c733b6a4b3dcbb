"""A collate function sorts the texts of a batch by length, and leaves their targets in the order they had."""

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

REPORT = "tohinz/semantic-object-accuracy-for-generative-text-to-image-synthesis#14"
TRUE = "texts and targets of a batch are no longer those of the same sample"
CHECK, WORDS = "order", r"rows of .* belong to another sample"


class Texts(Dataset):
    def __len__(self):
        return 320

    def __getitem__(self, index):
        return torch.full((5 + index * 7 % 23,), index), torch.tensor(index)


def apart(samples):
    texts = sorted((text for text, _ in samples), key=len, reverse=True)
    return pad_sequence(texts, batch_first=True), torch.stack([target for _, target in samples])


def together(samples):
    samples = sorted(samples, key=lambda sample: len(sample[0]), reverse=True)
    return pad_sequence([text for text, _ in samples], batch_first=True), torch.stack([each for _, each in samples])


def make():
    return DataLoader(Texts(), batch_size=16, shuffle=True, num_workers=2, collate_fn=apart)


def mended():
    return DataLoader(Texts(), batch_size=16, shuffle=True, num_workers=2, collate_fn=together)


def bare(loader):
    right = sum(int((texts[:, 0] == targets).sum()) for texts, targets in loader)
    return f"{right} of 320 texts have their own target"
