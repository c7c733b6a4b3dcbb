"""What iterable datasets hand out in each worker: all of it, a share of it, or what cannot be told."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.interpreter import classes
from dl_lint.flow.values import (
    Class,
    Collection,
    Const,
    Derived,
    External,
    Generated,
    Instance,
    Made,
    Number,
    Option,
    Table,
    Unknown,
    Value,
    Wrapped,
    alternatives,
)
from dl_lint.pipeline import datasets, loaders, workers
from dl_lint.pipeline.datasets import kind_of
from dl_lint.pipeline.training import words
from dl_lint.source.syntax import identifiers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.flow.values import Loader


Handed = Literal["all", "unknown"]

BASES = frozenset({"torch.utils.data.IterableDataset", "typing.Generic", "abc.ABC", "builtins.object"})
"""Bases that share nothing out themselves."""

SHARING = frozenset({"worker", "workers", "shard", "shards", "sharded", "sharding", "getpid", "environ", "getenv"})
"""Words in the names of what may give workers different data; ``split`` is that of strings and of a set's part, too."""

PLAIN = frozenset({
    "bz2.open", "lzma.open",
    "pathlib.Path",
    "builtins.list", "builtins.tuple", "builtins.sorted", "builtins.range", "builtins.set", "builtins.reversed",
    "builtins.map", "builtins.enumerate", "builtins.zip", "builtins.dict", "builtins.filter", "itertools.count",
    "itertools.repeat", "itertools.product", "numpy.random.permutation",
    "pandas.read_parquet", "cv2.VideoCapture", "sqlite3.connect", "zipfile.ZipFile",
    "tarfile.open", "jsonlines.open",
})  # fmt: skip
"""Functions that give every worker the same."""

ORDERS = frozenset(
    {"shuffle", "permutation", "randperm", "sample", "seed", "manual_seed", "default_rng", "RandomState"}
)
"""Functions of generators that choose an order, or none."""

_DRAWN = ("random.", "numpy.random.", "torch.rand", "torch.normal", "torch.multinomial", "torch.bernoulli")


def unsharded(program: Program, loader: Loader) -> Iterator[Class]:
    """The iterable datasets of a loader of which every worker hands out all."""
    if _starts_share(program, loader):
        return
    for one in alternatives(loaders.argument(program, loader, "dataset").value):
        if not isinstance(one, Instance) or one.call is None or kind_of(program, one.cls) != "iterable":
            continue
        if handed(program, one.cls) == "all":
            yield one.cls


def _starts_share(program: Program, loader: Loader) -> bool:
    """Whether ``worker_init_fn`` may give each worker its share: all that it does but seeding."""
    for one in alternatives(loaders.argument(program, loader, "worker_init_fn").value):
        if isinstance(one, Unknown | Derived | External | Option):
            return True
        for function in workers.functions(program, one):
            if function.is_method or any(_shares(inner) for inner in call_graph.reachable(program, function)):
                return True
    return False


def handed(program: Program, cls: Class, seen: frozenset[Class] = frozenset()) -> Handed:
    """What each worker hands out of a dataset of class ``cls``."""
    lineage = classes.lineage(program, cls)
    if cls in seen or any(not isinstance(one, Class) and not _is_base(one) for one in lineage):
        return "unknown"
    kinds = {one for held in workers.held(program, cls) for one in classes.lineage(program, held)}
    fetching = datasets.fetching(program, cls)
    scopes = [*fetching, *(method for one in kinds if isinstance(one, Class) for method in classes.methods(one))]
    if not fetching or any(_shares(scope) for scope in scopes):
        return "unknown"
    if _draws(program, fetching):
        return "unknown"
    sources = tuple(_sources(program, fetching))
    known = bool(sources) and all(_is_same(program, one, seen | {cls}) for one in sources)
    return "all" if known else "unknown"


def _is_base(value: Value) -> bool:
    return isinstance(value, External) and value.name in BASES


