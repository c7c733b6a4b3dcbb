"""What IPython adds to Python: lines that its shell takes for itself are masked, so that the rest can be parsed."""

from __future__ import annotations

import ast
import re
import warnings

from dl_lint.source.text import NEWLINE

# Cells under these hold Python that runs in the notebook; under all others, text for another program or a file.
PYTHON_MAGICS = frozenset({"capture", "debug", "memit", "prun", "pyinstrument", "scalene", "time", "timeit"})

_CELL_MAGIC = re.compile(r"\s*%%(\w*)")

# Where a statement could start, none of these is Python: %magic, !shell, ?help, x = %magic, x = !shell, and x? alone.
_ESCAPE = re.compile(
    r"(?P<indent>[ \t]*)(?:"
    r"(?P<target>[^\s=#'\"(!%?][^\n=#'\"(!%?]*=[ \t]*)(?=[%!])(?!%[ \t]|!=)(?:\\\r?\n|[^\n\r])*"
    r"|(?=[%!?])(?:\\\r?\n|[^\n\r])*"
    r"|%{0,2}[\w.*]+\?\??[ \t]*(?=[\r\n]|\Z|\#)(?:\#[^\r\n]*)?"
    r")"
)

_PIECE = re.compile(
    r"\"\"\"(?:[^\\]|\\.)*?(?:\"\"\"|\Z)|'''(?:[^\\]|\\.)*?(?:'''|\Z)"
    r'|"(?:[^"\\\n]|\\.)*"?|\'(?:[^\'\\\n]|\\.)*\'?'
    r"|\#[^\r\n]*|(?P<open>[(\[{])|(?P<close>[)\]}])|\\\r?\n|(?P<end>\r\n|\r|\n)",
    re.DOTALL,
)


def is_python(cell: str) -> bool:
    """Whether the kernel runs a cell as Python of the notebook itself."""
    magic = _CELL_MAGIC.match(cell)
    return magic is None or magic[1] in PYTHON_MAGICS


def fault(cell: str) -> tuple[int, str] | None:
    """The row, from 1, and the words of the syntax error of a cell without what only IPython knows; None for none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(cell, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as error:
        return error.lineno or 1, f"syntax error: {error.msg}"
    except (ValueError, RecursionError, MemoryError):  # not for this look to say
        return None
    return None


def blank(rows: int, is_ended: bool) -> str:
    """A cell of so many rows that does nothing."""
    return "pass\n" * (rows - 1) + ("pass\n" if is_ended else "pass")


def masked(cell: str) -> tuple[str, set[int]]:
    """The cell with something harmless for each line that only IPython knows, and the rows of those, from 0.

    No row moves, and outside the masked ones no column.
    """
    if not any(mark in cell for mark in "%!?"):
        return cell, set()
    pieces: list[str] = []
    rows: set[int] = set()
    row = at = 0
    while at < len(cell):
        escape = _ESCAPE.match(cell, at)
        if escape is None:
            end = _statement_end(cell, at)
            pieces.append(cell[at:end])
            row += len(NEWLINE.findall(cell, at, end))
        else:
            end = escape.end()
            broken = len(NEWLINE.findall(cell, at, end))
            does = f"{escape['target']}get_ipython()" if escape["target"] else "pass"
            pieces.append(f"{escape['indent']}{does}" + "\n" * broken)
            rows.update(range(row, row + broken + 1))
            row += broken
            if (newline := NEWLINE.match(cell, end)) is not None:
                pieces.append(newline[0])
                end = newline.end()
                row += 1
        at = end
    return "".join(pieces), rows


def _statement_end(cell: str, at: int) -> int:
    """The offset behind the logical line that starts at ``at``."""
    depth = 0
    for piece in _PIECE.finditer(cell, at):
        if piece["open"]:
            depth += 1
        elif piece["close"]:
            depth = max(0, depth - 1)
        elif piece["end"] and depth == 0:
            return piece.end()
    return len(cell)
