"""Loaders and samplers as rules ask about them: every construction, its arguments, its workers, its pinning."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dl_lint.context import entry_points
from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.features import NOTHING_MORE, feature
from dl_lint.flow.hints import names_one
from dl_lint.flow.interpreter import arguments, classes, options
from dl_lint.flow.values import (
    ABSENT,
    NONE,
    NOTHING,
    UNKNOWN,
    Absent,
    Batch,
    Class,
    Const,
    CpuCount,
    Loader,
    Made,
    Number,
    Option,
    Sampler,
    Tensor,
    Value,
    WhenAccelerated,
    alternatives,
)
from dl_lint.source.positions import span
from dl_lint.source.syntax import Assignment, called, dotted, option_name, targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import FileIndex, Scope
    from dl_lint.source.syntax import Param


Workers = Literal["some", "none", "default-none", "unknown"]
Pins = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument over all known callers: ``ABSENT`` if not given. ``node`` is where the call gives it."""

    value: Value
    node: ast.AST

    @property
    def expr(self) -> ast.AST:
        """The expression that is passed, without its keyword."""
        return self.node.value if isinstance(self.node, ast.keyword) else self.node

    @property
    def given(self) -> bool:
        return not isinstance(self.value, Absent)


def argument(program: Program, made: Made, name: str) -> Argument:
    return program.once(("argument", made, name), lambda: _argument(program, made, name))


def _argument(program: Program, made: Made, name: str) -> Argument:
    found = arguments.argument(program, made, name)
    if found is None:
        return Argument(UNKNOWN, made.call)
    value = program.resolve(found.symbolic)
    return Argument(UNKNOWN if value == NOTHING else value, found.node)


def passed(program: Program, call: ast.Call, name: str, *positions: str) -> Argument:
    found = arguments.given(program, call, positions, name)
    value = program.resolve(found.symbolic)
    return Argument(UNKNOWN if value == NOTHING else value, found.node)


def workers(program: Program, loader: Loader) -> Workers:
    """Whether a loader has workers; default-none when it has none unless the user asks for some."""
    found = {worker_count(one) for one in alternatives(argument(program, loader, "num_workers").value)}
    return found.pop() if len(found) == 1 else "unknown"


def worker_numbers(program: Program, loader: Loader) -> tuple[int, ...]:
    """How many workers a loader has in each way that leads to it, an option's default among them; none where one of
    these ways does not say."""
    found = []
    for one in alternatives(argument(program, loader, "num_workers").value):
        said = one.default if isinstance(one, Option) else NONE if isinstance(one, Absent) else one
        if not isinstance(said, Const) or not isinstance(said.value, int | None):
            return ()
        found.append(int(said.value or 0))
    return tuple(found)


def may_have_workers(program: Program, loader: Loader) -> bool:
    """Whether a loader has workers in some of the ways that lead to it."""
    return any(worker_count(one) == "some" for one in alternatives(argument(program, loader, "num_workers").value))


def are_left_to_users(program: Program, loader: Loader) -> bool:
    """Whether a loader has workers only where somebody asks for them, in all ways that lead to it; what lies over such
    an option, as a file that is read by name, is asked for too."""
    found = {worker_count(one) for one in alternatives(argument(program, loader, "num_workers").value)}
    return "default-none" in found and found <= {"none", "default-none", "unknown"}


def worker_count(value: Value) -> Workers:
    """Whether a number that a loader is given is one of workers, or none."""
    match value:
        case Absent() | Const(kind="none"):
            return "none"
        case Const(value=int() | float() as number):
            return "some" if number > 0 else "none"
        case CpuCount() | Number(positive=True):
            return "some"
        case Option():
            found = {worker_count(one) for one in alternatives(value.default)}
            if found == {"none"}:
                return "default-none"
            return "some" if found == {"some"} else "unknown"
        case _:
            return "unknown"


