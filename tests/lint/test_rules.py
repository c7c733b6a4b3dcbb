"""Every rule against its case files and its own documentation.

``cases/<rule>.py`` and the folders below ``cases/<rule>/`` are projects: a file is one of its own, a folder is one if
it holds Python files itself, else each folder in it is. A line that the rule must flag ends in ``# expect`` (in the
cases of another rule, ``# expect: DL101``); every other line must stay clean. ``# with it`` marks a place of the
same fault, which a finding of another line tells. ``# expect advice`` marks a
finding that is no more than advice, of a rule that is more.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dl_lint import fixes, texts
from dl_lint.edits import spelled_out
from dl_lint.engine import catalogue
from dl_lint.project import Project
from dl_lint.rules import EVERYWHERE
from dl_lint.source.file import Source
from dl_lint.source.parser import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dl_lint.engine.report import Entry
    from dl_lint.rule import Edit, Finding, Rule
    from dl_lint.source.parser import Syntax

    from tests.lint import conftest

CASES = Path(__file__).parent / "cases"
EXPECT = re.compile(r"#\s*expect(?P<advice> advice)?(?::\s*(?P<codes>DL\d{3}(?:\s*,\s*DL\d{3})*))?\s*$")
FENCE = re.compile(r"```python\n(.*?)```", re.DOTALL)

ENTRIES = {entry.code: entry for entry in catalogue.entries().values() if entry.module.startswith("dl_lint.rules.")}
RULES = {rule.code: rule for rule in catalogue.load(ENTRIES.values())}
NAMES = {entry.name: entry.code for entry in ENTRIES.values()}

Files = dict[str, str]
"""The files of a project by path."""


def projects() -> Iterator[Path]:
    """The files and folders that are one project each."""
    for path in sorted(CASES.iterdir()):
        if path.suffix == ".py":
            yield path
        elif path.is_dir() and path.name != "__pycache__":
            folders = [inner for inner in sorted(path.iterdir()) if inner.is_dir() and inner.name != "__pycache__"]
            yield from [path] if any(path.glob("*.py")) else folders


PROJECTS = tuple(projects())


def files_of(path: Path) -> Files:
    if path.is_file():
        return {path.name: path.read_text()}
    return {file.relative_to(path).as_posix(): file.read_text() for file in sorted(path.rglob("*.py"))}


def rule_of(path: Path) -> Rule:
    return RULES[NAMES[path.relative_to(CASES).parts[0].removesuffix(".py").replace("_", "-")]]


def load(files: Mapping[str, str], root: Path) -> Project:
    """A project of the given texts; ``root`` is where searches for words look."""

    def read(path: str) -> Syntax | None:
        return parse(Source.of(path, files[path].encode())) if path in files else None

    return Project.load(files, str(root), read)


def check(rule: Rule, files: Mapping[str, str], root: Path) -> list[Finding]:
    weighed = rule.weighed(load(files, root), EVERYWHERE)
    said = (finding for finding, quiet in weighed if quiet is None or quiet.weight == "advice")
    return sorted(said, key=lambda finding: finding.place)


def expected(files: Mapping[str, str], rule: Rule) -> dict[tuple[str, int], bool]:
    """The lines that the rule must flag, and whether as advice."""
    found = {}
    for path, text in files.items():
        for number, line in enumerate(text.splitlines(), 1):
            mark = EXPECT.search(line)
            if mark and (mark["codes"] is None or rule.code in mark["codes"]):
                found[path, number] = mark["advice"] is not None
    return found


def written(files: Mapping[str, str], root: Path) -> Path:
    """The project on disk, for what looks at files that are not linted."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def mended(files: Mapping[str, str], findings: list[Finding]) -> Files:
    """The files after one pass of all fixes."""
    by_path: dict[str, list[Edit]] = {}
    taken: dict[str, list[tuple[int, int, int, int]]] = {}
    lines = texts.Texts({path: text.encode() for path, text in files.items()}).lines
    for finding in findings:
        fix = spelled_out(finding, lines).fix
        assert (fix is None) is (finding.fix is None)
        edits = fix.edits if fix is not None else ()
        if any(fixes.overlap(e.place.span, other) for e in edits for other in taken.get(e.place.path, ())):
            continue
        for edit in edits:
            by_path.setdefault(edit.place.path, []).append(edit)
            taken.setdefault(edit.place.path, []).append(edit.place.span)
    return {
        path: fixes.apply(Source.of(path, text.encode()), by_path.get(path, ())).decode()
        for path, text in files.items()
    }


