"""The loops of trainers of libraries, what frameworks call by name, and what a loop does to the objects around it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, effects, enclosing, purity
from dl_lint.flow.features import NOTHING_MORE, feature
from dl_lint.flow.interpreter import classes
from dl_lint.flow.values import (
    Absent,
    Bound,
    Class,
    Collection,
    Const,
    Function,
    Loader,
    Made,
    Option,
    Table,
    Value,
    alternatives,
)
from dl_lint.pipeline import loaders
from dl_lint.source.syntax import FunctionDefinition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.models import Model, Models
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope


@dataclass(frozen=True, slots=True)
class Trainer:
    """What is certain of a library's trainer: which loaders it goes over, how often, and what it does for them.

    It is made by one of ``makers`` and given its loaders there, or where its method ``begin`` is called (``order`` are
    the positional parameters), or asks objects of the classes ``owners`` for them by the methods ``hooks``. ``epochs``
    names the argument that counts its passes, ``passes`` says how many there are without; with one of ``uncounted``
    their number is not known, with one of ``trials`` it goes over a few batches.
    """

    makers: frozenset[str] = frozenset()
    begin: str = ""
    order: tuple[str, ...] = ()
    trained: tuple[str, ...] = ()
    evaluated: tuple[str, ...] = ()
    epochs: str = ""
    passes: int = 0
    uncounted: tuple[str, ...] = ()
    trials: tuple[str, ...] = ()
    rhythm: tuple[str, ...] = ()
    """Arguments by which it evaluates in another rhythm than once an epoch."""

    owners: frozenset[str] = frozenset()
    hooks: tuple[str, ...] = ()
    evaluating: tuple[str, ...] = ()
    """Those of the hooks whose loaders are evaluated."""
    once: tuple[str, ...] = ()
    """Methods whose loaders it goes over where it is asked to."""
    asked: tuple[str, ...] = ()
    """Methods of its own that go over the loaders that they are given, without training."""
    steps: str = ""
    """The argument that is a function which takes a batch, where that is what trains."""
    sets_epoch: bool = True


def known(program: Program) -> tuple[Trainer, ...]:
    """The trainers that stubs speak of."""
    return program.once("trainers", lambda: tuple(_of_stubs(program.models)))


def _of_stubs(models: Models) -> Iterator[Trainer]:
    for name in sorted(models.names("EpochLoop")):
        made = models.get(name)
        members = models.members(name)
        hooks = tuple(one for one, member in members.items() if member.has("Trains", "Evaluates"))
        begins = [one for one, member in members.items() if _named(member, "Trains")]
        owner = name.rpartition(".")[0]
        makers = {name, *(f"{name}.{one}" for one, member in members.items() if _makes(member, name))}
        makers |= {f"{owner}.{one}" for one, member in models.members(owner).items() if _makes(member, name)}
        for begin in begins or [""]:
            given = [model for model in (made, members.get(begin)) if model is not None]
            counting = next((one for model in given for one in model.parameters if one[1] == "Epochs"), None)
            yield Trainer(
                makers=frozenset(makers) if begin or _named(made, "Trains") else frozenset(),
                begin=begin,
                order=members[begin].positions if begin else made.positions,
                trained=_names(given, "Trains"),
                evaluated=_names(given, "Evaluates"),
                epochs=counting[0] if counting else "",
                passes=int(counting[2]) if counting and counting[2].isdecimal() else 0,
                uncounted=_names(given, "Uncounted"),
                trials=_names(given, "Trial"),
                rhythm=_names([*given, *_beside(models, name)], "Rhythm"),
                owners=frozenset({name}) if hooks else frozenset(),
                once=tuple(one for one, member in members.items() if member.has("Takes")),
                asked=tuple(one for one, member in members.items() if _named(member, "Takes")),
                hooks=hooks,
                evaluating=tuple(one for one in hooks if members[one].has("Evaluates")),
                steps="".join(_names([made], "Steps")[:1]),
                sets_epoch=made.has("SetsEpoch"),
            )


def _named(model: Model, kind: str) -> tuple[str, ...]:
    """The parameters that are marked so."""
    return tuple(name for name, mark, _ in model.parameters if mark == kind)


def _names(given: list[Model], kind: str) -> tuple[str, ...]:
    return tuple(name for model in given for name in _named(model, kind))


def _makes(model: Model, name: str) -> bool:
    return any(mark.kind == "Makes" and mark.of == (name.rpartition(".")[2],) for mark in model.marks)


def _beside(models: Models, name: str) -> list[Model]:
    """The other trainers of the module: hooks belong to one of them."""
    return [model for model in models.members(name.rpartition(".")[0]).values() if model.has("EpochLoop")]


@dataclass(frozen=True, slots=True)
class Fit:
    """The loop of a trainer over ``loader``, which ``node`` gives it: a hook, or a call. It has several passes, unless
    ``uncounted``; with ``trains`` it learns from the batches."""

    loader: Loader
    node: ast.AST
    trainer: Trainer
    trains: bool
    uncounted: bool = False


def fits(program: Program) -> tuple[Fit, ...]:
    """The loaders that trainers go over again and again."""
    return program.once("fits", lambda: (*_from_hooks(program), *_from_calls(program)))


@dataclass(frozen=True, slots=True)
class Taken:
    """A loader that a trainer goes over, once or again and again; ``node`` gives it."""

    loader: Loader
    node: ast.AST
    trains: bool


def taken(program: Program) -> tuple[Taken, ...]:
    """The loaders that trainers go over, however often and to whatever end."""
    return program.once("taken", lambda: tuple(_taken(program)))


def _taken(program: Program) -> Iterator[Taken]:
    for trainer in known(program):
        for hook, name in _hooks(program, trainer, (*trainer.hooks, *trainer.once)):
            for loader in _returned(program, hook):
                trains = name in trainer.hooks and name not in trainer.evaluating
                yield Taken(loader, hook.node or loader.call, trains)
        for call, _ in _beginnings(program, trainer):
            for names, trains in ((trainer.trained, not trainer.steps), (trainer.evaluated, False)):
                for loader in _passed(program, trainer, call, names):
                    yield Taken(loader, call, trains)
        for call in program.method_calls(*trainer.asked) if trainer.asked else ():
            owner = alternatives(program.value(call.func.value)) if isinstance(call.func, ast.Attribute) else ()
            if any(isinstance(one, Made) and _is_made_by(program, one, trainer) for one in owner):
                for arg in (*call.args, *(keyword.value for keyword in call.keywords)):
                    for loader in _loaders(program.value(arg)):
                        yield Taken(loader, call, trains=False)


def _returned(program: Program, hook: Scope) -> Iterator[Loader]:
    """The loaders that a hook returns, by themselves or in a list or dict; those of ``super()`` are the base's."""
    given = [one for statement in hook.returns for one in _loaders(program.value(statement.value))]
    calls = {one.call for one in given}
    yield from (one for one in loaders.all_loaders(program) if one.call in calls)


