"""Do our own tests notice a fault of ours? Modules of the plugin, or of the linter, are changed in one place each.

    python benchmarks/own_mutations.py [--half linter] [--count 40] [--seed 1] [--minutes 20] [--json mutants.json]

A mutant has a comparison flipped or its boundary moved, ``and`` swapped with ``or``, a constant changed, or the branch
of an ``if`` dropped. As many are drawn at random of the plugin's judges as of its advice and of the pure modules of
``probe/``; of the linter, as many of each of its folders. It is made in a copy of the checkout, where the quick tests
run that mirror its module, belong to its check or import it, until one fails; one that fails without the mutant as well
is left out. Any module of the linter is held by the cases of the rules too, and what survives those runs against all
its quick tests. A survivor is a test that is missing, or a change that makes no difference: who reads the list tells
which. The sample is the same for the same seed and sources.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

from mutants.code import File
from mutants.edits import Edit
from mutants.mutant import Mutant

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
COPIED = (
    "pytest_dataloader",
    "tests",
    "benchmarks",
    "docs",
    "examples",
    "lint",
    "pyproject.toml",
    "README.md",
)
FLIPPED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
WRITTEN = re.compile(r"<=|>=|==|!=|<|>|\bis\s+not\b|\bis\b|\bnot\s+in\b|\bin\b")
HOPS = 3
"""From a module without a test to those that import it."""
SECONDS = 600.0
"""For the tests of one mutant; one that takes longer hangs, which counts as noticed."""


@dataclass(frozen=True, slots=True)
class Half:
    """One of the two packages: its source root and folder, its tests, those that hold any module, and all of them."""

    root: str
    package: str
    tests: str
    always: tuple[str, ...] = ()
    at_last: tuple[str, ...] = ()


HALVES = {
    "plugin": Half("", "pytest_dataloader", "tests/pytest_dataloader"),
    "linter": Half("lint/", "lint/dl_lint", "tests/lint", ("tests/lint/test_rules.py",), ("tests/lint",)),
}


@dataclass(frozen=True, slots=True)
class Change:
    """One place of a module and what stands there instead."""

    room: str
    path: str
    line: int
    kind: str
    edit: Edit

    @property
    def text(self) -> str:
        old = self.edit.file.source[self.edit.start : self.edit.end].decode()
        return f"{self.path}:{self.line}: {self.kind}: {' '.join(old.split())} -> {self.edit.text}"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a change: caught by a test, survived, or not run for want of time or tests."""

    number: int
    change: str
    outcome: str
    by: str
    seconds: float


def read(path: Path) -> File:
    source = path.read_bytes()
    starts = [0]
    for line in source.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    return File(path.relative_to(ROOT).as_posix(), source, ast.parse(source), starts)


def rooms(half: Half, leave_out: re.Pattern[str]) -> dict[str, list[File]]:
    """The modules that are changed, by what they are: of the plugin those whose functions are pure."""
    files: dict[str, list[File]] = {}
    for path in sorted((ROOT / half.package).rglob("*.py")):
        folders, file = path.relative_to(ROOT / half.package).parts[:-1], read(path)
        room = folders[0] if folders else "top"
        pure = room in ("checks", "advice") or (room == "probe" and is_pure(file))
        if (pure or half is not HALVES["plugin"]) and not leave_out.search(file.path):
            files.setdefault(room, []).append(file)
    return files


def is_pure(file: File) -> bool:
    """Whether a module says so of itself, or holds evidence."""
    summary = (ast.get_docstring(file.tree) or "").split("\n\n")[0]
    return "pure" in summary or file.path.endswith("/evidence.py")


def bodies(room: str, tree: ast.Module) -> Iterator[ast.AST]:
    """What is changed of a module: of a check only ``judge`` and the functions that it calls."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if room != "checks":
        yield from tree.body
        return
    wanted, reached = ["judge", "_conclude"], set[str]()
    while wanted:
        name = wanted.pop()
        if name in functions and name not in reached:
            reached.add(name)
            wanted += [node.id for node in ast.walk(functions[name]) if isinstance(node, ast.Name)]
            yield functions[name]


def changes(room: str, file: File) -> Iterator[Change]:
    """Every mutant of a module."""
    for body in bodies(room, file.tree):
        for node in without_words(body):
            for kind, start, end, text in edits(file, node):
                yield Change(room, file.path, file.line(start), kind, Edit(file, start, end, text))


def without_words(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below one, but for annotations, texts and imports, in which no fault is made."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr) or is_type_checking(node):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from without_words(child)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def edits(file: File, node: ast.AST) -> Iterator[tuple[str, int, int, str]]:
    """How one node may be changed: what that is called, from where to where, and what stands there then."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            start, end = file.span(left)[1], file.span(right)[0]
            found = WRITTEN.search(file.source[start:end].decode())
            if found:
                yield "comparison", start + found.start(), start + found.end(), FLIPPED[type(operator)]
        case ast.BoolOp(op=operator, values=[first, second, *_]):
            start, end = file.span(first)[1], file.span(second)[0]
            old, new = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
            found = re.search(rf"\b{old}\b", file.source[start:end].decode())
            if found:
                yield "and/or", start + found.start(), start + found.end(), new
        case ast.Constant(value=bool(value)):
            yield "constant", *file.span(node), str(not value)
        case ast.Constant(value=int(value)):
            yield "constant", *file.span(node), str(value + 1)
        case ast.Constant(value=float(value)):
            yield "constant", *file.span(node), str(2 * value if value else 1.0)
        case ast.If(test=test):
            yield "branch", *file.span(test), "False"
        case _:
            pass


