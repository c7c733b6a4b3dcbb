"""A report as text: one module a format, each with ``render(report, texts, options)``, imported only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from dl_lint.report import Report

Lines = Callable[[str], "tuple[str, ...]"]
"""The lines of a file by its path, without their ends; empty for a file that cannot be read any more."""

Paint = Callable[[str, str], str]
"""Text in a style such as ``bold red``."""


def plain(_style: str, text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Look:
    """How a report is to be shown. ``unsafe``: whether unsafe fixes count as fixes."""

    lines: Lines
    paint: Paint = plain
    unsafe: bool = False


Render = Callable[["Report", Look], Iterator[str]]


def renderer(name: str) -> Render:
    return cast("Render", import_module(f"dl_lint.output.{name}").render)
