"""What becomes of a batch behind its copy to the device: nothing, or a function is handed it that reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dl_lint.facts import tree as t
from dl_lint.project import attributes, beside, casts, flow, reach, tensors
from dl_lint.project.blocking import blocks
from dl_lint.project.host_reads import READING
from dl_lint.project.syntax import called, dotted
from dl_lint.project.values import External, alternatives
from dl_lint.project.views import VIEWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Binding, Scope

DEEPEST = 3
"""Functions that a tensor is handed on through."""

Use = Literal["host", "device", "none"]

_SAME = VIEWS | {"data", "T"}
"""Methods and attributes that give the tensor itself, in another shape."""

_LOOKING = frozenset({"len", "isinstance", "type", "zip", "enumerate", "list", "tuple", "id", "hasattr"})
"""Builtin functions that read nothing of a tensor's memory."""

_COMPUTING = (
    READING | VIEWS | tensors.COPIES | casts.METHODS | beside.READS | {"expand_as", "mul_", "t", "size", "astype"}
)


def is_unread(project: Project, copy: t.Call) -> bool:
    """Whether a copy is bound to a name of which nothing is read, or its shape alone: the line is to go."""
    binding = _bound(project, copy)
    if binding is None:
        return False
    scope = binding.site.scope
    if binding.name in scope.outer or scope.kind not in ("function", "module"):
        return False
    if any(one.kind == "augment" for one in scope.bindings[binding.name]) or any(map(_takes_names, scope.calls)):
        return False
    # What the copy itself reads, `x = x.to(device)` in a loop, is no use of the copy of the pass before.
    loads = (load for load in _loads(project, binding) if project.statement_of(load) is not binding.node)
    return all(_use(project, load, 0) == "none" for load in loads)


def is_read_on_host_only(project: Project, copy: t.Call) -> bool:
    """Whether all that is done with a copy is to bring it back to the host, here or in functions that it is passed to.

    Such a batch has no business on the device.
    """
    binding = _bound(project, copy)
    return binding is not None and _used(project, binding, DEEPEST) == "host"


def is_read_by_callee(project: Project, copy: t.Call) -> bool:
    """Whether what comes next is a function of the project that begins by waiting for the batch it is handed."""
    stmt = project.statement_of(copy)
    names = beside.assigned(stmt)
    if not names or stmt is None or not beside.is_cheap(project, stmt):
        return False
    for later in beside.onward(project, stmt):
        if _enters_reader(project, later, names, DEEPEST):
            return True
        if not (beside.is_cheap(project, later) or _is_quick(project, later)):
            return False
    return False


# --- never read ----------------------------------------------------------------------------


def _bound(project: Project, copy: t.Call) -> Binding | None:
    """The binding of the plain name that is given a copy, or a view or a list of such."""
    stmt = project.statement_of(copy)
    if not isinstance(stmt, t.Assign) or len(stmt.targets) != 1 or stmt.value is None:
        return None
    inner: t.Node = copy
    above = project.parent(copy)
    while above is not stmt and (
        (isinstance(above, t.Attribute) and above.attr in _SAME | {"float", "long"})
        or (isinstance(above, t.Call) and above.func is inner)
        or (isinstance(above, t.Comprehension) and above.element is inner and above.key is None)
    ):
        inner, above = above, project.parent(above)
    target: t.Expr = stmt.targets[0]
    if isinstance(above, t.Sequence) and above is stmt.value and isinstance(target, t.Sequence):
        if len(target.items) != len(above.items) or not isinstance(inner, t.Expr):
            return None
        target = target.items[above.items.index(inner)]
    elif above is not stmt:
        return None
    if not isinstance(target, t.Name):
        return None
    scope = project.site(target).scope
    found = scope.bindings.get(target.id, ())
    return next((one for one in found if one.node is stmt and one.kind == "assign"), None)


def _loads(project: Project, binding: Binding) -> Iterator[t.Name]:
    """Where the name of a binding is read and may stand for what it was given there, closures included."""
    scope, name = binding.site.scope, binding.name
    for inner in reach.with_inner(scope):
        if inner is not scope and name in inner.bindings and name not in inner.outer:
            continue
        for load in inner.loads.get(name, ()):
            site = project.site(load)
            while site.scope is not scope and site.scope.kind == "comprehension" and site.scope.site is not None:
                site = site.scope.site
            if site.scope is not scope or binding in flow.reaching(scope, name, site).bindings:
                yield load


def _takes_names(call: t.Call) -> bool:
    return dotted(call.func) in ("locals", "globals", "vars", "eval", "exec")


# --- read on the host ----------------------------------------------------------------------


def _used(project: Project, binding: Binding, depth: int) -> Use:
    return _joined(_use(project, load, depth) for load in _loads(project, binding))


def _joined(uses: Iterable[Use]) -> Use:
    found = set(uses)
    return "device" if "device" in found else "host" if "host" in found else "none"


