"""What objects that make loaders are left to decide, as nothing is passed to their constructors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import attributes
from dl_lint.project.values import Absent, Const, Function, Instance, Value, alternatives

if TYPE_CHECKING:
    from dl_lint.project.loops import LoaderLoop
    from dl_lint.project.model import Project

WORKERS = "num_workers"


def leave_none(project: Project, loop: LoaderLoop) -> bool:
    """Whether a loop is over what a method of an object returns (``module.test_dataloader()``) whose constructor has
    ``num_workers=0``, and is passed no other; what it hands to the constructors of its bases is that, too."""
    match loop.source:
        case t.Call(func=t.Attribute(value=maker)):
            makers = alternatives(project.value(maker))
            return bool(makers) and all(_has_none(project, one) for one in makers)
        case _:
            return False


def _has_none(project: Project, maker: Value) -> bool:
    if not isinstance(maker, Instance) or maker.call is None:
        return False
    init = attributes.of_class(project.evaluator, maker.cls, "__init__")
    params = init.scope.params[1:] if isinstance(init, Function) else ()
    mine = next((one for one in params if one.name == WORKERS), None)
    if mine is None or not isinstance(mine.default, t.Constant) or mine.default.value != 0:
        return False
    positions = tuple(one.name for one in params if one.kind in ("positional", "plain"))
    given = project.passed(maker.call, WORKERS, *positions).value
    return isinstance(given, Absent) or given == Const(0, "int")
