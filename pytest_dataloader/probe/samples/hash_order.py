"""What is in the order of a set of text, which is another one in every process: Python hashes text with a new seed."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.samples.generators import reachable_objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FEWEST, _MOST = 10, 4096
"""Texts that must be there, and that are looked at."""
_ASCENDING = ((32, 0.75), (16, 0.85), (_FEWEST, 0.95))
"""From how many texts on, which share of the steps goes up by the slots of a hash table: those that collide lie
elsewhere. Of sets of 10 to 16 texts, made in seven ways, 42 to 85 % are found, of larger ones nearly all; of 21,000
lists that are sorted or shuffled none (benchmarks/hash_orders.py)."""
_TABLES = 6
"""Sizes of hash tables that are tried: a set may be larger than it needs to be."""


@dataclass(frozen=True, slots=True)
class HashOrder:
    """A container in the order of a set. ``labels``: it gives each text its number in that order."""

    path: str
    count: int
    labels: bool


def find_hash_orders(roots: Sequence[tuple[str, Any]]) -> tuple[HashOrder, ...]:
    """What under the roots is in the order of a set of text; nothing where PYTHONHASHSEED makes it the same always."""
    if os.environ.get("PYTHONHASHSEED", "random") != "random":
        return ()
    return tuple(_found(roots))


def _found(roots: Sequence[tuple[str, Any]]) -> Iterator[HashOrder]:
    for path, thing in reachable_objects(roots):
        labels, array = isinstance(thing, dict), _is_array_of_text(thing)
        if (labels and _numbers(thing)) or type(thing) in (list, tuple) or array:
            texts = thing[:_MOST].tolist() if array else list(itertools.islice(thing, _MOST))
            if len(thing) >= _FEWEST and _is_hash_order(texts, len(thing)):
                yield HashOrder(path, len(thing), labels)


def _numbers(thing: dict[Any, Any]) -> bool:
    """Whether a dict numbers its keys in their order; other mappings may read files for it."""
    values = itertools.islice(dict.values(thing), _MOST)
    return all(type(value) is int and value == at for at, value in enumerate(values))


def _is_array_of_text(thing: Any) -> bool:
    kind = type(thing)
    return (kind.__module__, kind.__name__) == ("numpy", "ndarray") and thing.dtype.kind in "USO" and thing.ndim == 1


def _is_hash_order(texts: list[Any], size: int) -> bool:
    if not all(map(_is_text, texts)) or len(set(texts)) < len(texts):
        return False
    hashes = [hash(text) for text in texts]
    if all(one < other for one, other in itertools.pairwise(texts)):  # sorted
        return False
    least = size.bit_length()
    return any(_ascends([each & mask for each in hashes]) for mask in _masks(least))


def _masks(least: int) -> Iterator[int]:
    return ((1 << bits) - 1 for bits in range(least, least + _TABLES))


def _ascends(slots: list[int]) -> bool:
    up = sum(one <= other for one, other in itertools.pairwise(slots))
    share = next((share for least, share in _ASCENDING if len(slots) >= least), 1.0)
    return up >= share * (len(slots) - 1)


def _is_text(thing: Any) -> bool:
    """Whether the hash of a thing is another one in every process."""
    if isinstance(thing, tuple):
        return any(map(_is_text, thing))
    return isinstance(thing, str | bytes | PurePath)