def _use(project: Project, expr: t.Expr, depth: int) -> Use:
    match project.parent(expr):
        case t.Attribute(attr=attr) as above:
            if attr in beside.SHAPES:
                return "none"
            call = project.parent(above)
            if isinstance(call, t.Call) and call.func is above:
                return "host" if attr in beside.READS else _use(project, call, depth) if attr in _SAME else "device"
            return _use(project, above, depth) if attr in _SAME else "device"
        case t.Subscript(value=value) as above if value is expr:
            return _use(project, above, depth)
        case t.Keyword() as keyword:
            call = project.parent(keyword)
            return _passed(project, call, keyword, depth) if isinstance(call, t.Call) else "device"
        case t.Call(func=func) as above if func is not expr:
            return _passed(project, above, expr, depth)
        case t.ExprStmt() | t.Delete():
            return "none"
        case t.Compare(ops=ops) if {"is", "is not"}.issuperset(ops):
            return "none"
        case _:
            return "device"


def _passed(project: Project, call: t.Call, given: t.Node, depth: int) -> Use:
    if isinstance(call.func, t.Name) and call.func.id in _LOOKING:
        return "none"
    entered = project.entered(call) if depth else ()
    params = [_parameter(function, call, given) for function in entered]
    if not params or None in params:
        return "device"
    return _joined(_used(project, one, depth - 1) for one in params if one is not None)


def _parameter(function: Scope, call: t.Call, given: t.Node) -> Binding | None:
    """The parameter of ``function`` that takes an argument of ``call``."""
    if isinstance(given, t.Keyword):
        name = given.name
    else:
        if given not in call.args or any(isinstance(one, t.Starred) for one in call.args):
            return None
        plain = [one.name for one in function.params if one.kind in ("plain", "positional")]
        own = function.is_method and "staticmethod" not in attributes.decorators(function)
        at = call.args.index(given) + own
        name = plain[at] if at < len(plain) else None
    found = function.bindings.get(name, ()) if name is not None else ()
    return next((one for one in found if one.kind == "param"), None)


# --- read at once --------------------------------------------------------------------------


def _enters_reader(project: Project, stmt: t.Stmt, names: frozenset[str], depth: int) -> bool:
    """Whether a simple statement calls a function of the project with one of ``names``, which begins by reading it."""
    for call in beside.simple(stmt) if depth else ():
        if not isinstance(call, t.Call):
            continue
        given = (*call.args, *call.keywords)
        for function in project.entered(call) if any(_name_of(one) in names for one in given) else ():
            params = frozenset(one.name for arg in given if (one := _parameter(function, call, arg)) is not None)
            node = function.node
            if params and isinstance(node, t.FunctionDef) and _begins_by_reading(project, node.body, params, depth):
                return True
    return False


def _name_of(argument: t.Node) -> str | None:
    return dotted(argument.value if isinstance(argument, t.Keyword) else argument)


def _begins_by_reading(project: Project, body: tuple[t.Stmt, ...], names: frozenset[str], depth: int) -> bool:
    for stmt in body:
        if beside.looks(project, stmt, names) or _reads_quickly(project, stmt, names):
            return True
        if any(blocks(project, one) for one in beside.simple(stmt)):
            return True
        if isinstance(stmt, t.Assign) and stmt.value is not None and _is_computed(stmt.value, names):
            names |= beside.assigned(stmt)
        match stmt:
            case t.With(body=inner):
                if _begins_by_reading(project, inner, names, depth):
                    return True
            case t.If(body=inner, orelse=other):
                if any(_begins_by_reading(project, arm, names, depth) for arm in (inner, other)):
                    return True
            case t.Assign() | t.ExprStmt():
                if _enters_reader(project, stmt, names, depth - 1):
                    return True
            case _:
                pass
        if not _is_quick(project, stmt):
            return False
    return False


def _reads_quickly(project: Project, stmt: t.Stmt, names: frozenset[str]) -> bool:
    return _is_quick(project, stmt) and any(
        isinstance(one, t.Call)
        and isinstance(one.func, t.Attribute)
        and one.func.attr in beside.READS
        and beside.root(one.func.value, through=_COMPUTING) in names
        for one in beside.simple(stmt)
    )


def _is_computed(value: t.Expr, names: frozenset[str]) -> bool:
    """Whether a value is computed of one of ``names``, by a method or as the first argument of a function."""
    first = value.args[0] if isinstance(value, t.Call) and value.args else None
    return beside.root(value, through=_COMPUTING) in names or (first is not None and dotted(first) in names)


def _is_quick(project: Project, stmt: t.Stmt) -> bool:
    """Whether a statement queues a few operations at most before the host goes on."""
    match stmt:
        case t.FunctionDef() | t.Import() | t.ImportFrom() | t.Jump() | t.Assert():
            return True
        case t.If(body=body, orelse=orelse):
            return all(_is_quick(project, one) for one in (*body, *orelse))
        case t.With(body=body):
            return all(_is_quick(project, one) for one in body)
        case t.Assign() | t.ExprStmt():
            calls = (one for one in beside.simple(stmt) if isinstance(one, t.Call))
            return all(called(one) in _COMPUTING or _is_of_torch(project, one) for one in calls)
        case _:
            return False


def _is_of_torch(project: Project, call: t.Call) -> bool:
    found = alternatives(project.value(call.func))
    return bool(found) and all(
        isinstance(one, External) and one.name.partition(".")[0] in ("torch", "numpy", "builtins") for one in found
    )
