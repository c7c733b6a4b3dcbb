"""What rich draws, as text: for a terminal in its width and colours, elsewhere plain and 80 columns wide."""

from __future__ import annotations

import io
import os
import shutil
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.text import Text

from pytest_dataloader.printable import printable, put

if TYPE_CHECKING:
    from rich.console import RenderableType

PLAIN_COLUMNS = 80


def rendered(
    content: RenderableType, width: int = PLAIN_COLUMNS, *, colours: bool = False, encoding: Any = "utf-8"
) -> str:
    """A drawing as lines of text, each ended, in characters that ``encoding`` has; escapes only with ``colours``.

    >>> rendered(Text("batch → device", style="bold"), encoding="ascii")
    'batch \\\\u2192 device\\n'
    """
    try:
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding or "ascii", errors="backslashreplace", newline="\n")
    except LookupError:
        return rendered(content, width, colours=colours, encoding="ascii")
    console = Console(
        file=stream,
        width=width,
        force_terminal=colours,
        force_jupyter=False,
        color_system="standard" if colours else None,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        _environ={},
    )
    console.print(content)
    stream.seek(0)
    lines = [line.rstrip() for line in stream.read().splitlines()]
    return "".join(f"{line if colours else printable(line)}\n" for line in lines)


def columns_of(*, watched: bool) -> int:
    """How wide to draw: as the terminal is, or as COLUMNS says, or 80."""
    return (
        shutil.get_terminal_size((PLAIN_COLUMNS, 24)).columns if watched or "COLUMNS" in os.environ else PLAIN_COLUMNS
    )


def show(content: RenderableType, stream: TextIO) -> None:
    """Print a drawing to a stream, as it can show it."""
    watched = stream.isatty()
    colours = watched and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    put(
        rendered(content, columns_of(watched=watched), colours=colours, encoding=getattr(stream, "encoding", None)),
        stream,
    )


def text(words: str, style: str = "") -> Text:
    """Words that others may have chosen, with nothing in them that a terminal obeys."""
    return Text(printable(words), style)
