"""Options of the command line: what ``parser.add_argument`` declares and ``args.name`` therefore is by default."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import arguments, operations
from dl_lint.flow.values import (
    ABSENT,
    NONE,
    UNKNOWN,
    Absent,
    Const,
    Made,
    Namespace,
    Option,
    Table,
    Value,
    alternatives,
    union,
)

if TYPE_CHECKING:
    from dl_lint.flow.program import Program


_PARSE = frozenset({"parse_args", "parse_intermixed_args"})
_PARSE_SOME = frozenset({"parse_known_args", "parse_known_intermixed_args"})
PARSING = _PARSE | _PARSE_SOME
"""Methods of a parser that read the command line."""

_GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group"})


@feature("options of argparse", None)
def parsed(program: Program, parser: Made, method: str) -> Value | None:
    """What a method of an argparse parser returns; None for other objects and methods."""
    if not program.models.has(parser.name, "OptionParser"):
        return None
    if method in _PARSE:
        return Namespace(replace(parser, frames=()))
    if method in _PARSE_SOME:
        return operations.pair(Namespace(replace(parser, frames=())), UNKNOWN)
    return parser if method in _GROUPS else None


def option(program: Program, namespace: Namespace, name: str) -> Value:
    """``args.name``: the option's default, and what the project stores there."""
    return program.solver.solve(("option", namespace, name), lambda: _option(program, namespace, name))


def mapping(program: Program, namespace: Namespace) -> Value:
    """``vars(args)``: its options by their names, and what else is stored there."""
    return program.solver.solve(("options", namespace), lambda: _mapping(program, namespace))


def _mapping(program: Program, namespace: Namespace) -> Value:
    found = ((name, option(program, namespace, name)) for name in sorted(program.modules.options))
    return Table(tuple((name, value) for name, value in found if value != UNKNOWN), False, None)


def _option(program: Program, namespace: Namespace, name: str) -> Value:
    declared = _declared(program, namespace.parser, name)
    stored = _stored(program, namespace, name)
    return union((*declared, *stored)) if declared or stored else UNKNOWN


def _declared(program: Program, parser: Value, name: str) -> list[Value]:
    """The declarations of an option in the files of the project, those of this parser if they can be told apart."""
    calls = program.modules.options.get(name, ())
    mine = [call for call in calls if _belongs(program, call, parser)]
    if not mine:
        here = program.site(parser.call).scope.file if isinstance(parser, Made) else None
        mine = [call for call in calls if program.site(call).scope.file is here and not _known(program, call)]
    return [_default(program, call) for call in mine]


def _belongs(program: Program, call: ast.Call, parser: Value) -> bool:
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    found = {one.call for one in alternatives(program.value(receiver)) if isinstance(one, Made)}
    wanted = {one.call for one in (parser, *_parents(program, parser)) if isinstance(one, Made)}
    return not found.isdisjoint(wanted)


def _known(program: Program, call: ast.Call) -> bool:
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    return any(isinstance(one, Made) for one in alternatives(program.value(receiver)))


def _parents(program: Program, parser: Value) -> tuple[Value, ...]:
    """``ArgumentParser(parents=[other])``, and the parents of those."""
    found: dict[Value, None] = {}
    waiting = [parser]
    while waiting:
        one = waiting.pop()
        given = arguments.given(program, one.call, (), "parents").symbolic if isinstance(one, Made) else ABSENT
        if not isinstance(given, Absent):
            new = alternatives(program.resolve(operations.iterate(program, given)))
            waiting += (parent for parent in new if parent not in found)
            found |= dict.fromkeys(new)
    return tuple(found)


def declared(program: Program, call: ast.Call) -> Value:
    """What the option of an ``add_argument`` call is by default."""
    return program.resolve(_default(program, call))


def _default(program: Program, call: ast.Call) -> Value:
    given = arguments.given(program, call, (), "default").symbolic
    action = arguments.given(program, call, (), "action").symbolic
    if isinstance(given, Absent):
        required = arguments.given(program, call, (), "required").symbolic
        match action:
            case Const(value="store_true"):
                given = Const(False, "bool")
            case Const(value="store_false"):
                given = Const(True, "bool")
            case _:
                positional = not str(getattr(call.args[0], "value", "")).startswith("-") if call.args else True
                given = UNKNOWN if positional or required == Const(True, "bool") else NONE
    if isinstance(given, Const) and given.kind == "int" and _takes_text(program, call):
        return given
    return Option(given, "command line", call)


def _takes_text(program: Program, call: ast.Call) -> bool:
    """Whether an option that is given is a text, which nothing takes for the number that its default is."""
    return all(
        isinstance(arguments.given(program, call, (), name).symbolic, Absent) for name in ("type", "action", "nargs")
    )


def _stored(program: Program, namespace: Namespace, name: str) -> list[Value]:
    """What the project assigns to ``args.name``."""
    return [
        program.symbolic(store.value) if store.value is not None and not store.path else UNKNOWN
        for store in program.modules.stores(name)
        if namespace in alternatives(program.value(store.target.value))
    ]
