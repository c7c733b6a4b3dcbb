"""A sampler that hands out the first batches of an epoch again and again: short epochs that really end."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.internals import torch_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Replay:
    """The first ``most`` items of a sampler, ``times`` over: every epoch reads the same samples."""

    def __init__(self, sampler: Iterable[Any], most: int) -> None:
        self._sampler = sampler
        self._most = most
        self._drawn: list[Any] | None = None
        self.times = 1

    def __iter__(self) -> Iterator[Any]:
        # Drawn in every epoch, since a sampler too may leave something open.
        drawn = list(itertools.islice(self._sampler, self._most))
        if self._drawn is None:
            self._drawn = drawn
        for _ in range(self.times):
            yield from self._drawn

    def __len__(self) -> int:
        return self.times * (self._most if self._drawn is None else len(self._drawn))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sampler, name)


def replay(copy: Any, most: int) -> Replay | None:
    """Have a copied loader read only its first ``most`` batches; None where its epochs cannot be shortened.

    They cannot where the dataset is iterated, and where a sampler keeps a state that StatefulDataLoader asks for; a
    loader with an iteration of its own must end with its sampler.
    """
    if torch_private.reads_by_iteration(copy):
        return None
    name = "batch_sampler" if torch_private.reads_batches(copy) else "sampler"
    sampler = vars(copy)[name]
    if any(hasattr(each, "state_dict") for each in (copy, sampler, getattr(sampler, "sampler", None))):
        return None
    vars(copy)[name] = short = Replay(sampler, most)
    return short
