"""What a run of dl-lint costs in CPU seconds (user and system, children included), beside what it could cost.

    python benchmarks/lint_speed.py TREE... [--together NAME] [--rounds 5] [--growth TREE] [--breakdown]
        [--peer 'TorchFix=torchfix --select ALL {tree}'] [--peer-rounds 1]

The commands take turns, and the median of the rounds is shown, so that other load hits all of them alike. Trees are
copied, Python files only, so nothing is written into them; ``--together`` puts them side by side into one. Modules are
kept compiled, as pip leaves them.

* floor: byte filter, ``libcst.parse_module`` and one walk over the semantic fields of the files that the filter keeps;
* cold: no cache yet, and one is written; warm: the same again; one changed: one surviving file has a new comment;
* start-up: in a folder without Python files; plain file: over one that the byte filter drops, never seen before;
* ruff: ``ruff check`` with a cache, and a second time; peers take their turn in the first rounds;
* growth: over 1, 4 and 16 copies of one tree, no two files alike.
"""

from __future__ import annotations

import argparse
import gc
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DL_LINT = [sys.executable, "-m", "dl_lint", "--output-format", "concise"]
RUFF = [shutil.which("ruff") or "ruff", "check", "--output-format", "concise"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def cpu_seconds(command: list[str], folder: Path) -> float:
    """Of the command and of all processes that it waits for."""
    silent = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=silent, stderr=silent)
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return used.ru_utime + used.ru_stime


def copy_tree(source: Path, target: Path) -> None:
    """The Python files of a tree, as a project of its own."""
    for path in source.rglob("*.py"):
        hidden = any(part.startswith(".") for part in path.relative_to(source).parts)
        if path.is_file() and not path.is_symlink() and not hidden:
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    (target / "pyproject.toml").write_text("[project]\nname = 'tree'\n")


def join(sources: list[Path], target: Path) -> None:
    """Trees side by side in one project, no two files alike."""
    for number, source in enumerate(sources):
        copy = target / f"{source.name.replace('-', '_')}_{number}"
        copy_tree(source, copy)
        (copy / "pyproject.toml").unlink()
        for path in copy.rglob("*.py"):
            if path.is_file():
                path.write_bytes(path.read_bytes() + f"\n# {number}\n".encode())
    (target / "pyproject.toml").write_text("[project]\nname = 'trees'\n")


def first_with_loader(tree: Path) -> Path:
    return next(path for path in sorted(tree.rglob("*.py")) if path.is_file() and b"DataLoader" in path.read_bytes())


# --- the floor -------------------------------------------------------------------------

SPACE = ("whitespace", "trailing_whitespace", "leading_lines", "lines_after", "header", "footer", "newline")
MARKS = ("lpar", "rpar", "lbracket", "rbracket", "lbrace", "rbrace", "comma", "semicolon", "colon", "equal")
NOT_SEMANTIC = SPACE + MARKS


def floor(folder: Path) -> tuple[int, int, int]:
    """Files and lines that the byte filter keeps, and nodes walked over."""
    import libcst as cst
    from dl_lint.facts.tokens import might_matter

    kept = lines = nodes = 0
    fields: dict[type, tuple[str, ...]] = {}
    for path in folder.rglob("*.py"):
        data = path.read_bytes() if path.is_file() else b""
        if not might_matter(data):
            continue
        kept, lines = kept + 1, lines + data.count(b"\n")
        try:
            stack: list[Any] = [cst.parse_module(data)]
        except (cst.ParserSyntaxError, UnicodeDecodeError):
            continue
        while stack:
            node = stack.pop()
            nodes += 1
            kind = type(node)
            names = fields.get(kind)
            if names is None:
                every: dict[str, Any] = kind.__dataclass_fields__
                names = fields[kind] = tuple(name for name in every if not name.startswith(NOT_SEMANTIC))
            for name in names:
                value = getattr(node, name)
                if isinstance(value, cst.CSTNode):
                    stack.append(value)
                elif isinstance(value, tuple | list):
                    stack += [one for one in value if isinstance(one, cst.CSTNode)]
    return kept, lines, nodes


