"""Where the scripts around a piece of code can run: on what system, and with how new a Python."""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import platforms, scripts, unused
from dl_lint.project.frameworks import OUTGROWN
from dl_lint.project.values import External, Instance, Module, Wrapped, alternatives

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import FileIndex

OTHERS = ('"mps"', "'mps'", ".mps", "win32", "darwin", "Darwin", '== "nt"', "== 'nt'", "platform.system(")
"""Words of code that minds what other system it runs on than Linux."""

_CHOOSING = ("mps.is_available",)
"""Words of code that runs on one, wherever they stand: the others may be carried along, or be about something else."""


def always_fork(project: Project, node: t.Node) -> bool:
    """Whether every script that comes to ``node`` is for a Python that forks on Linux, and neither the nearest prose
    that names a system nor one of them speaks of another, nor a file that they import chooses one; or for a torch whose
    Pythons fork on macOS, too, and not for Windows.

    That is a Python older than 3.14: by what the project says, or by packages or methods which newer ones have not.
    """
    if platforms.is_of_forking_age(project, node):
        return True
    if not is_outgrown(project, node) or not platforms.named_systems(project, node) <= {"Linux"}:
        return False
    file = project.site(node).scope.file
    if any(_says(project, one, OTHERS) for one in {file, *_scripts(project, file)}):
        return False
    return not any(_says(project, one, _CHOOSING) for files in needed_by_scripts(project, node) for one in files)


def _says(project: Project, file: FileIndex, words: tuple[str, ...]) -> bool:
    text = project.evaluator.files.text(file)
    return any(word in text for word in words)


def is_outgrown(project: Project, node: t.Node) -> bool:
    """Whether every script that comes to ``node`` is for a Python older than 3.14."""
    return _is_outgrown_by_code(project, node) or platforms.is_for_older_python(project, node)


def _is_outgrown_by_code(project: Project, node: t.Node) -> bool:
    return all(any(_is_outgrown(project, one) for one in files) for files in needed_by_scripts(project, node))


def needed_by_scripts(project: Project, node: t.Node) -> tuple[frozenset[FileIndex], ...]:
    """The files that each script that comes to ``node`` imports, itself among them."""
    file = project.site(node).scope.file
    return project.evaluator.once(
        ("needed by scripts", file),
        lambda: tuple(frozenset(_needed(project, one)) for one in _scripts(project, file)),
    )


def _is_outgrown(project: Project, file: FileIndex) -> bool:
    return not OUTGROWN.isdisjoint(_packages(project, file)) or _advances_as_of_old(project, file)


def _packages(project: Project, file: FileIndex) -> frozenset[str]:
    """The outside modules that importing a file imports, with the packages that they are in."""
    return project.evaluator.once(("packages", file), lambda: frozenset(_imported(project, file)))


def _imported(project: Project, file: FileIndex) -> Iterator[str]:
    for value in scripts.imported(project, file):
        if isinstance(value, External):
            parts = value.name.split(".")
            yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def _advances_as_of_old(project: Project, file: FileIndex) -> bool:
    """Whether ``iter(loader).next()`` is called, as only the iterators of torch up to 1.12 have it."""
    for call in file.methods.get("next", ()):
        if isinstance(call.func, t.Attribute) and not call.args:
            found = alternatives(project.value(call.func.value))
            if found and all(_is_plain(one) for one in found):
                return True
    return False


def _is_plain(value: object) -> bool:
    """Whether something is what ``iter`` gives, not of a class of the project, which may have any method."""
    return (
        isinstance(value, Wrapped)
        and value.kind == "iter"
        and not any(isinstance(one, Instance) for one in value.inner)
    )


# --- which files ---------------------------------------------------------------------------


def _needed(project: Project, file: FileIndex) -> set[FileIndex]:
    """A file and those that importing it imports."""
    found, waiting = {file}, [file]
    while waiting:
        for one in _modules(project, waiting.pop()) - found:
            found.add(one)
            waiting.append(one)
    return found


def _modules(project: Project, file: FileIndex) -> frozenset[FileIndex]:
    return project.evaluator.once(
        ("modules", file),
        lambda: frozenset(one.file for one in scripts.imported(project, file) if isinstance(one, Module)),
    )


def _naming(project: Project, file: FileIndex) -> Iterable[FileIndex]:
    """The files with an import that may be of one, by its name: to know for sure, what they import has to be read."""
    named = project.evaluator.read_off("imports", lambda: _by_imported_name(project.files))
    parts = PurePosixPath(file.path).with_suffix("").parts
    return named.get(parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1], ())


def _by_imported_name(files: Iterable[FileIndex]) -> Mapping[str, Collection[FileIndex]]:
    found: defaultdict[str, dict[FileIndex, None]] = defaultdict(dict)
    for file in files:
        folders = PurePosixPath(file.path).parts[:-1]
        for bindings in file.module.bindings.values():
            for binding in bindings:
                for name in scripts.imported_names(binding):
                    found[name][file] = None
                if isinstance(binding.node, t.ImportFrom) and 0 < binding.node.level <= len(folders):
                    found[folders[-binding.node.level]][file] = None  # from . import name
    return found


def _scripts(project: Project, file: FileIndex) -> frozenset[FileIndex]:
    """The files that come to import one and that no other imports, itself if it is such: the scripts among them."""
    return project.evaluator.once(("scripts", file), lambda: _found_scripts(project, file))


def _found_scripts(project: Project, file: FileIndex) -> frozenset[FileIndex]:
    importers: dict[FileIndex, set[FileIndex]] = {}
    waiting = [file]
    while waiting:
        one = waiting.pop()
        importers[one] = {
            other for other in _naming(project, one) if one in _modules(project, other) and other is not one
        }
        waiting.extend(importers[one] - importers.keys())
    first = {one for one in importers if not importers[one]} or {file}
    return frozenset({one for one in first if unused.is_script(project, one)} or first)
