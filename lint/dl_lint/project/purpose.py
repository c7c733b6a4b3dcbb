"""What loaders and samplers are for, training or evaluation, by the names that the code gives them and their data."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal

from dl_lint.project.repetition import words
from dl_lint.source.syntax import Assignment, children, dotted, targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.loops import LoaderLoop
    from dl_lint.project.model import Project
    from dl_lint.project.values import Made

Purpose = Literal["training", "evaluation", "unknown"]

EVALUATION = frozenset(
    {"val", "valid", "validation", "validate", "eval", "evaluation", "evaluate", "dev", "test", "testing",
     "valset", "validset", "evalset", "devset", "testset", "valloader", "evalloader", "testloader"}
)  # fmt: skip
TRAINING = frozenset({"train", "training", "trn", "tr", "trainset", "trainloader", "fit", "finetune", "pretrain"})
HOOKS = frozenset({"val_dataloader", "test_dataloader"})
"""Methods of Lightning modules that give evaluation loaders."""


def purpose(project: Project, made: Made) -> Purpose:
    """What ``made`` is for: by what it is bound to and the data it is given, else by the function that makes it.

    Names that speak of both, and those that speak of neither, leave it unknown.
    """
    dataset = project.argument(made, "dataset")
    said = _of_words({*_bound_to(project, made.call), *(_mentioned(dataset.expr) if dataset.given else ())})
    if said == "unknown":
        said = _of_function(project.function_of(made.call).name)
    return "unknown" if said == "both" else said


def _of_words(names: set[str]) -> Literal["training", "evaluation", "unknown", "both"]:
    found = {word for name in names for word in words(name)}
    evaluation, training = not found.isdisjoint(EVALUATION), not found.isdisjoint(TRAINING)
    if evaluation and training:
        return "both"
    return "evaluation" if evaluation else "training" if training else "unknown"


def _of_function(name: str) -> Purpose:
    if name in HOOKS:
        return "evaluation"
    # a function whose name starts with test is more often a test than an evaluation
    return "evaluation" if _of_words({name}) == "evaluation" and "test" not in words(name) else "unknown"


def _bound_to(project: Project, call: ast.Call) -> Iterator[str]:
    """The names that the statement around a call gives to what comes of it; in ``a, b = f(), g()`` the call's own."""
    child: ast.AST = call
    within: ast.AST = call  # the node below child: the item of a tuple
    for above in project.ancestors(call):
        if isinstance(above, ast.keyword) and above.arg is not None and child is above.value:
            yield above.arg
        if isinstance(above, Assignment):
            for target in targets(above):
                yield from _targets(target, above.value, within)
        if isinstance(above, ast.stmt | ast.Lambda):
            return
        within, child = child, above


def _targets(target: ast.expr, value: ast.expr | None, within: ast.AST) -> Iterator[str]:
    match target, value:
        case (
            ast.Tuple(elts=names) | ast.List(elts=names) | ast.Set(elts=names),
            ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items),
        ) if within in items and len(names) == len(items):
            yield dotted(names[items.index(within)]) or ""
        case (ast.Subscript(), _):
            yield from _mentioned(target)
        case _:
            name = dotted(target)
            if name is not None:
                yield name


def _mentioned(node: ast.AST) -> Iterator[str]:
    """The names, attributes and keys in an expression."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        match one:
            case ast.Name(id=name):
                yield name
            case ast.Attribute(attr=name):
                yield name
            case ast.Constant(value=str() as key):
                yield key
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case _:
                pass
        waiting.extend(children(one))


def is_trained_on(project: Project, loop: LoaderLoop) -> bool:
    """Whether each pass of a loop has a backward pass, in the loop or in what it calls."""
    return loop.node in _training_loops(project)


def _training_loops(project: Project) -> frozenset[LoopNode]:
    return project.evaluator.once(
        "training loops",
        lambda: frozenset(node for step in project.method_calls("backward") for node in project.repeating(step)),
    )
