import argparse

from torch.utils.data import DataLoader
from torchvision import datasets


def absent(dataset):
    yield DataLoader(dataset, prefetch_factor=2)  # expect
    yield DataLoader(dataset, persistent_workers=True)  # expect
    yield DataLoader(dataset, multiprocessing_context="spawn")  # expect
    yield DataLoader(dataset, timeout=30)  # expect


def zero(dataset):
    yield DataLoader(dataset, num_workers=0, persistent_workers=True)  # expect
    yield DataLoader(dataset, 4, True, None, None, 0, prefetch_factor=4)  # expect
    kwargs = {"num_workers": 0, "persistent_workers": True}
    yield DataLoader(dataset, **kwargs)  # expect


def nothing_to_prefetch(dataset):
    return DataLoader(dataset, num_workers=2, prefetch_factor=0)  # expect


def zero_by_default(dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--num-workers", type=int, default=0)
    args = parser.parse_args()
    return DataLoader(dataset, num_workers=args.num_workers, persistent_workers=True)  # expect


def build(dataset, workers):
    return DataLoader(dataset, num_workers=workers, persistent_workers=True)  # expect


def caller(dataset):
    return build(dataset, 0)


# --- silent ----------------------------------------------------------------------------


def with_workers(dataset):
    yield DataLoader(dataset, num_workers=2, prefetch_factor=2, persistent_workers=True, timeout=30)
    yield DataLoader(dataset, num_workers=2, multiprocessing_context="spawn")


def asked_for_nothing(dataset):
    yield DataLoader(dataset, persistent_workers=False, prefetch_factor=None, timeout=0)
    yield DataLoader(dataset, num_workers=0, multiprocessing_context=None)


def depends_on_the_workers(dataset, n):
    yield DataLoader(dataset, num_workers=n, persistent_workers=n > 0)
    yield DataLoader(dataset, num_workers=n, persistent_workers=bool(n), prefetch_factor=2 if n else None)


def option_that_depends(dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()
    return DataLoader(dataset, num_workers=args.workers, persistent_workers=args.workers > 0)


def some_by_default(dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=4)
    args = parser.parse_args()
    return DataLoader(dataset, num_workers=args.workers, persistent_workers=True)


def set_with_the_workers(dataset, n):
    kwargs = {"num_workers": n}
    if n > 0:
        kwargs["persistent_workers"] = True
        kwargs["prefetch_factor"] = 4
    return DataLoader(dataset, **kwargs)


def tested_before(dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()
    if args.workers > 0:
        return DataLoader(dataset, num_workers=args.workers, persistent_workers=True)
    return DataLoader(dataset)


def unknown(dataset, cfg, **options):
    yield DataLoader(dataset, num_workers=cfg.workers, persistent_workers=True)
    yield DataLoader(dataset, persistent_workers=True, **options)


def nested_call(root, transform):
    return DataLoader(datasets.ImageFolder(root, transform(timeout=30)), batch_size=4)
