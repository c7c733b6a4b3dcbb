"""How much memory a container takes for each sample, and of how many samples it is, as far as the code tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import apply, containers, decoded, inherited, workers
from dl_lint.project.changes import GROWING
from dl_lint.project.frameworks import JSON
from dl_lint.project.handling import Handling, handling
from dl_lint.project.values import (
    Absent,
    Class,
    Collection,
    Const,
    Derived,
    Instance,
    Made,
    Number,
    Option,
    Table,
    Value,
    alternatives,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.indexing import Indexed
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Change

# Bytes that an epoch in random order adds to a worker, for each: docs/memory.md, 100,000 samples (10,000 to 100,000 for
# texts of 2 kB). A record has 16 more for each thing that it refers to.
TEXT, NUMBER, ARRAY, RECORD = 112, 32, 96, 34
REFERENCE = 16

PARSED, NESTED = 1_000, 2_000
"""Bytes for a record of a parsed file: of eight texts or so, and one that has lists in it, of which nobody knows."""

FEW_WORKERS = 4
"""Workers with which 100,000 records of 1 kB do not come to half a gigabyte."""

WORTHWHILE = 100_000_000
"""Bytes in each worker from which a change is worth its while: 0.8 GB in eight workers."""

HEAVY = 1_000
"""Bytes for one sample that come to as much at 100,000 samples, which are not many."""

DEEPEST = 6

_PICKLES = ("pickle.", "joblib.", "cloudpickle.", "dill.", "yaml.", "marshal.")
_TOKENS = frozenset(
    {"tokenize", "encode", "word_tokenize", "convert_tokens_to_ids", "encode_as_ids", "encode_as_pieces", "EncodeAsIds"}
)
"""Functions that make a text the list of its tokens; ``encode`` does so if it is given the text."""

_TOKEN_LIST = Collection("list", None, Number(), None)


@dataclass(frozen=True, slots=True)
class Heft:
    """``bytes`` for one sample in each worker; ``unbounded`` if a sample has as many objects as the data gives it."""

    bytes: int
    unbounded: bool = False

    @property
    def heavy(self) -> bool:
        """Whether it is worth mending at whatever size a data set has that needs workers."""
        return self.unbounded or self.bytes >= HEAVY

    def __add__(self, other: Heft) -> Heft:
        return Heft(self.bytes + REFERENCE + other.bytes, self.unbounded or other.unbounded)


@dataclass(frozen=True, slots=True)
class Size:
    """What one sample takes, of how many the code itself speaks (0 if it does not), whether all loaders are known to
    have few workers, and whether the dataset keeps much more for each sample than that. As text: the end of a message,
    empty where a sample takes what nobody knows."""

    sample: Heft
    count: int
    few_workers: bool = False
    outweighed: bool = False

    @property
    def is_large(self) -> bool:
        """Whether it is worth a change, as far as is known."""
        heavy = self.sample.heavy and (self.sample.unbounded or not self.few_workers)
        return (heavy and not self.outweighed) or self.count * self.sample.bytes >= WORTHWHILE

    def __str__(self) -> str:
        if self.sample.unbounded and self.sample.bytes < HEAVY:
            return ""
        many = self.count or _rounded(WORTHWHILE / self.sample.bytes)
        megabytes = _rounded(many * self.sample.bytes) // 1_000_000
        taking = "of" if self.sample.unbounded else "at about"
        return f"; {taking} {self.sample.bytes / 1000:.2g} kB each, {many:,} make {megabytes:,} MB a worker"


def _rounded(number: float) -> int:
    """To one digit that counts."""
    return int(float(f"{number:.0e}"))


def size(project: Project, cls: Class, attribute: str, filled: list[t.Node], reads: list[Indexed]) -> Size:
    """How large ``self.attribute`` is, which ``filled`` fill and ``reads`` look samples up in."""
    sample, count = _heft(project, cls, attribute, filled, reads), _count(project, cls, attribute, filled)
    return Size(sample, count, _has_few_workers(project, cls), decoded.outweigh(project, cls, attribute))


def _has_few_workers(project: Project, cls: Class) -> bool:
    """Whether the loaders of a dataset are known, with the number of their workers, and none has more than a few."""
    asked = [project.argument(one, "num_workers").value for one in workers.users(project, cls)]
    told = [said for one in asked for said in alternatives(one)]
    numbers = [one.default if isinstance(one, Option) else one for one in told]
    return bool(numbers) and all(
        isinstance(one, Absent) or (isinstance(one, Const) and isinstance(one.value, int) and one.value <= FEW_WORKERS)
        for one in numbers
    )


def _heft(project: Project, cls: Class, attribute: str, filled: list[t.Node], reads: list[Indexed]) -> Heft:
    """What one sample takes, at the most of the ways in which it is filled. What is not known is taken for a text."""
    scale = _Scale(project, handling(project, cls, reads))
    values = filling(project, cls, attribute, filled, min(one.depth for one in reads))
    found = [scale.sample(one) for value in values for one in alternatives(value)]
    return Heft(max((one.bytes for one in found), default=TEXT), any(one.unbounded for one in found))


def filling(project: Project, cls: Class, attribute: str, filled: list[t.Node], depth: int = 1) -> Iterator[Value]:
    """What one sample of the container can be, which ``depth`` subscripts look up."""
    for value in _of_container(project, cls, attribute, filled):
        yield from _below(project, value, depth - 1)


def _below(project: Project, value: Value, depth: int) -> Iterator[Value]:
    """The samples in what a container holds for a key. Those of a dict of columns are tuples already."""
    for one in alternatives(value) if depth else ():
        if isinstance(one, Collection) and one.node is None and one.items is not None:
            yield one
        else:
            for inner in _samples(project, one, DEEPEST):
                yield from _below(project, inner, depth - 1)
    if not depth:
        yield value


def _of_container(project: Project, cls: Class, attribute: str, filled: list[t.Node]) -> Iterator[Value]:
    """What the container itself holds."""
    for method, key in inherited.methods(project, cls, attribute):
        for binding in method.bindings.get(key, ()):
            if binding.node in filled or binding.kind == "augment":
                yield from _samples(project, project.bound_value(binding), DEEPEST)
                if _are_tokens(project, binding.value):
                    yield _TOKEN_LIST
            if binding.kind == "augment" and isinstance(binding.node, t.AugAssign):
                yield from _samples(project, project.value(binding.node.value), DEEPEST)
        for change in method.changes.get(key, ()):
            if change.kind in GROWING - {"inner"}:
                yield from _added(project, change)
                if _are_tokens(project, change.value):
                    yield _TOKEN_LIST


def _added(project: Project, change: Change) -> Iterator[Value]:
    value = project.value(change.value)
    if change.kind == "extend":
        yield from _samples(project, value, DEEPEST)
    else:
        yield value


def _samples(project: Project, value: Value, depth: int) -> Iterator[Value]:
    """What a container holds for a sample. A dict of lists, one for each column, has one in each."""
    for one in alternatives(value):
        match one:
            case Collection(items=()) | Const():
                continue
            case Table():
                columns = [apply.iterate(project.evaluator, column) for _, column in one.items]
                if columns:
                    yield apply.pair(*columns)
            case Made(name="builtins.sorted" | "builtins.list" | "builtins.tuple" | "builtins.filter") if depth:
                for arg in one.call.args[-1:]:
                    yield from _samples(project, project.value(arg), depth - 1)
            case _:
                yield apply.iterate(project.evaluator, one)


class _Scale:
    """Weighs what a container holds for one sample; ``handled`` says what is done with it."""

    def __init__(self, project: Project, handled: Handling) -> None:
        self._project = project
        self._handled = handled

    def sample(self, value: Value) -> Heft:
        """The sample itself, which ``handled`` is about."""
        match value:
            case Collection(items=None) if self._handled is Handling.COLUMNS:
                return Heft(RECORD) + self.part(value.element) + self.part(value.element)
            case Derived() if _is_split(value):
                columns = self._handled is Handling.COLUMNS or _has_separator(value)
                return Heft(RECORD + 2 * (REFERENCE + TEXT), not columns)
            case Derived() | Made() if _is_parsed(value):
                nested = self._handled is Handling.RECORD
                return Heft(NESTED if nested else PARSED if self._handled is Handling.FIELDS else TEXT, nested)
            case _:
                return self.part(value)

    def part(self, value: Value, depth: int = DEEPEST) -> Heft:
        """A thing that a sample holds, or one that nothing more is known of."""
        found = [self._one(one, depth) for one in alternatives(value)]
        return max(found, key=lambda one: (one.unbounded, one.bytes), default=Heft(TEXT))

    def _one(self, value: Value, depth: int) -> Heft:
        if not depth:
            return Heft(TEXT)
        match value:
            case Const(kind="str" | "bytes"):
                return Heft(TEXT)
            case Const() | Number() | Derived(base=Made(name="builtins.range"), step="iterate"):
                return Heft(NUMBER)
            case Collection(items=tuple() as items) if items:
                return self._record(list(items), depth)
            case Collection():
                return Heft(RECORD, unbounded=True)
            case Table():
                return self._record([item for _, item in value.items], depth)
            case Instance() if value.call is not None:
                given = [*value.call.args, *(one.value for one in value.call.keywords)]
                return self._record([self._project.value(one) for one in given], depth)
            case Derived() if _is_split(value):
                return Heft(RECORD + 2 * (REFERENCE + TEXT), not _has_separator(value))
            case Made() if containers.of_python_objects(self._project, value):
                return Heft(RECORD, unbounded=True)
            case _ if containers.is_array(value):
                return Heft(ARRAY)
            case _:
                return Heft(TEXT)

    def _record(self, items: list[Value], depth: int) -> Heft:
        heft = Heft(RECORD)
        for item in items:
            heft += self.part(item, depth - 1)
        return heft


def _called(value: Derived) -> Derived | None:
    """The method that a value is the result of."""
    method = value.base if value.step == "call" else None
    return method if isinstance(method, Derived) and method.step == "attr" else None


def _is_split(value: Derived) -> bool:
    method = _called(value)
    return method is not None and method.key in ("split", "rsplit")


def _has_separator(value: Derived) -> bool:
    """Whether a line was split where a column ends, rather than at its words."""
    call = value.key
    given = call.args[:1] if isinstance(call, t.Call) else ()
    return any(not (isinstance(one, t.Constant) and str(one.value).isspace() and one.value != "\t") for one in given)


def _are_tokens(project: Project, expr: t.Expr | None) -> bool:
    """Whether an expression is the tokens of a text, whatever the tokenizer is."""
    match expr:
        case t.Call(func=t.Attribute(attr=name) | t.Name(id=name), args=args) if name in _TOKENS:
            return any(not isinstance(one, t.Constant) for one in args)
        case t.Name(id=name):
            bindings = project.function_of(expr).bindings.get(name, ())
            return (
                len(bindings) == 1 and isinstance(bindings[0].value, t.Call) and _are_tokens(project, bindings[0].value)
            )
        case t.Comprehension(element=element):
            return _are_tokens(project, element)
        case _:
            return False


def _is_parsed(value: Value) -> bool:
    """Whether something is a part of a file that was parsed, or unpickled, into whatever objects it holds."""
    while isinstance(value, Derived):
        value = value.base
    return isinstance(value, Made) and (
        value.name.partition(".")[0] in JSON or value.name.startswith((*_PICKLES, "pycocotools."))
    )


# --- how many -----------------------------------------------------------------------------


def _count(project: Project, cls: Class, attribute: str, filled: list[t.Node]) -> int:
    """As many samples as the code itself names, in ``range(5_000_000)`` say; 0 where it names none."""
    nodes: list[t.Node] = []
    for method, key in inherited.methods(project, cls, attribute):
        nodes += [one.node for one in method.changes.get(key, ()) if one.kind in GROWING]
        nodes += [one.value for one in method.bindings.get(key, ()) if one.node in filled and one.value is not None]
    return max((_times(project, node) for node in nodes), default=0)


def _times(project: Project, node: t.Node) -> int:
    loops: list[t.Expr] = [loop.iter for loop in project.loops_around(node) if not isinstance(loop, t.While)]
    if isinstance(node, t.Comprehension):
        loops += [clause.iter for clause in node.generators]
    known = [containers.length(project, loop) for loop in loops]
    times = 1
    for one in known:
        times *= max(one, 1)
    return times if any(known) else 0
