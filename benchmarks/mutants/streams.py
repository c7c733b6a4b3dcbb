"""Operators of DL405: what each worker of a stream reads."""

from __future__ import annotations

import ast
import copy
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import partial

from mutants.code import Code, Function, behind_docstring, called, dotted, every, loaded, method, stored
from mutants.edits import REMOVED, Edit, Pending, Unfit, change, indentation, replace
from mutants.flow import ITERABLE, MAP_STYLE, Flow
from mutants.loaders import WORKERS, has, is_plain
from mutants.mutant import TEST, Fault, operator

Making = Iterator[Fault | Callable[[], Fault]]
DRAWS = re.compile(r"rand|shuffle|rng|sampl(e|ing)\(")
"""What makes workers differ without a share of their own."""


def asks(code: Code, node: ast.AST, depth: int = 3) -> bool:
    """Whether a node asks which worker runs it, by itself or in a function of the checkout that it calls."""
    calls = [*every(node, ast.Call)]
    return any(called(it) == "get_worker_info" for it in calls) or (
        depth > 0
        and any(
            asks(code, found, depth - 1) for it in calls for found in code.definitions(it.func) if found is not node
        )
    )


def _waken(flow: Flow, loaders: list[ast.Call], words: dict[str, str | None] | None = None) -> list[Pending]:
    """Workers for the loaders that are not known to have several, and other changes of all of them."""
    given = {it: {} if (flow.workers(it) or 0) > 1 else {"num_workers": WORKERS} for it in loaders}
    changed = {it: {**(words or {}), **given[it]} for it in loaders}
    return [change(flow.code, it, words) for it, words in changed.items() if words]


def _shards(loader: ast.Call, flow: Flow) -> bool:
    """Whether a loader may share the data out by its ``worker_init_fn``."""
    value = flow.argument(loader, "worker_init_fn")
    return value is not None and not any("seed" in getattr(it, "name", "") for it in flow.code.definitions(value))


# --- sharding taken away ------------------------------------------------------------------


class _Unshard(ast.NodeTransformer):
    """Takes the sharding by worker out of a function: the shares, then what only told workers apart."""

    def __init__(self, code: Code, function: Function) -> None:
        self.code = code
        self.names: set[str] = set()
        self.shares = 0
        while (names := self._told(function)) > self.names:
            self.names = names

    def _told(self, function: Function) -> set[str]:
        """The names that hold nothing but which worker this is, of how many."""
        found: dict[str, bool] = {}
        for node in every(function, ast.Assign):
            tests = [it.test for it in self.code.around(node) if isinstance(it, ast.If)]
            constant = isinstance(node.value, ast.Constant) and any(map(self.is_told, tests))
            for name in stored(node):
                found[name] = found.get(name, True) and (constant or self.is_told(node.value))
        return self.names | {name for name, told in found.items() if told}

    def is_told(self, node: ast.AST) -> bool:
        """Whether a node tells of the worker, but for the shares in it."""
        if self._is_share(node):
            return False
        if called(node) == "get_worker_info" or (isinstance(node, ast.Name) and node.id in self.names):
            return True
        return any(map(self.is_told, ast.iter_child_nodes(node)))

    def _is_share(self, node: ast.AST) -> bool:
        """Of ``items[worker :: workers]`` and ``islice(items, worker, None, workers)``."""
        if isinstance(node, ast.Subscript):
            return isinstance(node.slice, ast.Slice) and bool(loaded(node.slice) & self.names)
        if isinstance(node, ast.Call) and called(node) == "islice":
            return any(loaded(it) & self.names for it in node.args[1:])
        return False

    def _is_helper(self, call: ast.Call) -> bool:
        """A function of the checkout that gets the items and yields those of the worker."""
        found = [it for it in self.code.functions[called(call)] if isinstance(call.func, ast.Name)]
        return len(found) == 1 and bool(call.args) and bool(found[0].args.args) and asks(self.code, found[0])

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        share = self._is_share(node)
        self.shares += share
        return self.visit(node.value) if share else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        share = self._is_share(node) or self._is_helper(node)
        self.shares += share
        return self.visit(node.args[0]) if share else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        if self._is_set(node) and self.is_told(node.value):
            return None
        self.generic_visit(node)
        return None if ast.unparse(node.targets[0]) == ast.unparse(node.value) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        same = ast.unparse(node.body) == ast.unparse(node.orelse)
        return node.body if same and self.is_told(node.test) else node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt] | None:
        told = self.is_told(node.test)
        inner = {type(it) for it in node.body}
        self.generic_visit(node)
        if told and not node.orelse and any(isinstance(it.op, ast.Mod) for it in every(node.test, ast.BinOp)):
            self.shares += inner != {ast.Raise}
            return None if inner in ({ast.Continue}, {ast.Raise}) else node.body
        if told:  # what is left of ``if info is not None`` holds for all
            node.body = [it for it in node.body if not self._is_set(it)]
            node.orelse = [it for it in node.orelse if not self._is_set(it)]
            return node if node.orelse else node.body
        node.body = node.body or [ast.Pass()]
        return node

    def _is_set(self, node: ast.stmt) -> bool:
        """Whether a statement sets what only tells of the worker."""
        return isinstance(node, ast.Assign) and bool(stored(node)) and stored(node) <= self.names


