"""The house keeps its shape: who imports whom, where torch comes in, who speaks to the user, and how big rooms are.

One test a fact; each lists all that strays from it.
"""

from __future__ import annotations

import ast
import collections
import functools
import importlib.util
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.xdist_group("architecture")  # what one test parses, the others have

ROOT = Path(__file__).parents[1]
SOURCES = {"pytest_dataloader": ROOT / "pytest_dataloader", "dl_lint": ROOT / "lint" / "dl_lint"}
MODULES = {
    ".".join((package, *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__"): path
    for package, folder in SOURCES.items()
    for path in sorted(folder.rglob("*.py"))
}

# What each of our rooms may not reach. The longest prefix of a module's name decides.
FORBIDDEN = {
    "dl_lint": ("torch", "pytest", "pytest_dataloader"),
    "pytest_dataloader": ("dl_lint", "libcst"),
    "pytest_dataloader.advice": ("dl_lint", "libcst", "pytest", "torch"),
    "pytest_dataloader.checks": ("dl_lint", "libcst", "pytest"),
    "pytest_dataloader.probe": ("dl_lint", "libcst", "pytest"),
}
# Our rooms from the ground up: each imports those below it and itself, also under TYPE_CHECKING.
FLOORS = {
    "dl_lint": (
        ("models", "rewriting", "source"),
        ("flow",),
        ("context",),
        ("pipeline",),
        ("transfers",),
        ("project",),
        ("sight",),
        ("rule",),
        ("edits",),
        ("rules",),
        ("engine.cache", "engine.effects", "engine.report", "engine.tracked"),
        ("engine.ignored",),
        ("engine.catalogue",),
        ("engine.selection",),
        ("config",),
        ("engine", "schema"),
        ("fixes", "silencing", "texts", "watching"),
        ("output",),
        ("baseline", "fixing"),
        ("session",),
        ("output.closing",),
        ("server",),
        ("cli",),
        ("__main__",),
    ),
    "pytest_dataloader": (
        ("errors", "printable", "quantities", "verdict"),
        ("limit_tests", "record", "settings.limits"),
        ("probe.host",),
        ("probe.internals",),
        ("probe.loader",),
        ("probe.memory", "probe.resources", "probe.samples", "probe.timing"),
        ("probe.workers",),
        ("probe.streams", "probe.training", "probe.tuning"),
        ("probe.device",),
        ("advice", "evidence"),
        ("checks",),
        ("environment",),
        ("distributed", "progress", "report", "settings.options"),
        ("loaders", "locking"),
        ("baselines", "settings.targets"),
        ("settings",),
        ("diagnosis",),
        ("integrations",),
        ("bench",),
        ("outcome", "suite_watch"),
        ("collection", "fixtures"),
        ("plugin",),
        ("__main__",),
    ),
}
SPEAKERS = {
    "dl_lint.cli",
    "pytest_dataloader.diagnosis.check",
    "pytest_dataloader.diagnosis.command",
    "pytest_dataloader.diagnosis.compare",
    "pytest_dataloader.diagnosis.export",
    "pytest_dataloader.diagnosis.analyze_trace",
    "pytest_dataloader.diagnosis.merge_trace",
    "pytest_dataloader.diagnosis.output",
    "pytest_dataloader.diagnosis.report",
    "pytest_dataloader.diagnosis.run",
    "pytest_dataloader.plugin",
}
SPEECH = {"print", "input", "exit", "quit", "sys.exit", "pytest.exit"}
SAYS_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc", "base", "core", "manager", "handler"}

# Who may know what is private in torch and torchdata: what a release of theirs renames is mended there.
INTERNALS = "pytest_dataloader.probe.internals"
TOUCHES_TORCH = {f"{INTERNALS}.torch_{name}" for name in ("private", "pretence", "stamps", "worker_loop")}
KNOWS_TORCH = {*TOUCHES_TORCH, f"{INTERNALS}.requirements"}

# Names that stand for one thing in every module that has them, which is asked for it by that name.
PROTOCOLS = {
    "measure": "checks: dispatched by ``checks.measure``",
    "judge": "checks: dispatched by ``checks.judge``",
    "applies": "checks: dispatched by ``checks.applies``",
    "contradiction": "checks: dispatched by ``checks.contradiction``",
    "merge_ranks": "checks: dispatched by ``checks.merge_ranks``",
    "why_not": "checks: called by ``watch`` of their fixtures",
    "NEEDS_BENCH": "checks: read by the runner",
    "advice": "advice: what a check tells its user to change",
    "DataLoaderMonitor": "integrations: in the house style of each trainer",
    "main": "subcommands of ``pytest-dataloader``",
    "NAME": "subcommands: the words that call one",
}

FUNCTION_LINES, FOLDER_MODULES = 60, 22


@functools.cache
def trees() -> dict[str, ast.Module]:
    return {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in MODULES.items()}


@functools.cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a tree: many tests look at the same modules."""
    return tuple(ast.walk(tree))


def imports(tree: ast.AST) -> tuple[tuple[str, ast.AST], ...]:
    """Names of imported modules, and of what may be one, with the statement."""
    return imports_in(nodes(tree))


@functools.cache
def imports_in(found: tuple[ast.AST, ...]) -> tuple[tuple[str, ast.AST], ...]:
    names: list[tuple[str, ast.AST]] = []
    for node in found:
        if isinstance(node, ast.Import):
            names += ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole module"
            names += ((f"{node.module}.{alias.name}", node) for alias in node.names)
    return tuple(names)


def reaches(name: str, prefix: str) -> bool:
    return f"{name}.".startswith(f"{prefix}.")


@functools.cache
def imported_modules(module: str) -> set[str]:
    """The modules of ours that a module imports, wherever it does so."""
    found = set()
    for name, _ in imports(trees()[module]):
        parts = name.split(".")
        prefixes = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
        found.add(next((prefix for prefix in prefixes if prefix in MODULES), ""))
    return found - {"", module}


def at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when the module is imported: no function bodies, no TYPE_CHECKING."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from at_import(node)


def test_a_module_reaches_only_where_it_may() -> None:
    strays = []
    for module, tree in trees().items():
        room = max((prefix for prefix in FORBIDDEN if reaches(module, prefix)), key=len)
        bad = [name for name, _ in imports(tree) if any(reaches(name, forbidden) for forbidden in FORBIDDEN[room])]
        strays += [f"{module} -> {name}" for name in bad]
    assert not strays


def floor_of(module: str) -> tuple[int, str]:
    """The floor and the room of a module: the longest prefix of its name that is a room."""
    package, _, local = module.partition(".")
    found = [(number, room) for number, rooms in enumerate(FLOORS[package]) for room in rooms if reaches(local, room)]
    assert found, f"{module} is in no room: give it a floor"
    return max(found, key=lambda one: len(one[1]))


def has_no_floor(module: str) -> bool:
    """Whether a module is the name of a package that holds rooms, and nothing more."""
    return module in FLOORS or any(
        room.startswith(f"{module.partition('.')[2]}.") and MODULES[module].name == "__init__.py"
        for rooms in FLOORS[module.partition(".")[0]]
        for room in rooms
    )


def test_rooms_use_lower_floors_alone() -> None:
    strays = []
    for module in MODULES:
        if has_no_floor(module):
            continue
        floor, room = floor_of(module)
        for name in imported_modules(module):
            if has_no_floor(name):
                continue
            below, other = floor_of(name)
            if other != room and below >= floor:
                strays.append(f"{module} -> {name}")
    assert not strays


def test_rules_do_not_import_each_other() -> None:
    rules = [module for module in MODULES if reaches(module, "dl_lint.rules")]
    found = {rule: [name for name in imported_modules(rule) if reaches(name, "dl_lint.rules")] for rule in rules}
    assert not {rule: others for rule, others in found.items() if others}


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {module: imported_modules(module) for module in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_each_module_of_the_linter_can_be_imported_first() -> None:
    """Importing ``a.b`` imports ``a`` too, and what that imports: circles by way of a package show only here."""
    script = """
import functools, importlib, sys
from importlib.machinery import SourceFileLoader
SourceFileLoader.get_code = functools.cache(SourceFileLoader.get_code)  # executed anew each time, and read once
for name in sys.argv[1:]:
    for loaded in [one for one in sys.modules if one.partition(".")[0] == "dl_lint"]:
        del sys.modules[loaded]
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(name, error)
"""
    modules = [module for module in MODULES if reaches(module, "dl_lint") and not module.endswith("__main__")]
    done = subprocess.run([sys.executable, "-c", script, *modules], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_tests_of_probe_lie_in_the_rooms_of_what_they_test() -> None:
    tests = ROOT / "tests" / "pytest_dataloader" / "probe"
    found = {path.relative_to(tests) for path in tests.rglob("test_*.py")}
    assert found
    homes = {path: SOURCES["pytest_dataloader"] / "probe" / path.with_name(path.name[5:]) for path in found}
    assert not [path for path, home in homes.items() if len(path.parts) != 2 or not home.exists()]


def test_importing_a_module_does_not_import_torch() -> None:
    assert not [
        f"{module} -> {name}"
        for module, tree in trees().items()
        for name, _ in imports_in(tuple(at_import(tree)))
        if reaches(name, "torch")
    ]


def test_only_the_command_and_the_plugin_speak_to_the_user() -> None:
    strays = []
    for module in MODULES.keys() - SPEAKERS:
        body = [
            node
            for node in trees()[module].body
            if not (isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'")
        ]
        calls = [node for part in body for node in ast.walk(part) if isinstance(node, ast.Call)]
        strays += [f"{module}:{call.lineno}: {ast.unparse(call)}" for call in calls if ast.unparse(call.func) in SPEECH]
    assert not strays


def test_modules_say_what_they_are() -> None:
    assert not [module for module in MODULES if SAYS_NOTHING & set(module.split("."))]
    assert not [module for module, tree in trees().items() if not ast.get_docstring(tree)]


def public_names(tree: ast.Module) -> Iterator[str]:
    """The names of functions, classes and constants that a module defines for others."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
        else:
            continue
        yield from (name for name in names if not name.startswith("_"))


def test_a_public_name_of_the_plugin_stands_for_one_thing() -> None:
    homes: dict[str, set[str]] = collections.defaultdict(set)
    for module in MODULES:
        if reaches(module, "pytest_dataloader"):
            for name in public_names(trees()[module]):
                homes[name].add(module)
    found = {name: sorted(modules) for name, modules in homes.items() if len(modules) > 1}
    assert not {name: modules for name, modules in found.items() if name not in PROTOCOLS}
    assert not PROTOCOLS.keys() - found.keys()


def test_functions_are_short() -> None:
    strays = []
    for module, tree in trees().items():
        for node in nodes(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                strays += [f"{module}.{node.name}: {lines} lines"] if lines > FUNCTION_LINES else []
    assert not strays


def test_folders_can_be_taken_in_at_a_glance() -> None:
    folders = collections.Counter(path.parent for path in MODULES.values() if path.parent.name != "rules")
    assert not {str(folder): modules for folder, modules in folders.items() if modules > FOLDER_MODULES}


def is_private(name: str) -> bool:
    return len(name) > 1 and name.startswith("_") and not name.startswith("__")


def declared(body: list[ast.stmt]) -> Iterator[str]:
    """The names that statements of a class declare."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


@functools.cache
def private_names() -> frozenset[str]:
    """What torch calls by an underscore in its loaders, their iterators and its tensors, as it is installed.

    Read from its files: importing it would take longer than all other tests of this module.
    """
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        pytest.skip("torch is not installed")
    torch = Path(spec.origin).parent
    used = [torch / "utils" / "data" / "dataloader.py", torch / "_tensor.py"]
    read = [node for path in used for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    names = {node.attr for node in read if isinstance(node, ast.Attribute)}
    names |= {node.name for node in read if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    stubs = ast.parse((torch / "_C" / "__init__.pyi").read_text(encoding="utf-8"))
    names |= {
        name
        for node in stubs.body
        if isinstance(node, ast.ClassDef) and node.name == "TensorBase"
        for name in declared(node.body)
    }
    return frozenset(filter(is_private, names))


def is_of_torch(name: str) -> bool:
    """Whether a dotted name is a private one below torch or torchdata."""
    room, *parts = name.split(".")
    return room in ("torch", "torchdata") and any(map(is_private, parts))


def bound(tree: ast.AST) -> dict[str, str]:
    """The dotted name behind each name that an import binds."""
    found: dict[str, str] = {}
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            found |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def touches(tree: ast.AST) -> Iterator[str]:
    """Where code touches what is private in torch: by import, below a name of torch's, on an object, in a string."""
    names = bound(tree)
    yield from (ast.unparse(statement) for name, statement in imports(tree) if is_of_torch(name))
    for node in nodes(tree):
        seen = False
        if isinstance(node, ast.Attribute):
            owner, _, rest = ast.unparse(node).partition(".")
            own = owner in ("self", "cls") and rest == node.attr
            seen = is_of_torch(f"{names.get(owner, owner)}.{rest}") or (node.attr in private_names() and not own)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            seen = is_of_torch(node.value) or node.value in private_names()
        if seen:
            yield ast.unparse(node)


def test_what_is_private_in_torch_is_touched_in_one_place() -> None:
    found = {module: list(touches(trees()[module])) for module in MODULES if reaches(module, "pytest_dataloader")}
    assert not {module: touched for module, touched in found.items() if touched and module not in KNOWS_TORCH}
    assert not [module for module in KNOWS_TORCH if not found[module]]


def test_every_private_name_of_torch_that_is_touched_is_required() -> None:
    """``requirements`` has a row for each, which is looked up before a check relies on it."""
    required = set(re.findall(r"\w+", MODULES[f"{INTERNALS}.requirements"].read_text(encoding="utf-8")))
    needless = {"_utils", "_internal", "_in_order"}  # two packages; an attribute that came with torch 2.6
    touched = {name for module in TOUCHES_TORCH for place in touches(trees()[module]) for name in words(place)}
    assert "_task_info" in touched
    assert touched - required - needless == set()


def words(text: str) -> Iterator[str]:
    yield from filter(is_private, re.findall(r"\w+", text))


def test_checks_rest_on_the_private_names_that_they_reach() -> None:
    from pytest_dataloader.checks.compatibility import RESTS_ON

    reached = {check: reachable(f"pytest_dataloader.checks.{check}") & TOUCHES_TORCH for check in RESTS_ON}
    assert reached == {check: {f"{INTERNALS}.{part}" for part in parts} for check, parts in RESTS_ON.items()}


def reachable(module: str) -> set[str]:
    """The modules of ours that are imported where a module is."""
    found, ahead = set(), [module]
    while ahead:
        found.add(ahead[-1])
        ahead += imported_modules(ahead.pop()) - found
    return found


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
