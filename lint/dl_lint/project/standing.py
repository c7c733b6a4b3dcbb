"""What the place of a finding says of its worth: code that others keep, that tests, or that nothing runs or could."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import broken, platforms, unused
from dl_lint.project.repetition import words
from dl_lint.project.syntax import spans
from dl_lint.project.truth import truth

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import FileIndex, Scope
    from dl_lint.rule import Finding, Place

_COPIED = re.compile(r"third[_-]?party|3rdparty|_?vendor|vendored|externals?|extern|.+[_-]master|.+[_-]main|.+_repo")
"""Folders of code that others keep, and that its own project mends; ``-master`` or ``-main`` ends a download's name,
``_repo`` one that was cloned."""

_PAST = re.compile(r"(?:old|legacy|deprecated|obsolete|archived?)(?:[_-].+)?|.+[_-](?:old|legacy|deprecated|archived?)")
"""Folders of code that nobody works on any more."""

_TEST = re.compile(r"(test_.*|.*_test|conftest)\.py")
"""Files that pytest takes tests from."""

_FOLDERS = frozenset({"tests", "testing", "test_utils"})
"""Folders of tests, and of what they are made of; ``test`` may hold the test of a model."""

_DEBUGGING = frozenset({"debug", "debugging", "deterministic"})
"""Words in the names of functions that run where somebody looks for a fault, or wants each run to be the same."""

_AT_ONCE = frozenset({"DL202", "DL203"})
"""Rules of faults for which a loader cannot be made. Others are in tests on purpose, come with many batches or on
another system, or tell of themselves."""

_TESTING = frozenset({"pytest", "unittest"})


_RAISING = frozenset({"DL202", "DL203", "DL211"})
"""Rules of what raises an exception at once."""

_EXPECTING = ("raises", "assertRaises", "assertRaisesRegex")
"""Methods of pytest and unittest whose block is to raise one."""


def weighed(project: Project, finding: Finding, code: str) -> Finding | None:
    """A finding of the rule ``code``, as advice where its place says so; None where the exception that it speaks of is
    what a test expects."""
    if code in _RAISING and _is_expected(project, finding.place):
        return None
    if finding.advice or not _is_minor(project, finding.place, code):
        return finding
    return replace(finding, advice=True)


def _is_minor(project: Project, place: Place, code: str) -> bool:
    """Whether what is wrong at ``place`` is advice: in a copy of somebody else's code or package, in code that an error
    or a test keeps from running, in a function that nothing calls, only as a last resort or in search of a fault; in a
    test, which takes a batch or two, but for a loader that cannot be made; and in code of the past."""
    folders = place.path.split("/")[:-1]
    if any(_COPIED.fullmatch(one) or _PAST.fullmatch(one) for one in folders):
        return True
    file = next((one for one in project.files if one.path == place.path), None)
    if file is None:
        return False
    if _is_carried(project, file):
        return True
    if code not in _AT_ONCE and _tests(file):
        return True
    around = _around(file, place.span[0])
    if _is_switched_off(project, file, place.span[0]):
        return True
    if broken.is_out_of_reach(project, file, around, place.span[0]):
        return True
    if around is None:
        return False
    if not _DEBUGGING.isdisjoint(words(around.name)):
        return True
    return unused.is_unused_function(project, around) or unused.is_last_resort(project, around)


def _is_carried(project: Project, file: FileIndex) -> bool:
    """Whether a file is of a package that others keep: a folder around it has a ``setup.py`` and a licence of its own,
    other than that of the project."""
    around, once = project.evaluator.files.around, project.evaluator.once
    carried: list[str] = []
    for folder in platforms.above(project, file):
        licence = once(("licence", folder), partial(around.licence, folder))
        if licence and any(one != licence for one in carried):
            return True
        if licence and "setup.py" in around.names(folder):
            carried.append(licence)
    return False


def _is_expected(project: Project, place: Place) -> bool:
    """Whether a test expects an exception at ``place``: ``with pytest.raises(ValueError):``."""
    calls = (call for call in project.method_calls(*_EXPECTING) if project.path(call) == place.path)
    around = (above for call in calls for above in project.ancestors(call) if isinstance(above, t.With))
    return any(spans(one.body, place.span[0]) for one in around)


def _is_switched_off(project: Project, file: FileIndex, line: int) -> bool:
    """Whether a line stands under a test that never comes out its way: ``if False:``, or where that is a constant."""
    for owner in file.arms:
        if isinstance(owner, t.If) and owner.at[0] <= line:
            for body, outcome in ((owner.body, True), (owner.orelse, False)):
                if spans(body, line) and truth(project.evaluator, owner.test) is (not outcome):
                    return True
    return False


def _tests(file: FileIndex) -> bool:
    """Whether pytest takes a file for tests by its name, and it stands in a folder of tests or uses pytest or unittest:
    ``test_net.py`` beside ``train.py`` evaluates a model."""
    path = PurePosixPath(file.path)
    if not _TEST.fullmatch(path.name):
        return False
    return not _FOLDERS.isdisjoint(path.parts) or any(not _TESTING.isdisjoint(scope.loads) for scope in file.scopes)


def _around(file: FileIndex, line: int) -> Scope | None:
    """The innermost function at ``line``."""
    found = [one for one in file.scopes if isinstance(one.node, t.FunctionDef) and _covers(one.node, line)]
    return max(found, key=lambda one: one.node.at if one.node is not None else (0, 0, 0, 0), default=None)


def _covers(node: t.FunctionDef, line: int) -> bool:
    return node.at[0] <= line <= node.end_line
