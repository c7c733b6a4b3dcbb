"""Scripts that somebody runs by hand to look at data, beside those that a project is for."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import FileIndex

SHOWING = ("matplotlib.pyplot.show", "cv2.imshow", "cv2.waitKey")
"""What opens a window, and waits for whoever looks."""

TESTS = frozenset({"test", "tests"})


def is_by_hand(project: Project, file: FileIndex) -> bool:
    """Whether a script shows what its loader gives batch by batch, or stands among tests and has none."""
    return file in project.evaluator.once("shown", lambda: _shown(project)) or _is_no_test(file)


def _shown(project: Project) -> frozenset[FileIndex]:
    """The files with a loop over a loader that opens windows."""
    over = {loop.node for loop in project.loader_loops()}
    return frozenset(
        project.site(call).scope.file
        for call in project.calls(*SHOWING)
        if not over.isdisjoint(project.loops_around(call))
    )


def _is_no_test(file: FileIndex) -> bool:
    if TESTS.isdisjoint(PurePosixPath(file.path).parts[:-1]):
        return False
    names = (scope.name for scope in file.scopes if isinstance(scope.node, t.FunctionDef | t.ClassDef))
    return not any(name.lower().startswith("test") for name in names)
