"""What a dataset class is for: training, evaluation only, or nothing that the scripts of its project do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import purpose, unused
from dl_lint.project.callers import is_test
from dl_lint.project.repetition import words
from dl_lint.project.values import Class, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project

EVALUATING = frozenset({"val", "valid", "validation", "eval", "evaluation", "test", "testing"})
"""Words in the name of a class whose samples nothing is trained on: for evaluation, or for the project's own tests."""


def is_minor(project: Project, cls: Class) -> bool:
    """Whether no training has the samples of a dataset class: it is for evaluation only, or nobody makes an object."""
    return project.evaluator.once(
        ("minor", cls), lambda: _is_for_evaluation(project, cls) or unused.is_unused_class(project, cls)
    )


def _is_for_evaluation(project: Project, cls: Class) -> bool:
    """Whether every place that makes an object says so, or, where one does not say, the name of the class."""
    said = [purpose.said_around(project, call) if call is not None else "unknown" for call in _uses(project, cls)]
    if not said or "unknown" in said:
        named = {*words(cls.scope.name)}
        return bool(EVALUATING & named) and not purpose.TRAINING & named and {"training", "both"}.isdisjoint(said)
    return all(one == "evaluation" for one in said)


def _uses(project: Project, cls: Class) -> Iterator[t.Call | None]:
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
