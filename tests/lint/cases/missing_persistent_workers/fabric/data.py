import lightning as L
from torch.utils.data import DataLoader


class Instructions(L.LightningDataModule):
    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def train_dataloader(self):
        return DataLoader(self.rows, batch_size=4, shuffle=True, num_workers=4)  # expect

    def predict_dataloader(self):
        return DataLoader(self.rows, batch_size=4, num_workers=4)
