"""Looks from what is around a loader for the batches that it still reaches, and for who keeps them."""

from __future__ import annotations

import collections
import contextlib
import gc
import itertools
import time
import types
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host.capacity import available_bytes
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.batch_storages import arrays_by_address
from pytest_dataloader.probe.loader.positions import batches_in_epoch
from pytest_dataloader.probe.loader.sampling import shuffles
from pytest_dataloader.probe.loader.stream import Stream, drawn
from pytest_dataloader.probe.memory.kept_batches import LEAST_LOOKS, NO_KEPT_BATCHES, KeptBatches, Look, extent_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.probe.loader.stream import DrawnStream

_BETWEEN = 16
"""Batches between looks at first; later looks are as far apart as an eighth of what has come."""
_PARTS = 4
"""Looks in the seconds, or in the epoch, that there are, where fewer batches come."""
_FEW = 2
"""Batches between looks, at least."""
_OBJECTS = 300_000
"""Looked at in one look, at most: 60 to 100 ms."""
_TEXT = 256
"""Bytes from which a text or a record counts."""
_MOST_BYTES = 1 << 30
_LONG = 3600.0
_LEAST_SECONDS = 6.0
"""For as many looks as an answer takes, where the seconds that there are gave fewer of them."""
_TRIED = 64
_REPLAYING: tuple[type, ...] = (itertools.cycle,)
"""What is known to give again what it keeps, for ever, once what it goes through has ended."""
_EVERYWHERE = (types.ModuleType, type, types.CodeType, types.FrameType)
_PLAIN = (list, tuple, dict, set, collections.deque, types.CellType, types.MethodType)


def kept_batches(stream: Stream, seconds: float) -> KeptBatches:
    """Pull batches for about ``seconds``, or two epochs and some, and see whether more and more of them can be reached.

    Where they are, the DataLoader inside is gone through in their place, as a remedy.
    """
    if stream.once:
        return NO_KEPT_BATCHES
    epoch = 0 if stream.inner is None else batches_in_epoch(stream.inner)
    with drawn(stream) as source:
        found = _Watch(source, epoch, seconds).run()
    if stream.inner is None or found.extent in ("none", "not seen"):
        return found
    tried, stayed = _tried(stream.inner, seconds / 2)
    return replace(found, shuffles=shuffles(stream.inner), tried_batches=tried, tried_bytes=stayed)