def draw(half: Half, count: int, seed: int, leave_out: re.Pattern[str]) -> list[Change]:
    """As many changes of each room, of different lines."""
    source = random.Random(seed)
    found = []
    for room, files in rooms(half, leave_out).items():
        places = [change for file in files for change in changes(room, file)]
        source.shuffle(places)
        one_a_line = {(change.path, change.line): change for change in reversed(places)}
        found.append(sorted(one_a_line.values(), key=places.index))
    return [each for turn in zip(*found, strict=False) for each in turn][:count]


def tests_for(half: Half, path: str, copy: Path, hops: int) -> list[str]:
    """Test modules that mirror a module or belong to its check, then those that import it, then those that hold any.

    Where there are none, those of the modules that import it.
    """
    name = Path(path).stem
    own = [f"{half.tests}/{Path(path).relative_to(half.package).with_name(f'test_{name}.py').as_posix()}"]
    if "/advice/" in path:
        own.append(f"{half.tests}/checks/test_{name}.py")
    own = [each for each in own if (copy / each).exists()]
    tests = [*own, *importers(half, path, copy, half.tests), *half.always]
    if not tests and hops:
        users = [user for user in importers(half, path, copy, half.package) if user != path]
        tests = [test for user in users for test in tests_for(half, user, copy, hops - 1)]
    return list(dict.fromkeys(tests))


def importers(half: Half, path: str, copy: Path, folder: str) -> list[str]:
    """The modules of a folder that import a module, but for those that only need its types."""
    module = path.removeprefix(half.root).removesuffix(".py").replace("/", ".")
    parent, _, name = module.rpartition(".")
    imports = re.compile(rf"^from {re.escape(module)} import|^from {re.escape(parent)} import [^\n]*\b{name}\b", re.M)
    pattern = "test_*.py" if folder.startswith("tests") else "*.py"
    found = (
        each for each in sorted((copy / folder).rglob(pattern)) if imports.search(each.read_text(encoding="utf-8"))
    )
    return [each.relative_to(copy).as_posix() for each in found]


def first_failure(copy: Path, tests: list[str]) -> tuple[str, bool]:
    """The first test that fails, empty where none does; and whether they came to an end."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": f"{copy}:{copy / 'lint'}", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "", False
    failed = re.search(r"^(?:FAILED|ERROR) (\S+.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return (failed[1] if failed else "" if done.returncode in (0, 5) else f"exit {done.returncode}"), True


def run(half: Half, change: Change, number: int, copy: Path, deadline: float) -> Result:
    """Make one mutant, run its tests, and put the module back."""
    began = time.monotonic()

    def result(outcome: str, by: str = "") -> Result:
        return Result(number, change.text, outcome, by, round(time.monotonic() - began, 1))

    tests = tests_for(half, change.path, copy, HOPS)
    if not tests or began > deadline:
        return result("not run", "" if tests else "no tests")
    by = noticed(change, copy, tests)
    if not by and half.at_last:
        by = noticed(change, copy, list(half.at_last))
        return result("caught late" if by else "survived", by)
    return result("caught" if by else "survived", by)


def noticed(change: Change, copy: Path, tests: list[str]) -> str:
    """The first test that fails with a mutant and not without it; empty where none does."""
    target = copy / change.path
    left_out: list[str] = []
    while True:
        [(_, source)] = Mutant([change.edit], []).sources().items()
        target.write_bytes(source)
        try:
            by, ended = first_failure(copy, [*tests, *(f"--deselect={each}" for each in left_out)])
        finally:
            target.write_bytes(change.edit.file.source)
        if not by:
            return "" if ended else "it hangs"
        if "::" not in by or not first_failure(copy, [by])[0]:
            return by
        left_out.append(by)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES, default="plugin")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=20.0, help="none begins after so long")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of the sample, to look at some again")
    parser.add_argument("--leave-out", type=re.compile, default=re.compile("$^"), help="paths of which none is made")
    arguments = parser.parse_args(argv)
    deadline = time.monotonic() + 60 * arguments.minutes
    half = HALVES[arguments.half]
    sample = list(enumerate(draw(half, arguments.count, arguments.seed, arguments.leave_out), 1))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        copy.mkdir()
        for name in COPIED:
            ignored = shutil.ignore_patterns("__pycache__")
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, copy / name, ignore=ignored)
            else:
                shutil.copy2(ROOT / name, copy / name)
        # A change and its undoing may share size and second of a file, by which Python would take stale bytecode.
        compileall.compile_dir(copy, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
        for number, change in sample:
            if not arguments.only or number in arguments.only:
                results.append(run(half, change, number, copy, deadline))
                told = results[-1]
                print(f"{number:3} {told.outcome:11} {told.seconds:6.1f} s {told.change}  {told.by}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(each) for each in results], indent=1), encoding="utf-8")
    print(", ".join(f"{count} {outcome}" for outcome, count in Counter(each.outcome for each in results).items()))
    return int(any(each.outcome == "survived" for each in results))


if __name__ == "__main__":
    sys.exit(main())
