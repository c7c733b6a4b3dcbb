"""[tool.dl-lint] of the nearest pyproject.toml, checked key by key."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from dl_lint.engine import selection
from dl_lint.engine.ignored import is_bounded
from dl_lint.engine.selection import ConfigError, Selectors, did_you_mean
from dl_lint.flow.hints import NO_HINTS, Hints
from dl_lint.source import disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dl_lint.engine.report import Entry

_T = TypeVar("_T")

TABLE = "tool.dl-lint"
NO_SELECTORS = Selectors()
START_METHODS = ("fork", "spawn", "forkserver")
NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
VERSION = re.compile(r"(\d+)\.(\d+)(\.\d+)?")

KEYS = {
    "select": "the rules to check, in place of the default ones",
    "extend-select": "rules to check beside those",
    "ignore": "rules that are not checked",
    "per-file-ignores": "rules that are not checked in files of a pattern",
    "exclude": "patterns, as in .gitignore, of files that are not read",
    "pedantic": "whether advice is shown: what depends on size or taste",
    "baseline": "the file of accepted findings",
    "dataloader-classes": "classes that take torch's arguments and give batches as its DataLoader does",
    "dataset-classes": "classes that are datasets, as what derives from them is",
    "device-names": "variables, attributes and functions that hold the accelerator's device",
    "trainer-calls-set-epoch": "whether whoever trains calls set_epoch",
    "start-method": "how workers start where the code does not say",
    "target-torch": 'the oldest torch that the project runs with, such as "2.4"',
    "models": "folders of stubs that say what libraries do",
}
"""Every key of [tool.dl-lint], and what it says."""


class Home(NamedTuple):
    """Where a run is at home: the project's folder (None outside any, then only the named files are known), the
    pyproject.toml that configures it, and the git checkout around it, whose .gitignore files count."""

    root: str | None = None
    pyproject: str | None = None
    checkout: str | None = None


class Config(NamedTuple):
    """What [tool.dl-lint] says. Patterns are git's, relative to ``base``."""

    base: str
    selectors: Selectors = NO_SELECTORS
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    pedantic: bool = False
    baseline: str | None = None
    hints: Hints = NO_HINTS


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
        return b"dl-lint" in disk.read(pyproject, disk.SETTINGS_BYTES)
    except disk.TooLargeError:
        return True
    except OSError:
        return False


def read(path: str | None, base: str, rules: Mapping[str, Entry], overrides: Sequence[str] = ()) -> Config:
    """The configuration in a pyproject.toml, or in a file that holds the keys alone; ``overrides`` are lines of TOML
    that win over it. Raises ConfigError."""
    values: dict[str, tuple[Any, str]] = {}
    if path is not None:
        where, table = _table(path)
        values |= {key: (value, where) for key, value in table.items()}
    for line in overrides:
        values |= {key: (value, "--config") for key, value in _override(line).items()}
    return _Keys(values, rules).config(base)


