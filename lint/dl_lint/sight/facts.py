"""What is known of each loader, training loop and dataset of a tree, as plain records that a report carries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

State = Literal["known", "open", "lost"]
"""``open`` is what the program itself leaves to whoever calls or configures it."""


class At(NamedTuple):
    """A line of a file, as it is printed; rows count from 1."""

    path: str
    row: int


class Fact(NamedTuple):
    """One answer. ``text`` says what is known; for what is not, ``reason`` says why and ``text`` of what."""

    state: State
    text: str
    reason: str = ""
    at: At | None = None


class LoaderSight(NamedTuple):
    """One construction of a loader."""

    at: At
    name: str
    dataset: Fact
    workers: Fact
    use: Fact
    """The loop or trainer that iterates it, and to what end."""

    @property
    def facts(self) -> tuple[tuple[str, Fact], ...]:
        return ("dataset", self.dataset), ("workers", self.workers), ("use", self.use)

    @property
    def state(self) -> State:
        return worst(fact for _, fact in self.facts)


class LoopSight(NamedTuple):
    """One training loop, and the loader that feeds it."""

    at: At
    loader: Fact

    @property
    def facts(self) -> tuple[tuple[str, Fact], ...]:
        return (("loader", self.loader),)

    @property
    def state(self) -> State:
        return self.loader.state


class DatasetSight(NamedTuple):
    """One dataset class: which loader takes it, and what the attributes hold that fetching reads, by name."""

    at: At
    name: str
    loader: Fact
    attributes: tuple[tuple[str, Fact], ...]

    @property
    def facts(self) -> tuple[tuple[str, Fact], ...]:
        return ("loader", self.loader), *((f"self.{name}", fact) for name, fact in self.attributes)

    @property
    def state(self) -> State:
        return self.loader.state


class Sight(NamedTuple):
    """What of a tree could be followed, in the order of files and lines."""

    loaders: tuple[LoaderSight, ...] = ()
    loops: tuple[LoopSight, ...] = ()
    datasets: tuple[DatasetSight, ...] = ()

    @property
    def lost(self) -> int:
        """Loaders of which something was lost."""
        return sum(one.state == "lost" for one in self.loaders)


def worst(facts: Iterator[Fact]) -> State:
    found = {fact.state for fact in facts}
    return "lost" if "lost" in found else "open" if "open" in found else "known"


def decode(data: Any) -> Sight:
    """The inverse of what JSON makes of these tuples; raises TypeError or ValueError for anything else."""
    loaders, loops, datasets = data
    return Sight(
        tuple(
            LoaderSight(At(*at), name, _fact(one), _fact(two), _fact(three)) for at, name, one, two, three in loaders
        ),
        tuple(LoopSight(At(*at), _fact(loader)) for at, loader in loops),
        tuple(
            DatasetSight(At(*at), name, _fact(loader), tuple((str(key), _fact(one)) for key, one in attributes))
            for at, name, loader, attributes in datasets
        ),
    )


def _fact(data: Any) -> Fact:
    state, text, reason, at = data
    return Fact(state, text, reason, None if at is None else At(*at))


def printed(sight: Sight, named: Callable[[str], str]) -> Sight:
    """A survey under the paths that ``named`` gives to those of the project."""

    def at(known: At) -> At:
        return At(named(known.path), known.row)

    def fact(one: Fact) -> Fact:
        return one if one.at is None else one._replace(at=at(one.at))

    return Sight(
        tuple(
            LoaderSight(at(one.at), one.name, fact(one.dataset), fact(one.workers), fact(one.use))
            for one in sight.loaders
        ),
        tuple(LoopSight(at(one.at), fact(one.loader)) for one in sight.loops),
        tuple(
            DatasetSight(at(one.at), one.name, fact(one.loader), tuple((key, fact(it)) for key, it in one.attributes))
            for one in sight.datasets
        ),
    )


def within(sight: Sight, paths: Container[str]) -> Sight:
    """What of a survey is about some files."""
    return Sight(
        tuple(one for one in sight.loaders if one.at.path in paths),
        tuple(one for one in sight.loops if one.at.path in paths),
        tuple(one for one in sight.datasets if one.at.path in paths),
    )
