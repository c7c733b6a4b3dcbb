import torch
from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __getitem__(self, index):
        sample = {"points": torch.rand(8, 3), "distances": torch.rand(8)}
        return sample


class Rays:
    def __init__(self, poses, device):
        self.poses = poses
        self.device = device

    def collate(self, indices):
        return {"poses": self.poses[indices].to(self.device)}

    def loader(self):
        return DataLoader(list(range(8)), collate_fn=self.collate)
