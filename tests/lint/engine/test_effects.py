"""What rules are said to cost: sentences out of the file, the file itself, the pairs behind it, and their runs."""

from __future__ import annotations

import ast
import importlib.util
import json
import math
import re
import sys
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from dl_lint.engine import catalogue, effects
from dl_lint.engine.effects import Effect
from dl_lint.output.rules import explanation

from tests.lint.test_rules import RULES, check

if TYPE_CHECKING:
    from types import ModuleType

    from dl_lint.rule import Finding

    from tests.lint.conftest import Project

ROOT = Path(__file__).parents[3]
PROOF = ROOT / "benchmarks" / "proof"
CHECKS = {path.stem for path in (ROOT / "pytest_dataloader" / "checks").glob("[!_]*.py")} | {"tune"}
ENTRIES = catalogue.entries()
STORED = effects.stored()

UNFOUND = {
    "DL307": "each form is a text, which a process of its own runs as a script",
    "DL111": "a loader anywhere in a project that pins silences it, and the fixed form has that",
    "DL313": "`cv2.setNumThreads` anywhere in a project silences it, and the mended form has that",
}
"""Rules that do not find the faulty form of their pair, and why."""

LONGEST_PAIR = 30
"""Lines without docstrings and blank ones: a pair is read at a glance."""


@pytest.fixture(scope="module")
def run() -> ModuleType:
    """``benchmarks/proof/run.py``."""
    spec = importlib.util.spec_from_file_location("proof_run", PROOF / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def pair(code: str) -> Path:
    return PROOF / f"{ENTRIES[code].name.replace('-', '_')}.py"


PAIRS = {code: pair(code) for code in ENTRIES if pair(code).exists()}


def effect(**changed: Any) -> Effect:
    given: dict[str, Any] = {
        "sentence": "costs {figure} MB a worker",
        "situation": "A dataset of 100,000 dicts, or one array.",
        "compare": "difference",
        "check": "memory",
        "figure": 16.4321,
        "low": 16.2,
        "high": 16.6,
        "faulty": 20.0,
        "mended": 3.5679,
        "rounds": 5,
        "seconds": 9.1,
        "date": "2026-11-26",
        "python": "3.11.7",
        "torch": "2.13.0+cpu",
        "machine": {"cpu": "AMD EPYC", "cpus": 2, "system": "Linux x86_64"},
    }
    return Effect(**given | changed)


# --- sentences -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1024, "1,024"),
        (25.0, "25"),
        (0, "0"),
        (1234.5, "1,230"),
        (16.04, "16.0"),
        (0.012345, "0.0123"),
        (-3.14159, "-3.14"),
    ],
)
def test_numbers_have_three_digits_and_whole_ones_all_of_theirs(value: float, text: str) -> None:
    assert effects.shown(value) == text


@pytest.mark.parametrize(
    ("figure", "low", "high", "text"),
    [
        (16.4321, 16.2, 16.6, "costs 16.4 MB a worker (16.2 to 16.6)"),
        (2714.3, 2240, 3280, "costs 2,710 MB a worker (2,240 to 3,280)"),
        (15.0, 14.96, 15.04, "costs 15.0 MB a worker (15.0 to 15.0)"),
        (1024.0, 1024.0, 1024.0, "costs 1,024 MB a worker"),
        (100 / 3, 100 / 3, 100 / 3, "costs 33.3 MB a worker"),
    ],
)
def test_a_figure_stands_with_its_interval_unless_it_did_not_vary(
    figure: float, low: float, high: float, text: str
) -> None:
    assert effect(figure=figure, low=low, high=high).told() == text


def test_both_forms_may_stand_in_the_sentence() -> None:
    found = effect(sentence="takes {figure} times as long: {faulty} ms, not {mended} ms", low=16.4321, high=16.4321)
    assert found.told() == "takes 16.4 times as long: 20 ms, not 3.57 ms"


def test_a_line_says_figure_situation_machine_and_check() -> None:
    assert effects.told("DL301", effect().as_record()) == (
        "Costs 16.4 MB a worker (16.2 to 16.6). A dataset of 100,000 dicts, or one array; measured by "
        "`make proof RULE=DL301` on 2026-11-26 (torch 2.13.0, 2 CPUs). "
        "The check `memory` measures it in a loader of yours."
    )
    found = effects.told("DL105", effect(check="", machine={"cpus": 1, "gpu": "NVIDIA H100"}).as_record())
    assert found.endswith("(torch 2.13.0, 1 CPU, NVIDIA H100).")


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ({"not_measured": "needs a CUDA device"}, "Not measured yet: needs a CUDA device."),
        ({"no_pair": "it is about comments"}, "No cost to measure: it is about comments."),
    ],
)
def test_what_has_no_figure_says_why(record: dict[str, str], text: str) -> None:
    assert effects.told("DL102", record) == text


# --- the file, and who shows it --------------------------------------------------------


def test_every_rule_has_a_record() -> None:
    assert [*STORED] == [*ENTRIES]


