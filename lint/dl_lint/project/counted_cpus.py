"""Whether a count of CPUs is only what stands in for a number that the configuration may have, or is capped by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.repetition import names_in, words
from dl_lint.project.syntax import are_alike
from dl_lint.project.values import Const, Option, alternatives

if TYPE_CHECKING:
    from dl_lint.project.model import Project

CONFIGURED = frozenset({"config", "configuration", "cfg", "conf", "settings", "hparams"})
"""Words of the names of what a configuration was read into."""


def is_capped(project: Project, count: t.Call) -> bool:
    """Whether more workers than a number start only where that is what the host has: ``8 if cpu_count() > 8 else
    cpu_count()``."""
    match project.parent(count):
        case t.Conditional(test=t.Compare(left=left, ops=(op,)), body=body, orelse=orelse) if are_alike(left, count):
            fewer, other = (orelse, body) if op in (">", ">=") else (body, orelse)
            return op in (">", ">=", "<", "<=") and fewer is count and isinstance(other, t.Constant)
        case _:
            return False


def stands_in(project: Project, count: t.Call) -> bool:
    child: t.Node = count
    for above in project.ancestors(count):
        match above:
            case t.Handler():
                tried = next((one for one in project.ancestors(above) if isinstance(one, t.Try)), None)
                return tried is not None and any(map(_asks, tried.body))
            case t.BoolOp(op="or", values=values) if child is not values[0]:
                return all(_is_set(project, one) for one in values[: values.index(child)])
            case t.FunctionDef() | t.Lambda():
                return False
        child = above
    return False


def _asks(statement: t.Stmt) -> bool:
    """Whether a statement binds what it reads of a configuration."""
    return isinstance(statement, t.Assign) and statement.value is not None and _is_configuration(statement.value)


def _is_set(project: Project, expr: t.Expr) -> bool:
    """Whether something comes from a configuration, or from an option with a default that is a number."""
    found = alternatives(project.value(expr))
    if found and all(isinstance(one, Option) for one in found):
        return all(
            isinstance(default, Const) and bool(default.value)
            for one in found
            if isinstance(one, Option)
            for default in alternatives(one.default)
        )
    return _is_configuration(expr)


def _is_configuration(expr: t.Node) -> bool:
    return any(CONFIGURED & set(words(part)) for name in names_in(expr) for part in name.split("."))
