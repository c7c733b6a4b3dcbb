"""What runs seldom beside a training: a test at the end, a prediction, a validation every n steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import cadence
from dl_lint.project.repetition import attacks, learns, words

if TYPE_CHECKING:
    from dl_lint.project.context import LoopNode
    from dl_lint.project.model import Project
    from dl_lint.project.values import Loader

_LOOKING = frozenset(
    {"accuracy", "eval", "evaluate", "evaluation", "extract", "extraction", "extractor", "fid", "infer", "inference",
     "metric", "metrics", "predict", "prediction", "predictions", "predictor", "recall", "submission", "test",
     "testing", "tester", "visualize", "visualise"}
)  # fmt: skip
"""Words in the names of functions that only look at what has been learnt."""


def is_seldom(project: Project, node: t.Node) -> bool:
    """Whether ``node`` runs once for each batch, outside training, or in a validation that comes every n steps."""
    return is_outside_training(project, node) or _is_now_and_then(project, node)


def is_outside_training(project: Project, node: t.Node) -> bool:
    """Whether ``node`` runs for each batch of a loader, also one that ``next`` takes, and none of the loops around it
    is known to learn, in itself or in a function that it calls: what it costs, it costs once.

    Nobody knows what runs a function again that nothing calls: that tells only by its name.
    """
    around = project.repeating(node)
    batches = project.evaluator.once("loops over loaders", lambda: {one.node for one in project.loader_loops()})
    over = [loop for loop in around if loop in batches] or list(around)
    return (
        bool(over) and not any(_learns(project, loop) for loop in around) and all(_is_run(project, one) for one in over)
    )


def is_only_looked_at(project: Project, loader: Loader) -> bool:
    """Whether all known loops over a loader are outside training."""
    loops = [one.node for one in project.loader_loops() if any(made.call is loader.call for made in one.loaders)]
    return bool(loops) and all(isinstance(one, t.For) and is_outside_training(project, one.body[0]) for one in loops)


def _learns(project: Project, loop: LoopNode) -> bool:
    """Whether a loop learns; not one named for looking on that goes back through a model to attack it."""
    return learns(project, loop) and not (_looks_on(project, loop) and attacks(project, loop))


def _looks_on(project: Project, loop: LoopNode) -> bool:
    return not _LOOKING.isdisjoint(words(project.function_of(loop).name))


def _is_now_and_then(project: Project, node: t.Node) -> bool:
    """Whether most batches of a training pass ``node`` by: it stands in a validation that comes every n steps, or in
    the last epoch."""
    batches = {one.node for one in project.loader_loops()}
    return any(
        cadence.is_left_out(project, node, loop) if loop in batches else cadence.is_once(project, node, loop)
        for loop in project.repeating(node)
    )


def _is_run(project: Project, loop: LoopNode) -> bool:
    """Whether it is known what runs a loop, or its function is named for what runs once."""
    function = project.function_of(loop)
    if function.kind == "module" or _looks_on(project, loop):
        return True
    return any(True for _ in project.callers(function))
