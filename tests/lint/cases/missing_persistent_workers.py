import argparse
import os

import catalyst.dl
import composer
import ignite.engine
import lightning.pytorch as pl
import pytorch_lightning
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset
from tqdm import tqdm


class Images(Dataset):
    def __getitem__(self, index):
        return index

    def __len__(self):
        return 8

    def shuffle(self, seed):
        self.seed = seed


def same_function(model, dataset, epochs):
    loader = DataLoader(dataset, batch_size=4, num_workers=4)  # expect
    for epoch in range(epochs):
        for step, batch in enumerate(tqdm(loader)):
            model(batch, step, epoch)


def epochs_of_a_comprehension(dataset):
    loader = DataLoader(dataset, batch_size=4, num_workers=4)  # expect
    return [float(batch.sum()) for _epoch in range(5) for batch in loader]


def build(dataset, workers):
    return DataLoader(dataset, batch_size=4, num_workers=workers)  # expect


def one_epoch(model, loader):
    for batch in loader:
        model(batch)


def several_functions(model, dataset, epochs):
    loader = build(dataset, workers=4)
    for _ in range(epochs):
        one_epoch(model, loader)


def both_loaders(model, train_set, val_set):
    train_loader = DataLoader(train_set, num_workers=4, persistent_workers=True)
    val_loader = DataLoader(val_set, num_workers=4)  # expect
    for _ in range(10):
        one_epoch(model, train_loader)
        one_epoch(model, val_loader)


def option(model, dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=8)
    args = parser.parse_args()
    loader = DataLoader(dataset, num_workers=args.workers)  # expect
    for _ in range(10):
        one_epoch(model, loader)


def keywords(model, dataset, cuda):
    kwargs = {"num_workers": 4, "pin_memory": True} if cuda else {}
    kwargs.update({"num_workers": 4})
    loader = DataLoader(dataset, **kwargs)  # expect
    for _ in range(10):
        one_epoch(model, loader)


def in_some_runs(model, dataset, cuda):
    kwargs = {"num_workers": 4, "pin_memory": True} if cuda else {}
    loader = DataLoader(dataset, **kwargs)  # expect
    for _ in range(10):
        one_epoch(model, loader)


def cycle(loader):
    while True:
        for batch in loader:
            yield batch


def endless(model, dataset):
    batches = cycle(DataLoader(dataset, num_workers=3))  # expect
    for _ in range(10_000):
        model(next(batches))


def endless_and_never_left(model, dataset):
    batches = cycle(DataLoader(dataset, num_workers=3))  # expect
    while True:
        model(next(batches))


def endless_until_a_step(model, dataset, options):
    batches = cycle(DataLoader(dataset, num_workers=3))  # expect
    step = 0
    while step < options.max_steps:
        model(next(batches))
        step += 1


def endless_for_epochs(model, dataset, epochs):
    batches = cycle(DataLoader(dataset, num_workers=3))  # expect
    for _ in range(epochs):
        for _ in range(100):
            model(next(batches))


def endless_for_as_many_steps_as_epochs_have(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=3)  # expect
    batches = cycle(loader)
    steps = epochs * len(loader)
    for _ in range(steps):
        model(next(batches))


def again_and_again(loader):
    while True:
        for batch in loader:
            yield batch


def endless_in_a_loop_of_its_own(model, dataset, max_steps):
    for step, batch in enumerate(again_and_again(DataLoader(dataset, num_workers=3))):  # expect
        if step >= max_steps:
            break
        model(batch)


def endless_until_it_is_good(model, dataset):
    for batch in again_and_again(DataLoader(dataset, num_workers=3)):  # expect
        if model(batch) < 0.1:
            break


def endless_twice(model, dataset, steps):
    batches = again_and_again(DataLoader(dataset, num_workers=3))  # expect
    for _ in range(steps):
        model(next(batches))
    while model.learns:
        model(next(batches))


def endless_and_for_epochs(model, dataset, steps, epochs):
    loader = DataLoader(dataset, num_workers=3)  # expect
    batches = again_and_again(loader)
    for _ in range(steps):
        model(next(batches))
    for _ in range(epochs):
        one_epoch(model, loader)


class InTurn:
    def __init__(self, heads, tails):
        self.heads = self.again(heads)
        self.tails = self.again(tails)
        self.step = 0

    def __next__(self):
        self.step += 1
        return next(self.heads) if self.step % 2 else next(self.tails)

    @staticmethod
    def again(loader):
        while True:
            for batch in loader:
                yield batch


def one_step(model, batches):
    model(next(batches))


def in_turn(model, heads, tails, first_step, options):
    batches = InTurn(DataLoader(heads, num_workers=4), DataLoader(tails, num_workers=3))  # expect
    for step in range(first_step, options.max_steps):
        one_step(model, batches)


def in_turn_for_epochs(model, heads, tails, options):
    loader = DataLoader(heads, num_workers=4)  # expect
    batches = InTurn(loader, DataLoader(tails, num_workers=0))
    for epoch in range(options.epochs):
        for step in range(options.steps_per_epoch):
            one_step(model, batches)


class Fixed:
    def __init__(self, loader, most):
        self.loader, self.most = loader, most

    def again(self):
        epoch = 0
        while epoch < self.most:
            yield from self.loader
            epoch += 1


def generated_for_epochs(model, dataset, epochs, steps):
    batches = Fixed(DataLoader(dataset, num_workers=3), epochs).again()  # expect
    for _ in range(steps):
        model(next(batches))


def until_the_end(model, dataset, steps):
    loader = DataLoader(dataset, num_workers=3)  # expect
    feed = iter(loader)
    for _ in range(steps):
        try:
            images, labels = next(feed)
        except StopIteration:
            feed = iter(loader)
            images, labels = next(feed)
        model(images, labels)


def until_a_step(model, dataset, max_iterations):
    loader = DataLoader(dataset, num_workers=3)  # expect
    i = 0
    while True:
        for batch in tqdm(loader):
            model(batch)
            i += 1
            if i % 10 == 0 and model.failed:
                break
            if i >= max_iterations:
                return


