"""A small share of what ``benchmarks/lint_fuzz.py`` feeds to dl-lint: code that nobody wrote for it."""

from __future__ import annotations

import runpy
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "lint_fuzz.py"


@pytest.fixture(scope="module")
def fuzz() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def crashes(counts: dict[str, int]) -> list[str]:
    return [key for key in counts if key.startswith("CRASH")]


@pytest.mark.slow
def test_broken_cases_go_through_every_rule_and_fix(fuzz: dict[str, Any]) -> None:
    counts = fuzz["lint_mutated"](120, seed=1)
    assert crashes(counts) == []
    assert counts["files linted"] >= 10  # the others do not parse
    assert counts["fixes"] > 0


@pytest.mark.slow
def test_odd_forms_of_a_case_are_mended_as_the_plain_one(fuzz: dict[str, Any]) -> None:
    cases = [fuzz["CASES"] / f"{name}.py" for name in ("ignored_pin_memory_device", "empty_cache_in_batch_loop")]
    counts = fuzz["lint_odd"](cases)
    assert crashes(counts) == []
    assert counts["files mended"] >= 1 + len(fuzz["ODD"])


def test_a_fix_that_an_odd_form_alters_would_be_seen(
    fuzz: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = tmp_path / "case.py"
    case.write_bytes((fuzz["CASES"] / "ignored_pin_memory_device.py").read_bytes())
    monkeypatch.setitem(fuzz["ODD"], "CRLF", lambda data: data.replace(b", pin_memory_device", b" , pin_memory_device"))
    assert "CRASH case.py with CRLF is not mended as without" in crashes(fuzz["lint_odd"]([case]))


def test_a_crash_would_be_seen(fuzz: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dl_lint.project import Project

    (tmp_path / "data.py").write_text("from torch.utils.data import DataLoader\n")
    monkeypatch.setattr(Project, "loaders", lambda _: 1 / 0)
    assert crashes(fuzz["lint_and_mend"](str(tmp_path)))


@pytest.mark.slow
def test_records_that_are_built_from_their_own_fields_end(fuzz: dict[str, Any], tmp_path: Path) -> None:
    spec = find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    for name in ("serialize.py", "schema.py", "union.py", "schema_check.py", "dynamic_shapes.py"):
        shutil.copy(Path(spec.origin).parent / "_export" / "serde" / name, tmp_path)
    assert crashes(fuzz["lint_and_mend"](str(tmp_path))) == []
