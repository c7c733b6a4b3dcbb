"""Loops that measure: each pass waits for the device to time its own work, and the figures are collected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import attributes, reach
from dl_lint.project.beside import is_cheap
from dl_lint.project.repetition import attacks, learns, words
from dl_lint.project.syntax import called, children
from dl_lint.project.values import External, Function, Instance, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.model import Project
    from dl_lint.project.values import Value

CLOCKS = frozenset({"time.time", "time.perf_counter", "time.monotonic", "time.time_ns", "time.perf_counter_ns"})

WAITING = frozenset({"synchronize", "item", "tolist", "cpu", "numpy", "float", "backward"})
"""Calls that wait for the device, and the one after which a step of training waits anyway."""

_LONG = frozenset({"generate", "chat", "beam_search"})
_PIECEMEAL = frozenset({"inferer", "sliding"})
"""Calls that run a model many times: for each token of a text; and words in the names of those that do so for each
window of a volume."""

_STEPS = frozenset({"inference", "sampling", "denoising", "ddim", "diffusion", "attack", "langevin"})
"""Words before ``steps`` in the names of arguments that say how often a model runs: ``sample(inference_steps=20)``."""

_WRITING = frozenset({"dump", "imwrite", "imsave", "save_image", "savez", "savez_compressed", "to_csv", "savefig"})
"""Calls that write a file."""

_TEXTS = frozenset({"answers", "completions", "responses", "rollouts", "sequences", "text", "texts", "tokens",
                    "trajectories", "trajectory"})  # fmt: skip
"""What a language model writes, as in ``generate_trajectory``."""

_PEAKS = ("reset_peak_memory_stats", "reset_max_memory_allocated", "max_memory_allocated", "max_memory_reserved")

COLLECTING = frozenset({"append", "extend", "add", "update"})


def is_timed(project: Project, loop: LoopNode | t.FunctionDef) -> bool:
    """Whether a loop trains nothing and collects how long the device took in each pass.

    It asks events for the time between them, or waits for the device and reads a clock before and after.
    """
    if isinstance(loop, t.FunctionDef):
        return False
    inside = [call for call in project.site(loop).scope.calls if loop in project.loops_around(call)]
    names = {call.func.attr for call in inside if isinstance(call.func, t.Attribute)}
    if "backward" in names:
        return False
    between = (call for call in inside if isinstance(call.func, t.Attribute) and call.func.attr == "elapsed_time")
    if any(_is_collected(project, call) for call in between):
        return True
    read = [call for call in inside if _is_clock(project, call)]
    return (
        "synchronize" in names and len(read) > 1 and any(_is_collected(project, one) for one in _spans(project, read))
    )


def measures_memory(project: Project, call: t.Call) -> bool:
    """Whether the function of ``call`` asks for the peak of the device's memory, or sets it back."""
    return any((called(one) or "").endswith(_PEAKS) for one in project.site(call).scope.calls)


def takes_long(project: Project, loop: LoopNode | t.FunctionDef, call: t.Call) -> bool:
    """Whether each pass of a loop runs the model again and again: it writes a text, slides over a volume or takes away
    noise, also in the function of ``call`` that it comes to; or, where nothing learns, looks for what the model gets
    wrong, or writes a file."""
    function = project.function_of(call)
    is_elsewhere = isinstance(loop, t.FunctionDef) or project.function_of(loop) is not function
    if is_elsewhere and any(_is_long(one) for one in function.calls):
        return True
    if isinstance(loop, t.FunctionDef):
        return False
    inside = [one for one in project.site(loop).scope.calls if loop in project.loops_around(one)]
    if any(map(_is_long, inside)):
        return True
    is_for_itself = any(called(one) in _WRITING for one in inside) or attacks(project, loop)
    return is_for_itself and not learns(project, loop)


def _is_long(call: t.Call) -> bool:
    name = called(call) or ""
    verb, *what = words(name) or [""]
    if (
        name in _LONG
        or (verb == "generate" and not _TEXTS.isdisjoint(what))
        or not _PIECEMEAL.isdisjoint((verb, *what))
    ):
        return True
    return any(_says_steps(one.name) for one in call.keywords if one.name is not None)


def _says_steps(name: str) -> bool:
    *before, last = words(name) or [""]
    return last == "steps" and not _STEPS.isdisjoint(before)


