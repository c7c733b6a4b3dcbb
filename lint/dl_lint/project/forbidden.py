"""Data sets for which a script refuses to start with workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import beside
from dl_lint.project.callers import is_test
from dl_lint.project.repetition import words
from dl_lint.project.syntax import dotted
from dl_lint.project.values import alternatives

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.values import Class


def are_workers(project: Project, cls: Class) -> bool:
    """Whether each place that makes an object of ``cls`` comes behind a test that there are no workers:
    ``assert args.num_workers == 0``."""
    made = [call for call in project.evaluator.files.calls.get(cls.scope.name, ()) if _makes(project, call, cls)]
    return bool(made) and all(any(map(_refuses, beside.before(project, call))) for call in made)


def _makes(project: Project, call: t.Call, cls: Class) -> bool:
    return cls in alternatives(project.value(call.func)) and not is_test(project.path(call))


def _refuses(stmt: t.Stmt) -> bool:
    match stmt:
        case t.Assert(test=t.Compare(left=left, ops=("==",), comparators=(t.Constant(value=0),))):
            return words(dotted(left) or "")[-2:] == ["num", "workers"]
        case _:
            return False
