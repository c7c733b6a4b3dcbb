"""Samples are stored in compressed chunks of many; read in random order, a chunk is unpacked again for each of them."""

import tempfile
import zlib
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "AshleyLab/OpenMHC#16"
TRUE = "a chunk of 256 samples is read and unpacked for each sample"
CHECK, WORDS = "stages", r"reads .* of files"
ROW, CHUNK = 2048, 256


class Chunked(Dataset):
    def __init__(self, rows_in_chunk):
        self.folder = tempfile.TemporaryDirectory()
        self.path, self.rows_in_chunk, self.places = Path(self.folder.name, "chunks"), rows_in_chunk, []
        generator = np.random.default_rng(0)
        with self.path.open("wb") as file:
            for _ in range(2048 // rows_in_chunk):
                packed = zlib.compress(generator.integers(0, 64, rows_in_chunk * ROW, dtype=np.uint8).tobytes(), 1)
                self.places.append((file.tell(), len(packed)))
                file.write(packed)

    def __len__(self):
        return 2048

    def __getitem__(self, index):
        chunk, row = divmod(index, self.rows_in_chunk)
        start, length = self.places[chunk]
        with self.path.open("rb", buffering=0) as file:
            file.seek(start)
            rows = zlib.decompress(file.read(length))
        return torch.frombuffer(bytearray(rows[row * ROW : (row + 1) * ROW]), dtype=torch.uint8)


def make():
    return DataLoader(Chunked(CHUNK), batch_size=16, shuffle=True, num_workers=2)


def mended():
    return DataLoader(Chunked(1), batch_size=16, shuffle=True, num_workers=2)


def bare(loader):
    def read():
        return int(Path("/proc/self/io").read_text().split()[1])

    before = read()
    for index in range(20):
        loader.dataset[index]
    return f"{(read() - before) / 20 / ROW:.1f} bytes read for each byte given"
