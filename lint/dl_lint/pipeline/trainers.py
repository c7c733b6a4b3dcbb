"""The loops of trainers of libraries, what frameworks call by name, and what a loop does to the objects around it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing, purity
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
from dl_lint.source.syntax import FunctionDefinition, called

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope


LIGHTNING_MODULES = frozenset(
    {"lightning.pytorch.LightningModule", "lightning.pytorch.LightningDataModule"}
    | {f"lightning.{name}" for name in ("LightningModule", "LightningDataModule")}
)
LIGHTNING_TRAINERS = frozenset(
    f"lightning.{name}" for name in ("Trainer", "pytorch.Trainer", "pytorch.Trainer.from_argparse_args")
)
"""What makes a Lightning Trainer; ``from_argparse_args`` is of Lightning 1."""

LOADER_HOOKS = ("train_dataloader", "val_dataloader")
"""Methods of Lightning modules whose loaders the Trainer iterates once an epoch."""

STEP_HOOKS = frozenset(
    {"training_step", "validation_step", "test_step", "prediction_step", "compute_loss", "on_step_end",
     "on_train_batch_start", "on_train_batch_end", "on_validation_batch_end"}
)  # fmt: skip
"""Methods that Lightning and the Trainer of transformers call for every batch."""


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
    learns: bool = True
    sets_epoch: bool = True


LIGHTNING = Trainer(
    makers=LIGHTNING_TRAINERS,
    begin="fit",
    order=("model", "train_dataloaders", "val_dataloaders"),
    trained=("train_dataloaders", "train_dataloader"),  # the latter is its name in Lightning 1
    evaluated=("val_dataloaders",),
    epochs="max_epochs",
    passes=1000,
    uncounted=("max_steps", "max_time"),
    trials=("fast_dev_run",),
    rhythm=("check_val_every_n_epoch", "limit_val_batches", "val_check_interval"),
    owners=LIGHTNING_MODULES,
    hooks=LOADER_HOOKS,
)
TRANSFORMERS = Trainer(
    owners=frozenset({"transformers.Trainer", "transformers.Seq2SeqTrainer"}), hooks=("get_train_dataloader",)
)
COMPOSER = Trainer(
    makers=frozenset({"composer.Trainer", "composer.trainer.Trainer"}),
    trained=("train_dataloader",),
    evaluated=("eval_dataloader",),
    epochs="max_duration",
    passes=1,
    rhythm=("eval_interval",),
)
CATALYST = Trainer(
    makers=frozenset(f"catalyst.dl.{name}Runner" for name in ("Supervised", "")),
    begin="train",
    trained=("loaders",),
    epochs="num_epochs",
    passes=1,
)
IGNITE = Trainer(
    makers=frozenset({"ignite.engine.Engine", "ignite.engine.create_supervised_trainer"}),
    begin="run",
    order=("data", "max_epochs"),
    trained=("data",),
    epochs="max_epochs",
    passes=1,
    learns=False,
    sets_epoch=False,
)
COQUI = Trainer(
    owners=frozenset({"trainer.TrainerModel", "trainer.model.TrainerModel"}),
    hooks=("get_data_loader",),
    sets_epoch=False,
)
TRAINERS = (LIGHTNING, TRANSFORMERS, COMPOSER, CATALYST, IGNITE, COQUI)


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


ONCE = ("test_dataloader", "predict_dataloader", "get_eval_dataloader", "get_test_dataloader")
"""Methods whose loaders a trainer goes over where it is asked to."""

BEGINNINGS = ("validate", "test", "predict")
"""Methods of Lightning's Trainer that go over loaders without training."""


def _taken(program: Program) -> Iterator[Taken]:
    for trainer in TRAINERS:
        for hook in _hooks(program, trainer, (*trainer.hooks, *ONCE)):
            if hook.node is not None:
                for loader in _returned(program, hook):
                    yield Taken(loader, hook.node, trains="train" in hook.name)
        for call, _ in _beginnings(program, trainer):
            for names, trains in ((trainer.trained, trainer.learns), (trainer.evaluated, False)):
                for loader in _passed(program, trainer, call, names):
                    yield Taken(loader, call, trains)
    for call in program.method_calls(*BEGINNINGS):
        owner = alternatives(program.value(call.func.value)) if isinstance(call.func, ast.Attribute) else ()
        if any(isinstance(one, Made) and _is_made_by(program, one, LIGHTNING) for one in owner):
            for arg in (*call.args, *(keyword.value for keyword in call.keywords)):
                for loader in _loaders(program.value(arg)):
                    yield Taken(loader, call, trains=False)