# --- where the time goes ---------------------------------------------------------------


@dataclass
class Clock:
    """CPU seconds by part; what runs inside of another part counts for the inner one only."""

    seconds: dict[str, float] = field(default_factory=dict)
    _running: list[str] = field(default_factory=list)
    _since: float = field(default_factory=time.process_time)

    def _switch(self) -> None:
        now = time.process_time()
        part = self._running[-1] if self._running else "rest"
        self.seconds[part] = self.seconds.get(part, 0) + now - self._since
        self._since = now

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        self._switch()
        self._running.append(name)
        try:
            yield
        finally:
            self._switch()
            self._running.pop()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **keywords: Any) -> Any:
            with self.part(name):
                return function(*arguments, **keywords)

        return run


def breakdown(folder: Path) -> None:
    """One cold run in this process, part by part."""
    gc.disable()  # as the command does
    clock = Clock()
    with clock.part("import"):
        import dl_lint.analysis
        import dl_lint.cli
        import dl_lint.facts.lower
        from dl_lint import analysis, catalogue, extraction, relevance
        from dl_lint.facts import lower, store
        from dl_lint.project import Project, modules

        list(catalogue.load(catalogue.entries().values()))
    for module, name, part in (
        (relevance, "relevant", "byte filter"),
        (lower, "parse", "ast.parse"),
        (lower, "walk", "lowering"),
        (lower, "lex", "tokens"),
        (lower, "nested_too_deeply", "tokens"),
        (extraction, "read", "facts, rest"),
        (store, "encode", "facts to JSON"),
        (modules, "index_file", "index of scopes"),
        (Project, "load", "linking"),
        (analysis.Analysis, "_run_rules", "rules"),
    ):
        vars_ = vars(module)
        made = vars_[name]
        if isinstance(made, classmethod):
            setattr(module, name, classmethod(clock.timed(part, made.__func__)))
        else:
            setattr(module, name, clock.timed(part, made))
    os.chdir(folder)
    shutil.rmtree(folder / ".dl_lint_cache", ignore_errors=True)
    stdout, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: PTH123, SIM115
    with clock.part("files, cache, output"):
        dl_lint.cli.main(["--jobs", "1"])
    sys.stdout = stdout
    total = sum(clock.seconds.values())
    print(f"\n{folder.name}: {total:.2f} s in one process")
    for part, seconds in sorted(clock.seconds.items(), key=lambda item: -item[1]):
        print(f"  {part:24} {seconds:7.2f} s {100 * seconds / total:5.1f} %")


# --- turns -----------------------------------------------------------------------------


def take_turns(tree: Path, rounds: int, peers: dict[str, list[str]], peer_rounds: int) -> dict[str, float]:
    """Median CPU seconds of each command over a tree."""
    seconds: dict[str, list[float]] = {}

    def note(name: str, command: list[str], folder: Path = tree) -> None:
        seconds.setdefault(name, []).append(cpu_seconds(command, folder))

    changed = first_with_loader(tree)
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as plain:
        for folder in (empty, plain):
            (Path(folder) / "pyproject.toml").write_text("[project]\n")
        (Path(plain) / "plain.py").write_text("print('of no interest')\n")
        cpu_seconds([*DL_LINT, "--no-cache", "."], tree)  # compiles what is not compiled yet
        for number in range(rounds):
            for cache in (".dl_lint_cache", ".ruff_cache"):
                shutil.rmtree(tree / cache, ignore_errors=True)
            note("floor", [sys.executable, __file__, "--floor", str(tree)])
            note("cold", [*DL_LINT, "."])
            note("warm", [*DL_LINT, "."])
            with changed.open("a") as file:
                file.write(f"\n# {number}\n")
            note("one changed", [*DL_LINT, "."])
            note("ruff cold", [*RUFF, "."])
            note("ruff warm", [*RUFF, "."])
            note("no cache, one process", [*DL_LINT, "--no-cache", "--jobs", "1", "."])
            note("start-up", [*DL_LINT, "."], Path(empty))
            note("plain file", [*DL_LINT, "--no-cache", "."], Path(plain))
            note("bare python", [sys.executable, "-c", "pass"], Path(empty))
            for name, command in peers.items() if number < peer_rounds else ():
                note(name, command)
    return {name: statistics.median(found) for name, found in seconds.items()}


