"""Libraries as data: what stubs say that functions give, classes are, and modules are called."""

from __future__ import annotations

import ast
import marshal
import os
import sys
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

WORDS = "dl_lint.models"
"""The module whose names are marks."""

ANY = "*"
"""The last part of the name that a module's ``__getattr__`` speaks for."""


class Mark(NamedTuple):
    """One thing that a stub says: ``Iterates[loader, OnDevice]``."""

    kind: str
    of: tuple[str, ...] = ()
    """What stands in brackets: names of parameters or marks, and texts."""


class Model(NamedTuple):
    """A function, method, class or attribute of a library."""

    marks: tuple[Mark, ...] = ()
    positions: tuple[str, ...] = ()
    """The parameters in order, without ``self``; of a class those of its constructor."""
    parameters: tuple[tuple[str, str, str], ...] = ()
    """Those that are marked themselves: name, mark, and default as it is written."""

    def has(self, *kinds: str) -> bool:
        return any(mark.kind in kinds for mark in self.marks)


NO_MODEL = Model()

Row = tuple[tuple[tuple[str, tuple[str, ...]], ...], tuple[str, ...], tuple[tuple[str, str, str], ...]]


class Table(NamedTuple):
    """Stubs, read: plain tuples, so that they can be kept in a file that loads at once."""

    models: dict[str, Row]
    aliases: dict[str, str]
    """Other names of modules, classes and functions."""
    methods: dict[str, tuple[str, ...]]
    """Of methods that count by their names alone: the kinds of their marks."""


class StubError(ValueError):
    """What is wrong with a stub, and in which line."""


def read(stubs: Iterable[tuple[str, str]]) -> Table:
    """Stubs by the names of their modules; a later one wins. Raises StubError."""
    found = Table({}, {}, {})
    for module, text in stubs:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError) as error:
            raise StubError(f"line {getattr(error, 'lineno', None) or 1}: {error.args[0]}") from None
        _Stub(module, tree, found).read()
    return found


