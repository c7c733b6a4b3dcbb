"""Files that others wrote: a sample of the standard library and of what is installed."""

from __future__ import annotations

import functools
import os
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from tests.variants import every

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

# All files below a folder instead of the sample: FACTS_CORPUS=… pytest tests/lint/facts
CORPUS = os.environ.get("FACTS_CORPUS")
QUICK_EVERY = 5
"""Of the sample, so many to one run every time."""


def corpus(step: int, largest_bytes: int) -> list[ParameterSet]:
    """Every ``step``-th file that is smaller than ``largest_bytes``."""
    if CORPUS:
        return every([Path(path) for path in _files(CORPUS)], 1)
    found = [Path(path) for root in ("stdlib", "purelib") for path in _files(sysconfig.get_paths()[root])[::step]]
    return every([path for path in found if path.stat().st_size < largest_bytes], QUICK_EVERY)


@functools.cache
def _files(root: str) -> list[str]:
    """The Python files below a folder, without those of packages installed there; ten times as fast as ``rglob``."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != "site-packages"]
        found += [f"{folder}/{name}" for name in names if name.endswith(".py")]
    return sorted(found, key=lambda path: path.split("/"))
