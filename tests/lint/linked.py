"""Projects made of texts, and what they say about the places that the texts mark."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Protocol

import pytest
from dl_lint.project import Project
from dl_lint.source.file import Source
from dl_lint.source.parser import parse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dl_lint.source.parser import Syntax


class Load(Protocol):
    """Link files given by path, or one file ``main.py``; those named in ``unlinted`` are only read when imported."""

    def __call__(self, files: Mapping[str, str] | str, *, unlinted: tuple[str, ...] = ()) -> Project: ...


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def project(files: Mapping[str, str] | str, *, unlinted: tuple[str, ...] = ()) -> Project:
        texts = {"main.py": files} if isinstance(files, str) else dict(files)
        for path, text in texts.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(textwrap.dedent(text))

        def read(path: str) -> Syntax | None:
            return parse(Source.of(path, (tmp_path / path).read_bytes()))

        return Project.load([path for path in texts if path not in unlinted], str(tmp_path), read)

    return project
