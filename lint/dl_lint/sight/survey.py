"""The survey of a project: each loader, training loop and dataset class, with what is known of it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, effects, enclosing, provenance
from dl_lint.flow.interpreter import classes
from dl_lint.flow.provenance import Origin, quoted
from dl_lint.flow.values import (
    NONE,
    Absent,
    Class,
    Collection,
    Const,
    CpuCount,
    Derived,
    External,
    Generated,
    Instance,
    Loader,
    Made,
    Number,
    Option,
    Table,
    Tensor,
    Unknown,
    Value,
    Wrapped,
    alternatives,
)
from dl_lint.pipeline import datasets, loaders, loops, trainers, training
from dl_lint.sight import escape
from dl_lint.sight.facts import At, DatasetSight, Fact, LoaderSight, LoopSight, Sight
from dl_lint.source.syntax import FunctionDefinition, advanced, begun, called
from dl_lint.transfers import training_steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.scopes import Scope
    from dl_lint.project import Project


NO_LOADER = "no loader"
FED = "the loader made there"
"""What is said of a loader that is known, with the place of its construction."""
NO_DATASET = "no dataset"
"""What is said of a loader of a library that takes none."""


def survey(project: Project) -> Sight:
    """What is known of the loaders, the training loops and the dataset classes of the linted files."""
    return Sight(
        tuple(_in_order(_loaders(project))),
        tuple(_in_order(_training_loops(project))),
        tuple(_in_order(_datasets(project))),
    )


def _in_order(found: Iterable) -> list:  # type: ignore[type-arg]
    return sorted(found, key=lambda one: one.at)


def _at(project: Project, node: ast.AST) -> At:
    place = project.place(node)
    return At(place.path, place.span[0])


def _unknown(project: Project, origin: Origin | None, node: ast.AST, what: str) -> Fact:
    """What is said of something that is not known, of which the search for its origin found so much."""
    if origin is None:
        return Fact("lost", what, "computed", _at(project, node))
    return Fact("open" if origin.is_open else "lost", origin.detail, origin.reason, _at(project, origin.node))


# --- loaders -------------------------------------------------------------------------------


def _loaders(project: Project) -> Iterator[LoaderSight]:
    made: dict[ast.Call, list[Loader]] = {}
    for one in project.loaders():
        made.setdefault(one.call, []).append(one)
    uses = _uses(project)
    for call, ways in made.items():
        use = uses.get(call) or escape.of_loader(project, call)
        yield LoaderSight(
            _at(project, call), _named(call), _dataset(project, ways), _workers(project, ways), _fact(project, use)
        )
    for call in _unrecognised(project, made):
        origin = provenance.origin(project, call.func)
        lost = _unknown(project, origin, call, quoted(call.func))
        yield LoaderSight(_at(project, call), _named(call), lost, lost, lost)


def _named(call: ast.Call) -> str:
    return called(call) or "loader"


def _fact(project: Project, use: Fact | Origin) -> Fact:
    return use if isinstance(use, Fact) else _unknown(project, use, use.node, use.detail)


def _unrecognised(project: Project, known: Iterable[ast.Call]) -> Iterator[ast.Call]:
    """The calls by the name of a loader class of which nothing says what they make."""
    found = set(known)
    for file in project.files:
        for name, calls in file.methods.items():
            if name.lower().endswith("dataloader") and name[0].isupper():
                for call in calls:
                    value = project.value(call.func)
                    is_lost = any(isinstance(one, Unknown | Derived) for one in alternatives(value))
                    if call not in found and is_lost and (call.args or call.keywords):
                        yield call


def _dataset(project: Project, ways: list[Loader]) -> Fact:
    given = [project.argument(one, "dataset") for one in ways]
    values = [one for argument in given for one in alternatives(argument.value) if one != NONE]
    if all(isinstance(one, Absent) for one in values):
        return Fact("known", NO_DATASET)  # it samples a graph, or makes its samples
    known = list(dict.fromkeys(text for one in values if (text := _described(one)) is not None))
    lost = [one for one in values if _described(one) is None]
    if known and not lost:
        return Fact("known", " or ".join(known))
    node = next((one.expr for one in given if one.given), ways[0].call)
    return _unknown(project, provenance.origin(project, node), node, quoted(node))


def _described(value: Value) -> str | None:
    """What a dataset is, if that is known."""
    match value:
        case Instance(cls=cls):
            return cls.scope.name
        case Made(cls=Class() as cls):
            return cls.scope.name
        case Made(name=name):
            return name
        case Derived(base=base):
            return None if isinstance(base, Unknown) else _described(base)
        case Unknown() | Absent() | Option() | External():
            return None
        case _:
            return type(value).__name__.lower()


def _workers(project: Project, ways: list[Loader]) -> Fact:
    given = [project.argument(one, "num_workers") for one in ways]
    values = list(dict.fromkeys(one for argument in given for one in alternatives(argument.value)))
    said = [_count(one) for one in values]
    known = [one for one in said if one is not None]
    if len(known) == len(said):
        return Fact("known", " or ".join(dict.fromkeys(known)))
    node = next((one.expr for one in given if one.given), ways[0].call)
    found = next((_asked(one) for one in values if _count(one) is None and isinstance(one, Option)), None)
    return _unknown(project, found or provenance.origin(project, node), node, quoted(node))


def _asked(option: Option) -> Origin:
    return Origin("left to the user", f"the {option.source} gives no default", option.node)


def _count(value: Value) -> str | None:
    """How many workers a value is, if that is known."""
    match value:
        case Absent() | Const(kind="none"):
            return "0"
        case Const(value=number):
            return str(number)
        case Option(default=default):
            found = [_count(one) for one in alternatives(default)]
            return None if None in found else f"{' or '.join(str(one) for one in found)} by default"
        case CpuCount():
            return "one for each CPU"
        case Number(positive=False):
            return "a number that is computed"
        case _ if loaders.worker_count(value) == "some":
            return "some"
        case _:
            return None


def _uses(project: Project) -> dict[ast.Call, Fact]:
    """Who iterates each loader and to what end, where that is known."""
    found: dict[ast.Call, Fact] = {}
    for taken in trainers.taken(project):
        end = "training" if taken.trains else "evaluation"
        found.setdefault(taken.loader.call, Fact("known", f"{end}, by a trainer", at=_at(project, taken.node)))
    for loop in loops.loader_loops(project):
        end = "training" if training.is_trained_on(project, loop) else "no training"
        for one in loop.loaders:
            if one.call not in found or end == "training":
                found[one.call] = Fact("known", f"{end}, in a loop", at=_at(project, loop.node))
    for call in (*project.calls("builtins.next", "builtins.iter"), *project.method_calls("next", "__next__")):
        drawn = advanced(call) or begun(call)
        for one in loops.loaders_iterated(project, drawn)[0] if drawn is not None else ():
            found.setdefault(one.call, Fact("known", "batches drawn by hand", at=_at(project, call)))
    return found


# --- training loops ------------------------------------------------------------------------


def _training_loops(project: Project) -> Iterator[LoopSight]:
    """The loops around backward passes; where no optimizer steps, a gradient is asked for to look at it."""
    fed = {loop.node: loop for loop in loops.loader_loops(project)}
    seen: set[ast.AST] = set()
    for step in effects.backward_passes(project):
        for around in _paths(project, step):
            if around[0] in seen:
                continue
            seen.add(around[0])
            over = next((fed[one] for one in around if one in fed), None)
            if over is not None:
                yield LoopSight(_at(project, around[0]), _fed_by(project, over))
            elif training_steps.changes_weights(project, around[-1], enclosing.function_of(project, around[-1])):
                yield LoopSight(_at(project, around[0]), _unfed(project, around))
    yield from _steps_of_trainers(project)


def _paths(project: Project, step: ast.AST, entered: frozenset[Scope] = frozenset()) -> Iterator[tuple[LoopNode, ...]]:
    """The loops that repeat a step, innermost first: one way for each caller of a function that has none of its own."""
    own = [one for one in enclosing.loops_around(project, step) if not isinstance(one, ast.comprehension)]
    scope = enclosing.function_of(project, step)
    if own:
        yield (*own, *(one for one in project.repeating(step) if one not in own))
    elif scope not in entered and len(entered) < call_graph.FARTHEST:
        for frame in project.callers(scope) if scope.kind in ("function", "lambda") else ():
            yield from _paths(project, frame.call, entered | {scope})


def _fed_by(project: Project, loop: loops.LoaderLoop) -> Fact:
    return Fact("known", FED, at=_at(project, loop.loaders[0].call))


def _unfed(project: Project, around: tuple[LoopNode, ...]) -> Fact:
    """Of a loop that goes over no loader that is known: what it draws on by hand, or that it needs none."""
    drawn = list(dict.fromkeys(expr for loop in around for expr in _iterated(project, loop, around)))
    found = next((one for expr in drawn for one in loops.loaders_iterated(project, expr)[0]), None)
    if found is not None:
        return Fact("known", FED, at=_at(project, found.call))
    lost = [expr for expr in drawn if not all(_is_plain(project, one) for one in alternatives(project.value(expr)))]
    if not lost:
        return Fact("known", NO_LOADER)
    origins = [
        provenance.origin(project, expr) or Origin("iterated in its own way", quoted(expr), expr) for expr in lost
    ]
    worst = next((one for one in origins if not one.is_open), origins[0])
    return _unknown(project, worst, worst.node, worst.detail)


def _iterated(project: Project, loop: LoopNode, around: tuple[LoopNode, ...]) -> Iterator[ast.expr]:
    """What a loop goes over, and the iterators from which its function draws by hand in one of the loops around."""
    if not isinstance(loop, ast.While):
        yield loop.iter
    for call in enclosing.function_of(project, loop).calls:
        iterator = advanced(call)
        if iterator is not None and any(one in around for one in project.repeating(call)):
            yield iterator


def _is_plain(project: Project, value: Value) -> bool:
    """Whether something holds no batches of a loader, whatever it is iterated for: numbers, texts, what code lists."""
    match value:
        case Made(name=name):
            return name.startswith("numpy.") or name.rpartition(".")[2] in ("range", "trange")
        case Generated(element=element) if not provenance.is_known(project, element):
            return False
        case Collection(kind="generator", node=ast.GeneratorExp() as lazy):
            return all(_is_plain(project, one) for one in alternatives(project.value(lazy.generators[0].iter)))
        case Wrapped(inner=inner) | Generated(inner=inner):
            return all(_is_plain(project, one) for part in inner for one in alternatives(part))
        case _:
            return isinstance(value, Collection | Const | Number | Option | Table | Tensor)


def _steps_of_trainers(project: Project) -> Iterator[LoopSight]:
    """The steps that a library's trainer runs for each batch, in the class that it is given."""
    for file in project.files:
        for scope in file.scopes:
            if scope.name in ("training_step", "compute_loss") and trainers.is_run_by_trainer(project, scope):
                yield LoopSight(_at(project, scope.node), _of_trainer(project, scope))  # type: ignore[arg-type]


