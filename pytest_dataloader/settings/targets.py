"""Targets: loaders declared in pyproject.toml or on the command line, with their checks and limits."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_dataloader import checks
from pytest_dataloader.errors import BadLimit
from pytest_dataloader.loaders import REFERENCE
from pytest_dataloader.printable import did_you_mean, shown
from pytest_dataloader.probe.host import disk
from pytest_dataloader.quantities import size
from pytest_dataloader.settings.limits import parse_bytes
from pytest_dataloader.settings.options import OPTIONS, AdHocTarget

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

TABLE = "tool.pytest-dataloader"
DECLARATION = ("declaration",)
"""The one check of a declaration that is too broken to say what it targets."""

NAME = re.compile(r"[\w.+-]+")  # what pytest can select by node id: no "::", no "[", no spaces
_OWN_KEYS = ("loader", "checks", "skip")


@dataclass(frozen=True, slots=True)
class Target:
    """A loader to check. ``faults`` say what is wrong with its declaration, each one naming where it stands.

    ``where`` and ``loader_at`` call the declaration and its loader in messages; ``line`` counts from 0.
    """

    name: str
    where: str
    loader: str
    loader_at: str
    roots: tuple[Path, ...]
    checks: tuple[str, ...] = checks.NAMES
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    line: int = 0

    def limits_of(self, check: str) -> Mapping[str, Any]:
        """The limits of a check; those of one that an option asks for are what other checks have been told."""
        if check in self.limits:
            return self.limits[check]
        told = {name: value for limits in self.limits.values() for name, value in limits.items()}
        return {name: told[name] for name in checks.limits_of(check) if name in told}


def list_targets(declared: Iterable[Target], chosen: Sequence[str] = checks.NAMES) -> Iterator[str]:
    """Targets in lines of text: the loader, each limit with the checks that hold it, and the checks without one."""
    for number, target in enumerate(declared):
        yield from [""] if number else []
        yield f"{target.name}  {target.loader}".rstrip()
        yield from (f"  fault: {fault}" for fault in target.faults)
        names = [check for check in target.checks if check in chosen]
        held: dict[str, list[str]] = {}
        for check in names:
            for limit, value in target.limits.get(check, {}).items():
                shown = size(value) if checks.limits_of(check)[limit].read is parse_bytes else _toml(_as_written(value))
                held.setdefault(f"{limit} = {shown}", []).append(check)
        width = max(map(len, held), default=0)
        yield from (f"  {limit:{width}}  used by {', '.join(holders)}" for limit, holders in held.items())
        free = [check for check in names if not target.limits.get(check)]
        if free and not target.faults:
            yield f"  {'without a limit' if held else 'no limits'}: {', '.join(free)}"


def find_file(start: Path, rootdir: Path) -> Path | None:
    """The pyproject.toml with a ``[tool.pytest-dataloader]`` table that is nearest to ``start``, up to ``rootdir``.

    A project inside a repository (``cd packages/vision; pytest --dataloader-bench``) has its own targets. From
    outside the rootdir, only the rootdir's file counts.
    """
    folders = [start, *start.parents] if start.is_relative_to(rootdir) else [rootdir]
    for folder in folders:
        if _has_table(folder / "pyproject.toml"):
            return folder / "pyproject.toml"
        if folder == rootdir:
            break
    return None


@functools.lru_cache(maxsize=4)
def _tool(content: bytes) -> Any:
    """The table "tool" of a pyproject.toml, which a run asks for several times. Raises ValueError, RecursionError."""
    return tomllib.loads(content.decode().replace("\r\n", "\n")).get("tool", {})


def misnamed_table(file: Path) -> str:
    """What to say of a table that is called as our package is imported; empty where the file has none."""
    try:
        tool = _tool(disk.read_bytes(file))
    except (ValueError, RecursionError, disk.TooLargeError, OSError):
        return ""
    name = TABLE.rpartition(".")[2].replace("-", "_")
    return f"[tool.{name}] is called [{TABLE}]" if isinstance(tool, dict) and name in tool else ""


def _has_table(file: Path) -> bool:
    """Whether a file declares targets; True for one that mentions us and cannot be read, so that the run says so."""
    try:
        content = disk.read_bytes(file)
        if b"pytest-dataloader" not in content:
            return False
        tool = _tool(content)
        return isinstance(tool, dict) and "pytest-dataloader" in tool
    except (ValueError, RecursionError, disk.TooLargeError):
        return True
    except OSError:
        return False


def import_roots(*folders: Path) -> tuple[Path, ...]:
    """Where the modules of a project lie: each folder and its ``src``."""
    found = [root for folder in folders for root in (folder, folder / "src") if root.is_dir()]
    return tuple(dict.fromkeys(found))


def read_file(file: Path, shown_as: str) -> list[Target]:
    """Read the targets of a pyproject.toml, ``shown_as`` in messages. Never raises: faults are in the targets."""
    try:
        content = disk.read_bytes(file)
        text, tool = content.decode().replace("\r\n", "\n"), _tool(content)
    except (OSError, ValueError, RecursionError) as error:
        return [_broken("pyproject", f"{shown_as}: {getattr(error, 'strerror', None) or error}")]
    table = tool.get("pytest-dataloader", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        return [_broken("pytest-dataloader", f"{shown_as}: {TABLE} = {_toml(table)}: expected a table")]
    broken = [
        _broken(key, f"{shown_as}: [{TABLE}] {key}: {_unknown_setting(key, value)}")
        for key, value in table.items()
        if key != "targets"
    ]
    targets = table.get("targets", {})
    if not isinstance(targets, dict):
        return [*broken, _broken("targets", f"{shown_as}: [{TABLE}] targets = {_toml(targets)}: expected tables")]
    roots = import_roots(file.parent)
    declared = [
        _declared(name, value, f"{shown_as}: [{TABLE}.targets.{name}]", roots) for name, value in targets.items()
    ]
    lines = text.splitlines()
    return [dataclasses.replace(target, line=_line_of(target.name, lines)) for target in (*broken, *declared)]


def ad_hoc(given: AdHocTarget, declared: Iterable[str], roots: tuple[Path, ...]) -> Target:
    """The target of ``--dataloader-target``: all checks, no limits."""
    faults = _faults_of_name(given.origin, given.name) + _faults_of_loader(given.origin, given.loader)
    if given.name in declared:
        faults.append(f"{given.origin}: pyproject.toml declares a target {given.name!r} already; choose another name")
    return Target(_selectable(given.name), given.origin, given.loader, given.origin, roots, faults=tuple(faults))


def _declared(name: str, value: object, where: str, roots: tuple[Path, ...]) -> Target:
    if not isinstance(value, dict):
        fault = f'{where} = {_toml(value)}: expected a table with loader = "MODULE:ATTR"'
        return Target(_selectable(name), where, "", where, roots, faults=(fault,))
    faults = _faults_of_name(where, name)
    loader = value.get("loader")
    loader_at = f"{where} loader = {_toml(loader)}"
    if "loader" in value:
        faults += _faults_of_loader(loader_at, loader)
    else:
        faults.append(f'{where}: has no loader; add loader = "MODULE:ATTR"')
    only = _names_of_checks(value, "checks", where, faults)
    skip = _names_of_checks(value, "skip", where, faults) or ()
    chosen = tuple(check for check in checks.NAMES if (only is None or check in only) and check not in skip)
    if not chosen and not faults:
        faults.append(f"{where}: checks and skip leave no check to run")
    limits = limits_by_check({key: item for key, item in value.items() if key not in _OWN_KEYS}, where, chosen, faults)
    return Target(
        _selectable(name), where, str(loader), loader_at, roots, chosen or checks.NAMES, limits, faults=tuple(faults)
    )


def limits_by_check(
    given: Mapping[str, object],
    where: str,
    chosen: Sequence[str],
    faults: list[str],
    names: Sequence[str] = checks.NAMES,
) -> dict[str, dict[str, Any]]:
    """Hand each limit to every check of ``names`` that declares it; one that no chosen check holds is a fault."""
    kinds = {check: checks.limits_of(check) for check in names}
    known = {limit: None for limits in kinds.values() for limit in limits}
    read: dict[str, dict[str, Any]] = {check: {} for check in names}
    for key, value in given.items():
        if key not in known:
            faults.append(f"{where} {key} = {_toml(value)}: unknown key{did_you_mean(key, (*_OWN_KEYS, *known))}")
            continue
        holders = [check for check, limits in kinds.items() if key in limits]
        try:
            for check in holders:
                read[check][key] = kinds[check][key].read(value)
        except BadLimit as error:
            faults.append(f"{where} {key} = {_toml(value)}: {error}")
            continue
        # Tuning is no check that could be left out, and what it is told may be meant for it alone.
        if chosen and not set(holders) & set(chosen) and key not in checks.limits_of("tune"):
            faults.append(f"{where} {key} = {_toml(value)}: no check holds it, as {holders[0]} is not selected")
    faults += [f"{where}: {wrong}" for check in chosen if (wrong := checks.contradiction(check, read[check]))]
    return read


def _names_of_checks(table: Mapping[str, object], key: str, where: str, faults: list[str]) -> Sequence[str] | None:
    if key not in table:
        return None
    value = [table[key]] if isinstance(table[key], str) else table[key]
    place = f"{where} {key} = {_toml(table[key])}"
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        faults.append(f"{place}: expected a list of names; the checks are {', '.join(checks.NAMES)}")
        return None
    for name in value:
        if name not in checks.NAMES:
            hint = did_you_mean(name, checks.NAMES) or f"; the checks are {', '.join(checks.NAMES)}"
            faults.append(f"{place}: there is no check {name!r}{hint}")
    return value


def _faults_of_name(where: str, name: str) -> list[str]:
    if NAME.fullmatch(name):
        return []
    return [f"{where}: a target's name may hold letters, digits and _ - . + only, so that pytest can select it"]


def _faults_of_loader(place: str, loader: object) -> list[str]:
    if isinstance(loader, str) and REFERENCE.fullmatch(loader):
        return []
    return [f"{place}: expected MODULE:ATTR, such as proj.data:make_train_loader"]


def _unknown_setting(key: str, value: object) -> str:
    name = key.replace("-", "_").removeprefix("dataloader_")
    if not isinstance(value, dict) and any(name == option.name for option in OPTIONS):
        return f"options belong to pytest's own settings: [tool.pytest.ini_options] dataloader_{name}"
    return f"unknown key{did_you_mean(key, ('targets',))}"


def _broken(name: str, fault: str) -> Target:
    return Target(_selectable(name), fault, "", fault, (), checks=DECLARATION, faults=(fault,))


def line_of_limit(file: Path, declared_at: int, limits: Iterable[str]) -> int:
    """The line, from 0, of the first of some limits in a target that is declared at a line; that line where none is."""
    try:
        lines = disk.read_bytes(file).decode().splitlines()
    except (OSError, ValueError):
        return declared_at
    body = range(declared_at + 1, len(lines))
    end = next((number for number in body if re.match(r"\s*\[+[^\[\],]+\]+\s*(#|$)", lines[number])), len(lines))
    key = re.compile(rf"\s*[\"']?(?:{'|'.join(map(re.escape, limits))})[\"']?\s*=")
    return next((number for number in range(declared_at + 1, end) if key.match(lines[number])), declared_at)


def _line_of(name: str, lines: Sequence[str]) -> int:
    """The line that opens a target's table, for editors that follow locations; the first line where none does."""
    opening = re.compile(rf"\s*\[.*[.\"' ]{re.escape(name)}[\"' ]*\]")
    return next((number for number, line in enumerate(lines) if opening.match(line)), 0)


def _selectable(name: str) -> str:
    return "_".join(NAME.findall(name)) or "target"


def _as_written(value: object) -> object:
    """A number as people write it: a rate that was read as 600.0 is 600."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _toml(value: object) -> str:
    """A value much as TOML writes it."""
    return shown(value, functools.partial(json.dumps, default=str, ensure_ascii=False))
