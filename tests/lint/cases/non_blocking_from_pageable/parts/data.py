from torch.utils.data import DataLoader


class Data:
    def __init__(self, train_set, val_set, workers):
        self.options = {"num_workers": workers, "drop_last": True}
        self.train_set = train_set
        self.val_set = val_set

    def train_loader(self):
        return DataLoader(self.train_set, shuffle=True, **self.options)

    def val_loader(self):
        return DataLoader(self.val_set, pin_memory=True, **self.options)