def is_run_by_trainer(program: Program, step: Scope) -> bool:
    """Whether a trainer calls a method for every batch."""
    cls = step.parent
    if cls is None or cls.kind != "class" or step.name not in _of_each_batch(program):
        return False
    bases = classes.external_bases(program, Class(cls))
    return any(program.models.has(f"{base}.{step.name}", "EachBatch") for base in bases)


def training_steps(program: Program) -> Iterator[tuple[Scope, tuple[str, ...]]]:
    """The functions that trainers call for each batch to train on, each with its parameters that are on the device."""
    marked = program.models.names_with_parameter("TrainingBatch")
    for name in sorted({one.rpartition(".")[2] for one in marked}):
        for file in program.files:
            for scope in file.scopes:
                cls = scope.parent
                if scope.name != name or not scope.is_method or cls is None or not file.linted:
                    continue
                for base in classes.external_bases(program, Class(cls)):
                    model = program.models.get(f"{base}.{name}")
                    at = [number for number, one in enumerate(model.positions) if one in _named(model, "TrainingBatch")]
                    if at:
                        yield scope, tuple(one for number, one in enumerate(scope.positions) if number in at)
                        break
    for trainer in known(program):
        for call, _ in _beginnings(program, trainer) if trainer.steps else ():
            for one in alternatives(loaders.passed(program, call, trainer.steps, trainer.steps).value):
                if isinstance(one, Function) and _learns_in(program, one.scope):
                    yield one.scope, ()


