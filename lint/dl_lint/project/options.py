"""Options of the command line: what ``parser.add_argument`` declares and ``args.name`` therefore is by default."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from dl_lint.project import apply, arguments
from dl_lint.project.frameworks import PARSERS
from dl_lint.project.values import (
    NONE,
    UNKNOWN,
    Absent,
    Const,
    Made,
    Namespace,
    Option,
    Value,
    alternatives,
    union,
)

if TYPE_CHECKING:
    from dl_lint.project.evaluate import Evaluator

_PARSE = frozenset({"parse_args", "parse_intermixed_args"})
_PARSE_SOME = frozenset({"parse_known_args", "parse_known_intermixed_args"})
_GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group"})


def parsed(parser: Made, method: str) -> Value | None:
    """What a method of an argparse parser returns; None for other objects and methods."""
    if parser.name not in PARSERS:
        return None
    if method in _PARSE:
        return Namespace(replace(parser, frames=()))
    if method in _PARSE_SOME:
        return apply.pair(Namespace(replace(parser, frames=())), UNKNOWN)
    return parser if method in _GROUPS else None


def option(ev: Evaluator, namespace: Namespace, name: str) -> Value:
    """``args.name``: the option's default, and what the project stores there."""
    return ev.solver.solve(("option", namespace, name), lambda: _option(ev, namespace, name))


def _option(ev: Evaluator, namespace: Namespace, name: str) -> Value:
    declared = _declared(ev, namespace.parser, name)
    stored = _stored(ev, namespace, name)
    return union((*declared, *stored)) if declared or stored else UNKNOWN


def _declared(ev: Evaluator, parser: Value, name: str) -> list[Value]:
    """The declarations of an option in the files of the project, those of this parser if they can be told apart."""
    calls = ev.files.options.get(name, ())
    mine = [call for call in calls if _belongs(ev, call, parser)]
    if not mine:
        here = ev.site(parser.call).scope.file if isinstance(parser, Made) else None
        mine = [call for call in calls if ev.site(call).scope.file is here and not _known(ev, call)]
    return [_default(ev, call) for call in mine]


def _belongs(ev: Evaluator, call: ast.Call, parser: Value) -> bool:
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    found = {one.call for one in alternatives(ev.value(receiver)) if isinstance(one, Made)}
    wanted = {one.call for one in (parser, *_parents(ev, parser)) if isinstance(one, Made)}
    return not found.isdisjoint(wanted)


def _known(ev: Evaluator, call: ast.Call) -> bool:
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    return any(isinstance(one, Made) for one in alternatives(ev.value(receiver)))


def _parents(ev: Evaluator, parser: Value) -> tuple[Value, ...]:
    """``ArgumentParser(parents=[other])``."""
    if not isinstance(parser, Made):
        return ()
    given = arguments.given(ev, parser.call, (), "parents").symbolic
    from dl_lint.project import apply

    return () if isinstance(given, Absent) else alternatives(ev.resolve(apply.iterate(ev, given)))


def _default(ev: Evaluator, call: ast.Call) -> Value:
    given = arguments.given(ev, call, (), "default").symbolic
    action = arguments.given(ev, call, (), "action").symbolic
    if isinstance(given, Absent):
        required = arguments.given(ev, call, (), "required").symbolic
        match action:
            case Const(value="store_true"):
                given = Const(False, "bool")
            case Const(value="store_false"):
                given = Const(True, "bool")
            case _:
                positional = not str(getattr(call.args[0], "value", "")).startswith("-") if call.args else True
                given = UNKNOWN if positional or required == Const(True, "bool") else NONE
    if isinstance(given, Const) and given.kind == "int" and _takes_text(ev, call):
        return given
    return Option(given, "command line", call)


def _takes_text(ev: Evaluator, call: ast.Call) -> bool:
    """Whether an option that is given is a text, which nothing takes for the number that its default is."""
    return all(isinstance(arguments.given(ev, call, (), name).symbolic, Absent) for name in ("type", "action", "nargs"))


def _stored(ev: Evaluator, namespace: Namespace, name: str) -> list[Value]:
    """What the project assigns to ``args.name``."""
    return [
        ev.symbolic(store.value) if store.value is not None and not store.path else UNKNOWN
        for file in ev.files.loaded()
        for store in file.stores.get(name, ())
        if namespace in alternatives(ev.value(store.target.value))
    ]