class _Watch:
    def __init__(self, source: DrawnStream, epoch: int, seconds: float) -> None:
        self.source = source
        self.epoch = epoch
        self.between = min(_BETWEEN, max(_FEW, epoch // _PARTS)) if epoch else _BETWEEN
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.most_bytes = min(_MOST_BYTES, available_bytes() // 4)
        self.looks: list[Look] = []
        self.batches = self.ended = 0
        self.first: dict[int, weakref.ref[Any]] = {}
        self.again = False
        self.keeper = ""
        self.replays = False
        self.complete = True
        self.looked_at = time.monotonic()

    def run(self) -> KeptBatches:
        while True:
            came = self.batches
            if not self._epoch():
                break
            self.ended += 1
            if self.batches == came:
                break
            self.epoch = self.epoch or self.batches
        extent, each = extent_of(self.looks, self.epoch, self.ended)
        if extent == "not seen" or not self.complete:
            return KeptBatches("not seen", batches=self.batches)
        again = self.again or self.replays
        if extent == "unknown" and self.replays:
            extent = "an epoch"
        fell = any(after.bytes < before.bytes / 2 for before, after in itertools.pairwise(self.looks))
        if not self.keeper or extent == "none" or (extent == "an epoch" and not (again or fell)):  # a buffer is full
            return NO_KEPT_BATCHES
        return KeptBatches(extent, self.keeper, self.batches, self.epoch, round(each, 1), given_again=again)

    def _epoch(self) -> bool:
        """Go through an epoch; False where enough was seen before it ended."""
        for batch in self.source.epoch(_LONG):
            self.batches += 1
            self._note(batch)
            del batch
            if self._is_time():
                gc.collect(1)
                self._look()
                if self._enough():
                    return False
            if self._is_over(self.seconds):
                return False
        return not self._is_over(0.0)

    def _is_over(self, more: float) -> bool:
        """Whether the seconds given, and ``more``, are spent; longer where too few looks were taken for an answer."""
        over = time.monotonic() - self.deadline
        return over > more and (len(self.looks) >= LEAST_LOOKS or over > max(more, _LEAST_SECONDS))

    def _is_time(self) -> bool:
        """Whether to look again: after some batches, or fewer where they come slowly."""
        since = self.batches - (self.looks[-1].batches if self.looks else 0)
        slow = since >= _FEW and time.monotonic() > self.looked_at + self.seconds / _PARTS
        return not self.looks or slow or since >= max(self.between, self.batches // 8)

    def _note(self, batch: Any) -> None:
        """Remember the first batches, without keeping them, and see whether one of them comes again."""
        arrays = list(arrays_by_address(batch).values())[:1]
        for array in arrays:
            known = self.first.get(id(array))
            if known is not None and known() is array:
                self.again = True
            elif len(self.first) < _BETWEEN:
                self.first[id(array)] = weakref.ref(array)

    def _look(self) -> None:
        reached = _Reached([self.source.iterator, self.source.stream.source])
        self.looks.append(Look(self.batches, len(reached.arrays), reached.bytes))
        self.complete = self.complete and reached.complete
        self.looked_at = time.monotonic()
        self.keeper, keeping = reached.keeper()
        self.replays = isinstance(keeping, _REPLAYING)

    def _enough(self) -> bool:
        if not self.complete:
            return True
        if len(self.looks) <= LEAST_LOOKS:
            return False
        clean = extent_of(self.looks, self.epoch, self.ended)[0] == "none"
        rounds = self.epoch and self.batches > 2 * self.epoch + self.between
        return bool(clean or rounds or time.monotonic() > self.deadline or self.looks[-1].bytes > self.most_bytes)


class _Reached:
    """Tensors, arrays and texts that some objects lead to, without what a DataLoader holds of its own."""

    def __init__(self, roots: list[Any]) -> None:
        self.arrays: list[Any] = []
        self.bytes = 0
        self.parents: dict[int, Any] = {}
        self.complete = True
        layer = [root for root in roots if root is not None]
        seen = {id(thing) for thing in layer}
        kept = list(layer)  # what a look makes anew must not give its id to another
        while layer:
            following: list[Any] = []
            for parent in layer:
                for thing in gc.get_referents(parent):
                    if id(thing) in seen or _is_elsewhere(thing):
                        continue
                    seen.add(id(thing))
                    kept.append(thing)
                    self.parents[id(thing)] = parent
                    self._count(thing, following)
            layer = following if len(seen) < _OBJECTS else []
            self.complete = len(seen) < _OBJECTS

    def _count(self, thing: Any, following: list[Any]) -> None:
        size = _bytes_of(thing)
        if size is None:
            following.append(thing.__closure__ if isinstance(thing, types.FunctionType) else thing)
        elif size >= 0:
            self.arrays.append(thing)
            self.bytes += size

    def keeper(self) -> tuple[str, Any]:
        """Who keeps most of the arrays, in words, and that object; nobody where that is bounded."""
        above = [list(self._above(array)) for array in self.arrays]
        holders = collections.Counter(id(each) for chain in above for each in chain)
        most = [
            (len(chain) - at, each)
            for chain in above
            for at, each in enumerate(chain)
            if holders[id(each)] * 2 >= len(self.arrays) > 1
        ]
        if not most:
            return "", None
        container = max(most, key=lambda place: place[0])[1]
        if isinstance(container, collections.deque) and container.maxlen is not None:
            return "", None
        return self._named(container)

    def _above(self, thing: Any) -> Iterator[Any]:
        while (thing := self.parents.get(id(thing))) is not None:
            yield thing

    def _named(self, container: Any) -> tuple[str, Any]:
        chain = list(itertools.takewhile(lambda each: isinstance(each, _PLAIN), [container, *self._above(container)]))
        owner = next(self._above(chain[-1]), chain[-1]) if chain else container
        kind = type(owner)
        if isinstance(owner, types.GeneratorType):
            name = owner.__qualname__.rpartition("<locals>.")[2]
            held = owner.gi_frame.f_locals if owner.gi_frame is not None else {}
        else:
            own = kind.__module__ in ("builtins", "__main__") or hasattr(owner, "__dict__")
            name = kind.__qualname__.rpartition("<locals>.")[2] if own else f"{kind.__module__}.{kind.__qualname__}"
            held = getattr(owner, "__dict__", {})
        parts = {id(each) for each in chain}
        attribute = next((key for key, value in held.items() if id(value) in parts), "")
        return (f"{attribute} of {name}" if attribute else name), owner


def _is_elsewhere(thing: Any) -> bool:
    """What everything leads to, and what a DataLoader, its iterators and the data hold."""
    from torch.utils.data import DataLoader, Dataset, Sampler

    # By type: isinstance asks for __class__, which objects of torch's answer with warnings.
    return issubclass(type(thing), (*_EVERYWHERE, DataLoader, Dataset, Sampler)) or torch_private.is_iterator(thing)


def _bytes_of(thing: Any) -> int | None:
    """Bytes of a tensor, an array, a text; -1 for what is too small to count; None for what may lead to others."""
    kind = type(thing)
    if hasattr(kind, "nbytes"):
        with contextlib.suppress(Exception):  # kinds of tensors that have no storage
            return int(thing.nbytes)
        return -1
    if issubclass(kind, str | bytes | bytearray):
        return len(thing) if len(thing) >= _TEXT else -1
    return -1 if kind in (int, float, complex, bool) else None


def _tried(loader: Any, seconds: float) -> tuple[int, int]:
    """Go through a DataLoader round by round, and see what of its batches stays: how many came, and bytes."""
    rounds = Stream(lambda: itertools.chain.from_iterable(itertools.repeat(loader)), "rounds", None)
    rounds.inner = loader  # whose state is put back
    deadline = time.monotonic() + seconds
    given: list[list[tuple[weakref.ref[Any], int]]] = []
    with drawn(rounds) as source:
        for batch in source.epoch(_LONG, _TRIED):
            arrays = arrays_by_address(batch).values()
            given.append([(weakref.ref(array), int(getattr(array, "nbytes", 0))) for array in arrays])
            del batch, arrays
            if time.monotonic() > deadline:
                break
        gc.collect(1)
        # The latest may be held by what has just given it.
        return len(given), sum(size for each in given[:-1] for reference, size in each if reference() is not None)