def size(tree: Path) -> tuple[int, float]:
    files = [path for path in tree.rglob("*.py") if path.is_file()]
    return len(files), sum(path.read_bytes().count(b"\n") for path in files) / 1000


def report(tree: Path, rounds: int, peers: list[str], peer_rounds: int) -> None:
    files, klines = size(tree)
    kept, lines, _ = floor(tree)
    print(f"\n{tree.name}: {files} files, {klines:.1f} KLOC; the byte filter keeps {kept}, {lines / 1000:.1f} KLOC")
    commands = dict(peer.split("=", 1) for peer in peers)
    by_words = {name: [w.replace("{tree}", str(tree)) for w in shlex.split(line)] for name, line in commands.items()}
    found = take_turns(tree, rounds, by_words, peer_rounds)
    for name, seconds in found.items():
        print(f"  {name:22} {seconds:7.3f} s {1000 * seconds / klines:8.2f} ms/KLOC")
    print(f"  cold / floor {found['cold'] / found['floor']:.2f}   no cache / floor "
          f"{found['no cache, one process'] / found['floor']:.2f}   warm / ruff warm "
          f"{found['warm'] / found['ruff warm']:.2f}")  # fmt: skip
    for name in by_words:
        print(f"  {name} / cold {found[name] / found['cold']:.0f}   {name} / warm {found[name] / found['warm']:.0f}")
    sys.stdout.flush()


def growth(source: Path, rounds: int) -> None:
    """Cold, warm and one file changed over copies of one tree side by side, each a package in one project."""
    print(f"\ngrowth over copies of {source.name}")
    with tempfile.TemporaryDirectory() as name:
        trees = {copies: Path(name) / f"x{copies}" for copies in (1, 4, 16)}
        for copies, tree in trees.items():
            join([source] * copies, tree)
        seconds: dict[tuple[int, str], list[float]] = {}
        for number in range(rounds):
            for copies, tree in trees.items():
                shutil.rmtree(tree / ".dl_lint_cache", ignore_errors=True)
                for kind in ("cold", "warm", "one changed"):
                    if kind == "one changed":
                        with first_with_loader(tree).open("a") as file:
                            file.write(f"\n# {number}\n")
                    seconds.setdefault((copies, kind), []).append(cpu_seconds([*DL_LINT, "."], tree))
    for kind in ("cold", "warm", "one changed"):
        found = [statistics.median(seconds[copies, kind]) for copies in trees]
        shown = ", ".join(f"{copies}x {one:.2f} s" for copies, one in zip(trees, found, strict=True))
        print(f"  {kind:12} {shown}; {found[1] / found[0]:.2f} and {found[2] / found[0]:.2f} times", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("trees", nargs="*", type=Path)
    parser.add_argument("--together", metavar="NAME", help="one tree of this name that holds them all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--peer-rounds", type=int, default=1)
    parser.add_argument("--growth", type=Path)
    parser.add_argument("--breakdown", action="store_true")
    parser.add_argument("--floor", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--parts", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.parts:
        breakdown(options.parts)
        return
    if options.floor:
        floor(options.floor)
        return
    with tempfile.TemporaryDirectory() as name:
        trees = [Path(name) / (options.together or source.name) for source in options.trees]
        if options.together:
            join(options.trees, trees[0])
            del trees[1:]
        for number, tree in enumerate(trees):
            if not options.together:
                copy_tree(options.trees[number], tree)
            report(tree, options.rounds, options.peer, options.peer_rounds)
        if options.growth:
            growth(options.growth, options.rounds)
        for tree in trees if options.breakdown else []:
            parts = [sys.executable, __file__, "--parts", str(tree)]  # with nothing imported yet
            ran = subprocess.run(parts, env=ENVIRONMENT, capture_output=True, text=True, check=True)
            print(ran.stdout, flush=True)


if __name__ == "__main__":
    main()
