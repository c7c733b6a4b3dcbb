"""Configuration objects: what their fields are, set anywhere in the code (yacs, EasyDict, Namespace) or read from files
of the repository."""

from __future__ import annotations

import ast
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import arguments, classes
from dl_lint.flow.values import (
    UNKNOWN,
    Absent,
    Const,
    Derived,
    Made,
    Option,
    Table,
    Unknown,
    Value,
    alternatives,
    union,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program


LARGEST = 100_000
"""Bytes of a configuration file; a larger one is data."""

MOST = 5_000
"""Settings in one file, counted once for each alias."""

DEEPEST = 8

FORMATS = (".yaml", ".yml", ".json")


SETTINGS = ("Settings", "DefaultSettings")

READ = ("SettingsFile", "Merged")

HYDRA = "hydra.main"


def is_configuration(program: Program, value: Value) -> bool:
    """Whether something is an object whose fields are settings, or what a configuration file was read into."""
    return isinstance(value, Made) and program.models.has(value.name, *SETTINGS, *READ)


def is_read(program: Program, value: Value) -> bool:
    """Whether something is what a file was read into that no file of the repository is known to be, or was merged with
    others: what it says is the user's."""
    if not isinstance(value, Made) or not program.models.has(value.name, *READ):
        return False
    if program.models.has(value.name, "Merged"):
        return True
    return program.solver.solve(("read", value), partial(_contents, program, value)) == UNKNOWN


@feature("fields of configurations", None)
def field(program: Program, config: Made, name: str) -> Value | None:
    """``config.name`` or ``config["name"]``, whichever place sets it; None where none is seen to."""
    if program.models.has(config.name, "Merged"):  # what is merged with itself asks for itself: the solver ends that
        found = program.solver.solve(("merged", config.call, name), partial(_of_any, program, config, name))
        return None if found == UNKNOWN else found
    if program.models.has(config.name, "SettingsFile"):
        return _of_files(program, config, name)
    if not program.models.has(config.name, *SETTINGS):
        return None
    found = program.solver.solve(("field", config, name), partial(_field, program, config, name))
    return None if found == UNKNOWN else found


def _of_any(program: Program, merged: Made, name: str) -> Value:
    """A field of what was merged, which is that of any of the configurations that have it."""
    given = [program.through(program.symbolic(arg), merged.frames) for arg in merged.call.args]
    values = (program.attribute(program.resolve(one), name) for one in given)
    known = [one for one in values if not isinstance(one, Derived | Unknown)]
    return union(known) if known else UNKNOWN


def _field(program: Program, config: Made, name: str) -> Value:
    """What the constructor is given and what is stored to the field, here or elsewhere."""
    given = [arguments.given(program, config.call, (), name).symbolic]
    given += [one.get(name) for arg in config.call.args[:1] for one in _tables(program, arg)]
    found = [program.through(one, config.frames) for value in given for one in alternatives(value)]
    found = [one for one in found if not isinstance(one, Absent | Unknown)]
    for store in program.modules.stores(name):
        if not store.op and _is_of(program, store.target.value, config):
            value = program.symbolic(store.value) if not store.path else UNKNOWN
            found += [_as_default(program, config, one, store.node) for one in alternatives(value)]
    found += [program.symbolic(value) for value in _set_by_methods(program, config, name)]
    return union(found) if found else UNKNOWN


def _set_by_methods(program: Program, config: Made, name: str) -> Iterator[ast.expr]:
    """What the methods of a class of the program are given for a field: ``config.set("name", value)``."""
    setters = [one.name for one in classes.methods(config.cls) if len(one.params) == 3] if config.cls else ()
    for call in program.method_calls(*setters):
        match call:
            case ast.Call(func=ast.Attribute(value=owner), args=[ast.Constant(value=field), value]):
                if field == name and _is_of(program, owner, config):
                    yield value


def _tables(program: Program, expr: ast.expr) -> list[Table]:
    return [one for one in alternatives(program.value(expr)) if isinstance(one, Table)]


def _is_of(program: Program, expr: ast.expr, config: Made) -> bool:
    return any(isinstance(one, Made) and one.call is config.call for one in alternatives(program.value(expr)))


def _as_default(program: Program, config: Made, value: Value, node: ast.AST) -> Value:
    """A number, text or truth that the user's file may replace."""
    is_setting = program.models.has(config.name, "DefaultSettings") and isinstance(value, Const)
    return Option(value, "configuration", node) if is_setting else value


@feature("sections of configurations", UNKNOWN)
def section(program: Program, name: str) -> Value:
    """The section ``name`` of the configurations of the program, of one that nobody knows: ``cfg.DATA_LOADER``."""
    return program.solver.solve(("section", name), partial(_section, program, name))


def _section(program: Program, name: str) -> Value:
    made = [
        one
        for store in program.modules.stores(name)
        if isinstance(store.value, ast.Call)
        for one in alternatives(program.symbolic(store.value))
    ]
    found = [one for one in made if isinstance(one, Made) and program.models.has(one.name, "DefaultSettings")]
    return union(found) if found else UNKNOWN


# --- files ---------------------------------------------------------------------------------


@feature("configuration files", None)
def _of_files(program: Program, read: Made, name: str) -> Value | None:
    found = program.solver.solve(("read", read), partial(_contents, program, read))
    tables = [one for one in alternatives(found) if isinstance(one, Table)]
    values = [value for table in tables for key, value in table.items if key == name]
    return union(values) if values else None


def _contents(program: Program, read: Made) -> Value:
    """What the files of the repository hold that ``read`` may read: its path is literal, or an option's default."""
    if read.name == HYDRA:
        return _composed(program, read.call)
    if not read.call.args:
        return UNKNOWN
    source = program.resolve(program.through(program.symbolic(read.call.args[0]), read.frames))
    opened = [one for one in alternatives(source) if isinstance(one, Made) and one.name == "builtins.open"]
    named = [
        program.resolve(program.through(program.symbolic(arg), (*one.frames, *read.frames)))
        for one in opened
        for arg in one.call.args[:1]
    ]
    found = []
    for text in sorted({text for value in (source, *named) for text in _texts(value)}):
        path = place(program, read.call, text)
        found.append(UNKNOWN if path is None else _value(_parsed(program, path), read.call))
    return union(found)


def _composed(program: Program, decorator: ast.Call) -> Value:
    """The configuration that ``@hydra.main(config_path=…, config_name=…)`` passes, with the groups of its defaults."""
    given = [arguments.given(program, decorator, ("config_path", "config_name"), name).symbolic
             for name in ("config_path", "config_name")]  # fmt: skip
    folder, name = ("".join(_texts(one)) for one in given)
    path = place(program, decorator, os.path.join(folder, f"{name.removesuffix('.yaml')}.yaml")) if name else None
    content = _parsed(program, path) if path is not None else None
    if path is None or not isinstance(content, dict):
        return UNKNOWN
    defaults = content.get("defaults")
    for one in defaults if isinstance(defaults, list) else ():
        for group, option in one.items() if isinstance(one, dict) else ():
            key = str(group).rpartition(" ")[2]  # ``override data``
            chosen = _parsed(program, os.path.join(os.path.dirname(path), key, f"{option}.yaml"))
            own = content.get(key)
            if isinstance(chosen, dict):
                content[key] = chosen | (own if isinstance(own, dict) else {})
    return _value(content, decorator)


def _texts(value: Value) -> Iterator[str]:
    for one in alternatives(value):
        said = one.default if isinstance(one, Option) else one
        yield from (
            text.value for text in alternatives(said) if isinstance(text, Const) and isinstance(text.value, str)
        )


def place(
    program: Program, near: ast.Call, text: str, formats: tuple[str, ...] = FORMATS, largest: int = LARGEST
) -> str | None:
    """Where a path leads inside the repository, from the folder of the script or one above; None for a file that is not
    there, or has more bytes than ``largest``."""
    files = program.modules
    folder = os.path.dirname(files.keys[program.site(near).scope.file])
    while text.endswith(formats) and folder.startswith(files.root):
        path = os.path.normpath(os.path.join(folder, text))
        if text_in(program, path, largest) is not None:
            return path
        folder = os.path.dirname(folder)
    return None


def text_in(program: Program, path: str, largest: int = LARGEST) -> str | None:
    """What a file inside the repository holds; None for one that is not there, or has more bytes."""
    files = program.modules
    if not path.isprintable() or not os.path.realpath(path).startswith(os.path.realpath(files.root) + os.sep):
        return None
    return files.around.small_text(path, largest)


def _parsed(program: Program, path: str) -> Any:
    import yaml

    try:
        return yaml.load(text_in(program, path) or "", getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return None


def _value(content: Any, node: ast.AST) -> Value:
    """What a file holds, as options: another file may say otherwise."""
    return _option(content, node, DEEPEST) if _is_small(content) else UNKNOWN


def _is_small(content: Any) -> bool:
    """Whether it is no more than people write, with what aliases repeat."""
    waiting, count = [content], 0
    while waiting and count < MOST:
        one = waiting.pop()
        count += 1
        waiting.extend(one.values() if isinstance(one, dict) else ())
    return not waiting


def _option(content: Any, node: ast.AST, depth: int) -> Value:
    match content:
        case dict() if depth:
            named = ((key, one) for key, one in content.items() if isinstance(key, str) and key.isprintable())
            return Table(tuple((key, _option(one, node, depth - 1)) for key, one in named), False, node)
        case bool() | int() | None:
            return Option(Const(content, "none" if content is None else type(content).__name__), "configuration", node)
        case float() if content == content:
            return Option(Const(content, "float"), "configuration", node)
        case str() if content.isprintable():
            return Option(Const(content, "str"), "configuration", node)
        case _:
            return UNKNOWN
