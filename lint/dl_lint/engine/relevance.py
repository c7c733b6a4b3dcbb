"""Which files of a run must be read as Python, told from their bytes, so that a run with none of them loads no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.engine.links import linking
from dl_lint.source.byte_filter import might_matter

if TYPE_CHECKING:
    from dl_lint.engine.files import File
    from dl_lint.engine.question import Tree
    from dl_lint.flow.hints import Hints


def relevant(tree: Tree, hints: Hints) -> dict[str, File]:
    """The files that can hold a finding, or a comment that speaks of one, and those that link such files, by path."""
    names = (*hints.dataloader_classes, *hints.dataset_classes)
    found = {file.path for file in tree.files if _matters(tree.data[file.path], names)}
    others = [file.path for file in tree.files if file.path not in found]
    found |= linking(tree.data, others, found)
    return {file.path: file for file in tree.files if file.path in found}


def is_doubtful(file: File, data: bytes) -> bool:
    """Whether a file that no rule is about must be read all the same, to tell why it cannot be checked.

    It must be text, and one that was named itself must be Python; what this Python rejects may still be of a newer one.
    """
    if not _is_utf8(data):
        return True
    if not file.by_name:
        return False
    if file.path.endswith(".ipynb"):
        return True

    from dl_lint.source.parser import is_python

    return not is_python(data)


def _matters(data: bytes, names: tuple[str, ...]) -> bool:
    return might_matter(data, names) or b"dl-lint" in data


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
