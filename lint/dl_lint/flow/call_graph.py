"""The call graph: who calls a function, what its parameters therefore are, what it reaches, and what repeats it."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING

from dl_lint.flow import aliases, enclosing, scopes
from dl_lint.flow.features import NOTHING_MORE, feature
from dl_lint.flow.interpreter import arguments, classes, configurations, objects
from dl_lint.flow.outcomes import truth_of
from dl_lint.flow.program import operation
from dl_lint.flow.scopes import Scope
from dl_lint.flow.values import (
    UNKNOWN,
    Absent,
    Bound,
    Class,
    Collection,
    External,
    Frame,
    Function,
    Instance,
    Made,
    Number,
    Option,
    Parameter,
    Partial,
    Table,
    Tensor,
    Value,
    alternatives,
    union,
)
from dl_lint.source.syntax import Assignment, FunctionDefinition, called, dotted, targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Binding
    from dl_lint.source.syntax import Param


MOST_CALLS = 64
"""Calls of one function that its parameters are bound from; a function with more is taken for a general one."""

MOST_CANDIDATES = 300
"""Calls by one name that are looked at; names such as ``get`` and ``forward`` tell nothing."""

MOST_CARRIED = 32
"""Calls by a name that something is carried to, such as ``build`` or ``transform``: more of them are of other things
for the most part, and each is evaluated. With 64 a run over this repository took 1.25 times the CPU time, without a
bound 2.7 times."""
MOST_KINDS = 16
"""Classes that share a constructor and are looked for under other names."""

SPAWNERS = {"spawn": 1, "start_processes": 1, "Process": 0, "Thread": 0, "elastic_launch": 0, "notebook_launcher": 0,
            "launch": 0}  # fmt: skip
"""Functions that call one of their arguments with ``args``, after so many arguments of their own (the rank)."""
PASSES_ON = frozenset({"launch"})
"""Those that may be given the arguments one by one: Lightning's ``fabric.launch(run, x)`` calls ``run(fabric, x)``."""


@dataclass(frozen=True, slots=True)
class _Callers(Value):
    """The known calls of one function as a fact to be solved for; None if there are too many to tell."""

    frames: tuple[Frame, ...] | None

    def widened(self) -> Value:
        return self


def is_of_suite(path: str) -> bool:
    """Whether a file belongs to a test suite; ``test.py`` of a research project evaluates a model."""
    *folders, name = path.split("/")
    return not {"test", "tests"}.isdisjoint(folders) or name.startswith("test_") or name == "conftest.py"


# --- who calls ---------------------------------------------------------------------


def all_callers(program: Program, scope: Scope) -> tuple[Frame, ...] | None:
    """All known calls of a function; None if there are too many to tell."""
    found = _solved(program, scope)
    return found.frames if isinstance(found, _Callers) else ()


def callers(program: Program, function: Scope) -> tuple[Frame, ...]:
    """The known calls of a function of the project; none where there are too many to tell."""
    return all_callers(program, function) or ()


def _solved(program: Program, scope: Scope) -> Value:
    """The callers, or nothing while they are being looked for."""
    return program.solver.solve(("callers", scope), lambda: _find(program, scope))


def _find(program: Program, scope: Scope) -> Value:
    calling = _calls_of_objects(program, scope) if scope.name == "__call__" else _candidates(program, scope)
    shared = scope.is_method and scope.name not in ("__init__", "__call__")
    key = ("likely calls", scope.name if shared else scope, len(calling))  # the same for all methods of a name
    candidates = program.read_off(key, partial(_likely, program, calling, scope))
    if len(candidates) > MOST_CANDIDATES:
        return _Callers(None)
    found: list[Frame] = []
    for call in candidates:
        if _calls(program, call, scope) and not _is_replaced(program, call, scope):
            found.append(Frame(scope, call))
            if len(found) > MOST_CALLS:
                return _Callers(None)
    return _Callers(tuple(found) if found or scope.name != "__call__" else None)


