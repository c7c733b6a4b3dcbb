"""The house keeps its shape: who imports whom, where torch comes in, who speaks to the user, and how big rooms are."""

from __future__ import annotations

import ast
import functools
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
# The rooms of probe by storey: a room uses those of lower storeys, and never a neighbour of its own.
STOREYS = (
    ("host",),
    ("internals",),
    ("loader",),
    ("memory", "resources", "samples", "timing", "workers"),
    ("tuning",),
)
SPEAKERS = {"dl_lint.cli", "pytest_dataloader.plugin"}
SPEECH = {"print", "input", "exit", "quit", "sys.exit", "pytest.exit"}
SAYS_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc", "base", "core", "manager", "handler"}

# Who may know what is private in torch and torchdata: what a release of theirs renames is mended there.
KNOWS_TORCH = tuple(f"pytest_dataloader.probe.internals.torch_{name}" for name in ("private", "pretence", "stamps"))

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


def probe_room(name: str) -> str:
    """The room of probe that a module is in; empty for all else."""
    return name.split(".")[2] if reaches(name, "pytest_dataloader.probe") and name.count(".") > 1 else ""


@pytest.mark.parametrize("module", [module for module in MODULES if probe_room(module)])
def test_a_room_of_probe_uses_lower_storeys_alone(module: str) -> None:
    [storey] = [number for number, rooms in enumerate(STOREYS) if probe_room(module) in rooms]
    below = {"", probe_room(module), *(room for rooms in STOREYS[:storey] for room in rooms)}
    assert not [name for name, _ in imports(TREES[module]) if probe_room(name) not in below]


def test_tests_of_probe_lie_in_the_rooms_of_what_they_test() -> None:
    tests = ROOT / "tests" / "pytest_dataloader" / "probe"
    found = {path.relative_to(tests) for path in tests.rglob("test_*.py")}
    assert found
    homes = {path: SOURCES["pytest_dataloader"] / "probe" / path.with_name(path.name[5:]) for path in found}
    assert not [path for path, home in homes.items() if len(path.parts) != 2 or not home.exists()]


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


def is_private(name: str) -> bool:
    return len(name) > 1 and name.startswith("_") and not name.startswith("__")


@functools.cache
def private_names() -> frozenset[str]:
    """What torch calls by an underscore in its loaders, their iterators and its tensors, as it is installed."""
    torch = pytest.importorskip("torch")
    source = Path(torch.__file__).with_name("utils") / "data" / "dataloader.py"
    read = list(ast.walk(ast.parse(source.read_text(encoding="utf-8"))))
    names = {node.attr for node in read if isinstance(node, ast.Attribute)} | set(dir(torch.Tensor))
    names |= {node.name for node in read if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return frozenset(filter(is_private, names))


def is_of_torch(name: str) -> bool:
    """Whether a dotted name is a private one below torch or torchdata."""
    room, *parts = name.split(".")
    return room in ("torch", "torchdata") and any(map(is_private, parts))


def bound(tree: ast.AST) -> dict[str, str]:
    """The dotted name behind each name that an import binds."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def touches(tree: ast.AST) -> Iterator[str]:
    """Where code touches what is private in torch: by import, below a name of torch's, on an object, in a string."""
    names = bound(tree)
    yield from (ast.unparse(statement) for name, statement in imports(tree) if is_of_torch(name))
    for node in ast.walk(tree):
        seen = False
        if isinstance(node, ast.Attribute):
            owner, _, rest = ast.unparse(node).partition(".")
            own = owner in ("self", "cls") and rest == node.attr
            seen = is_of_torch(f"{names.get(owner, owner)}.{rest}") or (node.attr in private_names() and not own)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            seen = is_of_torch(node.value) or node.value in private_names()
        if seen:
            yield ast.unparse(node)


@pytest.mark.parametrize("module", [module for module in MODULES if reaches(module, "pytest_dataloader")])
def test_what_is_private_in_torch_is_touched_in_one_place(module: str) -> None:
    found = list(touches(TREES[module]))
    assert bool(found) == (module in KNOWS_TORCH), found


@pytest.mark.parametrize(
    "code",
    [
        "from torch.utils.data._utils import worker",
        "from torch.utils.data.dataloader import _BaseDataLoaderIter",
        "import torch._dynamo",
        "import torch\ntorch._C.f()",
        "import torch.distributed as dist\ndist._group",
        "from torch.utils import data\ndata._utils.worker",
        "f(iterator)._index_queues",
        "self.iterator._workers",
        "tensor._base",
        "getattr(loader, '_iterator', None)",
        "import_module('torch.utils.data._utils.worker')",
    ],
)
def test_a_private_name_of_torch_is_seen(code: str) -> None:
    assert list(touches(ast.parse(code)))


@pytest.mark.parametrize(
    "code", ["self._workers", "import torch\ntorch.__version__", "journal._shelf", "_, x = y._, '_'"]
)
def test_what_is_not_torch_s_own_is_not_taken_for_it(code: str) -> None:
    assert not list(touches(ast.parse(code)))
