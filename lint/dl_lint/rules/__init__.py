"""The rules: one file each, named like the rule, which holds its documentation, its check and its ``Quiet`` list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.context import entry_points
from dl_lint.pipeline import workers
from dl_lint.rule import Quiet

if TYPE_CHECKING:
    from dl_lint.project import Project
    from dl_lint.rule import Finding


def _is_in_test(project: Project, finding: Finding) -> bool:
    return entry_points.is_test(project, finding.place.path)


def _is_left_to_callers(project: Project, finding: Finding) -> bool:
    needs = finding.needs
    return needs is not None and workers.are_left_to_callers(project, needs.loaders, needs.cls, needs.node)


EVERYWHERE = (
    Quiet("advice", "it stands in a test, which takes a batch or two", _is_in_test),
    Quiet(
        "advice",
        "it is left to whoever calls it: nobody here asks for the workers, or for the code, that it takes",
        _is_left_to_callers,
    ),
)
"""What holds for every rule; asked of the project and the finding."""
