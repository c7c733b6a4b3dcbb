"""The rules there are, read from their files; ``python -m dl_lint.engine.catalogue`` prints docs/rules.md.

A rule is found by being there: a module of ``rules`` that holds ``@rule("DL101", "slow")`` above a function of the
module's own name. Start-up needs codes, names and severities only, and thirty imports would cost more than a warm run.
"""

from __future__ import annotations

import os
import re
from importlib import import_module
from typing import TYPE_CHECKING, cast

from dl_lint.engine.report import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.rule import Rule, Severity


REPOSITORY = "https://github.com/pytest-dataloader/pytest-dataloader"
SITE = "https://pytest-dataloader.github.io/pytest-dataloader"

DECLARED = re.compile(
    r'^@rule\(\s*"(DL\d{3})",\s*(?:severity\s*=\s*)?"(bug|slow|advice)"[^)]*\)\s*def (\w+)\(', re.MULTILINE
)

# About comments, not about the project, so checked by the engine and on although it is advice.
UNUSED_SUPPRESSION = Entry("DL001", "unused-suppression", "advice", "dl_lint.engine.unused_suppression")

FAMILIES = {
    "DL0": "Suppressions",
    "DL1": "Transfers",
    "DL2": "The loader",
    "DL3": "Workers and their memory",
    "DL4": "Sampling, seeds and ranks",
}

SEVERITIES: dict[Severity, str] = {
    "bug": "wrong data, a crash, a hang or a leak",
    "slow": "a cost that can be measured",
    "advice": "depends on size or taste: only with `--pedantic` or selected",
}


def entries() -> dict[str, Entry]:
    """Every rule by code, in the order of the codes. Raises ValueError for a module that declares no rule."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "rules")
    names = [name[:-3] for name in os.listdir(folder) if name.endswith(".py") and name != "__init__.py"]
    found = [UNUSED_SUPPRESSION, *(_entry(os.path.join(folder, f"{name}.py"), name) for name in names)]
    return {entry.code: entry for entry in sorted(found, key=lambda entry: entry.code)}


def _entry(path: str, name: str) -> Entry:
    with open(path, encoding="utf-8") as file:
        declared = DECLARED.search(file.read())
    if declared is None or declared[3] != name:
        raise ValueError(f"{path}: no function {name} under @rule(code, severity)")
    return Entry(declared[1], name.replace("_", "-"), cast("Severity", declared[2]), f"dl_lint.rules.{name}")


def load(chosen: Iterable[Entry]) -> Iterator[Rule]:
    """The rules themselves: imports the modules of those that are asked for."""
    from dl_lint.rule import Rule

    for entry in chosen:
        if entry != UNUSED_SUPPRESSION:
            found = getattr(import_module(entry.module), entry.name.replace("-", "_"))
            if not isinstance(found, Rule) or (found.code, found.name) != (entry.code, entry.name):
                raise TypeError(f"{entry.module} does not hold the rule {entry.code} {entry.name}")
            yield found


def page(entry: Entry) -> str:
    """A rule's documentation, in Markdown: the docstring of its module, what breaking the rule costs, and where it says
    nothing or gives advice."""
    from dl_lint.engine import effects

    cost = effects.line(entry.code)
    quiet = [f"* {one}" for rule in load([entry]) for one in rule.quiet]
    measured = ["", "## Measured", "", cost] if cost else []
    return "\n".join([_docstring(entry), *measured, *(["", "## Quiet", "", *quiet] if quiet else [])])


def _docstring(entry: Entry) -> str:
    import ast
    from importlib.util import find_spec
    from inspect import cleandoc

    spec = find_spec(entry.module)
    assert spec is not None
    assert spec.origin is not None
    with open(spec.origin, encoding="utf-8") as file:
        text = ast.get_docstring(ast.parse(file.read()), clean=False) or ""
    return cleandoc(text).rstrip()


def summary(entry: Entry) -> str:
    return _docstring(entry).partition("\n")[0].rstrip(".")


def url(entry: Entry) -> str:
    """A rule's page. It has the code alone: a rule that is renamed keeps its address."""
    return f"{SITE}/rules/{entry.code}/"


def markdown(rules: Iterable[Entry]) -> str:
    """docs/rules.md: a table of all rules, then the page of each."""
    from dl_lint.rules import EVERYWHERE

    rules = list(rules)
    lines = [
        "# Rules",
        "",
        "Made by `make docs` from the rules' own docstrings, which `dl-lint --explain` prints.",
        "",
        *(f"* **{severity}**: {meaning}." for severity, meaning in SEVERITIES.items()),
        "",
        "`DL001` is advice and on by default.",
        "",
        "Every rule is:",
        "",
        *(f"* {one}" for one in EVERYWHERE),
    ]
    for family, title in FAMILIES.items():
        members = [rule for rule in rules if rule.code.startswith(family)]
        if members:
            lines += ["", f"## {title}", "", "| code | rule | severity | |", "|---|---|---|---|"]
            lines += [
                f"| [{rule.code}](#{rule.code.lower()}-{rule.name}) | {rule.name} | {rule.severity} | {summary(rule)} |"
                for rule in members
            ]
    for rule in rules:
        lines += ["", f"## {rule.code} {rule.name}", "", *_demoted(page(rule))]
    return "\n".join(lines) + "\n"


def _demoted(text: str) -> Iterator[str]:
    """The page's headings one level lower, outside its code."""
    fenced = False
    for line in text.splitlines():
        fenced ^= line.lstrip().startswith("```")
        yield f"#{line}" if line.startswith("#") and not fenced else line


if __name__ == "__main__":
    import sys

    sys.stdout.write(markdown(entries().values()))
