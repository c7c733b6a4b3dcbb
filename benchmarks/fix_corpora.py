"""``dl-lint --fix`` over whole repositories: what changes compiles, binds, is settled, and is what was said.

    python benchmarks/fix_corpora.py REPOSITORY...

Each repository is copied and mended twice, with safe fixes and with all of them. The edits that findings name in JSON
are applied here by other code than the linter's own; ``--fix`` must come to the same bytes. Each call that changes must
bind to the signature of what it calls, where that is known (``bound_calls``). Exit 1 if one is wrong.
"""

from __future__ import annotations

import collections
import json
import shutil
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bound_calls

KEPT = ("*.py", "*.ipynb", "*.cfg", "*.toml", "*.txt", "*.y*ml", "*.md", "*.rst", "[Rr][Ee][Aa][Dd]*", "INSTALL*")
"""Files that findings depend on."""

Record = dict[str, Any]
Files = dict[str, bytes]


@dataclass
class Outcome:
    """What one mode did to one repository; ``wrong`` are sentences."""

    fixes: collections.Counter[str] = field(default_factory=collections.Counter)
    passes: int = 0
    changed: int = 0
    wrong: list[str] = field(default_factory=list)


def lint(folder: Path, *options: str) -> str:
    """Standard output of a run; findings and broken files in a repository are no failure."""
    command = [sys.executable, "-m", "dl_lint", "--pedantic", *options, "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def findings(folder: Path) -> list[Record]:
    found: list[Record] = json.loads(lint(folder, "--output-format", "json"))
    return found


def copied(repository: Path, folder: Path) -> None:
    for pattern in KEPT:
        for path in repository.rglob(pattern):
            target = folder / path.relative_to(repository)
            if path.is_file() and not path.is_symlink() and ".git" not in path.parts:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)


def contents(folder: Path) -> Files:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for pattern in ("*.py", "*.ipynb")
        for path in folder.rglob(pattern)
        if path.is_file()  # a folder may end in .py too
    }


def usable(found: list[Record], *, unsafe: bool) -> list[Record]:
    return [one for one in found if one["fix"] and (unsafe or one["fix"]["applicability"] == "safe")]


Stretch = tuple[str, Any, tuple[int, int], tuple[int, int]]


def stretch(edit: Record) -> Stretch:
    start, end = edit["location"], edit["end_location"]
    return edit["filename"], edit["cell"], (start["row"], start["column"]), (end["row"], end["column"])


def clear(found: list[Record]) -> list[Record]:
    """The findings to mend in one pass: in order, each whose whole fix touches none of those before it."""
    taken: list[Stretch] = []
    chosen = []
    for one in found:
        wanted = [stretch(edit) for edit in one["fix"]["edits"]]
        if not any(a[:2] == b[:2] and a[2] <= b[3] and b[2] <= a[3] for a in wanted for b in taken):
            taken += wanted
            chosen.append(one)
    return chosen


def edited(text: str, edits: list[Record]) -> str:
    """``text`` with edits applied from the last to the first."""
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    for edit in sorted(edits, key=lambda one: stretch(one)[2], reverse=True):
        _, _, (row, column), (end_row, end_column) = stretch(edit)
        before, after = lines[row - 1][: column - 1], lines[end_row - 1][end_column - 1 :]
        lines[row - 1 : end_row] = (before + edit["content"].replace("\n", newline) + after).splitlines(keepends=True)
    return "".join(lines)


def apply(folder: Path, chosen: list[Record]) -> None:
    by_file: dict[str, dict[int | None, list[Record]]] = {}
    for one in chosen:
        for edit in one["fix"]["edits"]:
            by_file.setdefault(edit["filename"], {}).setdefault(edit["cell"], []).append(edit)
    for name, cells in by_file.items():
        path = folder / name
        if None in cells:
            path.write_bytes(edited(path.read_bytes().decode(), cells[None]).encode())
            continue
        book = json.loads(path.read_text())
        for number, edits in cells.items():
            assert number is not None
            cell = book["cells"][number - 1]
            cell["source"] = edited("".join(cell["source"]), edits)
        path.write_text(json.dumps(book))


def same(name: str, one: bytes, other: bytes) -> bool:
    """Whether two files say the same; of notebooks, whether all but the cutting of sources into lines is the same."""
    if not name.endswith(".ipynb") or one == other:
        return one == other
    books = [json.loads(data) for data in (one, other)]
    for book in books:
        for cell in book["cells"]:
            cell["source"] = "".join(cell["source"])
    return bool(books[0] == books[1])


def compiles(name: str, data: bytes) -> bool:
    """Whether Python takes a file, or a notebook is still JSON; cells hold magics that Python does not know."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            json.loads(data) if name.endswith(".ipynb") else compile(data, name, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True


def mended(linted: Path, found: list[Record], folder: Path, *, unsafe: bool) -> Outcome:
    outcome = Outcome()
    ours, theirs = (shutil.copytree(linted, folder / name) for name in ("ours", "theirs"))
    before = contents(ours)
    while chosen := clear(usable(found, unsafe=unsafe)):
        outcome.fixes.update(one["code"] for one in chosen)
        outcome.passes += 1
        apply(ours, chosen)
        found = findings(ours)
    fix = ("--fix", "--unsafe-fixes") if unsafe else ("--fix",)
    lint(theirs, *fix)
    after, expected = contents(theirs), contents(ours)
    lint(theirs, *fix)
    again = contents(theirs)
    for name, data in after.items():
        if not same(name, data, expected[name]):
            outcome.wrong.append(f"{name} is not what its findings say")
        if compiles(name, before[name]) and not compiles(name, data):
            outcome.wrong.append(f"{name} does not compile any more")
        if again[name] != data:
            outcome.wrong.append(f"{name} changes again")
        outcome.changed += data != before[name]
    outcome.wrong += bound_calls.unbound(theirs, before, after)
    return outcome


def main(repositories: list[str]) -> int:
    total = {False: Outcome(), True: Outcome()}
    seen = fixable = 0
    for repository in map(Path, repositories):
        with tempfile.TemporaryDirectory() as temporary:
            linted = Path(temporary, "linted")
            copied(repository, linted)
            found = findings(linted)
            seen += 1
            fixable += bool(usable(found, unsafe=True))
            for unsafe in (False, True):
                if not usable(found, unsafe=unsafe):
                    continue
                outcome = mended(linted, found, Path(temporary, str(unsafe)), unsafe=unsafe)
                mode, sums = "all" if unsafe else "safe", total[unsafe]
                print(
                    f"{repository.name:32} {mode:4} {outcome.fixes.total():4} fixes {outcome.changed:3} files "
                    f"{outcome.passes} passes",
                    *(f"\n  wrong: {one}" for one in outcome.wrong),
                    flush=True,
                )
                sums.fixes.update(outcome.fixes)
                sums.changed += outcome.changed
                sums.passes = max(sums.passes, outcome.passes)
                sums.wrong += outcome.wrong
    print(f"{seen} repositories, {fixable} with something to fix")
    for unsafe, sums in total.items():
        rules = ", ".join(f"{code} {count}" for code, count in sorted(sums.fixes.items()))
        print(
            f"{'all' if unsafe else 'safe'}: {sums.fixes.total()} fixes ({rules}) in {sums.changed} files, at most "
            f"{sums.passes} passes, {len(sums.wrong)} wrong"
        )
    return int(any(sums.wrong for sums in total.values()))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
