"""Each worker unpacks into a temporary folder; workers end without cleaning up, and the folders stay."""

import shutil
import tempfile
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "MMV-Lab/mmv_im2im#66"
TRUE = "each worker leaves a temporary folder behind, every epoch"
CHECK, WORDS = "workers", r"temporary files or folders"


class Unpacked(Dataset):
    def __init__(self, tidy):
        self.tidy, self.folder = tidy, None

    def __len__(self):
        return 128

    def __getitem__(self, index):
        if self.folder is None or self.tidy:
            self.folder = Path(tempfile.mkdtemp(prefix="unpacked-"))
        path = self.folder / f"{index}.bin"
        path.write_bytes(bytes(1024))
        row = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8) + index
        path.unlink()
        if self.tidy:
            shutil.rmtree(self.folder)
        return row


def make():
    return DataLoader(Unpacked(tidy=False), batch_size=8, shuffle=True, num_workers=2)


def mended():
    return DataLoader(Unpacked(tidy=True), batch_size=8, shuffle=True, num_workers=2)


def bare(loader):
    before = set(Path(tempfile.gettempdir()).glob("unpacked-*"))
    for _ in range(3):
        for _ in loader:
            pass
    left = set(Path(tempfile.gettempdir()).glob("unpacked-*")) - before
    for folder in left:
        shutil.rmtree(folder)
    return f"{len(left)} folders left by 3 epochs"