def test_every_rule_has_a_pair_or_a_reason(run: ModuleType) -> None:
    assert not ENTRIES.keys() - PAIRS.keys() - run.NO_PAIR.keys()
    assert not PAIRS.keys() & run.NO_PAIR.keys()
    assert not {path.stem for path in PROOF.glob("*.py")} - {path.stem for path in PAIRS.values()} - {"run", "training"}


@pytest.mark.parametrize("code", STORED)
def test_the_page_and_the_hover_of_a_rule_show_its_record(code: str) -> None:
    text = effects.told(code, STORED[code])
    assert f"\n## Measured\n\n{text}\n" in f"{catalogue.page(ENTRIES[code])}\n"
    assert text in explanation(ENTRIES[code])
    assert "{" not in text
    assert text.endswith(".")


@pytest.mark.parametrize("code", [code for code, record in STORED.items() if "figure" in record])
def test_a_figure_lies_in_its_interval_and_is_no_nothing(code: str) -> None:
    found = Effect(**STORED[code])
    assert found.low <= found.figure <= found.high
    assert "{figure}" in found.sentence
    assert found.compare in ("difference", "ratio")
    assert found.check in CHECKS | {""}
    assert found.faulty != found.mended
    assert found.figure > (1 if found.compare == "ratio" else 0), "the mended form is worse"
    assert found.rounds >= 2
    assert found.date
    assert found.machine["cpus"]


def test_the_file_is_in_the_package() -> None:
    """hatchling takes all of a package into the wheel."""
    assert resources.files("dl_lint.engine").joinpath("effects.json").is_file()
    settings = (ROOT / "lint" / "pyproject.toml").read_text()
    assert 'build-backend = "hatchling.build"' in settings
    assert 'packages = ["dl_lint"]' in settings


def test_a_page_without_a_record_has_no_section(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effects, "stored", dict)
    assert "## Measured" not in catalogue.page(ENTRIES["DL209"])


def test_linting_does_not_read_the_file(project: Project, faulty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []

    def read() -> dict[str, Any]:
        reads.append("read")
        return {}

    monkeypatch.setattr(effects, "stored", read)
    project.write({"data.py": faulty})
    assert project.lint_json().places == [("data.py", 5, "DL209")]
    assert not reads
    assert project.lint("--explain", "DL209").status == 0
    assert reads


# --- the pairs -------------------------------------------------------------------------


@pytest.mark.parametrize("code", PAIRS)
def test_a_pair_is_short_and_says_what_it_shows(code: str) -> None:
    text = PAIRS[code].read_text()
    tree = ast.parse(text)
    assert (ast.get_docstring(tree) or "").endswith("."), "its docstring is a sentence"
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            names |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    assert {"CHECK", "EFFECT", "COMPARE", "faulty", "mended"} <= names
    documented = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    told = [node.body[0] for node in documented if ast.get_docstring(node) is not None]
    lines = sum(bool(line.strip()) for line in text.splitlines())
    assert lines - sum((one.end_lineno or one.lineno) - one.lineno + 1 for one in told) <= LONGEST_PAIR


def found_in(code: str, folder: Path) -> list[Finding]:
    """What a rule finds in its pair alone."""
    files = {PAIRS[code].name: PAIRS[code].read_text()}
    (folder / PAIRS[code].name).write_text(files[PAIRS[code].name])
    return check(RULES[code], files, folder)


@pytest.mark.parametrize("code", [code for code in PAIRS if code in RULES])
def test_a_rule_finds_the_faulty_form_of_its_pair_alone(code: str, tmp_path: Path) -> None:
    found = found_in(code, tmp_path)
    assert bool(found) == (code not in UNFOUND), UNFOUND.get(code, "finds nothing")
    mended = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(ast.parse(PAIRS[code].read_text()))
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name.lower().startswith("mended")
    ]
    assert mended
    assert not [one.place.span[0] for one in found if any(one.place.span[0] in lines for lines in mended)]


# --- running them ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "compare", "wanted"),
    [
        ([5.0, 5.0, 5.0], "difference", (5.0, 5.0, 5.0)),
        ([4.0, 4.0], "ratio", (4.0, 4.0, 4.0)),
        # 16.4 and 4.31 * 0.1 * sqrt(4/3) = 0.498 to either side
        ([16.3, 16.4, 16.5], "difference", (16.4, 15.9, 16.9)),
        # 1,000, and by a factor of exp(12.71 * 0.0707 * sqrt(1.5)) = 3.007 to either side
        ([1000 * math.exp(0.05), 1000 * math.exp(-0.05)], "ratio", (1000.0, 330.0, 3010.0)),
    ],
)
def test_the_interval_is_that_of_a_further_round_rounded_outward(
    run: ModuleType, shown: list[float], compare: str, wanted: tuple[float, float, float]
) -> None:
    assert run.interval(shown, compare) == pytest.approx(wanted)


