"""Where the values of a checkout go: through names, fields, dicts, arguments and returns, whatever the order in time.

A value *may* reach what is named here. What must hold of every value of a loop is asked of all loaders that reach it,
and only where no other value does (``Flow.sources_are_known``).
"""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mutants.code import Code, Function, Named, called, dotted, every, is_constant, method

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LOADERS = {"torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader", "torch.utils.data.dataloader"}
PARAMETERS = ("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory",
              "drop_last", "timeout", "worker_init_fn", "multiprocessing_context")  # fmt: skip
ITERATE = {"enumerate", "tqdm", "trange", "iter", "log_every", "track", "islice", "cycle"}
"""Yield the items of their first argument."""
REPLACE = {"prepare", "setup_dataloaders", "initialize", "prepare_data_loader", "fit", "MpDeviceLoader"}
"""May put a loader of their own in the place of the one that they get."""
SETS = {"Subset", "ConcatDataset", "RepeatDataset", "list", "tuple", "sorted"}
DEEPEST = 40
MAP_STYLE = {"torch.utils.data.Dataset", "torch.utils.data.dataset.Dataset"}
ITERABLE = {"torch.utils.data.IterableDataset", "torch.utils.data.dataset.IterableDataset"}


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """How far one value goes, in the order in which it is followed: that of a set would change from run to run."""

    expressions: dict[ast.AST, None]
    through: dict[ast.Call, None]
    """The calls that take it as an argument."""
    built: dict[ast.Call, None]
    """The calls that return it."""


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A ``for`` over the batches of a loader; ``repeated`` epoch after epoch."""

    node: ast.For
    loader: ast.Call
    repeated: bool


class Flow:
    """Loaders and datasets of a checkout, and where they are used."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self._callers: defaultdict[ast.AST, list[ast.Call]] = defaultdict(list)
        for calls in code.calls.values():
            for call in calls:
                for found in code.definitions(call.func):
                    self._callers[found].append(call)
        self.loaders = [call for call in code.calls["DataLoader"] if code.resolved(call.func) in LOADERS]
        self.reach = {loader: self._reach(loader) for loader in self.loaders}
        self._reached: defaultdict[ast.AST, set[ast.Call]] = defaultdict(set)
        for loader, reach in self.reach.items():
            for expression in reach.expressions:
                self._reached[expression].add(loader)
        self.loops: dict[ast.Call, list[Loop]] = {loader: [*self._loops(loader)] for loader in self.loaders}
        self.loaders_over: defaultdict[ast.For, list[ast.Call]] = defaultdict(list)
        for loader, loops in self.loops.items():
            for loop in loops:
                self.loaders_over[loop.node].append(loader)
        self._fed: dict[ast.ClassDef, list[ast.Call]] = {}
        self.options: Named[ast.Call] = Named()
        for call in code.calls["add_argument"]:
            for flag in call.args:
                if isinstance(flag, ast.Constant) and isinstance(flag.value, str):
                    self.options.add(flag.value.lstrip("-").replace("-", "_"), call)

    # --- loaders -----------------------------------------------------------------------

    def argument(self, loader: ast.Call, name: str) -> ast.expr | None:
        """What a loader gets for a parameter, by keyword or by position."""
        return _argument(loader, name)

    def workers(self, loader: ast.Call) -> int | None:
        """A literal, or the default of an option; None if not known."""
        value = _argument(loader, "num_workers")
        if value is None:
            return None if is_open(loader) else 0
        if isinstance(value, ast.Constant):
            return value.value if isinstance(value.value, int) else None
        default = self._constant(value) if isinstance(value, ast.Name) else self.default(value)
        number = default.value if isinstance(default, ast.Constant) else None
        return number if isinstance(number, int) else None

    def _constant(self, name: ast.Name) -> ast.expr | None:
        """What a name is assigned, once in its file."""
        here = self.code.file(name)
        assigns = [self.code.up[it] for it in self.code.stores[name.id] if self.code.file(it) is here]
        return assigns[0].value if len(assigns) == 1 and isinstance(assigns[0], ast.Assign) else None

    def default(self, value: ast.expr) -> ast.expr | None:
        """The default of the option that ``args.name`` reads, where it has one definition near."""
        if not isinstance(value, ast.Attribute):
            return None
        here = self.code.file(value)
        options = self.options[value.attr]
        own = [it for it in options if self.code.file(it) is here] or options
        return next((word.value for it in own if len(own) == 1 for word in it.keywords if word.arg == "default"), None)

    def loops_of(self, loader: ast.Call) -> list[Loop]:
        return self.loops[loader]

    def trains(self, node: ast.AST, depth: int = 2) -> bool:
        """Whether gradients are computed within a node, or in a function that it calls."""
        for call in every(node, ast.Call):
            if called(call) in {"backward", "manual_backward"}:
                return True
        return depth > 0 and any(
            self.trains(found, depth - 1)
            for call in every(node, ast.Call)
            for found in self.code.definitions(call.func)
            if not isinstance(found, ast.ClassDef)
        )

    def training_loops(self) -> Iterator[tuple[ast.For, list[ast.Call]]]:
        """Loops that train over loaders all of which are known."""
        for node, loaders in self.loaders_over.items():
            if self.trains(node) and self.sources_are_known(node) and not any(map(self.is_prepared, loaders)):
                yield node, loaders

    def is_prepared(self, loader: ast.Call) -> bool:
        """Whether accelerate, Lightning or another library gets it and may put another in its place."""
        return any(called(call) in REPLACE for call in self.reach[loader].through)

    def sources_are_known(self, loop: ast.For) -> bool:
        """Whether nothing but loaders built in sight reaches a loop."""
        source: ast.expr = loop.iter
        while isinstance(source, ast.Call) and called(source) in ITERATE and source.args:
            source = source.args[0]
        return source in self._reached and all(value in self._reached for value in self._values(source))

    def _values(self, source: ast.expr) -> Iterator[ast.AST]:
        """What is assigned to a name or field, or given for a parameter."""
        code, name = self.code, source.attr if isinstance(source, ast.Attribute) else dotted(source)
        if isinstance(source, ast.Name):
            scope = code.scope(source)
            if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef) and (at := _position(scope, name)) is not None:
                for call in self._callers[scope]:
                    given = _given(call, at, name)
                    if given is not None:
                        yield given
        for target in code.stores[name]:
            if isinstance(source, ast.Name) and (
                isinstance(target, ast.Attribute) or code.scope(target) is not code.scope(source)
            ):
                continue
            assigned = code.up[target]
            if (
                isinstance(assigned, ast.Assign)
                and not is_constant(assigned.value, None)
                and code.file(target) is code.file(source)
            ):
                yield assigned.value

    # --- datasets ----------------------------------------------------------------------

    def datasets(self) -> Iterator[ast.ClassDef]:
        """Map-style classes that construct and index themselves."""
        for group in self.code.classes.values():
            for cls in group:
                if method(cls, "__init__") and method(cls, "__getitem__") and MAP_STYLE & self.code.ancestors(cls):
                    yield cls

    def iterable_datasets(self) -> Iterator[ast.ClassDef]:
        for group in self.code.classes.values():
            for cls in group:
                if method(cls, "__iter__") and ITERABLE & self.code.ancestors(cls):
                    yield cls

    def loaders_of(self, cls: ast.ClassDef) -> list[ast.Call]:
        """The loaders over objects of a class."""
        if cls not in self._fed:
            reached = {it for reach in self.objects_of(cls) for it in reach.expressions}
            self._fed[cls] = [loader for loader in self.loaders if _argument(loader, "dataset") in reached]
        return self._fed[cls]

    def objects_of(self, cls: ast.ClassDef) -> list[Reach]:
        """How far each object of a class goes."""
        return [self._reach(call, SETS) for call in self._callers[cls]]

    def classes_of(self, loader: ast.Call) -> list[ast.ClassDef]:
        return [cls for cls in [*self.datasets(), *self.iterable_datasets()] if loader in self.loaders_of(cls)]

    # --- values ------------------------------------------------------------------------

    def _reach(self, value: ast.Call, wrappers: set[str] = ITERATE) -> Reach:
        walk = _Walk(self.code, self._callers, wrappers)
        walk.visit(value, DEEPEST)
        return Reach(walk.seen, walk.through, walk.built)

    def _loops(self, loader: ast.Call) -> Iterator[Loop]:
        reach, code = self.reach[loader], self.code
        renewed = any(code.epoch_loop(call) is not None for call in [loader, *reach.built])
        makers = {code.scope(call) for call in [loader, *reach.built]}  # each call of these makes another
        for use in reach.expressions:
            loop = code.up.get(use)
            if isinstance(loop, ast.For) and loop.iter is use:
                again = code.epoch_loop(loop) is not None or any(
                    code.epoch_loop(call) is not None
                    for call in self._calls_to(code.scope(loop), reach, makers, depth=2)
                )
                yield Loop(loop, loader, again and not renewed)

    def _calls_to(self, scope: ast.AST, reach: Reach, makers: set[ast.AST], depth: int) -> Iterator[ast.Call]:
        """Calls of a function that take the value, where some do; and those of what calls it so, up to its makers."""
        if scope in makers:
            return
        calls = self._callers[scope]
        for call in [it for it in calls if it in reach.through] or calls:
            yield call
            if depth:
                yield from self._calls_to(self.code.scope(call), reach, makers, depth - 1)

    def callers(self, function: ast.AST) -> list[ast.Call]:
        return self._callers[function]


