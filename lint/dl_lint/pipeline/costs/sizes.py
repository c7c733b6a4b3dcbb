"""What a container of a dataset holds for each sample, and how many bytes that is."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dl_lint.flow import enclosing
from dl_lint.flow.interpreter import classes, names, operations
from dl_lint.flow.interpreter.mutations import GROWING
from dl_lint.flow.values import (
    Collection,
    Const,
    Derived,
    External,
    Instance,
    Made,
    Number,
    Table,
    Value,
    alternatives,
)
from dl_lint.pipeline import containers
from dl_lint.source.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Change
    from dl_lint.flow.values import Class

Form = Literal["number", "text", "array", "record", "unknown"]


@dataclass(frozen=True, slots=True, order=True)
class Size:
    """Bytes that one sample takes as tracemalloc counts them, without what all samples share; 0 where that is not
    known. ``of`` names such a sample; ``least`` where it may hold more."""

    bytes: int
    of: str
    form: Form
    least: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """What a container holds for a sample, with the expression that makes it where there is one."""

    value: Value
    expr: ast.expr | None = None


# Bytes of CPython 3.11 on 64 bits, as tracemalloc counts them: benchmarks/record_sizes.py holds what is told here
# against what it measures, for records of 22 shapes.

SLOT = 8
"""A reference in a list, a tuple or an object."""

NUMBER = 28
"""24 for a float, 32 for an int above 256."""

HEADER = 49
"""A text without its characters, of which the following are usual: a field, a file's name, any text, a path."""

FIELD, NAME, TEXT, JOINED = HEADER + 12, HEADER + 16, HEADER + 32, HEADER + 44

FORMATTED = 10
"""Characters that a placeholder of a formatted text becomes."""

PATH = 300
"""A `Path`: 226 to 266 when it was made, 349 to 414 once its parts were asked for."""

ARRAY = 128
"""An array of numpy of four numbers."""

SET = 216
"""With up to four elements."""

TUPLE, LIST, SLOTTED, OBJECT = 40, 56, 32, 72
"""A record before the references that it holds: an object of a class with and without ``__slots__``."""

_ENTRIES = ((5, 184), (10, 272), (21, 464), (42, 832), (85, 1_600))
"""What a dict takes that holds up to so many keys, which all dicts of one shape share."""

DEEPEST = 6

_TEXTS = frozenset({"strip", "rstrip", "lstrip", "lower", "upper", "replace", "format", "decode", "join"})
"""Methods of texts that give texts, whatever they are called on."""

_FOLDERS = frozenset({"iterdir", "glob", "rglob"})
"""Methods of a path that give paths."""

_NUMBERS = frozenset({"getImgIds"})
"""Methods that give numbers: of an index of annotations, those of its images."""

_COUNTING = frozenset({"int", "float", "len", "ord", "round", "hash", "id"})
"""Functions that give a number, whatever they are given."""

_PICKLES = ("pickle.", "joblib.", "cloudpickle.", "dill.", "yaml.", "marshal.")

UNKNOWN_SIZE = Size(0, "a sample", "unknown")


def dict_bytes(keys: int) -> int:
    return next((size for most, size in _ENTRIES if keys <= most), 20 * keys)


def size_each(program: Program, samples: list[Sample], fields: int = 0) -> Size:
    """What one sample takes, at the most of the ways in which the container is filled. ``fields`` is how many of a
    row's columns are read, where the code does not say how many there are."""
    found = [_Measure(program, fields).sample(one) for one in samples]
    return max(found, default=UNKNOWN_SIZE) if all(one.bytes for one in found) else UNKNOWN_SIZE


def together(found: list[Size]) -> Size:
    """What a sample takes in several containers; unknown where one of them is."""
    if len(found) == 1 or not all(one.bytes for one in found):
        return found[0] if len(found) == 1 else UNKNOWN_SIZE
    return Size(sum(one.bytes for one in found), "a sample", found[0].form, any(one.least for one in found))


