"""Pages of the site that repeat what the code says, made when it is built: rules, checks, commands, Python names."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dl_lint.engine import catalogue, effects
from mkdocs.structure.files import File

import pytest_dataloader
from docs import schemas
from pytest_dataloader import checks
from pytest_dataloader.settings.limits import DESCRIPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[1]
COMMANDS = ("check", "run", "attach", "tune", "compare", "export", "trace record", "trace merge", "trace analyze")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of rules and checks into the navigation."""
    for section in config.nav:
        if "Rules" in section:
            section["Rules"] += [f"rules/{code}.md" for code in catalogue.entries()]
        if "Reference" in section:
            section["Reference"][0] = {"Checks": ["checks.md", *(f"reference/{name}.md" for name in checks.NAMES)]}
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages; docs/rules.md, all rules on one page for readers of the repository, becomes their index."""
    made = {
        "schemas/pyproject.json": json.dumps(schemas.pyproject(), indent=1),
        "schemas/report.json": json.dumps(schemas.report(), indent=1),
        "rules.md": rules(),
        "changelog.md": f"---\nsearch:\n  exclude: true\n---\n{(ROOT / 'CHANGELOG.md').read_text(encoding='utf-8')}",
        "project/contributing.md": (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
        "project/security.md": (ROOT / "SECURITY.md").read_text(encoding="utf-8"),
        "reference/command-line.md": command_line(),
        "reference/python.md": python(),
        **{f"rules/{entry.code}.md": rule(entry) for entry in catalogue.entries().values()},
        **{f"reference/{name}.md": check(name) for name in checks.NAMES},
    }
    for path, text in made.items():
        if known := files.get_file_from_path(path):
            files.remove(known)
        files.append(File.generated(config, path, content=text))
    return files


def rule(entry: Any) -> str:
    """The page of a rule: its documentation under its name, whose URL is its code for good."""
    severity = f"**{entry.severity}**: {catalogue.SEVERITIES[entry.severity]}."
    measured = effects.stored().get(entry.code, {}).get("check", "")
    seen = f" Measured by [`{measured}`](../reference/{measured}.md)." if measured in checks.NAMES else ""
    return f"# {entry.code} {entry.name}\n\n{severity}{seen}\n\n{catalogue.page(entry)}\n"


def rules() -> str:
    """The index of rules, with a field that filters by code, name, severity or check."""
    rows = []
    for entry in catalogue.entries().values():
        measured = effects.stored().get(entry.code, {}).get("check", "")
        rows.append(
            f"| [{entry.code}](rules/{entry.code}.md) | **{entry.name}**<br>{catalogue.summary(entry)} "
            f"| {entry.severity} | {measured} |"
        )
    lines = [
        "# Rules",
        "",
        *(f"* **{severity}**: {meaning}." for severity, meaning in catalogue.SEVERITIES.items()),
        "",
        '<label>Filter <input id="filter" type="search" placeholder="DL3, bug, memory, worker"></label>',
        "",
        "| code | rule | severity | check |",
        "|---|---|---|---|",
        *rows,
        "",
        "<script>",
        'document.getElementById("filter").addEventListener("input", event => {',
        "  const words = event.target.value.toLowerCase().split(/\\s+/);",
        '  for (const row of document.querySelectorAll("article tbody tr"))',
        "    row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));",
        "});",
        "</script>",
    ]
    return "\n".join(lines) + "\n"


def check(name: str) -> str:
    """The page of a check: its question, its limits and the fields of its evidence."""
    evidence = schemas.evidence_of(name)
    question = next(
        row[1].strip()
        for row in re.findall(r"^\| `(\w+)` \|([^|]*)\|", (ROOT / "docs" / "checks.md").read_text(), re.MULTILINE)
        if row[0] == name
    )
    limits = [f"| `{limit}` | {DESCRIPTIONS[limit]} |" for limit in checks.limits_of(name)]
    lines = [f"# {name}", "", f"{question[0].upper()}{question[1:]}", "", "```python"]
    lines += [f"def test_loader(dataloader_{name}):", f"    seen = dataloader_{name}(make_loader())", "```"]
    lines += ["", "## Limits", ""]
    lines += ["| limit | meaning |", "|---|---|", *limits] if limits else ["None."]
    lines += ["", "A limit that is `None` or left out is not checked.", "", "## Evidence", ""]
    returned = f"pytest_dataloader.evidence.{evidence.__name__}"
    lines += [f"`pytest_dataloader.{name.capitalize()}Check` returns `{returned}`.", ""]
    lines += [*fields(evidence), ""]
    lines += ["## Rules that find it in the code", "", *related(name)]
    return "\n".join(lines) + "\n"


def related(check: str) -> Iterator[str]:
    found = [code for code, stored in effects.stored().items() if stored.get("check") == check]
    yield ", ".join(f"[{code}](../rules/{code}.md)" for code in sorted(found)) or "None."


def fields(evidence: type) -> Iterator[str]:
    """The documentation of a dataclass, and a table of its fields and properties with their types."""
    name = evidence.__name__
    tree = ast.parse(inspect.getsource(importlib.import_module(evidence.__module__)))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    yield inspect.cleandoc(ast.get_docstring(classes[name]) or "").replace("``", "`")
    yield from ("", "| field | type | meaning |", "|---|---|---|")
    order = [base.id for base in classes[name].bases if isinstance(base, ast.Name) and base.id in classes]
    for each in (*order, name):
        body = classes[each].body
        for node, after in zip(body, [*body[1:], None], strict=True):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield row(node.target.id, ast.unparse(node.annotation), said_by(after))
            elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.returns:
                yield row(node.name, ast.unparse(node.returns), ast.get_docstring(node) or "")


def said_by(after: ast.stmt | None) -> str:
    """The string below a field, which documents it."""
    said = after.value if isinstance(after, ast.Expr) else None
    return str(said.value) if isinstance(said, ast.Constant) else ""


def row(name: str, kind: str, said: str) -> str:
    cells = (f"`{name}`", f"`{kind}`", said.partition("\n\n")[0].replace("``", "`"))
    return f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in cells)} |"


def command_line() -> str:
    """The help of each command, as it prints it."""
    status = "Exit status: 0 passed, 1 failed or findings, 2 could not check, 130 interrupted."
    lines = ["# Command line", "", f"What `--help` prints. {status}", ""]
    lines += ["## dl-lint", "", "```text", printed("dl_lint", "--help"), "```"]
    for name in COMMANDS:
        help_text = printed("pytest_dataloader", *name.split(), "--help")
        lines += ["", f"## pytest-dataloader {name}", "", "```text", help_text, "```"]
    return "\n".join(lines) + "\n"


def printed(module: str, *words: str) -> str:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    command = [sys.executable, "-m", module, *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.rstrip()


def python() -> str:
    """Every public name with its signature and its documentation."""
    lines = ["# Python", "", "Everything else is private and may change in any release.", ""]
    for name in sorted(pytest_dataloader.__all__, key=str.lower):
        found = getattr(pytest_dataloader, name)
        call = found.__call__ if name.endswith("Check") else found
        lines += [f"## {name}", ""]
        if not (isinstance(call, type) and issubclass(call, Exception)):
            signature = re.sub(r"\bself, ", "", str(inspect.signature(call))).replace("'", "")
            lines += ["```python", f"{name}{signature}", "```", ""]
        lines += [(inspect.getdoc(call) or "").replace("``", "`"), ""]
    return "\n".join(lines) + "\n"
