"""What a loop puts into containers that outlive it, and whether that is still the memory of a batch."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import classes, names
from dl_lint.flow.values import (
    Batch,
    Collection,
    Const,
    Derived,
    Function,
    Instance,
    Loader,
    Made,
    Table,
    Tensor,
    alternatives,
    known,
    union,
)
from dl_lint.pipeline import datasets, workers
from dl_lint.source.syntax import Display, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.flow.values import Class, Value
    from dl_lint.pipeline.loops import LoaderLoop


ADDING = frozenset({"append", "extend", "insert", "appendleft", "add"})
EMPTYING = frozenset({"clear", "pop", "popleft", "popitem", "remove"})

_OF_TENSORS = frozenset(
    {"cpu", "cuda", "to", "detach", "numpy", "view", "reshape", "squeeze", "unsqueeze", "size", "dim", "numel", "float",
     "long", "permute", "transpose", "flatten", "argmax", "item", "data_ptr", "contiguous", "clone"}
)  # fmt: skip
"""Methods that lists, dicts and strings do not have."""

_HAD_BY_TENSORS = frozenset({"shape", "dtype", "device", "ndim", "data"})


JOINING = frozenset({"cat", "concat", "concatenate", "stack", "hstack", "vstack"})


@dataclass(frozen=True, slots=True)
class Kept:
    """``node`` keeps what ``expr`` is in ``container``, beyond the loop. A comprehension is its own container.

    With ``spread`` it is not ``expr`` itself that is kept, but what iterating it gives.
    """

    node: ast.AST
    expr: ast.expr
    container: ast.expr
    spread: bool = False

    @property
    def name(self) -> str:
        return f"`{dotted(_root(self.container))}`" if self.container is not self.node else "this list"


def kept(program: Program, loop: LoaderLoop) -> Iterator[Kept]:
    """What a loop over batches keeps, item by item."""
    if isinstance(loop.node, ast.comprehension):
        made = program.parent(loop.node)
        if isinstance(made, ast.ListComp | ast.SetComp | ast.DictComp):
            kept = made.value if isinstance(made, ast.DictComp) else made.elt
            yield from (Kept(made, item, made) for item in _items(kept))
        return
    if _is_left_at_once(program, loop.node):
        return
    for scope in _scopes(loop.function):
        for node, container, added in (*_calls(program, scope), *_stores(program, scope)):
            inside = loop.node in enclosing.loops_around(program, node)
            if inside and _outlives(program, container, scope, loop.node):
                spread = isinstance(node, ast.Call) and _method(node) == "extend" and not isinstance(added, Display)
                yield from (Kept(node, item, container, spread) for item in _items(added))


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _scopes(function: Scope) -> Iterator[Scope]:
    yield function
    for inner in function.children:
        if inner.kind == "comprehension":
            yield from _scopes(inner)


@feature("loops left early")
def _is_left_at_once(program: Program, loop: LoopNode) -> bool:
    """Whether the first pass ends the loop, on every way."""
    arms = program.site(loop).scope.file.arms.get(loop, ())
    return any(block.kind in ("for", "while") and block.exits in ("break", "leave") for block in arms)


def _items(added: ast.expr) -> Iterator[ast.expr]:
    """The expressions that are kept: those in a display one by one."""
    waiting = [added]
    while waiting:
        match waiting.pop():
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                waiting.extend(items)
            case ast.Dict(values=values):
                waiting.extend(values)
            case ast.Starred(value=value):
                waiting.append(value)
            case one:
                yield one


def _calls(program: Program, scope: Scope) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
    """``container.append(added)``."""
    for call in scope.calls:
        if isinstance(call.func, ast.Attribute) and _method(call) in ADDING and call.args:
            found = alternatives(program.value(call.func.value))
            if not any(isinstance(one, Made) and one.name == "collections.deque" for one in found):
                yield call, call.func.value, call.args[-1]


def _stores(program: Program, scope: Scope) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
    """``container[key] = added``, into a dict and not into an array, and ``container += [added]``."""
    for store in scope.stores:
        if isinstance(store.target, ast.Subscript) and store.value is not None and not store.op and not store.path:
            constant = all(isinstance(one, Const) for one in alternatives(program.value(store.target.slice)))
            if not constant and any(_is_dict(one) for one in alternatives(program.value(store.target.value))):
                yield store.node, store.target.value, store.value
    for bindings in scope.bindings.values():
        for binding in bindings:
            if isinstance(binding.node, ast.AugAssign) and isinstance(binding.node.value, Display):
                yield binding.node, binding.node.target, binding.node.value


def _is_dict(value: Value) -> bool:
    return isinstance(value, Table) or (isinstance(value, Collection) and value.kind == "dict")


def _root(container: ast.expr) -> ast.expr:
    """``groups`` of ``groups[name]``."""
    while isinstance(container, ast.Subscript):
        container = container.value
    return container


@feature("containers that outlive a loop", True)
def _outlives(program: Program, container: ast.expr, scope: Scope, loop: LoopNode) -> bool:
    """Whether a container is neither made anew nor emptied inside the loop."""
    name = dotted(_root(container))
    if name is None:
        return False
    for one in _scopes(scope.function):
        for binding in one.bindings.get(name, ()):
            if binding.kind != "augment" and loop in enclosing.loops_around(program, binding.node):
                return False
        for call in one.calls:
            emptied = (
                isinstance(call.func, ast.Attribute) and call.func.attr in EMPTYING and dotted(call.func.value) == name
            )
            if emptied and loop in enclosing.loops_around(program, call):
                return False
    return True


# --- memory of batches ---------------------------------------------------------------------


def shares(program: Program, one: Kept) -> tuple[Loader, ...]:
    """The loaders whose batches it keeps the memory of; none if that depends or is not known."""
    value = program.value(one.expr)
    if one.spread and any(isinstance(part, Derived) for part in alternatives(value)):
        return ()  # the elements of an array of numbers are copies
    return _shared(value)


def _shared(value: Value) -> tuple[Loader, ...]:
    found: dict[Loader, None] = {}
    for one in known(value):
        match one:
            case Batch():
                inner: tuple[Loader, ...] = (one.loader,)
            case Tensor(placement="cpu"):
                inner = _shared(one.source)
            case Derived(step="attr", key="numpy"):
                inner = _shared(one.base)
            case Collection() | Table():
                held = _held(one)
                if not known(held):  # what a helper that calls itself makes of itself
                    continue
                inner = _shared(held)
            case _:
                inner = ()
        if not inner:
            return ()
        found.update(dict.fromkeys(inner))
    return tuple(found)


def _held(container: Collection | Table) -> Value:
    if isinstance(container, Table):
        return union(item for _, item in container.items)
    return container.element if container.items is None else union(container.items)


@feature("containers of tensors", True)
def is_of_tensors(program: Program, one: Kept) -> bool:
    """Whether the code treats what is kept as tensors: a batch may as well hold names."""
    return _is_tensor(program, one.expr) or _is_joined(program, one) or _is_computed(program.value(one.expr))


def _is_computed(value: Value) -> bool:
    """Whether a value, or what it holds, came out of a method of a tensor."""
    return any(
        isinstance(one, Tensor) or (isinstance(one, Collection | Table) and _is_computed(_held(one)))
        for one in known(value)
    )


def _is_joined(program: Program, one: Kept) -> bool:
    """Whether the container goes to ``torch.cat`` or the like."""
    name = dotted(one.container)
    for scope in _scopes(enclosing.function_of(program, one.node)):
        for call in scope.calls:
            if not call.args or (dotted(call.func) or "").rpartition(".")[2] not in JOINING:
                continue
            if call.args[0] is one.container or (name is not None and dotted(call.args[0]) == name):
                return True
    return False


def _is_tensor(program: Program, expr: ast.expr) -> bool:
    """Whether something is called a method of that tensors have: here, or elsewhere by the same name."""
    while True:
        match expr:
            case ast.Call(func=ast.Attribute(value=value, attr=attr)):
                if attr in _OF_TENSORS:
                    return True
                expr = value
            case ast.Attribute(attr=attr) if attr in _HAD_BY_TENSORS:
                return True
            case ast.Subscript(value=value):
                expr = value
            case ast.Name(id=name):
                return any(_is_treated_so(program, load) for load in program.site(expr).scope.loads.get(name, ()))
            case _:
                return False


def _is_treated_so(program: Program, load: ast.AST) -> bool:
    above = program.parent(load)
    if not isinstance(above, ast.Attribute):
        return False
    call = program.parent(above)
    called = isinstance(call, ast.Call) and call.func is above
    return above.attr in (_OF_TENSORS if called else _HAD_BY_TENSORS)


@dataclass(frozen=True, slots=True)
class Mutation:
    """``node`` changes ``attribute`` of an object, which ``read`` reads while a sample is fetched."""

    node: ast.AST
    attribute: str
    read: ast.AST


def within(program: Program, loop: LoopNode, instance: Instance) -> Iterator[Mutation]:
    """The changes to ``instance`` that a loop makes: in its body, and in what that calls in the main process."""
    read = {one.attribute: one.node for one in datasets.reads(program, instance.cls)}
    inside = {scope for scope in _scopes_of(program, loop) if _is_inside(program, scope, loop)}
    called = [call for scope in inside for call in scope.calls if loop in enclosing.loops_around(program, call)]
    targets = (one for call in called for one in workers.functions(program, program.value(call.func)))
    fetching = datasets.fetching(program, instance.cls)
    elsewhere = [one for one in call_graph.reachable(program, *targets) if one not in fetching and one not in inside]
    for scope in (*inside, *elsewhere):
        for node, attribute in _mutating(program, scope, instance):
            if attribute in read and (scope not in inside or loop in enclosing.loops_around(program, node)):
                yield Mutation(node, attribute, read[attribute])


def _mutating(program: Program, scope: Scope, instance: Instance) -> Iterator[tuple[ast.AST, str]]:
    """What a function does to ``instance``: a statement or a call, and the attribute that it changes."""
    for store in scope.stores:
        if isinstance(store.target, ast.Attribute) and _is_same(program, store.target.value, instance):
            yield store.node, store.target.attr
    for call in scope.calls:
        for attribute in sorted(_changed_by(program, call, instance)):
            yield call, attribute


def _scopes_of(program: Program, loop: LoopNode) -> Iterator[Scope]:
    """The scope of a loop and the comprehensions in it."""
    waiting = [program.site(loop).scope]
    while waiting:
        scope = waiting.pop()
        yield scope
        waiting.extend(inner for inner in scope.children if inner.kind == "comprehension")


def _is_inside(program: Program, scope: Scope, loop: LoopNode) -> bool:
    return scope.node is None or scope.kind != "comprehension" or loop in enclosing.loops_around(program, scope.node)


def _is_same(program: Program, expr: ast.expr, instance: Instance) -> bool:
    """Whether an expression is that object, and no other."""
    found = alternatives(program.value(expr))
    return all(isinstance(one, Instance) and one.cls == instance.cls and one.call is instance.call for one in found)


def _changed_by(program: Program, call: ast.Call, instance: Instance) -> set[str]:
    """The attributes that a method of ``instance`` stores, or changes in a container of Python."""
    if not isinstance(call.func, ast.Attribute):
        return set()
    method = classes.of_class(program, instance.cls, call.func.attr)
    if not isinstance(method, Function) or not _is_same(program, call.func.value, instance):
        return set()
    found = set()
    for function in call_graph.reachable(program, method.scope, cls=instance.cls):
        if function.receiver is not None and function.name != "__init__":
            prefix = function.receiver + "."
            names = set(function.bindings)
            names |= {name for name in function.changes if _is_python(program, instance.cls, name.partition(".")[2])}
            found |= {name[len(prefix) :] for name in names if name.startswith(prefix) and name.count(".") == 1}
    return found


def _is_python(program: Program, cls: Class, attribute: str) -> bool:
    """Whether an attribute is a list, dict or set: a tensor that is changed in place may be shared."""
    for kept in datasets.kept(program, cls):
        if kept.attribute == attribute and kept.binding is not None:
            found = alternatives(names.bound_value(program, kept.binding))
            if any(isinstance(one, Table | Collection) for one in found):
                return True
    return False
