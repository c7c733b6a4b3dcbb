"""The trees of real files are those that Python itself sees."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

# All files below a folder instead of the sample: FACTS_CORPUS=… pytest tests/lint/facts
CORPUS = os.environ.get("FACTS_CORPUS")
EVERY = 97
LARGEST_BYTES = 60_000


def corpus() -> list[Path]:
    if CORPUS:
        return [path for path in sorted(Path(CORPUS).rglob("*.py")) if path.is_file()]
    found = []
    for scheme in ("stdlib", "purelib"):
        root = Path(sysconfig.get_paths()[scheme])
        files = [path for path in sorted(root.rglob("*.py")) if "site-packages" not in path.relative_to(root).parts]
        found += [path for path in files[::EVERY] if path.stat().st_size < LARGEST_BYTES]
    return found


@pytest.mark.parametrize("path", corpus(), ids=lambda path: "/".join(path.parts[-2:]))
def test_the_tree_of_a_real_file_is_the_tree_that_python_sees(
    path: Path, against_ast: Callable[[bytes], list[str] | None]
) -> None:
    differences = against_ast(path.read_bytes())
    if differences is None:
        pytest.skip("not for this version of Python")
    assert differences == []
