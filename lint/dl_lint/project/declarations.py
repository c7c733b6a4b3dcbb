"""What requirement files and READMEs say of the torch that a project is for; one function for each kind of file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dl_lint.around import INSTALLING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Version = tuple[int, int]

LAST_MINOR = 99
"""Behind the last minor version of any major one: ``<2`` allows up to 1.99."""

LONGEST_LINE = 10_000
"""Characters; longer ones are no prose, and no requirement."""

NEAR = 60
"""Characters before a version that may say that it is the oldest."""

IMAGE = "dockerfile"

PROSE = ("readme", *INSTALLING)
"""Beginnings of the names of files in prose."""

LATEST_MAJOR = 9
"""Above are the months of container images: ``pytorch:20.12``."""


@dataclass(frozen=True, slots=True)
class Said:
    """One statement, as written on ``line``: the oldest and the newest torch that it allows, None where it is open."""

    oldest: Version | None
    newest: Version | None
    text: str
    line: int
    path: str = ""
    """Of the file, which those who read its text do not know."""
    stated: Version | None = None
    """The oldest in this very statement, where ``oldest`` is what several allow between them; of prose, the one that it
    says was tested, or the oldest of those that it says are supported, and of all of it, what it says is enough."""
    implied: bool = False
    """Of another package, which is built for one torch."""
    installs: bool = False
    """Of prose: as part of a command, ``pip install torch==2.1``."""


_CLAUSE = re.compile(r"(===|==|~=|<=|>=|!=|<|>|\^|~|=)\s*v?(\d+(?:\.\d+)*)")
_SPECIFIER = r"\(?\s*+(?:[=<>~!^][^;#@\"']*+|\d[\w.*]*+)"
_NAME = r"(?:py)?torch\s*+(?:\[[^\]\"']*+\]\s*+)?"
_REQUIREMENT = re.compile(rf"{_NAME}({_SPECIFIER})?\s*+(;.*)?$", re.IGNORECASE)
_WHEEL = re.compile(r"\btorch-(\d+\.\d+)[^\s/]*\.whl", re.IGNORECASE)
_QUOTED = re.compile(
    rf"[\"']((?:{_NAME}|torchvision|torchaudio)(?:{_SPECIFIER})?\s*+(?:;[^\"']*+)?)[\"']", re.IGNORECASE
)
_COMPANION = re.compile(rf"(torchvision|torchaudio)\s*+({_SPECIFIER})$", re.IGNORECASE)
"""Packages each of which is built for one torch."""

_ARGUMENT = re.compile(r"^ARG[ \t]+(?P<name>\w+)=(?P<default>\S+)", re.MULTILINE)
_VARIABLE = re.compile(r"\$\{?(?P<name>\w+)\}?")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_BEFORE = re.compile(r"^\s*(?:-\s+|install_requires\s*=\s*)?[\"']?(?:[\w./-]+::)?")


def reader(name: str) -> Callable[[str], Iterator[Said]]:
    """What reads a file of that name."""
    name = name.lower()
    if name.startswith(PROSE):
        return readme
    return {"setup.py": setup_py, "pyproject.toml": toml, "pipfile": toml, IMAGE: image}.get(name, lines)


def lines(text: str) -> Iterator[Said]:
    """requirements.txt, setup.cfg and the lists of an environment.yml: a requirement on each line."""
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) < LONGEST_LINE and "torch" in line.lower():
            bare = _COMMENT.sub("", line)
            found = _requirement(_BEFORE.sub("", bare, count=1).rstrip("\"' \t,"), number)
            if found is not None:
                yield found


def image(text: str) -> Iterator[Said]:
    """Dockerfile: the torch of the image that it builds on, and those that it installs."""
    return readme(with_arguments(text))


def with_arguments(text: str) -> str:
    """A Dockerfile with the defaults of its arguments in their places: ``ARG TORCH="1.10"``, ``${TORCH}``."""
    defaults = {found["name"]: found["default"].strip("\"' \t") for found in _ARGUMENT.finditer(text)}
    return _VARIABLE.sub(lambda found: defaults.get(found["name"], found[0]), text)


def setup_py(text: str) -> Iterator[Said]:
    for found in _QUOTED.finditer(text):
        said = _requirement(found[1], text.count("\n", 0, found.start()) + 1)
        if said is not None:
            yield said


def toml(text: str) -> Iterator[Said]:
    """pyproject.toml, also as poetry writes it, and Pipfile."""
    import tomllib

    try:
        document = tomllib.loads(text)
    except ValueError:
        return
    project = _table(document, "project")
    wanted = [project.get("dependencies"), *_table(project, "optional-dependencies").values()]
    written = [one for many in wanted if isinstance(many, list) for one in many if isinstance(one, str)]
    for table in (_table(document, "tool", "poetry", "dependencies"), _table(document, "packages")):
        for one in _as_list(table.get("torch")):
            version = one.get("version", "*") if isinstance(one, dict) else one
            if isinstance(version, str):
                marked = isinstance(one, dict) and {"markers", "python", "platform"} & one.keys()
                plain = f"={version}" if version[:1].isdigit() else version.replace("*", "").rstrip(".")
                written.append(f"torch{plain}{';' if marked else ''}")
    for one in written:
        said = _requirement(one, _line_of(text, one))
        if said is not None:
            yield said


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _table(table: Any, *names: str) -> dict[str, Any]:
    for name in names:
        table = table.get(name) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}


def _line_of(text: str, written: str) -> int:
    """The line of a requirement; where it was put together from a table, the first that begins with torch."""
    for number, line in enumerate(text.splitlines(), 1):
        if written in line or line.lstrip("\"' \t").startswith("torch "):
            return number
    return 1


def _requirement(text: str, line: int) -> Said | None:
    """``torch==1.4``, ``pytorch=1.4=py3.7_0``, the address of a wheel; None for another package. Open with a marker."""
    wheel = _WHEEL.search(text)
    if wheel is not None:
        text = f"torch=={wheel[1]}"
    found = _REQUIREMENT.match(text.strip())
    if found is None:
        return _companion(text.strip(), line)
    specifier = (found[1] or "").strip("() ")
    if found[2] is not None:
        return Said(None, None, text.strip(), line)
    oldest, newest = bounds(f"={specifier}" if specifier[:1].isdigit() else specifier)
    return Said(oldest, newest, text.strip(), line)


def _companion(text: str, line: int) -> Said | None:
    """What the pin of a package that is built for one torch says of that; None where it is open, or not known."""
    found = _COMPANION.match(text)
    if found is None:
        return None
    specifier = found[2].strip("() ")
    oldest, newest = bounds(f"={specifier}" if specifier[:1].isdigit() else specifier)
    if oldest is None or oldest != newest:
        return None
    torch = _torch_of_vision(oldest) if found[1].lower() == "torchvision" else _torch_of_audio(oldest)
    return Said(torch, torch, text, line, implied=True)


def _torch_of_vision(version: Version) -> Version:
    """The torch that a version of torchvision was released with; for those before 0.3, which run with others as well,
    the last one of their time."""
    major, minor = version
    if major == 0 and minor < 5:
        return (1, 0) if minor < 2 else (1, 1) if minor < 4 else (1, 3)
    return (1, minor - 1) if minor < 15 else (2, minor - 15)


def _torch_of_audio(version: Version) -> Version:
    """The torch that a version of torchaudio was released with."""
    major, minor = version
    return (max(major, 1), minor)


def bounds(specifier: str) -> tuple[Version | None, Version | None]:
    """The oldest and the newest version that a specifier of pip, conda or poetry allows, as far as it says."""
    oldest: Version | None = None
    newest: Version | None = None
    for operator, written in _CLAUSE.findall(specifier):
        numbers = [int(part) for part in written.split(".")]
        if operator != "!=":
            last = _last(operator, numbers)
            newest = last if newest is None else newest if last is None else min(newest, last)
            if not operator.startswith("<"):
                oldest = (numbers[0], numbers[1] if len(numbers) > 1 else 0)
        if operator == "=":  # conda's, which a build may follow
            break
    return oldest, newest


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


# --- READMEs ---------------------------------------------------------------------------

_NUMBER = r"v?(\d{1,2}\.\d{1,2})(?:\.\d{1,2})?(?![a-z0-9_%])"
_MENTION = re.compile(
    r"(?<![a-z0-9_-])(?:py)?torch"
    r"(?P<between>(?:\]\([^)\s]{0,200}\)|</\w+>|[ \t`'\"*_=:()\[\]|<>~≤≥≈,-]"
    r"|\b(?:versions?|ver|v|install|we|tested|with|on|under|release|both|either|between)\b\.?)*+)"
    rf"(?P<version>{_NUMBER})(?=(?P<after>.{{0,80}}))",
    re.IGNORECASE,
)
_MORE = re.compile(rf"\s*(?:,|/|-|~|\N{{EN DASH}}|&|\bto\b|\band\b|\bor\b)\s*{_NUMBER}", re.IGNORECASE)
_OPEN_AFTER = re.compile(
    r"\s*(?:\+(?!cu|cpu|rocm)"
    r"|[`*),(\s]*[或及]?以上"
    r"|[`*),(\s]*(?:or|and)?[\s(]*(?:newer|later|above|higher|greater|up\b|more recent|beyond|onwards?))",
    re.IGNORECASE,
)
_OPEN_BEFORE = re.compile(r"(?:least|minimum|min\.?|since|than|above)\W*(?:\w+\W+){0,2}$", re.IGNORECASE)
_TESTED = re.compile(rf"\btest(?:ed)?\s+(?:with|on|under)\s+{_NUMBER}", re.IGNORECASE)
_SUPPORTED = re.compile(r"\W*(?:are|is)?\W*(?:both |all )?(?:supported|compatible|fine)\b", re.IGNORECASE)
_OF_THE_PAST = re.compile(
    r"\b(?:branch|before|older|earlier|prior|below|no longer|legacy|previous(?:ly)?)\b", re.IGNORECASE
)
_INSTALL = re.compile(r"\binstall", re.IGNORECASE)


_ANY_MINOR = re.compile(r"(?<![a-z0-9_-])(?:py)?torch[ \t`'\"*_=(]{0,4}v?(?P<major>[1-9])\.x\b", re.IGNORECASE)


def readme(text: str) -> Iterator[Said]:
    """Versions that prose names: ``PyTorch 1.2.0``, ``conda install pytorch=1.4``; ``PyTorch 1.0+`` and
    ``PyTorch 1.x`` are open."""
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) < LONGEST_LINE and "torch" in line.lower() and not _OF_THE_PAST.search(line):
            for any_minor in _ANY_MINOR.finditer(line):
                yield Said((int(any_minor["major"]), 0), None, f"PyTorch {any_minor['major']}.x", number)
            for found in _MENTION.finditer(line):
                yield from _mentioned(found, line[max(0, found.start() - NEAR) : found.start()], number)


def page(text: str) -> Iterator[Said]:
    """Of another page of the manual, only what it says of installing."""
    lines_of = text.splitlines()
    yield from (said for said in readme(text) if _INSTALL.search(lines_of[said.line - 1]))


def _mentioned(found: re.Match[str], before: str, line: int) -> Iterator[Said]:
    oldest = newest = _version(found[3])
    after, between = found["after"], re.sub(r"</\w+>", "", found["between"])
    while (more := _MORE.match(after)) is not None:  # 1.4, 1.5 and 1.7
        newest, after = max(newest, _version(more[1])), after[more.end() :]
    if newest[0] > LATEST_MAJOR:
        return
    text = f"PyTorch {found['version']}{found['after'].removesuffix(after)}"
    if {">", "≥"} & set(between) or _OPEN_AFTER.match(after) or _OPEN_BEFORE.search(before):
        tested = _TESTED.search(after)
        yield Said(oldest, None, text, line, stated=_version(tested[1]) if tested is not None else None)
    else:
        supported = oldest if oldest < newest and _SUPPORTED.match(after) else None
        least = None if {"<", "≤"} & set(between) else oldest
        yield Said(least, newest, text, line, stated=supported, installs="=" in between)


def _version(text: str) -> Version:
    major, minor = text.split(".")
    return int(major), int(minor)
