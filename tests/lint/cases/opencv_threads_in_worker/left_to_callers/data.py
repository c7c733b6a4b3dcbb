"""No caller asks for the branch with OpenCV."""

import cv2
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Prepare:
    def one(self, image, align=False):
        if align:
            image = cv2.resize(image, (256, 256))  # expect advice
        return torch.from_numpy(image).permute(2, 0, 1)

    def all(self, images, align=False):
        return torch.stack([self.one(image, align=align) for image in images])


class Clips(Dataset):
    def __init__(self, n):
        self.n, self.prepare = n, Prepare()

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.prepare.all(np.load(f"{i}.npy"), align=False)


loader = DataLoader(Clips(1000), batch_size=8, num_workers=8, shuffle=True)
