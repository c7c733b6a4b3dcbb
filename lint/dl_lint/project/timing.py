"""Loops that measure: each pass waits for the device to time its own work, and the figures are collected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.values import External, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.model import Project

CLOCKS = frozenset({"time.time", "time.perf_counter", "time.monotonic", "time.time_ns", "time.perf_counter_ns"})

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
