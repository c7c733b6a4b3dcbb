"""Files without a word that rules are about, but that hand on what other files build: told from their bytes.

``datasets/__init__.py`` with ``def build_dataset(args): return build_coco(args)`` names no loader. Unless it is linked
with the rest, nobody is known to call ``build_coco``, or only where some rule happened to read that file before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dl_lint.source.byte_filter import LARGE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]*))", re.M)
_NAME = re.compile(rb"\w+")
_BUILDER = re.compile(rb"^[ \t]*def (?!test_)\w*(?:[dD]ata|oader)\w*\(", re.M)


def linking(data: Mapping[str, bytes], paths: Iterable[str], known: Iterable[str]) -> set[str]:
    """Those of ``paths`` that import a file of ``known`` by its name, or one that does, and speak of what it builds."""
    waiting = {path: names for path in paths if (names := _imported(data[path]))}
    named = {_module(path) for path in known if _builds(data[path])}
    found: set[str] = set()
    while new := {path for path, names in waiting.items() if not names.isdisjoint(named)}:
        found |= new
        named = {_module(path) for path in new}
        waiting = {path: names for path, names in waiting.items() if path not in new}
    return found


def _builds(data: bytes) -> bool:
    return b"DataLoader" in data or b"Dataset" in data or b"__getitem__" in data or b"Sampler" in data


def _speaks(data: bytes) -> bool:
    return b"dataset" in data or b"Dataset" in data or b"oader" in data


def _imported(data: bytes) -> frozenset[bytes]:
    """The names in the imports of a file that has a function for datasets or loaders; none of another, or of a large
    one, which does more than hand on."""
    if len(data) >= LARGE_BYTES or b"import" not in data or not _speaks(data) or _BUILDER.search(data) is None:
        return frozenset()
    return frozenset(
        name for one in _IMPORT.finditer(data) for part in one.groups() if part for name in _NAME.findall(part)
    )


def _module(path: str) -> bytes:
    """The name by which a file is imported."""
    folder, _, name = path.replace("\\", "/").rpartition("/")
    stem = name.rpartition(".")[0]
    return (folder.rpartition("/")[2] if stem == "__init__" else stem).encode(errors="surrogateescape")
