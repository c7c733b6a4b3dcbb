import torch


class Unawaited:
    def __init__(self, loader):
        self.batches = iter(loader)
        self.side = torch.cuda.Stream()
        self.preload()

    def preload(self):
        self.batch = next(self.batches, None)
        if self.batch is not None:
            with torch.cuda.stream(self.side):
                self.batch = self.batch.cuda(non_blocking=True)  # expect

    def next(self):
        batch = self.batch
        self.preload()
        return batch


class Unrecorded:
    def __init__(self, loader):
        self.batches = iter(loader)
        self.stream = torch.cuda.Stream()
        self.preload()

    def preload(self):
        try:
            self.images, self.labels = next(self.batches)
        except StopIteration:
            self.images = None
            return
        with torch.cuda.stream(self.stream):
            self.images = self.images.cuda(non_blocking=True)  # expect
            self.labels = self.labels.cuda(non_blocking=True)

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        images, labels = self.images, self.labels
        self.preload()
        return images, labels


def generator(loader):
    stream = torch.cuda.Stream()
    first = True
    for images in loader:
        with torch.cuda.stream(stream):
            moved = images.to("cuda", non_blocking=True)  # expect
        if not first:
            yield batch
        first = False
        batch = moved
    yield batch


def move(batch):
    return batch.cuda(non_blocking=True)


class ByHelper:
    def __init__(self, loader):
        self.batches = iter(loader)
        self.stream = torch.cuda.Stream()

    def __next__(self):
        batch = next(self.batches)
        with torch.cuda.stream(self.stream):
            return move(batch)  # expect


# --- traps ---------------------------------------------------------------------------------


class Good:
    def __init__(self, loader):
        self.batches = iter(loader)
        self.stream = torch.cuda.Stream()
        self.preload()

    def preload(self):
        self.batch = next(self.batches, None)
        if self.batch is not None:
            with torch.cuda.stream(self.stream):
                self.batch = self.batch.cuda(non_blocking=True)

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.batch
        if batch is not None:
            batch.record_stream(torch.cuda.current_stream())
        self.preload()
        return batch


class BothWays:
    def __init__(self, loader):
        self.batches = iter(loader)
        self.stream = torch.cuda.Stream()

    def preload(self):
        self.batch = next(self.batches, None)
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.batch = self.batch.cuda(non_blocking=True)

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.batch
        self.preload()
        return batch


class Synchronized:
    def __init__(self, loader):
        self.batches = iter(loader)
        self.stream = torch.cuda.Stream()

    def __next__(self):
        batch = next(self.batches)
        with torch.cuda.stream(self.stream):
            batch = batch.cuda(non_blocking=True)
        self.stream.synchronize()
        return batch


class OnTheCurrentStream:
    def __init__(self, loader):
        self.batches = iter(loader)

    def __next__(self):
        batch = next(self.batches)
        with torch.cuda.stream(torch.cuda.current_stream()):
            return batch.cuda(non_blocking=True)


class Blocking:
    def __init__(self, loader):
        self.batches = iter(loader)
        self.stream = torch.cuda.Stream()

    def __next__(self):
        batch = next(self.batches)
        with torch.cuda.stream(self.stream):
            return batch.cuda()


class Offload:
    def __init__(self, model):
        self.stream = torch.cuda.Stream()
        self.layers = list(model)

    def bring(self, at):
        with torch.cuda.stream(self.stream):
            self.layers[at].to("cuda", non_blocking=True)


def warm_up(model, images):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(images.cuda(non_blocking=True))
    torch.cuda.current_stream().wait_stream(stream)
