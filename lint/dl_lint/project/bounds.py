"""How far what a dataset keeps can grow: up to a length that a test names, or by a number for each sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dl_lint.facts import tree as t
from dl_lint.project.repetition import words
from dl_lint.project.syntax import dotted
from dl_lint.project.values import Const, alternatives

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Change, Scope
    from dl_lint.project.values import Class

FEW = 1000
"""Entries of a cache that counts as bounded: at 150 kB, a decoded photo of 224 pixels square, they take 150 MB."""


def limit(project: Project, node: t.Node, holder: t.Expr) -> Literal["low", "some"] | None:
    """How many entries a container has at most where ``node`` adds one: a few, some known number, or None where no test
    of its length is around: ``if len(self.cache) < 100:``."""
    for test, outcome in project.tests_around(node):
        match test:
            case t.Compare(
                left=t.Call(func=t.Name(id="len"), args=(counted,)), ops=("<" | "<=",), comparators=(most,)
            ) if outcome and dotted(counted) == dotted(holder):
                found = alternatives(project.value(most))
                return "low" if all(isinstance(one, Const) and one.value in range(FEW + 1) for one in found) else "some"
            case _:
                continue
    return None


ADDING = frozenset({"add", "insert", "register"})
"""First words of the names of methods through which something learns what comes."""


def is_vocabulary(function: Scope, owner: Class, cls: Class) -> bool:
    """Whether an object that a dataset of ``cls`` holds takes up what is new to it: ``dictionary.add_symbol(word)``."""
    return owner != cls and not ADDING.isdisjoint(words(function.name)[:1])


def is_small(project: Project, function: Scope, change: Change) -> bool:
    """Whether somebody has set a limit to a list, or it is given but the number of each sample."""
    match change.node:
        case t.Call(func=t.Attribute(value=holder, attr="append"), args=(added,)):
            number = [param.name for param in function.params[1:2]] if function.name == "__getitem__" else []
            return dotted(added) in number or limit(project, change.node, holder) is not None
        case _:
            return False
