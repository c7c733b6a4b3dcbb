"""A sampled walk of what a loader's workers would read: which attribute holds how many objects, and where they lie."""

from __future__ import annotations

import functools
import random
import sys
import time
import types
from array import array
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.loader.positions import nested_datasets
from pytest_dataloader.probe.loader.referents import (
    FEW,
    CacheFunction,
    Reach,
    Referent,
    class_members,
    is_foreign,
    is_object_array,
    is_opaque,
    referents,
    user_globals,
)
from pytest_dataloader.probe.memory.content import content_of, pages_of_element, pages_of_rows
from pytest_dataloader.probe.memory.exposure import Exposure
from pytest_dataloader.probe.memory.external_references import count_in_full
from pytest_dataloader.probe.memory.footprint import PAGE, exposed_bytes, is_immortal, object_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SAMPLE = 1024
"""Elements looked at per container: the estimate is within 0.3 % of 256's and costs a few ms."""
INNER = 256
"""Of sampled elements, so many are looked into."""
_FANOUT = 4
_DEPTH = 14
_MOST_GROUPS = 30_000
"""Of nameable places, a second of CPU: the methods of TensorDict's classes, and what they name, are 3,830 in 0.13 s."""
LARGE = 50_000
_LOCATED = 8192
_GROWING: tuple[Any, ...] = (list, dict, set, deque)
_MOST_COUNTED = 2_000_000
_LEAVES = frozenset({str, bytes, bytearray, int, float, complex, bool})
_Member = tuple[Any, float, int]


@dataclass(slots=True)
class Walk:
    """What a walk found.

    ``containers`` are what can grow and how many elements each has now (lists of None: how many are filled);
    ``bounds`` the most elements of an lru_cache; ``large`` the containers worth a larger sample; ``samples`` what was
    looked at in each container, with ranks in the order read; ``scattered`` those whose elements lie in another order.
    """

    exposures: list[Exposure]
    containers: list[tuple[str, Callable[[], int]]]
    bounds: dict[str, int | None]
    large: dict[str, Any]
    samples: dict[str, list[_Member]]
    scattered: set[str]
    complete: bool
    seconds: float
    refused: int = 0


@dataclass(slots=True)
class _Group:
    path: str
    members: list[_Member]
    reach: Reach
    depth: int
    exact: bool
    names: dict[type, list[tuple[str, ...]]] = field(default_factory=dict)

    @property
    def inner(self) -> Reach:
        """How far to look into each of many sampled elements."""
        return Reach((), 0, _FANOUT, self.reach.dice, names=self.names)


def _references_of_the_loop() -> int:
    """How many references the loop of ``_take`` itself holds to a member that is otherwise held once."""
    holder = [object()]
    for thing, _weight, _rank in [(holder[0], 1.0, 0)]:
        return sys.getrefcount(thing) - 1
    return 3


_OWN_REFERENCES = _references_of_the_loop()