def unbound(text: str) -> set[tuple[str, str]]:
    """The names that nothing in a file binds where they are read, each with the function that reads it."""
    tables = [symtable.symtable(text, "<case>", "exec")]
    bound = {one.get_name() for one in tables[0].get_symbols() if one.is_assigned() or one.is_imported()}
    for table in tables:
        tables += table.get_children()
    read = {(table.get_name(), one.get_name()) for table in tables for one in table.get_symbols() if one.is_global()}
    return {(function, name) for function, name in read if name not in bound | vars(builtins).keys()}


def section(entry: Entry, title: str) -> str:
    """The code under a heading of a rule's page."""
    _, _, rest = catalogue.page(entry).partition(f"## {title}\n")
    found = FENCE.search(rest.partition("\n## ")[0])
    assert found, f"{entry.module} has no code under {title}"
    return found[1]


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: str(path.relative_to(CASES)))
def test_exactly_the_marked_lines_are_flagged(path: Path, tmp_path: Path) -> None:
    rule, files = rule_of(path), files_of(path)
    findings = check(rule, files, written(files, tmp_path))
    places = Counter(f.place for f in findings)
    assert places.total() == len(places), f"{rule.name} says the same twice: {places.most_common(1)}"
    found = {(f.place.path, f.place.span[0]): f for f in findings}
    wanted = expected(files, rule)
    missed = wanted.keys() - found.keys()
    extra = found.keys() - wanted.keys()
    assert not missed, f"{rule.name} misses {sorted(missed)}"
    assert not extra, "\n".join(f"{where}: {found[where].message}" for where in sorted(extra))
    told = {(one.place.path, one.place.span[0]) for finding in found.values() for one in finding.related}
    marked = {(path, at) for path, text in files.items() for at, line in enumerate(text.splitlines(), 1)
              if line.endswith("# with it")}  # fmt: skip
    assert marked <= told, f"{rule.name} does not tell {sorted(marked - told)} with another place"
    assert {where: found[where].advice for where in found} == wanted, (
        "advice where more was marked, or more than advice"
    )


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: str(path.relative_to(CASES)))
def test_one_pass_of_fixes_settles_parses_and_reads_no_new_unbound_name(path: Path, tmp_path: Path) -> None:
    rule, files = rule_of(path), files_of(path)
    findings = check(rule, files, written(files, tmp_path))
    if all(finding.fix is None for finding in findings):
        return
    after = mended(files, findings)
    for name, text in after.items():
        ast.parse(text)
        assert unbound(text) <= unbound(files[name])
    assert mended(after, check(rule, after, written(after, tmp_path))) == after


@pytest.mark.parametrize("code", RULES)
def test_the_example_is_flagged(code: str, tmp_path: Path) -> None:
    files = {"example.py": section(ENTRIES[code], "Example")}
    found = check(RULES[code], files, written(files, tmp_path))
    assert found
    assert not any(one.advice for one in found)


@pytest.mark.parametrize("code", RULES)
def test_what_to_use_instead_is_clean_under_every_rule(code: str, tmp_path: Path) -> None:
    files = {"example.py": section(ENTRIES[code], "Use instead")}
    written(files, tmp_path)
    found = [
        (rule.code, f.message) for rule in RULES.values() for f in check(rule, files, tmp_path) if not advice(rule)
    ]
    assert not found


def advice(rule: Rule) -> bool:
    """Advice is about size and taste; an example of another rule need not follow it."""
    return rule.severity == "advice"


@pytest.mark.parametrize("code", RULES)
def test_the_fix_of_the_example_is_what_to_use_instead(code: str, tmp_path: Path) -> None:
    files = {"example.py": section(ENTRIES[code], "Example")}
    findings = check(RULES[code], files, written(files, tmp_path))
    if any(finding.fix is not None for finding in findings):
        assert mended(files, findings)["example.py"] == section(ENTRIES[code], "Use instead")


@pytest.mark.parametrize("code", RULES)
def test_every_rule_has_cases(code: str) -> None:
    name = ENTRIES[code].name.replace("-", "_")
    mine = [path for path in PROJECTS if path.relative_to(CASES).parts[0].removesuffix(".py") == name]
    assert mine, f"no tests/lint/cases/{name}.py"
    assert any(expected(files_of(path), RULES[code]) for path in mine)


