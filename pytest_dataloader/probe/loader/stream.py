"""What training iterates that is no DataLoader: a wrapper, a pipeline, a generator function, a replay buffer."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import NothingSeen, NotMeasured
from pytest_dataloader.probe.loader import counting
from pytest_dataloader.probe.loader.recognition import is_dataloader, loader_inside
from pytest_dataloader.probe.loader.state_restoration import preserve_state
from pytest_dataloader.probe.loader.timeout import Hang, time_limit

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

_DEPTH = 3
"""Wrappers inside wrappers that are looked into: detectron2's and timm's hold the DataLoader at the first level."""
_WAIT_SECONDS = 60.0
"""Nothing for so long: it hangs."""
_LOOKED_AT = 64
"""Items of a list that tell whether it is one of batches."""
_AHEAD = 2
"""Batches that a child process is taken to make ahead, as torch's workers do."""


class Stream:
    """An iterable of batches. ``begin`` starts an epoch; ``inner`` is the DataLoader in it, found at ``path``."""

    def __init__(self, begin: Callable[[], Iterator[Any]], name: str, source: Any, *, once: bool = False) -> None:
        self.begin = begin
        self.source = source
        """What is iterated."""
        self.name = name
        self.once = once
        """Whether it is an iterator, of which there is one epoch."""
        self.source = source
        self.path, self.inner = _loader_in(source)

    @property
    def iterated(self) -> bool:
        """Whether each epoch is an iteration of the source, neither the one iterator nor what a replay buffer draws."""
        return not self.once and not _is_replay_buffer(self.source)

    @property
    def description(self) -> str:
        """What it is, in a line."""
        return f"{self.name}, {f'around a {type(self.inner).__name__}' if self.inner is not None else 'no DataLoader'}"


def stream_of(value: Any, name: str) -> Stream | None:
    """A value as a stream of batches; None for what has none: datasets, what cannot be iterated, and containers of
    anything else, as of loaders, paths or numbers.
    """
    from torch.utils.data import Dataset

    if isinstance(value, str | bytes | Mapping | set | frozenset | Dataset | type):
        return None
    if isinstance(value, list | tuple) and not _are_batches(value[:_LOOKED_AT]):
        return None
    if isinstance(value, Iterator):
        return Stream(lambda: value, name, value, once=True)
    if _is_replay_buffer(value):
        return Stream(lambda: (value.sample() for _ in itertools.count()), name, value)
    if isinstance(value, Iterable):
        return Stream(lambda: iter(value), name, value)
    return None


def _is_replay_buffer(value: Any) -> bool:
    return callable(getattr(value, "sample", None)) and callable(getattr(value, "extend", None))


def _are_batches(items: Sequence[Any]) -> bool:
    """Whether items of a list are batches, which hold samples."""
    return len(items) > 0 and all(counting.first_dimension(item) is not None for item in items)


def underlying_loader(value: Any) -> Any:
    """The DataLoader that a value is, that feeds it, or that it holds as a stream's inner one. Raises TypeError."""
    found = loader_inside(value)
    held = found if is_dataloader(found) else _loader_in(found)[1]
    if held is None:
        raise TypeError(f"there is no DataLoader in a {type(value).__name__}")
    return held


def _loader_in(value: Any, depth: int = _DEPTH) -> tuple[str, Any]:
    """The DataLoader among the attributes of an object, and of the objects in them, with its path."""
    held = getattr(value, "__dict__", {})
    for name, part in held.items():
        if is_dataloader(part):
            return name, part
    for name, part in held.items() if depth else ():
        if isinstance(part, Iterable) and hasattr(part, "__dict__"):
            path, found = _loader_in(part, depth - 1)
            if found is not None:
                return f"{name}.{path}", found
    return "", None


class DrawnStream:
    """A stream that is pulled from, batch by batch, as a borrowed loader is: what ``RateMeter`` needs of one."""

    counted_by: counting.CountedBy = "first dimension"
    keeps_iterator = True
    """Nothing is known of how its workers come and go: they are never started anew on purpose."""
    persistent_workers = False
    started_seconds = 0.0
    waited_ns = 0
    ready = 0
    running_dry = False

    ended = False
    """Whether the latest epoch of ``epoch`` ended by itself."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._batches: Iterator[Any] | None = None
        self._before = {process.pid for process in multiprocessing.active_children()}

    @property
    def workers(self) -> list[BaseProcess]:
        """Child processes that came with it."""
        return [process for process in multiprocessing.active_children() if process.pid not in self._before]

    @property
    def depth(self) -> int:
        """Batches that may be made ahead."""
        return _AHEAD * len(self.workers)

    def begin_epoch(self) -> None:
        """Start an epoch; errors of the user's code come out as they are."""
        self.close()
        self._batches = iter(self.stream.begin())

    def pull(self, most: int) -> tuple[int, int]:
        """Pull up to ``most`` batches; how many came, and how many samples."""
        batches = samples = 0
        for batch in self.each(most):
            batches, samples = batches + 1, samples + counting.count_samples(batch, None)
        return batches, samples

    def each(self, most: int | None = None) -> Iterator[Any]:
        """The next batches of the epoch themselves."""
        assert self._batches is not None
        yield from itertools.islice(self._batches, most)

    def epoch(self, seconds: float, most: int | None = None) -> Iterator[Any]:
        """The batches of a new epoch: up to ``most``, and what comes within ``seconds`` of the first.

        Raises NothingSeen where it hangs.
        """
        self.ended, deadline = False, 0.0
        try:
            with time_limit(_WAIT_SECONDS) as alive:
                self.begin_epoch()
                for batch in self.each(most):
                    deadline = deadline or time.monotonic() + seconds
                    yield batch
                    alive()
                    if time.monotonic() > deadline:
                        return
        except Hang:
            raise NothingSeen(f"no batch came for {_WAIT_SECONDS:.0f} s") from None
        self.ended = most is None

    @property
    def iterator(self) -> Iterator[Any] | None:
        """What gives the batches of the epoch that was begun."""
        return self._batches

    def renew_workers(self) -> None:
        """Nothing: how its workers come and go is its own affair."""

    def close(self, *, kill: bool = False) -> None:
        """Leave the epoch, so that a generator's own clean-up runs; ``kill`` is for workers, which are not ours."""
        batches, self._batches = self._batches, None
        close = getattr(batches, "close", None)
        if close is not None and not (kill or self.stream.once):
            close()


@contextlib.contextmanager
def drawn(stream: Stream) -> Iterator[DrawnStream]:
    """A stream to measure; random states, and those of the DataLoader in it, are put back afterwards.

    Raises NotMeasured for an iterator, whose batches would be lost to who gave it.
    """
    if stream.once:
        raise NotMeasured(f"{stream.name} is an iterator: measuring would use it up; name what makes it")
    with preserve_state(stream.inner) if stream.inner is not None else preserve_state(stream):
        source = DrawnStream(stream)
        try:
            yield source
        finally:
            source.close()