class _Walker:
    def __init__(self, positions: Sequence[int | None], universe: int, seconds: float, seed: int) -> None:
        self.reach = Reach(positions, universe, SAMPLE, random.Random(seed))
        # CPU time: on a busy machine a walk of 40 ms took a second, and one cut short sees less of the dataset.
        self.deadline = time.thread_time() + seconds
        self.queue: deque[_Group] = deque()
        self.held: Counter[int] = Counter()
        self.slots: dict[tuple[str, str, bool], Exposure] = {}
        self.seen: set[int] = set()
        self.owners: set[int] = set()
        self.kept: list[Any] = []
        self.walk = Walk([], [], {}, {}, {}, set(), True, 0.0)
        self.groups = 0

    def add(self, path: str, thing: Any) -> None:
        self.queue.append(_Group(path, [(thing, 1.0, -1)], self.reach, 0, True))

    def run(self) -> Walk:
        started = time.monotonic()
        while self.queue:
            self.groups += 1
            if self.groups > _MOST_GROUPS or time.thread_time() > self.deadline:
                self.walk.complete = False
                break
            group = self.queue.popleft()
            members = self._take(group)
            if members and group.depth < _DEPTH:
                self._descend(group, members)
        self.walk.exposures = list(self.slots.values())
        count_in_full(self.walk.exposures, self.seen)
        self.walk.seconds = time.monotonic() - started
        return self.walk

    def _take(self, group: _Group) -> list[_Member]:
        """Count a group's members, and return those worth looking into with the weight of what they hold."""
        inner: list[_Member] = []
        for thing, weight, rank in group.members:
            identity = id(thing)
            if is_opaque(thing) or is_immortal(thing):
                continue
            if group.exact:
                if identity in self.seen:
                    continue
                self.seen.add(identity)
                self.kept.append(thing)
                self._note(group.path, thing, group.reach.scattered)
            else:
                # An object that others refer to as well is counted in part at each place, once in all.
                others = sys.getrefcount(thing) - _OWN_REFERENCES - (self.held[identity] - 1)
                weight /= max(1, others)
            slot = self._count(group.path, thing, weight, rank)
            self._count_content(group, thing, weight, rank)
            if not group.exact and slot.example is None:
                slot.example, slot.others = thing, max(1, others)
            if type(thing) not in _LEAVES:
                inner.append((thing, weight, rank))
        if not group.exact and group.path not in self.walk.samples:
            self.held.subtract(id(member[0]) for member in group.members)
        return inner

    def _count(self, path: str, thing: Any, weight: float, rank: int) -> Exposure:
        slot = self._slot(path, thing, content=False)
        slot.count += weight
        slot.exposed += weight * exposed_bytes(thing)
        slot.held += weight * object_bytes(thing)
        slot.pages.append(id(thing) // PAGE)
        slot.ranks.append(rank)
        return slot

    def _slot(self, path: str, thing: Any, *, content: bool) -> Exposure:
        key = path, type(thing).__name__, content
        slot = self.slots.get(key)
        if slot is None:
            slot = self.slots[key] = Exposure(path, key[1], content=content)
        return slot

    def _count_content(self, group: _Group, thing: Any, weight: float, rank: int) -> None:
        """Count what an array's elements take, unless they are those of an array that was counted already."""
        if type(thing) in _LEAVES:
            return
        content = content_of(thing)
        if content is None or not content.pages or content.owner in self.owners:
            return
        if group.exact:
            self.owners.add(content.owner)
        slot = self._slot(group.path, thing, content=True)
        slot.count += weight
        slot.exposed += weight * content.size
        for page, read in pages_of_rows(content, group.reach) if group.exact else pages_of_element(content, rank):
            slot.pages.append(page)
            slot.ranks.append(read)

    def _note(self, path: str, thing: Any, scattered: bool) -> None:
        """Keep what can grow and what is worth a larger sample, calling no method that a subclass may redefine."""
        for kind in _GROWING:
            if isinstance(thing, kind):
                self.walk.containers.append((path, functools.partial(kind.__len__, thing)))
        if type(thing) is list and FEW < len(thing) < _MOST_COUNTED and _is_blank(thing):
            self.walk.containers.append((path, lambda: len(thing) - thing.count(None)))
        elif isinstance(thing, CacheFunction):
            self.walk.containers.append((path, lambda: int(thing.cache_info().currsize)))
            self.walk.bounds[path] = thing.cache_parameters()["maxsize"]
        plain = type(thing) in (list, tuple) or (is_object_array(thing) and thing.ndim == 1)
        if plain and len(thing) >= LARGE:
            self.walk.large[path] = thing
        if plain and len(thing) > FEW and (scattered or _is_scattered(thing)):
            self.walk.scattered.add(path)

    def _descend(self, group: _Group, members: list[_Member]) -> None:
        below: dict[str, _Group] = {}
        if group.exact:
            thing = members[0][0]
            self._descend_into_code(group, thing)
            for step, dataset, reach in nested_datasets(thing, group.reach):
                self.queue.append(_Group(group.path + step, [(dataset, 1.0, -1)], reach, group.depth + 1, True))
            for step, value, weight, rank in self._referents(thing, group.reach):
                exact = step != "[*]" and not step.endswith(".keys()")
                _into(below, group, step, exact, (value, weight, rank))
        else:
            chosen = members if len(members) <= INNER else members[: INNER * 3 // 4] + members[-INNER // 4 :]
            scale = len(members) / len(chosen)
            inner = group.inner
            for thing, weight, rank in chosen:
                for step, value, times, _ in self._referents(thing, inner):
                    _into(below, group, step, False, (value, weight * scale * times, rank))
        for found in below.values():
            if not found.exact:
                self.held.update(id(member[0]) for member in found.members)
            if group.exact and not found.exact and len(found.members) > FEW:
                self.walk.samples[found.path] = found.members
        self.queue.extend(below.values())

    def _referents(self, thing: Any, reach: Reach) -> list[Referent]:
        try:
            return list(referents(thing, reach))
        except Exception:  # an object whose own code refuses to be looked into
            self.walk.refused += 1
            return []

    def _descend_into_code(self, group: _Group, thing: Any) -> None:
        """What the code behind an object holds: class attributes of instances, globals that functions name."""
        if isinstance(thing, types.FunctionType):
            for name, value in user_globals(thing):
                if not is_opaque(value) and not is_foreign(getattr(value, "__module__", "-")):
                    self.queue.append(_Group(name, [(value, 1.0, -1)], group.reach, group.depth + 1, True))
            return
        if is_foreign(type(thing).__module__):
            return
        for name, value in class_members(type(thing)):
            path = f"{group.path}.{name}"
            self.queue.append(_Group(path, [(value, 1.0, -1)], group.reach, group.depth + 1, True))


def _into(below: dict[str, _Group], group: _Group, step: str, exact: bool, member: _Member) -> None:
    known = below.get(step)
    if known is None or exact:
        below[step] = _Group(group.path + step, [member], group.reach, group.depth + 1, exact)
    else:
        known.members.append(member)


def _is_scattered(thing: Any) -> bool:
    """Whether elements that share a page are far apart in a container: one shuffled, filled piecemeal or into holes."""
    pages: dict[int, list[int]] = {}
    for at in random.Random(0).sample(range(len(thing)), min(_LOCATED, len(thing))):
        pages.setdefault(id(thing[at]) // PAGE, []).append(at)
    shared = [max(places) - min(places) for places in pages.values() if len(places) > 1]
    near = max(256.0, 4 * PAGE / max(1, exposed_bytes(thing[0])))
    return len(shared) >= 16 and sum(distance > near for distance in shared) > 0.3 * len(shared)


def _is_blank(thing: list[Any]) -> bool:
    """Whether a list has places that are yet to be filled; counting them writes to no object of the data's."""
    return all(thing[at] is None for at in range(0, len(thing), max(1, len(thing) // FEW)))


def worker_roots(loader: Any) -> list[tuple[str, Any]]:
    """What workers call, by the names that a user gives it."""
    roots = [("dataset", loader.dataset), ("collate_fn", loader.collate_fn), ("worker_init_fn", loader.worker_init_fn)]
    return [(path, thing) for path, thing in roots if thing is not None]


def walk(
    roots: Sequence[tuple[str, Any]], *, positions: Sequence[int | None], universe: int, seconds: float, seed: int = 0
) -> Walk:
    """Walk from the named roots for at most ``seconds`` of CPU; ``positions`` are those that will be read, in order.

    Must run before a fork that is to be judged: looking at an object is a write to its page.
    """
    walker = _Walker(positions, universe, seconds, seed)
    for path, thing in roots:
        walker.add(path, thing)
    return walker.run()


def pages_of(container: Any, most: int, seed: int = 0) -> array[int]:
    """Pages of a random sample of a large container's elements (``most`` x 0.1 us)."""
    chosen = random.Random(seed).sample(range(len(container)), min(most, len(container)))
    return array("Q", (id(container[at]) // PAGE for at in chosen))
