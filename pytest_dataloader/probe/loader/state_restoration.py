"""Put back what iterating a loader changes in this process: random states, and attributes of datasets and samplers.

With num_workers=0 a dataset runs here: a handle that it opens lazily would be inherited by the workers that
the user starts later, a generator that it keeps would have moved on. Samplers run here always.
"""

from __future__ import annotations

import contextlib
import functools
import io
import random
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DEPTH = 4
"""Levels of attributes followed: loader, dataset, inner dataset, list of transforms, a transform's generator."""
_OBJECTS = 1000
"""Objects looked at; datasets of many objects keep them in lists, which are followed only this far."""


@contextlib.contextmanager
def preserve_state(loader: Any) -> Iterator[None]:
    """Restore on exit the global random states, and those and the attributes that ``loader`` reaches."""
    restorers = list(_global_states())
    opened = list(_generators_kept_open(loader))
    roots = [vars(loader).get(name) for name in ("dataset", "sampler", "batch_sampler")]
    for thing in reachable_state(loader):
        state = random_state(thing)
        if state is not None:
            restorers.append(state)
        elif _is_ours_to_restore(thing, roots):
            restorers.append(_attributes(thing))
    try:
        yield
    finally:
        for restore in (*restorers, *opened):
            restore()


def global_random_states() -> Callable[[], None]:
    """The random states of Python, NumPy and torch as they are now; calling it puts them back."""
    restorers = list(_global_states())

    def put_back() -> None:
        for restore in restorers:
            restore()

    return put_back


def _global_states() -> Iterator[Callable[[], None]]:
    python = random.getstate()
    yield lambda: random.setstate(python)
    try:
        import torch
    except ImportError:  # whoever builds a loader says so
        return
    cpu = torch.get_rng_state()
    yield lambda: torch.set_rng_state(cpu)
    if "numpy" in sys.modules:
        import numpy as np

        legacy = np.random.get_state()
        yield lambda: np.random.set_state(legacy)
    # Not is_available(): it initialises the driver, and workers forked afterwards could not use it.
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # torch's own
        devices = torch.cuda.get_rng_state_all()
        yield lambda: torch.cuda.set_rng_state_all(devices)


def random_state(thing: object) -> Callable[[], None] | None:
    """How to put a random generator back where it stands now; None for anything else."""
    import torch

    if isinstance(thing, torch.Generator):
        state = thing.get_state()
        return lambda: _ignore(thing.set_state(state))
    if isinstance(thing, random.Random) and not isinstance(thing, random.SystemRandom):
        position = thing.getstate()
        return lambda: thing.setstate(position)
    if "numpy" in sys.modules:
        import numpy as np

        if isinstance(thing, np.random.Generator):
            bits, words = thing.bit_generator, thing.bit_generator.state
            return lambda: setattr(bits, "state", words)
        if isinstance(thing, np.random.RandomState):
            legacy = thing.get_state()
            return lambda: thing.set_state(legacy)
    return None


def _ignore(_value: object) -> None:
    return None


def _is_ours_to_restore(thing: object, roots: list[object]) -> bool:
    """Datasets and samplers only: the attributes of a user's client or pool may not be turned back."""
    from torch.utils.data import Dataset, Sampler

    known = isinstance(thing, Dataset | Sampler) or any(thing is root for root in roots)
    return known and hasattr(thing, "__dict__")


class _KeptOpen:
    """A generator that nobody can close: leaving a loop over ``yield from generator`` would end it for ever."""

    def __init__(self, generator: Iterator[Any]) -> None:
        self._generator = generator

    def __iter__(self) -> _KeptOpen:
        return self

    def __next__(self) -> Any:
        return next(self._generator)


def _generators_kept_open(loader: Any) -> Iterator[Callable[[], None]]:
    """Keep a sampler's own generator, from which all its epochs come, from ending with an epoch that is left early."""
    batches = vars(loader).get("batch_sampler")
    sampler = vars(loader).get("sampler") if batches is None else batches
    while hasattr(sampler, "__dict__"):
        held = {name: value for name, value in vars(sampler).items() if isinstance(value, types.GeneratorType)}
        vars(sampler).update({name: _KeptOpen(value) for name, value in held.items()})
        yield functools.partial(vars(sampler).update, held)
        sampler = vars(sampler).get("sampler")


def _attributes(thing: object) -> Callable[[], None]:
    kept = dict(vars(thing))

    def restore() -> None:
        now = vars(thing)
        dropped = [value for name, value in now.items() if kept.get(name) is not value]
        now.clear()
        now.update(kept)
        for value in dropped:
            if isinstance(value, io.IOBase):  # an open file that nobody holds any more warns when it is collected
                value.close()

    return restore


def reachable_state(loader: Any, depth: int = _DEPTH) -> Iterator[Any]:
    """Objects with attributes, and random generators, reached from a loader through attributes and short lists."""
    seen: dict[int, object] = {}
    layer: list[object] = [loader]
    for _ in range(depth + 1):
        following: list[object] = []
        for thing in layer:
            if id(thing) in seen or len(seen) >= _OBJECTS:
                continue
            seen[id(thing)] = thing
            if _worth_following(thing):
                yield thing
                following += _contents(thing)
        layer = following


def _worth_following(thing: object) -> bool:
    import torch

    if isinstance(thing, torch.Tensor | type | types.ModuleType | types.FunctionType):
        return False
    return isinstance(thing, list | tuple | dict) or hasattr(thing, "__dict__") or random_state(thing) is not None


def _contents(thing: object) -> list[object]:
    if isinstance(thing, dict):
        return list(thing.values()) if len(thing) <= _OBJECTS else []
    if isinstance(thing, list | tuple):
        return list(thing) if len(thing) <= _OBJECTS else []
    return list(getattr(thing, "__dict__", {}).values())