class _Stub:
    """One stub while it is read."""

    def __init__(self, module: str, tree: ast.Module, table: Table) -> None:
        self.module = module
        self.tree = tree
        self.table = table
        self.words: dict[str, str] = {}
        self.classes = {one.name for one in ast.walk(tree) if isinstance(one, ast.ClassDef)}

    def read(self) -> None:
        self._body(self.tree.body, self.module)

    def _body(self, body: list[ast.stmt], owner: str, *, by_name: bool = False) -> None:
        """What stands in a module or in a class, which may stand for a module inside that."""
        for stmt in body:
            match stmt:
                case ast.ImportFrom(module=str() as source, level=0, names=names):
                    self._import(stmt, source, names, owner)
                case ast.FunctionDef(name="__init__"):
                    continue
                case ast.FunctionDef():
                    made = self._function(stmt, owner)
                    if by_name:
                        known = self.table.methods.get(stmt.name, ())
                        self.table.methods[stmt.name] = tuple(dict.fromkeys((*known, *(mark.kind for mark in made))))
                case ast.ClassDef():
                    self._class(stmt, owner)
                case ast.AnnAssign(target=ast.Name(id=name)):
                    self._add(f"{owner}.{name}", self._marks(stmt.annotation))
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name() | ast.Attribute() as other):
                    self.table.aliases[f"{owner}.{name}"] = ast.unparse(other)
                case _:
                    continue

    def _import(self, stmt: ast.stmt, source: str, names: list[ast.alias], owner: str) -> None:
        for one in names:
            name = one.asname or one.name
            if source != WORDS:
                self.table.aliases[owner if one.name == "*" else f"{owner}.{name}"] = (
                    source if one.name == "*" else f"{source}.{one.name}"
                )
            elif one.name == "*":
                self.words.update((word, word) for word in words())
            elif one.name in words() or one.name == "by_name":
                self.words[name] = one.name
            else:
                raise StubError(f"line {stmt.lineno}: {WORDS} has no {one.name!r}")

    def _class(self, cls: ast.ClassDef, owner: str) -> None:
        name = f"{owner}.{cls.name}"
        by_name = any(isinstance(one, ast.Name) and one.id == "by_name" for one in cls.decorator_list)
        marks = tuple(mark for base in cls.bases for mark in self._marks(base))
        init = next((one for one in cls.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
        if init is None:
            self._add(name, marks)
        else:
            self._add(name, marks + self._marks(init.returns), _positions(init)[1:], self._parameters(init))
        self._body(cls.body, name, by_name=by_name)

    def _function(self, function: ast.FunctionDef, owner: str) -> tuple[Mark, ...]:
        marks = self._marks(function.returns)
        if isinstance(function.returns, ast.Name) and function.returns.id in self.classes - self.words.keys():
            marks = (Mark("Makes", (function.returns.id,)),)
        name = f"{owner}.{ANY if function.name == '__getattr__' else function.name}"
        positions = _positions(function)
        self._add(name, marks, positions[1:] if positions[:1] == ("self",) else positions, self._parameters(function))
        return marks

    def _add(
        self,
        name: str,
        marks: tuple[Mark, ...],
        positions: tuple[str, ...] = (),
        parameters: tuple[tuple[str, str, str], ...] = (),
    ) -> None:
        self.table.models[name] = (tuple((mark.kind, mark.of) for mark in marks), positions, parameters)

    def _parameters(self, function: ast.FunctionDef) -> tuple[tuple[str, str, str], ...]:
        given = function.args
        defaults = [None] * (len(given.args) - len(given.defaults)) + [*given.defaults, *given.kw_defaults]
        return tuple(
            (arg.arg, mark.kind, "" if default is None else ast.unparse(default))
            for arg, default in zip([*given.args, *given.kwonlyargs], defaults, strict=True)
            for mark in self._marks(arg.annotation)
        )

    def _marks(self, annotation: ast.expr | None) -> tuple[Mark, ...]:
        match annotation:
            case ast.Name(id=name) if name in self.words:
                return (Mark(self.words[name]),)
            case ast.Subscript(value=ast.Name(id=name), slice=inner) if name in self.words:
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                return (Mark(self.words[name], tuple(map(_text, parts))),)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return (*self._marks(left), *self._marks(right))
            case _:
                return ()


def _text(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else ast.unparse(part)


def _positions(function: ast.FunctionDef) -> tuple[str, ...]:
    args = function.args
    return tuple(arg.arg for arg in (*args.posonlyargs, *args.args))


@cache
def words() -> frozenset[str]:
    """The marks that there are."""
    from dl_lint import models

    return frozenset(name for name, one in vars(models).items() if isinstance(one, type) and not name.startswith("_"))


# --- stubs in folders ----------------------------------------------------------------------


def module_of(path: str) -> str:
    """The module of a stub by its path below the folder of stubs: ``acme/io.pyi`` and ``acme.io.pyi`` are acme.io."""
    return path.removesuffix(".pyi").replace(os.sep, ".").removesuffix(".__init__")


def stubs_in(folder: str) -> Iterator[tuple[str, str]]:
    """The stubs of a folder: each with its path below that, and the path to open it by."""
    for top, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".pyi"):
                path = os.path.join(top, name)
                yield os.path.relpath(path, folder), path


_OWN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "models")
_ROOTS = tuple(os.path.join(_OWN, name) for name in ("generated", "libraries"))
"""What is made of installed libraries, and what is written by hand, which wins."""


def _library_table() -> Table:
    """Our own stubs, kept beside them as Python keeps what it compiles, as long as none of them changes."""
    stubs = [(module_of(below), path) for root in _ROOTS for below, path in stubs_in(root)]
    stamp = [sys.version_info[:2], *((path, (seen := os.stat(path)).st_size, seen.st_mtime_ns) for _, path in stubs)]
    kept = os.path.join(_OWN, "__pycache__", f"stubs.{sys.implementation.cache_tag}.bin")
    with suppress(OSError, ValueError, EOFError, TypeError), open(kept, "rb") as file:
        before, *parts = marshal.load(file)
        if before == stamp:
            return Table(*parts)
    texts = []
    for module, path in stubs:
        with open(path, encoding="utf-8") as file:
            texts.append((module, file.read()))
    found = read(texts)
    with suppress(OSError):
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        draft = f"{kept}.{os.getpid()}"
        with open(draft, "wb") as file:
            marshal.dump([stamp, *found], file)
        os.replace(draft, kept)
    return found


class Models:
    """What is known of libraries, by the qualified names of what they hold."""

    def __init__(self, table: Table, own: frozenset[str] = frozenset()) -> None:
        self.own = own
        """Packages that a user has stubs of, and which so are no code of the project."""
        self._table = table
        self._known: dict[str, Model] = {}
        self._names: dict[tuple[str, ...], frozenset[str]] = {}
        self._members: dict[str, dict[str, Model]] = {}

    def get(self, name: str) -> Model:
        """What a stub says of something; an empty model where none does."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._find(name)
        return found

    def _find(self, name: str) -> Model:
        row = self._table.models.get(name) or self._table.models.get(f"{name.rpartition('.')[0]}.{ANY}")
        return NO_MODEL if row is None else Model(tuple(Mark(*one) for one in row[0]), *row[1:])

    def has(self, name: str, *kinds: str) -> bool:
        """Whether a thing is marked as one of these."""
        return self.get(name).has(*kinds)

    def names(self, *kinds: str) -> frozenset[str]:
        """The names of all that are marked as one of these."""
        if kinds not in self._names:
            rows = self._table.models.items()
            self._names[kinds] = frozenset(name for name, row in rows if any(one[0] in kinds for one in row[0]))
        return self._names[kinds]

    def names_with_parameter(self, kind: str) -> frozenset[str]:
        """The names of all that have a parameter which is marked so."""
        rows = self._table.models.items()
        return frozenset(name for name, row in rows if any(mark == kind for _, mark, _ in row[2]))

    def is_method(self, name: str, *kinds: str) -> bool:
        """Whether a method that counts by its name alone is marked as one of these."""
        return not set(kinds).isdisjoint(self._table.methods.get(name, ()))

    def members(self, name: str) -> dict[str, Model]:
        """What a class has in its stub, by name."""
        found = self._members.get(name)
        if found is None:
            inside = (one for one in self._table.models if one.rpartition(".")[0] == name)
            found = self._members[name] = {one.rpartition(".")[2]: self.get(one) for one in inside}
        return found

    def methods(self, *kinds: str) -> frozenset[str]:
        """Methods that count by their names alone."""
        return frozenset(name for name, marks in self._table.methods.items() if not set(kinds).isdisjoint(marks))

    def canonical(self, name: str) -> str:
        """The one name that a thing goes by, of the several that it can be imported by."""
        aliases = self._table.aliases
        if name in aliases:
            return aliases[name]
        head, _, tail = name.rpartition(".")
        while head:
            if head in aliases:
                return f"{aliases[head]}.{tail}"
            head, _, last = head.rpartition(".")
            tail = f"{last}.{tail}"
        return name


@cache
def library() -> Models:
    """What our own stubs say."""
    return Models(_library_table())


@cache
def known(own: tuple[tuple[str, str], ...]) -> Models:
    """The same with a user's stubs beside them: module and text. Raises StubError."""
    if not own:
        return library()
    mine, table = _library_table(), read(own)
    both = Table(mine.models | table.models, mine.aliases | table.aliases, mine.methods | table.methods)
    return Models(both, frozenset(module.partition(".")[0] for module, _ in own))
