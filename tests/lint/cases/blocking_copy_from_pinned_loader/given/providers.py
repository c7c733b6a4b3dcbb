from torch.utils.data import DataLoader


class Provider:
    def __init__(self, dataset):
        self.train = self.build_loader(dataset)

    def build_loader(self, dataset):
        return DataLoader(dataset, num_workers=4, pin_memory=True)


class PhotoProvider(Provider):
    pass


class MaskProvider(Provider):
    def build_loader(self, dataset):
        return DataLoader(dataset, num_workers=4)
