"""What the plugin costs a run of pytest that has nothing to do with it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import pytest_dataloader

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.xdist_group("cpu")

HEAVY = {"torch", "numpy", "psutil", "libcst", "rich"}
LIGHT = {
    "pytest_dataloader",
    "pytest_dataloader.bench",
    "pytest_dataloader.checks",
    "pytest_dataloader.fixtures",
    "pytest_dataloader.plugin",
    "pytest_dataloader.printable",
    "pytest_dataloader.settings",
    "pytest_dataloader.settings.options",
}
BUDGET_SECONDS = 0.005
"""CPU of loading: measured 2.8 to 3.0 ms (pytest 9.1, Python 3.11)."""

LOAD = """
import gc, json, sys, time
import pytest, _pytest.config, _pytest.terminal, _pytest.fixtures
gc.disable()
before = time.process_time()
import pytest_dataloader.plugin
for name in pytest_dataloader.plugin.pytest_plugins:
    __import__(name)
spent = time.process_time() - before
print(json.dumps([spent, sorted(sys.modules)]))
"""


def run(*command: str, cwd: Path, **environ: str) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=cwd, env=environ or None, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_loading_the_plugin_costs_at_most_5_ms_and_imports_little(tmp_path: Path) -> None:
    cache = {"PYTHONPYCACHEPREFIX": str(tmp_path)}  # the bytecode of an installed package is there already
    seen = [json.loads(run("-c", LOAD, cwd=tmp_path, **cache)) for _ in range(6)][1:]
    ours = {name for name in seen[0][1] if name.partition(".")[0] == "pytest_dataloader"}
    assert ours == LIGHT
    assert not HEAVY & set(seen[0][1])
    assert min(spent for spent, _ in seen) <= BUDGET_SECONDS


@pytest.mark.slow
def test_a_run_that_measures_nothing_imports_no_more(tmp_path: Path) -> None:
    tmp_path.joinpath("test_it.py").write_text("def test_it(): pass\n")
    tmp_path.joinpath("conftest.py").write_text(
        "import json, sys\ndef pytest_unconfigure():\n    print(json.dumps(sorted(sys.modules)))\n"
    )
    options = ("-q", "-p", "no:hypothesispytest", "-p", "no:memray")
    for arguments in ((), ("--collect-only",)):
        modules = json.loads(run("-m", "pytest", *options, *arguments, cwd=tmp_path).splitlines()[-1])
        assert {name for name in modules if name.partition(".")[0] == "pytest_dataloader"} == LIGHT
        assert not HEAVY & set(modules)


def test_collecting_targets_imports_no_torch(tmp_path: Path) -> None:
    tmp_path.joinpath("pyproject.toml").write_text('[tool.pytest-dataloader.targets.a]\nloader = "m:f"\n')
    tmp_path.joinpath("conftest.py").write_text(
        "import json, sys\ndef pytest_unconfigure():\n    print(json.dumps(sorted(sys.modules)))\n"
    )
    options = ("-q", "-p", "no:hypothesispytest", "-p", "no:memray", "--dataloader-bench", "--collect-only")
    output = run("-m", "pytest", *options, cwd=tmp_path).splitlines()
    assert "pyproject.toml::a::throughput" in output
    assert not HEAVY & set(json.loads(output[-1]))


@pytest.mark.parametrize("name", pytest_dataloader.__all__)
def test_public_names_are_loaded_when_they_are_asked_for(name: str) -> None:
    assert getattr(pytest_dataloader, name).__name__ == name
    assert name in dir(pytest_dataloader)


def test_other_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="module 'pytest_dataloader' has no attribute 'Throughputt'"):
        _ = pytest_dataloader.Throughputt
