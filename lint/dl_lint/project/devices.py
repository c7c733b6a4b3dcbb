"""Which expressions name an accelerator, caller by caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.project import callers
from dl_lint.project.frameworks import ACCELERATORS
from dl_lint.project.values import NONE, Const, Option, Parameter, alternatives

if TYPE_CHECKING:
    import ast

    from dl_lint.project.model import Project
    from dl_lint.project.values import Value

FARTHEST = 4
"""Calls that a device is followed through; it is made in main() and handed on two or three times."""


def is_accelerator(project: Project, expr: ast.expr) -> bool:
    """Whether a device is an accelerator, at least where there is one, for all known callers.

    ``"cuda" if torch.cuda.is_available() else "cpu"`` is; what one caller sets to cuda and another to cpu is not.
    """
    return names_accelerator(project, project.evaluator.symbolic(expr))


def names_accelerator(project: Project, symbolic: Value, depth: int = FARTHEST) -> bool:
    """The same of a value whose parameters are open."""
    found = [one for one in alternatives(symbolic) if one != NONE]
    open_ = [one for one in found if isinstance(one, Parameter)]
    if open_:
        return len(open_) == len(found) and all(_passed(project, one, depth) for one in open_)
    return any(_is_named(one) for one in found)


def _passed(project: Project, parameter: Parameter, depth: int) -> bool:
    frames = project.callers(parameter.scope) if depth else ()
    if not frames:
        default = parameter.param.default
        return default is not None and names_accelerator(project, project.evaluator.symbolic(default), 0)
    passed = (callers.argument(project.evaluator, frame, parameter) for frame in frames)
    return all(names_accelerator(project, one, depth - 1) for one in passed)


def _is_named(value: Value) -> bool:
    if isinstance(value, Option):
        return any(_is_named(one) for one in alternatives(value.default))
    return isinstance(value, Const) and str(value.value).partition(":")[0] in ACCELERATORS
