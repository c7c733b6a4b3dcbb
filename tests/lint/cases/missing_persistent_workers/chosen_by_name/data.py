from torch.utils.data import DataLoader


class Loader(DataLoader):
    def __init__(self, dataset, workers):
        super().__init__(dataset, batch_size=4, num_workers=workers)


class Kept(DataLoader):
    def __init__(self, dataset, workers):
        super().__init__(dataset, batch_size=4, num_workers=workers, persistent_workers=workers > 0)


class _Old(DataLoader):
    def __init__(self, dataset, workers):
        super().__init__(dataset, batch_size=8, num_workers=workers)


def make_pairs(dataset, other):
    return DataLoader(dataset, num_workers=4), other
