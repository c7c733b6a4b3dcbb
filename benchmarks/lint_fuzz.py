"""Feeds dl-lint code that nobody wrote for it, and counts crashes, of which there must be none.

    python benchmarks/lint_fuzz.py [--generated 300] [--mutated 600] [--no-odd] [FOLDER...]

* generated: sources by hypothesmith, which writes whatever Python's grammar allows, held to the reading of files;
* mutated: the cases of all rules with lines dropped, doubled, swapped, indented and cut, run through every rule, with
  all fixes made;
* odd: the same cases with byte order marks, other line ends, encodings, form feeds and the like; where such a file is
  Python, its fixes must be those of the plain one, to the byte;
* folders (default: the standard library and site-packages): every file is read; then every rule runs over each folder,
  and all fixes, unsafe ones too, are made in memory. What they give must parse where the file did.

A crash is an exception of ours, or a fix whose result does not parse. A file that dl-lint refuses
with a reason is none.
"""

from __future__ import annotations

import argparse
import codecs
import random
import shutil
import sys
import sysconfig
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesmith
from dl_lint.engine import catalogue
from dl_lint.session import Session, Wishes
from dl_lint.source.file import Source
from dl_lint.source.parser import parse
from dl_lint.source.text import SourceError
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RULES = catalogue.entries()
BESIDE = {"__pycache__", "site-packages"}
CASES = Path(__file__).parents[1] / "tests" / "lint" / "cases"


def parses(data: bytes) -> bool:
    try:
        compile(data, "x", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def reading(path: str) -> str:
    """analysed, refused, or what broke."""
    try:
        parse(Source.read(path))
    except SourceError:
        return "refused"
    except Exception as error:
        return f"CRASH {type(error).__name__}: {error} in {path}"
    return "analysed"


def read_all(paths: list[str]) -> Counter[str]:
    return Counter(map(reading, paths))


def lint_and_mend(folder: str) -> Counter[str]:
    """All rules over a folder, and all their fixes."""
    return mend_all(folder)[1]


def mend_all(folder: str) -> tuple[Mapping[str, bytes], Counter[str]]:
    """What the files hold after all fixes, by path, and what happened."""
    counts: Counter[str] = Counter()
    wishes = Wishes(paths=(folder,), select=("ALL",), cache=False)
    session = Session(wishes, RULES)
    outcome = session.fix(unsafe=True)
    counts["files linted"] += outcome.report.checked
    counts["findings left"] += len(outcome.report.findings)
    counts["fixes"] += len(outcome.fixed)
    for failure in outcome.report.failures:
        if "broke down" in failure.message or "left out" in failure.message or "undo each other" in failure.message:
            counts[f"CRASH {failure}"] += 1
    for file in outcome.changed():
        before, after = outcome.before.data[file.path], outcome.tree.data[file.path]
        counts["files mended"] += 1
        if not file.path.endswith(".ipynb") and parses(before) and not parses(after):
            counts[f"CRASH {file.path} does not parse after its fixes"] += 1
    return outcome.tree.data, counts


def mutated(text: str, chance: random.Random) -> str:
    """The same with a few lines not as they were."""
    lines = text.split("\n")
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(lines))
        match chance.randrange(6):
            case 0:
                del lines[at : at + chance.randint(1, 3)]
            case 1:
                lines.insert(at, chance.choice(lines))
            case 2:
                other = chance.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines[at] = "    " + lines[at]
            case 4:
                lines[at] = lines[at][: chance.randint(0, len(lines[at]))]
            case _:
                lines[at] = lines[at].replace("self", "cls").replace("=", ":=", 1)
        lines = lines or [""]
    return "\n".join(lines)


ODD: dict[str, Callable[[bytes], bytes]] = {
    "byte order mark": lambda data: codecs.BOM_UTF8 + data,
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "CR": lambda data: data.replace(b"\n", b"\r"),
    "form feeds": lambda data: data.replace(b"\nclass ", b"\n\fclass ").replace(b"\ndef ", b"\n\fdef "),
    "Latin-1": lambda data: b"# coding: latin-1\n# \xe4\n" + data.decode().encode("ascii", "backslashreplace"),
    "tabs": lambda data: data.replace(b"    ", b"\t"),
    "blanks at line ends": lambda data: data.replace(b":\n", b":  \t\n"),
    "wide characters": lambda data: (
        "# \N{MATHEMATICAL SCRIPT CAPITAL X} \N{CJK UNIFIED IDEOGRAPH-8A9E}\n".encode() + data
    ),
}
"""What Python reads as it reads the plain file, so that the same must be mended."""

BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "NUL": lambda data: data + b"\0",
    "no text": lambda data: data + b"\xff\xfe",
    "unknown encoding": lambda data: b"# coding: klingon\n" + data,
    "open bracket": lambda data: data + b"(" * 300,
    "backslash at the end": lambda data: data.rstrip() + b"\\",
    "cut in the middle": lambda data: data[: len(data) // 2],
    "nothing": lambda _: b"",
}


def lint_odd(cases: list[Path]) -> Counter[str]:
    """All rules and fixes over the cases in each odd form, one folder a form."""
    counts: Counter[str] = Counter()
    plain = {case.name: case.read_bytes() for case in cases}
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        forms = {"plain": bytes, **ODD, **BROKEN}
        for form, change in forms.items():
            folder = top / form.replace(" ", "_")
            folder.mkdir()
            for case, data in plain.items():
                (folder / case).write_bytes(change(data))
        mended, counts = mend_all(str(top / "plain"))
        for form, change in [*ODD.items(), *BROKEN.items()]:
            folder = top / form.replace(" ", "_")
            odd, found = mend_all(str(folder))
            counts += found
            if form in ODD:
                for case in plain:
                    if odd[str(folder / case)] != change(mended[str(top / "plain" / case)]):
                        counts[f"CRASH {case} with {form} is not mended as without"] += 1
    return counts


def lint_mutated(number: int, seed: int) -> Counter[str]:
    chance = random.Random(seed)
    cases = sorted(CASES.glob("*.py"))
    with tempfile.TemporaryDirectory() as name:
        for one in range(number):
            case = chance.choice(cases)
            (Path(name) / f"{case.stem}_{one}.py").write_text(mutated(case.read_text(), chance))
        return lint_and_mend(name)


def read_generated(number: int) -> Counter[str]:
    counts: Counter[str] = Counter()

    @settings(max_examples=number, deadline=None, database=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(st.one_of(hypothesmith.from_grammar(), hypothesmith.from_node()))
    def hold(text: str) -> None:
        try:
            source = Source.of("generated.py", text.encode())
            parse(source)
            counts["analysed"] += 1
        except (SourceError, UnicodeEncodeError):
            counts["refused"] += 1
        except Exception as error:
            counts[f"CRASH {type(error).__name__}: {error} on {text!r}"] += 1

    hold()
    return counts


def python_files(folder: str) -> list[str]:
    """Those of the standard library without the packages that lie in it."""
    return sorted(
        str(path)
        for path in Path(folder).rglob("*.py")
        if path.is_file() and not path.is_symlink() and not BESIDE & set(path.relative_to(folder).parts)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--generated", type=int, default=300)
    parser.add_argument("--mutated", type=int, default=600)
    parser.add_argument("--odd", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    paths = sysconfig.get_paths()
    folders = options.folders or [paths["stdlib"], paths["purelib"]]
    crashes = 0

    def tell(what: str, counts: Counter[str]) -> None:
        nonlocal crashes
        bad = {key: count for key, count in counts.items() if key.startswith("CRASH")}
        crashes += sum(bad.values())
        print(f"{what}: {dict(counts - Counter(bad))}; crashes: {sum(bad.values())}", *bad, sep="\n  ", flush=True)

    if options.generated:
        tell(f"{options.generated} generated sources", read_generated(options.generated))
    if options.mutated:
        tell(f"{options.mutated} mutated cases", lint_mutated(options.mutated, options.seed))
    if options.odd:
        cases = sorted(CASES.glob("*.py"))
        forms = 1 + len(ODD) + len(BROKEN)
        tell(f"{len(cases)} cases in {forms} forms", lint_odd(cases))
    for folder in folders:
        files = python_files(folder)
        tell(f"{len(files)} files read under {folder}", read_all(files))
        with tempfile.TemporaryDirectory() as name:  # where no .gitignore above leaves it out
            copied = Path(name) / "all"
            for path in files:
                copy = copied / Path(path).relative_to(folder)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
            tell(f"every rule and fix over {folder}", lint_and_mend(str(copied)))
    print(f"crashes: {crashes}")
    return 1 if crashes else 0


if __name__ == "__main__":
    sys.exit(main())
