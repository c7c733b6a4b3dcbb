"""Whether batches of workers come with a file descriptor each, or as files of /dev/shm by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import machines, scripts, workers
from dl_lint.project.syntax import dotted
from dl_lint.project.values import Const, alternatives

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import FileIndex

SETTER = "torch.multiprocessing.set_sharing_strategy"


def are_kept(project: Project, near: t.Node) -> bool:
    """Whether batches read at ``near`` may come with descriptors: no call that is sure to have run chose otherwise."""
    file = project.site(near).scope.file
    chosen = [call for call in project.calls(SETTER) if _is_of_files(project, call)]
    at_import = {project.site(call).scope.file for call in chosen if _runs_on_import(project, call)}
    if file in at_import or all(at_import & one for one in machines.needed_by_scripts(project, near)):
        return False
    by_script = {project.site(call).scope.file for call in chosen if _runs_as_script(project, call)}
    return not (by_script and all(one & (at_import | by_script) for one in machines.needed_by_scripts(project, near)))


def _is_of_files(project: Project, call: t.Call) -> bool:
    given = [*call.args[:1], *(one.value for one in call.keywords if one.name == "new_strategy")]
    found = [one for expr in given for one in alternatives(project.value(expr))]
    return bool(found) and all(isinstance(one, Const) and one.value == "file_system" for one in found)


def _runs_on_import(project: Project, call: t.Call) -> bool:
    return project.function_of(call).kind == "module" and not any(project.tests_around(call))


def _runs_as_script(project: Project, call: t.Call) -> bool:
    """Whether every run of a file as a script comes to a call, and workers are forked from there."""
    file, function = project.site(call).scope.file, project.function_of(call)
    if project.hints.spawns or scripts.is_imported(project, file):
        return False
    if function.kind == "module":
        return _is_plain(project, call)
    started = (one for one in _called(file) if function in workers.functions(project, project.value(one.func)))
    return not any(project.tests_around(call)) and any(_is_plain(project, one) for one in started)


def _is_plain(project: Project, node: t.Node) -> bool:
    """Whether nothing but the main guard stands around what module level does."""
    tests = [test for test, outcome in project.tests_around(node) if outcome or not _is_guard(test)]
    return all(_is_guard(test) for test in tests)


def _is_guard(test: t.Expr) -> bool:
    return isinstance(test, t.Compare) and "__name__" in (dotted(test.left), dotted(test.comparators[0]))


def _called(file: FileIndex) -> tuple[t.Call, ...]:
    return tuple(call for scope in scripts.module_level(file) for call in scope.calls)
