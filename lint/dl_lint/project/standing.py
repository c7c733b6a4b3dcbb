"""What the place of a finding says of its worth: code that others keep, that tests, or that nothing runs."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import unused
from dl_lint.project.syntax import spans
from dl_lint.project.truth import truth
from dl_lint.rule import Quiet

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import FileIndex, Scope
    from dl_lint.rule import Place

_COPIED = re.compile(r"third[_-]?party|3rdparty|_?vendor|vendored|externals?|extern|.+[_-]master|.+[_-]main|.+_repo")
"""Folders of code that others keep, and that its own project mends; ``-master`` or ``-main`` ends a download's name,
``_repo`` one that was cloned."""

_PAST = re.compile(r"(?:old|legacy|deprecated|obsolete|archived?)(?:[_-].+)?|.+[_-](?:old|legacy|deprecated|archived?)")
"""Folders of code that nobody works on any more."""

_TEST = re.compile(r"(test_.*|.*_test|conftest)\.py")
"""Files that pytest takes tests from."""

_FOLDERS = frozenset({"tests", "testing", "test_utils"})
"""Folders of tests, and of what they are made of; ``test`` may hold the test of a model."""

_AT_ONCE = frozenset({"DL202", "DL203"})
"""Rules of faults for which a loader cannot be made. Others are in tests on purpose, come with many batches or on
another system, or tell of themselves."""

_TESTING = frozenset({"pytest", "unittest"})


_RAISING = frozenset({"DL202", "DL203", "DL211"})
"""Rules of what raises an exception at once."""

_EXPECTING = ("raises", "assertRaises", "assertRaisesRegex")
"""Methods of pytest and unittest whose block is to raise one."""


def _is_copied(_project: Project, place: Place, _code: str) -> bool:
    return any(_COPIED.fullmatch(one) for one in place.path.split("/")[:-1])


def _is_past(_project: Project, place: Place, _code: str) -> bool:
    return any(_PAST.fullmatch(one) for one in place.path.split("/")[:-1])


def _is_test(project: Project, place: Place, code: str) -> bool:
    file = _file(project, place)
    return file is not None and code not in _AT_ONCE and _tests(file)


def _is_off(project: Project, place: Place, _code: str) -> bool:
    file = _file(project, place)
    return file is not None and _is_switched_off(project, file, place.span[0])


def _is_unused(project: Project, place: Place, _code: str) -> bool:
    file = _file(project, place)
    around = None if file is None else _around(file, place.span[0])
    return around is not None and unused.is_unused_function(project, around)


def _file(project: Project, place: Place) -> FileIndex | None:
    return next((one for one in project.files if one.path == place.path), None)


def _is_expected(project: Project, place: Place, code: str) -> bool:
    """Whether a test expects an exception at ``place``: ``with pytest.raises(ValueError):``."""
    if code not in _RAISING:
        return False
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


QUIET = (
    Quiet("silent", "a test expects the exception", _is_expected),
    Quiet("advice", "it stands in a copy of somebody else's code", _is_copied),
    Quiet("advice", "it stands in code of the past", _is_past),
    Quiet("advice", "a test takes a batch or two", _is_test),
    Quiet("advice", "a test around it never holds", _is_off),
    Quiet("advice", "nothing calls this function", _is_unused),
)
"""What holds for every rule."""
