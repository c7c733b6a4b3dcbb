"""Settings of all tests."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest_plugins = ["pytester"]

MEASURING = Path(__file__).with_name("pytest_dataloader")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what it runs in the background so, and tests that press Ctrl-C on a child would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)


for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
    os.environ.pop(name, None)  # runs of tests would write annotations and a summary for the job that runs the tests


STARTED = time.monotonic()
LEFT_OUT = "the time budget was spent"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--time-budget", type=float, metavar="SECONDS", help="skip tests that have not begun after so many seconds"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    budget: float | None = item.config.getoption("--time-budget")
    if budget is not None and time.monotonic() - STARTED > budget:
        pytest.skip(LEFT_OUT)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests of which files the budget left out."""
    skipped = terminalreporter.getreports("skipped")
    left_out = Counter(report.fspath for report in skipped if LEFT_OUT in str(report.longrepr))
    if left_out:
        terminalreporter.section(f"{left_out.total()} tests left out: {LEFT_OUT}")
        for path, count in sorted(left_out.items()):
            terminalreporter.line(f"{count:5} {path}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that fork and collect garbage come first, while this process is small: the linter's make it large."""
    items.sort(key=lambda item: not item.path.is_relative_to(MEASURING))


@dataclass(frozen=True, slots=True)
class Grouped:
    """An item as a worker of pytest-xdist tells it to its controller for ``--dist loadgroup``: ``nodeid@group``."""

    nodeid: str

    @classmethod
    def of(cls, item: pytest.Item) -> Grouped:
        mark = item.get_closest_marker("xdist_group")
        return cls(item.nodeid if mark is None else f"{item.nodeid}@{mark.args[0]}")


@pytest.hookimpl(wrapper=True)
def pytest_collection_finish(session: pytest.Session) -> Iterator[None]:
    """Tell the controller of pytest-xdist groups, which 3.8 appends to an attribute that pytest 9.2 does not read.

    Take the million objects that collecting the tests made out of garbage collections, of 0.6 s each.
    """
    items = session.items
    if hasattr(session.config, "workerinput"):
        session.items = cast("list[pytest.Item]", [Grouped.of(item) for item in items])
    yield
    session.items = items
    gc.collect()
    gc.freeze()
