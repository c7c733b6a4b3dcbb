"""The house keeps its shape: who imports whom, where torch comes in, who speaks to the user, and how big rooms are."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
SOURCES = {"pytest_dataloader": ROOT / "pytest_dataloader", "dl_lint": ROOT / "lint" / "dl_lint"}
MODULES = {
    ".".join((package, *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__"): path
    for package, folder in SOURCES.items()
    for path in sorted(folder.rglob("*.py"))
}
TREES = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in MODULES.items()}

# What each of our rooms may not reach. The longest prefix of a module's name decides.
FORBIDDEN = {
    "dl_lint": ("torch", "pytest", "pytest_dataloader"),
    "pytest_dataloader": ("dl_lint", "libcst"),
    "pytest_dataloader.checks": ("dl_lint", "libcst", "pytest", "pytest_dataloader.plugin", "pytest_dataloader.report"),
}
RULES_MAY_IMPORT = ("dl_lint.rule", "dl_lint.project", "dl_lint.facts", "dl_lint.source")
SPEAKERS = {"dl_lint.cli", "pytest_dataloader.plugin"}
SPEECH = {"print", "input", "exit", "quit", "sys.exit", "pytest.exit"}
SAYS_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc", "base", "core", "manager", "handler"}

MODULE_LINES, UNIT_LINES, FUNCTION_LINES = 400, 150, 60


def imports(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Names of imported modules, and of what may be one, with the statement."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole module"
            yield from ((f"{node.module}.{alias.name}", node) for alias in node.names)


def reaches(name: str, prefix: str) -> bool:
    return f"{name}.".startswith(f"{prefix}.")


def at_import(tree: ast.Module) -> ast.Module:
    """The statements that run when the module is imported: no function bodies, no TYPE_CHECKING."""

    class Runs(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST | None:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                return None
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                return None
            return self.generic_visit(node)

    runs = Runs().visit(ast.parse(ast.unparse(tree)))
    assert isinstance(runs, ast.Module)
    return runs


@pytest.mark.parametrize("module", MODULES)
def test_a_module_reaches_only_where_it_may(module: str) -> None:
    room = max((prefix for prefix in FORBIDDEN if reaches(module, prefix)), key=len)
    strays = [name for name, _ in imports(TREES[module]) if any(reaches(name, bad) for bad in FORBIDDEN[room])]
    if reaches(module, "dl_lint.rules"):
        strays += [
            name
            for name, _ in imports(TREES[module])
            if reaches(name, "dl_lint") and not any(reaches(name, good) for good in RULES_MAY_IMPORT)
        ]
    assert not strays


@pytest.mark.parametrize("module", MODULES)
def test_importing_a_module_does_not_import_torch(module: str) -> None:
    assert not [name for name, _ in imports(at_import(TREES[module])) if reaches(name, "torch")]


@pytest.mark.parametrize("module", [module for module in MODULES if module not in SPEAKERS])
def test_only_the_command_and_the_plugin_speak_to_the_user(module: str) -> None:
    body = [node for node in TREES[module].body if ast.unparse(node).partition("\n")[0] != "if __name__ == '__main__':"]
    calls = [node for part in body for node in ast.walk(part) if isinstance(node, ast.Call)]
    assert not [f"line {call.lineno}: {ast.unparse(call)}" for call in calls if ast.unparse(call.func) in SPEECH]


@pytest.mark.parametrize("module", MODULES)
def test_rooms_are_small_and_their_names_say_something(module: str) -> None:
    lines = len(MODULES[module].read_text(encoding="utf-8").splitlines())
    is_unit = any(reaches(module, room) and module != room for room in ("dl_lint.rules", "pytest_dataloader.checks"))
    assert lines <= (UNIT_LINES if is_unit else MODULE_LINES)
    assert not SAYS_NOTHING & set(module.split("."))
    assert ast.get_docstring(TREES[module]), "a module says what it is"
    functions = [node for node in ast.walk(TREES[module]) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    sizes = {node.name: (node.end_lineno or node.lineno) - node.lineno + 1 for node in functions}
    assert not {name: size for name, size in sizes.items() if size > FUNCTION_LINES}
