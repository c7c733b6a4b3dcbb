import lightning
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder


class Module(lightning.LightningModule):
    def train_dataloader(self):
        return DataLoader(ImageFolder(self.root), batch_size=32, num_workers=4)  # expect

    def val_dataloader(self):
        return DataLoader(ImageFolder(self.other), batch_size=32, num_workers=4)

    def training_step(self, batch, index):
        return self.model(batch)