def runs_for_each_batch(program: Program, function: FunctionDefinition) -> bool:
    """The same of a definition."""
    return is_run_by_trainer(program, program.scope_of(function))


def called_for_each_batch(program: Program) -> Iterator[Scope]:
    """The methods that trainers call for every batch."""
    names = _of_each_batch(program)
    for file in program.files:
        yield from (one for one in file.scopes if one.name in names and is_run_by_trainer(program, one))


def _of_each_batch(program: Program) -> frozenset[str]:
    names = program.models.names("EachBatch")
    return program.once("hooks of each batch", lambda: frozenset(name.rpartition(".")[2] for name in names))


# --- loaders that hooks return -------------------------------------------------------------


@feature("hooks of Lightning", NOTHING_MORE)
def _from_hooks(program: Program) -> Iterator[Fit]:
    for trainer in known(program):
        for hook, name in _hooks(program, trainer, trainer.hooks):
            evaluates = name in trainer.evaluating
            if hook.node is None or (evaluates and any(program.mentions(hook.node, one) for one in trainer.rhythm)):
                continue
            for loader in _returned(program, hook):
                yield Fit(loader, hook.node, trainer, trains=not evaluates)


def _hooks(program: Program, trainer: Trainer, names: tuple[str, ...]) -> Iterator[tuple[Scope, str]]:
    """The methods that a trainer asks for loaders, each by the name that it does so by: also those that are assigned to
    such a hook, ``self.train_dataloader = self._train_dataloader``."""
    found: dict[Scope, str] = {}
    for file in program.files if names else ():
        for scope in file.scopes:
            named = [child for child in scope.children if child.name in names]
            if named and _owns(program, trainer, scope):
                found.update((child, child.name) for child in named)
    for store in program.attribute_stores(*names) if names else ():
        for one in alternatives(program.value(store.value)):
            function = one.function if isinstance(one, Bound) else one
            if isinstance(function, Function) and _owns(program, trainer, function.scope.parent):
                found[function.scope] = getattr(store.target, "attr", "")
    yield from ((scope, name) for scope, name in found.items() if isinstance(scope.node, FunctionDefinition))


def _owns(program: Program, trainer: Trainer, scope: Scope | None) -> bool:
    if scope is None or scope.kind != "class":
        return False
    return not trainer.owners.isdisjoint(classes.external_bases(program, Class(scope)))


# --- loaders that calls pass ---------------------------------------------------------------


@feature("trainers", NOTHING_MORE)
def _from_calls(program: Program) -> Iterator[Fit]:
    for trainer in known(program):
        for call, made in _beginnings(program, trainer):
            if not program.site(call).scope.file.linted or not all(
                _repeats(program, trainer, call, one) for one in made
            ):
                continue
            uncounted = any(_is_asked_for(program, call, one, name) for one in made for name in trainer.uncounted)
            learns = not trainer.steps or all(_learns(program, one, trainer.steps) for one in made)
            for loader in _passed(program, trainer, call, trainer.trained):
                yield Fit(loader, call, trainer, learns, uncounted)
            if not any(_is_asked_for(program, call, one, name) for one in made for name in trainer.rhythm):
                for loader in _passed(program, trainer, call, trainer.evaluated):
                    yield Fit(loader, call, trainer, trains=False, uncounted=uncounted)


