"""Scripts that are run otherwise than as they stand: shown cell by cell, or by a service on machines of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dl_lint.project import scripts
from dl_lint.project.values import External

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import FileIndex

SERVICES = frozenset({"sotabencheval", "torchbench"})
"""Packages of services that run a script on their machines."""

_TITLE = re.compile(
    rb"\A(?:\s|#[^\n]*+\n)*+r?(\"\"\"|''')(?:(?!\1)[\s\S]){0,600}?\S\n([=*~\"-])\2{3,}\s*\n", re.IGNORECASE
)
"""A docstring with an underlined title, which labels may precede."""

_CELL = re.compile(rb"^# ?%%(?: |$)", re.MULTILINE)


def is_elsewhere(project: Project, file: FileIndex) -> bool:
    """Whether a script is a page with cells (of sphinx-gallery), or there for a service to run."""
    return _is_page(project, file) or any(
        isinstance(one, External) and one.name.split(".")[0] in SERVICES for one in scripts.imported(project, file)
    )


def _is_page(project: Project, file: FileIndex) -> bool:
    """Whether a file is cut into cells, or begins with a text whose title is underlined, as sphinx-gallery wants it."""
    files = project.evaluator.files
    data = files.around.code.get(files.keys[file], b"")
    return len(_CELL.findall(data)) > 1 or _TITLE.match(data) is not None