def _returned(program: Program, hook: Scope) -> Iterator[Loader]:
    """The loaders that a hook returns, by themselves or in a list or dict; those of ``super()`` are the base's."""
    given = [one for statement in hook.returns for one in _loaders(program.value(statement.value))]
    calls = {one.call for one in given}
    yield from (one for one in loaders.all_loaders(program) if one.call in calls)


def is_run_by_trainer(program: Program, step: Scope) -> bool:
    """Whether Lightning or the Trainer of transformers calls a method for every batch."""
    if step.name not in STEP_HOOKS or step.parent is None or step.parent.kind != "class":
        return False
    bases = classes.external_bases(program, Class(step.parent))
    return any(base.startswith(("lightning.", "transformers.")) for base in bases)


def runs_for_each_batch(program: Program, function: FunctionDefinition) -> bool:
    """Whether Lightning or the Trainer of transformers calls a method for every batch."""
    return is_run_by_trainer(program, program.scope_of(function))


# --- loaders that hooks return -------------------------------------------------------------


@feature("hooks of Lightning", NOTHING_MORE)
def _from_hooks(program: Program) -> Iterator[Fit]:
    for trainer in TRAINERS:
        for hook in _hooks(program, trainer, trainer.hooks):
            evaluates = hook.name.startswith(("val", "eval"))
            if hook.node is None or (evaluates and any(program.mentions(hook.node, one) for one in trainer.rhythm)):
                continue
            returned = [one for statement in hook.returns for one in alternatives(program.value(statement.value))]
            calls = {one.call for one in returned if isinstance(one, Made)}
            for loader in loaders.all_loaders(program) if calls else ():
                if loader.call in calls:
                    yield Fit(loader, hook.node, trainer, trains=not evaluates)


def _hooks(program: Program, trainer: Trainer, names: tuple[str, ...]) -> Iterator[Scope]:
    """The methods that a trainer asks for loaders, also those that are assigned to such a hook:
    ``self.train_dataloader = self._train_dataloader``."""
    found: dict[Scope, None] = {}
    for file in program.files if trainer.hooks else ():
        for scope in file.scopes:
            named = [child for child in scope.children if child.name in names]
            if named and _owns(program, trainer, scope):
                found.update(dict.fromkeys(named))
    for store in program.attribute_stores(*names) if trainer.hooks else ():
        for one in alternatives(program.value(store.value)):
            function = one.function if isinstance(one, Bound) else one
            if isinstance(function, Function) and _owns(program, trainer, function.scope.parent):
                found[function.scope] = None
    yield from (scope for scope in found if isinstance(scope.node, FunctionDefinition))


def _owns(program: Program, trainer: Trainer, scope: Scope | None) -> bool:
    if scope is None or scope.kind != "class":
        return False
    return not trainer.owners.isdisjoint(classes.external_bases(program, Class(scope)))


# --- loaders that calls pass ---------------------------------------------------------------


@feature("trainers", NOTHING_MORE)
def _from_calls(program: Program) -> Iterator[Fit]:
    for trainer in TRAINERS:
        for call, made in _beginnings(program, trainer):
            if not program.site(call).scope.file.linted or not all(
                _repeats(program, trainer, call, one) for one in made
            ):
                continue
            uncounted = any(_is_asked_for(program, call, one, name) for one in made for name in trainer.uncounted)
            learns = trainer.learns or all(_learns(program, one) for one in made)
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


def _learns(program: Program, made: Made) -> bool:
    """Whether the function that an engine is made with, which takes a batch, has a backward pass."""
    if "trainer" in made.name:
        return True
    given = loaders.passed(program, made.call, "process_function", "process_function").value
    entered = (one.scope for one in alternatives(given) if isinstance(one, Function))
    return any(called(call) == "backward" for one in call_graph.reachable(program, *entered) for call in one.calls)


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
