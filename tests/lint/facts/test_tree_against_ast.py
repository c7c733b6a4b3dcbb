"""The trees of real files are those that Python itself sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.lint.facts.corpus import corpus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("path", corpus(97, 60_000), ids=lambda path: "/".join(path.parts[-2:]))
def test_the_tree_of_a_real_file_is_the_tree_that_python_sees(
    path: Path, against_ast: Callable[[bytes], list[str] | None]
) -> None:
    differences = against_ast(path.read_bytes())
    if differences is None:
        pytest.skip("not for this version of Python")
    assert differences == []