def _table(path: str) -> tuple[str, dict[str, Any]]:
    """How the table is called, and what it says."""
    import tomllib

    shown = os.path.relpath(path)
    try:
        document = tomllib.loads(disk.read(path, disk.SETTINGS_BYTES).decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{shown}: cannot be read ({error.strerror})") from None
    except ValueError as error:  # TOMLDecodeError or bytes that are not UTF-8
        raise ConfigError(f"{shown}: not TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{shown}: not TOML: nested too deeply") from None
    tool = document.get("tool", {})
    if isinstance(tool, dict) and "dl-lint" in tool:
        table = tool["dl-lint"]
        if not isinstance(table, dict):
            raise ConfigError(f"{shown}: [{TABLE}] must be a table, not {table!r}")
        return f"{shown}: [{TABLE}]", table
    return f"{shown}:", {} if os.path.basename(path) == "pyproject.toml" else document


def _override(line: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"--config: {line!r} is no line of TOML such as 'pedantic = true': {error}") from None


class _Keys:
    """Values by key, each with where it was written, read one by one as what they must be."""

    def __init__(self, values: Mapping[str, tuple[Any, str]], rules: Mapping[str, Entry]) -> None:
        self._values = values
        self._rules = rules
        for key, (_, where) in values.items():
            if key not in KEYS:
                known = did_you_mean(key, KEYS) or f"; there are {', '.join(KEYS)}"
                raise ConfigError(f'{where} has no key "{key}"{known}')

    def config(self, base: str) -> Config:
        select = self._selectors("select") if "select" in self._values else None
        baseline = self._text("baseline", "the name of a file", lambda text: text)
        return Config(
            base,
            Selectors(select, self._selectors("extend-select"), self._selectors("ignore")),
            self._per_file_ignores(),
            tuple(_pattern(pattern, self._where("exclude")) for pattern in self._strings("exclude")),
            self._truth("pedantic"),
            None if baseline is None else os.path.join(base, baseline),
            Hints(
                self._names("dataloader-classes"),
                self._names("dataset-classes"),
                self._names("device-names"),
                self._truth("trainer-calls-set-epoch"),
                self._text("start-method", f"one of {', '.join(START_METHODS)}", _start_method),
                self._text("target-torch", 'a version such as "2.4"', _version),
                self._models(base),
            ),
        )

    def _where(self, key: str) -> str:
        return f"{self._values[key][1]} {key}"

    def _truth(self, key: str) -> bool:
        value, _ = self._values.get(key, (False, ""))
        if not isinstance(value, bool):
            raise ConfigError(f"{self._where(key)} must be true or false, not {value!r}")
        return value

    def _text(self, key: str, what: str, read: Callable[[str], _T | None]) -> _T | None:
        if key not in self._values:
            return None
        value, _ = self._values[key]
        found = read(value) if isinstance(value, str) else None
        if found is None:
            raise ConfigError(f"{self._where(key)} must be {what}, not {value!r}")
        return found

    def _strings(self, key: str) -> tuple[str, ...]:
        return _strings(self._values[key][0], self._where(key)) if key in self._values else ()

    def _names(self, key: str) -> tuple[str, ...]:
        found = self._strings(key)
        for name in found:
            if not NAME.fullmatch(name):
                raise ConfigError(f'{self._where(key)}: {name!r} is no name such as "data.Loader" or "Loader"')
        return found

    def _selectors(self, key: str) -> tuple[str, ...]:
        found = self._strings(key)
        selection.check(found, self._rules, self._where(key) if found else key)
        return found

    def _models(self, base: str) -> tuple[tuple[str, str], ...]:
        """The stubs below the folders that are named, by module."""
        found: list[tuple[str, str]] = []
        for folder in self._strings("models"):
            found += _stubs(os.path.join(base, folder), self._where("models"))
        return tuple(found)

    def _per_file_ignores(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        table, _ = self._values.get("per-file-ignores", ({}, ""))
        if not isinstance(table, dict):
            raise ConfigError(f"{self._where('per-file-ignores')} must be a table of patterns to rules, not {table!r}")
        found = []
        for pattern, codes in table.items():
            where = self._where("per-file-ignores")
            selectors = _strings(codes, f'{where}."{pattern}"')
            selection.check(selectors, self._rules, f'{where}."{pattern}"')
            found.append((_pattern(pattern, where), selectors))
        return tuple(found)


def _stubs(folder: str, where: str) -> Iterator[tuple[str, str]]:
    from dl_lint.flow import models  # which a run without stubs, and with nothing to parse, saves

    shown = os.path.relpath(folder)
    stubs = list(models.stubs_in(folder))
    if not stubs:
        raise ConfigError(f"{where}: {shown} holds no stubs (files that end in .pyi)")
    for below, path in stubs:
        try:
            stub = models.module_of(below), disk.read(path, disk.SETTINGS_BYTES).decode("utf-8")
            models.read([stub])
        except OSError as error:
            raise ConfigError(f"{os.path.relpath(path)}: cannot be read ({error.strerror})") from None
        except UnicodeDecodeError:
            raise ConfigError(f"{os.path.relpath(path)}: is not UTF-8") from None
        except models.StubError as error:
            raise ConfigError(f"{os.path.relpath(path)}: {error}") from None
        yield stub


def _start_method(text: str) -> str | None:
    return text if text in START_METHODS else None


def _version(text: str) -> tuple[int, int] | None:
    match = VERSION.fullmatch(text)
    return None if match is None else (int(match[1]), int(match[2]))


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{where} must be a list of strings, not {value!r}")
    return tuple(value)


def _pattern(pattern: str, where: str) -> str:
    """Only patterns with brackets or a lone negation can be wrong; the rest needs no import of pathspec."""
    if not is_bounded(pattern):
        raise ConfigError(f"{where}: {pattern[:40]!r} has more than 1,000 characters, or 3 stars in a part")
    if set(pattern) & set("[]!\\"):
        from pathspec import GitIgnoreSpec

        try:
            GitIgnoreSpec.from_lines([pattern])
        except ValueError:
            raise ConfigError(f"{where}: {pattern!r} is not a pattern that git would understand") from None
    return pattern