def _likely(program: Program, calls: list[ast.Call], scope: Scope) -> list[ast.Call]:
    """The calls that may enter ``scope``, one more than are looked at."""
    return list(islice((call for call in calls if _may_call(program, call, scope)), MOST_CANDIDATES + 1))


def _calls_of_objects(program: Program, scope: Scope) -> list[ast.Call]:
    """The calls by the names that the objects with ``scope`` for their ``__call__`` are given; none where one of them
    is handed on without a name, as those in a list of transforms are."""
    cls = Class(scope.parent) if scope.parent is not None else None
    kinds = [cls, *classes.subclasses(program, cls)] if cls is not None else []
    makers = [one.scope.name for one in kinds if classes.of_class(program, one, "__call__") == Function(scope)]
    names: dict[str, None] = {}
    for maker in makers:
        for call in program.modules.calls.get(maker, ()):
            match program.parents.get(call):
                case (ast.Assign() | ast.AnnAssign()) as above if all(map(dotted, targets(above))):
                    names |= {(dotted(one) or "").rpartition(".")[2]: None for one in targets(above)}
                case ast.Return() if len(makers) < MOST_CALLS:
                    function = program.sites[call].scope.function
                    makers += [function.name] if function.name not in makers else []
                case _:
                    return []
    return [call for name in names for call in program.modules.calls.get(name, ())]


def _candidates(program: Program, scope: Scope) -> list[ast.Call]:
    names = [scope.name]
    if scope.name == "__init__" and scope.parent is not None:
        names += [scope.parent.name, "cls"]
        names += [sub.scope.name for sub in classes.subclasses(program, Class(scope.parent))]
    names += [alias for name in names for alias in _aliases(program).get(name, ())]
    if scope.name == "__init__" and scope.parent is not None:
        kinds = (Class(scope.parent), *classes.subclasses(program, Class(scope.parent)))
        names += (name for kind in kinds[:MOST_KINDS] for name in _carried(program, kind.scope.name))
    elif not scope.is_method:
        names += _carried(program, scope.name)
    found = [call for name in dict.fromkeys((*names, *SPAWNERS)) for call in program.modules.calls.get(name, ())]
    if scope.name == "__init__" and scopes.PICKED not in names:
        found += _of_chosen(program)
    return found


def _of_chosen(program: Program) -> list[ast.Call]:
    """The calls of what a function gives, ``get_trainer(name)(loader)``, whose file may not have been read yet."""
    calls = [
        call
        for call in program.modules.calls.get(scopes.PICKED, ())
        if called(call.func)[:1].islower()  # else an object is made and called
        and called(call.func) not in ("get", "getattr")  # settings choose the class, and give its arguments too
    ]
    return calls if len(calls) <= MOST_CARRIED else []


def _carried(program: Program, name: str) -> list[str]:
    """The names that come to stand for what is called ``name``, but for those that are called all over the project."""
    calls = program.modules.calls
    return [
        other
        for other in aliases.carried(program, name)
        if other == scopes.PICKED or len(calls.get(other, ())) <= MOST_CARRIED
    ]


@feature("aliases of functions", {})
def _aliases(program: Program) -> dict[str, dict[str, None]]:
    """The other names that imports and assignments give to a name."""
    return program.read_off("aliases", lambda: _find_aliases(program))


def _find_aliases(program: Program) -> dict[str, dict[str, None]]:
    names: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for file in program.files:
        for name, others in file.renamed.items():
            names[name] |= others
        for scope in file.scopes:
            for name, bindings in scope.bindings.items():
                for binding in bindings:
                    node = binding.node
                    if isinstance(node, Assignment) and isinstance(node.value, ast.Name | ast.Attribute):
                        names[(dotted(node.value) or "").rpartition(".")[2]][name.rpartition(".")[2]] = None
                    elif isinstance(node, Assignment) and isinstance(node.value, ast.Dict):
                        for held in node.value.values:
                            names[(dotted(held) or "").rpartition(".")[2]][scopes.PICKED] = None
    return names