class _Measure:
    """Sizes of what expressions make anew for each sample, and of values where no expression is known."""

    def __init__(self, program: Program, fields: int = 0) -> None:
        self._program = program
        self._fields = fields

    def sample(self, one: Sample) -> Size:
        by_code = self._expression(one.expr, DEEPEST) if one.expr is not None else None
        found = by_code or max((self._value(each, DEEPEST) for each in alternatives(one.value)), default=UNKNOWN_SIZE)
        return Size(found.bytes + SLOT, found.of, found.form, found.least) if found.bytes else UNKNOWN_SIZE

    def _part(self, value: Value, expr: ast.expr | None, depth: int) -> Size:
        """A field of a record: what all records share costs nothing, and one that is not known is told as a text."""
        if expr is not None and self._is_shared(expr):
            return Size(0, "a text", "text")
        found = (self._expression(expr, depth) if expr is not None else None) or max(
            (self._value(one, depth) for one in alternatives(value)), default=UNKNOWN_SIZE
        )
        if found == UNKNOWN_SIZE:
            return Size(TEXT, "a text", "text") if _may_be_text(value) else UNKNOWN_SIZE
        return found

    # --- expressions -------------------------------------------------------------------

    def _expression(self, expr: ast.expr, depth: int) -> Size | None:
        """None for one that says nothing of its kind."""
        match expr:
            case ast.Constant():
                return Size(0, "a number" if isinstance(expr.value, int | float) else "a text", "text")
            case ast.JoinedStr(values=parts):
                fixed = sum(len(str(one.value)) for one in parts if isinstance(one, ast.Constant))
                open_ = sum(isinstance(one, ast.FormattedValue) for one in parts)
                return Size(HEADER + fixed + FORMATTED * open_, "a text", "text")
            case ast.Tuple() | ast.List() | ast.Dict() | ast.IfExp() if depth:
                return self._composed(expr, depth)
            case ast.BinOp(op=ast.Mod() | ast.Add()) if self._is_text(expr.left) or self._is_text(expr.right):
                return Size(JOINED, "a text", "text")
            case ast.Subscript(value=ast.Call(func=ast.Attribute(attr="split" | "rsplit"))):
                return Size(FIELD, "a text", "text")
            case ast.Call():
                return self._call(expr)
            case ast.Name() if depth:
                return self._named(expr, depth)
            case _:
                return None

    def _composed(self, expr: ast.Tuple | ast.List | ast.Dict | ast.IfExp, depth: int) -> Size | None:
        match expr:
            case ast.IfExp(body=body, orelse=orelse):
                ways = [self._expression(one, depth - 1) for one in (body, orelse)]
                return max((one for one in ways if one is not None), default=None)
            case ast.Dict(keys=keys, values=values) if all(isinstance(key, ast.Constant) for key in keys):
                return self._record(dict_bytes(len(keys)), [self._field(one, depth) for one in values])
            case ast.Tuple(elts=elts) | ast.List(elts=elts) if elts and not any(
                isinstance(one, ast.Starred) for one in elts
            ):
                head = TUPLE if isinstance(expr, ast.Tuple) else LIST
                return self._record(head + SLOT * len(elts), [self._field(one, depth) for one in elts])
            case _:
                return None

    def _field(self, expr: ast.expr, depth: int) -> Size:
        return self._part(self._program.value(expr), expr, depth - 1)

    def _call(self, call: ast.Call) -> Size | None:
        name = dotted(call.func) or ""
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if name in _COUNTING:
            return Size(NUMBER, "a number", "number")
        if name == "str" or method in _TEXTS:
            return Size(TEXT, "a text", "text")
        for one in alternatives(self._program.value(call.func)):
            if isinstance(one, External) and one.name in _RESULTS:
                return _RESULTS[one.name]
        return None

    def _named(self, name: ast.Name, depth: int) -> Size | None:
        """What a name was given by the only statement that gives it something."""
        scope = enclosing.function_of(self._program, name)
        bindings = scope.bindings.get(name.id, ())
        if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].path or bindings[0].value is None:
            return None
        value = self._program.value(name)
        if isinstance(value, Collection | Table) and value.node is not bindings[0].value:
            return None  # changed since
        return None if scope.changes.get(name.id) else self._expression(bindings[0].value, depth - 1)

    def _is_text(self, expr: ast.expr) -> bool:
        match expr:
            case ast.Constant(value=str()) | ast.JoinedStr():
                return True
            case ast.BinOp(op=ast.Add() | ast.Mod(), left=left, right=right):
                return self._is_text(left) or self._is_text(right)
            case ast.Call(func=ast.Attribute(attr=method)) if method in _TEXTS:
                return True
            case _:
                found = alternatives(self._program.value(expr))
                return any(isinstance(one, Const) and one.kind == "str" for one in found)

    def _is_shared(self, expr: ast.expr) -> bool:
        """Whether all samples hold the same object: nothing that the expression reads, and makes no object of, changes
        in the innermost loop around it."""
        if not isinstance(expr, ast.Name | ast.Attribute | ast.Subscript | ast.Constant):
            return False
        loop = next(enclosing.loops_around(self._program, expr), None)
        return loop is not None and not enclosing.changes_in(self._program, expr, loop)

    # --- values ------------------------------------------------------------------------

    def _value(self, value: Value, depth: int) -> Size:
        match value:
            case Const(kind="str" | "bytes"):
                return Size(TEXT, "a text", "text")
            case Const() | Number():
                return Size(NUMBER, "a number", "number")
            case Collection(items=tuple() as items) if items and depth:
                elts = _displayed(value.node, len(items))
                parts = [self._part(one, elts[at] if elts else None, depth - 1) for at, one in enumerate(items)]
                head = LIST if value.kind == "list" else TUPLE
                return self._record(head + SLOT * len(items), parts)
            case Table() if value.items and depth:
                written = _entries(value.node)
                parts = [self._part(one, written.get(key), depth - 1) for key, one in value.items]
                return self._record(dict_bytes(len(parts)), parts)
            case Instance() if value.call is not None and depth:
                return self._object(value, value.call, depth)
            case Made() | Derived():
                return self._of_library(value)
            case _ if containers.is_array(value):
                return Size(ARRAY, "an array", "array")
            case _:
                return UNKNOWN_SIZE

    def _object(self, value: Instance, call: ast.Call, depth: int) -> Size:
        """An object of a project class that keeps what it is given."""
        given = (*call.args, *(one.value for one in call.keywords))
        head = OBJECT
        if "typing.NamedTuple" in classes.external_bases(self._program, value.cls):
            head = TUPLE
        elif _has_slots(value.cls):
            head = SLOTTED
        return self._record(head + SLOT * len(given), [self._field(one, depth) for one in given])

    def _of_library(self, value: Made | Derived) -> Size:
        if isinstance(value, Made) and value.name in _RESULTS:
            return _RESULTS[value.name]
        if isinstance(value, Derived) and _is_asked(value, _NUMBERS):
            return Size(NUMBER, "a number", "number")
        if isinstance(value, Derived) and _is_asked(value, _FOLDERS):
            return Size(PATH, "a `Path`", "text")
        columns = _row_of(self._program, value)
        if columns is not None:
            return self._row(*columns)
        if containers.is_array(value):
            return Size(ARRAY, "an array", "array")
        return _listed(self._program, value) or UNKNOWN_SIZE

    def _row(self, kind: str, columns: int) -> Size:
        """A row of texts, a dict or a list; of so many columns, or at least of those that are read."""
        count = columns or self._fields
        if not count:
            return UNKNOWN_SIZE
        head = dict_bytes(count) if kind == "dict" else LIST + SLOT * count
        texts = "a text" if count == 1 else f"{count} texts"
        return Size(head + count * FIELD, f"a row of {texts}", "record", least=not columns)

    def _record(self, head: int, parts: list[Size]) -> Size:
        if UNKNOWN_SIZE in parts:
            return UNKNOWN_SIZE
        least = any(one.least for one in parts)
        return Size(head + sum(one.bytes for one in parts), "a record", "record", least)