def pins(program: Program, loader: Loader) -> Pins:
    """Whether a loader pins its batches where that matters.

    ``torch.cuda.is_available()`` counts as yes, and so does True in keywords that are only passed in some runs. Where
    it pins in every way that is known, one that is not known hides nothing; that it does not pin is known of all ways
    only, as the others may be what the user is to ask for.
    """
    said = {one: _pins(one) for one in alternatives(argument(program, loader, "pin_memory").value)}
    open_ways = "unknown" in said.values()
    if open_ways:  # ``is_available() and args.pin`` says nothing of where there is an accelerator
        said = {one: it for one, it in said.items() if it != "unknown" and not isinstance(one, WhenAccelerated)}
    found = set(said.values())
    if found in ({"yes"}, {"yes", "absent"}):
        return "yes"
    return "no" if found and "yes" not in found and not open_ways else "unknown"


def _pins(value: Value) -> str:
    match value:
        case Absent():
            return "absent"
        case WhenAccelerated():
            return "yes"
        case Const():
            return "yes" if value.value else "no"
        case Option(default=Const(value=True)):
            return "yes"
        case _:
            return "unknown"


# --- where they are made ------------------------------------------------------------------


def all_loaders(program: Program) -> tuple[Loader, ...]:
    """Every construction of a DataLoader, of a subclass or of kin in other libraries, in the linted files."""
    return _constructions(program)[0]


def all_samplers(program: Program) -> tuple[Sampler, ...]:
    """Every construction of a sampler of torch or of a subclass of one, in the linted files."""
    return _constructions(program)[1]


def _constructions(program: Program) -> tuple[tuple[Loader, ...], tuple[Sampler, ...]]:
    return program.once("constructions", lambda: _find_constructions(program))


def _find_constructions(program: Program) -> tuple[tuple[Loader, ...], tuple[Sampler, ...]]:
    """Every loader and sampler made in the linted files, in source order."""
    names = _class_names(program)
    loaders: dict[Loader, None] = {}
    samplers: dict[Sampler, None] = {}
    for file in program.files:
        for call in sorted(_calls_by(file, names), key=span):
            for one in alternatives(program.symbolic(call)):
                if isinstance(one, Loader) and one.call is call:
                    loaders[one] = None
                elif isinstance(one, Sampler) and one.call is call:
                    samplers[one] = None
    return tuple(loaders), tuple(samplers)


def _calls_by(file: FileIndex, names: set[str]) -> Iterator[ast.Call]:
    for name in names:
        yield from file.methods.get(name, ())


def _class_names(program: Program) -> set[str]:
    """Every name that a loader or sampler class may be called by: its own, its subclasses', those it is bound to."""
    hinted = program.hints.dataloader_classes
    known = program.models.names("Loader", "TorchLoader", "Sampler")
    names = {name.rpartition(".")[2] for name in (*known, *hinted)}
    for file in program.files:
        for scope in file.scopes:
            if scope.kind == "class":
                bases = classes.external_bases(program, Class(scope))
                if not known.isdisjoint(bases) or (hinted and any(names_one(hinted, base) for base in bases)):
                    names.add(scope.name)
    for _ in range(2):
        names |= {bound for file in program.files for bound in _bound_to(program, file, names)}
    return names


@feature("aliases of loader classes", NOTHING_MORE)
def _bound_to(program: Program, file: FileIndex, names: set[str]) -> Iterator[str]:
    """Names that are given one of ``names`` without calling it: ``cls = DataLoader if … else …``, imports as, the
    parameters that it is the default of."""
    for scope in file.scopes:
        for name, bindings in scope.bindings.items():
            for binding in bindings:
                if binding.kind == "from" and binding.alias is not None and binding.alias.name in names:
                    yield name
        for wanted in names & scope.loads.keys():
            for load in scope.loads[wanted]:
                yield from _receivers(program, load)
        yield from (param.name for param in scope.params if _last_name(param.default) in names)


def _last_name(expr: ast.AST | None) -> str:
    return (dotted(expr) or "").rpartition(".")[2]


