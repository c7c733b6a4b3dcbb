"""What a loop puts into containers that outlive it, and whether that is still the memory of a batch."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.project import cadence
from dl_lint.project.values import NONE, Batch, Collection, Const, Derived, Loader, Made, Table, Tensor, alternatives
from dl_lint.source.syntax import Display, ForStatement, called, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.loops import LoaderLoop
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope
    from dl_lint.project.values import Value

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


def kept(project: Project, loop: LoaderLoop) -> Iterator[Kept]:
    """What a loop over batches keeps, item by item."""
    if isinstance(loop.node, ast.comprehension):
        made = project.parent(loop.node)
        if isinstance(made, ast.ListComp | ast.SetComp | ast.DictComp):
            kept = made.value if isinstance(made, ast.DictComp) else made.elt
            yield from (Kept(made, item, made) for item in _items(kept))
        return
    if _is_left_at_once(project, loop.node) or _is_left_with_enough(project, loop.node):
        return
    for scope in _scopes(loop.function):
        for node, container, added in (*_calls(project, scope), *_stores(project, scope)):
            inside = loop.node in project.loops_around(node) and not _is_of_the_first(project, node)
            if inside and _outlives(project, container, scope, loop.node):
                spread = isinstance(node, ast.Call) and _method(node) == "extend" and not isinstance(added, Display)
                yield from (Kept(node, item, container, spread) for item in _items(added))


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _scopes(function: Scope) -> Iterator[Scope]:
    yield function
    for inner in function.children:
        if inner.kind == "comprehension":
            yield from _scopes(inner)


def _is_left_at_once(project: Project, loop: LoopNode) -> bool:
    """Whether the first pass ends the loop, on every way."""
    arms = project.site(loop).scope.file.arms.get(loop, ())
    return any(block.kind in ("for", "while") and block.exits in ("break", "leave") for block in arms)


def _is_left_with_enough(project: Project, loop: LoopNode) -> bool:
    """Whether a loop ends when it has enough: ``if len(features) >= 1000: break``."""
    for stmt in loop.body if isinstance(loop, ForStatement) else ():
        match stmt:
            case ast.If(
                test=ast.Compare(left=left, ops=((ast.Gt() | ast.GtE()),)), body=(*_, ast.Break() | ast.Return())
            ):
                if called(left) in ("len", "sum") or cadence.is_counter(project, left):
                    return True
            case _:
                continue
    return False


def _is_of_the_first(project: Project, node: ast.AST) -> bool:
    """Whether something is kept of the first batches alone: ``if step < 10:``, ``if len(shown) < 10:``."""
    return any(
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Lt | ast.LtE if outcome else ast.Gt | ast.GtE)
        and (called(test.left) == "len" or cadence.is_counter(project, test.left))
        for test, outcome in project.tests_around(node)
    )


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


def _calls(project: Project, scope: Scope) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
    """``container.append(added)``."""
    for call in scope.calls:
        if isinstance(call.func, ast.Attribute) and _method(call) in ADDING and call.args:
            found = alternatives(project.value(call.func.value))
            if not any(isinstance(one, Made) and one.name == "collections.deque" for one in found):
                yield call, call.func.value, call.args[-1]


def _stores(project: Project, scope: Scope) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
    """``container[key] = added``, into a dict and not into an array, and ``container += [added]``."""
    for store in scope.stores:
        if isinstance(store.target, ast.Subscript) and store.value is not None and not store.op and not store.path:
            constant = all(isinstance(one, Const) for one in alternatives(project.value(store.target.slice)))
            if not constant and any(_is_dict(one) for one in alternatives(project.value(store.target.value))):
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


def _outlives(project: Project, container: ast.expr, scope: Scope, loop: LoopNode) -> bool:
    """Whether a container is neither made anew nor emptied inside the loop."""
    name = dotted(_root(container))
    if name is None:
        return False
    for one in _scopes(scope.function):
        for binding in one.bindings.get(name, ()):
            if binding.kind != "augment" and loop in project.loops_around(binding.node):
                return False
        for call in one.calls:
            emptied = (
                isinstance(call.func, ast.Attribute) and call.func.attr in EMPTYING and dotted(call.func.value) == name
            )
            if emptied and loop in project.loops_around(call):
                return False
    return True


# --- memory of batches ---------------------------------------------------------------------


def shares(project: Project, one: Kept) -> tuple[Loader, ...]:
    """The loaders whose batches it keeps the memory of; none if that depends or is not known."""
    value = project.value(one.expr)
    if one.spread and any(isinstance(part, Derived) for part in alternatives(value)):
        return ()  # the elements of an array of numbers are copies
    return _shared(value)


def _shared(value: Value) -> tuple[Loader, ...]:
    found: dict[Loader, None] = {}
    for one in alternatives(value):
        match one:
            case Batch():
                inner: tuple[Loader, ...] = (one.loader,)
            case Tensor(placement="cpu"):
                inner = _shared(one.source)
            case Derived(step="attr", key="numpy"):
                inner = _shared(one.base)
            case _ if one == NONE:
                continue
            case _:
                inner = ()
        if not inner:
            return ()
        found.update(dict.fromkeys(inner))
    return tuple(found)


def is_of_tensors(project: Project, one: Kept) -> bool:
    """Whether the code treats what is kept as tensors: a batch may as well hold names."""
    return _is_tensor(project, one.expr) or _is_joined(project, one)


def _is_joined(project: Project, one: Kept) -> bool:
    """Whether the container goes to ``torch.cat`` or the like."""
    name = dotted(one.container)
    for scope in _scopes(project.function_of(one.node)):
        for call in scope.calls:
            if not call.args or (dotted(call.func) or "").rpartition(".")[2] not in JOINING:
                continue
            if call.args[0] is one.container or (name is not None and dotted(call.args[0]) == name):
                return True
    return False


def _is_tensor(project: Project, expr: ast.expr) -> bool:
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
                return any(_is_treated_so(project, load) for load in project.site(expr).scope.loads.get(name, ()))
            case _:
                return False


def _is_treated_so(project: Project, load: ast.AST) -> bool:
    above = project.parent(load)
    if not isinstance(above, ast.Attribute):
        return False
    call = project.parent(above)
    called = isinstance(call, ast.Call) and call.func is above
    return above.attr in (_OF_TENSORS if called else _HAD_BY_TENSORS)
