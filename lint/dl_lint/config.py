"""[tool.dl-lint] of the nearest pyproject.toml, checked key by key."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dl_lint import selection
from dl_lint.selection import ConfigError, Selectors, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dl_lint.report import Entry

TABLE = "tool.dl-lint"
NO_SELECTORS = Selectors()
KEYS = ("select", "extend-select", "ignore", "per-file-ignores", "exclude", "pedantic", "baseline")


@dataclass(frozen=True, slots=True)
class Home:
    """Where a run is at home: the project's folder (None outside any, then only the named files are known), the
    pyproject.toml that configures it, and the git checkout around it, whose .gitignore files count."""

    root: str | None = None
    pyproject: str | None = None
    checkout: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """What [tool.dl-lint] says. Patterns are git's, relative to ``base``."""

    base: str
    selectors: Selectors = NO_SELECTORS
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    pedantic: bool = False
    baseline: str | None = None


def locate(paths: Sequence[str]) -> Home:
    """The project around the paths: the nearest folder above all of them whose pyproject.toml has [tool.dl-lint], else
    any pyproject.toml, else the git checkout. A git checkout is not left, and the home folder is nobody's project."""
    folder = _common_folder(paths)
    home = os.path.expanduser("~")
    root = pyproject = checkout = None
    while folder not in (home, os.path.dirname(folder)):
        candidate = os.path.join(folder, "pyproject.toml")
        if pyproject is None and os.path.isfile(candidate):
            root = root or folder
            if _mentions_table(candidate):
                root, pyproject = folder, candidate
        if os.path.exists(os.path.join(folder, ".git")):
            checkout = folder
            break
        folder = os.path.dirname(folder)
    return Home(root or checkout, pyproject, checkout)


def _common_folder(paths: Sequence[str]) -> str:
    absolute = [os.path.abspath(path) for path in paths] or [os.getcwd()]
    common = os.path.commonpath(absolute)
    return common if os.path.isdir(common) else os.path.dirname(common)


def _mentions_table(pyproject: str) -> bool:
    """Cheaper than parsing, and a file that cannot be parsed must be named later, not passed over."""
    try:
        with open(pyproject, "rb") as file:
            return b"dl-lint" in file.read()
    except OSError:
        return False


def read(path: str, base: str, rules: Mapping[str, Entry]) -> Config:
    """The configuration in a pyproject.toml, or in a file that holds the keys alone. Raises ConfigError."""
    import tomllib

    shown = os.path.relpath(path)
    try:
        with open(path, "rb") as file:
            document = tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"{shown}: cannot be read ({error.strerror})") from None
    except ValueError as error:  # TOMLDecodeError or bytes that are not UTF-8
        raise ConfigError(f"{shown}: not TOML: {error}") from None
    tool = document.get("tool", {})
    if isinstance(tool, dict) and "dl-lint" in tool:
        return _config(tool["dl-lint"], f"{shown}: [{TABLE}]", base, rules)
    if os.path.basename(path) == "pyproject.toml":
        return Config(base)
    return _config(document, f"{shown}:", base, rules)


def _config(table: Any, where: str, base: str, rules: Mapping[str, Entry]) -> Config:
    if not isinstance(table, dict):
        raise ConfigError(f"{where} must be a table, not {table!r}")
    for key in table:
        if key not in KEYS:
            known = did_you_mean(key, KEYS) or f"; there are {', '.join(KEYS)}"
            raise ConfigError(f'{where} has no key "{key}"{known}')
    select, extend, ignore = (
        _selectors(table[key], f"{where} {key}", rules) if key in table else None
        for key in ("select", "extend-select", "ignore")
    )
    ignores = table.get("per-file-ignores", {})
    if not isinstance(ignores, dict):
        raise ConfigError(f"{where} per-file-ignores must be a table of patterns to rules, not {ignores!r}")
    pedantic = table.get("pedantic", False)
    if not isinstance(pedantic, bool):
        raise ConfigError(f"{where} pedantic must be true or false, not {pedantic!r}")
    baseline = table.get("baseline")
    if baseline is not None and not isinstance(baseline, str):
        raise ConfigError(f"{where} baseline must be the name of a file, not {baseline!r}")
    return Config(
        base,
        Selectors(select, extend or (), ignore or ()),
        tuple(
            (
                _pattern(pattern, f"{where} per-file-ignores"),
                _selectors(codes, f'{where} per-file-ignores."{pattern}"', rules),
            )
            for pattern, codes in ignores.items()
        ),
        tuple(
            _pattern(pattern, f"{where} exclude") for pattern in _strings(table.get("exclude", []), f"{where} exclude")
        ),
        pedantic,
        None if baseline is None else os.path.join(base, baseline),
    )


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{where} must be a list of strings, not {value!r}")
    return tuple(value)


def _selectors(value: Any, where: str, rules: Mapping[str, Entry]) -> tuple[str, ...]:
    selectors = _strings(value, where)
    selection.check(selectors, rules, where)
    return selectors


def _pattern(pattern: str, where: str) -> str:
    """Only patterns with brackets or a lone negation can be wrong; the rest needs no import of pathspec."""
    if set(pattern) & set("[]!\\"):
        from pathspec import GitIgnoreSpec

        try:
            GitIgnoreSpec.from_lines([pattern])
        except ValueError:
            raise ConfigError(f"{where}: {pattern!r} is not a pattern that git would understand") from None
    return pattern
