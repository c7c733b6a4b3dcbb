import pytorch_lightning as pl
from torch.utils.data import DataLoader

from sets import Photos


class Module(pl.LightningModule):
    def train_dataloader(self):
        return DataLoader(Photos("train"), num_workers=4)  # expect

    def val_dataloader(self):
        return DataLoader(Photos("val"), num_workers=4)
