"""Files without a word that rules are about, but that call what other files build, iterate or train: told from their
bytes.

``datasets/__init__.py`` with ``def build_dataset(args): return build_coco(args)`` names no loader, and ``launch.py``
with ``run_training(num_workers=2)`` none either. Unless they are linked with the rest, nobody is known to call
``build_coco`` and ``run_training``, or only where some rule happened to read that file before.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from dl_lint.source.byte_filter import names_loader, trains

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


_FROM = re.compile(rb"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.M)
_IMPORT = re.compile(rb"^[ \t]*import[ \t]+([^\n]*)", re.M)
_DEFINED = re.compile(rb"^(?:async )?(?:def|class) (\w+)", re.M)

Exports = dict[bytes, set[bytes]]
"""By the last part of a module's name, what modules of that name define at their top."""


def linking(data: Mapping[str, bytes], paths: Iterable[str], known: Iterable[str]) -> set[str]:
    """Those of ``paths`` that import what a file of ``known`` defines, or one that does, and use it."""
    waiting = {path: data[path] for path in paths if b"import" in data[path]}
    exports = _exports(data, (path for path in known if _matters(data[path])))
    found: set[str] = set()
    while exports and (new := {path for path, text in waiting.items() if _uses(text, exports)}):
        found |= new
        exports = _exports(data, new)
        waiting = {path: text for path, text in waiting.items() if path not in new}
    return found


def _matters(data: bytes) -> bool:
    """Whether a file builds loaders, datasets or samplers, takes loaders or trains."""
    return (
        b"DataLoader" in data
        or b"Dataset" in data
        or b"__getitem__" in data
        or b"Sampler" in data
        or names_loader(data)
        or trains(data)
    )


def _exports(data: Mapping[str, bytes], paths: Iterable[str]) -> Exports:
    found: defaultdict[bytes, set[bytes]] = defaultdict(set)
    for path in paths:
        found[_module(path)].update(_DEFINED.findall(data[path]))
    return found


def _uses(data: bytes, exports: Exports) -> bool:
    """Whether a file imports one of the names, or its module, and has it in its code too."""
    for module, name, alias in _imported(data):
        defined = exports.get(module, ())
        if _is_used(data, alias) if name in defined else name == b"*" and any(one in data for one in defined):
            return True
    return any(b"%s.%s(" % (alias, one) in data for module, alias in _modules(data) for one in exports.get(module, ()))


def _imported(data: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """The names that are imported from modules, each behind the last part of its module's, and what it goes by."""
    for module, names in _FROM.findall(data):
        for name, alias in _aliases(names):
            yield module.rpartition(b".")[2], name, alias


def _modules(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """What may be modules that are imported, by the last part of their names, each with the name that it goes by."""
    for names in (*(names for _, names in _FROM.findall(data)), *_IMPORT.findall(data)):
        for name, alias in _aliases(names):
            yield name.rpartition(b".")[2], alias


def _aliases(names: bytes) -> Iterator[tuple[bytes, bytes]]:
    for one in names.partition(b"#")[0].strip().strip(b"()").split(b","):
        words = one.split()
        if words:
            yield words[0], words[-1]


def _is_used(data: bytes, name: bytes) -> bool:
    """Whether a name stands in a file more often than in its import."""
    return len(re.findall(rb"\b%s\b" % name, data)) > 1


def _module(path: str) -> bytes:
    """The name by which a file is imported."""
    folder, _, name = path.replace("\\", "/").rpartition("/")
    stem = name.rpartition(".")[0]
    return (folder.rpartition("/")[2] if stem == "__init__" else stem).encode(errors="surrogateescape")