def is_clocked(project: Project, copy: t.Call) -> bool:
    """Whether a clock is read before a copy and after it in one pass, with nothing in between that waits, or the copy
    is under a ``with`` that waits at its end for the device, little else being there.

    What is measured there is the copy; it would be the time to ask for it.
    """
    stmt: t.Node | None = project.statement_of(copy)
    if _is_under_stopwatch(project, stmt):
        return True
    while isinstance(stmt, t.Stmt):
        above = project.parent(stmt)
        body = getattr(above, "body", ())
        if isinstance(body, tuple) and stmt in body:
            at = body.index(stmt)
            started = {name for one in body[:at] for name in _readings(project, one)}
            if started and _ends_span(project, body[at + 1 :], started):
                return True
        stmt = above if isinstance(above, t.If | t.With) else None
    return False


def _is_under_stopwatch(project: Project, stmt: t.Node | None) -> bool:
    """Whether a statement is under a ``with`` of an object of the project that synchronises as it is left."""
    while isinstance(stmt, t.Stmt):
        above = project.parent(stmt)
        if isinstance(above, t.With) and stmt in above.body:
            later = above.body[above.body.index(stmt) + 1 :]
            if not all(isinstance(one, t.Assign | t.AugAssign) and is_cheap(project, one) for one in later):
                return False
            if any(
                _waits_at_exit(project, one) for item in above.items for one in alternatives(project.value(item.value))
            ):
                return True
        stmt = above if isinstance(above, t.If | t.With) else None
    return False


def _waits_at_exit(project: Project, value: Value) -> bool:
    if not isinstance(value, Instance):
        return False
    left = attributes.of_class(project.evaluator, value.cls, "__exit__")
    entered = reach.reachable(project.evaluator, (left.scope,) if isinstance(left, Function) else (), value.cls)
    return any(called(call) == "synchronize" for scope in entered for call in scope.calls)


def _readings(project: Project, stmt: t.Stmt) -> Iterator[str]:
    """The names that a statement gives the time of a clock."""
    if isinstance(stmt, t.Assign) and isinstance(stmt.value, t.Call) and _is_clock(project, stmt.value):
        yield from (one.id for one in stmt.targets if isinstance(one, t.Name))


def _ends_span(project: Project, later: tuple[t.Stmt, ...], started: set[str]) -> bool:
    """Whether the time since one of ``started`` is taken before anything waits for the device."""
    waiting: list[t.Node] = list(reversed(later))
    while waiting:
        node = waiting.pop()
        match node:
            case t.With(body=body):
                waiting += reversed(body)
            case t.Assign(value=t.Expr() as value) | t.ExprStmt(value=value):
                waiting.append(value)
            case t.Stmt():
                return False
            case t.BinOp(left=t.Call() as now, op="-", right=t.Name(id=name)) if name in started:
                return _is_clock(project, now)
            case _:
                if called(node) in WAITING:
                    return False
                waiting += reversed(children(node))
    return False


def _is_clock(project: Project, call: t.Call) -> bool:
    return any(isinstance(one, External) and one.name in CLOCKS for one in alternatives(project.value(call.func)))


def _spans(project: Project, read: list[t.Call]) -> Iterator[t.Node]:
    """The differences of clock readings: ``time() - start``, or ``end - start`` where the names hold readings."""
    for call in read:
        above = project.parent(call)
        if isinstance(above, t.BinOp) and above.op == "-":
            yield above
        for target in above.targets if isinstance(above, t.Assign) else ():
            if isinstance(target, t.Name):
                for load in project.site(call).scope.loads.get(target.id, ()):
                    around = project.parent(load)
                    if isinstance(around, t.BinOp) and around.op == "-":
                        yield around


def _is_collected(project: Project, figure: t.Node) -> bool:
    """Whether a figure is added to others: appended, summed up, or stored at a place of its own; under a name too."""
    for above in project.ancestors(figure):
        if isinstance(above, t.Call) and isinstance(above.func, t.Attribute) and above.func.attr in COLLECTING:
            return True
        if isinstance(above, t.AugAssign):
            return True
        if isinstance(above, t.Assign):
            return any(isinstance(one, t.Subscript) or _name_collected(project, one) for one in above.targets)
        if isinstance(above, t.Stmt):
            return False
    return False


def _name_collected(project: Project, target: t.Expr) -> bool:
    if not isinstance(target, t.Name):
        return False
    for load in project.site(target).scope.loads.get(target.id, ()):
        for above in project.ancestors(load):
            if isinstance(above, t.AugAssign):
                return True
            if isinstance(above, t.Call) and isinstance(above.func, t.Attribute) and above.func.attr in COLLECTING:
                return True
            if isinstance(above, t.Stmt):
                break
    return False
