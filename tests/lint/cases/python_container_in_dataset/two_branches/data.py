import glob
import json

import torch
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, listing, folder):
        if listing:
            with open(listing) as f:
                self.paths = [line.strip() for line in f]  # expect
        else:
            self.paths = glob.glob(f"{folder}/**/*.pt", recursive=True)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return torch.load(self.paths[i])


loader = DataLoader(Clips("list.txt", "data"), batch_size=8, num_workers=4, shuffle=True)
