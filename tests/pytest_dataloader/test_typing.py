"""What a type checker says of fixtures, ``diagnose``, its report and ``monitor``."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from typing import TYPE_CHECKING, get_type_hints

import pytest

import pytest_dataloader
from pytest_dataloader import checks, fixtures
from pytest_dataloader.checks import signatures

if TYPE_CHECKING:
    from pathlib import Path

VALUES = {"Size": '"32MB"', "Step": '"train:step"', "str": '"name"', "float": "0.5", "int": "2"}


def title(check: str) -> str:
    return check.capitalize()


def declared(name: str) -> dict[str, str]:
    """The limits of a check that its signature declares, each with its annotation."""
    limits = getattr(signatures, f"{name}Limits", None)
    return {} if limits is None else {key: str(limits.__annotations__[key]) for key in limits.__annotations__}


@pytest.mark.parametrize("check", [*checks.NAMES, "training"])
def test_a_signature_has_the_limits_that_the_check_reads(check: str) -> None:
    assert list(declared(title(check))) == list(checks.limits_of(check))


def test_diagnose_takes_every_limit() -> None:
    assert set(get_type_hints(signatures.Limits, localns={"Sequence": list, "Step": object})) == {
        limit for check in (*checks.NAMES, "tune") for limit in checks.limits_of(check)
    }


@pytest.mark.parametrize("check", checks.NAMES)
def test_a_fixture_is_of_the_type_that_is_exported(check: str) -> None:
    name = f"{title(check)}Check"
    assert getattr(pytest_dataloader, name) is getattr(signatures, name)
    function = inspect.unwrap(getattr(fixtures, f"dataloader_{check}"))
    assert inspect.signature(function).return_annotation == f"signatures.{name}"


def use_of(check: str) -> str:
    """A test that uses a check rightly, and wrongly on the lines that name an error."""
    name = title(check)
    limits = declared(name)
    values = {key: next(value for kind, value in VALUES.items() if kind in note) for key, note in limits.items()}
    given = "".join(f", {key}={value}" for key, value in values.items())
    return f"""
def test_{check}(dataloader_{check}: {name}Check) -> None:
    seen = dataloader_{check}(object(){given})
    assert_type(seen, {name})
    assert_type(diagnose(object(), checks=["{check}"]{given})["{check}"], {name})
    dataloader_{check}(object(), max_worker_grwoth="3MB")  # error: call-arg
    dataloader_{check}(object(), checks=["{check}"])  # error: call-arg
    seen.nonsense  # error: attr-defined
"""


REST = """
def test_values(
    dataloader_memory: MemoryCheck, dataloader_throughput: ThroughputCheck, dataloader_fds: FdsCheck
) -> None:
    dataloader_memory(object(), max_worker_growth=32_000_000, max_total_memory=None)
    dataloader_memory(object(), max_worker_growth=[])  # error: arg-type
    dataloader_throughput(object(), min_samples_per_second="many")  # error: arg-type
    dataloader_throughput.compare(object(), object(), tolerance=0.1).ratio
    dataloader_throughput.compare(object(), object(), tolerence=0.1)  # error: call-arg
    with dataloader_fds.watch(keep=1) as block:
        pass
    block.left
    dataloader_memory.watch()  # error: attr-defined


def test_report() -> None:
    report = diagnose(object(), step=print, max_stall=0.1, quick=True)
    report["memry"]  # error: call-overload
    diagnose(object(), max_stal=0.1)  # error: call-arg
    monitor(object(), max_input_wait=0.1)
    monitor(object(), max_stall=0.1)  # error: call-arg
"""


def test_mypy_refuses_a_mistyped_limit_and_a_field_that_does_not_exist(tmp_path: Path) -> None:
    names = sorted({f"{title(check)}Check" for check in checks.NAMES} | {"diagnose", "monitor"})
    types = f"from pytest_dataloader.evidence import {', '.join(map(title, checks.NAMES))}"
    head = ["from typing import assert_type", f"from pytest_dataloader import {', '.join(names)}", types]
    text = "\n".join([*head, *map(use_of, checks.NAMES), REST])
    (tmp_path / "test_loaders.py").write_text(text, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", "test_loaders.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    found = {
        (int(line), code)
        for line, code in re.findall(r"^test_loaders.py:(\d+): error: .*\[([\w-]+)\]$", ran.stdout, re.MULTILINE)
    }
    lines = enumerate(text.splitlines(), 1)
    expected = {(number, line.split("# error: ")[1]) for number, line in lines if "# error: " in line}
    assert len(expected) > len(checks.NAMES)
    assert found == expected, ran.stdout + ran.stderr
