"""A suppression comment that silences nothing.

## What it does

Flags a `# dl-lint: ignore[...]` or `# dl-lint: ignore-file[...]` whose rules find nothing there, a code in it that no
rule has, and a `# dl-lint:` comment that means nothing. Codes of rules that did not run are not judged, nor is
`# noqa`.

## Why is this bad?

The fault that the comment excused is gone, but the comment still hides the next one, and tells readers of a fault that
is not there.

## Example

```python
batch_size = 32  # dl-lint: ignore[DL301] forty entries, never grows
```

## Use instead

```python
batch_size = 32
```
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dl_lint.engine import suppress
from dl_lint.engine.catalogue import UNUSED_SUPPRESSION
from dl_lint.engine.report import Reported
from dl_lint.engine.selection import exactness, near
from dl_lint.rule import Edit, Finding, Fix
from dl_lint.source.positions import Place
from dl_lint.source.text import NEWLINE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from dl_lint.engine.report import Entry
    from dl_lint.engine.suppress import Used
    from dl_lint.source.file import Source
    from dl_lint.source.suppressions import Comments, Suppression


BRACKETS = re.compile(r"\[[^\]]*\]")


def unused(
    source: Source, comments: Comments, used: Used, ran: Collection[Entry], known: Mapping[str, Entry]
) -> Iterator[Reported]:
    """What is to be said of the suppressions in a file, of which ``used`` took back findings of the rules that ran."""
    lines = NEWLINE.split(source.text)
    for number, suppression in enumerate(comments.suppressions):
        place = Place(source.path, suppression.at)
        if suppression.kind == "unknown":
            message = f"`{_written(lines, suppression)}` silences nothing: dl-lint knows no such comment"
            yield _reported(Finding(place, message, "write `# dl-lint: ignore[CODE] reason`"))
        elif suppression.kind != "noqa":
            reasons = {code: _idle(code, number, used, ran, known) for code in suppress.codes(suppression)}
            idle = {code: reason for code, reason in reasons.items() if reason}
            if idle and not _accepted(comments, suppression, idle):
                message = f"`{_written(lines, suppression)}` silences nothing: {', '.join(idle.values())}"
                edit = _without(lines, source.path, suppression, [*idle])
                fix = Fix("remove what silences nothing", (edit,))
                yield _reported(Finding(place, message, "remove it, so that it cannot hide the next fault", fix=fix))


def _reported(finding: Finding) -> Reported:
    return Reported(UNUSED_SUPPRESSION, finding)


def _idle(code: str, number: int, used: Used, ran: Collection[Entry], known: Mapping[str, Entry]) -> str:
    """Why a code in a comment does nothing; empty if it does, or if the rules that it names did not all run.

    Of several rules, as under a prefix, those that are advice need not have run: nobody lists what is off anyway.
    """
    if (number, code) in used:
        return ""
    named = [rule for rule in known.values() if rule != UNUSED_SUPPRESSION and (not code or exactness(code, rule))]
    if not named:
        return "" if exactness(code, UNUSED_SUPPRESSION) else f'no rule "{code}"{near(code, known)}'
    if any(rule not in ran and (len(named) == 1 or rule.severity != "advice") for rule in named):
        return ""
    return f"{code} finds nothing here" if code else "no rule finds anything here"


def _accepted(comments: Comments, suppression: Suppression, idle: Collection[str]) -> bool:
    """Whether another comment, or the same one, accepts DL001 itself by name."""
    covering = suppress.covering(comments, UNUSED_SUPPRESSION, suppression.at[0])
    return any(code and code not in idle for _, code in covering)


def _written(lines: list[str], suppression: Suppression) -> str:
    row, column, _, end_column = suppression.at
    text = lines[row - 1][column:end_column]
    return text[: -len(suppression.reason)].rstrip() if suppression.reason else text


def _without(lines: list[str], path: str, suppression: Suppression, idle: list[str]) -> Edit:
    """Takes the idle codes out of the comment; with none left the comment, and with nothing beside it the line."""
    row, column, _, end_column = suppression.at
    line = lines[row - 1]
    left = [code for code in suppression.codes if code not in idle]
    if left:
        text = BRACKETS.sub(f"[{', '.join(left)}]", line[column:end_column], count=1)
        return Edit(Place(path, suppression.at), text)
    before, after = line[:column].rstrip(), line[end_column:].lstrip()
    if after:
        return Edit(Place(path, (row, column, row, len(line) - len(after))), "")
    if before or row == len(lines):
        return Edit(Place(path, (row, len(before), row, len(line))), "")
    return Edit(Place(path, (row, 0, row + 1, 0)), "")
