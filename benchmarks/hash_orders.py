"""How surely is a list known to be in the order of a set? Sets made in seven ways, sorted lists and shuffled ones.

``python benchmarks/hash_orders.py``: a row for each way, a column for each number of texts, how many of 1,000 lists
(20 of those of 1,000 texts and more) are taken for the order of a set.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.samples.hash_order import find_hash_orders

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (10, 12, 16, 24, 32, 100, 300, 1000, 50_000)


def added(names: list[str]) -> list[str]:
    grown = set[str]()
    for name in names:
        grown.add(name)
    return list(grown)


def shrunk(names: list[str]) -> list[str]:
    others = {f"other {number}" for number in range(len(names))}
    return list({*names, *others} - others)


WAYS: dict[str, Callable[[list[str]], list[Any]]] = {
    "set": lambda names: list(set(names)),
    "added one by one": added,
    "of duplicates": lambda names: list(set(names * 3)),
    "a union": lambda names: list(set(names[::2]) | set(names[1::2])),
    "a difference": shrunk,
    "paths": lambda names: list(set(map(Path, names))),
    "pairs": lambda names: list({(name, 0) for name in names}),
    "sorted": sorted,
    "in turn": list,
    "shuffled": lambda names: random.sample(names, len(names)),
}


def found(way: Callable[[list[str]], list[Any]], size: int) -> int:
    trials = 1000 if size < 1000 else 20
    names = [[f"{random.random()}.jpg" for _ in range(size)] for _ in range(trials)]
    return sum(bool(find_hash_orders([("files", way(each))])) for each in names)


if __name__ == "__main__":
    print(f"{'':20}", *(f"{size:>7,}" for size in SIZES))
    for name, way in WAYS.items():
        print(f"{name:20}", *(f"{found(way, size):7,}" for size in SIZES), flush=True)
