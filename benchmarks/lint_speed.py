"""What a run of dl-lint costs in CPU seconds (user and system, children included), beside what it could cost.

    python benchmarks/lint_speed.py TREE... [--together NAME] [--rounds 5] [--growth TREE] [--breakdown]
        [--peer 'TorchFix=torchfix --select ALL {tree}'] [--peer-rounds 1] [--peer-share 1]

The commands take turns, and the median of the rounds is shown, so that other load hits all of them alike. Trees are
copied, Python files only, so nothing is written into them; ``--together`` puts them side by side into one. Modules are
kept compiled, as pip leaves them.

* floor: byte filter, ``ast.parse`` and one ``ast.walk`` over the files that the filter keeps;
* cold: no cache yet, and one is written; warm: the same again; one changed: one surviving file has a new comment;
* start-up: in a folder without Python files; plain file: over one that the byte filter drops, never seen before;
* ruff: ``ruff check`` with a cache, and a second time; peers take their turn in the first rounds, over every Nth file
  (``--peer-share``), since they take minutes and look at each file alone: what they take is compared per 1,000 lines;
* growth: over 1, 4 and 16 copies of one tree, no two files alike; breakdown: see ``lint_parts.py``.
"""

from __future__ import annotations

import argparse
import ast
import atexit
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

DL_LINT = [sys.executable, "-m", "dl_lint", "--output-format", "concise"]
RUFF = [shutil.which("ruff") or "ruff", "check", "--output-format", "concise"]
CACHE = Path(tempfile.mkdtemp(prefix="lint-speed-cache-"))
"""Removed before each cold run, and at the end."""

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
ENVIRONMENT["DL_LINT_CACHE_DIR"] = str(CACHE)
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)


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


def floor(folder: Path) -> tuple[int, int, int]:
    """Files and lines that the byte filter keeps, and nodes walked over."""
    from dl_lint.source.byte_filter import might_matter

    kept = lines = nodes = 0
    for path in folder.rglob("*.py"):
        data = path.read_bytes() if path.is_file() else b""
        if might_matter(data):
            kept, lines = kept + 1, lines + data.count(b"\n")
            with suppress(SyntaxError, ValueError, RecursionError):
                nodes += sum(1 for _ in ast.walk(ast.parse(data)))
    return kept, lines, nodes


# --- peers ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Peers:
    """Other linters: their commands by name, the tree that they read, and in how many rounds they do."""

    commands: dict[str, str]
    tree: Path
    rounds: int


def peers_over(tree: Path, options: argparse.Namespace) -> Peers:
    """Every Nth file of the tree for the peers, beside the tree."""
    commands = dict(peer.split("=", 1) for peer in options.peer)
    share = tree
    if commands and options.peer_share > 1:
        share = tree.parent / f"{tree.name}_share"
        for path in sorted(path for path in tree.rglob("*.py") if path.is_file())[:: options.peer_share]:
            copy = share / path.relative_to(tree)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    return Peers(commands, share, options.peer_rounds)


# --- turns -----------------------------------------------------------------------------


def take_turns(tree: Path, rounds: int, peers: Peers) -> dict[str, float]:
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
            for cache in (CACHE, tree / ".ruff_cache"):
                shutil.rmtree(cache, ignore_errors=True)
            note("floor", [sys.executable, __file__, "--floor", str(tree)])
            note("cold", [*DL_LINT, "."])
            note("warm", [*DL_LINT, "."])
            with changed.open("a") as file:
                file.write(f"\n# {number}\n")
            note("one changed", [*DL_LINT, "."])
            note("ruff cold", [*RUFF, "."])
            note("ruff warm", [*RUFF, "."])
            note("start-up", [*DL_LINT, "."], Path(empty))
            note("plain file", [*DL_LINT, "--no-cache", "."], Path(plain))
            note("bare python", [sys.executable, "-c", "pass"], Path(empty))
            for name, command in peers.commands.items() if number < peers.rounds else ():
                note(name, [word.replace("{tree}", str(peers.tree)) for word in shlex.split(command)], peers.tree)
    return {name: statistics.median(found) for name, found in seconds.items()}


def size(tree: Path) -> tuple[int, float]:
    files = [path for path in tree.rglob("*.py") if path.is_file()]
    return len(files), sum(path.read_bytes().count(b"\n") for path in files) / 1000


def report(tree: Path, rounds: int, peers: Peers) -> None:
    files, klines = size(tree)
    kept, lines, _ = floor(tree)
    print(f"\n{tree.name}: {files} files, {klines:.1f} KLOC; the byte filter keeps {kept}, {lines / 1000:.1f} KLOC")
    found = take_turns(tree, rounds, peers)
    per_kline = {name: 1000 * seconds / klines for name, seconds in found.items()}
    if peers.commands:
        files, klines = size(peers.tree)
        print(f"  peers read {files} files of these, {klines:.1f} KLOC")
        per_kline |= {name: 1000 * found[name] / klines for name in peers.commands}
    for name, seconds in found.items():
        print(f"  {name:22} {seconds:7.3f} s {per_kline[name]:8.2f} ms/KLOC")
    print(f"  cold / floor {found['cold'] / found['floor']:.2f}   warm / ruff warm "
          f"{found['warm'] / found['ruff warm']:.2f}")  # fmt: skip
    for name in peers.commands:
        mine = ", ".join(f"{per_kline[name] / per_kline[own]:.0f} x {own}" for own in ("cold", "warm", "floor"))
        print(f"  {name} per 1,000 lines: {mine}")
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
                shutil.rmtree(CACHE, ignore_errors=True)
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
    parser.add_argument("--peer-share", type=int, default=1, metavar="N", help="peers read every Nth file")
    parser.add_argument("--growth", type=Path)
    parser.add_argument("--breakdown", action="store_true")
    parser.add_argument("--floor", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
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
            report(tree, options.rounds, peers_over(tree, options))
        if options.growth:
            growth(options.growth, options.rounds)
        for tree in trees if options.breakdown else []:
            parts = [sys.executable, str(Path(__file__).with_name("lint_parts.py")), str(tree)]
            ran = subprocess.run(parts, env=ENVIRONMENT, capture_output=True, text=True, check=True)
            print(ran.stdout, flush=True)


if __name__ == "__main__":
    main()
