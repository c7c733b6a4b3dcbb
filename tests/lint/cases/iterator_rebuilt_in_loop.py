from itertools import cycle

from torch.utils.data import DataLoader


def each_step(model, dataset, steps):
    loader = DataLoader(dataset, batch_size=4, shuffle=True, num_workers=2)
    for _ in range(steps):
        batch = next(iter(loader))  # expect
        model(batch)


def while_true(model, dataset):
    loader = DataLoader(dataset, batch_size=4)
    while True:
        model(next(iter(loader)))  # expect


def through_a_name(model, dataset, steps):
    loader = DataLoader(dataset, batch_size=4, num_workers=2)
    for _ in range(steps):
        it = iter(loader)  # expect
        model(next(it))


def by_method(model, dataset, steps):
    loader = DataLoader(dataset, batch_size=4)
    for _ in range(steps):
        model(iter(loader).__next__())  # expect


def draw(loader):
    return next(iter(loader))  # expect


def in_a_helper(model, dataset, steps):
    loader = DataLoader(dataset, batch_size=4, num_workers=4)
    for _ in range(steps):
        model(draw(loader))


# --- silent ----------------------------------------------------------------------------


def once_before(model, dataset, steps):
    loader = DataLoader(dataset, batch_size=4)
    first = next(iter(loader))
    it = iter(loader)
    for _ in range(steps):
        model(next(it), first)


def renewed_when_exhausted(model, dataset, steps):
    loader = DataLoader(dataset, batch_size=4)
    it = iter(loader)
    for _ in range(steps):
        try:
            batch = next(it)
        except StopIteration:
            it = iter(loader)
            batch = next(it)
        model(batch)


def renewed_inline(model, dataset, steps):
    loader = DataLoader(dataset, batch_size=4)
    it = iter(loader)
    for step in range(steps):
        if step % len(loader) == 0:
            it = iter(loader)
        model(next(it))


def endless(model, dataset, steps):
    it = cycle(DataLoader(dataset, batch_size=4))
    for _ in range(steps):
        model(next(it))


def other_iterables(model, samples, table, steps):
    for _ in range(steps):
        first = next(iter(samples))
        key = next(iter(table.keys()))
        device = next(iter(model.parameters())).device
        value = next(iter(table.values()))
        model(first, key, device, value)


def once_per_epoch(model, dataset, epochs):
    loader = DataLoader(dataset, batch_size=4)
    for _ in range(epochs):
        for batch in loader:
            model(batch)
        model.show(next(iter(loader)))


def whole_epochs(model, dataset, epochs):
    loader = DataLoader(dataset, batch_size=4)
    for _ in range(epochs):
        it = iter(loader)
        for _ in range(len(loader)):
            model(next(it))


def unknown(model, loader, steps):
    for _ in range(steps):
        model(next(iter(loader)))


def another_loader_each_time(model, datasets):
    for dataset in datasets:
        loader = DataLoader(dataset, batch_size=4)
        model(next(iter(loader)))
