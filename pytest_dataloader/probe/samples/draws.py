"""What traced calls say about random draws: which generator gives the same numbers twice, and who seeded it; pure."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pytest_dataloader.probe.samples.generators import GLOBALS, GeneratorState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_dataloader.probe.samples.journal import JournalEntry

DrawFaultKind = Literal[
    "frozen_generator", "constant_seed", "epoch_repeating_seed", "repeating_loader_seed", "reseeding_per_sample",
    "seeded_alike_by_iteration", "shared_draws", "same_content", "same_seed_on_ranks", "same_draws_on_ranks",
]  # fmt: skip
UNSURE_DRAWS = frozenset({"shared_draws", "same_content"})
"""Kinds that may be meant: told as inconclusive."""
Effect = Literal["makes", "orders", "nothing", "unclear"]
"""What draws of a stream decide: what samples hold; their order, or which of them come; nothing; or nobody can tell.
"""
EpochWorker = tuple[int, int]
"""Epoch and worker."""

_SHARED = 2
"""Draws that begin at the same state before they count as shared: one alone can be a table made on first use."""
_MEANT: Mapping[Effect | None, str] = {
    "orders": "to order or choose samples, as workers that divide them must",
    "nothing": "that change no sample",
}
_TELLING = 4
"""Positions that must all vary and all agree before content alone counts: by chance 2**-8 for the flip of a coin."""


@dataclass(frozen=True, slots=True)
class DrawFault:
    """The same draws in several places: ``source`` is the attribute or function, ``shared_by`` who gets the same."""

    kind: DrawFaultKind
    source: str
    shared_by: tuple[str, ...]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Draws:
    """The calls of traced epochs. Up to the ``natural``-th of a kind, nobody touched the generators.

    ``repeats``: after those, the same indices were read again, with every generator displaced. ``idiom`` has the
    stream of numpy's ``get_state()[1][0] + worker_id`` idiom by worker.
    """

    entries: Sequence[JournalEntry]
    natural: Mapping[str, int]
    repeats: bool
    idiom: Mapping[int, str]
    effects: Mapping[str, Effect] = field(default_factory=dict)
    """What the draws of a stream do that workers or epochs have in common, by generator, where that was tried."""

    @property
    def calls(self) -> list[JournalEntry]:
        return [entry for entry in self.entries if entry.kind in ("sample", "collate")]

    def is_natural(self, call: JournalEntry) -> bool:
        return call.number < self.natural[call.kind]

    @property
    def drawn(self) -> tuple[str, ...]:
        """Generators that calls draw from, or seed."""
        names = dict.fromkeys(name for call in self.calls for name in call.after)
        return tuple(name for name in names if any(call.moved(name) for call in self.calls))

    def caller(self, name: str) -> str:
        """Which kind of call draws from a generator."""
        return next((call.kind for call in self.calls if call.moved(name)), "sample")

    def identity(self, call: JournalEntry) -> object:
        """What is the same for two calls that would make the same thing."""
        if self.repeats:
            return (call.kind, call.indices) if call.indices else (call.kind, call.number % self.natural[call.kind])
        return call.kind, call.worker, call.number

    def reseeded(self, name: str) -> bool:
        """Whether calls end in a state that does not depend on the one that they began in."""
        groups: dict[object, list[JournalEntry]] = defaultdict(list)
        for call in self.calls:
            if call.moved(name) and not call.after[name].unused and (self.repeats or not self.is_natural(call)):
                groups[self.identity(call)].append(call)
        return any(
            one.before[name].state != other.before[name].state and one.after[name].state == other.after[name].state
            for group in groups.values()
            for one, other in itertools.combinations(group, 2)
        )

    @property
    def reseeded_globals(self) -> tuple[str, ...]:
        """Global generators that calls leave where the sample alone says, or all samples alike."""
        return tuple(name for name in self.drawn if name in GLOBALS and self.reseeded(name))

    def constant_streams(self, name: str) -> dict[EpochWorker, str]:
        """Where different calls drew from one and the same stream, though each began displaced."""
        found: dict[EpochWorker, str] = {}
        for place, calls in _by_place(self.calls).items():
            displaced = [call for call in calls if not self.is_natural(call) and call.moved(name)]
            for one, other in itertools.combinations(displaced, 2):
                after = one.after[name]
                if not after.unused and after.stream == other.after[name].stream:
                    if self.identity(one) != self.identity(other):
                        found[place] = after.stream
                    break
        return found

    def shared_by(self, name: str) -> tuple[str, ...]:
        """Whether two workers, or two epochs, draw from the same states on.

        Of a generator that a call has made, it is the state that the call left.
        """
        states: dict[EpochWorker, set[str]] = {}
        for place, calls in _by_place(self.calls).items():
            begun = [call for call in self._after_beginning(calls) if self.is_natural(call)]
            states[place] = {call.before[name].state for call in begun if call.moved(name)}
            states[place] |= {f"left {call.after[name].state}" for call in begun if call.made(name)}
        return _sharing(states, _SHARED)

    def _after_beginning(self, calls: Iterable[JournalEntry]) -> Iterator[JournalEntry]:
        """All calls, but for an iteration's first one: what it draws orders shards, which workers must do alike."""
        for call in calls:
            if self.repeats or call.kind != "sample" or call.number > 0:
                yield call

    def begun_from(self) -> dict[str, list[str]]:
        """The states, by generator, from which draws were made that do not depend on the sample alone.

        Of the first epoch: processes that live longer begin the next where displaced generators were left.
        """
        found = {}
        calls = [call for call in self._after_beginning(self.calls) if call.epoch == 0 and self.is_natural(call)]
        for name in self.drawn:
            orders = self.effects.get(name) != "makes" and self.seeded_by_iteration(name)
            if self.constant_streams(name) or self.reseeded(name) or orders:
                continue
            found[name] = sorted({call.before[name].state for call in calls if call.moved(name)})
        return found

    def seeded_by_iteration(self, name: str) -> bool:
        """Whether a stream makes a generator, or seeds it, when its iteration begins."""
        first = [call for call in self.calls if not self.repeats and call.kind == "sample" and call.number == 0]
        started = {_place(entry): entry.after for entry in self.entries if entry.kind == "start"}
        made = any(
            call.made(name) or (name in call.before and name not in started.get(_place(call), call.before))
            for call in first
        )
        return made or any(_seeded_anew(one, other, name) for one, other in itertools.combinations(first, 2))

    def shared_in_stream(self) -> tuple[str, ...]:
        """Generators from which a stream draws the same numbers in several places, for whatever these are good."""
        found = [name for name in self.drawn if not self.repeats and self.caller(name) == "sample"]
        return tuple(name for name in found if self.shared_by(name) and not self.alike(name, shuffles=False))

    def alike(self, name: str, *, shuffles: bool) -> str:
        """When a generator gives the same numbers again as somebody may mean it to; empty where it does not.

        One stream for every worker and epoch, and draws of a worker's own that repeat, are how evaluation is made
        repeatable.
        """
        constant = self.constant_streams(name)
        if constant:
            return "for every sample, as an evaluation may" if len(set(constant.values())) == 1 and not shuffles else ""
        if self.reseeded(name):
            return "whenever the same sample is read"
        if (effect := self.effects.get(name)) in _MEANT:
            return _MEANT[effect]
        if self.repeats:
            made = any(call.made(name) for call in self.calls)
        else:
            made = name not in GLOBALS and self.seeded_by_iteration(name)
        repeats = made and not shuffles and self.shared_by(name) == ("epochs",)
        return "in every epoch, as an evaluation may" if repeats else ""

    def faults(self, *, shuffles: bool, functions: Mapping[str, str]) -> tuple[DrawFault, ...]:
        """Every fault, by generator; ``functions`` names the user's functions by the kind of call."""
        found = [fault for name in self.drawn for fault in self._faults_of(name, shuffles, functions)]
        if not found and (agreeing := self._same_content()):
            found.append(
                DrawFault("same_content", functions["sample"], agreeing, "no generator was found that they come from")
            )
        return tuple(found)

    def _faults_of(self, name: str, shuffles: bool, functions: Mapping[str, str]) -> Iterator[DrawFault]:
        if self.alike(name, shuffles=shuffles):
            return
        if self.constant_streams(name):
            detail = f"{name} gets the same seed for every sample"
            yield DrawFault("reseeding_per_sample", functions[self.caller(name)], ("samples",), detail)
            return
        shared = self.shared_by(name)
        if shared and self.effects.get(name) == "unclear":
            yield DrawFault("shared_draws", name, shared)
        elif shared and name not in GLOBALS and self.seeded_by_iteration(name):
            yield DrawFault("seeded_alike_by_iteration", name, shared)
        elif shared and name not in GLOBALS:
            yield DrawFault("frozen_generator", name, shared)
        elif shared:
            yield self._seeding(name, shared, functions)

    def _seeding(self, name: str, shared: tuple[str, ...], functions: Mapping[str, str]) -> DrawFault:
        """Who gave a global generator the same seed twice: torch's own seed, worker_init_fn, or code that reads."""
        starts = [entry for entry in self.entries if entry.kind == "start"]
        before = _sharing({_place(entry): _state(entry.before, name) for entry in starts}, 1)
        after = _sharing({_place(entry): _state(entry.after, name) for entry in starts}, 1)
        if set(before) & set(shared):
            return DrawFault("repeating_loader_seed", name, shared, "each epoch gives its workers the same seeds")
        if not set(after) & set(shared):
            detail = f"{name} is seeded while samples are made"
            return DrawFault("constant_seed", functions[self.caller(name)], shared, detail)
        idiom = name == "numpy.random" and all(
            entry.after[name].stream == self.idiom.get(entry.worker) for entry in starts if name in entry.after
        )
        if idiom:
            detail = "np.random.get_state()[1][0] is 2147483648 in every worker"
            return DrawFault("epoch_repeating_seed", functions["start"], shared, detail)
        kind: DrawFaultKind = "constant_seed" if "workers" in shared else "epoch_repeating_seed"
        return DrawFault(kind, functions["start"], shared, f"{name} gets the same seed")

    @property
    def varies(self) -> bool:
        """Whether some sample is not the same when read again in the same worker."""
        return any(not same for _, same in self._read_again())

    def _read_again(self) -> Iterator[tuple[EpochWorker, bool]]:
        if not self.repeats:
            return
        for place, calls in _by_place(self.calls).items():
            natural, displaced = self._contents(calls, True), self._contents(calls, False)
            yield from ((place, one == other) for one, other in zip(natural, displaced, strict=False))

    def _contents(self, calls: Iterable[JournalEntry], natural: bool) -> list[str]:
        made = [call for call in calls if call.kind == "sample" and self.is_natural(call) is natural]
        return [content for call in made for content in call.digests]

    def _same_content(self) -> tuple[str, ...]:
        """Who makes the same samples where reading them again in one place always makes others."""
        again = list(self._read_again())
        if len(again) < _TELLING or any(same for _, same in again):
            return ()
        contents = {place: self._contents(calls, True) for place, calls in _by_place(self.calls).items()}
        return _sharing({place: {repr(made)} for place, made in contents.items() if len(made) >= _TELLING}, 1)


