"""Finding the files of a project by import, reading on demand those that are not linted."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING

from dl_lint.flow import models, search_paths
from dl_lint.flow.index import index_file
from dl_lint.flow.values import External, Module, Package, Value
from dl_lint.source import disk
from dl_lint.source.byte_filter import is_opaque
from dl_lint.source.file import LARGEST_BYTES, Source
from dl_lint.source.packaging import Around
from dl_lint.source.parser import Syntax
from dl_lint.source.syntax import option_name
from dl_lint.source.text import SourceError

if TYPE_CHECKING:
    import ast

    from dl_lint.flow.models import Models
    from dl_lint.flow.scopes import FileIndex, Parents, Sites, Store


Read = Callable[[str], Syntax | None]

Content = Callable[[str], bytes | None]
"""The bytes of a file as linted, by absolute path; None for a file that is not, whose bytes are those on disk."""

ALWAYS_EXTERNAL = frozenset(
    {
        "torch",
        "torchvision",
        "torchaudio",
        "numpy",
        "pandas",
        "accelerate",
        "lightning",
        "pytorch_lightning",
        "transformers",
    }
)
"""Never taken for a folder of the project, whatever folders it has."""

FARTHEST = 8
"""Folders above a file in which its imports are looked for."""


class Files:
    """The indexed files, by normalised absolute path."""

    def __init__(
        self,
        root: str,
        read: Read,
        content: Content = lambda _: None,
        around: Around | None = None,
        known: Models | None = None,
    ) -> None:
        self.models = known or models.library()
        self.root = os.path.abspath(root)
        self.read = read
        self.content = content
        self.around = around or Around()
        self.sites: Sites = {}
        self.parents: Parents = {}
        self.by_path: dict[str, FileIndex | None] = {}
        self.keys: dict[FileIndex, str] = {}
        self.present: dict[str, bool] = {}
        self._sources: dict[str, Source | None] = {}
        self._folders: set[str] = set()
        """Those that hold a file of ``by_path``, at any depth."""
        self._opaque: dict[tuple[str, str], bool] = {}
        self._added: dict[FileIndex, tuple[str, ...]] = {}
        """By file, what it adds to the search path."""
        self.calls: defaultdict[str, list[ast.Call]] = defaultdict(list)
        """The calls of all files by the last part of what is called."""
        self._stores: defaultdict[str, list[Store]] = defaultdict(list)
        self.options: defaultdict[str, list[ast.Call]] = defaultdict(list)
        """The ``add_argument`` calls of all files by the attribute that they declare."""

    def add(self, paths: Iterable[str]) -> list[FileIndex]:
        """Index the files to lint."""
        named = [(self.key(path), path) for path in paths]
        self.present.update((key, True) for key, _ in named)
        return [found for key, path in named if (found := self._load(key, path, linted=True)) is not None]

    def stores(self, attribute: str) -> list[Store]:
        """The stores to ``anything.attribute`` in the files known so far; evaluation may read more meanwhile."""
        return [*self._stores.get(attribute, ())]

    def key(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.root, path))

    def at(self, key: str, wanted: str = "") -> FileIndex | None:
        """The file at an absolute path, read now if it has not been, and if it says something about ``wanted``."""
        if key in self.by_path:
            return self.by_path[key]
        if not self.exists(key) or (wanted and self._is_opaque(key, wanted)):
            return None
        inside = key.startswith(self.root + os.sep)
        path = PurePath(os.path.relpath(key, self.root) if inside else key).as_posix()
        return self._load(key, path, linted=self.content(key) is not None)

    def _load(self, key: str, path: str, linted: bool) -> FileIndex | None:
        syntax = self.read(path)
        file = index_file(path, syntax, linted, self.sites, self.parents) if syntax is not None else None
        self.by_path[key] = file
        if file is not None:
            self.keys[file] = key
            folder = os.path.dirname(key)
            while folder not in self._folders:
                self._folders.add(folder)
                folder = os.path.dirname(folder)
            for name, calls in file.methods.items():
                self.calls[name].extend(calls)
            for name, stores in file.stores.items():
                self._stores[name].extend(stores)
            for call in file.methods.get("add_argument", ()):
                self.options[option_name(call)].append(call)
        return file

    def _is_opaque(self, key: str, wanted: str) -> bool:
        found = self._opaque.get((key, wanted))
        if found is None:
            data = self._data(key)
            found = self._opaque[key, wanted] = data is not None and is_opaque(data, wanted)
        return found

    def text(self, file: FileIndex) -> str:
        """The source of a file; empty if it cannot be read."""
        return (self._data(self.keys[file]) or b"").decode("utf-8", "replace")

    def source(self, path: str) -> Source | None:
        """A file by the path that places name; None if it cannot be read any more."""
        if path not in self._sources:
            key = self.key(path)
            data = self.content(key)
            try:
                self._sources[path] = Source.read(key) if data is None else Source.of(path, data)
            except SourceError:
                self._sources[path] = None
        return self._sources[path]

    def _data(self, key: str) -> bytes | None:
        data = self.content(key)
        if data is None:
            with suppress(OSError):
                data = disk.read(key, LARGEST_BYTES)
        return data

    def exists(self, key: str) -> bool:
        found = self.present.get(key)
        if found is None:
            found = self.present[key] = os.path.isfile(key)
        return found

    def is_folder(self, key: str) -> bool:
        """Whether modules can be imported from below ``key``, which has no ``__init__``."""
        found = self.present.get(key + os.sep)
        if found is None:
            found = os.path.isdir(key) or key in self._folders
            self.present[key + os.sep] = found
        return found

    # --- imports -----------------------------------------------------------------------

    def absolute(self, file: FileIndex, module: str, wanted: str = "") -> Value:
        """What ``import module`` in ``file`` finds; for ``from module import wanted``, if it is worth reading."""
        first = module.partition(".")[0]
        if first not in ALWAYS_EXTERNAL | self.models.own and first not in sys.stdlib_module_names:
            for folder in self._search_path(file):
                found = self._below(folder, module.split("."), module, wanted)
                if found is not None:
                    return found
        return External(self.models.canonical(module))

    def relative(self, file: FileIndex, level: int, module: str, wanted: str = "") -> Value | None:
        """What ``from ..module import wanted`` in ``file`` finds, if it is worth reading."""
        folder = os.path.dirname(self.keys[file])
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        if module:
            return self._below(folder, module.split("."), module, wanted)
        package = self.at(os.path.join(folder, "__init__.py"))
        return Module(package) if package is not None else Package(folder, "." * level)

    def submodule(self, base: Module | Package, name: str) -> Value | None:
        """The module ``name`` in a package."""
        if isinstance(base, Package):
            return self._below(base.path, [name], f"{base.name}.{name}")
        folder, last = os.path.split(self.keys[base.file])
        return self._below(folder, [name], name) if last == "__init__.py" else None

    def _search_path(self, file: FileIndex) -> Iterable[str]:
        folder = os.path.dirname(self.keys[file])
        yield from self._added_to(file)
        for _ in range(FARTHEST):
            yield folder
            yield os.path.join(folder, "src")
            above = os.path.dirname(folder)
            if folder == self.root or above == folder:
                return
            folder = above

    def _added_to(self, file: FileIndex) -> tuple[str, ...]:
        """The folders that a file adds to ``sys.path``, and those that modules beside it add which it only imports."""
        if file not in self._added:
            found = dict.fromkeys(search_paths.added(file, self.keys[file], self.root))
            self._added[file] = tuple(found)
            for name in file.module.bindings:
                beside = os.path.join(os.path.dirname(self.keys[file]), f"{name}.py")
                if self.exists(beside) and search_paths.is_for_effect(file, name):
                    other = self.at(beside)
                    if other is not None:
                        found.update(dict.fromkeys(search_paths.added(other, beside, self.root)))
            self._added[file] = tuple(found)
        return self._added[file]

    def _below(self, folder: str, parts: list[str], name: str, wanted: str = "") -> Module | Package | None:
        for at, part in enumerate(parts):
            folder = os.path.join(folder, part)
            if at == len(parts) - 1:
                file = self.at(folder + ".py", wanted) or self.at(os.path.join(folder, "__init__.py"))
                if file is not None:
                    return Module(file)
            if not self.is_folder(folder):
                return None
        return Package(folder, name)
