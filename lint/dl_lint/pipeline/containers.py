"""Whether a container holds one Python object for each sample of a data set."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import enclosing
from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import classes, functions
from dl_lint.flow.interpreter.expressions import FEW_ITEMS
from dl_lint.flow.values import (
    UNKNOWN,
    Collection,
    Const,
    Derived,
    External,
    Function,
    Generated,
    Instance,
    Made,
    Number,
    Table,
    Tensor,
    Value,
    Wrapped,
    alternatives,
    known,
)
from dl_lint.pipeline import datasets, loaders

if TYPE_CHECKING:
    from dl_lint.flow.program import Program


DEEPEST = 8
"""Containers that are followed into one another in search of what they were filled from."""

_TEXT = frozenset({"read", "readline", "read_text", "strip", "rstrip", "lstrip", "lower", "decode", "replace"})
"""Methods that give one string."""

_OBJECT = (External("builtins.object"), External("numpy.object_"), Const("object", "str"), Const("O", "str"))

_PASSING = frozenset(
    {"builtins.filter", "builtins.zip", "builtins.map", "itertools.chain.from_iterable",
     "itertools.chain", "random.sample", "collections.OrderedDict", "collections.Counter", "natsort.natsorted"}
)  # fmt: skip
"""Functions whose result is as large as what they are given."""

_NUMBERING = frozenset({"builtins.range", "torch.arange", "torch.randperm", "numpy.arange", "numpy.random.permutation"})
"""Functions that give as many numbers as they are told."""

IMAGES = ("torchvision.transforms.", "torchvision.io.", "PIL.", "cv2.", "imageio.")
_ARRAYS = ("numpy.", "torch.", "torchaudio.load", "h5py.", "zarr.", "scipy.", "pyarrow.", "soundfile.", *IMAGES)
"""Libraries whose functions return arrays or images, of which each is one object."""


@feature("containers as large as the data", True)
def is_large(program: Program, value: Value, depth: int = DEEPEST) -> bool:
    """Whether something has as many elements as the data has files, lines or samples."""
    return depth > 0 and any(_is_large(program, one, depth) for one in alternatives(value))


def _is_large(program: Program, value: Value, depth: int) -> bool:
    match value:
        case Collection():
            return _is_large_collection(program, value, depth)
        case Table():
            return any(is_large(program, one, depth - 1) for _, one in value.items)
        case Made():
            return _is_large_result(program, value.name, value.call, depth)
        case Tensor(node=ast.Call() as call):
            made = alternatives(program.value(call.func))
            return any(isinstance(one, External) and _is_large_result(program, one.name, call, depth) for one in made)
        case Derived():
            return _is_large_part(program, value, depth)
        case Wrapped() | Generated():
            return any(is_large(program, one, depth - 1) for one in value.inner)
        case _:
            return False


def _is_large_collection(program: Program, value: Collection, depth: int) -> bool:
    if value.items is not None:
        return any(is_large(program, one, depth - 1) for one in value.items)
    if any(grows_with_data(program, node, depth) for node in value.grown):
        return True
    match value.node:
        case (
            ast.ListComp(generators=clauses)
            | ast.SetComp(generators=clauses)
            | ast.DictComp(generators=clauses)
            | ast.GeneratorExp(generators=clauses)
        ):
            return any(is_large(program, program.value(clause.iter), depth - 1) for clause in clauses)
        case ast.Call(func=ast.Attribute(value=listed, attr="tolist")):
            return is_large(program, program.value(listed), depth - 1)
        case ast.BinOp(op=ast.Mult()):
            return False  # one object many times
        case ast.BinOp(left=left, right=right):
            return any(is_large(program, program.value(one), depth - 1) for one in (left, right))
        case ast.Call(args=args) if any(is_large(program, program.value(arg), depth - 1) for arg in args[:1]):
            return True
        case _:
            return is_large(program, value.element, depth - 1)


def _is_large_result(program: Program, name: str, call: ast.Call, depth: int) -> bool:
    if _reads_many(program, name) or program.models.has(name, "Table", "TextArray"):
        return True
    if name in _NUMBERING:
        return length(program, call) > FEW_ITEMS or any(_counts(program, arg, depth) for arg in call.args)
    return name in _PASSING and any(is_large(program, program.value(arg), depth - 1) for arg in call.args)


def is_short(program: Program, over: ast.expr) -> bool:
    """Whether a loop over something has few passes, as the code says."""
    found = alternatives(program.value(over))
    written_out = bool(found) and all(isinstance(one, Collection) and one.items is not None for one in found)
    return written_out or 0 < length(program, over) <= FEW_ITEMS


def length(program: Program, expr: ast.expr) -> int:
    """How often a loop over ``range(…)`` runs, if the code says so, else 0."""
    if not isinstance(expr, ast.Call) or not isinstance(expr.func, ast.Name) or expr.func.id != "range":
        return 0
    values = [program.value(arg) for arg in expr.args]
    ends = [one.value for one in values if isinstance(one, Const) and isinstance(one.value, int) and one.value < 2**60]
    return len(range(*ends)) if ends and len(ends) == len(values) <= 3 and 0 not in ends[2:] else 0


def _reads_many(program: Program, name: str) -> bool:
    """Whether a function lists or parses files; ``listdir`` does so in whatever library."""
    return program.models.has(name, "Lists", "Parses") or program.models.is_method(name.rpartition(".")[2], "Lists")


def _counts(program: Program, expr: ast.expr, depth: int) -> bool:
    """Whether a number is the length of something large, or what a database says of its own."""
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and expr.func.id == "len" and expr.args:
        counted = program.value(expr.args[0])
        return _is_of_database(program, counted) or is_large(program, counted, depth - 1) or _is_own(program, counted)
    return _is_of_database(program, program.value(expr))


def _is_own(program: Program, counted: Value) -> bool:
    """Whether something is a dataset of the project, unless its ``__len__`` says that it has a few samples."""
    if not isinstance(counted, Instance) or datasets.kind_of(program, counted.cls) != "map":
        return False
    told = classes.of_class(program, counted.cls, "__len__")
    count = functions.returned(program, told.scope) if isinstance(told, Function) else UNKNOWN
    return not (isinstance(count, Const) and isinstance(count.value, int) and count.value <= FEW_ITEMS)


def _is_of_database(program: Program, value: Value) -> bool:
    """Whether something was read out of a database or of a file that is organised as one."""
    for one in alternatives(value):
        while isinstance(one, Derived):
            one = one.base
        if isinstance(one, Made) and program.models.has(one.name, "Database"):
            return True
    return False


def _is_large_part(program: Program, value: Derived, depth: int) -> bool:
    if value.step == "attr":
        if value.key == "open" or program.models.is_method(str(value.key), "Lists"):
            return True
        if value.key in _TEXT:
            return False  # one string, however long
        if value.key in ("split", "rsplit"):
            return is_large(program, _source_of_text(value.base), depth)
    return is_large(program, value.base, depth)


def _source_of_text(value: Value) -> Value:
    """What a text was read from."""
    while isinstance(value, Derived) and (value.step == "call" or value.key in _TEXT):
        value = value.base
    return value


@feature("containers that grow with the data")
def grows_with_data(program: Program, change: ast.AST, depth: int = DEEPEST) -> bool:
    """Whether a container is added to once for each of many things, or many things at a time."""
    added = change.args if isinstance(change, ast.Call) else [change.value] if isinstance(change, ast.AugAssign) else []
    many = isinstance(change, ast.AugAssign) or (
        isinstance(change, ast.Call)
        and isinstance(change.func, ast.Attribute)
        and change.func.attr in ("extend", "update")
    )
    if many and any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult) for one in added):
        return False  # ``[label] * count`` holds one object
    loops = enclosing.loops_around(program, change)
    if any(
        not isinstance(loop, ast.While) and is_large(program, program.value(loop.iter), depth - 1) for loop in loops
    ):
        return True
    values = [program.value(one) for one in added] if many else []
    return any(_is_unpickled(program, one) or is_large(program, one, depth - 1) for one in values)


def _is_unpickled(program: Program, value: Value) -> bool:
    """Whether something came out of a pickle: of unknown kind, but what a list is extended by is many objects."""
    return any(isinstance(one, Made) and program.models.has(one.name, "Unpickles") for one in alternatives(value))


@feature("arrays")
def is_array(value: Value) -> bool:
    """Whether something is a tensor or an array: one object, however many samples it holds."""
    found = alternatives(value)
    return bool(found) and all(is_one_array(one) for one in found)


def is_one_array(value: Value, made_by: tuple[str, ...] = _ARRAYS) -> bool:
    while isinstance(value, Derived):
        if value.step == "attr" and value.key in ("tolist", "keys"):
            return False
        value = value.base
    if isinstance(value, Tensor):
        return made_by is _ARRAYS
    return isinstance(value, Made) and value.name.startswith(made_by)


def of_python_objects(program: Program, value: Value) -> bool:
    """Whether a container holds a Python object for each of many samples (and not a few arrays)."""
    return any(_holds(program, one) for one in alternatives(value))


def _holds(program: Program, value: Value) -> bool:
    match value:
        case Collection(items=None):
            return not are_arrays(value) and is_large(program, value)
        case Collection(items=tuple() as items):
            return any(of_python_objects(program, one) for one in items)
        case Table():
            return any(of_python_objects(program, one) for _, one in value.items)
        case Made(name="numpy.array" | "numpy.asarray"):
            dtype = loaders.passed(program, value.call, "dtype", "object", "dtype").value
            source = loaders.passed(program, value.call, "object", "object").value
            return all(one in _OBJECT for one in alternatives(dtype)) and is_large(program, source)
        case Made():
            listed = _reads_many(program, value.name) and value.name != "builtins.open"
            return (listed or value.name in _PASSING) and is_large(program, value)
        case Derived():
            return not is_array(value) and is_large(program, value) and not _is_handle(program, value)
        case _:
            return False


_PLAIN = ("builtins.slice", "builtins.str", "builtins.int", "builtins.float", "os.path.")
"""Functions of plain objects."""


def is_plain(value: Value, depth: int = DEEPEST) -> bool:
    """Whether something is known to be a number, a text or a slice, or a record of these."""
    found = alternatives(value)
    return depth > 0 and bool(found) and all(_is_plain(one, depth) for one in found)


def _is_plain(value: Value, depth: int) -> bool:
    match value:
        case Const() | Number():
            return True
        case Made(name=name):
            return name.startswith(_PLAIN)
        case Derived():
            return is_key(value)
        case Collection(items=tuple() as items) if items:
            return all(is_plain(one, depth - 1) for one in items)
        case Table() if value.items:
            return all(is_plain(one, depth - 1) for _, one in value.items)
        case _:
            return False


def is_key(value: Value) -> bool:
    """Whether something is a key of a mapping whose keys nobody has written out."""
    match value:
        case Derived(step="iterate", base=Derived(step="call", base=Derived(step="attr", key="keys"))):
            return True
        case _:
            return False


def are_arrays(value: Value, depth: int = DEEPEST) -> bool:
    """Whether a container, or what it holds however deep, holds nothing but arrays; so does an array itself."""
    found = known(value) or alternatives(value)
    return bool(found) and all(_are_arrays(one, depth) for one in found)


def _are_arrays(value: Value, depth: int) -> bool:
    if not isinstance(value, Collection):
        return is_one_array(value)
    held = [item for item in value.items or (value.element,) if known(item) and not _is_number(item)]
    return depth > 0 and bool(held) and all(are_arrays(one, depth - 1) for one in held)


def _is_number(value: Value) -> bool:
    """Whether something is a number, which beside an array is next to nothing."""
    found = alternatives(value)
    return bool(found) and all(
        isinstance(one, Number) or (isinstance(one, Const) and one.kind in ("int", "float", "bool")) for one in found
    )


@feature("open files as containers")
def _is_handle(program: Program, value: Derived) -> bool:
    """Whether this is a part of an open file or of an object of another library, rather than of plain containers."""
    base: Value = value
    steps = []
    while isinstance(base, Derived):
        steps.append(base.key)
        base = base.base
    plain = {*_PYTHON, "split", "keys", "values", "items", "strip", "rstrip", "read", *program.models.methods("Lists")}
    is_parsed = isinstance(base, Made) and program.models.has(base.name, "Parses")
    is_column = isinstance(base, Made) and program.models.has(base.name, "Table") and _PYTHON.isdisjoint(steps)
    return is_column or (not is_parsed and not any(step in plain for step in steps))


_PYTHON = frozenset({"tolist", "to_list", "to_dict"})
"""Methods of a table or an array that make Python objects of what they hold."""

_COLUMNS = frozenset({"values", "to_numpy", "iloc", "loc", "array"})
"""Attributes and methods of a table that give its cells as they are."""


@feature("tables of pandas")
def is_table(program: Program, value: Value) -> bool:
    """Whether something is a pandas table read from a file, or some of its columns or rows."""
    found = alternatives(value)
    return bool(found) and all(_is_table(program, one) for one in found)


def _is_table(program: Program, value: Value) -> bool:
    while isinstance(value, Derived) and (value.step != "attr" or value.key in _COLUMNS):
        value = value.base
    return isinstance(value, Made) and program.models.has(value.name, "Table")
