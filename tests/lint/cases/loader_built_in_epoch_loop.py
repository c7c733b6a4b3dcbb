import random

from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset, random_split


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
        for step, batch in enumerate(DataLoader(dataset, batch_size=4)):  # expect
            model(batch, step)


def with_its_dataset(model, root, epochs):
    for epoch in range(epochs):
        dataset = Images(root)
        loader = DataLoader(dataset, batch_size=4)  # expect
        for batch in loader:
            model(batch)


def at_some_epochs(model, dataset, epochs):
    for epoch in range(epochs):
        model.train(epoch)
        if epoch % 5 == 0:
            loader = DataLoader(dataset, batch_size=4)  # expect
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
    batches = iter(DataLoader(dataset, batch_size=4))
    for _ in range(steps):
        try:
            batch = next(batches)
        except StopIteration:
            batches = iter(DataLoader(dataset, batch_size=4, shuffle=True))  # expect
            batch = batches.__next__()
        model(batch)


# --- silent ----------------------------------------------------------------------------


def before_the_loop(model, dataset, epochs):
    loader = DataLoader(dataset, batch_size=4)
    for epoch in range(epochs):
        for batch in loader:
            model(batch)


def one_for_each_folder(model, folders):
    for folder in folders:
        loader = DataLoader(Images(folder), batch_size=4)
        for batch in loader:
            model(batch)


def through_a_name(model, folders):
    for folder in folders:
        dataset = Images(folder + "/train")
        loader = DataLoader(dataset, batch_size=4)
        for batch in loader:
            model(batch)


def grows_with_the_epoch(model, dataset, epochs):
    for epoch in range(epochs):
        loader = DataLoader(dataset, batch_size=4 * (epoch + 1))
        for batch in loader:
            model(batch)


def a_subset_drawn_each_epoch(model, dataset, epochs):
    for epoch in range(epochs):
        indices = random.sample(range(len(dataset)), 100)
        for batch in DataLoader(Subset(dataset, indices)):
            model(batch)


def a_split_drawn_each_epoch(model, dataset, epochs):
    for epoch in range(epochs):
        train_part, _ = random_split(dataset, [6, 2])
        for batch in DataLoader(train_part):
            model(batch)


def changed_in_the_loop(model, dataset, epochs):
    for epoch in range(epochs):
        dataset.resample(epoch)
        for batch in DataLoader(dataset):
            model(batch)


def an_attribute_changed_in_the_loop(model, dataset, epochs):
    for epoch in range(epochs):
        dataset.stage = epoch // 10
        for batch in DataLoader(dataset):
            model(batch)


def built_by_who_knows_what(model, make_dataset, epochs):
    for epoch in range(epochs):
        for batch in DataLoader(make_dataset()):
            model(batch)


def once(model, dataset):
    for batch in DataLoader(dataset, batch_size=4):
        model(batch)


def remainder(model, dataset, world_size):
    if world_size > 1:
        rest = DataLoader(Subset(dataset, range(len(dataset) - world_size)))
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
            batches = iter(DataLoader(dataset, batch_size=4, sampler=sampler))
        model(next(batches))


def begun_by_steps(model, dataset, steps, epoch_size):
    loader = DataLoader(dataset, batch_size=4)
    for step in range(steps):
        if step % epoch_size == 0:
            batches = iter(loader)
        model(next(batches))
