"""How much memory a container takes for each sample, and of how many samples it is, as far as the code tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import apply, containers, decoded, inherited, told_sizes, workers
from dl_lint.project.changes import GROWING
from dl_lint.project.handling import handling
from dl_lint.project.repetition import names_in, words
from dl_lint.project.syntax import children
from dl_lint.project.values import (
    Absent,
    Class,
    Collection,
    Const,
    Derived,
    Made,
    Number,
    Option,
    Table,
    Unknown,
    Value,
    alternatives,
)
from dl_lint.project.weights import DEEPEST, NESTED, TEXT, Heft, Scale, is_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.indexing import Indexed
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Change

WORKERS = 8
"""Workers that a loader has of which the code does not say how many, or that a machine has where training is split over
its devices."""

SPLIT = ("DistributedSampler", "DistributedDataParallel", "init_process_group", "Accelerator", "lightning", "deepspeed")
"""Words of projects that have workers for each of several devices."""

FEWEST = 2
"""Workers from which memory grows with their number."""

WORTHWHILE = 100_000_000
"""Bytes in each worker from which a change is worth its while: 0.8 GB in eight workers."""

MANY = 100_000
"""Samples above which a data set has loaders with many workers, whatever their number is by default."""

_TOKENS = frozenset(
    {"tokenize", "encode", "word_tokenize", "convert_tokens_to_ids", "encode_as_ids", "encode_as_pieces", "EncodeAsIds"}
)
"""Functions that make a text the list of its tokens; ``encode`` does so if it is given the text."""

_TOKEN_LIST = Collection("list", None, Number(), None)


_LABELS = frozenset({"label", "labels", "target", "targets"})
"""Last words of the names of what is one of a few for each sample."""

LABEL = 8
"""Bytes of a label in a list, which holds the few that there are again and again."""

_LIMITS = frozenset({"shot", "shots", "limit", "max", "maximum"})
"""Last words of the names of how many are taken of more."""


@dataclass(frozen=True, slots=True)
class Size:
    """What one sample takes, of how many the code itself speaks (0 if it does not), how many workers have them,
    whether the dataset keeps much more for each sample than that, or an array on another way, and of how many samples
    its words speak (0 if they do not). As text: the end of a message, empty where a sample takes what nobody knows."""

    sample: Heft
    count: int
    workers: int = WORKERS
    outweighed: bool = False
    told: int = 0

    @property
    def is_large(self) -> bool:
        """Whether something tells that it is worth a change: of a container of which nothing says how many samples it
        is of, nobody knows it."""
        if self.workers < FEWEST:
            return False
        if self.count * self.sample.bytes >= WORTHWHILE:
            return True
        if self.outweighed:
            return False
        each = max(self.sample.bytes, NESTED) if self.sample.unbounded else self.sample.bytes
        return self.told * each * max(self.workers, WORKERS if self.told > MANY else 0) >= WORTHWHILE * WORKERS

    @property
    def all(self) -> int:
        """Bytes in each worker, as far as is told."""
        return max(self.count, self.told) * (
            max(self.sample.bytes, NESTED) if self.sample.unbounded else self.sample.bytes
        )

    def __str__(self) -> str:
        if self.sample.unbounded and self.sample.bytes < NESTED:
            return ""
        many = self.count or _rounded(WORTHWHILE / self.sample.bytes)
        megabytes = _rounded(many * self.sample.bytes) // 1_000_000
        return f"; at about {self.sample.bytes / 1000:.2g} kB each, {many:,} make {megabytes:,} MB a worker"


def _rounded(number: float) -> int:
    """To one digit that counts."""
    return int(float(f"{number:.0e}"))


def size(project: Project, cls: Class, attribute: str, filled: list[t.Node], reads: list[Indexed]) -> Size:
    """How large ``self.attribute`` is, which ``filled`` fill and ``reads`` look samples up in."""
    sample, count = _heft(project, cls, attribute, filled, reads), _count(project, cls, attribute, filled)
    outweighed = decoded.outweigh(project, cls, attribute) or _may_be_array(project, cls, attribute, filled)
    cut = any(_is_cut(one) for one in _sources(project, cls, attribute, filled))
    told = 0 if cut else told_sizes.told(project, cls)
    return Size(sample, count, _workers(project, cls), outweighed, told)


def _is_cut(source: t.Expr) -> bool:
    """Whether a container is filled with a few for each of something: ``glob(folder)[:shots]``."""
    waiting: list[t.Node] = [source]
    while waiting:
        one = waiting.pop()
        if isinstance(one, t.Slice) and one.upper is not None:
            last = (words(name)[-1:] for name in names_in(one.upper))
            if any(not _LIMITS.isdisjoint(found) for found in last):
                return True
        waiting.extend(children(one))
    return False


def _may_be_array(project: Project, cls: Class, attribute: str, filled: list[t.Node]) -> bool:
    """Whether what fills a container is an array on another way: read from an index that an earlier run has written."""
    return any(
        containers.is_array(one)
        for method, key in inherited.methods(project, cls, attribute)
        for binding in method.bindings.get(key, ())
        if binding.node in filled
        for one in alternatives(project.bound_value(binding))
    )


def _workers(project: Project, cls: Class) -> int:
    """How many workers have the samples of a dataset on one machine, as far as its loaders are known."""
    loaders = workers.users(project, cls) or workers.unclaimed(project, cls)
    asked = [project.argument(one, "num_workers").value for one in loaders]
    told = [said for one in asked for said in alternatives(one)]
    defaults = [one.default if isinstance(one, Option) else one for one in told]
    known = [one.value for one in defaults if isinstance(one, Const) and isinstance(one.value, int)]
    most = max(known, default=0)
    all_known = bool(defaults) and len(known) + sum(isinstance(one, Absent) for one in defaults) == len(defaults)
    node = cls.scope.node
    split = node is not None and any(project.mentions(node, word) for word in SPLIT)
    if all_known and not (most and split):
        return most
    return max(most, WORKERS)


def _heft(project: Project, cls: Class, attribute: str, filled: list[t.Node], reads: list[Indexed]) -> Heft:
    """What one sample takes, at the most of the ways in which it is filled. What is not known is taken for a text."""
    depth = min(one.depth for one in reads)
    scale = Scale(project, handling(project, cls, reads, attribute if depth == 1 else None))
    values = [one for value in filling(project, cls, attribute, filled, depth) for one in alternatives(value)]
    if _LABELS.intersection(words(attribute)[-1:]) and all(map(_may_be_label, values)):
        return Heft(LABEL)
    found = [scale.sample(one) for one in values]
    most = max(found, key=lambda one: one.bytes, default=Heft(TEXT))
    return Heft(most.bytes, any(one.unbounded for one in found))


def _may_be_label(value: Value) -> bool:
    """Whether nothing tells what something is, or it is of a dataset of torchvision."""
    while isinstance(value, Derived):
        value = value.base
    return isinstance(value, Unknown) or (isinstance(value, Made) and value.name.startswith("torchvision."))


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
            case Collection(items=None, grown=(_, *_) as grown) if all(_adds_number(project, node) for node in grown):
                yield Number()
            case Collection(items=None, node=t.Comprehension(element=element)) if is_number(project, element):
                yield Number()
            case Table():
                columns = [apply.iterate(project.evaluator, column) for _, column in one.items]
                if columns:
                    yield apply.pair(*columns)
            case Made(name="builtins.sorted" | "builtins.list" | "builtins.tuple" | "builtins.filter") if depth:
                for arg in one.call.args[-1:]:
                    yield from _samples(project, project.value(arg), depth - 1)
            case _:
                yield apply.iterate(project.evaluator, one)


def _adds_number(project: Project, change: t.Node) -> bool:
    """Whether ``lines.append(int(line))`` is what a list grows by."""
    match change:
        case t.Call(func=t.Attribute(attr="append"), args=(added,)):
            return is_number(project, added)
        case _:
            return False


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


# --- how many -----------------------------------------------------------------------------


def _count(project: Project, cls: Class, attribute: str, filled: list[t.Node]) -> int:
    """As many samples as the code itself names, in ``range(5_000_000)`` say; 0 where it names none."""
    nodes: list[t.Node] = list(_sources(project, cls, attribute, filled))
    for method, key in inherited.methods(project, cls, attribute):
        nodes += [one.node for one in method.changes.get(key, ()) if one.kind in GROWING]
    return max((_times(project, node) for node in nodes), default=0)


def _sources(project: Project, cls: Class, attribute: str, filled: list[t.Node]) -> Iterator[t.Expr]:
    """What the container is bound to, where ``filled`` fill it."""
    for method, key in inherited.methods(project, cls, attribute):
        yield from (one.value for one in method.bindings.get(key, ()) if one.node in filled and one.value is not None)


def _times(project: Project, node: t.Node) -> int:
    loops: list[t.Expr] = [loop.iter for loop in project.loops_around(node) if not isinstance(loop, t.While)]
    if isinstance(node, t.Comprehension):
        loops += [clause.iter for clause in node.generators]
    known = [containers.length(project, loop) for loop in loops]
    times = 1
    for one in known:
        times *= max(one, 1)
    return times if any(known) else 0
