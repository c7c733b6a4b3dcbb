"""What a stream does with a random generator, found by intervention: seeded otherwise, which samples come?"""

from __future__ import annotations

import functools
import math
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.internals import torch_pretence, torch_private
from pytest_dataloader.probe.loader.counting import samples_in
from pytest_dataloader.probe.samples import generators
from pytest_dataloader.probe.samples.digests import leaves

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_dataloader.probe.samples.draws import Effect

_WORKERS = 2
_SEED = 1
_MOST = 2000
_CHANGED = 16
"""Samples that must change, none of them into one that comes elsewhere, before values count as drawn. Of a stream that
gives every tenth sample, chosen by lot, none of 16 is met again in 1 of 29 trials; of one that gives half, never."""
_CHANGED_OF_PART = 300
"""The same of a stream that is not read to its end: of 300 samples out of a shuffle buffer of 50,000, 5 come again in
three more readings of as many."""
_TELLING = 4
"""Different values of a part that stays where it is: that part says which sample it is of."""
_ALMOST = 0.9


@dataclass(frozen=True, slots=True)
class StreamReading:
    """The samples of a stream, each by its parts; how many of them came after an intervention, and whether it ended."""

    samples: tuple[Mapping[str, str], ...] = ()
    displaced: int = 0
    ended: bool = False


def effects(loader: Any, names: Sequence[str], *, seconds: float) -> dict[str, Effect]:
    """What each generator of a stream does, by name: every reading, in a forked child, takes up to ``seconds``.

    In all of them every other generator begins each sample at one and the same state.
    """
    return {name: _effect_of(loader, name, seconds) for name in names}


def _effect_of(loader: Any, name: str, seconds: float) -> Effect:
    def read(key: str = "", worker: int = 0) -> StreamReading | None:
        found = child_process.ask(functools.partial(_read, loader, name, key, worker, seconds), 3 * seconds + 5)
        return found if isinstance(found, StreamReading) else None

    natural, again, one, other = read(), read(), read("one"), read("other")
    beside = read(worker=1) if loader.num_workers else StreamReading(ended=True)
    if natural is None or again is None or one is None or other is None or beside is None:
        return "unclear"
    return effect(natural, again, (one, other), beside)


def effect(
    natural: StreamReading, again: StreamReading, displaced: tuple[StreamReading, StreamReading], beside: StreamReading
) -> Effect:
    """What an intervention shows; ``again`` is a second reading without one, by which steady parts are known, and
    ``beside`` what another worker gives: where workers divide one order, an intervention gives what that one had.
    """
    one, other = displaced
    length = min(map(len, (natural.samples, again.samples, one.samples, other.samples)))
    if length < 2 or min(one.displaced, other.displaced) < length - 1:
        return "unclear"
    steady = _alike(natural, again, length)
    changed = sorted(steady - (_alike(natural, one, length) & _alike(natural, other, length)))
    if not steady:
        return "unclear"
    if not changed:
        return "nothing" if len({len(each.samples) for each in (natural, one, other)}) == 1 else "unclear"
    elsewhere, here, new = _places(changed, natural, one, (natural, other, beside))
    if elsewhere and elsewhere >= _ALMOST * (elsewhere + new):
        return "orders"
    whole = all(each.ended for each in (natural, one, other, beside))
    named = any(len({sample[path] for sample in natural.samples[:length]}) >= _TELLING for path in steady - {*changed})
    enough = _CHANGED if whole or named else _CHANGED_OF_PART
    return "makes" if not elsewhere and here + new >= enough else "unclear"


def _places(
    changed: Sequence[str], natural: StreamReading, one: StreamReading, others: Sequence[StreamReading]
) -> tuple[int, int, int]:
    """Where the samples that one intervention changed come in other readings: elsewhere, at their own place alone, or
    never.
    """
    places: dict[tuple[str | None, ...], set[int]] = defaultdict(set)
    for reading in others:
        for number, sample in enumerate(reading.samples):
            places[_values(sample, changed)].add(number)
    elsewhere = here = new = 0
    for number, (before, after) in enumerate(zip(natural.samples, one.samples, strict=False)):
        value = _values(after, changed)
        if value == _values(before, changed):
            continue
        at = places.get(value, set())
        elsewhere += bool(at - {number})
        here += at == {number}
        new += not at
    return elsewhere, here, new


def _values(sample: Mapping[str, str], paths: Sequence[str]) -> tuple[str | None, ...]:
    return tuple(sample.get(path) for path in paths)


def _alike(one: StreamReading, other: StreamReading, length: int) -> set[str]:
    """Paths of the parts that two readings have in common, and in which they agree sample by sample."""
    pairs = list(zip(one.samples[:length], other.samples[:length], strict=True))
    return {path for path in pairs[0][0] if all(path in a and path in b and a[path] == b[path] for a, b in pairs)}


def _read(loader: Any, name: str, key: str, worker: int, seconds: float) -> StreamReading:
    """Be a worker of a stream in this child, and read it with a generator displaced before each sample but the first.

    What is drawn for the first orders shards. Without a ``key`` the generator is left alone.
    """
    dataset = loader.dataset
    generators.seed_child(_SEED)
    if loader.num_workers:
        torch_pretence.pretend_worker(worker, _WORKERS, _SEED, dataset)
        if loader.worker_init_fn is not None:
            loader.worker_init_fn(worker)
    roots = (("dataset", dataset), ("collate_fn", loader.collate_fn))
    whole = torch_private.iterates_batches(loader)
    samples: list[dict[str, str]] = []
    displaced = 0
    iterator = iter(dataset)
    deadline = math.inf
    while len(samples) < _MOST and time.monotonic() < deadline:
        found = generators.find_generators(roots)
        found = {**generators.of_iteration(iterator, roots, found.values()), **found}
        for each, generator in found.items():
            if each != name:
                generators.displace(generator, each)
            elif key and samples:
                generators.displace(generator, f"{key} {len(samples)}")
        given = len(samples)
        try:
            sample = next(iterator)
        except StopIteration:
            return StreamReading(tuple(samples), displaced, ended=True)
        samples += map(leaves, samples_in(sample) if whole else (sample,))
        deadline = min(deadline, time.monotonic() + seconds)  # starting takes no part in it
        displaced += len(samples) - given if given and name in found else 0
    return StreamReading(tuple(samples), displaced)