def _of_trainer(project: Project, step: Scope) -> Fact:
    cls = step.parent
    assert cls is not None
    assert step.node is not None
    given = [one for one in trainers.taken(project) if one.trains]
    fed = [one for one in given if project.are_near(one.node, step.node)]
    fed = fed or [one for one in given if _are_made_together(project, Class(cls), one.node)]
    if fed:
        nearest = next((one for one in fed if project.are_near(one.loader.call, step.node)), fed[0])
        return Fact("known", FED, at=_at(project, nearest.loader.call))
    if not project.modules.calls.get(cls.name) and not classes.subclasses(project, Class(cls)):
        return Fact("open", f"nothing here makes a `{cls.name}`", "left to the caller", _at(project, step.node))
    return Fact("lost", f"the trainer of `{cls.name}` is given no loader that is known", "what a library returns",
                _at(project, step.node))  # fmt: skip


def _are_made_together(project: Project, cls: Class, hook: ast.AST) -> bool:
    """Whether a method that gives a trainer its loader is of a class, or of one that some file makes beside it."""
    owner = project.scope_of(hook).parent if isinstance(hook, FunctionDefinition) else None
    if owner is None or owner.kind != "class":
        return False
    if Class(owner) in classes.lineage(project, cls):
        return True
    made, beside = (
        {enclosing.function_of(project, call).file for one in (each, *classes.subclasses(project, each))
         for call in project.modules.calls.get(one.scope.name, ())}
        for each in (cls, Class(owner))
    )  # fmt: skip
    return not made.isdisjoint(beside)


