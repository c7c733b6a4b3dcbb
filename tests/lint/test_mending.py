"""Fixes in passes: they settle, parse, and respect what was accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from dl_lint.engine import analysis, catalogue
from dl_lint.rule import Edit, Finding, Fix, Rule
from dl_lint.source.positions import Place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dl_lint.engine.report import Entry
    from dl_lint.project import Project as Linked

    from tests.lint.conftest import Project

Findings = Callable[[str, str], Iterator[Finding]]
"""Findings by path and content."""


@pytest.fixture
def rule(project: Project, monkeypatch: pytest.MonkeyPatch) -> Callable[[Findings], None]:
    """Puts a function of path and text in place of DL209, the only rule that then runs."""

    def put(findings: Findings) -> None:
        def check(linked: Linked) -> Iterator[Finding]:
            for file in linked.files:
                yield from findings(file.path, _now(file.path))

        def load(chosen: Iterable[Entry]) -> Iterator[Rule]:
            for entry in chosen:
                yield Rule(entry.code, entry.name, entry.severity, check, __name__)

        monkeypatch.setattr(analysis, "load", load)

    texts: dict[str, str] = {}

    def _now(path: str) -> str:
        return texts[path]

    tree = analysis.Analysis.__init__

    def remember(self: analysis.Analysis, *arguments: object) -> None:
        tree(self, *arguments)  # type: ignore[arg-type]  # handed on as they are
        texts.update({path: data.decode() for path, data in self._tree.data.items()})

    monkeypatch.setattr(analysis.Analysis, "__init__", remember)
    project.write({"pyproject.toml": '[tool.dl-lint]\nselect = ["DL209"]\n'})
    return put


def replacing(old: str, new: str, *, safe: bool = True) -> Findings:
    """Flags each line that holds ``old``, with a fix that puts ``new``."""

    def findings(path: str, text: str) -> Iterator[Finding]:
        for row, line in enumerate(text.split("\n"), 1):
            if (column := line.find(old)) >= 0:
                place = Place(path, (row, column, row, column + len(old)))
                yield Finding(place, "wrong", "right", fix=Fix("mend", (Edit(place, new),), safe))

    return findings


# The linter looks only at files that speak of loaders.
HEAD = "from torch.utils.data import DataLoader\n"


def test_fixes_are_made_in_place_and_counted(project: Project, rule: Callable[[Findings], None]) -> None:
    rule(replacing("bad", "good"))
    project.write({"a.py": HEAD + "bad = 1\r\n", "b.py": HEAD + "x = bad\n", "c.py": HEAD})
    ran = project.lint("--fix")
    assert (ran.status, ran.out) == (0, "Fixed 2 findings; 0 left.\n")
    assert project.read("a.py") == HEAD + "good = 1\r\n"
    assert project.read("b.py") == HEAD + "x = good\n"


def test_one_fix_that_makes_room_for_another_takes_another_pass(
    project: Project, rule: Callable[[Findings], None]
) -> None:
    rule(replacing("aa", "a"))
    project.write({"a.py": HEAD + "aaaaa = 1\n"})
    assert project.lint("--fix").out == "Fixed 4 findings; 0 left.\n"
    assert project.read("a.py") == HEAD + "a = 1\n"


def test_fixes_that_undo_each_other_change_nothing(project: Project, rule: Callable[[Findings], None]) -> None:
    def swap(path: str, text: str) -> Iterator[Finding]:
        yield from replacing("left", "right")(path, text) if "left" in text else replacing("right", "left")(path, text)

    rule(swap)
    project.write({"a.py": HEAD + "left = 1\n"})
    ran = project.lint("--fix")
    assert ran.status == 2
    assert ran.err == "dl-lint: a.py: fixes of DL209 undo each other: nothing was changed\n"
    assert project.read("a.py") == HEAD + "left = 1\n"


@pytest.mark.parametrize("new", ["(", "\N{SNOWMAN}"])
def test_a_fix_that_spoils_its_file_is_left_out_and_named_while_others_are_made(
    project: Project, rule: Callable[[Findings], None], new: str
) -> None:
    def findings(path: str, text: str) -> Iterator[Finding]:
        yield from replacing("bad", new)(path, text)
        yield from replacing("poor", "fine")(path, text)

    rule(findings)
    head = "# coding: ascii\n" + HEAD
    project.write({"a.py": head + "bad = 1\npoor = 2\n", "b.py": HEAD + "poor = 2\n"})
    ran = project.lint("--fix")
    assert ran.status == 2
    assert ran.err.startswith("dl-lint: a.py:3: the fix of DL209 was left out, it would spoil a.py: ")
    assert project.read("a.py").startswith(head + "bad = 1\n")
    assert project.read("b.py") == HEAD + "fine = 2\n"


CACHING = """\
import numpy as np
from torch.utils.data import DataLoader, Dataset


