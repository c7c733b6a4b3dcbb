"""The Python files of a checkout as nodes of ``ast`` that know where they stand; dl-lint has no part in it."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

RELEVANT = re.compile(rb"[Ll]oader|Dataset\b|Sampler|add_argument|worker_id|backward\(")
"""Files without any of these are not read."""

LARGEST_BYTES = 1_000_000

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Node = TypeVar("Node", bound=ast.AST)


@dataclass(eq=False, slots=True)
class File:
    """One file; ``names`` are what its imports bind, as dotted names."""

    path: str
    source: bytes
    tree: ast.Module
    starts: list[int]
    names: dict[str, str] = field(default_factory=dict)

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.source[start:end].decode()

    def span(self, node: ast.AST) -> tuple[int, int]:
        """First byte of a node and the one behind it."""
        line, column = getattr(node, "lineno"), getattr(node, "col_offset")  # noqa: B009 - not on every ast.AST
        end, last = getattr(node, "end_lineno"), getattr(node, "end_col_offset")  # noqa: B009
        return self.starts[line - 1] + column, self.starts[end - 1] + last

    def line(self, offset: int) -> int:
        return self.source.count(b"\n", 0, offset) + 1


def every(node: ast.AST, *kinds: type[Node]) -> Iterator[Node]:
    """All nodes of some kinds within a node, itself included."""
    return (child for child in ast.walk(node) if isinstance(child, kinds))


def dotted(node: ast.AST | None) -> str:
    """``a.b.c`` of a chain of attributes of a name, else an empty string."""
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return node.id if isinstance(node, ast.Name) else ""


def called(call: ast.AST) -> str:
    """The last part of the name of what is called, an empty string for what is no call."""
    function = call.func if isinstance(call, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def is_constant(node: ast.AST | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def method(cls: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((node for node in cls.body if isinstance(node, ast.FunctionDef) and node.name == name), None)


def stored(node: ast.AST) -> set[str]:
    """The names and chains of attributes that are assigned within a node."""
    found = [it for it in ast.walk(node) if isinstance(it, ast.Name | ast.Attribute) and isinstance(it.ctx, ast.Store)]
    return {dotted(it) for it in found}


def loaded(node: ast.AST) -> set[str]:
    return {it.id for it in every(node, ast.Name) if isinstance(it.ctx, ast.Load)}


def behind_docstring(function: Function) -> ast.stmt:
    """The first statement of a function that does something."""
    return function.body[1 if ast.get_docstring(function) is not None and len(function.body) > 1 else 0]


class Named(dict[str, list[Node]]):
    """Nodes by name; a name without any has an empty list, which is not kept."""

    def __missing__(self, name: str) -> list[Node]:
        return []

    def add(self, name: str, node: Node) -> None:
        self.setdefault(name, []).append(node)


OLD_TORCH = re.compile(r"^\W*(?:py)?torch\W{1,4}[01]\.", re.M)
"""As requirements and environments declare a torch before 2, for which some faults are none."""


class Code:
    """All files, what stands around each node, and which definition a name means."""

    def __init__(self, root: Path) -> None:
        self.files: list[File] = []
        self.up: dict[ast.AST, ast.AST] = {}
        self.calls: Named[ast.Call] = Named()
        """By the last part of the name of what is called."""
        self.loads: Named[ast.Name | ast.Attribute] = Named()
        """Where a name or an attribute of this name is read."""
        self.stores: Named[ast.Name | ast.Attribute] = Named()
        self.classes: Named[ast.ClassDef] = Named()
        self.functions: Named[Function] = Named()
        self._roots: dict[ast.AST, File] = {}
        self._derived: dict[ast.ClassDef, list[ast.ClassDef]] = {}
        for path in sorted(root.rglob("*.py")):
            if path.is_file() and not path.is_symlink() and path.stat().st_size < LARGEST_BYTES:
                self._read(path.relative_to(root).as_posix(), path.read_bytes())
        declared = [
            it for it in root.glob("*") if it.suffix in {".txt", ".yml", ".yaml", ".toml", ".cfg"} and it.is_file()
        ]
        self.is_for_old_torch = any(OLD_TORCH.search(it.read_text(errors="replace")) for it in declared)
        self._modules: dict[str, list[File]] = {}
        for file in self.files:
            self._modules.setdefault(_stem(file.path), []).append(file)

    def _read(self, path: str, source: bytes) -> None:
        if (
            not RELEVANT.search(source)
            or source.startswith(b"\xef\xbb\xbf")
            or source.count(b"\r") != source.count(b"\r\n")
        ):
            return
        try:
            source.decode()
            with warnings.catch_warnings(action="ignore"):
                tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            return
        starts = [0]
        for line in source.split(b"\n"):
            starts.append(starts[-1] + len(line) + 1)
        file = File(path, source, tree, starts)
        self.files.append(file)
        self._roots[tree] = file
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, ast.expr_context | ast.operator):  # shared by all of their kind
                    self.up[child] = node
            match node:
                case ast.Import():
                    for alias in node.names:
                        top = alias.name.split(".")[0]
                        file.names[alias.asname or top] = alias.name if alias.asname else top
                case ast.ImportFrom():
                    home = "." * node.level + (node.module or "")
                    for alias in node.names:
                        file.names[alias.asname or alias.name] = (
                            f"{home}.{alias.name}" if node.module else home + alias.name
                        )
                case ast.Call():
                    self.calls.add(called(node), node)
                case ast.ClassDef():
                    self.classes.add(node.name, node)
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.functions.add(node.name, node)
                case ast.Name() | ast.Attribute():
                    name = node.id if isinstance(node, ast.Name) else node.attr
                    (self.loads if isinstance(node.ctx, ast.Load) else self.stores).add(name, node)
                case _:
                    pass

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What encloses a node, innermost first."""
        while (outer := self.up.get(node)) is not None:
            yield outer
            node = outer

    def enclosing(self, node: ast.AST, *kinds: type[Node]) -> Node | None:
        return next((outer for outer in self.around(node) if isinstance(outer, kinds)), None)

    def file(self, node: ast.AST) -> File:
        while node not in self._roots:
            node = self.up[node]
        return self._roots[node]

    def text(self, node: ast.AST | None) -> str:
        return "" if node is None else self.file(node).text(node)

    def scope(self, node: ast.AST) -> ast.AST:
        """The function around a node, or the whole file."""
        outer = self.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        return outer if outer is not None else self.file(node).tree

    def statement(self, node: ast.AST) -> ast.stmt:
        found = node if isinstance(node, ast.stmt) else self.enclosing(node, ast.stmt)
        assert found is not None, "every expression stands in a statement"
        return found

    def owner(self, node: ast.AST) -> ast.ClassDef | None:
        """The class in whose method a node stands."""
        return self.enclosing(node, ast.ClassDef)

    def resolved(self, node: ast.AST) -> str:
        """A dotted name with its first part as it was imported."""
        head, _, rest = dotted(node).partition(".")
        origin = self.file(node).names.get(head, head)
        return f"{origin}.{rest}" if rest else origin

    def is_called(self, call: ast.Call, *names: str) -> bool:
        return self.resolved(call.func) in names

    def epoch_loop(self, node: ast.AST) -> ast.For | ast.While | None:
        """The loop over epochs around a node, within its function."""
        inner = node
        for outer in self.around(node):
            if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
                return None
            if isinstance(outer, ast.For) and inner is not outer.iter and self._counts_epochs(outer):
                return outer
            if isinstance(outer, ast.While) and "epoch" in self.text(outer.test).lower():
                return outer
            inner = outer
        return None

    def _counts_epochs(self, loop: ast.For) -> bool:
        over = self.text(loop.iter)
        if self._is_one(loop.iter):
            return False
        named = "epoch" in self.text(loop.target).lower() or "epoch" in over.lower() or dotted(loop.target) == "ep"
        return named and "range(" in over and "batch" not in over.lower()

    def _is_one(self, over: ast.expr) -> bool:
        """Whether a range is known to be passed once."""
        end = over.args[-1] if isinstance(over, ast.Call) and over.args else None
        if isinstance(end, ast.Name):
            assigns = [self.up[it] for it in self.stores[end.id] if self.file(it) is self.file(over)]
            end = assigns[0].value if len(assigns) == 1 and isinstance(assigns[0], ast.Assign) else None
        return is_constant(end, 1)

    def definitions(self, node: ast.AST) -> list[Definition]:
        """The functions or classes of the checkout that a called name means; none where that is not clear."""
        name, file = dotted(node), self.file(node)
        if not name:
            return []
        head, _, rest = name.partition(".")
        if head in {"self", "cls"} and rest and "." not in rest:
            cls = self.owner(node)
            return [*self.methods(cls, rest)] if cls is not None else []
        if not rest:
            local = [it for it in [*self.functions[name], *self.classes[name]]
                     if self.file(it) is file and not isinstance(self.up[it], ast.ClassDef)]  # fmt: skip
            if local:
                return local
        if head in file.names:
            return self._imported(file, self.resolved(node))
        methods = [it for it in self.functions[name.rpartition(".")[2]] if isinstance(self.up[it], ast.ClassDef)]
        return [*methods] if rest and len(methods) == 1 else []

    def methods(self, cls: ast.ClassDef, name: str) -> list[Function]:
        """Of a class, or else of its bases and of the classes derived from it."""
        own = method(cls, name)
        if own is not None:
            return [own]
        related = [*self.bases(cls), *self.derived(cls)]
        return [found for it in related if (found := method(it, name)) is not None]

    def bases(self, cls: ast.ClassDef, depth: int = 4) -> Iterator[ast.ClassDef]:
        for base in cls.bases if depth else ():
            for found in self.definitions(base) if not dotted(base).startswith("self.") else ():
                if isinstance(found, ast.ClassDef) and found is not cls:
                    yield found
                    yield from self.bases(found, depth - 1)

    def derived(self, cls: ast.ClassDef) -> list[ast.ClassDef]:
        if cls not in self._derived:
            self._derived[cls] = self._find_derived(cls)
        return self._derived[cls]

    def _find_derived(self, cls: ast.ClassDef) -> list[ast.ClassDef]:
        every_class = (it for group in self.classes.values() for it in group)
        near = [(it, base) for it in every_class for base in it.bases if dotted(base).rpartition(".")[2] == cls.name]
        return [it for it, base in near if cls in self.definitions(base)]

    def family(self, cls: ast.ClassDef) -> set[ast.ClassDef]:
        """A class with its bases and those derived from any of them: they share their fields."""
        found = {cls, *self.bases(cls)}
        return found | {it for one in found for it in self.derived(one)}

    def ancestors(self, cls: ast.ClassDef) -> set[str]:
        """The full names of all bases, also those outside the checkout."""
        return {self.resolved(base) for it in [cls, *self.bases(cls)] for base in it.bases}

    def _imported(self, file: File, name: str, depth: int = 3) -> list[Definition]:
        parts = name.lstrip(".").split(".")
        for cut in range(len(parts) - 1, 0, -1):
            for home in self._module(file, parts[:cut]):
                wanted = parts[cut]
                found = [it for it in home.tree.body if isinstance(it, Definition) and it.name == wanted]
                if found and len(parts) == cut + 1:
                    return found
                if found and len(parts) == cut + 2 and isinstance(found[0], ast.ClassDef):
                    return [*self.methods(found[0], parts[-1])]
                if wanted in home.names and depth:
                    return self._imported(home, ".".join([home.names[wanted], *parts[cut + 1 :]]), depth - 1)
        if name.startswith(".") and len(parts) == 1 and depth:  # from . import name
            return []
        return []

    def _module(self, file: File, parts: list[str]) -> list[File]:
        """The file that an import means: of those whose path ends so, the nearest."""
        near = [
            it
            for it in self._modules.get(parts[-1], ())
            if it is not file and _module_parts(it.path)[-len(parts) :] == parts
        ]
        here = PurePosixPath(file.path).parts
        return sorted(near, key=lambda it: -_common(PurePosixPath(it.path).parts, here))[:1]


def _module_parts(path: str) -> list[str]:
    parts = list(PurePosixPath(path).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


def _stem(path: str) -> str:
    return (_module_parts(path) or [""])[-1]


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