# --- datasets ------------------------------------------------------------------------------


def _datasets(project: Project) -> Iterator[DatasetSight]:
    taken = _taken(project)
    for one in project.dataset_classes():
        fact = taken.get(one.cls)
        if fact is None:
            use = escape.of_class(project, one.cls)
            fact = _fact(project, use)
        yield DatasetSight(_at(project, one.node), one.name, fact, tuple(_attributes(project, one.cls)))


def _taken(project: Project) -> dict[Class, Fact]:
    """The classes whose objects a loader is given, by themselves or in others, and those that these derive from."""
    found: dict[Class, Fact] = {}
    for loader in project.loaders():
        fact = Fact("known", FED, at=_at(project, loader.call))
        for cls in datasets.given_deep(project, project.argument(loader, "dataset").value):
            for one in classes.lineage(project, cls):
                if isinstance(one, Class):
                    found.setdefault(one, fact)
    return found


def _attributes(project: Project, cls: Class) -> Iterator[tuple[str, Fact]]:
    """What the attributes hold that are read while a sample is fetched; methods hold nothing."""
    read: dict[str, ast.Attribute] = {}
    for one in project.reads(cls):
        if one.function.parent is not None and Class(one.function.parent) in classes.lineage(project, cls):
            read.setdefault(one.attribute, one.node)
    for name, node in sorted(read.items()):
        values = alternatives(project.value(node))
        if provenance.is_known(project, project.value(node)):
            yield name, Fact("known", " or ".join(dict.fromkeys(type(value).__name__.lower() for value in values)))
        else:
            yield name, _unknown(project, provenance.origin(project, node), node, quoted(node))
