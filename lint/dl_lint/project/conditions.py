"""Tests that cannot hold at once: what one of them guards never meets what the other does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project


def exclude(project: Project, one: t.Node, other: t.Node) -> bool:
    """Whether two places depend on one and the same option, which is a text, and on different texts of it."""
    asked = {name: texts for name, texts in _texts(project, one) if name}
    return any(name in asked and asked[name].isdisjoint(texts) for name, texts in _texts(project, other))


def _texts(project: Project, node: t.Node) -> Iterator[tuple[str, frozenset[object]]]:
    """What ``self.kind == "clips"`` and ``kind in ("clips", "frames")`` around a node ask for, by the option's name."""
    for test, outcome in project.tests_around(node):
        match test:
            case t.Compare(ops=("==",), left=left, comparators=(t.Constant(value=str() as text),)) if outcome:
                yield _name(left), frozenset({text})
            case t.Compare(ops=("in",), left=left, comparators=(t.Sequence(items=items),)) if outcome:
                if items and all(isinstance(item, t.Constant) for item in items):
                    yield _name(left), frozenset(item.value for item in items if isinstance(item, t.Constant))
            case _:
                continue


def _name(expr: t.Expr) -> str:
    """The last part of a dotted name: a parameter is kept under its own name, as a rule."""
    return (dotted(expr) or "").rpartition(".")[2]
