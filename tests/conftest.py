"""Settings of all tests."""

from __future__ import annotations

import gc
import signal
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

pytest_plugins = ["pytester"]

MEASURING = Path(__file__).with_name("pytest_dataloader")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what it runs in the background so, and tests that press Ctrl-C on a child would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that fork and collect garbage come first, while this process is small: the linter's make it large."""
    items.sort(key=lambda item: not item.path.is_relative_to(MEASURING))


def pytest_collection_finish() -> None:
    """Take the million objects that collecting the tests made out of garbage collections, of 0.6 s each."""
    gc.collect()
    gc.freeze()
