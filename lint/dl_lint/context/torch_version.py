"""Which torch a project is for: what its configuration says, else what packaging tools read in the nearest folder that
declares one."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dl_lint.source.packaging import is_readme

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.source.packaging import Around


Version = tuple[int, int]

LAST_MINOR = 99
"""Behind the last minor version of any major one: ``<2`` allows up to 1.99."""

LONGEST_LINE = 10_000
"""Characters; longer ones are no requirement."""


@dataclass(frozen=True, slots=True)
class Target:
    """The newest torch that a project is for; None where that is open."""

    newest: Version | None = None

    def lacks(self, since: Version) -> bool:
        """Whether the project is for a torch older than ``since`` only."""
        return self.newest is not None and self.newest < since


def target(program: Program, near: ast.AST) -> Target:
    """The torch that the code of ``near`` is for."""
    if program.hints.target_torch is not None:
        return Target(program.hints.target_torch)
    files = program.modules
    folder = os.path.dirname(files.keys[program.site(near).scope.file])
    found: Target = program.once(("target", folder), lambda: _declared(files.around, folder, files.root))
    return found


def _declared(around: Around, folder: str, root: str) -> Target:
    """What the nearest folder declares that names a torch at all, up to the root."""
    while True:
        names = [one for one in around.names(folder) if not is_readme(one)]
        said = [one for name in names for one in _said(name, around.text(os.path.join(folder, name)))]
        if said:
            limits = [one for one in said if one is not None]
            return Target(max(limits) if len(limits) == len(said) else None)
        if folder == root or not folder.startswith(root.rstrip("/") + "/"):
            return Target()
        folder = os.path.dirname(folder)


_CLAUSE = re.compile(r"(===|==|~=|<=|>=|!=|<|>|\^|~|=)\s*v?(\d+(?:\.\d+)*)")
_SPECIFIER = r"\(?\s*+(?:[=<>~!^][^;#@\"']*+|\d[\w.*]*+)"
_NAME = r"(?:py)?torch\s*+(?:\[[^\]\"']*+\]\s*+)?"
_REQUIREMENT = re.compile(rf"{_NAME}({_SPECIFIER})?\s*+(;.*)?$", re.IGNORECASE)
_WHEEL = re.compile(r"\btorch-(\d+\.\d+)[^\s/]*\.whl", re.IGNORECASE)
_QUOTED = re.compile(rf"[\"'](?P<requirement>{_NAME}(?:{_SPECIFIER})?\s*+(?:;[^\"']*+)?)[\"']", re.IGNORECASE)
_COMMENT = re.compile(r"(?:^|\s)#.*")
_BEFORE = re.compile(r"^\s*(?:-\s+|install_requires\s*=\s*)?[\"']?(?:[\w./-]+::)?")


def _said(name: str, text: str) -> Iterator[Version | None]:
    """The newest torch that each requirement in a file allows, None where one leaves it open."""
    match name.lower():
        case "pyproject.toml" | "pipfile":
            yield from _toml(text)
        case "setup.py":
            for found in _QUOTED.finditer(text):
                yield from _requirement(found["requirement"])
        case _:  # requirements.txt, setup.cfg and the lists of an environment.yml: one on each line
            for line in text.splitlines():
                if len(line) < LONGEST_LINE and "torch" in line.lower():
                    bare = _COMMENT.sub("", line)
                    yield from _requirement(_BEFORE.sub("", bare, count=1).rstrip("\"' \t,"))


def _toml(text: str) -> Iterator[Version | None]:
    """pyproject.toml, also as poetry writes it, and Pipfile."""
    import tomllib

    try:
        document = tomllib.loads(text)
    except ValueError:
        return
    program = _table(document, "project")
    wanted = [program.get("dependencies"), *_table(program, "optional-dependencies").values()]
    written = [one for many in wanted if isinstance(many, list) for one in many if isinstance(one, str)]
    for table in (_table(document, "tool", "poetry", "dependencies"), _table(document, "packages")):
        for one in _as_list(table.get("torch")):
            version = one.get("version", "*") if isinstance(one, dict) else one
            if isinstance(version, str):
                marked = isinstance(one, dict) and {"markers", "python", "platform"} & one.keys()
                plain = f"={version}" if version[:1].isdigit() else version.replace("*", "").rstrip(".")
                written.append(f"torch{plain}{';' if marked else ''}")
    for one in written:
        yield from _requirement(one)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _table(table: Any, *names: str) -> dict[str, Any]:
    for name in names:
        table = table.get(name) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}


def _requirement(text: str) -> Iterator[Version | None]:
    """``torch==1.4``, ``pytorch=1.4=py3.7_0``, the address of a wheel; nothing for another package, and for ``torch``
    alone, which leaves it to other requirements."""
    wheel = _WHEEL.search(text)
    found = _REQUIREMENT.match(f"torch=={wheel[1]}" if wheel is not None else text.strip())
    specifier = (found[1] or "").strip("() ") if found is not None else ""
    if found is not None and specifier:
        newest = _newest(f"={specifier}" if specifier[:1].isdigit() else specifier)
        yield None if found[2] is not None else newest


def _newest(specifier: str) -> Version | None:
    """The newest version that a specifier of pip, conda or poetry allows, as far as it says."""
    newest: Version | None = None
    for operator, written in _CLAUSE.findall(specifier):
        if operator != "!=":
            last = _last(operator, [int(part) for part in written.split(".")])
            newest = last if newest is None else newest if last is None else min(newest, last)
        if operator == "=":  # conda's, which a build may follow
            break
    return newest


def _last(operator: str, numbers: list[int]) -> Version | None:
    major, minor = numbers[0], numbers[1] if len(numbers) > 1 else LAST_MINOR
    match operator:
        case ">" | ">=":
            return None
        case "<":
            while numbers[-1] == 0 and len(numbers) > 1:
                numbers = numbers[:-1]
            return (major - 1, LAST_MINOR) if len(numbers) == 1 else (major, minor - (len(numbers) == 2))
        case "~=" if len(numbers) == 2:
            return major, LAST_MINOR
        case "^" if major > 0:
            return major, LAST_MINOR
        case _:
            return major, minor