class _Walk:
    """Follows one value forward."""

    def __init__(self, code: Code, callers: dict[ast.AST, list[ast.Call]], wrappers: set[str]) -> None:
        self.code, self.callers, self.wrappers = code, callers, wrappers
        self.seen: dict[ast.AST, None] = {}
        self.through: dict[ast.Call, None] = {}
        self.built: dict[ast.Call, None] = {}

    def visit(self, node: ast.AST, depth: int) -> None:
        """Of an expression with the value."""
        if node in self.seen or depth == 0:
            return
        self.seen[node] = None
        outer = self.code.up[node]
        match outer:
            case ast.Assign() | ast.AnnAssign() if outer.value is node:
                for target in outer.targets if isinstance(outer, ast.Assign) else [outer.target]:
                    self.bind(target, depth - 1)
            case ast.IfExp() if outer.test is not node:
                self.visit(outer, depth - 1)
            case ast.BoolOp():
                self.visit(outer, depth - 1)
            case ast.Return():
                self.returned(outer, depth, lambda call: self.visit(call, depth - 1))
            case ast.Tuple() | ast.List() if isinstance(outer.ctx, ast.Load):
                self.packed(outer, _at(outer.elts, node), depth)
            case ast.Dict() if node in outer.values:
                key = outer.keys[_at(outer.values, node)]
                self.kept(outer, key.value if isinstance(key, ast.Constant) else None, depth)
            case ast.DictComp() if outer.value is node:
                self.kept(outer, None, depth)
            case ast.Call() if node in outer.args:
                self.given(outer, node, None, depth)
            case ast.keyword() if outer.arg is not None:
                call = self.code.up[outer]
                if isinstance(call, ast.Call):
                    self.given(call, node, outer.arg, depth)
            case _:
                pass

    def packed(self, pack: ast.Tuple | ast.List, at: int, depth: int) -> None:
        """The item of a tuple that is unpacked, here or by those who call the function."""

        def unpack(value: ast.AST) -> None:
            assign = self.code.up[value]
            if isinstance(assign, ast.Assign):
                for target in assign.targets:
                    if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == len(pack.elts):
                        self.bind(target.elts[at], depth - 1)

        outer = self.code.up[pack]
        if isinstance(outer, ast.Return):
            self.returned(outer, depth, unpack)
        elif isinstance(outer, ast.Call) and called(outer) in self.wrappers | {"ConcatDataset", "zip"}:
            if called(outer) == "ConcatDataset":
                self.visit(outer, depth - 1)
        else:
            unpack(pack)

    def returned(self, statement: ast.Return, depth: int, then: Callable[[ast.Call], None]) -> None:
        function = self.code.scope(statement)
        for call in self.callers.get(function, ()):
            self.built[call] = None
            then(call)
        if isinstance(function, ast.FunctionDef) and any(dotted(it) == "property" for it in function.decorator_list):
            for load in self.code.loads[function.name]:
                if isinstance(load, ast.Attribute):
                    self.visit(load, depth - 1)

    def kept(self, table: ast.AST, key: object, depth: int) -> None:
        """Under a key of a dict, of which a name or field is read by subscripts."""
        outer = self.code.up[table]
        targets = outer.targets if isinstance(outer, ast.Assign) and outer.value is table else []
        for target in targets:
            for load in self.reads(target):
                self.subscript(load, key, depth)
        if isinstance(outer, ast.Return):
            self.returned(outer, depth, lambda call: self.kept(call, key, depth - 1) if depth > 1 else None)

    def subscript(self, load: ast.AST, key: object, depth: int) -> None:
        outer = self.code.up[load]
        if isinstance(outer, ast.Subscript) and outer.value is load and isinstance(outer.ctx, ast.Load):
            at = outer.slice
            if not isinstance(at, ast.Constant) or key is None or at.value == key:
                self.visit(outer, depth - 1)

    def bind(self, target: ast.AST, depth: int) -> None:
        if isinstance(target, ast.Subscript):
            key = target.slice.value if isinstance(target.slice, ast.Constant) else None
            for load in self.reads(target.value):
                self.subscript(load, key, depth)
            return
        for load in self.reads(target):
            self.visit(load, depth)

    def reads(self, target: ast.AST) -> Iterator[ast.AST]:
        """Where a name or field that is assigned, or a parameter, may be read."""
        code = self.code
        if isinstance(target, ast.Attribute):
            if dotted(target.value) == "self" and (cls := code.owner(target)) is not None:
                family = code.family(cls)
                owners = {code.owner(it) for it in code.stores[target.attr] if isinstance(it, ast.Attribute)}
                for load in code.loads[target.attr]:
                    if isinstance(load, ast.Attribute):
                        own = dotted(load.value) == "self"
                        if (own and code.owner(load) in family) or (
                            not own and owners <= family and dotted(load.value)
                        ):
                            yield load
            else:
                yield from (it for it in code.loads[target.attr]
                            if isinstance(it, ast.Attribute) and dotted(it) == dotted(target)
                            and code.file(it) is code.file(target))  # fmt: skip
            return
        name = target.id if isinstance(target, ast.Name) else target.arg if isinstance(target, ast.arg) else ""
        scope = code.scope(target)
        for load in code.loads[name] if name else ():
            if isinstance(load, ast.Name) and (code.scope(load) is scope or self._is_outer(scope, load, name)):
                yield load

    def _is_outer(self, scope: ast.AST, load: ast.Name, name: str) -> bool:
        """Whether a name read in an inner function is that of the outer one."""
        for inner in self.code.around(load):
            if inner is scope:
                return True
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                own = any(isinstance(it, ast.Name) and self.code.scope(it) is inner for it in self.code.stores[name])
                if own or _position(inner, name) is not None:
                    return False
        return False

    def given(self, call: ast.Call, node: ast.AST, word: str | None, depth: int) -> None:
        """As an argument: to what hands on its items, or to a function of the checkout."""
        self.through[call] = None
        name = called(call)
        if name in self.wrappers and (call.args[:1] == [node] or word in {"iterable", "dataset"}):
            self.visit(call, depth - 1)
            return
        if name == "prepare":
            if len(call.args) == 1:
                self.visit(call, depth - 1)
            elif node in call.args and isinstance(assign := self.code.up[call], ast.Assign):
                for target in assign.targets:
                    if isinstance(target, ast.Tuple) and len(target.elts) == len(call.args):
                        self.bind(target.elts[_at(call.args, node)], depth - 1)
            return
        for found in self.code.definitions(call.func):
            function = method(found, "__init__") if isinstance(found, ast.ClassDef) else found
            if function is None:
                continue
            bound = _parameters(function)
            at = _at(call.args, node) if word is None else None
            if at is not None and any(isinstance(it, ast.Starred) for it in call.args[:at]):
                continue
            named = (it for it in [*bound, *function.args.kwonlyargs] if it.arg == word)
            chosen = bound[at] if at is not None and at < len(bound) else next(named, None)
            if chosen is not None:
                for load in self._reads_of(function, chosen.arg):
                    self.visit(load, depth - 1)

    def _reads_of(self, function: Function, name: str) -> Iterator[ast.AST]:
        return (it for it in every(function, ast.Name) if it.id == name and isinstance(it.ctx, ast.Load))


