import argparse
import os
import random

from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset, random_split
from torchvision import transforms
from torchvision.datasets import CIFAR10


class Images(Dataset):
    def __init__(self, root):
        self.root = root

    def __getitem__(self, index):
        return index

    def __len__(self):
        return 8


def in_the_body(model, dataset, epochs):
    for epoch in range(epochs):
        loader = DataLoader(dataset, batch_size=4, shuffle=True, num_workers=2)  # expect
        for batch in loader:
            model(batch)


def in_the_header(model, dataset, epochs):
    for epoch in range(epochs):
        for step, batch in enumerate(DataLoader(dataset, batch_size=4, num_workers=2)):  # expect
            model(batch, step)


def with_settings_in_a_call_of_dict(model, dataset, epochs):
    for epoch in range(epochs):
        for batch in DataLoader(dataset, **dict(batch_size=4, num_workers=2)):  # expect
            model(batch)


def with_its_dataset(model, root, epochs):
    for epoch in range(epochs):
        dataset = Images(root)
        loader = DataLoader(dataset, batch_size=4, num_workers=2)  # expect
        for batch in loader:
            model(batch)


def from_some_epoch_on(model, dataset, epochs):
    for epoch in range(epochs):
        model.train(epoch)
        if epoch >= 5:
            loader = DataLoader(dataset, batch_size=4, num_workers=2)  # expect
            for batch in loader:
                model(batch)


def validate(model, dataset, batch_size):
    sampler = DistributedSampler(dataset, shuffle=False)
    loader = DataLoader(dataset, batch_size=batch_size, sampler=sampler, num_workers=1)  # expect
    for batch in loader:
        model(batch)


def train(model, dataset, epochs):
    for epoch in range(epochs):
        model.train(epoch)
        validate(model, dataset, 4)


def by_steps(model, dataset, steps, epoch_size):
    for step in range(steps):
        if step % epoch_size == 0:
            batches = iter(DataLoader(dataset, batch_size=4, shuffle=True, num_workers=2))  # expect
        model(next(batches))


def until_it_ends(model, dataset, steps):
    batches = iter(DataLoader(dataset, batch_size=4, num_workers=2))
    for _ in range(steps):
        try:
            batch = next(batches)
        except StopIteration:
            batches = iter(DataLoader(dataset, batch_size=4, shuffle=True, num_workers=2))  # expect
            batch = batches.__next__()
        model(batch)


class Reading:
    def __init__(self, dataset, images):
        self.dataset = dataset
        self.images = images

    def each_epoch(self, model):
        self.described = self.dataset.get_name()
        loader = DataLoader(self.dataset, num_workers=2)  # expect
        for batch in loader:
            model(batch)
        for batch in DataLoader(self.images, num_workers=2):  # expect
            model(batch)

    def fit(self, model, epochs):
        for _ in range(epochs):
            self.each_epoch(model)
            self.done = True


def go_over(model, dataset):
    loader = DataLoader(dataset, num_workers=2)  # expect
    for batch in loader:
        model(batch)


def sometimes_and_always(model, dataset, epochs):
    for epoch in range(epochs):
        if epoch % 5 == 0:
            go_over(model, dataset)
        go_over(model, dataset)


# --- silent ----------------------------------------------------------------------------


def before_the_loop(model, dataset, epochs):
    loader = DataLoader(dataset, batch_size=4, num_workers=2)
    for epoch in range(epochs):
        for batch in loader:
            model(batch)


def one_for_each_folder(model, folders):
    for folder in folders:
        loader = DataLoader(Images(folder), batch_size=4, num_workers=2)
        for batch in loader:
            model(batch)


def through_a_name(model, folders):
    for folder in folders:
        dataset = Images(folder + "/train")
        loader = DataLoader(dataset, batch_size=4, num_workers=2)
        for batch in loader:
            model(batch)


def grows_with_the_epoch(model, dataset, epochs):
    for epoch in range(epochs):
        loader = DataLoader(dataset, batch_size=4 * (epoch + 1), num_workers=2)
        for batch in loader:
            model(batch)


def a_subset_drawn_each_epoch(model, dataset, epochs):
    for epoch in range(epochs):
        indices = random.sample(range(len(dataset)), 100)
        for batch in DataLoader(Subset(dataset, indices), num_workers=2):
            model(batch)


def a_split_drawn_each_epoch(model, dataset, epochs):
    for epoch in range(epochs):
        train_part, _ = random_split(dataset, [6, 2])
        for batch in DataLoader(train_part, num_workers=2):
            model(batch)


