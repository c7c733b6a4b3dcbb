"""Exceptions and stacks of workers as torch and faulthandler write them, and the frames in them that are the user's."""

from __future__ import annotations

import functools
import itertools
import linecache
import multiprocessing
import os
import re
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_CAUGHT = re.compile(r"Caught (\S+) in DataLoader worker process (\d+)\.")
_DEAD = re.compile(r"DataLoader worker \(pid\(?s?\)? ([\d, ]+)\)")
_SIGNAL = re.compile(r"DataLoader worker .* is killed by signal: ([^.]+)\.")
_FRAME = re.compile(r'\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(,? in (?P<function>\S+))?')
_LOOPS = (" in _worker_loop", " in _next_data")
_FRAMES = 12


def caught(error: BaseException) -> tuple[int, str, tuple[str, ...]] | None:
    """The worker, the exception and its stack, of an exception that torch carried here from a worker.

    Torch raises the type again with the worker's traceback as its text: a KeyError with a special text, one whose
    constructor takes other arguments as a RuntimeError.
    """
    # KeyError shows its argument as a literal; exceptions with a message keep it where they like.
    for text in (*map(str, error.args), str(error), str(getattr(error, "message", ""))):
        match = _CAUGHT.search(text)
        if match is not None:
            original = text.partition("Original ")[2]
            return int(match[2]), _last_line(original, match[1]), frames(original.splitlines())
    return None


def told(error: BaseException) -> str:
    """Type and message of an exception in a line, those of the worker's where one brought it here."""
    carried = caught(error)
    first = (str(error).strip().splitlines() or [""])[0]
    return carried[1] if carried else f"{type(error).__name__}: {first}"


def dead_workers(error: BaseException) -> set[int]:
    """The pids of workers that died, of an exception by which torch says so: it is raised wherever the signal comes."""
    named = _DEAD.search(str(error))
    return {int(pid) for pid in named[1].split(",")} if named else set()


def signal_told(error: BaseException) -> str:
    """The name of the signal that ended a worker, of an exception by which torch says so; else empty."""
    named = _SIGNAL.search(str(error))
    words = named[1] if named else ""
    return next((each.name for each in signal.Signals if words and signal.strsignal(each) == words), "")


def _last_line(traceback: str, kind: str) -> str:
    """``Type: message`` at the end of a traceback: a message may have lines of its own, so find where it begins."""
    found = [line for line in traceback.splitlines() if re.match(rf"(\w+\.)*{re.escape(kind)}\b", line)]
    return found[-1].strip() if found else kind


def frames(lines: Any) -> tuple[str, ...]:
    """The frames of a traceback, each with its source line where there is one; the loader's machinery is left out."""
    kept: list[str] = []
    mine = False
    for line in lines:
        match = _FRAME.match(line)
        if match:
            mine = not match["file"].startswith(_machinery())
        elif not line.startswith("    "):
            continue
        if mine and not set(line.strip()) <= set("^~ "):
            kept.append(line.strip() if match else f"  {line.strip()}")
    return tuple(kept[-2 * _FRAMES :])


@functools.cache
def _machinery() -> tuple[str, ...]:
    """Where the code lies that every loader runs: frames in it say nothing."""
    import torch

    home = os.path.dirname(torch.__file__)  # noqa: PTH120  # compared with the text of tracebacks
    folders = [os.path.join(home, "utils", "data"), os.path.join(home, "_utils.py")]  # noqa: PTH118  # the same
    modules = [multiprocessing, sys.modules.get("torchdata")]
    files = [module.__file__ for module in modules if module is not None and module.__file__]
    return (*folders, *map(os.path.dirname, files), threading.__file__, str(Path(__file__).parents[2]))


def stack_of(written: tuple[str, ...]) -> tuple[str, ...]:
    """A stack as faulthandler writes it, turned round: the innermost frame last, those above torch's loop left out."""
    own: list[str] = []
    for line in written:
        if line.endswith(_LOOPS):
            break
        own.append(line)
    mine = frames(reversed(own)) or tuple(reversed(own[:_FRAMES]))
    return tuple(itertools.chain.from_iterable(map(_with_code, mine)))


def _with_code(frame: str) -> Iterator[str]:
    """A frame, and below it the line of code where that can be read, as in a traceback."""
    yield frame
    place = _FRAME.match(frame)
    if place and (code := linecache.getline(place["file"], int(place["line"])).strip()):
        yield f"  {code}"


def place(error: BaseException) -> str:
    """Where an exception was raised in the user's code, in a worker too: ``data.py:31, in read``; or empty."""
    carried = caught(error)
    stack = carried[2] if carried else frames("".join(traceback.format_exception(error)).splitlines())
    found = [match for line in stack if (match := _FRAME.match(line))]
    return f"{found[-1]['file']}:{found[-1]['line']}, in {found[-1]['function']}" if found else ""