def is_open(call: ast.Call) -> bool:
    """Whether more arguments come from ``*args`` or ``**options``."""
    return any(word.arg is None for word in call.keywords) or any(isinstance(it, ast.Starred) for it in call.args)


def _argument(loader: ast.Call, name: str) -> ast.expr | None:
    for word in loader.keywords:
        if word.arg == name:
            return word.value
    at = PARAMETERS.index(name) if name in PARAMETERS else len(loader.args)
    return (
        loader.args[at]
        if at < len(loader.args) and not any(isinstance(it, ast.Starred) for it in loader.args)
        else None
    )


def _parameters(function: Function) -> list[ast.arg]:
    bound = [*function.args.posonlyargs, *function.args.args]
    return bound[1:] if bound and bound[0].arg in {"self", "cls"} else bound


def _at(nodes: Sequence[ast.AST], node: ast.AST) -> int:
    return next(at for at, it in enumerate(nodes) if it is node)


def _position(function: Function, name: str) -> int | None:
    names = [it.arg for it in [*_parameters(function), *function.args.kwonlyargs]]
    return names.index(name) if name in names else None


def _given(call: ast.Call, at: int, name: str) -> ast.expr | None:
    for word in call.keywords:
        if word.arg == name:
            return word.value
    return call.args[at] if at < len(call.args) else None
