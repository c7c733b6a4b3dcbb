"""A browser for the tests of pages, and the evidence of two loaders as a run of the examples wrote it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import chromium

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def evidence() -> dict[str, Any]:
    """What ``--dataloader-json`` wrote of ``examples/``: a loader with faults, tuned too, and a healthy one."""
    document: dict[str, Any] = json.loads(Path(__file__).with_name("evidence.json").read_text())
    return document


@pytest.fixture(scope="session")
def program() -> str:
    """A Chromium; tests that need one are skipped where there is none."""
    return chromium.found() or pytest.skip(f"no Chromium is installed: none of {', '.join(chromium.NAMES)}")


@pytest.fixture(scope="module")
def browser(program: str) -> Iterator[chromium.Browser]:
    """One browser for all pages of a module: to start one costs as much as what a test does with it."""
    with chromium.browser(program) as running:
        yield running


@pytest.fixture
def tab(browser: chromium.Browser) -> Iterator[chromium.Page]:
    """An empty tab that knows nothing of those before it."""
    with browser.tab() as page:
        yield page
