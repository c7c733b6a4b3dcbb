"""The rules there are, and the page of one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dl_lint.engine.catalogue import page, summary, url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.engine.report import Entry
    from dl_lint.output import Paint


def table(rules: Iterable[Entry], paint: Paint) -> Iterator[str]:
    rules = list(rules)
    width = max(len(rule.name) for rule in rules)
    for rule in rules:
        yield f"{paint('bold red', rule.code)}  {rule.name:{width}}  {rule.severity:6}  {summary(rule)}\n"


def table_json(rules: Iterable[Entry]) -> Iterator[str]:
    rows = [
        {
            "code": rule.code,
            "name": rule.name,
            "severity": rule.severity,
            "summary": summary(rule),
            "explanation": page(rule),
            "url": url(rule),
        }
        for rule in rules
    ]
    yield json.dumps(rows, indent=2) + "\n"


def explanation(rule: Entry) -> str:
    """The rule's page under its title, in Markdown."""
    return f"# {rule.code} {rule.name} ({rule.severity})\n\n{page(rule)}\n"