def test_the_interval_holds_further_rounds_as_often_as_it_says(run: ModuleType) -> None:
    import random

    chance = random.Random(0)
    held = 0
    for _ in range(2_000):
        *shown, further = [chance.gauss(100.0, 7.0) for _ in range(6)]
        _, low, high = run.interval(shown, "difference")
        held += low <= further <= high
    assert 0.935 <= held / 2_000 <= 0.97


def test_a_ratio_to_nothing_is_a_failure(run: ModuleType) -> None:
    assert run.effect(6.0, 2.0, "ratio") == 3.0
    assert run.effect(6.0, 2.0, "difference") == 4.0
    for faulty, mended, compare in ((6.0, 0.0, "ratio"), (0.0, 1.0, "ratio"), (1.0, 1.0, "product")):
        with pytest.raises(run.Failed):
            run.effect(faulty, mended, compare)


def test_a_second_run_is_held_against_the_stored_one(run: ModuleType) -> None:
    record = effect().as_record()
    assert run.as_stored(effect(figure=16.25), record) == "yes"
    assert run.as_stored(effect(figure=16.7), record) == "no: costs 16.4 MB a worker (16.2 to 16.6)"
    assert run.as_stored(effect(sentence="costs {figure} GB"), record) == "other pair"
    assert run.as_stored(effect(), {"not_measured": "needs a CUDA device"}) == "new"
    assert run.as_stored(effect(), None) == "new"
    exact = effect(figure=0.1 + 0.2, low=0.1 + 0.2, high=0.1 + 0.2).as_record()
    assert run.as_stored(effect(figure=0.3, low=0.3, high=0.3), exact) == "yes"


def test_what_was_measured_elsewhere_stays_where_it_cannot_be_measured(run: ModuleType) -> None:
    old = effect().as_record()
    stored = {"DL108": old, "DL105": {"not_measured": "needs the package x"}, "DL999": old, "DL301": old}
    found = run.merged(stored, {"DL302": effect()}, {"DL108": "needs a CUDA device", "DL105": "needs a CUDA device"})
    assert found["DL108"] == found["DL301"] == found["DL302"] == old
    assert found["DL105"] == {"not_measured": "needs a CUDA device"}
    assert [*found] == ["DL001", "DL105", "DL108", "DL301", "DL302"]


PAIR = '''"""One thing, or two."""
import os
CHECK, EFFECT, COMPARE, NEEDS = "", "costs {figure} things", "difference", ()
ROUNDS = 2
def faulty():
    print("a word")
    return %s
def mended():
    return 1
'''
NEEDY = '"""A pair."""\nNEEDS = ("no_such_package",)\nimport no_such_package\n'


@pytest.fixture
def written(run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pairs of four rules of which one fails and one needs a package, and a file to store effects in."""
    monkeypatch.setattr(run, "HERE", tmp_path)
    monkeypatch.setattr(run, "STORED", tmp_path / "effects.json")
    for code, text in {
        "DL301": PAIR % 2,
        "DL302": PAIR % "1 / 0",
        "DL303": NEEDY,
        "DL304": PAIR % "os._exit(3)",
    }.items():
        (tmp_path / pair(code).name).write_text(text)
    return tmp_path / "effects.json"


def test_pairs_are_run_told_and_kept_and_one_that_fails_stops_none(
    run: ModuleType, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.main(["DL302", "python_container_in_dataset", "handle-shared-over-fork", "DL304", "--write"]) == 1
    told = capsys.readouterr()
    assert re.search(r"DL301 .* new +costs 1 things\n", told.out)
    assert "ZeroDivisionError" in told.out
    assert "not measured: needs the package no_such_package" in told.out
    assert "exit status 3" in told.out
    assert "DL301 python-container-in-dataset ...." in told.err
    records = json.loads(written.read_text())
    assert [*records] == ["DL001", "DL301", "DL303"]
    assert (records["DL301"]["figure"], records["DL301"]["situation"]) == (1.0, "One thing, or two.")
    assert run.main(["DL301", "DL303", "DL001"]) == 0
    assert re.search(r"DL301 .* yes +costs 1 things\n", capsys.readouterr().out)


@pytest.mark.parametrize("argv", [["DL999"], ["--rounds", "1"], ["--no-such-option"]])
def test_what_cannot_be_run_is_bad_usage(run: ModuleType, argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        run.main(argv)
    assert raised.value.code == 2
    assert capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.xdist_group("time")
@pytest.mark.parametrize("code", [code for code in PAIRS if "figure" in STORED.get(code, {})])
def test_a_pair_still_shows_what_is_stored(run: ModuleType, code: str) -> None:
    """Its sign and its size, in a single round on whatever machine this is."""
    was = Effect(**STORED[code])
    try:
        now = run.measure(PAIRS[code], rounds=1)
    except run.Lacking as why:
        pytest.skip(str(why))
    nothing = 1 if now.compare == "ratio" else 0
    assert now.figure > nothing, "the faulty form is no worse than the mended one"
    assert 0.1 <= (now.figure - nothing) / (was.figure - nothing) <= 10