def same_on_ranks(states: Mapping[int, Mapping[str, Sequence[str]]]) -> tuple[DrawFault, ...]:
    """The generators from which two ranks draw the same numbers; ``states`` are those that ranks drew from, by name."""
    found: dict[tuple[int, int], list[str]] = {}
    for (one, mine), (other, theirs) in itertools.combinations(sorted(states.items()), 2):
        same = [name for name in mine if len(set(mine[name]) & set(theirs.get(name, ()))) >= _SHARED]
        if same:
            found[one, other] = same
    if not found:
        return ()
    names = dict.fromkeys(itertools.chain.from_iterable(found.values()))
    pairs = [f"{one} and {other}" for one, other in found]
    more = f", and {len(pairs) - 3} pairs more" if len(pairs) > 3 else ""
    detail = f"ranks {', '.join(pairs[:3])}{more}"
    return (DrawFault("same_draws_on_ranks", " and ".join(names), ("ranks",), detail),)


def _seeded_anew(one: JournalEntry, other: JournalEntry, name: str) -> bool:
    """Whether two iterations began in two states of a generator and left one; or, in one process, began in the same."""
    if not (one.moved(name) or other.moved(name)) or name not in one.before or name not in other.before:
        return False
    same = one.before[name].state == other.before[name].state
    if one.worker == other.worker == -1 and same:
        return True
    return not same and one.after[name].state == other.after[name].state


def _place(entry: JournalEntry) -> EpochWorker:
    return entry.epoch, entry.worker


def _by_place(calls: Iterable[JournalEntry]) -> dict[EpochWorker, list[JournalEntry]]:
    places: dict[EpochWorker, list[JournalEntry]] = defaultdict(list)
    for call in calls:
        places[_place(call)].append(call)
    return places


def _state(standings: Mapping[str, GeneratorState], name: str) -> set[str]:
    return {standings[name].state} if name in standings else set()


def _sharing(states: Mapping[EpochWorker, set[str]], least: int) -> tuple[str, ...]:
    """Whether places of one epoch ("workers") or of two ("epochs") have states in common."""
    found = set()
    for (one, had), (other, has) in itertools.combinations(sorted(states.items()), 2):
        if len(had & has) >= least:
            found.add("workers" if one[0] == other[0] else "epochs")
    return tuple(sorted(found, reverse=True))
