"""What can be read off a node of ``ast`` alone: its parts, its dotted name, its literal value."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LONGEST_NAME = 6
"""Parts of a dotted name that are followed; ``self.cfg.data.train.loader.workers`` is as deep as configs get."""

# Kinds of node that readers hardly ever tell apart.
ForStatement = ast.For | ast.AsyncFor
WithStatement = ast.With | ast.AsyncWith
TryStatement = ast.Try | ast.TryStar
FunctionDefinition = ast.FunctionDef | ast.AsyncFunctionDef
Assignment = ast.Assign | ast.AnnAssign
Display = ast.Tuple | ast.List | ast.Set
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

_KINDS = {
    ast.Tuple: "tuple",
    ast.List: "list",
    ast.Set: "set",
    ast.ListComp: "list",
    ast.SetComp: "set",
    ast.DictComp: "dict",
    ast.GeneratorExp: "generator",
}


def made_by(node: Display | Comprehension) -> str:
    """What a display or a comprehension makes: tuple, list, set, dict or generator."""
    return _KINDS[type(node)]


# --- statements and their parts --------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Param:
    """A parameter; ``kind`` is positional (before /), plain, keyword (after *), args or kwargs."""

    node: ast.arg
    kind: str
    default: ast.expr | None = None

    @property
    def name(self) -> str:
        return self.node.arg


def parameters(arguments: ast.arguments) -> Iterator[Param]:
    """The parameters of a function or lambda in source order."""
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(plain) - len(arguments.defaults)), *arguments.defaults]
    for at, (node, default) in enumerate(zip(plain, defaults, strict=True)):
        yield Param(node, "positional" if at < len(arguments.posonlyargs) else "plain", default)
    if arguments.vararg is not None:
        yield Param(arguments.vararg, "args")
    for node, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield Param(node, "keyword", default)
    if arguments.kwarg is not None:
        yield Param(arguments.kwarg, "kwargs")


def targets(stmt: ast.AST) -> list[ast.expr]:
    """What an assignment, annotated or not, gives a value; nothing for any other statement, or a mere declaration."""
    match stmt:
        case ast.Assign(targets=found):
            return found
        case ast.AnnAssign(target=target, value=ast.expr()):
            return [target]
        case _:
            return []


def captures(pattern: ast.pattern) -> tuple[str, ...]:
    """The names that a match pattern binds, in source order; alternatives bind the same, so each counts once."""
    found: dict[str, None] = {}
    stack: list[ast.pattern | str | None] = [pattern]
    while stack:
        match stack.pop():
            case str(name):
                found[name] = None
            case ast.MatchAs(pattern=inner, name=name):
                stack += [name, inner]
            case ast.MatchStar(name=name):
                stack.append(name)
            case ast.MatchSequence(patterns=inners) | ast.MatchOr(patterns=inners):
                stack += reversed(inners)
            case ast.MatchMapping(patterns=inners, rest=name):
                stack += [name, *reversed(inners)]
            case ast.MatchClass(patterns=inners, kwd_patterns=named):
                stack += [*reversed(named), *reversed(inners)]
    return tuple(found)


# --- expressions -----------------------------------------------------------------------


def _present(*nodes: ast.AST | None) -> list[ast.AST]:
    return [node for node in nodes if node is not None]


def _none(_node: Any) -> tuple[ast.AST, ...]:
    return ()


_CHILDREN: dict[type[ast.AST], Callable[[Any], Sequence[ast.AST]]] = {
    ast.Name: _none,
    ast.Constant: _none,
    ast.JoinedStr: lambda n: fields(n),
    ast.Attribute: lambda n: (n.value,),
    ast.Subscript: lambda n: (n.value, n.slice),
    ast.Slice: lambda n: _present(n.lower, n.upper, n.step),
    ast.keyword: lambda n: (n.value,),
    ast.Call: lambda n: (n.func, *n.args, *n.keywords),
    ast.Starred: lambda n: (n.value,),
    ast.Tuple: lambda n: n.elts,
    ast.List: lambda n: n.elts,
    ast.Set: lambda n: n.elts,
    ast.Dict: lambda n: _present(*(part for item in zip(n.keys, n.values, strict=True) for part in item)),
    ast.comprehension: lambda n: (n.target, n.iter, *n.ifs),
    ast.ListComp: lambda n: (*n.generators, n.elt),
    ast.SetComp: lambda n: (*n.generators, n.elt),
    ast.GeneratorExp: lambda n: (*n.generators, n.elt),
    ast.DictComp: lambda n: (*n.generators, n.key, n.value),
    ast.IfExp: lambda n: (n.test, n.body, n.orelse),
    ast.BoolOp: lambda n: n.values,
    ast.Compare: lambda n: (n.left, *n.comparators),
    ast.BinOp: lambda n: (n.left, n.right),
    ast.UnaryOp: lambda n: (n.operand,),
    ast.Lambda: lambda n: (*_of_parameters(n.args), n.body),
    ast.NamedExpr: lambda n: (n.value,),
    ast.Await: lambda n: (n.value,),
    ast.Yield: lambda n: _present(n.value),
    ast.YieldFrom: lambda n: (n.value,),
    ast.Expr: lambda n: (n.value,),
    ast.Return: lambda n: _present(n.value),
    ast.Raise: lambda n: _present(n.exc),
    ast.Assert: lambda n: (n.test,),
    ast.Pass: _none,
    ast.Break: _none,
    ast.Continue: _none,
}


def _of_parameters(arguments: ast.arguments) -> list[ast.AST]:
    return [part for one in parameters(arguments) for part in _present(one.default, one.node.annotation)]


def fields(string: Any) -> list[ast.expr]:
    """The expressions in an f-string or t-string, with those in the formats of others."""
    found: list[ast.expr] = []
    for part in string.values:
        if not isinstance(part, ast.Constant):
            found.append(part.value)
            found += fields(part.format_spec) if part.format_spec is not None else ()
    return found


if hasattr(ast, "TemplateStr"):  # from Python 3.14 on
    _CHILDREN[ast.TemplateStr] = fields


def children(node: ast.AST) -> Sequence[ast.AST]:
    """What is evaluated for an expression or a statement without a body, in order; nothing for kinds to come."""
    return _CHILDREN.get(type(node), _none)(node)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all that is evaluated for it."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(children(one))


def names_read(node: ast.AST) -> Iterator[ast.Name]:
    """The variables in an expression."""
    return (one for one in walk(node) if isinstance(one, ast.Name))


def identifiers(node: ast.AST) -> Iterator[str]:
    """The names of the variables and attributes in an expression."""
    for one in walk(node):
        match one:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name


def dotted(expr: ast.AST | None) -> str | None:
    """``a.b.c`` as text, or None for anything else."""
    parts: list[str] = []
    while isinstance(expr, ast.Attribute):
        parts.append(expr.attr)
        expr = expr.value
        if len(parts) >= LONGEST_NAME:
            return None
    if not isinstance(expr, ast.Name):
        return None
    parts.append(expr.id)
    return ".".join(reversed(parts))


def are_alike(one: ast.AST, other: ast.AST) -> bool:
    """Whether two expressions read the same, wherever they stand."""
    waiting: list[tuple[object, object]] = [(one, other)]
    while waiting:
        here, there = waiting.pop()
        if isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
            waiting += zip(here, there, strict=True)
        elif isinstance(here, ast.AST) and type(here) is type(there):
            waiting += ((getattr(here, name), getattr(there, name)) for name in here._fields if name != "ctx")
        elif type(here) is not type(there) or here != there:
            return False
    return True


def advanced(call: ast.Call) -> ast.expr | None:
    """The iterator that ``next(it)`` or ``it.__next__()`` takes an item from."""
    match call:
        case (
            ast.Call(func=ast.Name(id="next"), args=[iterator, *_])
            | ast.Call(func=ast.Attribute(value=iterator, attr="__next__"), args=())
        ):
            return iterator
        case _:
            return None


def begun(call: ast.Call) -> ast.expr | None:
    """What ``iter(x)`` or ``x.__iter__()`` starts to iterate."""
    match call:
        case (
            ast.Call(func=ast.Name(id="iter"), args=(iterable,))
            | ast.Call(func=ast.Attribute(value=iterable, attr="__iter__"), args=())
        ):
            return iterable
        case _:
            return None


def is_none(expr: ast.AST | None) -> bool:
    return isinstance(expr, ast.Constant) and expr.value is None


def option_name(call: ast.Call) -> str:
    """The attribute that an ``add_argument`` call declares."""
    for keyword in call.keywords:
        if keyword.arg == "dest" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    flags = [str(arg.value) for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    long = [flag for flag in flags if flag.startswith("--")] or flags
    return long[0].lstrip("-").replace("-", "_") if long else ""


def called(node: ast.AST) -> str:
    """The last part of the name of what a call calls, ``cat`` of ``torch.cat(…)``; empty for anything else."""
    func = node.func if isinstance(node, ast.Call) else None
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