def while_steps_are_left(model, dataset, options):
    loader = DataLoader(dataset, num_workers=3)  # expect
    done = 0
    while done < options.num_steps:
        for batch in loader:
            model(batch)
            done += 1


class Iterations:
    def __init__(self, dataset, options):
        self.loader = DataLoader(dataset, num_workers=3)  # expect
        self.other = DataLoader(dataset, num_workers=3)  # expect
        self.num_iters = options.iters
        self.total = options.epochs * 1000

    def train(self, model):
        batches = iter(self.loader)
        for i in tqdm(range(0, self.num_iters)):
            try:
                batch = next(batches)
            except StopIteration:
                batches = iter(self.loader)
                batch = next(batches)
            model(batch, i)

    def train_other(self, model):
        batches = iter(self.other)
        for i in range(self.total):
            try:
                batch = next(batches)
            except StopIteration:
                batches = iter(self.other)
                batch = next(batches)
            model(batch, i)


def one_of_each_at_every_step(model, labelled, unlabelled, steps):
    first = DataLoader(labelled, num_workers=3)  # expect
    second = DataLoader(unlabelled, num_workers=3)  # expect
    first_batches, second_batches = iter(first), iter(second)
    for step in range(steps):
        for kind in ["first", "second"]:
            batches = first_batches if kind == "first" else second_batches
            try:
                batch = next(batches)
            except StopIteration:
                if kind == "first":
                    first_batches = iter(first)
                    batch = next(first_batches)
                else:
                    second_batches = iter(second)
                    batch = next(second_batches)
            model(batch, step)


def a_hundred_steps_each(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=3)  # expect
    for epoch in range(epochs):
        batches = iter(loader)
        for step in range(100):
            model(next(batches), step)


def steps_of_epochs(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=3)  # expect
    batches = iter(loader)
    steps = len(loader) * epochs
    for _ in range(steps):
        try:
            batch = next(batches)
        except StopIteration:
            batches = iter(loader)
            batch = next(batches)
        model(batch)


def until_an_epoch(model, dataset, max_epochs, max_steps):
    loader = DataLoader(dataset, num_workers=3)  # expect
    epoch = steps = 0
    while True:
        for batch in loader:
            model(batch)
            steps += 1
            if steps > max_steps:
                return
        epoch += 1
        if epoch > max_epochs:
            return


def until_it_is_good(model, dataset):
    loader = DataLoader(dataset, num_workers=3)  # expect
    while True:
        for step, batch in enumerate(loader):
            if model(batch) < 0.1:
                return


def beside_the_other_loader(model, dataset, extra):
    loader = DataLoader(extra, num_workers=3)  # expect
    batches = iter(loader)
    for batch in DataLoader(dataset, num_workers=3):
        try:
            second = next(batches)
        except StopIteration:
            batches = iter(loader)
            second = next(batches)
        model(batch, second)


def by_steps_and_by_epochs(model, dataset, steps, epochs):
    loader = DataLoader(dataset, num_workers=3)  # expect
    batches = iter(loader)
    for step in range(steps):
        try:
            batch = next(batches)
        except StopIteration:
            batches = iter(loader)
            batch = next(batches)
        model(batch, step)
    for epoch in range(epochs):
        for batch in loader:
            model(batch, epoch)


def handed_on(dataset, count):
    loader = DataLoader(dataset, num_workers=3)  # expect
    for _ in range(count):
        yield from loader


def endlessly(loader):
    batches = loader.__iter__()
    while True:
        try:
            yield batches.__next__()
        except StopIteration:
            batches = loader.__iter__()


def endless_by_hand(model, dataset):
    batches = endlessly(DataLoader(dataset, num_workers=3))  # expect
    for _ in range(10_000):
        model(next(batches))


class Data(pl.LightningDataModule):
    def train_dataloader(self):
        return DataLoader(Images(), num_workers=4)  # expect

    def val_dataloader(self):
        return DataLoader(Images(), num_workers=4, persistent_workers=True)

    def test_dataloader(self):
        return DataLoader(Images(), num_workers=4)


class Assigned(pytorch_lightning.LightningDataModule):
    def __init__(self, train):
        if train:
            self.train_dataloader = self._train

    def _train(self):
        return DataLoader(Images(), num_workers=4)  # expect


# --- silent ----------------------------------------------------------------------------


def flattened(dataset):
    loader = DataLoader(dataset, batch_size=4, num_workers=4)
    return [sample for batch in loader for sample in batch]


def persistent(model, dataset, workers):
    a = DataLoader(dataset, num_workers=4, persistent_workers=True)
    b = DataLoader(dataset, num_workers=workers, persistent_workers=workers > 0)
    c = DataLoader(dataset, num_workers=4, persistent_workers=False)
    kwargs = {"num_workers": 4}
    if workers:
        kwargs["persistent_workers"] = True
    d = DataLoader(dataset, **kwargs)
    for _ in range(10):
        for loader in (a, b, c, d):
            one_epoch(model, loader)


def iterated_once(model, dataset):
    loader = DataLoader(dataset, num_workers=4)
    for batch in loader:
        model(batch)


def without_workers(model, dataset, epochs):
    loader = DataLoader(dataset, batch_size=4)
    none = DataLoader(dataset, batch_size=4, num_workers=0)
    for _ in range(epochs):
        one_epoch(model, loader)
        one_epoch(model, none)