@pytest.mark.parametrize("code", RULES)
def test_messages_and_places_are_usable(code: str, tmp_path: Path) -> None:
    files = {"example.py": section(ENTRIES[code], "Example")}
    for finding in check(RULES[code], files, written(files, tmp_path)):
        line, column, end_line, end_column = finding.place.span
        assert (line, column) < (end_line, end_column)
        assert finding.message
        assert not finding.message.endswith(".")
        assert finding.remedy
        assert not finding.remedy.endswith(".")


def test_a_rule_that_has_cases_exists() -> None:
    missing = [
        path for path in PROJECTS if path.relative_to(CASES).parts[0].removesuffix(".py").replace("_", "-") not in NAMES
    ]
    assert not missing


def test_places_that_fill_one_attribute_in_turn_are_one_finding_that_names_them_all(tmp_path: Path) -> None:
    text = (CASES / "python_container_in_dataset.py").read_text()
    lines = text.splitlines()
    first = lines.index("class FilledTwice(Dataset):") + 5
    files = {"data.py": text}
    [found] = [f for f in check(RULES["DL301"], files, written(files, tmp_path)) if f.place.span[0] == first]
    assert [one.place.span[0] for one in found.related] == [first + 5, first + 2]  # where it is read, and the other


CACHE = """
from torch.utils.data import DataLoader, Dataset

class Photos(Dataset):
    def __init__(self, paths):
        self.paths, self.cache = paths, {}

    def __getitem__(self, index):
        if index not in self.cache:
            self.cache[index] = read(self.paths[index])
        return self.cache[index]

def loaders(paths):
    return [DataLoader(Photos(paths), num_workers=4, persistent_workers=%s), DataLoader(Photos(paths), %s)]
"""


@pytest.mark.parametrize(
    ("first", "second", "thrown_away"),
    [
        ("True", "num_workers=2, persistent_workers=True", False),
        ("True", "num_workers=2", True),
        ("paths.stay", "num_workers=2, persistent_workers=True", True),
    ],
)
def test_a_cache_in_workers_that_stay_is_not_said_to_be_thrown_away(
    first: str, second: str, thrown_away: bool, tmp_path: Path
) -> None:
    rule = RULES[NAMES["growing-cache-in-dataset"]]
    [found] = check(rule, {"data.py": CACHE % (first, second)}, tmp_path)
    assert ("thrown away" in found.message) is thrown_away


UNCLAIMED = """
from torch.utils.data import DataLoader
from data import Photos
from registry import build

class Captions:
    def __getitem__(self, index):
        return index

def loaders(name, paths):
    dataset = build(name, paths)
    return [DataLoader(dataset, num_workers=4, persistent_workers=%s), DataLoader(Captions(), num_workers=4), %s]
"""


@pytest.mark.parametrize(
    ("said", "other", "thrown_away"),
    [
        ("True", "None", False),
        ("True", "DataLoader(dataset, num_workers=2)", True),
        ("True", "DataLoader(Photos(paths), num_workers=2)", True),
        ("False", "DataLoader(Photos(paths), num_workers=2, persistent_workers=True)", False),
    ],
)
def test_the_loaders_of_nobody_knows_what_say_whether_a_cache_is_thrown_away(
    said: str, other: str, thrown_away: bool, tmp_path: Path
) -> None:
    rule = RULES[NAMES["growing-cache-in-dataset"]]
    files = {"data.py": CACHE.partition("def loaders")[0], "train.py": UNCLAIMED % (said, other)}
    [found] = check(rule, files, written(files, tmp_path))
    assert ("thrown away" in found.message) is thrown_away


COPIES = """
from torch.utils.data import DataLoader


def train(model, dataset, device):
    for images in DataLoader(dataset, num_workers=4):
        model(images.to(device, non_blocking=True))
"""


def test_a_loader_pins_where_there_is_an_accelerator_and_nothing_is_imported_for_that(
    project: conftest.Project,
) -> None:
    project.write({"with_torch.py": f"import torch{COPIES}", "without.py": COPIES})
    project.lint("--fix", "--select", "DL103")
    assert "num_workers=4, pin_memory=torch.cuda.is_available())" in project.read("with_torch.py")
    assert project.read("without.py") == COPIES
    project.lint("--fix", "--unsafe-fixes", "--select", "DL103")
    assert "num_workers=4, pin_memory=True)" in project.read("without.py")