_RESULTS = {
    "os.path.join": Size(JOINED, "a text", "text"),
    "os.path.abspath": Size(JOINED, "a text", "text"),
    "os.path.basename": Size(NAME, "a text", "text"),
    "pathlib.Path": Size(PATH, "a `Path`", "text"),
    "builtins.str": Size(TEXT, "a text", "text"),
    "builtins.int": Size(NUMBER, "a number", "number"),
    "builtins.float": Size(NUMBER, "a number", "number"),
    "builtins.len": Size(NUMBER, "a number", "number"),
}
"""What functions give, by their names."""


def _may_be_text(value: Value) -> bool:
    """Whether a field that is not known may be a short text or a number: a list of nobody knows how many things, or all
    of a parsed file, is none."""
    return not any(isinstance(one, Collection | Table | Made | Instance) for one in alternatives(value))


def _displayed(node: ast.AST | None, count: int) -> list[ast.expr]:
    elts = node.elts if isinstance(node, ast.Tuple | ast.List) else []
    return elts if len(elts) == count else []


def _entries(node: ast.AST | None) -> dict[object, ast.expr]:
    if not isinstance(node, ast.Dict):
        return {}
    return {key.value: one for key, one in zip(node.keys, node.values, strict=True) if isinstance(key, ast.Constant)}