def _receivers(program: Program, node: ast.AST) -> Iterator[str]:
    above = program.parents.get(node)
    while isinstance(above, ast.IfExp | ast.BoolOp | ast.Call | ast.Attribute) and not _is_called(above, node):
        node, above = above, program.parents.get(above)
    if isinstance(above, Assignment):
        yield from (name.rpartition(".")[2] for target in targets(above) if (name := dotted(target)))
    elif isinstance(above, ast.keyword) and above.arg is not None:
        yield above.arg


def _is_called(above: ast.AST, node: ast.AST) -> bool:
    return isinstance(above, ast.Call) and above.func is node


# --- what builders leave out ---------------------------------------------------------------


DEFAULTS: dict[str, Const] = {
    "batch_size": Const(1, "int"),
    "shuffle": Const(False, "bool"),
    "num_workers": Const(0, "int"),
    "pin_memory": Const(False, "bool"),
    "drop_last": Const(False, "bool"),
    "persistent_workers": Const(False, "bool"),
    "timeout": Const(0, "int"),
}
"""What a loader takes for an argument that it is not given; None for others."""

_CHOSEN_BY = {
    "batch_size": ("batch_sampler",),
    "shuffle": ("sampler", "batch_sampler"),
    "drop_last": ("batch_sampler",),
    "sampler": ("batch_sampler",),
}
"""Arguments that say in place of others which samples make a batch."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """``param`` of ``function`` has the name of an argument of ``loader``, made there, and is never read; ``call``
    passes something else for it than the loader gets."""

    param: Param
    function: Scope
    loader: Loader
    call: ast.Call


@feature("parameters that builders of loaders ignore", NOTHING_MORE)
def ignored_parameters(program: Program) -> Iterator[Ignored]:
    """The parameters for a loader that a function takes, is called with, and does not pass on."""
    for loader in all_loaders(program):
        function = enclosing.function_of(program, loader.call)
        if not program.models.has(loader.name, "TorchLoader") or function.kind != "function":
            continue
        names = frozenset(program.models.get(loader.name).positions) - {"dataset"}
        for param in function.params:
            if param.name in names and not _is_read(function, param) and not _is_chosen(program, loader, param.name):
                call = next(_passing(program, function, loader, param), None)
                if call is not None:
                    yield Ignored(param, function, loader, call)


def _is_read(function: Scope, param: Param) -> bool:
    """Whether a function may read a parameter, by name or with all of its variables."""
    inside = tuple(classes.with_inner(function))
    return any(one.loads.get(param.name) for one in inside) or any(
        called(call) in ("locals", "vars", "eval") and not (called(call) == "vars" and call.args)
        for one in inside
        for call in one.calls
    )


def _is_chosen(program: Program, loader: Loader, name: str) -> bool:
    """Whether another argument says it."""
    others = (argument(program, loader, other).value for other in _CHOSEN_BY.get(name, ()))
    return any(not isinstance(one, Absent) and one != NONE for value in others for one in alternatives(value))


def _passing(program: Program, function: Scope, loader: Loader, param: Param) -> Iterator[ast.Call]:
    """The calls of a function that ask for something else than what its loader is known to get."""
    got = {_as_taken(one, param.name) for one in alternatives(argument(program, loader, param.name).value)}
    if not all(isinstance(one, Const) for one in got):
        return
    for frame in call_graph.callers(program, function):
        asked = {
            _as_taken(one, param.name) for one in alternatives(arguments.passed(program, frame, param.name).symbolic)
        }
        if not asked <= got | {_as_taken(ABSENT, param.name), NONE}:
            yield frame.call


def _as_taken(value: Value, name: str) -> Value:
    return DEFAULTS.get(name, NONE) if isinstance(value, Absent) else value


_WORKERS = frozenset({"worker", "workers", "nworkers", "cpu", "cpus"})
"""Words in the names of options for a number of workers."""


@feature("options for workers that reach no loader", NOTHING_MORE)
def ignored_options(program: Program) -> Iterator[tuple[ast.Call, str, tuple[Loader, ...]]]:
    """The options for a number of workers that nothing reads, in files whose loaders have none: where each is
    declared, its name and these loaders."""
    for name, calls in tuple(program.modules.options.items()):  # files that are read meanwhile declare more
        for call in tuple(calls) if not _WORKERS.isdisjoint(name.lower().split("_")) else ():
            file = program.site(call).scope.file
            here = tuple(one for one in all_loaders(program) if program.site(one.call).scope.file is file)
            is_number = isinstance(found := options.declared(program, call), Option) and (
                isinstance(found.default, Const) and found.default.kind == "int"
            )
            if (
                file.linted
                and is_number
                and here
                and all(workers(program, one) == "none" for one in here)
                and not entry_points.is_imported(program, file)
                and not _may_be_read(program, call)
            ):
                yield call, name, here


_SHOWING = frozenset({"print", "pprint", "str", "repr", "format"})
"""Functions that show all options, and read none."""

_MOST_HANDED = 40
"""Functions that the options of a script are followed into."""


def _may_be_read(program: Program, call: ast.Call) -> bool:
    """Whether the option that an ``add_argument`` call declares may be read: as an attribute of what the file parses,
    or with all the others, where that is handed to something that is not known. Of options that another file parses,
    nothing is known."""
    file, option = program.site(call).scope.file, option_name(call)
    names = {_parsed_as(program, one) for method in options.PARSING for one in file.methods.get(method, ())}
    if not names or None in names:
        return True
    loads = [load for scope in file.scopes for one in names if one is not None for load in scope.loads.get(one, ())]
    followed: set[tuple[Scope, str]] = set()
    for load in loads:
        above = program.parents.get(load)
        if isinstance(above, ast.Attribute):
            if above.attr in (option, "__dict__"):
                return True
            continue
        params = _handed_to(program, above, load)
        if params is None or len(followed) > _MOST_HANDED:
            return True
        new = params - followed
        followed |= new
        loads += (
            it for function, name in new for one in classes.with_inner(function) for it in one.loads.get(name, ())
        )
    return False


def _parsed_as(program: Program, parse: ast.Call) -> str | None:
    """The name that the parsed options get: the first, where others are left over."""
    above = program.parents.get(parse)
    target = above.targets[0] if isinstance(above, ast.Assign) and len(above.targets) == 1 else None
    if isinstance(target, ast.Tuple):
        target = target.elts[0]
    return target.id if isinstance(target, ast.Name) else None


def _handed_to(program: Program, above: ast.AST | None, load: ast.Name) -> set[tuple[Scope, str]] | None:
    """The parameters that a name is passed for; None where it goes elsewhere."""
    call = program.parents.get(above) if isinstance(above, ast.keyword) else above
    if not isinstance(call, ast.Call) or call.func is load:
        return None
    if called(call) in _SHOWING:
        return set()
    entered = call_graph.entered(program, call)
    if not entered:
        return None
    if isinstance(above, ast.keyword):
        return {(one, above.arg) for one in entered} if above.arg is not None else None
    at = call.args.index(load)
    if any(isinstance(one, ast.Starred) for one in call.args) or any(at >= len(one.positions) for one in entered):
        return None
    return {(one, one.positions[at]) for one in entered}


def placement(program: Program, value: Value) -> str:
    """Where a tensor lives: pinned, pageable, device, cpu, host, or unknown (also for what is no tensor)."""
    found = {placed(program, one) for one in alternatives(value)}
    return found.pop() if len(found) == 1 else "unknown"


def placed(program: Program, value: Value) -> str:
    """Where a tensor lives: pinned, pageable, device, cpu, host or unknown."""
    match value:
        case Batch():
            if value.loader.prepared:
                return "device"
            return {"yes": "pinned", "no": "pageable", "unknown": "unknown"}[pins(program, value.loader)]
        case _:
            return value.placement if isinstance(value, Tensor) else "unknown"
