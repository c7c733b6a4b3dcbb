import torch


class Padded:
    def __init__(self, images, mask):
        self.images = images
        self.mask = mask

    def to(self, device, non_blocking=False):
        return Padded(self.images.to(device, non_blocking=non_blocking), self.mask.to(device))


class Pinnable(Padded):
    def pin_memory(self):
        return Pinnable(self.images.pin_memory(), self.mask.pin_memory())


def padded(images):
    if images[0].ndim != 3:
        raise ValueError("three dimensions are wanted")
    mask = torch.ones(len(images), dtype=torch.bool)
    return Padded(torch.stack(images), mask)


def collate(samples):
    batch = list(zip(*samples))
    batch[0] = padded(batch[0])
    return tuple(batch)


def collate_in_place(samples):
    images, targets = zip(*samples)
    return padded(images), targets


def collate_to_dict(samples):
    batch = {}
    for key in samples[0]:
        batch[key] = [sample[key] for sample in samples]
    return batch


def collate_pinnable(samples):
    batch = list(zip(*samples))
    batch[0] = Pinnable(torch.stack(batch[0]), None)
    return tuple(batch)


def collate_tensors(samples):
    batch = list(zip(*samples))
    batch[1] = padded(batch[1])
    batch[0] = torch.stack(batch[0])
    return tuple(batch)
