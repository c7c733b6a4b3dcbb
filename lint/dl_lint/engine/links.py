"""Files without a word that rules are about, but that call what other files build, iterate or train: told from their
bytes.

``datasets/__init__.py`` with ``def build_dataset(args): return build_coco(args)`` names no loader, and ``launch.py``
with ``run_training(num_workers=2)`` none either. Unless they are linked with the rest, nobody is known to call
``build_coco`` and ``run_training``, or only where some rule happened to read that file before.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dl_lint.source.byte_filter import names_loader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]*))", re.M)
_DEFINED = re.compile(rb"^(?:async )?(?:def|class) (\w+)", re.M)

Import = tuple[bytes, bytes, bytes]
"""The last part of the name of a module, empty in ``import a.b``; a name that is imported; and what it goes by."""

Exports = Mapping[bytes, set[bytes]]
"""By the last part of a module's name, what modules of that name define at their top for data."""


def linking(data: Mapping[str, bytes], paths: Iterable[str], known: Iterable[str]) -> set[str]:
    """Those of ``paths`` that import what a file of ``known`` defines for data, or one that does, and use it."""
    waiting = {path: names for path in paths if (names := tuple(_imported(data[path])))}
    exports: defaultdict[bytes, set[bytes]] = defaultdict(set)
    for path in known:
        if _matters(data[path]):
            exports[_module(path)].update(_defined(data[path], _matters))
    found: set[str] = set()
    new = exports
    while new:
        linked = {path: used for path, names in waiting.items() if (used := _used(data[path], names, new))}
        found |= linked.keys()
        new = defaultdict(set)
        for path, used in linked.items():
            handing_on = re.compile(rb"\b(?:%s)\b" % b"|".join(map(re.escape, used)))
            new[_module(path)].update(_defined(data[path], handing_on.search))
            del waiting[path]
    return found


def _matters(data: bytes) -> bool:
    """Whether code builds loaders, datasets or samplers, takes loaders or trains."""
    return (
        b"DataLoader" in data
        or b"Dataset" in data
        or b"__getitem__" in data
        or b"Sampler" in data
        or names_loader(data)
        or b".backward(" in data
    )


def _defined(data: bytes, matters: Callable[[bytes], object]) -> Iterator[bytes]:
    """The names of the functions and classes at the top of a file whose code matters, or that use one of these."""
    starts = list(_DEFINED.finditer(data))
    ends = [*(one.start() for one in starts[1:]), len(data)]
    blocks = {one[1]: data[one.start() : end] for one, end in zip(starts, ends, strict=False)}
    found = {name for name, text in blocks.items() if matters(text)}
    yield from found
    calling = re.compile(rb"\b(?:%s)\(" % b"|".join(found)) if found else None
    yield from (name for name, text in blocks.items() if calling is not None and calling.search(text))


def _used(data: bytes, names: Iterable[Import], exports: Exports) -> set[bytes]:
    """What a file imports of the names, or of their modules, and has in its code too: by the names that it uses."""
    found: set[bytes] = set()
    for module, name, alias in names:
        defined = exports.get(module, ())
        if name in defined and _is_repeated(data, alias):
            found.add(alias)
        elif name == b"*":
            found.update(one for one in defined if one in data)
        of_module = exports.get(name.rpartition(b".")[2], ())
        if any(b"%s.%s(" % (alias, one) in data for one in of_module):
            found.add(alias)
    return found


def _imported(data: bytes) -> Iterator[Import]:
    if b"import" in data:
        for module, names, plain in _IMPORT.findall(data):
            for name, alias in _aliases(names or plain):
                yield module.rpartition(b".")[2], name, alias


def _aliases(names: bytes) -> Iterator[tuple[bytes, bytes]]:
    for one in names.partition(b"#")[0].strip().strip(b"()").split(b","):
        words = one.split()
        if words:
            yield words[0], words[-1]


def _is_repeated(data: bytes, name: bytes) -> bool:
    """Whether a name stands in a file more often than in its import."""
    return len(re.findall(rb"\b%s\b" % name, data)) > 1


def _module(path: str) -> bytes:
    """The name by which a file is imported."""
    folder, _, name = path.replace("\\", "/").rpartition("/")
    stem = name.rpartition(".")[0]
    return (folder.rpartition("/")[2] if stem == "__init__" else stem).encode(errors="surrogateescape")
