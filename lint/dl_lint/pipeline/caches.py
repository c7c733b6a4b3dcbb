"""Containers that grow while samples are fetched."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.flow import enclosing
from dl_lint.flow.features import NOTHING_MORE, feature
from dl_lint.flow.interpreter import classes
from dl_lint.flow.values import (
    Bound,
    Class,
    Collection,
    Const,
    Derived,
    External,
    Function,
    Instance,
    Made,
    Table,
    Value,
    alternatives,
)
from dl_lint.pipeline import datasets, loaders, records, workers
from dl_lint.pipeline.costs import sizes
from dl_lint.pipeline.handles import what_opens
from dl_lint.pipeline.retention import ADDING
from dl_lint.source.positions import span
from dl_lint.source.syntax import Assignment, FunctionDefinition, are_alike, dotted, targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Change, Scope


FEW = 1000
"""Entries of a cache that counts as bounded: at 150 kB, a decoded photo of 224 pixels square, they take 150 MB."""

SHRINKING = frozenset({"pop", "popitem", "popleft", "clear", "remove", "discard"})

LOADED = frozenset({"json.load", "json.loads", "pickle.load", "pickle.loads", "yaml.safe_load", "yaml.load"})
"""What returns a Python container, as a rule a dict of samples."""


_TOOLS = ("torchaudio.transforms.", "torchvision.transforms.", "torch.nn.")
"""Beginnings of what is made to work on samples, and holds none of them: a resampler for each rate that comes."""


@dataclass(frozen=True, slots=True)
class Growth:
    """``node`` makes something grow; ``origin`` is where that was made, ``memo`` whether a decorator keeps it.

    ``unread`` if fetching a sample never reads it.
    """

    node: ast.AST
    what: str
    origin: ast.AST | None = None
    memo: bool = False
    unread: bool = False


def growing(program: Program, cls: Class) -> Iterator[Growth]:
    """Everything that grows with the samples fetched from an object of ``cls``."""
    indices = records.Indices(program, datasets.fetching(program, cls))
    for function, owner in workers.methods(program, cls):
        yield from _memoised(program, function)
        own = function.receiver
        if own is None:
            continue
        for scope in classes.with_inner(function):
            for name, changes in scope.changes.items():
                if name.startswith(f"{own}.") and name.count(".") == 1:
                    for change in changes:
                        if _grows(program, function, change, cls) and _is_of_sample(indices, function, change):
                            unread = not _is_read(program, cls, name.partition(".")[2])
                            origin = _origin(program, owner, name)
                            yield Growth(change.node, f"`{name}`", origin, unread=unread)
            for entry in filled(program, scope, own):
                if indices.kind(function, entry.slice) is not None:
                    yield Growth(entry, f"`{dotted(entry.value)}`")
            yield from _in_entries(indices, scope, function, own, cls)
    yield from _memoised_on_self(program, cls)


# --- stores --------------------------------------------------------------------------------


def _grows(program: Program, function: Scope, change: Change, cls: Class) -> bool:
    if (
        change.kind not in GROWING
        or isinstance(change.node, ast.AugAssign)
        or enclosing.in_handler(program, change.node)
    ):
        return False
    holder = _holder(change)
    if holder is None or _emptied(program, change.name, function, cls) or _is_bounded(program, change, holder):
        return False
    key = _key(change)
    if key is not None and (isinstance(key, ast.Slice) or _is_constant(program, key)):
        return False
    if _fetches_another(function, change.node, program):
        return False
    if change.kind == "item" and _is_own(program, change.value):
        return False
    return any(_can_grow(program, one, change, holder) for one in alternatives(program.value(holder)))


def _is_of_sample(indices: records.Indices, function: Scope, change: Change) -> bool:
    """Whether each sample adds something of its own: under a key that comes of its index, or to a list but not in a
    loop over other things than those of the sample."""
    key = _key(change)
    if key is not None:
        return indices.kind(function, key) is not None
    loops = [one for one in enclosing.loops_around(indices.program, change.node) if not isinstance(one, ast.While)]
    return not loops


@feature("caches that are bounded")
def _is_bounded(program: Program, change: Change, holder: ast.expr) -> bool:
    """Whether a test of its length limits a container to a few: ``if len(self.cache) < 100:``."""
    for test, outcome in enclosing.tests_around(program, change.node):
        match test:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=(counted,)),
                ops=(ast.Lt() | ast.LtE(),),
                comparators=(most,),
            ) if outcome and dotted(counted) == dotted(holder):
                found = alternatives(program.value(most))
                return all(isinstance(one, Const) and one.value in range(FEW + 1) for one in found)
            case _:
                continue
    return False


def _key(change: Change) -> ast.expr | None:
    """What something is stored under."""
    return change.node.args[0] if isinstance(change.node, ast.Call) and change.kind == "setdefault" else change.key


def _is_read(program: Program, cls: Class, attribute: str) -> bool:
    """Whether fetching a sample reads a container, other than to add to it."""
    for read in datasets.reads(program, cls):
        if read.attribute == attribute:
            above = program.parent(read.node)
            further = program.parent(above) if above is not None else None
            stored = isinstance(above, ast.Subscript) and isinstance(further, Assignment) and above in targets(further)
            added = isinstance(above, ast.Attribute) and above.attr in ADDING and isinstance(further, ast.Call)
            if not stored and not added:
                return True
    return False


@feature("caches of samples that cannot be read")
def _fetches_another(function: Scope, node: ast.AST, program: Program) -> bool:
    """Whether the block goes on to ``return self[…]``: what is kept are the few samples that could not be read."""
    stmt = enclosing.statement_of(program, node)
    body: tuple[ast.AST, ...] = getattr(program.parent(stmt), "body", ()) if stmt is not None else ()
    match body[-1] if stmt in body else None:
        case ast.Return(value=ast.Subscript(value=ast.Name(id=name))):
            return name == function.receiver
        case ast.Return(value=ast.Call(func=ast.Attribute(attr="__getitem__"))):
            return True
        case _:
            return False


def _holder(change: Change) -> ast.expr | None:
    """The expression of the container that a change is made to."""
    if isinstance(change.node, ast.Call) and isinstance(change.node.func, ast.Attribute):
        return change.node.func.value
    if isinstance(change.node, Assignment):
        for target in targets(change.node):
            if isinstance(target, ast.Subscript) and target.slice is change.key:
                return target.value
    return None


def _can_grow(program: Program, value: Value, change: Change, holder: ast.expr) -> bool:
    match value:
        case Table():
            return change.kind in ("item", "setdefault")
        case Collection(kind="list"):
            return change.kind != "item" or value.element == Const(None, "none")
        case Collection():
            return True
        case Made():
            if value.name in LOADED:
                return change.kind == "item"
            return value.name == "collections.deque" and not any(one.arg == "maxlen" for one in value.call.keywords)
        case _:
            return change.kind == "item" and _is_preallocated(program, holder)


def _is_preallocated(program: Program, holder: ast.expr) -> bool:
    """Whether the container was made as ``[None] * n``."""
    for binding in _stores(program, holder):
        match binding:
            case ast.BinOp(left=ast.List(elts=[ast.Constant(value=None)]), op=ast.Mult()):
                return True
            case _:
                continue
    return False


def _stores(program: Program, holder: ast.expr) -> Iterator[ast.expr]:
    if isinstance(holder, ast.Attribute):
        for instance in alternatives(program.value(holder.value)):
            if isinstance(instance, Instance):
                for kept in datasets.kept(program, instance.cls):
                    if kept.attribute == holder.attr and kept.binding is not None and kept.binding.value is not None:
                        yield kept.binding.value


@feature("caches that are bounded")
def _emptied(program: Program, name: str, function: Scope, cls: Class) -> bool:
    """Whether entries are dropped, or the container made anew, while samples are fetched."""
    attribute = name.partition(".")[2]
    for one in datasets.fetching(program, cls):
        if one.parent is not function.parent or one.receiver is None:
            continue
        wanted = f"{one.receiver}.{attribute}"
        for scope in classes.with_inner(one):
            if wanted in scope.bindings or any(change.kind == "delete" for change in scope.changes.get(wanted, ())):
                return True
            for call in scope.calls:
                func = call.func
                if isinstance(func, ast.Attribute) and func.attr in SHRINKING and dotted(func.value) == wanted:
                    return True
    return False


def _is_constant(program: Program, key: ast.expr) -> bool:
    return all(isinstance(one, Const) for one in alternatives(program.value(key)))


@feature("caches of a worker's own handles")
def _is_own(program: Program, value: ast.expr | None) -> bool:
    """Whether what is stored belongs to the worker: an open file or what is read through one, ``File(path)["rows"]``, a
    random number generator, a transform, an object of a class; but not what calling such a tool has given."""
    for one in alternatives(program.value(value)):
        is_result = False
        while isinstance(one, Derived):
            is_result = is_result or one.step == "call"
            one = one.base
        if isinstance(one, Made) and what_opens(program, one.name):
            return True
        if not is_result and (isinstance(one, Instance) or (isinstance(one, Made) and one.name.startswith(_TOOLS))):
            return True
    return False


def _origin(program: Program, owner: Class, name: str) -> ast.AST | None:
    for kept in datasets.kept(program, owner):
        if kept.attribute == name.partition(".")[2] and kept.binding is not None:
            return kept.node
    return None


# --- stores into entries -------------------------------------------------------------------


@feature("caches in entries", NOTHING_MORE)
def _in_entries(indices: records.Indices, scope: Scope, function: Scope, own: str, cls: Class) -> Iterator[Growth]:
    """``self.rows[index]["image"] = …``, also by way of ``row = self.rows[index]``: the row keeps the image."""
    program = indices.program
    for node, target, added in _additions(scope):
        entry = entry_of(_aliased(function, target), own)
        if (
            entry is None
            or enclosing.in_handler(program, node)
            or indices.kind(function, entry.slice) is None
            or _is_small(program, function, target, added)
            or entry_of(added, own) is not None  # which is kept as it is
        ):
            continue
        name = dotted(entry.value) or ""
        stays = any(_holds_entries(one) for one in alternatives(program.value(entry.value)))
        if stays and not _emptied(program, name, function, cls):
            yield Growth(node, f"`{name}`")


def _additions(scope: Scope) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
    """What is stored in a dict under a name, or added to a list or set: where, to what, and what."""
    for store in scope.stores:
        if not isinstance(store.target, ast.Subscript) or store.op or store.path or store.value is None:
            continue
        if isinstance(store.target.slice, ast.Constant) and isinstance(store.target.slice.value, str | int):
            yield store.node, store.target.value, store.value
    for call in scope.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "extend", "add") and call.args:
            yield call, call.func.value, call.args[0]


def _is_small(program: Program, function: Scope, target: ast.expr, added: ast.expr) -> bool:
    """Whether what is kept is a number or a text, the index itself or what the entry holds, ``row["id"] =
    row["name"]``, or a slice or the full path of that."""
    if isinstance(added, ast.Subscript) and isinstance(added.slice, ast.Slice):
        added = added.value
    bound = function.bindings.get(added.id, ()) if isinstance(added, ast.Name) else ()
    if isinstance(added, ast.Constant) or any(one.kind == "param" for one in bound):
        return True
    if sizes.size_each(program, [sizes.Sample(program.value(added), added)]).form in ("number", "text"):
        return True
    values = [one.value for one in bound if one.value is not None and not one.path] or [added]
    held = [one for one in values if _is_held(target, one)]
    return bool(held) and all(one in held or are_alike(one, added) or _is_path(program, one) for one in values)


def _is_held(target: ast.expr, value: ast.expr) -> bool:
    return isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant) and are_alike(value.value, target)


def _is_path(program: Program, value: ast.expr) -> bool:
    found = alternatives(program.value(value.func)) if isinstance(value, ast.Call) else ()
    return bool(found) and all(isinstance(one, External) and one.name.startswith("os.path.") for one in found)


def _holds_entries(value: Value) -> bool:
    """Whether items of a container are objects that stay: of an unknown one, each may be made anew."""
    return isinstance(value, Table | Collection) or (isinstance(value, Made) and value.name in LOADED)


# --- functions that remember ---------------------------------------------------------------


@feature("memoised methods", NOTHING_MORE)
def _memoised(program: Program, function: Scope) -> Iterator[Growth]:
    if isinstance(function.node, FunctionDefinition) and len(function.params) > 1:
        for decorator in function.node.decorator_list:
            if _is_unbounded(program, decorator):
                yield Growth(decorator, f"the cache of `{function.name}`", memo=True)


@feature("memoised methods", NOTHING_MORE)
def _memoised_on_self(program: Program, cls: Class) -> Iterator[Growth]:
    """``self.read = lru_cache(None)(self._read)``."""
    read = {one.attribute for one in datasets.reads(program, cls)}
    for kept in datasets.kept(program, cls):
        made = kept.binding.value if kept.binding is not None else None
        if isinstance(made, ast.Call) and made.args and kept.attribute in read and _is_unbounded(program, made.func):
            yield Growth(kept.node, f"the cache of `self.{kept.attribute}`", memo=True)


def _is_unbounded(program: Program, decorator: ast.expr) -> bool:
    for one in alternatives(program.value(decorator)):
        if isinstance(one, External) and one.name == "functools.cache":
            return True
        if isinstance(one, Made) and one.name == "functools.lru_cache":
            given = loaders.passed(program, one.call, "maxsize", "maxsize").value
            if isinstance(given, Const) and (given.value is None or (type(given.value) is int and given.value > FEW)):
                return True
    return False


GROWING = frozenset({"append", "add", "insert", "extend", "setdefault", "item"})

_DEEPEST = 2
"""Calls that what is handed over is followed into."""


@feature("caches filled by a callee", NOTHING_MORE)
def filled(program: Program, scope: Scope, owner: str) -> Iterator[ast.Subscript]:
    """``decode(…, meta=self.meta[index])``, where the function fills what it is handed."""
    for call in scope.calls:
        arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
        for argument in arguments:
            given = argument.value if isinstance(argument, ast.keyword) else argument
            entry = entry_of(given, owner)
            if entry is None or all(isinstance(one, Const) for one in alternatives(program.value(entry.slice))):
                continue
            stays = any(isinstance(one, Table | Collection) for one in alternatives(program.value(entry.value)))
            if stays and any(_fills(program, one, name, _DEEPEST) for one, name in bound_to(program, call, argument)):
                yield entry


def entry_of(given: ast.AST, owner: str) -> ast.Subscript | None:
    """``self.a[b]``, also as the first branch of a conditional."""
    while isinstance(given, ast.IfExp):
        given = given.body
    if isinstance(given, ast.Subscript):
        name = dotted(given.value) or ""
        if name.startswith(owner + ".") and name.count(".") == 1:
            return given
    return None


def bound_to(
    program: Program, call: ast.Call, argument: ast.expr | ast.keyword, callee: Value | None = None
) -> Iterator[tuple[Scope, str]]:
    """The functions that a call enters (those of ``callee``, if that is known better), each with the name that it gives
    to ``argument``."""
    for one in alternatives(program.value(call.func) if callee is None else callee):
        function = one.function if isinstance(one, Bound) else one
        if not isinstance(function, Function):
            continue
        if isinstance(argument, ast.keyword):
            if argument.arg is not None:
                yield function.scope, argument.arg
        else:
            at = call.args.index(argument) + (1 if isinstance(one, Bound) else 0)
            if at < len(function.scope.params):
                yield function.scope, function.scope.params[at].name


def _fills(program: Program, function: Scope, name: str, depth: int) -> bool:
    """Whether a function puts something into what it is given as ``name``."""
    for scope in classes.with_inner(function):
        anew = [span(one.node) for one in scope.bindings.get(name, ()) if one.kind != "param"]
        for change in scope.changes.get(name, ()):
            if isinstance(change.node, ast.AugAssign) or any(at < span(change.node) for at in anew):
                continue  # no entry is added, or not to what was handed over
            if change.kind in GROWING or change.kind == "update":
                return True
        for call in scope.calls if depth else ():
            arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
            for argument in arguments:
                given = argument.value if isinstance(argument, ast.keyword) else argument
                named = isinstance(given, ast.Name) and given.id == name
                further = bound_to(program, call, argument) if named else ()
                if any(_fills(program, one, its, depth - 1) for one, its in further):
                    return True
    return False


def _aliased(function: Scope, target: ast.expr) -> ast.expr:
    """What a name was bound to, if that was once."""
    bindings = function.bindings.get(target.id, ()) if isinstance(target, ast.Name) else ()
    if len(bindings) == 1 and bindings[0].kind == "assign" and not bindings[0].path:
        return bindings[0].value or target
    return target