def _asks_itself(code: Code, function: Function) -> bool:
    """Whether a method asks for the worker, or gives its items to a function that does."""
    helpers = [it for it in every(function, ast.Call) if isinstance(it.func, ast.Name)]
    return asks(code, function, depth=0) or any(asks(code, it) for it in helpers)


def _unsharded(code: Code, function: Function) -> Edit:
    """A function without its sharding and its comments; ``Unfit`` where the worker matters otherwise."""
    unshard = _Unshard(code, function)
    new = unshard.visit(copy.deepcopy(function))
    if not unshard.shares or unshard.is_told(new):
        raise Unfit("the worker is asked for in another way")
    new.decorator_list = []
    text = textwrap.indent(ast.unparse(ast.fix_missing_locations(new)), indentation(code, function))
    file = code.file(function)
    return Edit(file, *file.span(function), text.lstrip())


@operator("DL405")
def forget_the_worker(code: Code, flow: Flow) -> Making:
    """Takes the sharding by worker out of an ``IterableDataset`` that draws nothing at random."""

    def make(cls: ast.ClassDef, function: Function, loaders: list[ast.Call]) -> Fault:
        return Fault([_unsharded(code, function), *_waken(flow, loaders)], [cls, *loaders])

    for cls in flow.iterable_datasets():
        own = [it for it in cls.body if isinstance(it, ast.FunctionDef) and _asks_itself(code, it)]
        loaders = _streamed(flow, cls)
        if len(own) == 1 and loaders and not DRAWS.search(code.text(own[0])):
            yield partial(make, cls, own[0], loaders)


# --- streams that never had any -----------------------------------------------------------


@operator("DL405")
def several_workers(code: Code, flow: Flow) -> Making:
    """Gives workers to the loader of an ``IterableDataset`` that knows none and draws nothing at random."""
    for cls in flow.iterable_datasets():
        known = all(base in ITERABLE or base.rpartition(".")[2] in code.classes for base in code.ancestors(cls))
        own = [it for it in every(cls, ast.Call) if dotted(it.func).startswith("self.")]
        given = any(not code.definitions(it.func) for it in own)  # a callable or an object, which may draw
        if not known or given or DRAWS.search(code.text(cls)) or asks(code, cls):
            continue
        for loader in _streamed(flow, cls):
            if flow.workers(loader) == 0:
                yield Fault(_waken(flow, [loader]), [cls, loader])


