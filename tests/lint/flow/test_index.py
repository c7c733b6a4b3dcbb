"""The index against the standard library's symbol tables, and against code that nobody writes by hand."""

from __future__ import annotations

import ast
import gc
import symtable
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dl_lint.flow.index import index_file
from dl_lint.source.file import Source
from dl_lint.source.parser import parse

from ..describe import probes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.scopes import FileIndex, Parents, Scope, Sites

    from ..linked import Load

EVERY = 31
LARGEST_BYTES = 60_000

STDLIB = Path(sysconfig.get_path("stdlib"))
FILES = [
    path
    for path in sorted(STDLIB.rglob("*.py"))[::EVERY]
    if path.stat().st_size < LARGEST_BYTES
    and not {"site-packages", "test", "tests", "lib2to3"}.intersection(path.parts)
]


def indexed(text: str) -> tuple[FileIndex, Sites, Parents]:
    sites: Sites = {}
    parents: Parents = {}
    return index_file("a.py", parse(Source.of("a.py", text.encode())), True, sites, parents), sites, parents


def tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from tables(child)


class AsGenerators(ast.NodeTransformer):
    """Comprehensions to generators, which bind the same names.

    Since Python 3.12 a function runs its list, set and dict comprehensions itself, and its table counts what they bind
    among its own names. A generator keeps a table of its own.
    """

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp) -> ast.GeneratorExp:
        self.generic_visit(node)
        return ast.GeneratorExp(node.elt, node.generators)

    visit_SetComp = visit_ListComp

    def visit_DictComp(self, node: ast.DictComp) -> ast.GeneratorExp:
        self.generic_visit(node)
        return ast.GeneratorExp(ast.Tuple([node.key, node.value], ast.Load()), node.generators)


COMPREHENSIONS = {"listcomp", "setcomp", "dictcomp", "genexpr"}


def functions(text: str) -> list[symtable.Function]:
    return [
        table
        for table in tables(symtable.symtable(text, "a.py", "exec"))
        if isinstance(table, symtable.Function) and table.get_name() not in COMPREHENSIONS
    ]


def bound(scope: Scope) -> set[str]:
    """The names that Python takes for local to a scope."""
    plain = {name for name, made in scope.bindings.items() if "." not in name and any(b.kind != "delete" for b in made)}
    return plain - scope.outer.keys()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(STDLIB)))
def test_every_function_binds_what_python_says_it_does(path: Path) -> None:
    text = path.read_text(encoding="utf-8", errors="replace")
    file, _, _ = indexed(text)
    mine = {
        (scope.name, scope.node.lineno): bound(scope)
        for scope in file.scopes
        if isinstance(scope.node, ast.FunctionDef)
    }
    rewritten = ast.unparse(AsGenerators().visit(ast.parse(text)))
    for original, table in zip(functions(text), functions(rewritten), strict=True):
        assert original.get_name() == table.get_name()
        if (original.get_name(), original.get_lineno()) in mine:
            theirs = {
                symbol.get_name()
                for symbol in table.get_symbols()
                if (symbol.is_local() or (symbol.is_assigned() and not symbol.is_global() and not symbol.is_nonlocal()))
                and not symbol.get_name().startswith((".", "_"))
            }
            assert {
                name for name in mine[original.get_name(), original.get_lineno()] if not name.startswith("_")
            } >= theirs - set(_only_annotated(table))


def _only_annotated(table: symtable.Function) -> Iterator[str]:
    """Names that are declared and never assigned, which are local to Python and bound to nothing."""
    for symbol in table.get_symbols():
        if symbol.is_annotated() or not symbol.is_assigned():
            yield symbol.get_name()


@pytest.mark.parametrize("path", FILES[::4], ids=lambda path: str(path.relative_to(STDLIB)))
def test_every_name_that_is_read_has_a_site_and_a_way_up_to_its_statement(path: Path) -> None:
    file, sites, parents = indexed(path.read_text(encoding="utf-8", errors="replace"))
    for scope in file.scopes:
        for loads in scope.loads.values():
            for load in loads:
                assert sites[load].scope is scope
                above: ast.AST | None = load
                while above is not None and not isinstance(above, ast.stmt):
                    above = parents.get(above)
                assert above is not None


MONSTERS = {
    "a chain of tests": "if a:\n    x = 0\n"
    + "".join(f"elif a == {n}:\n    x = {n}\n" for n in range(80))
    + "probe(x)",
    "a chain of sums": "x = " + " + ".join(["1"] * 150) + "\nprobe(x)",
    "a chain of calls": "x = y" + ".a()" * 90 + "\nprobe(x)",
    "a chain of names": "x0 = 1\n" + "".join(f"x{n + 1} = x{n}\n" for n in range(3_000)) + "probe(x3000)",
    "a chain of functions": "def f0(x):\n    return x\n"
    + "".join(f"def f{n + 1}(x):\n    return f{n}(x)\n" for n in range(500))
    + "probe(f500(1))",
    "functions that call each other": "".join(
        f"def f{n}(x):\n    return f{(n + 1) % 40}(f{(n + 7) % 40}(x))\n" for n in range(40)
    )
    + "probe(f0(1))",
    "classes that derive from each other": "class A(B):\n    pass\nclass B(A):\n    pass\nprobe(A().x)",
    "a class that derives from itself": "class A(A):\n    pass\nprobe(A().x)",
    "a list in itself": "x = []\nx.append(x)\nprobe(x)",
    "a dict in itself": "x = {}\nx['x'] = x\nx.update(**x)\nprobe(x)",
    "names that swap": "a, b = 1, 2\nfor _ in r:\n    a, b = b, a\nprobe(a)",
    "an attribute of itself": "class A:\n    def __init__(self):\n        self.x = self.x.x\nprobe(A().x)",
    "many assignments": "".join(f"x = {n}\n" for n in range(5_000)) + "probe(x)",
    "many perhaps": "x = 0\n" + "".join(f"if a:\n    x = {n}\n" for n in range(2_000)) + "probe(x)",
    "nested functions": "".join(f"{' ' * n}def f{n}():\n" for n in range(60)) + " " * 60 + "probe(1)",
    "nested lists": "probe(" + "[" * 90 + "]" * 90 + ")",
}


@pytest.mark.parametrize("text", MONSTERS.values(), ids=MONSTERS)
def test_code_that_nobody_writes_is_survived(load: Load, text: str) -> None:
    project = load(text)
    assert len(probes(project)) == 1
    assert list(project.loader_loops()) == []


def seconds(text: str) -> float:
    syntax = parse(Source.of("a.py", text.encode()))
    best = 1e9
    gc.disable()  # as the command does
    try:
        for _ in range(3):
            start = time.process_time()
            index_file("a.py", syntax, True, {}, {})
            best = min(best, time.process_time() - start)
    finally:
        gc.enable()
    return best


@pytest.mark.slow
def test_indexing_takes_time_in_proportion_to_the_code() -> None:
    block = (
        "def f(a, b):\n    x = a.b(c=1)\n    for i in x:\n        if i:\n            y = [j for j in i]\n    return y\n"
    )
    # Eight times the code: eight times the time if linear, 64 times if quadratic; a busy machine doubles either.
    assert seconds(block * 1_600) < 24 * seconds(block * 200)


def test_many_bindings_of_one_name_cost_no_more_each(load: Load) -> None:
    def steps(count: int) -> int:
        project = load("".join(f"x = x + {n}\n" for n in range(count)) + "probe(x)")
        probes(project)
        return len(project.solver.done)

    assert steps(2_000) < 24 * max(steps(250), 50)
