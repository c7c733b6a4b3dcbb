import gc
import time

import torch
from torch.utils.data import DataLoader


def with_events(model, image_paths, load):
    runtimes = []
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for path in image_paths:
        image = load(path)
        torch.cuda.empty_cache()
        start.record()
        model(image)
        end.record()
        torch.cuda.synchronize()
        runtimes.append(start.elapsed_time(end))
    return sum(runtimes) / len(runtimes)


def with_events_by_name(model, images):
    total = 0.0
    for image in images:
        torch.cuda.empty_cache()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        model(image)
        end.record()
        end.synchronize()
        taken = start.elapsed_time(end)
        total += taken
    return total


def with_a_clock(model, images):
    runtimes = {}
    for number, image in enumerate(images):
        torch.cuda.empty_cache()
        torch.cuda.synchronize()
        start = time.perf_counter()
        model(image)
        torch.cuda.synchronize()
        runtimes[number] = time.perf_counter() - start
    return runtimes


def with_a_clock_by_name(model, images):
    runtimes = []
    for image in images:
        torch.cuda.empty_cache()
        start = time.time()
        model(image)
        torch.cuda.synchronize()
        end = time.time()
        runtimes.append(end - start)
    return runtimes


def prints_a_clock(model, images):
    """A clock without waiting measures nothing of the device, and what is printed is for whoever waits."""
    for image in images:
        start = time.time()
        model(image)
        torch.cuda.empty_cache()  # expect
        print(time.time() - start)


def collects_a_clock_without_waiting(model, images):
    runtimes = []
    for image in images:
        start = time.time()
        model(image)
        torch.cuda.empty_cache()  # expect
        runtimes.append(time.time() - start)


def prints_an_event(model, images):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for image in images:
        start.record()
        model(image)
        end.record()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()  # expect
        print(start.elapsed_time(end))


def trains(model, dataset):
    """The time of each step is told beside the training, which is what the loop is for."""
    runtimes = []
    for batch in DataLoader(dataset, num_workers=4):
        start = time.time()
        model(batch).backward()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()  # expect
        runtimes.append(time.time() - start)


def times_the_whole(model, images):
    runtimes = []
    start = time.time()
    for image in images:
        model(image)
        torch.cuda.empty_cache()  # expect
    torch.cuda.synchronize()
    runtimes.append(time.time() - start)


class Restoring:
    def validation(self, loader):
        for batch in loader:
            self.feed(batch)
            del self.low
            del self.output
            torch.cuda.empty_cache()  # expect advice

    def nondist_validation(self, dataloader):
        for batch in dataloader:
            result = self.feed(batch)
            del result
            gc.collect()
            torch.cuda.empty_cache()  # expect advice

    def validate(self, dataloader):
        for batch in dataloader:
            result = self.feed(batch)
            torch.cuda.empty_cache()  # expect
            del result

    def validate_all(self, dataloader):
        for batch in dataloader:
            del self.output
            self.feed(batch)
            torch.cuda.empty_cache()  # expect

    def train(self, dataloader):
        for batch in dataloader:
            self.feed(batch)
            del self.low
            torch.cuda.empty_cache()  # expect

    def infer(self, dataloader):
        for batch in dataloader:
            self.feed(batch)
            del self.low
            torch.cuda.empty_cache()  # expect advice