def _has_slots(cls: Class) -> bool:
    node = cls.scope.node
    decorators = node.decorator_list if isinstance(node, ast.ClassDef) else []
    slotted = any(
        keyword.arg == "slots" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for one in decorators
        if isinstance(one, ast.Call)
        for keyword in one.keywords
    )
    return slotted or "__slots__" in cls.scope.bindings


def _is_asked(value: Value, methods: frozenset[str]) -> bool:
    """Whether something is an element of what such a method gives, sorted or not, and no part of that element."""
    while isinstance(value, Derived) and value.step != "attr":
        value = value.base
    return isinstance(value, Derived) and value.key in methods


_LISTS = {
    "os.listdir": Size(NAME, "a text", "text"),
    "glob.glob": Size(JOINED, "a text", "text"),
    "glob.iglob": Size(JOINED, "a text", "text"),
    "builtins.open": Size(TEXT, "a text", "text"),
}
"""An element of what such a function gives."""


def _listed(program: Program, value: Made | Derived) -> Size | None:
    """A text that was listed, is a line of a file or a cell of a table, or was split off one."""
    taken: list[str] = []
    methods: set[object] = set()
    base: Value = value
    while isinstance(base, Derived):
        taken.append(base.step)
        methods |= {base.key} if base.step == "attr" else set()
        base = base.base
    if not isinstance(base, Made):
        return None
    if methods & {"split", "rsplit"}:
        return Size(FIELD, "a text", "text") if taken[0] in ("item", "iterate") else None
    if program.models.has(base.name, "Table") and taken[:1] == ["iterate"] and "item" in taken:
        return Size(TEXT, "a text", "text")
    known = _LISTS.get(base.name)
    if known is None or "item" in taken or taken.count("iterate") != 1:
        return None
    return known


_READERS = {"csv.DictReader": ("dict", "fieldnames"), "csv.reader": ("list", "")}


def _row_of(program: Program, value: Value) -> tuple[str, int] | None:
    """Of a row that a reader of tables gives: whether it is a dict or a list, and how many columns; 0 if not known."""
    if not isinstance(value, Derived) or value.step != "iterate":
        return None
    base = value.base
    if isinstance(base, Made) and base.name in _READERS:
        kind, argument = _READERS[base.name]
        return kind, _columns(program, base.call, argument) if argument else 0
    if (
        isinstance(base, Derived)
        and base.step == "call"
        and isinstance(base.key, ast.Call)
        and isinstance(base.key.func, ast.Attribute)
        and base.key.func.attr == "to_dict"
        and [one.value for one in base.key.args if isinstance(one, ast.Constant)] == ["records"]
    ):
        return "dict", _selected(program, base.base)
    return None