def none_by_default(model, dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()
    loader = DataLoader(dataset, num_workers=args.workers)
    for _ in range(10):
        one_epoch(model, loader)


def unknown_workers(model, dataset, cfg):
    loader = DataLoader(dataset, num_workers=cfg.workers)
    for _ in range(10):
        one_epoch(model, loader)


def another_loader_each_time(model, folders):
    for folder in folders:
        loader = DataLoader(Images(folder), num_workers=4)
        for batch in loader:
            model(batch)


def dataset_changes(model, epochs):
    dataset = Images()
    loader = DataLoader(dataset, num_workers=4)
    for epoch in range(epochs):
        dataset.shuffle(epoch)
        for batch in loader:
            model(batch)


def dataset_attribute_changes(model, epochs):
    dataset = Images()
    loader = DataLoader(dataset, num_workers=4)
    for epoch in range(epochs):
        dataset.stage = epoch // 10
        for batch in loader:
            model(batch)


def dataset_changes_through_the_loader(model, epochs):
    loader = DataLoader(Images(), num_workers=4)
    for epoch in range(epochs):
        loader.dataset.shuffle(epoch)
        for batch in loader:
            model(batch)


class Unrelated:
    def train_dataloader(self):
        return DataLoader(Images(), num_workers=4)


def pass_that_renews(model, loader, epoch):
    loader.dataset.reload(epoch)
    for batch in loader:
        model(batch)


def dataset_changes_in_the_pass(model, make_dataset, epochs):
    loader = DataLoader(make_dataset(), num_workers=4)
    for epoch in range(epochs):
        pass_that_renews(model, loader, epoch)


def evaluate(model, loader):
    for batch in loader:
        model(batch)


def evaluated_once(model, train_set, test_set, epochs):
    train_loader = DataLoader(train_set, num_workers=4, persistent_workers=True)
    test_loader = DataLoader(test_set, num_workers=4)
    for _ in range(epochs):
        evaluate(model, train_loader)
    evaluate(model, test_loader)


class Walks:
    def loader(self, **kwargs):
        return DataLoader(Images(), **kwargs)


def walk(model, epochs):
    loader = Walks().loader(num_workers=4)
    for _ in range(epochs):
        one_epoch(model, loader)


def falls_back(model, dataset, workers=4):
    options = {"num_workers": workers, "persistent_workers": workers > 0}
    try:
        loader = DataLoader(dataset, **options)
    except TypeError:
        options.pop("persistent_workers")
        loader = DataLoader(dataset, num_workers=4)
    for _ in range(10):
        one_epoch(model, loader)


def each_loader_once(model, valid_set, test_set):
    loaders = [DataLoader(valid_set, num_workers=4), DataLoader(test_set, num_workers=4)]
    for loader in loaders:
        for batch in loader:
            model(batch)


def each_phase_once(model, valid_set, test_set):
    loaders = {"valid": DataLoader(valid_set, num_workers=4), "test": DataLoader(test_set, num_workers=4)}
    for phase in ("valid", "test"):
        for batch in loaders[phase]:
            model(batch)


def each_loader_once_elsewhere(model, valid_set, test_set):
    for name, loader in (
        ("valid", DataLoader(valid_set, num_workers=4)),
        ("test", DataLoader(test_set, num_workers=4)),
    ):
        print(name)
        evaluate(model, loader)


def each_phase_of_every_epoch(model, train_set, valid_set, epochs):
    loaders = {
        "train": DataLoader(train_set, num_workers=4),  # expect
        "valid": DataLoader(valid_set, num_workers=4),  # expect
    }
    for epoch in range(epochs):
        for phase in ("train", "valid"):
            for batch in tqdm(loaders[phase], desc=f"{phase} {epoch}"):
                model(batch)


def endless(dataset, ordered):
    if ordered:
        loader = DataLoader(dataset, shuffle=False, num_workers=4)  # expect
    else:
        loader = DataLoader(dataset, shuffle=True, num_workers=4)  # expect
    while True:
        yield from loader


def one_after_the_other(datasets):
    for dataset in datasets:
        yield from DataLoader(dataset, num_workers=4)


def handed_on_once(dataset):
    yield from DataLoader(dataset, num_workers=4)


def endless_but_persistent(dataset, ranks):
    loader = DataLoader(dataset, num_workers=4, persistent_workers=True)
    while ranks:
        yield from loader


def endless_and_reloaded(dataset):
    loader = DataLoader(dataset, num_workers=4)
    while True:
        loader.dataset.reload()
        yield from loader


def endless_but_rebuilt(dataset):
    while True:
        loader = DataLoader(dataset, num_workers=4)
        yield from loader


def several_iterators(model, parts):
    iterators = []
    for part in parts:
        loader = DataLoader(part, num_workers=4)
        iterators.append(iter(loader))
    while True:
        for iterator in iterators:
            model(next(iterator))


def one_iterator_goes_on(model, dataset, epochs):
    iterator = iter(DataLoader(dataset, num_workers=4))
    for epoch in range(epochs):
        for step in range(100):
            model(next(iterator))


def iterator_renewed(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)  # expect
    iterator = iter(loader)
    for epoch in range(epochs):
        for step in range(100):
            try:
                batch = next(iterator)
            except StopIteration:
                iterator = iter(loader)
                batch = next(iterator)
            model(batch)


def go_over(model, loader):
    for batch in loader:
        model(batch)


def close_augmentation(dataloader_iter):
    dataloader_iter._dataset.augment = False


def changed_through_the_iterator(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)
    for epoch in range(epochs):
        batches = iter(loader)
        if epoch == epochs - 15:
            batches._dataset.augment = False
        for batch in batches:
            model(batch)


def changed_by_a_helper(model, make_dataset, epochs):
    loader = DataLoader(make_dataset(), num_workers=4)
    for epoch in range(epochs):
        batches = iter(loader)
        if epoch == epochs - 15:
            close_augmentation(batches)
        for batch in batches:
            model(batch)


def changed_by_another_name(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)
    for epoch in range(epochs):
        kept = loader.dataset
        kept.inner.stage = epoch
        setattr(loader.dataset, "stage", epoch)
        go_over(model, loader)


def changed_between_two_loops(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)
    for _ in range(epochs):
        go_over(model, loader)
    loader.dataset.augment = False
    for _ in range(epochs):
        go_over(model, loader)


def set_up_before_the_loop(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)  # expect
    loader.dataset.augment = True
    for _ in range(epochs):
        go_over(model, loader)
        print(len(loader.dataset), loader.batch_sampler)


def change_of_another_loader(model, train_set, val_set, epochs):
    train_loader = DataLoader(train_set, num_workers=4)
    val_loader = DataLoader(val_set, num_workers=4)  # expect
    for epoch in range(epochs):
        train_loader.dataset.stage = epoch
        go_over(model, train_loader)
        go_over(model, val_loader)


class Wrapping(Dataset):
    def __getitem__(self, index):
        self._dataset.last = index
        return self._dataset.fetch(index)


def every_nth_epoch(model, dataset, epochs, n):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for epoch in range(epochs):
        if epoch % n == 0:
            for batch in loader:
                model(batch)


def every_fifth_epoch_elsewhere(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for epoch in range(epochs):
        if (epoch + 1) % 5 == 0 or epoch == epochs - 1:
            go_over(model, loader)


def skipped_epochs(model, dataset, epochs, args):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for epoch in range(epochs):
        if epoch % args.eval_every:
            continue
        go_over(model, loader)


def every_nth_step(model, train_set, val_set, epochs, n):
    train_loader = DataLoader(train_set, num_workers=4)  # expect
    val_loader = DataLoader(val_set, num_workers=4)
    for epoch in range(epochs):
        for step, batch in enumerate(train_loader):
            model(batch, epoch)
            if step % n == 0:
                for one in val_loader:
                    model(one)


def every_nth_step_of_an_epoch(model, train_set, val_set, epochs, n):
    train_loader = DataLoader(train_set, num_workers=4)  # expect
    val_loader = DataLoader(val_set, num_workers=4)
    for epoch in range(epochs):
        for epoch_step, batch in enumerate(train_loader):
            model(batch, epoch)
            if epoch_step % n == 0:
                for one in val_loader:
                    model(one)


def without_parentheses(model, dataset, epochs, args):
    loader = DataLoader(dataset, num_workers=4)
    for epoch in range(epochs):
        if epoch + 1 % args.eval_every == 0:
            go_over(model, loader)


def named_test(model, dataset, epochs, args):
    loader = DataLoader(dataset, num_workers=4)
    for epoch in range(epochs):
        due = not epoch % args.eval_every
        if due:
            go_over(model, loader)


def test_in_the_function(model, loader, epoch, every):
    if epoch % every != 0:
        return
    for batch in loader:
        model(batch)


def every_nth_epoch_inside(model, dataset, epochs, every):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for epoch in range(epochs):
        test_in_the_function(model, loader, epoch, every)


def try_out(model, loader):
    for batch in loader:
        model(batch)


def every_nth_epoch_as_it_is_told(model, train_set, val_set, epochs, every):
    train_loader = DataLoader(train_set, num_workers=4)  # expect
    val_loader = DataLoader(val_set, num_workers=4)  # expect
    for epoch in range(epochs):
        try_out(model, train_loader)
        launch(model, val_loader, validates=epoch > 0 and epoch % every == 0)


def launch(model, loader, validates):
    if validates:
        for batch in loader:
            model(batch)


def one_size_only(model, dataset, args):
    loader = DataLoader(dataset, num_workers=4)
    sizes = [args.size]
    for size in sizes:
        try_out(model.at(size), loader)


def a_group_at_a_time(model, dataset, groups):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for group_num in range(groups):
        try_out(model.of(group_num), loader)


def each_by_its_name(models, dataset):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for model_name in models.keys():
        try_out(models[model_name], loader)


def every_single_epoch(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for epoch in range(epochs):
        if epoch % 1 == 0:
            try_out(model, loader)


def most_epochs(model, dataset, epochs, rank):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for epoch in range(epochs):
        if epoch % 10 != 0 and rank % 8 == 0:
            try_out(model, loader)


def rare_and_always(model, train_set, val_set, epochs):
    train_loader = DataLoader(train_set, num_workers=4)  # expect
    val_loader = DataLoader(val_set, num_workers=4)  # expect
    for epoch in range(epochs):
        try_out(model, train_loader)
        if epoch % 5 == 0:
            try_out(model, train_loader)
            try_out(model, val_loader)


# --- what the workers hold is changed between epochs -----------------------------------


class Mixing:
    def __init__(self):
        self.mixing = True

    def __call__(self, samples):
        return samples if self.mixing else samples[0]

    def stop(self):
        self.mixing = False


class Prefetching:
    def __init__(self, loader):
        self.loader = loader
        self.count = 0

    def __iter__(self):
        for batch in self.loader:
            self.count += 1
            yield batch

    @property
    def mixing(self):
        return self.loader.collate_fn.mixing

    @mixing.setter
    def mixing(self, value):
        self.loader.collate_fn.mixing = value


def wrapper_changes(model, dataset, epochs):
    batches = Prefetching(DataLoader(dataset, num_workers=4, collate_fn=Mixing()))
    for epoch in range(epochs):
        if epoch > 100:
            batches.mixing = False
        for batch in batches:
            model(batch)


def wrapper_is_set_up(model, dataset, epochs):
    batches = Prefetching(DataLoader(dataset, num_workers=4, collate_fn=Mixing()))  # expect
    batches.mixing = False
    for epoch in range(epochs):
        for batch in batches:
            model(batch, epoch)


def one_epoch_with_mixing(model, loader, epoch):
    if epoch > 100 and loader.mixing:
        loader.mixing = False
    for batch in loader:
        model(batch)


def wrapper_changes_in_the_pass(model, dataset, epochs):
    batches = Prefetching(DataLoader(dataset, num_workers=4))
    for epoch in range(epochs):
        one_epoch_with_mixing(model, batches, epoch)


def wrapped(dataset, prefetching):
    loader = DataLoader(dataset, num_workers=4)
    if prefetching:
        loader = Prefetching(loader)
    return loader


def wrapper_of_a_builder_changes(model, dataset, epochs, prefetching):
    batches = wrapped(dataset, prefetching)
    for epoch in range(epochs):
        one_epoch_with_mixing(model, batches, epoch)


def collate_changes(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4, collate_fn=Mixing())
    for epoch in range(epochs):
        loader.collate_fn.mixing = epoch < 100
        for batch in loader:
            model(batch)


def collate_changes_by_a_method(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4, collate_fn=Mixing())
    for epoch in range(epochs):
        if epoch == 100:
            loader.collate_fn.stop()
        for batch in loader:
            model(batch)


def collate_changes_by_its_own_name(model, dataset, epochs):
    mixing = Mixing()
    loader = DataLoader(dataset, num_workers=4, collate_fn=mixing)
    for epoch in range(epochs):
        mixing.mixing = epoch < 100
        for batch in loader:
            model(batch)


def another_collate(model, dataset, epochs, plain):
    loader = DataLoader(dataset, num_workers=4)
    for epoch in range(epochs):
        if epoch == 100:
            loader.collate_fn = plain
        for batch in loader:
            model(batch)


def collate_is_used(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4, collate_fn=Mixing())  # expect
    for epoch in range(epochs):
        print(loader.collate_fn([epoch]), loader.collate_fn.mixing)
        for batch in loader:
            model(batch)


def sampler_changes(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for epoch in range(epochs):
        loader.sampler.epoch = epoch
        loader.batch_sampler.sampler.generator = None
        for batch in loader:
            model(batch)


def model_changes(model, dataset, epochs, criterion):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for epoch in range(epochs):
        model.epoch = criterion.epoch = epoch
        for batch in loader:
            model(batch)


def with_a_progress_bar(model, loader, epoch):
    loader = tqdm(loader)
    for batch in loader:
        loader.desc = f"epoch {epoch}, loss {model(batch)}"


def progress_is_shown(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for epoch in range(epochs):
        with_a_progress_bar(model, loader, epoch)


def with_a_bar_where_somebody_looks(model, loader, epoch, is_shown):
    if is_shown:
        loader = tqdm(loader)
    for batch in loader:
        loss = model(batch)
        if is_shown:
            loader.desc = f"epoch {epoch}, loss {loss}"


def progress_is_shown_to_somebody(model, dataset, epochs, is_shown):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for epoch in range(epochs):
        with_a_bar_where_somebody_looks(model, loader, epoch, is_shown)


def another_wrapper_changes(model, dataset, epochs):
    first = Prefetching(DataLoader(dataset, num_workers=4))
    second = Prefetching(DataLoader(dataset, num_workers=4))  # expect
    for epoch in range(epochs):
        first.mixing = epoch < 100
        for batch in first:
            model(batch)
        for batch in second:
            model(batch)


def renewed_for_each_length(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)  # expect
    batches = iter(loader)
    for epoch in range(epochs):
        for step in range(len(loader)):
            try:
                batch = next(batches)
            except StopIteration:
                batches = iter(loader)
                batch = next(batches)
            model(batch, step)


def renewed_within_the_length_of_another(model, dataset, other, epochs):
    loader = DataLoader(dataset, num_workers=4)  # expect
    main = DataLoader(other, num_workers=4, persistent_workers=True)
    batches = iter(loader)
    for epoch in range(epochs):
        for step in range(len(main)):
            try:
                batch = next(batches)
            except StopIteration:
                batches = iter(loader)
                batch = next(batches)
            model(batch, step)


def epochs_counted_where_it_ends(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)  # expect
    batches, epoch = iter(loader), 0
    while epoch < epochs:
        try:
            model(next(batches))
        except StopIteration:
            batches = iter(loader)
            epoch += 1


def epochs_counted_where_it_ends_for_the_sampler(dataset, sampler):
    loader = DataLoader(dataset, num_workers=4, sampler=sampler)  # expect
    batches, epoch = iter(loader), 0
    while True:
        try:
            yield next(batches)
        except StopIteration:
            epoch += 1
            sampler.set_epoch(epoch)
            batches = iter(loader)


def epochs_counted_where_it_ends_until_enough(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)  # expect
    batches, epoch = iter(loader), 0
    while True:
        try:
            model(next(batches))
        except StopIteration:
            epoch += 1
            batches = iter(loader)
        if epoch >= epochs:
            return


def while_a_flag_of_steps_is_up(model, dataset, args):
    loader = DataLoader(dataset, num_workers=4)  # expect
    keep_on, total_steps = True, 0
    while keep_on:
        for batch in loader:
            model(batch)
            total_steps += 1
            if total_steps > args.num_steps:
                keep_on = False
                break


def until_a_flag_of_epochs_is_up(model, dataset, args):
    loader = DataLoader(dataset, num_workers=4)  # expect
    done, epoch = False, 0
    while not done:
        for batch in loader:
            model(batch)
        epoch += 1
        if epoch >= args.epochs:
            done = True


def until_a_flag_of_loss_is_up(model, dataset, limit):
    loader = DataLoader(dataset, num_workers=4)  # expect
    done = False
    while not done:
        for batch in loader:
            loss = model(batch)
        if loss < limit:
            done = True


def enumerated_and_renewed_at_the_end(model, dataset, other, epochs):
    loader = DataLoader(dataset, num_workers=4)  # expect
    pairs = enumerate(loader)
    for epoch in range(epochs):
        for batch in DataLoader(other):
            try:
                _, extra = pairs.__next__()
            except StopIteration:
                pairs = enumerate(loader)
                _, extra = pairs.__next__()
            model(batch, extra)


def enumerated_and_goes_on(model, dataset, epochs):
    pairs = enumerate(DataLoader(dataset, num_workers=4))
    for epoch in range(epochs):
        for step in range(100):
            model(next(pairs))


def one_epoch_only(model, dataset):
    loader = DataLoader(dataset, num_workers=4)
    num_epochs = 1
    for epoch in tqdm(range(num_epochs)):
        for batch in loader:
            model(batch, epoch)


def one_epoch_written_out(model, dataset):
    loader = DataLoader(dataset, num_workers=4)
    for epoch in range(3, 4):
        for batch in loader:
            model(batch, epoch)


TRAINING = False
EVALUATING = True


def switched_off(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)
    if TRAINING and epochs:
        for epoch in range(epochs):
            for batch in loader:
                model(batch, epoch)


def switched_on(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)  # expect
    if EVALUATING and not TRAINING:
        for epoch in range(epochs):
            for batch in loader:
                model(batch, epoch)


def switched_off_unless_asked_for(model, dataset, epochs, training=False):
    loader = DataLoader(dataset, num_workers=4)  # expect
    if training:
        for epoch in range(epochs):
            for batch in loader:
                model(batch, epoch)


def one_epoch_unless_asked_for_more(model, dataset, long):
    loader = DataLoader(dataset, num_workers=4)  # expect
    num_epochs = 1
    if long:
        num_epochs = 10
    for epoch in range(num_epochs):
        for batch in loader:
            model(batch, epoch)


def one_epoch_by_default(model, dataset, num_epochs=1):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for epoch in range(num_epochs):
        for batch in loader:
            model(batch, epoch)


def two_epochs(model, dataset):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for epoch in range(2):
        for batch in loader:
            model(batch, epoch)


def two_phases(model, dataset):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for phase in ("warm up", "train"):
        for batch in loader:
            model(batch, phase)


def three_epochs(model, dataset):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for epoch in range(1, 4):
        for batch in loader:
            model(batch, epoch)


def one_phase(model, dataset):
    loader = DataLoader(dataset, num_workers=4)
    for phase in ["train"]:
        for batch in loader:
            model(batch, phase)


def one_phase_in_epochs(model, dataset, epochs):
    loaders = {phase: DataLoader(dataset, num_workers=4) for phase in ["train", "val"]}  # expect
    for epoch in range(epochs):
        for phase in ["train"]:
            for batch in loaders[phase]:
                model(batch, epoch)


def a_phase_that_never_comes(model, dataset, others, extra, epochs):
    loaders = {phase: DataLoader(dataset, num_workers=4) for phase in ["train", "val"]}  # expect
    loaders["test"] = DataLoader(others, num_workers=4)
    loaders["more"] = DataLoader(extra, num_workers=4)  # expect
    for epoch in range(epochs):
        for phase in ["train", "val", "more"]:
            for batch in loaders[phase]:
                model(batch, epoch)
    for batch in loaders["test"]:
        model(batch)


def calibrate(model, batches):
    for batch in batches:
        model(batch)


def calibrate_once(model, dataset):
    """Another caller of the same function repeats it, with something else."""
    calibrate(model, DataLoader(dataset, num_workers=4))


def calibrate_again(model, some_batches, sizes):
    for size in range(sizes):
        calibrate(model, some_batches(size))


def calibrate_each_epoch(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for _ in range(epochs):
        calibrate(model, loader)


def fit_for_epochs_that_a_user_asks_for(model, dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    loader = DataLoader(dataset, num_workers=4)  # expect
    for epoch in range(args.rounds):
        for batch in loader:
            model(batch, epoch)


def fit_for_ten_unless_a_user_asks(model, dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=10)
    args = parser.parse_args()
    loader = DataLoader(dataset, num_workers=4)  # expect
    for epoch in range(args.turns):
        for batch in loader:
            model(batch, epoch)


def fit_and_validate_as_a_user_asks(model, dataset, epochs):
    parser = argparse.ArgumentParser()
    parser.add_argument("--validate_each", type=int, default=1)
    args = parser.parse_args()
    loader = DataLoader(dataset, num_workers=4)  # expect
    for epoch in range(epochs):
        if (epoch + 1) % args.validate_each == 0:
            for batch in loader:
                model(batch)


def score_all(model, named):
    for name, loader in named:
        for batch in loader:
            model(batch, name)


def for_scoring(dataset):
    return DataLoader(dataset, num_workers=4)  # expect


def score_each_epoch_and_more_at_the_end(model, first, second, epochs):
    each = [("first", for_scoring(first))]
    final = [one for one in each]
    final.append(("second", for_scoring(second)))
    for _ in range(epochs):
        score_all(model, each)
    score_all(model, final)


def fitted_by_lightning(model, train_set, val_set):
    train_loader = DataLoader(train_set, shuffle=True, num_workers=8)  # expect
    val_loader = DataLoader(val_set, num_workers=8)  # expect
    trainer = pl.Trainer(max_epochs=60)
    trainer.fit(model, train_loader, val_loader)


def fitted_by_name_and_validated_now_and_then(model, args, train_set, val_set):
    train_loader = DataLoader(train_set, shuffle=True, num_workers=8)  # expect
    val_loader = DataLoader(val_set, num_workers=8)
    trainer = pytorch_lightning.Trainer.from_argparse_args(args, check_val_every_n_epoch=3)
    trainer.fit(model, train_dataloader=train_loader, val_dataloaders=val_loader)


def fitted_for_one_epoch_or_some_steps(model, first, second, third):
    pl.Trainer(max_epochs=1).fit(model, DataLoader(first, num_workers=8))
    pl.Trainer(max_steps=100_000).fit(model, train_dataloaders=DataLoader(second, num_workers=8))  # expect
    pl.Trainer(fast_dev_run=True).fit(model, train_dataloaders=DataLoader(third, num_workers=8))


def fitted_by_composer(model, first, second, third):
    train_loader, eval_loader = DataLoader(first, num_workers=8), DataLoader(second, num_workers=8)  # expect
    composer.Trainer(model, train_dataloader=train_loader, eval_dataloader=eval_loader, max_duration="9ep").fit()
    composer.Trainer(model, train_dataloader=DataLoader(third, num_workers=8), max_duration="1ep").fit()


def run_by_ignite(model, optimizer, first, second):
    engine = ignite.engine.create_supervised_trainer(model, optimizer, torch.nn.functional.mse_loss)
    engine.run(DataLoader(first, num_workers=8), max_epochs=5)  # expect
    engine.run(DataLoader(second, num_workers=8))


def trained_by_catalyst(model, first, second, epochs):
    loaders = {
        "train": DataLoader(first, num_workers=8),  # expect
        "valid": DataLoader(second, num_workers=8),  # expect
    }
    catalyst.dl.SupervisedRunner().train(model=model, loaders=loaders, num_epochs=epochs)


def fitted_by_another(model, Trainer, dataset):
    Trainer().fit(model, DataLoader(dataset, num_workers=8))


def tested_by_lightning(model, dataset):
    pl.Trainer(max_epochs=60).test(model, DataLoader(dataset, num_workers=8))


class Shuffled(IterableDataset):
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        self.rows = self.rows.shuffle(seed=0, buffer_size=100).batch(4)
        return iter(self.rows)


class ShuffledOnce(IterableDataset):
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        self.order = self.rows.shuffle(seed=0, buffer_size=100)
        return iter(self.order)


def wraps_them_anew(model, rows, epochs):
    loader = DataLoader(ShuffledOnce(rows), num_workers=4)  # expect
    for epoch in range(epochs):
        for batch in loader:
            model(batch, epoch)


def tried_out(model, dataset, epochs, args):
    loader = DataLoader(dataset, num_workers=3)  # expect
    if args.debug:
        loader = DataLoader(dataset[:8], num_workers=3)  # expect
    for epoch in range(epochs):
        for batch in loader:
            model(batch, epoch)


class Stream(IterableDataset):
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        self.left = iter(self.rows)
        return self

    def __next__(self):
        return next(self.left)


def begins_anew_in_each_pass(model, rows, epochs):
    loader = DataLoader(Stream(rows), num_workers=4)  # expect
    for epoch in range(epochs):
        for batch in loader:
            model(batch, epoch)


class Prefetched:
    """Keeps the next batch on itself, and takes it from the loader that it was given."""

    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        batches = iter(self.loader)
        self.take(batches)
        while self.batch is not None:
            yield self.batch
            self.take(batches)

    def take(self, batches):
        self.batch = next(batches, None)


def prefetches_for_each_epoch(model, dataset, epochs):
    loader = Prefetched(DataLoader(dataset, num_workers=4))  # expect
    for epoch in range(epochs):
        for batch in loader:
            model(batch)


def prefetches_once(model, dataset):
    for batch in Prefetched(DataLoader(dataset, num_workers=4)):
        model(batch)


class Building:
    """Goes over what it builds, whatever it was given."""

    def __init__(self, other):
        self.other = other
        self.loader = DataLoader(other.dataset, num_workers=4)  # expect

    def __iter__(self):
        return iter(self.loader)


def goes_over_what_it_builds(model, dataset, epochs):
    batches = Building(DataLoader(dataset, num_workers=4))
    for epoch in range(epochs):
        for batch in batches:
            model(batch)


class Nested:
    """What goes over others of its kind ends somewhere."""

    def __init__(self, inner):
        self.inner = inner

    def __iter__(self):
        for batch in self.inner:
            self.batch = batch
            yield self.batch


def wraps_again_and_again(model, dataset, epochs, depth):
    batches = Nested(DataLoader(dataset, num_workers=4))  # expect
    for _ in range(depth):
        batches = Nested(batches)
    for epoch in range(epochs):
        for batch in batches:
            model(batch)


def each_of_a_few_models(models, dataset):
    loader = DataLoader(dataset, num_workers=4)  # expect
    scores = {}
    for name, model in models.items():
        for images in loader:
            scores[name] = model(images)
    again = DataLoader(dataset, num_workers=4)  # expect
    for model_epoch in range(10):
        for images in again:
            scores[model_epoch] = models["first"](images)
    return scores


def two_workers(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=2)  # expect
    for epoch in range(epochs):
        for batch in loader:
            model(batch)


def two_workers_that_are_spawned(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=2, multiprocessing_context="spawn")  # expect
    for epoch in range(epochs):
        for batch in loader:
            model(batch)


def two_workers_or_four(model, dataset, epochs, many):
    loader = DataLoader(dataset, num_workers=4 if many else 2)  # expect
    for epoch in range(epochs):
        for batch in loader:
            model(batch)


def tried_at_each_size(model, dataset, sizes):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for size in sizes:
        evaluate_at(model, loader, size)


def tried_at_each_size_and_after_each_epoch(model, dataset, sizes, epochs):
    loader = DataLoader(dataset, num_workers=4)  # expect
    if not epochs:
        for size in sizes:
            evaluate_at(model, loader, size)
    for epoch in range(epochs):
        model.fit()
        evaluate_at(model, loader, 64)


def evaluate_at(model, loader, size):
    for images in loader:
        model(images, size)


def learnt_on_each_part(model, dataset, parts):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for part in parts:
        for images in loader:
            model(images, part).backward()


def scored_after_each_epoch(model, epochs, paths):
    for epoch in range(epochs):
        model.fit()
        score(model, paths)


def score(model, paths):
    return score_of_paths(model, paths)


def score_of_paths(model, paths):
    return score_of_files(model, [path for path in paths])


def score_of_files(model, files):
    return sum(statistics(model, files))


def statistics(model, files):
    return activations(model, files)


def activations(model, files):
    loader = DataLoader(files, num_workers=4)
    return [model(images) for images in loader]


def norms(model, dataset, passes):
    loader = DataLoader(dataset, num_workers=4)  # expect
    with torch.no_grad():
        for _ in range(passes):
            for images in loader:
                model(images)


class Task:
    """Workers that stayed would go on with the number of the first epoch."""

    def draw(self):
        message = f"{type(self).__name__} draws nothing"
        raise NotImplementedError(message)


def one_worker_where_there_is_a_gpu(model, dataset, use_cuda):
    options = {"num_workers": 1, "pin_memory": True} if use_cuda else {}
    loader = DataLoader(dataset, **options)  # expect
    for epoch in range(10):
        for batch in loader:
            model(batch, epoch)


def many_workers_where_there_is_a_gpu(model, dataset, use_cuda):
    options = {"num_workers": 8, "pin_memory": True} if use_cuda else {}
    loader = DataLoader(dataset, **options)  # expect
    for epoch in range(10):
        for batch in loader:
            model(batch, epoch)


class Advancing(Dataset):
    def __init__(self, rows, size):
        self.rows = iter(rows)
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return next(self.rows)


class BegunAnew(Advancing):
    def __init__(self, rows, size):
        super().__init__(rows, size)
        self.all = rows

    def __getitem__(self, index):
        try:
            return next(self.rows)
        except StopIteration:
            self.rows = iter(self.all)
            return next(iter(self.all))


def begins_anew_by_itself(model, rows, epochs):
    loader = DataLoader(BegunAnew(rows, 100), num_workers=4)  # expect
    for epoch in range(epochs):
        for batch in loader:
            model(batch, epoch)


class Stream(IterableDataset):
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        self.left = iter(self.rows)
        return self

    def __next__(self):
        return next(self.left)


def begins_anew_in_each_pass(model, rows, epochs):
    loader = DataLoader(Stream(rows), num_workers=4)  # expect
    for epoch in range(epochs):
        for batch in loader:
            model(batch, epoch)


class Weighted(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        return self.rows[index]

    def weights(self):
        return [len(row) for row in self.rows]

    def reweigh(self):
        self.rows = sorted(self.rows)


def asked_between_epochs(model, rows, epochs):
    loader = DataLoader(Weighted(rows), num_workers=4)  # expect
    for epoch in range(epochs):
        for batch in loader:
            model(batch, epoch)
        print(sum(loader.dataset.weights()))


def changed_between_epochs(model, rows, epochs):
    loader = DataLoader(Weighted(rows), num_workers=4)
    for epoch in range(epochs):
        for batch in loader:
            model(batch, epoch)
        loader.dataset.reweigh()


class Prefetcher:
    def __init__(self, loader):
        self.batches = iter(loader)
        self.preload()

    def preload(self):
        self.batch = next(self.batches, None)

    def next(self):
        batch = self.batch
        self.preload()
        return batch


def a_pass_with_a_prefetcher(model, loader):
    prefetcher = Prefetcher(loader)
    batch = prefetcher.next()
    while batch is not None:
        model(batch)
        batch = prefetcher.next()


def a_prefetcher_for_each_epoch(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)  # expect
    for _ in range(epochs):
        a_pass_with_a_prefetcher(model, loader)


def a_prefetcher_for_one_pass(model, dataset):
    loader = DataLoader(dataset, num_workers=4)
    a_pass_with_a_prefetcher(model, loader)


class Endless:
    def __init__(self, loader):
        self.loader = loader
        self.batches = None

    def draw(self):
        if self.batches is None:
            self.batches = iter(self.loader)
        return next(self.batches)


def one_iterator_for_all_epochs(model, dataset, epochs):
    endless = Endless(DataLoader(dataset, num_workers=4))
    for _ in range(epochs):
        for _ in range(100):
            model(endless.draw())


class Restarted:
    def __init__(self, dataset):
        self.loader = DataLoader(dataset, num_workers=4)  # expect

    def restart(self):
        self.batches = iter(self.loader)


def an_iterator_for_each_epoch(model, dataset, epochs):
    source = Restarted(dataset)
    for _ in range(epochs):
        source.restart()
        model(source)


class KeptIterator(DataLoader):
    """Starts its workers once, and takes each epoch's batches from the same iterator."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.iterator = super().__iter__()

    def __iter__(self):
        for _ in range(len(self)):
            yield next(self.iterator)


class Announcing(DataLoader):
    """Its workers are torch's, started for each epoch."""

    def __iter__(self):
        print("an epoch")
        return super().__iter__()


def from_classes_of_our_own(dataset, model):
    kept = KeptIterator(dataset, num_workers=4)
    for _ in range(10):
        for batch in kept:
            model(batch)
    anew = Announcing(dataset, num_workers=4)  # expect
    for _ in range(10):
        for batch in anew:
            model(batch)


def workers_of_the_environment(model, dataset, steps):
    loader = DataLoader(dataset, num_workers=int(os.environ.get("SLURM_CPUS_PER_TASK", 6)) - 2)  # expect
    taken, going = 0, True
    while going:
        for batch in loader:
            model(batch)
            taken += 1
            if taken > steps:
                going = False
                break


def none_unless_the_environment_asks(model, dataset):
    unasked = DataLoader(dataset, num_workers=int(os.getenv("WORKERS", "0")))
    undeclared = DataLoader(dataset, num_workers=int(os.environ["WORKERS"]))
    shared_out = DataLoader(dataset, num_workers=8 // int(os.environ.get("WORLD_SIZE", 1)))
    for _ in range(10):
        for batch in unasked:
            model(batch)
        for batch in undeclared:
            model(batch)
        for batch in shared_out:
            model(batch)


# --- settings objects --------------------------------------------------------------------


class Settings:
    def __init__(self, **kwargs):
        self.data = {}
        for key, value in kwargs.items():
            self.data[key] = value

    def __getattr__(self, key):
        if key not in self.data:
            raise AttributeError(key)
        return self.data[key]

    def put(self, key, value):
        self.data[key] = value

    def names(self):
        return sorted(self.data)


SETTINGS = Settings(workers=4, none=0, later=0)
SETTINGS.put("later", 2)


def settings_in_a_dict_of_their_own(model, dataset):
    loader = DataLoader(dataset, num_workers=SETTINGS.workers)  # expect
    for _ in range(10):
        for batch in loader:
            model(batch)


def settings_set_later(model, dataset):
    loader = DataLoader(dataset, num_workers=SETTINGS.later)  # expect
    for _ in range(10):
        for batch in loader:
            model(batch)


def no_workers_in_settings(model, dataset):
    loader = DataLoader(dataset, num_workers=SETTINGS.none)
    for _ in range(10):
        for batch in loader:
            model(batch)


def settings_that_nobody_wrote(model, dataset):
    loader = DataLoader(dataset, num_workers=SETTINGS.unheard_of)
    for _ in range(10):
        for batch in loader:
            model(batch)


class Kept:
    def __init__(self, **values):
        self.values = values

    def __getattr__(self, name):
        return self.values[name]


def keywords_kept_as_they_are(model, dataset):
    loader = DataLoader(dataset, num_workers=Kept(workers=2).workers)  # expect
    for _ in range(10):
        for batch in loader:
            model(batch)


class Shares(Kept):
    def __getattr__(self, name):
        return self.values[name] // 4


def settings_computed(model, dataset):
    loader = DataLoader(dataset, num_workers=Shares(workers=2).workers)
    for _ in range(10):
        for batch in loader:
            model(batch)


class Attributes(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


def items_that_are_attributes(model, dataset):
    given, written = Attributes(workers=3), Attributes({"workers": 3, "none": 0})
    loader = DataLoader(dataset, num_workers=given.workers)  # expect
    other = DataLoader(dataset, num_workers=written.workers)  # expect
    without = DataLoader(dataset, num_workers=written.none)
    for _ in range(10):
        for batch in loader:
            model(batch)
        for batch in other:
            model(batch)
        for batch in without:
            model(batch)