def changed_in_the_loop(model, dataset, epochs):
    for epoch in range(epochs):
        dataset.resample(epoch)
        for batch in DataLoader(dataset, num_workers=2):
            model(batch)


def an_attribute_changed_in_the_loop(model, dataset, epochs):
    for epoch in range(epochs):
        dataset.stage = epoch // 10
        for batch in DataLoader(dataset, num_workers=2):
            model(batch)


def built_by_who_knows_what(model, make_dataset, epochs):
    for epoch in range(epochs):
        for batch in DataLoader(make_dataset(), num_workers=2):
            model(batch)


def once(model, dataset):
    for batch in DataLoader(dataset, batch_size=4, num_workers=2):
        model(batch)


def remainder(model, dataset, world_size):
    if world_size > 1:
        rest = DataLoader(Subset(dataset, range(len(dataset) - world_size)), num_workers=2)
        for batch in rest:
            model(batch)


def train_with_remainder(model, dataset, epochs):
    for epoch in range(epochs):
        model.train(epoch)
        remainder(model, dataset, 2)


def another_sampler_by_steps(model, dataset, steps, epoch_size):
    for step in range(steps):
        if step % epoch_size == 0:
            sampler = DistributedSampler(dataset, seed=step)
            batches = iter(DataLoader(dataset, batch_size=4, sampler=sampler, num_workers=2))
        model(next(batches))


def begun_by_steps(model, dataset, steps, epoch_size):
    loader = DataLoader(dataset, batch_size=4, num_workers=2)
    for step in range(steps):
        if step % epoch_size == 0:
            batches = iter(loader)
        model(next(batches))


def without_workers(model, dataset, epochs):
    for epoch in range(epochs):
        for batch in DataLoader(dataset, batch_size=4):
            model(batch)
        loader = DataLoader(dataset, shuffle=True, num_workers=0)
        for batch in loader:
            model(batch)


def none_unless_asked_for(model, dataset, epochs):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()
    for epoch in range(epochs):
        for batch in DataLoader(dataset, num_workers=args.workers):
            model(batch)


class Chunks(Dataset):
    def __init__(self, files):
        self.files = files
        self.rows = []
        self.load(0)

    def __getitem__(self, index):
        return self.rows[index]

    def load(self, number):
        self.rows = list(open(self.files[number]))

    def update(self):
        self.load(1)




def swap_rows(dataset, rows):
    dataset.rows = rows




def changed_by_a_function(model, dataset, rows, epochs):
    for _ in range(epochs):
        change_and_go_over(model, dataset, rows)


class Detector:
    def __init__(self, model, folder, shuffled=False):
        self.model = model
        self.names = sorted(os.listdir(folder))
        self.shuffled = shuffled

    def detect(self):
        for batch in DataLoader(self.names, num_workers=2):
            self.model(batch)

    def check(self):
        for batch in DataLoader(self.names, num_workers=2):  # expect
            self.model(batch)


def a_detector_for_each_folder(model, folders):
    for folder in folders:
        detector = Detector(model, folder=folder)
        detector.detect()
        Detector(model, folder).detect()


def each_of_the_detectors(model, folders):
    detectors = [Detector(model, folder) for folder in folders]
    for detector in detectors:
        detector.detect()


def one_detector(model, folder, epochs):
    detector = Detector(model, folder)
    for epoch in range(epochs):
        model.train(epoch)
        detector.check()


def two_epochs(model, dataset):
    for epoch in range(2):
        for batch in DataLoader(dataset, num_workers=2):  # expect
            model(batch, epoch)


def one_epoch_by_default(model, dataset, epochs=1):
    for epoch in range(epochs):
        for batch in DataLoader(dataset, num_workers=2):  # expect
            model(batch, epoch)




def what_each_pass_reads_alike(kinds, paths, reader):
    for kind in kinds:

        def read(files):
            return [sample for sample in DataLoader(Read(reader, files), num_workers=4)]  # expect

        print(kind, read(paths), read(paths[:10]))


class Read(Dataset):
    def __init__(self, reader, files):
        self.reader, self.files = reader, files

    def __getitem__(self, index):
        return self.reader(self.files[index])


def prepared_again(model, dataset, accelerator: Accelerator, epochs):
    for _ in range(epochs):
        for batch in accelerator.prepare(DataLoader(dataset, num_workers=8)):  # expect
            model(batch)


