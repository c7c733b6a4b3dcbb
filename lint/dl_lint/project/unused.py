"""Code that the scripts of a project do without: functions that nobody calls, copied from elsewhere or left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import FileIndex


def has_scripts(project: Project, file: FileIndex) -> bool:
    """Whether a project has a script besides a file."""
    return any(is_script(project, other) and other is not file for other in project.files)


def is_script(project: Project, file: FileIndex) -> bool:
    """Whether running a file does something with loaders."""
    if file.module.loads.get("__name__"):
        return True
    made = (project.function_of(loader.call) for loader in project.loaders())
    return any(scope.kind == "module" and scope.file is file for scope in made)
