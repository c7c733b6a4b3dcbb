"""Holds the two parsers of dl-lint against each other: what they lower a file to must be the same tree.

    python benchmarks/lint_front_ends.py [--jobs 2] [FOLDER...]

Folders default to the standard library and site-packages. Each Python file and notebook is read once by way of Python's
own parser and once by way of libcst's; trees, spans and logical lines are compared as the cache would store them.

* same: both read it, and to the same;
* libcst only: newer syntax than this Python's; python only: libcst refuses what Python takes;
* neither: syntax errors; refused: nested too deeply, not text, too large;
* LOST: Python parses it, but our walk along its tokens does not fit; DIFFERENT: the trees are not the same.
"""

from __future__ import annotations

import argparse
import json
import sys
import sysconfig
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from dl_lint.facts import FileFacts, store
from dl_lint.facts.cursor import TooDeep
from dl_lint.facts.lex import lex
from dl_lint.facts.lower import by_libcst, by_python
from dl_lint.facts.native import parse
from dl_lint.facts.nesting import nested_too_deeply
from dl_lint.processes import Died, spread
from dl_lint.source import Source, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BAD = ("LOST", "DIFFERENT", "BROKE DOWN")


def compared(source: Source) -> str:
    """What the two parsers make of a file, in one of the words above."""
    tokens = lex(source.code)
    if nested_too_deeply(source.code, tokens) is not None:
        return "refused"
    try:
        ours = by_python(source, tokens)
    except (TooDeep, RecursionError):
        return "refused"
    if ours is None and parse(source.code) is not None:
        return "LOST"
    try:
        theirs = by_libcst(source, tokens)
    except SourceError:
        return "neither" if ours is None else "python only"
    if ours is None:
        return "libcst only"
    first, second = (store.encode(FileFacts(body, (), ranges)) for body, ranges in (ours, theirs))
    return "same" if json.dumps(first) == json.dumps(second) else "DIFFERENT"


def of_file(path: str) -> str:
    try:
        return compared(Source.read(path))
    except (SourceError, TooDeep, RecursionError):
        return "refused"
    except Exception as error:
        return f"BROKE DOWN: {type(error).__name__}: {error}"


def answers(files: list[str], jobs: int) -> Iterator[tuple[str, str]]:
    """Each file's, from processes that may die of libcst's parser."""
    sizes = [Path(path).stat().st_size for path in files]
    for number, answer in spread(lambda one: of_file(files[one]).encode("utf-8", "replace"), sizes, jobs):
        yield files[number], "refused" if isinstance(answer, Died) else answer.decode()


def files_under(folders: Iterable[str]) -> list[str]:
    return sorted(
        str(path)
        for folder in folders
        for pattern in ("*.py", "*.pyi", "*.ipynb")
        for path in Path(folder).rglob(pattern)
        if path.is_file() and not path.is_symlink()
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="name every file that is not the same")
    options = parser.parse_args()
    paths = sysconfig.get_paths()
    bad = 0
    for folder in options.folders or [paths["stdlib"], paths["purelib"]]:
        files = files_under([folder])
        counts: Counter[str] = Counter()
        for path, said in answers(files, options.jobs):
            counts[said.partition(":")[0]] += 1
            bad += said.startswith(BAD)
            if said.startswith(BAD) or (options.verbose and said != "same"):
                print(f"  {said}: {path}", flush=True)
        print(f"{len(files)} files under {folder}: {dict(counts)}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
