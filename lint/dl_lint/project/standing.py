"""What the place of a finding says of its worth, whatever the rule."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from dl_lint.rule import Quiet

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.rule import Place

_TEST = re.compile(r"(test_.*|.*_test|conftest)\.py")
"""Files that pytest takes tests from."""

_FOLDERS = frozenset({"tests", "testing", "test_utils"})
"""Folders of tests, and of what they are made of; ``test`` may hold the test of a model."""

_TESTING = frozenset({"pytest", "unittest"})


def _is_in_test(project: Project, place: Place, _code: str) -> bool:
    """Whether pytest takes a file for tests by its name, and it stands in a folder of tests or uses pytest or unittest:
    ``test_net.py`` beside ``train.py`` evaluates a model."""
    path = PurePosixPath(place.path)
    if not _TEST.fullmatch(path.name):
        return False
    loads = (scope.loads for file in project.files if file.path == place.path for scope in file.scopes)
    return not _FOLDERS.isdisjoint(path.parts) or any(not _TESTING.isdisjoint(one) for one in loads)


QUIET = (Quiet("advice", "it stands in a test, which takes a batch or two", _is_in_test),)
"""What holds for every rule."""