# --- built by one function and iterated by another -----------------------------------------------


def go_through(model, loader):
    for batch in loader:
        model(batch)


def handed_to_a_function(model, dataset, epochs):
    for _ in range(epochs):
        loader = DataLoader(dataset, batch_size=4, num_workers=2)  # expect
        go_through(model, loader)


def set_loader(options):
    transform = transforms.Compose([transforms.RandomResizedCrop(options.size), transforms.ToTensor()])
    dataset = CIFAR10(os.path.join(options.root, "cifar"), transform=transform)
    return DataLoader(dataset, batch_size=options.batch_size, num_workers=8)  # expect


def built_by_a_function(model, options):
    for _ in range(options.epochs):
        loader = set_loader(options)
        go_through(model, loader)


def make(root, batch_size):
    return DataLoader(Images(root), batch_size=batch_size, num_workers=8)  # expect


def make_for(options, workers):
    return make(options.root, workers * 2)


def built_two_calls_away(model, options):
    for _ in range(options.epochs):
        for batch in make_for(options, 4):
            model(batch)


def make_by_name(options, names):
    if options.name == "cifar":
        loader = DataLoader(Images(options.root), num_workers=8, shuffle=True)  # expect
    elif options.name == "names":
        loader = DataLoader(names, num_workers=8)  # expect
    else:
        raise ValueError(options.name)
    return loader


def built_by_name(model, options, names):
    for _ in range(options.epochs):
        loader = make_by_name(options, names)
        go_through(model, loader)


class Keeper:
    def __init__(self, dataset):
        self.loader, self.dataset = None, dataset

    def get(self):
        if self.loader is None:
            self.loader = DataLoader(self.dataset, num_workers=8)
        return self.loader


def kept_by_an_object(model, dataset, epochs):
    keeper = Keeper(dataset)
    for _ in range(epochs):
        go_through(model, keeper.get())


KEPT = {}


def made_once(dataset, name):
    if name not in KEPT:
        KEPT[name] = DataLoader(dataset, num_workers=8)
    return KEPT[name]


def kept_by_the_module(model, dataset, epochs):
    for _ in range(epochs):
        go_through(model, made_once(dataset, "train"))


def make_when_asked(dataset, epoch, first):
    if epoch == first:
        return DataLoader(dataset, num_workers=8)
    return None


def made_in_one_epoch(model, dataset, epochs):
    for epoch in range(epochs):
        go_through(model, make_when_asked(dataset, epoch, 0))


def make_subset(dataset, number):
    return DataLoader(Subset(dataset, range(number)), num_workers=8)


def a_larger_one_each_epoch(model, dataset, epochs):
    for epoch in range(epochs):
        go_through(model, make_subset(dataset, epoch * 100))


def make_random(dataset):
    part = Subset(dataset, random.sample(range(len(dataset)), 100))
    return DataLoader(part, num_workers=8)


def drawn_by_the_function(model, dataset, epochs):
    for _ in range(epochs):
        go_through(model, make_random(dataset))


def made_in_one_loop_and_read_in_another(model, datasets, epochs):
    loaders = []
    for dataset in datasets:
        loaders.append(DataLoader(dataset, num_workers=8))
    for _ in range(epochs):
        for loader in loaders:
            go_through(model, loader)


def run(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=8)
    for _ in range(epochs):
        go_through(model, loader)


def once_for_each_run(model, dataset, epochs):
    for _ in range(5):
        run(model, dataset, epochs)


def rate_of(dataset, batch_size):
    batches = iter(DataLoader(dataset, batch_size, num_workers=2))
    return sum(len(next(batches)) for _ in range(9))


def rates_by_size(dataset):
    for size in (8, 32):
        print([rate_of(dataset, one) for one in (size, 4 * size)])


def one_for_each_stage(model, stages, root):
    for stage in stages:
        config = {"batch_size": 4, **stage}

        def make(dataset):
            return DataLoader(dataset, config["batch_size"], num_workers=config["workers"])

        def renew():
            return make(Images(root))

        for batch in renew():
            model(batch)


def the_same_in_each_stage(model, stages, root):
    config = {"batch_size": 4, "workers": 8}
    for stage in stages:
        model.enter(stage)

        def make_alike(dataset):
            return DataLoader(dataset, config["batch_size"], num_workers=config["workers"])  # expect

        def renew_alike():
            return make_alike(Images(root))

        for batch in renew_alike():
            model(batch)