def _shares(scope: Scope) -> bool:
    """Whether a function speaks of workers or of shares."""
    for inner in classes.with_inner(scope):
        if any(not SHARING.isdisjoint(words(name)) for name in (*inner.loads, *inner.bindings)):
            return True
        if any(not SHARING.isdisjoint(words(name)) for call in inner.calls for name in identifiers(call.func)):
            return True
    return False


# --- what is handed out ---------------------------------------------------------------------


def _draws(program: Program, functions: tuple[Scope, ...]) -> bool:
    """Whether samples may be drawn at random, with draws that differ between workers, rather than put in order."""
    drawing = [call for function in functions for inner in classes.with_inner(function) for call in inner.calls]
    return not ORDERS.issuperset(name for call in drawing for name in _drawn(program, call))


def _drawn(program: Program, call: ast.Call) -> Iterator[str]:
    for one in alternatives(program.value(call.func)):
        if isinstance(one, External) and one.name.startswith(_DRAWN):
            yield one.name.rpartition(".")[2]
            return
    parts = [word for name in identifiers(call.func) for word in words(name)]
    if not {"rng", "random", "generator", "rand", "randn", "randint", "choice", "shuffle"}.isdisjoint(parts):
        yield call.func.attr if isinstance(call.func, ast.Attribute) else "random"


def _sources(program: Program, functions: tuple[Scope, ...]) -> Iterator[ast.expr]:
    """What iteration goes through: loops around its yields, what it yields from, draws from and returns."""
    for function in functions:
        for one in function.yields:
            if isinstance(one, ast.YieldFrom) and one.value is not None:
                yield one.value
            for loop in enclosing.loops_around(program, one):
                if not isinstance(loop, ast.While):
                    yield loop.iter
        if function.name == "__iter__" and not function.yields:
            yield from (one.value for one in function.returns if one.value is not None and not _is_self(function, one))
        if function.name == "__next__" or function.yields:
            yield from (call.args[0] for call in function.calls if _is_next(call))


def _is_self(function: Scope, returned: ast.Return) -> bool:
    return (
        isinstance(returned.value, ast.Name) and bool(function.params) and returned.value.id == function.params[0].name
    )


def _is_next(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "next" and bool(call.args)


def _is_same(program: Program, source: ast.expr, seen: frozenset[Class]) -> bool:
    """Whether ``source`` is sure to go through the same in every worker."""
    match source:
        case ast.Call(
            func=ast.Name(id="range" | "enumerate" | "zip" | "iter" | "tqdm" | "sorted" | "reversed" | "map")
        ):
            args = source.args[1:] if isinstance(source.func, ast.Name) and source.func.id == "map" else source.args
            numbers = isinstance(source.func, ast.Name) and source.func.id == "range"
            return numbers or all(_is_same(program, arg, seen) for arg in args)
        case (
            ast.Subscript(value=inner)
            | ast.ListComp(generators=[ast.comprehension(iter=inner)])
            | ast.SetComp(generators=[ast.comprehension(iter=inner)])
            | ast.DictComp(generators=[ast.comprehension(iter=inner)])
            | ast.GeneratorExp(generators=[ast.comprehension(iter=inner)])
        ):
            return _is_same(program, inner, seen)
    found = alternatives(program.value(source))
    return bool(found) and all(_is_known(program, one, seen) for one in found)


def _is_known(program: Program, value: Value, seen: frozenset[Class]) -> bool:
    match value:
        case Collection() | Table() | Number() | Const():
            return True
        case Wrapped(inner=inner):
            return all(_is_known(program, one, seen) for part in inner for one in alternatives(part))
        case Generated():
            return True  # its own loops are looked at as they are reached
        case Instance(cls=cls):
            return handed(program, cls, seen) == "all"
        case Made(name=name):
            return name in PLAIN or program.models.has(name, "Reads", "Lists", "Fresh", "New")
        case Derived(base=base):
            return _is_known(program, base, seen)
        case Option(default=default):
            return all(_is_known(program, one, seen) for one in alternatives(default))
        case _:
            return False
