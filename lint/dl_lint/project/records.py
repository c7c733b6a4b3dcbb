"""Attributes of a dataset that hold the same objects, once as they were read and once sorted, chosen or grouped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dl_lint.project import (
    attributes,
    conditions,
    filling,
    indexing,
    inherited,
    record_sizes,
    workers,
)
from dl_lint.project.values import Collection, Derived, Instance, Made, Table, Value, alternatives
from dl_lint.source.positions import span
from dl_lint.source.syntax import Assignment, dotted

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator, Mapping

    from dl_lint.project.indexing import Indexed
    from dl_lint.project.model import Project
    from dl_lint.project.values import Class

Told = TypeVar("Told")

DEEPEST = 3
"""Containers in containers that are looked through: the lists of a dict of lists are two."""


@dataclass(frozen=True, slots=True)
class Container:
    """``self.attribute``, which ``filled`` fill and ``reads`` look samples up in; each takes so many ``bytes``."""

    attribute: str
    filled: list[ast.AST]
    reads: list[Indexed]
    samples: list[Value]
    bytes: int


def owners(project: Project) -> list[Class]:
    """The map-style datasets, and the classes of the objects that they keep and index in turn; bases before those that
    derive from them."""
    found: dict[Class, None] = {}
    for dataset in project.dataset_classes():
        if dataset.kind == "map":
            found.update(dict.fromkeys(workers.held(project, dataset.cls)))
    return sorted(found, key=lambda one: len(_lineage(project, one)))


def of_base(project: Project, cls: Class, read: ast.AST, told: Mapping[tuple[Value, ast.AST], Told]) -> Told | None:
    """What was ``told`` of a class that ``cls`` derives from, whose container is read at the same place."""
    return next((told[base, read] for base in _lineage(project, cls)[1:] if (base, read) in told), None)


def _lineage(project: Project, cls: Class) -> tuple[Value, ...]:
    return attributes.lineage(project.evaluator, cls)


def of_python_objects(project: Project, cls: Class, reads: dict[str, list[Indexed]]) -> list[Container]:
    """The attributes in ``reads`` that hold a Python object for each sample, without those that only hold the objects
    of one filled before, parts of them, or all of these and more."""
    of_originals: dict[str, list[Indexed]] = {}
    for attribute, indexed in reads.items():
        of_originals.setdefault(_meant(project, cls, attribute), []).extend(indexed)
    found = []
    for attribute, indexed in of_originals.items():
        places = filling.python_objects_in(project, cls, attribute, telling(project, indexed))
        filled = [one for one in places if not all(conditions.exclude(project, one, read.node) for read in indexed)]
        filled = [one for one in filled if not conditions.is_settled_otherwise(project, one)]
        if filled:
            indexed = [one for one in indexed if not all(conditions.exclude(project, one.node, at) for at in filled)]
            depth = min(one.depth for one in indexed)
            samples = list(record_sizes.filling(project, cls, attribute, filled))
            each = record_sizes.bytes_each(project, list(record_sizes.filling(project, cls, attribute, filled, depth)))
            found.append(Container(attribute, _made_here(project, filled), indexed, samples, each))
    return _originals(found)


def _meant(project: Project, cls: Class, attribute: str, links: int = 2) -> str:
    """The attribute that another is only a second name of: ``self.rows = self.annotation``, and nothing else."""
    of_class = inherited.methods(project, cls, attribute)
    bindings = [one for method, key in of_class for one in method.bindings.get(key, ())]
    if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].path or not links:
        return attribute
    other = _attribute(project, bindings[0].node)
    return attribute if other is None else _meant(project, cls, other, links - 1)


def _attribute(project: Project, stmt: ast.AST) -> str | None:
    """The attribute of self that a statement assigns as it is."""
    owner, _, name = ((dotted(stmt.value) if isinstance(stmt, Assignment) else None) or "").partition(".")
    method = project.function_of(stmt)
    own = method.is_method and bool(method.params) and owner == method.params[0].name
    return name if own and name and "." not in name else None


def _made_here(project: Project, filled: list[ast.AST]) -> list[ast.AST]:
    """Of the places that fill an attribute, those that do not just name another that is filled elsewhere, if any."""
    return [one for one in filled if _attribute(project, one) is None] or filled


def telling(project: Project, found: list[Indexed]) -> Indexed:
    """The read that tells most of what is read: one that leads to a file, if any."""
    return next((one for one in found if indexing.leads_to_file(project, one)), found[0])


def _originals(found: list[Container]) -> list[Container]:
    kept: dict[frozenset[Value], Container] = {}
    nothing_known: list[Container] = []
    for one in sorted(found, key=lambda one: min(span(node) for node in one.filled)):
        objects = frozenset(_objects(one))
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


def _objects(container: Container) -> Iterator[Value]:
    """What the container holds for a sample, as far as it can be told from other things."""
    for value in container.samples:
        yield from _inside(value, DEEPEST)


def _inside(value: Value, depth: int) -> Iterator[Value]:
    for one in alternatives(value):
        if isinstance(one, Collection) and one.items is None and depth:
            yield from _inside(one.element, depth - 1)
        elif isinstance(one, Derived | Made | Instance | Table):
            yield one
