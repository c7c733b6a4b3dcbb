"""What the code that fetches a sample does with it: whether it is one thing, a row of columns, or a record."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import attributes, inherited
from dl_lint.project.indexing import FILES
from dl_lint.project.syntax import dotted
from dl_lint.project.values import Class, Function

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.project.indexing import Indexed
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope

FARTHEST = 64
"""Uses that are looked at."""

_MEMBERS = frozenset({"get", "items", "keys", "values", "pop", "copy", "update", "setdefault"})
"""Methods of a dict."""

_OF_LISTS = frozenset({"LongTensor", "FloatTensor", "IntTensor", "BoolTensor"})
"""Constructors that take the lengths of a tensor for numbers, and so are given lists."""

_OF_MANY = _OF_LISTS | {"Tensor", "array", "asarray", "tensor", "as_tensor", "stack", "enumerate", "zip", "sorted",
                        "sum", "map", "choice", "sample", "shuffle", "list", "tuple", "set"}  # fmt: skip
"""Functions that are given lists."""

_OF_ONE = frozenset({"float", "int", "str", "bool", "round", "exists", "getsize", "basename"}) | FILES
"""Functions that are given one text or number."""

_OF_TEXTS = frozenset(
    {"split", "strip", "lower", "upper", "replace", "startswith", "endswith", "format", "encode", "rsplit", "rstrip"}
)
"""Methods of texts."""

LINKS = 2
"""Names that a field of a record is followed through."""

_COPIES = frozenset({"deepcopy", "copy", "dict"})

_PLURAL = re.compile(r"[a-z]{2}[a-hj-rt-z](?<!u)s$|ies$|ses$")
"""Names of many things: points, boxes, poses; not class, radius or axis."""


class Handling(Enum):
    """How a sample that was looked up is taken apart, at the most."""

    WHOLE = 0
    COLUMNS = 1
    """By places known beforehand, ``path, target = self.samples[index]``."""
    FIELDS = 2
    """By names, and each of the things behind them is one text or number, as far as this code goes."""
    UNTOLD = 3
    """By names, and it is not known what the things behind them are."""
    SEVERAL = 4
    """The same, and by its name one of the things is many."""
    RECORD = 5
    """By going over it, or over what is behind a name: it holds as much as it likes."""


def handling(project: Project, cls: Class, reads: Iterable[Indexed], attribute: str | None = None) -> Handling:
    """What is done with what ``reads`` give, in an object of ``cls``, and with the samples where ``self.attribute``
    is gone over."""
    waiting: list[t.Node] = [read.node for read in reads]
    if attribute is not None:
        waiting += _gone_over(project, cls, attribute)
    seen: set[t.Node] = set()
    most = Handling.WHOLE
    while waiting and len(seen) < FARTHEST:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        found = _of(project, node)
        most = max(most, found, key=lambda one: one.value)
        waiting.extend(_onwards(project, cls, node))
    return most


def _gone_over(project: Project, cls: Class, attribute: str) -> Iterator[t.Node]:
    """The samples in the loops of the class over ``self.attribute``, or over ``enumerate`` of it."""
    for method, key in inherited.methods(project, cls, attribute):
        for loop in method.loops:
            over, target = getattr(loop.node, "iter", None), getattr(loop.node, "target", None)
            if isinstance(over, t.Call) and dotted(over.func) == "enumerate" and over.args:
                over = over.args[0]
                target = target.items[-1] if isinstance(target, t.Sequence) else None
            if over is not None and dotted(over) == key and isinstance(target, t.Name):
                yield from (one for one in method.loads.get(target.id, ()) if loop.node in project.loops_around(one))


def _of(project: Project, node: t.Node) -> Handling:
    above = project.parent(node)
    match above:
        case t.Subscript(value=value, index=index) if value is node:
            if isinstance(index, t.Slice) or _is_place(index):
                return Handling.COLUMNS
            return _of_field(project, above)
        case t.Attribute(attr="get") if isinstance(field := project.parent(above), t.Call) and field.func is above:
            return _of_field(project, field)
        case t.Attribute(attr=attr) if attr in _MEMBERS - {"copy"}:
            return Handling.RECORD
        case t.Call(func=func) if func is not node and (dotted(func) or "").rpartition(".")[2] in _OF_LISTS:
            return Handling.RECORD
        case t.For(iter=over) | t.Generator(iter=over) if over is node:
            return Handling.RECORD
        case t.Assign(targets=(t.Sequence(),), value=value) if value is node:
            return Handling.COLUMNS
        case _:
            return Handling.WHOLE


def _of_field(project: Project, field: t.Expr) -> Handling:
    if _is_single(project, field, LINKS):
        return Handling.FIELDS
    if _is_many(project, field, LINKS):
        return Handling.RECORD
    return Handling.SEVERAL if _is_plural(field) else Handling.UNTOLD


def _is_plural(field: t.Expr) -> bool:
    """Whether a field has the name of many things, as ``record["boxes"]`` has."""
    key = field.index if isinstance(field, t.Subscript) else field.args[0] if isinstance(field, t.Call) else None
    name = key.value if isinstance(key, t.Constant) else None
    return isinstance(name, str) and _PLURAL.search(name.lower()) is not None


def _is_many(project: Project, field: t.Expr, links: int) -> bool:
    """Whether a field of a record is gone over, or looked something up in: it is a list or a record itself."""
    above = project.parent(field)
    match above:
        case t.For(iter=over) | t.Generator(iter=over):
            return over is field
        case t.Subscript(value=value):
            return value is field
        case t.Starred():
            return True
        case t.Attribute(attr=attr):
            return attr in _MEMBERS
        case t.Call(func=func) if func is not field:
            return (dotted(func) or "").rpartition(".")[2] in _OF_MANY
        case t.Assign(targets=(t.Name(id=name),)) if links:
            loads = project.site(field).scope.loads.get(name, ())
            return any(_is_many(project, one, links - 1) for one in loads)
        case _:
            return False


def _is_single(project: Project, field: t.Expr, links: int) -> bool:
    """Whether what is done with a field of a record can only be done with one text or number."""
    above = project.parent(field)
    match above:
        case t.Call(func=func) if func is not field:
            return (dotted(func) or str(getattr(func, "attr", ""))).rpartition(".")[2] in _OF_ONE
        case t.Keyword():
            call = project.parent(above)
            return isinstance(call, t.Call) and (dotted(call.func) or "").rpartition(".")[2] in _OF_ONE
        case t.Attribute(attr=attr):
            return attr in _OF_TEXTS
        case t.Subscript(index=index):
            return index is field
        case t.BinOp() | t.FString():
            return True
        case t.Assign(targets=(t.Name(id=name),)) if links:
            loads = project.site(field).scope.loads.get(name, ())
            return bool(loads) and all(_is_single(project, one, links - 1) for one in loads)
        case _:
            return False


def _is_place(index: t.Expr) -> bool:
    if isinstance(index, t.UnaryOp):
        index = index.operand
    return isinstance(index, t.Constant) and index.kind == "int"


def _onwards(project: Project, cls: Class, node: t.Node) -> Iterator[t.Node]:
    """Where the same thing is met again: under a name, as a copy, in a function that it is handed to."""
    above = project.parent(node)
    match above:
        case t.Assign(targets=(t.Name(id=name),), value=value) if value is node:
            yield from project.site(node).scope.loads.get(name, ())
        case t.Attribute(attr="copy"):
            yield project.parent(above) or above
        case t.Conditional(test=test) if test is not node:
            yield above
        case t.Call(func=func, args=args) if func is not node:
            if (dotted(func) or "").rpartition(".")[2] in _COPIES:
                yield above
            for function in _entered(project, cls, above):
                names = [param.name for param in function.params][1 if function.is_method else 0 :]
                for name, argument in zip(names, args, strict=False):
                    if argument is node:
                        yield from function.loads.get(name, ())
        case _:
            return


def _entered(project: Project, cls: Class, call: t.Call) -> tuple[Scope, ...]:
    """The functions that a call enters: of a method of self, the one that ``cls`` has."""
    caller, func = project.function_of(call), call.func
    if isinstance(func, t.Attribute) and caller.is_method and caller.params and caller.parent is not None:
        lineage = attributes.lineage(project.evaluator, cls)
        if dotted(func.value) == caller.params[0].name and Class(caller.parent) in lineage:
            own = attributes.of_class(project.evaluator, cls, func.attr)
            return (own.scope,) if isinstance(own, Function) else ()
    return project.entered(call)