def _calls(program: Program, call: ast.Call, scope: Scope) -> bool:
    target = _entered(call, scope)
    found = _values(program, target) if target is not None else ()
    return any(_is(one, scope) or _constructs(program, one, scope) or _is_object(program, one, scope) for one in found)


def _is_replaced(program: Program, call: ast.Call, scope: Scope) -> bool:
    """Whether a base calls ``self.step()`` in a method that objects with ``scope`` for a step have not: their class
    defines that method anew."""
    outer = program.sites[call].scope.function
    if not isinstance(call.func, ast.Attribute) or outer.receiver is None or dotted(call.func.value) != outer.receiver:
        return False
    if scope.parent is None or outer.parent is None or scope.parent is outer.parent or not scope.is_method:
        return False
    cls = Class(scope.parent)
    above = Class(outer.parent) in classes.lineage(program, cls)
    return above and outer not in classes.methods_in_effect(program, cls)


def _may_call(program: Program, call: ast.Call, scope: Scope) -> bool:
    target = _entered(call, scope)
    return target is not None and _may_be(program, target, scope)


def _may_be(program: Program, func: ast.expr, scope: Scope) -> bool:
    """Whether ``func`` is worth evaluating in search of ``scope``: often a file would have to be read for it."""
    if scope.is_method and scope.name != "__init__" and isinstance(func, ast.Name) and func.id == scope.name:
        return False
    root = func
    while isinstance(root, ast.Attribute):
        root = root.value
    if _is_super(root):
        return _is_below(program, func, scope)
    if not isinstance(root, ast.Name):
        return scope.is_method
    at, outer = program.sites[root].scope, scope.parent
    if outer is not None and outer.kind == "function" and at.file is not scope.file:
        return False
    bindings = program.read_off(("visible", at, root.id), partial(_visible, at, root.id))
    if not bindings:
        return "*" in at.file.module.bindings
    return scope.is_method or any(_may_bind(one, scope, isinstance(func, ast.Name)) for one in bindings)