@operator("DL405")
def stream_a_dataset(code: Code, flow: Flow) -> Making:
    """Makes an ``IterableDataset`` of a map-style dataset: ``__iter__`` yields what ``__getitem__`` returned, for all
    indices, and its loaders no longer shuffle. Needs objects that nothing but loaders get, and one return, at the end.
    """

    def make(cls: ast.ClassDef, read: ast.FunctionDef, loaders: list[ast.Call]) -> Fault:
        edits = [*_with_base(code, cls), _iterating(code, read), *_waken(flow, loaders, {"shuffle": REMOVED})]
        return Fault(edits, [cls, *loaders])

    for cls in flow.datasets():
        read, loaders = method(cls, "__getitem__"), _streamed(flow, cls)
        single = len(cls.bases) == 1 and code.resolved(cls.bases[0]) in MAP_STYLE and not code.derived(cls)
        if (
            read
            and single
            and loaders
            and method(cls, "__len__")
            and _is_simple(code, read)
            and _is_only_loaded(flow, cls)
        ):
            yield partial(make, cls, read, loaders)


def _streamed(flow: Flow, cls: ast.ClassDef) -> list[ast.Call]:
    """The loaders of a class, but for those of tests, where each can be given workers and nothing else shares out."""
    loaders = [it for it in flow.loaders_of(cls) if not TEST.search(flow.code.file(it).path)]
    others = ("sampler", "batch_sampler")
    plain = all(is_plain(it) and len(it.args) < 3 and not any(has(flow, it, name) for name in others) for it in loaders)
    alone = all(flow.classes_of(it) == [cls] and not _shards(it, flow) for it in loaders)
    return loaders if plain and alone else []


def _is_only_loaded(flow: Flow, cls: ast.ClassDef) -> bool:
    """Whether nothing but loaders and the checkout's functions get the objects of a class, and nothing indexes them."""
    code = flow.code
    for reach in flow.objects_of(cls):
        known = all(called(it) in {"DataLoader", "len", "print"} or code.definitions(it.func) for it in reach.through)
        if not known or any(isinstance(code.up[it], ast.Subscript) for it in reach.expressions):
            return False
    return not any(getattr(it.value, "id", "") == "self" for it in every(cls, ast.Subscript))


def _is_simple(code: Code, read: ast.FunctionDef) -> bool:
    """Whether a ``__getitem__`` has its only return at its end, and text that can be moved."""
    final = read.body[-1]
    strings = (it for it in every(read, ast.Constant, ast.JoinedStr) if it is not _docstring(read))
    return (
        [*every(read, ast.Return)] == [final]
        and getattr(final, "value", None) is not None
        and len(read.args.args) == 2
        and not read.decorator_list
        and "__getitem__" not in code.text(read).partition(":")[2]
        and all(it.lineno == it.end_lineno for it in strings)
    )


def _docstring(function: ast.FunctionDef) -> ast.expr | None:
    first = function.body[0]
    return first.value if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else None


def _iterating(code: Code, read: ast.FunctionDef) -> Edit:
    """``__iter__`` in the place of ``__getitem__``."""
    file, first, final = code.file(read), behind_docstring(read), read.body[-1]
    blanks = indentation(code, read)
    before = file.source[file.starts[first.lineno - 1] : file.span(final)[0]].decode()
    body = textwrap.dedent(f"{before}yield {code.text(final.value)}")
    header = f"def __iter__(self):\n{blanks}    for {read.args.args[1].arg} in range(len(self)):\n"
    return Edit(file, *file.span(read), header + textwrap.indent(body, f"{blanks}        "))


def _with_base(code: Code, cls: ast.ClassDef) -> list[Pending]:
    """``IterableDataset`` as the base of a class, imported beside ``Dataset`` or in its place."""
    base, file = cls.bases[0], code.file(cls)
    if isinstance(base, ast.Attribute):
        return [replace(code, base, f"{code.text(base.value)}.IterableDataset")]
    alias = next(
        (
            it
            for node in every(file.tree, ast.ImportFrom)
            for it in node.names
            if it.name == "Dataset" and not it.asname
        ),
        None,
    )
    if alias is None or code.text(base) != "Dataset":
        raise Unfit("imported under another name")
    edits = [replace(code, base, "IterableDataset")]
    if "IterableDataset" not in file.names:
        others = [it for it in every(file.tree, ast.Name) if it.id == "Dataset" and it is not base]
        edits.append(replace(code, alias, "Dataset, IterableDataset" if others else "IterableDataset"))
    return edits