def _selected(program: Program, table: Value) -> int:
    """How many columns of a table there are, as its reader was told or as were picked."""
    while isinstance(table, Derived):
        if table.step == "item" and isinstance(table.key, Collection) and table.key.items is not None:
            return len(table.key.items)
        table = table.base
    if not isinstance(table, Made):
        return 0
    return _columns(program, table.call, "usecols") or _columns(program, table.call, "names")


def _columns(program: Program, call: ast.Call, argument: str) -> int:
    given = next((one.value for one in call.keywords if one.arg == argument), None)
    found = program.value(given) if given is not None else None
    return len(found.items) if isinstance(found, Collection) and found.items is not None else 0


# --- what a container holds ---------------------------------------------------------------


def filling(program: Program, cls: Class, attribute: str, filled: list[ast.AST], depth: int = 1) -> Iterator[Sample]:
    """What one sample of the container can be, which ``depth`` subscripts look up."""
    for one in _of_container(program, cls, attribute, filled):
        yield from _below(program, one, depth - 1)


def _below(program: Program, sample: Sample, depth: int) -> Iterator[Sample]:
    """The samples in what a container holds for a key. Those of a dict of columns are tuples already."""
    for one in alternatives(sample.value) if depth else ():
        if isinstance(one, Collection) and one.node is None and one.items is not None:
            yield Sample(one)
        else:
            for inner in _samples(program, one, DEEPEST):
                yield from _below(program, inner, depth - 1)
    if not depth:
        yield sample


def _of_container(program: Program, cls: Class, attribute: str, filled: list[ast.AST]) -> Iterator[Sample]:
    """What the container itself holds."""
    for method, key in classes.methods_binding(program, cls, attribute):
        for binding in method.bindings.get(key, ()):
            if binding.node in filled or binding.kind == "augment":
                yield from _samples(program, names.bound_value(program, binding), DEEPEST)
            if binding.kind == "augment" and isinstance(binding.node, ast.AugAssign):
                yield from _samples(program, program.value(binding.node.value), DEEPEST)
        for change in method.changes.get(key, ()):
            if change.kind in GROWING - {"inner"}:
                yield from _added(program, change)


def _added(program: Program, change: Change) -> Iterator[Sample]:
    value = program.value(change.value)
    if change.kind == "extend":
        yield from _samples(program, value, DEEPEST)
    else:
        yield Sample(value, change.value)


def _samples(program: Program, value: Value, depth: int) -> Iterator[Sample]:
    """What a container holds for a sample. A dict of lists, one for each column, has one in each."""
    for one in alternatives(value):
        match one:
            case Collection(items=()) | Const():
                continue
            case Table():
                columns = [operations.iterate(program, column) for _, column in one.items]
                if columns:
                    yield Sample(operations.pair(*columns))
            case Made(name="builtins.filter") if depth:
                for arg in one.call.args[-1:]:
                    yield from _samples(program, program.value(arg), depth - 1)
            case Collection(items=None, node=ast.ListComp(elt=elt) | ast.SetComp(elt=elt)) if not one.grown:
                yield Sample(operations.iterate(program, one), elt)
            case Collection(items=None, grown=grown) if grown:
                yield Sample(operations.iterate(program, one), _only_addition(grown))
            case _:
                yield Sample(operations.iterate(program, one))


def _only_addition(grown: tuple[ast.AST, ...]) -> ast.expr | None:
    """What the only ``append`` to a list adds."""
    match grown:
        case (ast.Call(func=ast.Attribute(attr="append"), args=[added]),):
            return added
        case _:
            return None
