from torch.utils.data import DataLoader

TITLE = "batches_by_name of a dataset"


def ratios(dataset):
    loader = DataLoader(dataset, num_workers=4, collate_fn=lambda samples: samples[0])  # expect advice
    return [image.width / image.height for image, _ in loader]


def groups(dataset):
    found = sorted(ratios(dataset))

    def count(bins):
        return [sum(low <= ratio for ratio in found) for low in bins]

    return count


def again(dataset, times):
    loader = DataLoader(dataset, num_workers=4, collate_fn=lambda samples: samples[0])  # expect advice
    return again(dataset, times - 1) if times else loader


def batches(dataset):
    return DataLoader(dataset, num_workers=4, collate_fn=lambda samples: samples[0])  # expect


def batches_by_name(dataset):
    return DataLoader(dataset, num_workers=4, collate_fn=lambda samples: samples[0])  # expect


def batches_by_another_name(dataset):
    return DataLoader(dataset, num_workers=4, collate_fn=lambda samples: samples[0])  # expect


def batches_of_a_table(dataset):
    return DataLoader(dataset, num_workers=4, collate_fn=lambda samples: samples[0])  # expect


def register(function):
    return function


@register
def batches_of_a_register(dataset):
    return DataLoader(dataset, num_workers=4, collate_fn=lambda samples: samples[0])  # expect


TABLE = {"plain": batches_of_a_table}


class Trainer:
    def train_dataloader(self):
        return DataLoader(self.dataset, num_workers=4, collate_fn=lambda samples: samples[0])  # expect


class OldTrainer:
    def train_dataloader(self):
        return DataLoader(self.dataset, num_workers=4, collate_fn=lambda samples: samples[0])  # expect advice
