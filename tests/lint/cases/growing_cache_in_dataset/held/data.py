"""Datasets whose caches are filled elsewhere."""

from captions import CaptionProcessor, Tokenizer
from decode import decode
from torch.utils.data import DataLoader, Dataset


class Captions(Dataset):
    def __init__(self, path):
        self.processor = CaptionProcessor(path)
        self.videos = list(self.processor.data)

    def __len__(self):
        return len(self.videos)

    def __getitem__(self, index):
        return self.processor(self.videos[index])


class Clips(Dataset):
    def __init__(self, clips):
        self.clips = clips
        self._meta = {}
        self._extra = {}
        for index in range(len(clips)):
            self._meta[index] = {}
            self._extra[index] = {}

    def __getitem__(self, index):
        return decode(
            self.clips[index],
            16,
            meta=self._meta[index] if len(self._meta) < 5e6 else {},  # expect
            extra=self._extra[index],
        )


def loaders(path, clips):
    vocabulary = Tokenizer()
    print(vocabulary("a few words"))
    return DataLoader(Captions(path), num_workers=16), DataLoader(Clips(clips), num_workers=4)
