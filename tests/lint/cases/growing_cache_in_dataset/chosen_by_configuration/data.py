from decode import decode, read
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, clips, cfg):
        self.clips = clips
        self.cfg = cfg
        self._meta = {index: {} for index in range(len(clips))}
        self._found = {index: {} for index in range(len(clips))}

    def __getitem__(self, index):
        frames = decode(
            self.clips[index],
            meta=self._meta[index],  # expect advice
            backend=self.cfg.BACKEND,
        )
        return frames, read(
            self.clips[index],
            self._found[index],  # expect
            self.cfg.READER,
        )


def make_loader(clips, cfg):
    return DataLoader(Clips(clips, cfg), num_workers=4)
