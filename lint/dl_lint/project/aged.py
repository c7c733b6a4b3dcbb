"""What code says of the torch that it is for by what has ceased to work: ``loss.data[0]`` runs up to torch 0.4 only."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.repetition import words
from dl_lint.project.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dl_lint.project.declarations import Version
    from dl_lint.project.model import Project
    from dl_lint.project.modules import Files
    from dl_lint.project.scopes import FileIndex

LAST = (0, 4)
"""The last torch in which a loss, a tensor of no dimension, could be indexed; 1.0 came next."""

BEFORE = (0, 3)
"""The torch of code that does so and uses nothing that came with 0.4."""

_REMNANT = re.compile(rb"\b(?:async|volatile) ?= ?True\b|\btransforms\.Scale\(")
"""Arguments that torch 0.4 took away, of which ``async`` is a word of the language since, and a transform of then."""

_NEW = ("no_grad", "set_grad_enabled", "to")
"""Functions and methods that came with 0.4, as did ``item``: a file with that has been taken further, all but a part
that nobody runs."""


LAST_FLAT = (1, 6)
"""The last torch in which ``pred.t().eq(target)`` was contiguous, so that several of its rows could be viewed as one
(pytorch/examples#836)."""

_FLAT = re.compile(rb"\bcorrect\[: ?k\]\.view\(-1\)")
"""As in the measure of accuracy that many projects have from one example."""

_SEVERAL = re.compile(rb"\btopk ?= ?\(1, ?[2-9]|\baccuracy\w*\([^()\n]*, ?\(1, ?[2-9]")
"""More than the first row asked for, which alone can be viewed in any torch."""


LAST_ABC = (1, 8)
"""The last torch with ``torch._six.container_abcs``."""

_ABC = re.compile(rb"^from torch\._six import [^\n]*\bcontainer_abcs\b", re.MULTILINE)
"""As a file imports it that cannot do without: at its margin, in no ``try``."""


def ceiling(project: Project, file: FileIndex) -> tuple[Version, t.Attribute] | None:
    """The newest torch that a file runs with and what says so; None where nothing does."""
    return project.evaluator.once(("aged", file), lambda: _ceiling(project, file))


def _ceiling(project: Project, file: FileIndex) -> tuple[Version, t.Attribute] | None:
    told = next(_indexed_losses(project, file), None)
    if told is None or file.methods.get("item"):
        return None
    return (BEFORE if is_plain(file) else LAST), told


def is_plain(file: FileIndex) -> bool:
    """Whether a file uses nothing that came with torch 0.4."""
    return not any(file.methods.get(name) for name in (*_NEW, "item"))


def remnant(project: Project, near: t.Node) -> str | None:
    """What code in the folder of ``near`` uses of torch 0.3 and nothing newer has, and where; None if nothing."""
    files = project.evaluator.files
    folder = os.path.dirname(files.keys[project.site(near).scope.file])
    return project.evaluator.once(("remnants", folder), lambda: next(_remnants(files, folder), None))


def flattened(project: Project, folder: str) -> str | None:
    """What code in a folder, or below it, views as one in a way that torch 1.6 was the last to allow, and where."""
    files = project.evaluator.files
    return project.evaluator.once(("flattened", folder), lambda: _flattened(files, folder))


def abstract(project: Project, folder: str) -> str | None:
    """What code in a folder, or below it, imports that torch 1.8 was the last to have, and where."""
    files = project.evaluator.files
    return project.evaluator.once(
        ("abstract", folder), lambda: next(_matches(files, _below(files, folder), _ABC), None)
    )


def _below(files: Files, folder: str) -> dict[str, bytes]:
    return {path: data for path, data in files.around.code.items() if path.startswith(folder.rstrip("/") + "/")}


def _flattened(files: Files, folder: str) -> str | None:
    below = _below(files, folder)
    if any(_SEVERAL.search(data) for data in below.values()):
        return next(_matches(files, below, _FLAT), None)
    return None


def _matches(files: Files, code: Mapping[str, bytes], pattern: re.Pattern[bytes]) -> Iterator[str]:
    for path, data in sorted(code.items()):
        found = pattern.search(data)
        if found is not None:
            line = data.count(b"\n", 0, found.start()) + 1
            yield f"`{found[0].decode()}` ({files.around.shown(path)}:{line})"


def _remnants(files: Files, folder: str) -> Iterator[str]:
    beside = {path: data for path, data in files.around.code.items() if os.path.dirname(path) == folder}
    yield from _matches(files, beside, _REMNANT)


def _indexed_losses(project: Project, file: FileIndex) -> Iterator[t.Attribute]:
    """``loss.data[0]`` in code that trains: what is called a loss, or ``backward()`` is called on, is one number."""
    for scope in {project.function_of(call): None for call in file.methods.get("backward", ())}:
        started = {_started(call) for call in scope.calls}
        for name, loads in scope.loads.items():
            if name in started or "loss" in words(name):
                for data in map(project.parent, loads):
                    if isinstance(data, t.Attribute) and data.attr == "data" and _is_indexed(project, data):
                        yield data


def _started(call: t.Call) -> str | None:
    """The name of what a call goes back from, without a gradient that is given."""
    func = call.func
    going_back = isinstance(func, t.Attribute) and func.attr == "backward" and not call.args
    return dotted(func.value) if going_back and isinstance(func, t.Attribute) else None


def _is_indexed(project: Project, data: t.Attribute) -> bool:
    """Whether every run takes the first of it: no test or ``try`` is around."""
    match project.parent(data):
        case t.Subscript(value=value, index=t.Constant(value=0, kind="int")) as indexed if value is data:
            tries = any(isinstance(one, t.Try) for one in project.ancestors(indexed))
            return not tries and not any(project.tests_around(indexed))
        case _:
            return False
