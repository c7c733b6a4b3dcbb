"""Attributes of a dataset that hold the same objects, once as they were read and once sorted, chosen or grouped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.project import containers, heft, indexing
from dl_lint.project.values import Collection, Derived, Instance, Made, Table, Value, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.facts import tree as t
    from dl_lint.project.indexing import Indexed
    from dl_lint.project.model import Project
    from dl_lint.project.values import Class

DEEPEST = 3
"""Containers in containers that are looked through: the lists of a dict of lists are two."""


@dataclass(frozen=True, slots=True)
class Container:
    """``self.attribute``, which ``filled`` fill and ``reads`` look samples up in."""

    attribute: str
    filled: list[t.Node]
    reads: list[Indexed]


def of_python_objects(project: Project, cls: Class, reads: dict[str, list[Indexed]]) -> list[Container]:
    """The attributes in ``reads`` that hold a Python object for each sample, without those that only hold the objects
    of one filled before, parts of them, or all of these and more."""
    found = []
    for attribute, indexed in reads.items():
        filled = containers.python_objects_in(project, cls, attribute, telling(project, indexed))
        if filled:
            found.append(Container(attribute, filled, indexed))
    return _originals(project, cls, found)


def telling(project: Project, found: list[Indexed]) -> Indexed:
    """The read that tells most of what is read: one that leads to a file, if any."""
    return next((one for one in found if indexing.leads_to_file(project, one)), found[0])


def _originals(project: Project, cls: Class, found: list[Container]) -> list[Container]:
    kept: dict[frozenset[Value], Container] = {}
    nothing_known: list[Container] = []
    for one in sorted(found, key=lambda one: min(map(project.place, one.filled))):
        objects = frozenset(_objects(project, cls, one))
        if not objects:
            nothing_known.append(one)
        elif not any(_are_of(objects, other) or other <= objects for other in kept):
            kept = {other: its for other, its in kept.items() if not _are_of(other, objects)}
            kept[objects] = one
    return [*kept.values(), *nothing_known]


def _are_of(objects: frozenset[Value], others: frozenset[Value]) -> bool:
    """Whether all of some objects are among others, or parts of these as they are."""
    return all(_is_of(one, others) for one in objects)


def _is_of(value: Value, others: frozenset[Value]) -> bool:
    while value not in others:
        if not isinstance(value, Derived) or value.step not in ("item", "iterate"):
            return False
        value = value.base
    return True


def _objects(project: Project, cls: Class, container: Container) -> Iterator[Value]:
    """What the container holds for a sample, as far as it can be told from other things."""
    for value in heft.filling(project, cls, container.attribute, container.filled):
        yield from _inside(value, DEEPEST)


def _inside(value: Value, depth: int) -> Iterator[Value]:
    for one in alternatives(value):
        if isinstance(one, Collection) and one.items is None and depth:
            yield from _inside(one.element, depth - 1)
        elif isinstance(one, Derived | Made | Instance | Table):
            yield one