def _beginnings(program: Program, trainer: Trainer) -> Iterator[tuple[ast.Call, list[Made]]]:
    """The calls that give a trainer its loaders, each with the calls that may have made it."""
    if not trainer.begin:
        for call in program.calls(*trainer.makers):
            yield call, [one for one in alternatives(program.value(call)) if isinstance(one, Made)]
        return
    for call in program.modules.calls.get(trainer.begin, ()):
        owner = alternatives(program.value(call.func.value)) if isinstance(call.func, ast.Attribute) else ()
        made = [one for one in owner if isinstance(one, Made) and _is_made_by(program, one, trainer)]
        if made and len(made) == len(owner):
            yield call, made


def _is_made_by(program: Program, made: Made, trainer: Trainer) -> bool:
    bases = classes.external_bases(program, made.cls) if made.cls is not None else (made.name,)
    return not trainer.makers.isdisjoint(bases)


def _argument(program: Program, call: ast.Call, made: Made, name: str, *order: str) -> Value:
    """An argument of the call that begins, or else of the one that made the trainer."""
    given = loaders.passed(program, call, name, *order)
    return given.value if given.given or made.call is call else loaders.argument(program, made, name).value


def _is_asked_for(program: Program, call: ast.Call, made: Made, name: str) -> bool:
    off = (Absent(), Const(None, "none"), Const(False, "bool"), Const(-1, "int"))
    said = alternatives(_argument(program, call, made, name))
    return any((one.default if isinstance(one, Option) else one) not in off for one in said)


def _repeats(program: Program, trainer: Trainer, call: ast.Call, made: Made) -> bool:
    """Whether a trainer goes over its loaders more than once, unless a user asks for less."""
    if any(_is_asked_for(program, call, made, name) for name in trainer.trials):
        return False
    for said in alternatives(_argument(program, call, made, trainer.epochs, *trainer.order)):
        told = said.default if isinstance(said, Option) else said
        if isinstance(told, Const) and told.value in (0, 1, "1ep") and told.kind != "bool":
            return False
        if isinstance(told, Absent) and trainer.passes < 2:
            return False
    return True


def _learns(program: Program, made: Made, steps: str) -> bool:
    """Whether the function that an engine is made with, which takes a batch, has a backward pass."""
    if "trainer" in made.name:
        return True
    given = loaders.passed(program, made.call, steps, steps).value
    return any(_learns_in(program, one.scope) for one in alternatives(given) if isinstance(one, Function))


def _learns_in(program: Program, function: Scope) -> bool:
    """Whether a function has a backward pass, in itself or in what it calls."""
    return any(
        effects.is_backward(program, call) for one in call_graph.reachable(program, function) for call in one.calls
    )


def _passed(program: Program, trainer: Trainer, call: ast.Call, names: tuple[str, ...]) -> Iterator[Loader]:
    for name in names:
        order = trainer.order if name in trainer.order else ()
        yield from _loaders(loaders.passed(program, call, name, *order).value)


def _loaders(value: Value) -> Iterator[Loader]:
    """The loaders that a trainer finds in a value: itself, or in a list or dict of such."""
    for one in alternatives(value):
        match one:
            case Loader():
                yield one
            case Table():
                for _, item in one.items:
                    yield from _loaders(item)
            case Collection():
                for item in one.items or (one.element,):
                    yield from _loaders(item)
            case _:
                continue


def touched_in(program: Program, *loops: LoopNode) -> Iterator[ast.expr]:
    """The objects whose methods, other than those that only read, are called, or whose attributes are stored, in the
    functions of ``loops``.

    Inside the first loop, and anywhere in the functions of the others, which it calls.
    """
    for loop in loops:
        scope = enclosing.function_of(program, loop)
        is_outer = loop is loops[0]
        for call in scope.calls:
            inside = not is_outer or loop in enclosing.loops_around(program, call)
            if isinstance(call.func, ast.Attribute) and inside and not purity.only_reads(program, call):
                yield call.func.value
        for store in scope.stores:
            if isinstance(store.target, ast.Attribute) and (
                not is_outer or loop in enclosing.loops_around(program, store.node)
            ):
                yield store.target.value