def _is_super(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and expr.func.id == "super"


def _is_below(program: Program, node: ast.AST, scope: Scope) -> bool:
    """Whether a node stands in a class that derives from the one of the method ``scope``: only there ``super()`` leads
    to it."""
    within = program.sites[node].scope
    while within.kind != "class" and within.parent is not None:
        within = within.parent
    return scope.parent is not None and Class(within) in classes.subclasses(program, Class(scope.parent))


def _visible(at: Scope | None, name: str) -> list[Binding]:
    """What gives ``name`` a value in a scope and in those around it."""
    found: list[Binding] = []
    while at is not None:
        found += at.bindings.get(name, ())
        at = at.parent
    return found


def _values(program: Program, expr: ast.expr) -> tuple[Value, ...]:
    return alternatives(program.value(expr))


def _constructs(program: Program, value: Value, scope: Scope) -> bool:
    if not isinstance(value, Class) or scope.name != "__init__":
        return False
    init = classes.of_class(program, value, "__init__")
    return isinstance(init, Function) and init.scope is scope


def _is_object(program: Program, value: Value, scope: Scope) -> bool:
    """Whether calling an object enters ``scope``."""
    return (
        isinstance(value, Instance)
        and scope.name == "__call__"
        and classes.of_class(program, value.cls, "__call__") == Function(scope)
    )


# --- what they pass ----------------------------------------------------------------


@operation("bind")
def bind(program: Program, parameter: Parameter) -> Value:
    """What a parameter may be over all known calls."""
    configured = _configured(program, parameter)
    if configured is not None:
        return configured
    callers = _solved(program, parameter.scope)
    if not isinstance(callers, _Callers):
        return callers
    frames = callers.frames
    if frames is None:
        return UNKNOWN
    shown = uses(program, frames)
    if shown:
        return union(program.resolve(passed_for(program, frame, parameter)) for frame in shown)
    return _uncalled(program, parameter)


@feature("parameters that decorators pass", None)
def _configured(program: Program, parameter: Parameter) -> Value | None:
    """The configuration that the decorator ``@hydra.main`` passes to a function that is called without."""
    node = parameter.scope.node
    is_first = parameter.scope.params[0] is parameter.param
    for decorator in node.decorator_list if isinstance(node, FunctionDefinition) and is_first else ():
        if isinstance(decorator, ast.Call) and program.symbolic(decorator.func) == External(configurations.HYDRA):
            return Made(configurations.HYDRA, decorator)
    return None


def uses(program: Program, frames: tuple[Frame, ...]) -> list[Frame]:
    """The calls that say what a function is given in use: tests call with small values of their own."""
    sites = program.sites
    return [
        frame
        for frame in frames
        if not is_of_suite(sites[frame.call].scope.file.path) or is_of_suite(frame.scope.file.path)
    ]


def _uncalled(program: Program, parameter: Parameter) -> Value:
    """A parameter of a function that nobody in the project calls, but its tests."""
    option = _click_option(program, parameter)
    if option is not None:
        return option
    param = parameter.param
    if param.kind == "kwargs":
        given = _click_options(program, parameter.scope)
        return Table(tuple(given), False, None) if given else UNKNOWN
    if param.node.annotation is not None:
        for one in alternatives(program.symbolic(param.node.annotation)):
            if isinstance(one, Class) and not classes.external_bases(program, one):
                return Instance(one)
    if param.default is None:
        return UNKNOWN
    return Option(program.symbolic(param.default), "parameter", param.node)


@feature("parameters that decorators pass", None)
def _click_option(program: Program, parameter: Parameter) -> Value | None:
    return dict(_click_options(program, parameter.scope)).get(parameter.param.name)


def _click_options(program: Program, scope: Scope) -> list[tuple[str, Value]]:
    """The options that the decorators of click declare, under every name that one may go by."""
    node = scope.node
    found: list[tuple[str, Value]] = []
    for decorator in node.decorator_list if isinstance(node, FunctionDefinition) else ():
        if isinstance(decorator, ast.Call) and (dotted(decorator.func) or "").endswith("option"):
            names = [str(a.value) for a in decorator.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            default = arguments.given(program, decorator, (), "default").symbolic
            option = Option(UNKNOWN if isinstance(default, Absent) else default, "command line", decorator)
            found += ((name.lstrip("-").replace("-", "_"), option) for name in names)
    return found


def _is(value: Value, scope: Scope) -> bool:
    match value:
        case Function():
            return value.scope is scope
        case Bound():
            return value.function.scope is scope
        case Partial():
            return _is(value.func, scope)
        case _:
            return False


def _entered(call: ast.Call, scope: Scope) -> ast.expr | None:
    """The expression that a call enters, if it enters ``scope``: what it calls, or what it spawns."""
    if called(call) not in SPAWNERS or scope.name in SPAWNERS:
        return call.func
    for keyword in call.keywords:
        if keyword.arg in ("target", "fn"):
            return keyword.value
    return call.args[0] if call.args else None


def _is_last(module: str, scope: Scope) -> bool:
    """Whether the file of ``scope``, or a folder on the way to it, has the name of a module."""
    return module.rpartition(".")[2] in PurePath(scope.file.path).with_suffix("").parts


def _may_bind(binding: Binding, scope: Scope, plain: bool) -> bool:
    """Whether a binding may give its name the function ``scope``, or (not ``plain``) a module that holds it."""
    match binding.node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return plain and binding.node is scope.node
        case ast.ImportFrom(module=module) if binding.alias is not None:
            return not module or _is_last(module, scope) or _is_last(binding.alias.name, scope)
        case ast.Import() if binding.alias is not None:
            return _is_last(binding.alias.name, scope)
        case _:
            return True


@operation("passed_for")
def passed_for(program: Program, frame: Frame, parameter: Parameter) -> Value:
    """What one call passes for a parameter."""
    last = called(frame.call)
    if last in SPAWNERS and frame.scope.name != last:
        return _spawned(program, frame, parameter, SPAWNERS[last])
    return arguments.bound(program, frame, parameter.param)


def _spawned(program: Program, frame: Frame, parameter: Parameter, own: int) -> Value:
    params = [p for p in frame.scope.params if p.kind in ("plain", "positional")]
    if frame.scope.is_method:
        params = params[1:]
    if parameter.param not in params:
        return UNKNOWN
    at = params.index(parameter.param)
    if at < own:
        return Number()
    by_name = called(frame.call) in PASSES_ON
    given = arguments.given(program, frame.call, () if by_name else ("fn", "args"), "args").symbolic
    if by_name and isinstance(given, Absent):
        return arguments.passed_on(program, frame.call, parameter.param, ("fn", *(one.name for one in params[1:])))
    if isinstance(given, Collection) and given.items is not None and at - own < len(given.items):
        return given.items[at - own]
    return UNKNOWN


MOST_REACHED = 200
"""Functions followed from one; the samples of real datasets take a dozen."""

PARALLEL = frozenset(
    {"torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.DistributedDataParallel"}
)
"""Modules that enter the one that they are given."""

DEEPEST_COMPOSITION = 4
"""Transforms composed of others that are looked into."""


Entry = tuple[Scope, Class | None]
"""A function with the class of the object that it is called on, if it is known."""

Switches = tuple[tuple[str, bool], ...]
"""The parameters that a function's tests ask for by their mere names, with what one call gives them."""


def reachable(program: Program, *roots: Scope, cls: Class | None = None) -> tuple[Scope, ...]:
    """The functions that run when ``roots`` do, themselves first.

    Methods called on self are looked up in the class of the object (``cls`` for ``roots``), so that a base's
    ``__getitem__`` reaches what a subclass overrides; and what stands below ``if grow:`` is reached by calls that pass
    no ``grow=False``.
    """
    found: dict[tuple[Scope, Class | None, Switches], None] = {(root, cls, ()): None for root in roots}
    waiting = list(found)
    while waiting and len(found) < MOST_REACHED:
        state = waiting.pop(0)
        for entry in program.once(("called", *state), partial(_all_called, program, *state)):
            if entry not in found:
                found[entry] = None
                waiting.append(entry)
    return tuple(dict.fromkeys(function for function, _, _ in found))


def _all_called(
    program: Program, function: Scope, cls: Class | None, switches: Switches
) -> tuple[tuple[Scope, Class | None, Switches], ...]:
    return tuple(dict.fromkeys(_called(program, function, cls, switches)))


def _called(
    program: Program, function: Scope, cls: Class | None, switches: Switches
) -> Iterator[tuple[Scope, Class | None, Switches]]:
    owner = function.receiver
    for scope in classes.with_inner(function):
        for call in scope.calls:
            if not _is_never_made(program, call, switches):
                for entered, on in _entered_by(program, call, owner, cls):
                    yield entered, on, _switches(program, entered, call)
        if cls is not None and owner:
            yield from ((found, cls, ()) for found in _properties(program, scope, owner, cls))
        if owner:
            yield from ((found, on, ()) for found, on in _items(program, scope, owner))


def _entered_by(program: Program, call: ast.Call, owner: str | None, cls: Class | None) -> Iterator[Entry]:
    """What a call enters, in a method of an object of ``cls``."""
    method = _on_self(call, owner) if cls is not None else None
    if method is None or cls is None:
        yield from _entries(program, program.value(call.func))
        return
    defined = classes.of_class(program, cls, method)
    if isinstance(defined, Function):
        yield defined.scope, cls
    else:
        yield from _entries(program, program.resolve(objects.of_instance(program, Instance(cls), method)))


def _switches(program: Program, scope: Scope, call: ast.Call) -> Switches:
    """What a call gives the parameters that the tests in a function ask for."""
    asked = program.read_off(("switches", scope), partial(_asked_for, program, scope))
    frame = Frame(scope, call)
    found = ((param.name, truth_of(program.resolve(arguments.bound(program, frame, param)))) for param in asked)
    return tuple((name, given) for name, given in found if given is not None)


def _asked_for(program: Program, scope: Scope) -> tuple[Param, ...]:
    """The parameters that a test around a call consists of."""
    asked = {
        test.id
        for inner in classes.with_inner(scope)
        for call in inner.calls
        for test, _ in _bare_tests(program, call)
        if isinstance(test, ast.Name)
    }
    return tuple(param for param in scope.params if param.name in asked)


def _bare_tests(program: Program, call: ast.Call) -> Iterator[tuple[ast.expr, bool]]:
    for test, outcome in enclosing.tests_around(program, call):
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, outcome = test.operand, not outcome
        yield test, outcome


def _is_never_made(program: Program, call: ast.Call, switches: Switches) -> bool:
    """Whether a parameter that a call depends on is given the other value: ``if grow:``, of ``grow=False``."""
    return any(isinstance(test, ast.Name) and (test.id, not outcome) in switches
               for test, outcome in _bare_tests(program, call)) if switches else False  # fmt: skip


def _on_self(call: ast.Call, owner: str | None) -> str | None:
    """The method that a call enters on self, which may be called itself."""
    name = dotted(call.func)
    if name is None or owner is None:
        return None
    if name == owner:
        return "__call__"
    return name[len(owner) + 1 :] if name.startswith(owner + ".") and name.count(".") == 1 else None


def _entries(program: Program, value: Value, depth: int = DEEPEST_COMPOSITION) -> Iterator[Entry]:
    """What calling ``value`` enters."""
    for one in alternatives(value):
        match one:
            case Function():
                yield one.scope, None
            case Bound(receiver=Instance() as receiver):
                yield one.function.scope, receiver.cls
            case Bound():
                yield one.function.scope, None
            case Instance():
                inner = objects.of_instance(program, one, "forward" if _is_module(program, one.cls) else "__call__")
                if isinstance(inner, Bound):
                    yield inner.function.scope, one.cls
            case Made(name=name, call=ast.Call(args=[module, *_])) if depth and name in PARALLEL:
                yield from _entries(program, program.value(module), depth - 1)
            case Tensor(source=Made() as moved) if depth:  # ``DataParallel(net).cuda()``
                yield from _entries(program, moved, depth - 1)
            case Made(name=name) if depth and program.models.has(name, "Composes"):
                for part in composed(program, one):
                    yield from _entries(program, part, depth - 1)
            case _:
                continue


def _is_module(program: Program, cls: Class) -> bool:
    """Whether calling an object enters ``forward``."""
    defined = isinstance(classes.of_class(program, cls, "__call__"), Function)
    return not defined and "torch.nn.Module" in classes.external_bases(program, cls)


@feature("composed transforms", NOTHING_MORE)
def composed(program: Program, made: Made) -> Iterator[Value]:
    """What ``Compose([…])`` calls, one after the other."""
    for argument in made.call.args:
        for one in alternatives(program.value(argument)):
            if isinstance(one, Collection):
                held = one.items if one.items is not None else (one.element,)
                yield from (part for item in held for part in alternatives(program.resolve(item)))


def entered(program: Program, call: ast.Call) -> tuple[Scope, ...]:
    """The functions of the project that a call enters."""
    return tuple(functions_entered(program, program.value(call.func)))


def functions_entered(program: Program, value: Value) -> Iterator[Scope]:
    """The functions of the project that calling ``value`` enters."""
    yield from (scope for scope, _ in _entries(program, value))


@feature("items and properties as calls", NOTHING_MORE)
def _items(program: Program, scope: Scope, owner: str) -> Iterator[Entry]:
    """``self.reader[key]`` runs the reader's ``__getitem__``."""
    for load in scope.loads.get(owner, ()):
        held = program.parents.get(load)
        above = program.parents.get(held) if isinstance(held, ast.Attribute) else None
        if isinstance(held, ast.Attribute) and isinstance(above, ast.Subscript) and above.value is held:
            for one in alternatives(program.value(held)):
                found = objects.of_instance(program, one, "__getitem__") if isinstance(one, Instance) else None
                if isinstance(one, Instance) and isinstance(found, Bound):
                    yield found.function.scope, one.cls


@feature("items and properties as calls", NOTHING_MORE)
def _properties(program: Program, scope: Scope, owner: str, cls: Class) -> Iterator[Scope]:
    for load in scope.loads.get(owner, ()):
        above = program.parents.get(load)
        attr = getattr(above, "attr", None)
        found = classes.of_class(program, cls, attr) if isinstance(attr, str) else None
        if isinstance(found, Function) and scopes.decorators(found.scope) & {"property", "cached_property"}:
            yield found.scope


FARTHEST = 4
"""Calls that are followed outwards in search of the loop that repeats a function."""


def repeating(program: Program, node: ast.AST, seen: frozenset[Scope] = frozenset()) -> tuple[LoopNode, ...]:
    """All loops that run a node again: those around it, then those around the calls of its function."""
    found = dict.fromkeys(enclosing.loops_around(program, node))
    scope = enclosing.function_of(program, node)
    if scope.kind in ("function", "lambda") and len(seen) < FARTHEST and scope not in seen:
        for frame in all_callers(program, scope) or ():
            found.update(dict.fromkeys(repeating(program, frame.call, seen | {scope})))
    return tuple(found)


FARTHEST_PASS = 3
"""Calls that are followed outwards from the node's own function."""

Guards = tuple[tuple[ast.expr, bool], ...]
"""Tests, innermost first, each with the outcome that it must have."""


@dataclass(frozen=True, slots=True)
class Pass:
    """``loop`` runs the node in each of its passes in which ``guards`` hold; ``through`` are the calls in between.

    A function stands for its calls, known or not, that is for what repeats them.
    """

    loop: LoopNode | FunctionDefinition
    guards: Guards
    through: tuple[ast.Call, ...] = ()


def passes(program: Program, node: ast.AST, seen: frozenset[Scope] = frozenset()) -> Iterator[Pass]:
    """The loops around a node, innermost first, its function, then those around each call of that.

    An ``except`` around the node ends the search: what is outside runs it only when something fails.
    """
    guards: list[tuple[ast.expr, bool]] = list(enclosing.conditionals(program, node))
    returns: list[tuple[ast.expr, bool]] = []
    for block in enclosing.blocks(program, node):
        guards += enclosing.jumps(program, block, node, "continue")
        returns += enclosing.jumps(program, block, node, "leave")
        match block.kind, block.owner:
            case "except", _:
                return
            case (("if" | "else"), ast.If(test=test)):
                guards.append((test, block.kind == "if"))
            case "case", ast.Match(subject=subject):
                guards.append((subject, True))
            case (("for" | "while"), (ast.For() | ast.AsyncFor() | ast.While()) as loop):
                yield Pass(loop, tuple(guards))
            case "body", ast.ListComp(generators=generators) | ast.SetComp(generators=generators) | ast.DictComp(
                generators=generators
            ) | ast.GeneratorExp(generators=generators):
                for generator in enclosing.clauses_around(program, node, generators):
                    guards += ((test, True) for test in generator.ifs)
                    yield Pass(generator, tuple(guards))
            case _:
                continue
    scope = enclosing.function_of(program, node)
    if scope.kind not in ("function", "lambda") or scope in seen or len(seen) >= FARTHEST_PASS:
        return
    if isinstance(scope.node, FunctionDefinition):
        yield Pass(scope.node, (*guards, *returns))
    for frame in all_callers(program, scope) or ():
        for outer in passes(program, frame.call, seen | {scope}):
            yield Pass(outer.loop, (*guards, *returns, *outer.guards), (frame.call, *outer.through))
