"""What a dataset class is for: training, evaluation only, or nothing that the scripts of its project do by default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import asked, purpose, sampling, unused, workers
from dl_lint.project.callers import is_test
from dl_lint.project.repetition import words
from dl_lint.project.values import Absent, Class, Const, External, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.values import Loader

EVALUATING = frozenset({"val", "valid", "validation", "eval", "evaluation", "test", "testing"})
"""Words in the name of a class whose samples nothing is trained on: for evaluation, or for the project's own tests."""

FOLDERS = frozenset({"eval", "evals", "evaluate", "evaluation"})
"""Folders of scripts that evaluate."""

SWITCHES = frozenset({"torch.no_grad", "torch.inference_mode"})


def is_minor(project: Project, cls: Class) -> bool:
    """Whether no training is known to have the samples of a dataset class: it is for evaluation only, nobody makes an
    object, or only an option does of which no README speaks, or loaders here take what a registry gives them."""
    return project.evaluator.once(
        ("minor", cls),
        lambda: (
            _is_for_evaluation(project, cls)
            or _takes_evaluation_only(cls)
            or _is_gone_through_once(project, cls)
            or unused.is_unused_class(project, cls)
            or _is_extra(project, cls)
            or _is_only_chosen(project, cls)
        ),
    )


def _is_for_evaluation(project: Project, cls: Class) -> bool:
    """Whether every place that makes an object says so, or, where one does not say, the name of the class."""
    said = [purpose.said_around(project, call) if call is not None else "unknown" for call in makers(project, cls)]
    if not said or "unknown" in said:
        return is_named_for_evaluation(cls) and {"training", "both"}.isdisjoint(said)
    return all(one == "evaluation" for one in said)


def is_named_for_evaluation(cls: Class) -> bool:
    """Whether the name of a class says so, and does not speak of training as well: ``ValidationCrops``."""
    named = {*words(cls.scope.name)}
    return bool(EVALUATING & named) and not purpose.TRAINING & named


def _takes_evaluation_only(cls: Class) -> bool:
    """Whether the constructor insists on a part to evaluate on: ``assert split in ("val", "test")``."""
    for method in cls.scope.children:
        for statement in method.node.body if isinstance(method.node, t.FunctionDef) else ():
            match statement:
                case t.Assert(test=t.Compare(ops=("in",), comparators=(t.Sequence(items=(_, *_) as parts),))):
                    said = (one.value if isinstance(one, t.Constant) else None for one in parts)
                    if all(isinstance(one, str) and words(one)[:1] and words(one)[0] in EVALUATING for one in said):
                        return True
    return False


def _is_gone_through_once(project: Project, cls: Class) -> bool:
    """Whether objects are made by files in a folder for evaluation only, or all loaders of the class read it in order,
    once, for a model that does not learn from it."""
    uses = list(makers(project, cls))
    if not uses or None in uses:
        return False
    if all(use is not None and not FOLDERS.isdisjoint(project.path(use).lower().split("/")[:-1]) for use in uses):
        return True
    loaders = workers.users(project, cls)
    return bool(loaders) and all(_goes_once(project, loader) for loader in loaders)


def _is_extra(project: Project, cls: Class) -> bool:
    """Whether every place that makes an object is for an option of which no README speaks."""
    uses = list(makers(project, cls))
    return bool(uses) and all(use is not None and asked.is_extra(project, use) for use in uses)


def _is_only_chosen(project: Project, cls: Class) -> bool:
    """Whether a class is only ever registered, for some loader that takes what a config names."""
    uses = list(makers(project, cls))
    return bool(uses) and not any(uses) and not workers.users(project, cls) and bool(workers.unclaimed(project, cls))


def _goes_once(project: Project, loader: Loader) -> bool:
    for name in ("shuffle", "sampler", "batch_sampler"):
        for said in alternatives(project.argument(loader, name).value):
            if not (isinstance(said, Absent) or (isinstance(said, Const) and not said.value)):
                return False
    found = [(loop, its) for loop in project.loader_loops() for its in loop.loaders if its.call is loader.call]
    return bool(found) and all(
        project.repeated_by(loop, its) is None
        and not sampling.trains(project, loop, its)
        and is_without_gradients(project, loop.node)
        for loop, its in found
    )


def is_without_gradients(project: Project, node: t.Node) -> bool:
    """Whether gradients are off around a node, by a ``with`` or by its function's decorator."""
    switches: list[t.Expr] = []
    for above in project.ancestors(node):
        if isinstance(above, t.With):
            switches += [item.value for item in above.items]
        if isinstance(above, t.FunctionDef):
            switches += above.decorators
    return any(_is_switch(project, one) for one in switches)


def _is_switch(project: Project, switch: t.Expr) -> bool:
    called = switch.func if isinstance(switch, t.Call) else switch
    return any(isinstance(one, External) and one.name in SWITCHES for one in alternatives(project.value(called)))


def makers(project: Project, cls: Class) -> Iterator[t.Call | None]:
    """The calls that make an object, but for trials; None for any other use of the class than to derive from it."""
    name = cls.scope.name
    node = cls.scope.node
    if isinstance(node, t.ClassDef) and node.decorators:
        yield None
    for call in project.evaluator.files.calls.get(name, ()):
        found = alternatives(project.value(call.func))
        if cls in found or not all(isinstance(one, Class) for one in found):
            own = project.site(call).scope.file is cls.scope.file and project.under_main_guard(call)
            if not own and not is_test(project.path(call)):
                yield call
    for load in unused.loads(project, name):
        above = project.parent(load)
        if isinstance(above, t.Call | t.ClassDef) and (isinstance(above, t.ClassDef) or load is above.func):
            continue
        if not (isinstance(above, t.Call) and isinstance(above.func, t.Name) and above.func.id in _ASKING):
            yield None


_ASKING = frozenset({"super", "isinstance", "issubclass"})
