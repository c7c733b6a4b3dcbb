"""What can be read off a node of the tree alone: its children, its dotted name, its literal value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dl_lint.facts import tree as t

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_NAME = 6
"""Parts of a dotted name that are followed; ``self.cfg.data.train.loader.workers`` is as deep as configs get."""


def _present(*nodes: t.Node | None) -> tuple[t.Node, ...]:
    return tuple(node for node in nodes if node is not None)


def _none(_node: Any) -> tuple[t.Node, ...]:
    return ()


_CHILDREN: dict[type[t.Node], Callable[[Any], tuple[t.Node, ...]]] = {
    t.Name: _none,
    t.Constant: _none,
    t.FString: lambda n: n.values,
    t.Attribute: lambda n: (n.value,),
    t.Subscript: lambda n: (n.value, n.index),
    t.Slice: lambda n: _present(n.lower, n.upper, n.step),
    t.Keyword: lambda n: (n.value,),
    t.Call: lambda n: (n.func, *n.args, *n.keywords),
    t.Starred: lambda n: (n.value,),
    t.Sequence: lambda n: n.items,
    t.Mapping: lambda n: tuple(part for item in n.items for part in item if part is not None),
    t.Generator: lambda n: (n.target, n.iter, *n.ifs),
    t.Comprehension: lambda n: _present(*n.generators, n.key, n.element),
    t.Conditional: lambda n: (n.test, n.body, n.orelse),
    t.BoolOp: lambda n: n.values,
    t.Compare: lambda n: (n.left, *n.comparators),
    t.BinOp: lambda n: (n.left, n.right),
    t.UnaryOp: lambda n: (n.operand,),
    t.Param: lambda n: _present(n.default, n.annotation),
    t.Lambda: lambda n: (*n.params, n.body),
    t.Walrus: lambda n: (n.value,),
    t.Await: lambda n: (n.value,),
    t.Yield: lambda n: _present(n.value),
    t.ExprStmt: lambda n: (n.value,),
    t.Return: lambda n: _present(n.value),
    t.Raise: lambda n: _present(n.exc),
    t.Assert: lambda n: (n.test,),
    t.Jump: _none,
}


def children(node: t.Node) -> tuple[t.Node, ...]:
    """The nodes right below an expression or a statement without a body, in source order."""
    return _CHILDREN[type(node)](node)


def dotted(expr: t.Node | None) -> str | None:
    """``a.b.c`` as text, or None for anything else."""
    parts: list[str] = []
    while isinstance(expr, t.Attribute):
        parts.append(expr.attr)
        expr = expr.value
        if len(parts) >= LONGEST_NAME:
            return None
    if not isinstance(expr, t.Name):
        return None
    parts.append(expr.id)
    return ".".join(reversed(parts))


def are_alike(one: t.Node, other: t.Node) -> bool:
    """Whether two expressions read the same, wherever they stand."""
    waiting = [(one, other)]
    while waiting:
        here, there = waiting.pop()
        if type(here) is not type(there) or _leaves(here) != _leaves(there):
            return False
        below = children(here), children(there)
        if len(below[0]) != len(below[1]):
            return False
        waiting.extend(zip(*below, strict=True))
    return True


def _leaves(node: t.Node) -> list[object]:
    """The names, operators and literal values that a node itself holds."""
    values = [getattr(node, name) for name in type(node).__match_args__ if name != "at"]
    return [
        one for one in values if isinstance(one, str | int | float | None) or (type(one) is tuple and _are_texts(one))
    ]


def _are_texts(values: tuple[object, ...]) -> bool:
    return all(isinstance(one, str) for one in values)


def advanced(call: t.Call) -> t.Expr | None:
    """The iterator that ``next(it)`` or ``it.__next__()`` takes an item from."""
    match call:
        case (
            t.Call(func=t.Name(id="next"), args=(iterator, *_))
            | t.Call(func=t.Attribute(value=iterator, attr="__next__"), args=())
        ):
            return iterator
        case _:
            return None


def begun(call: t.Call) -> t.Expr | None:
    """What ``iter(x)`` or ``x.__iter__()`` starts to iterate."""
    match call:
        case (
            t.Call(func=t.Name(id="iter"), args=(iterable,))
            | t.Call(func=t.Attribute(value=iterable, attr="__iter__"), args=())
        ):
            return iterable
        case _:
            return None


def is_none(expr: t.Node | None) -> bool:
    return isinstance(expr, t.Constant) and expr.kind == "none"


def option_name(call: t.Call) -> str:
    """The attribute that an ``add_argument`` call declares."""
    for keyword in call.keywords:
        if keyword.name == "dest" and isinstance(keyword.value, t.Constant):
            return str(keyword.value.value)
    flags = [str(arg.value) for arg in call.args if isinstance(arg, t.Constant) and arg.kind == "str"]
    long = [flag for flag in flags if flag.startswith("--")] or flags
    return long[0].lstrip("-").replace("-", "_") if long else ""


def called(node: t.Node) -> str:
    """The last part of the name of what a call calls, ``cat`` of ``torch.cat(…)``; empty for anything else."""
    func = node.func if isinstance(node, t.Call) else None
    return func.attr if isinstance(func, t.Attribute) else func.id if isinstance(func, t.Name) else ""
