"""Findings of old code that a team has agreed to live with, matched by the flagged text, so they survive line shifts.

The file lists path, code and text with the number of times that they occur: a second finding of the same kind on a
new line shows, and one that moved does not.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from dl_lint.engine.selection import ConfigError
from dl_lint.source import disk
from dl_lint.texts import flagged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dl_lint.engine.report import Reported
    from dl_lint.texts import Lines

SCHEMA = 1

MOST_BYTES = 64_000_000
"""Of a baseline; a finding takes 200."""

Key = tuple[str, str, str]
"""Path relative to the baseline's folder, code, flagged text."""


def write(path: str, findings: Iterable[Reported], lines: Lines) -> int:
    """Make the findings the accepted ones; returns how many they are. Raises OSError."""
    counts = Counter(_key(reported, path, lines) for reported in findings)
    rows = [{"path": key[0], "code": key[1], "text": key[2], "count": count} for key, count in sorted(counts.items())]
    document = json.dumps({"schema": SCHEMA, "findings": rows}, indent=1, ensure_ascii=False) + "\n"
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "x", encoding="utf-8", errors="surrogateescape") as file:
            file.write(document)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    return sum(counts.values())


def read(path: str) -> Counter[Key]:
    """The accepted findings. Raises ConfigError for a file that is none of ours."""
    try:
        document = json.loads(disk.read(path, MOST_BYTES).decode("utf-8", "surrogateescape"))
        if document["schema"] != SCHEMA:
            raise ConfigError(f"{path}: baseline of schema {document['schema']!r}, this dl-lint reads {SCHEMA}")
        counts: Counter[Key] = Counter()
        for row in document["findings"]:
            counts[str(row["path"]), str(row["code"]), str(row["text"])] += int(row["count"])
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); --write-baseline makes one") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise ConfigError(f"{path}: not a baseline of dl-lint; --write-baseline makes one") from None
    return counts


def unknown(findings: Iterable[Reported], accepted: Counter[Key], path: str, lines: Lines) -> tuple[Reported, ...]:
    """The findings that the baseline does not accept."""
    left = Counter(accepted)
    new = []
    for reported in findings:
        key = _key(reported, path, lines)
        if left[key] > 0:
            left[key] -= 1
        else:
            new.append(reported)
    return tuple(new)


def _key(reported: Reported, path: str, lines: Lines) -> Key:
    name = os.path.relpath(reported.path, os.path.dirname(os.path.abspath(path)))
    return name.replace(os.sep, "/"), reported.rule.code, flagged(reported, lines)