class Clouds(Dataset):
    def __init__(self, paths):
        self.paths, self.kept = np.array(paths), {}

    def __getitem__(self, index):
        if index not in self.kept:
            self.kept[index] = np.load(self.paths[index])
        return self.kept[index]


def train(model, paths, epochs):
    loader = DataLoader(Clouds(paths), shuffle=True, num_workers=4)
    for epoch in range(epochs):
        for batch in loader:
            model(batch)
"""


def test_workers_that_would_keep_all_samples_are_not_kept_unasked(project: Project) -> None:
    project.write({"train.py": CACHING, "other.py": CACHING.replace("self.kept[index] = np", "sample = np")})
    fixes = {one["filename"]: one["fix"]["applicability"] for one in project.lint_json("--select", "DL204").records}
    assert fixes == {"train.py": "unsafe", "other.py": "safe"}


def test_unsafe_fixes_are_made_only_when_allowed(project: Project, rule: Callable[[Findings], None]) -> None:
    rule(replacing("bad", "good", safe=False))
    project.write({"a.py": HEAD + "bad = 1\n"})
    ran = project.lint("--fix")
    assert ran.status == 1
    assert ran.out.endswith(
        "Fixed 0 findings; 1 left.\n1 can be fixed with --unsafe-fixes, which may change what the code does.\n"
    )
    assert project.lint("--fix", "--unsafe-fixes").status == 0
    assert project.read("a.py") == HEAD + "good = 1\n"


def test_diff_shows_the_change_and_makes_none(project: Project, rule: Callable[[Findings], None]) -> None:
    rule(replacing("bad", "good"))
    project.write({"a.py": HEAD + "bad = 1\n"})
    ran = project.lint("--diff")
    assert ran.status == 1
    assert ran.out == f"--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n {HEAD}-bad = 1\n+good = 1\n"
    assert ran.err == "Would fix 1 finding; 0 left.\n"
    assert project.read("a.py") == HEAD + "bad = 1\n"


def test_what_a_comment_or_the_baseline_accepts_is_not_mended(
    project: Project, rule: Callable[[Findings], None]
) -> None:
    rule(replacing("bad", "good"))
    text = HEAD + "bad = 1  # dl-lint: ignore[DL209] needed\nbad = 2\n"
    project.write({"a.py": text})
    assert project.lint("--write-baseline", "--baseline", "accepted.json").out == "accepted.json: 1 accepted.\n"
    ran = project.lint("--fix", "--baseline", "accepted.json")
    assert (ran.status, project.read("a.py")) == (0, text)


def test_a_file_that_was_not_asked_about_is_not_mended(project: Project, rule: Callable[[Findings], None]) -> None:
    rule(replacing("bad", "good"))
    project.write({"a.py": HEAD + "bad = 1\n", "b.py": HEAD + "bad = 1\n"})
    project.lint("--fix", "a.py")
    assert project.read("a.py") == HEAD + "good = 1\n"
    assert project.read("b.py") == HEAD + "bad = 1\n"


def test_what_cannot_be_written_is_reported(
    project: Project, rule: Callable[[Findings], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> tuple[int, str]:
        raise OSError(28, "No space left on device")

    rule(replacing("bad", "good"))
    project.write({"a.py": HEAD + "bad = 1\n"})
    monkeypatch.setattr("os.fsync", full)
    ran = project.lint("--fix", "--no-cache")
    assert (ran.status, ran.err) == (2, "dl-lint: a.py: cannot be written: No space left on device\n")


def test_a_file_that_may_not_be_written_is_reported_though_its_folder_may(project: Project, faulty: str) -> None:
    project.write({"data.py": faulty, "other.py": faulty})
    (project.root / "data.py").chmod(0o444)
    ran = project.unprivileged("--fix")
    assert (ran.status, ran.err) == (2, "dl-lint: data.py: cannot be written: Permission denied\n")
    assert project.read("data.py") == faulty
    assert project.read("other.py") != faulty


def test_a_real_fix_gives_what_its_rule_advises(project: Project, faulty: str, mended: str) -> None:
    project.write({"data.py": b"\xef\xbb\xbf" + faulty.replace("\n", "\r\n").encode()})
    assert project.lint("--fix").status == 0
    assert (project.root / "data.py").read_bytes() == b"\xef\xbb\xbf" + mended.replace("\n", "\r\n").encode()
    assert project.lint().out == "No findings in 1 file.\n"


def test_a_fix_that_adds_a_word_is_seen_before_it_is_written(project: Project) -> None:
    """DL401 looks for ``set_epoch`` in the bytes of files, which on disk lack it until all passes are done."""
    entry = catalogue.entries()["DL401"]
    example = catalogue.page(entry).partition("## Example")[2].split("```python\n")[1].partition("```")[0]
    project.write({"train.py": example})
    ran = project.lint("--fix", "--unsafe-fixes", "--select", "DL401")
    assert (ran.status, ran.out, ran.err) == (0, "Fixed 1 finding; 0 left.\n", "")
    assert project.read("train.py").count("set_epoch") == 1
