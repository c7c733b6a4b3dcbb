"""Whether a loader is known to come to its end again and again, or only to begin anew if it ever does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import asked, cadence, hooks, persistence, rounds, steps
from dl_lint.project.loops import begins
from dl_lint.project.repetition import learns, names_in, words
from dl_lint.project.roles import is_without_gradients
from dl_lint.project.rounds import RANGES, counts_epochs
from dl_lint.project.syntax import called, children, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.model import Project
    from dl_lint.project.values import Loader


def doubt(project: Project, loader: Loader, again: t.Node, loop: LoopNode | None) -> str:
    """Why ``again`` may end before it has gone over ``loader`` twice, as the end of a sentence; empty if nothing says
    so: a script of Fabric has a loop of its own, it counts steps, or ``loop`` takes single batches of an iterator that
    is made anew only where it ended, or an option asks for one pass, or may ask for few, or each pass is for one of a
    few models."""
    asked_for = hooks.taken_by_hand(project, again) if isinstance(again, t.FunctionDef) else None
    if asked_for is not None:
        return f" (or a loop for which {project.told(project.place(asked_for))} asks for it)"
    if steps.are_counted(project, loader, again, loop):
        return _STEPS
    if loop is not None and _is_renewed_at_its_end(project, loader, again, loop):
        return _STEPS
    if rounds.twice_at_most(project.evaluator, again):
        return " (twice)"
    if rounds.once_by_default(project.evaluator, again):
        return " (once, by default of its option)"
    if isinstance(again, t.For) and _is_over_a_few(again):
        return " (once for each of a few)"
    if isinstance(again, t.For) and loop is not again and _is_a_trial_of(project, again):
        return " (nothing is learnt between its passes)"
    if loop is not None and loop is not again and cadence.may_be_rare(project, loader, loop, again):
        return " (or in every n-th of its passes, as an option says)"
    return ""


_FEW = frozenset(
    {"attack", "attacks", "checkpoint", "checkpoints", "ckpt", "ckpts", "detector", "detectors", "method", "methods",
     "metric", "metrics", "model", "models", "net", "nets", "weights"}
)  # fmt: skip
"""Words for what a script goes over to evaluate each of them."""


_TRIES = frozenset({"attempt", "draw", "fold", "group", "repeat", "repetition", "run", "seed", "trial"})
"""First words of the names of what numbers tries, and no epochs."""


def _is_a_trial_of(project: Project, loop: t.For) -> bool:
    """Whether a loop only tries what has been learnt on this and that, ``for size in sizes: evaluate(model, size)``, or
    again and again, ``for trial in range(10)``, or is without gradients as a whole."""
    if is_without_gradients(project, loop):
        return True
    over = loop.iter
    while isinstance(over, t.Call) and called(over) not in RANGES and over.args:
        over = over.args[0]  # a progress bar around it
    numbered = isinstance(over, t.Call) and all(_TRIES.isdisjoint(words(name)[:1]) for name in names_in(loop.target))
    return not (numbered or counts_epochs(loop) or learns(project, loop))


_NAMING = frozenset({"name", "path", "key", "file", "dir", "type"})
"""Last words of what stands for something else: ``model_name``."""


def _is_over_a_few(loop: t.For) -> bool:
    for parts in map(words, names_in(loop.target)):
        while len(parts) > 1 and parts[-1] in _NAMING:
            parts.pop()
        if not _FEW.isdisjoint(parts[-1:]):
            return True
    return False


_TRIALS = frozenset({"debug", "debugging", "testing", "smoke", "toy", "dry"})
"""Words in the names of options that ask for a run in which nothing is learnt."""


def of_its_own(project: Project, loader: Loader) -> str:
    """The same for a loader that is made where an option asks for a trial, ``if args.debug:``, that has no workers in
    any command that the prose of its project gives, or so few that they are soon there."""
    for test, outcome in project.tests_around(loader.call):
        while isinstance(test, t.UnaryOp) and test.op == "not":
            test, outcome = test.operand, not outcome
        named = isinstance(test, t.Name | t.Attribute) and not _TRIALS.isdisjoint(words(dotted(test) or ""))
        if named and outcome:
            return " (in a trial)"
    if asked.runs_without_workers(project, loader):
        return " (as its README runs it, it has none)"
    return _FORKED if persistence.are_soon_there(project, loader) else ""


_FORKED = f" (there are {persistence.FEW} at most, and they fork in a tenth of a second)"

_STEPS = " (it takes steps: how many passes they make is not known)"


def _is_renewed_at_its_end(project: Project, loader: Loader, again: t.Node, loop: LoopNode) -> bool:
    if not isinstance(again, t.For | t.While | t.Generator) or not _is_drawn_from(project, loader, loop):
        return False
    outer = project.function_of(again)
    anew = [
        _handler(project, call)
        for scope in dict.fromkeys((outer, project.function_of(loop)))
        for call in begins(project.evaluator, scope, loader)
        if scope is not outer or again in project.loops_around(call)
    ]
    if not anew or any(one is None or _ends_epoch(project, one, again) for one in anew):
        return False
    return not any(
        _is_of_length(project, limit, loader, steps.DEEPEST)
        for node in (loop, *project.repeating(loop))
        for limit in _limits(node)
    )


def _is_drawn_from(project: Project, loader: Loader, loop: LoopNode) -> bool:
    """Whether ``loop`` takes what ``next`` gives of a loader, and does not go over it itself."""
    sources = [one.source for one in project.loader_loops() if one.node is loop and loader in one.loaders]
    return bool(sources) and all(isinstance(project.parent(one), t.Call | t.Attribute) for one in sources)


def _handler(project: Project, call: t.Call) -> t.Handler | None:
    return next((above for above in project.ancestors(call) if isinstance(above, t.Handler)), None)


def _ends_epoch(project: Project, handler: t.Handler, again: LoopNode) -> bool:
    """Whether the end of the loader is the end of the loop, or counts epochs that end ``again``."""
    counted: set[str] = set()
    waiting: list[t.Node] = list(handler.body)
    while waiting:
        node = waiting.pop()
        match node:
            case t.Jump(kind="break"):
                return True
            case t.AugAssign(target=target) | t.Assign(targets=(target, *_)):
                counted.update(names_in(target))
            case t.If():
                waiting += (*node.body, *node.orelse)
            case _:
                continue
    return any(not counted.isdisjoint(names_in(test)) for test in _ending(project, again))


def _ending(project: Project, again: LoopNode) -> Iterator[t.Expr]:
    """The tests that end a loop, or leave it."""
    if isinstance(again, t.While):
        yield again.test
    for owner, arms in project.site(again).scope.file.arms.items():
        leaves = any(arm.exits in ("leave", "break") for arm in arms)
        if leaves and isinstance(owner, t.If) and again in project.loops_around(owner):
            yield owner.test


def _limits(loop: LoopNode) -> Iterator[t.Expr]:
    """What may say how many passes a loop has."""
    yield loop.test if isinstance(loop, t.While) else loop.iter


def _is_of_length(project: Project, expr: t.Expr, loader: Loader, depth: int) -> bool:
    """Whether a number is made from the length of a loader, or from one of something that is no loader."""
    waiting: list[t.Node] = [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, t.Call) and dotted(node.func) == "len" and node.args:
            measured = {one.call for one in project.iterated_loaders(node.args[0])[0]}
            if not measured or loader.call in measured:
                return True
        waiting.extend(children(node))
    return depth > 0 and any(
        _is_of_length(project, value, loader, depth - 1)
        for name in names_in(expr)
        for value in steps.assigned(project, expr, name)
    )
