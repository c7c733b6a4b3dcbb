"""``pytest-dataloader attach PID``: a running training, looked at from outside."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dataloader import progress
from pytest_dataloader.advice.attachment import attachment_lines
from pytest_dataloader.diagnosis import output
from pytest_dataloader.diagnosis.arguments import CommandParser, seconds
from pytest_dataloader.errors import BadTarget
from pytest_dataloader.probe.training.attachment import look

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "attach"
_SECONDS = 60.0
_DUMP_SECONDS = 10.0
_LOOPS = ("torch/utils/data/_utils/worker.py", "torchdata/stateful_dataloader/worker.py")
"""The files of the loops that workers run; what is below in a stack is the parent's, which a fork inherits."""
_EXAMPLES = ("attach 4711", "attach 4711 --seconds 10", "attach $(pgrep -of train.py)")


def main(arguments: Sequence[str]) -> int:
    """Look at the process that the arguments name and print what was seen; the status to exit with."""
    parser = _parser()
    given = parser.parse(arguments)
    line = progress.StandaloneLine(sys.stderr)
    try:
        seen = look(
            given.pid,
            given.seconds,
            line_of=_line_of if shutil.which("py-spy") else lambda _pid: "",
            came=lambda share: line.show(f"looking at {given.pid}", share),
        )
    except BadTarget as error:
        output.say(f"{parser.prog}: {error}", sys.stderr)
        return output.EXIT_NOT_RUN
    except KeyboardInterrupt:  # a second one
        line.clear()
        return output.EXIT_NOT_RUN
    line.clear()
    for text in attachment_lines(seen):
        output.say(text, sys.stdout)
    return output.EXIT_PASSED if seen.workers else output.EXIT_NOT_RUN


def _line_of(pid: int) -> str:
    """The innermost line of a worker's own code, by py-spy, which does not stop it; empty where it waits for work."""
    command = ["py-spy", "dump", "--nonblocking", "--json", "--pid", str(pid)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_DUMP_SECONDS, check=False)
        threads = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return ""
    for thread in threads:
        frames = thread["frames"]
        if not any(_is_loop(frame["filename"]) for frame in frames):  # a thread that hands out batches
            continue
        for frame in frames:
            if _is_loop(frame["filename"]):
                break
            if not _is_machinery(frame["filename"]):
                return f"{frame['name']} ({Path(frame['filename']).name}:{frame['line']})"
    return ""


def _is_loop(file: str) -> bool:
    return file.endswith(_LOOPS)


def _is_machinery(file: str) -> bool:
    """Whether a file is of torch or of Python's own library."""
    parts = Path(file).parts
    return bool({"torch", "torchdata"} & set(parts)) or (
        any(part.startswith("python3") for part in parts) and "site-packages" not in parts
    )


def _pid(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"expected the number of a process, got {text!r}")
    return int(text)


def _parser() -> CommandParser:
    parser = CommandParser(
        NAME,
        "Say of a running training what its workers wait for and what they take, without touching it: from /proc\n"
        "alone, and by py-spy, where that is installed, the line that each worker is at.",
        _EXAMPLES,
        "0 where workers were seen, 2 where none were or the process cannot be looked at",
        "PID [options]",
    )
    parser.add_argument("pid", type=_pid, metavar="PID", help="the training, its launcher, or one rank of a job")
    parser.add_argument("--seconds", type=seconds, metavar="N", default=_SECONDS, help="how long to look (60)")
    return parser
