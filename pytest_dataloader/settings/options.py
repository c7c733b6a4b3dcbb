"""Options of the plugin: each one declared once, for the command line and for the ini file."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_dataloader.checks import NAMES
from pytest_dataloader.printable import printable, shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


DEFAULT_SECONDS, QUICK_SECONDS = 5.0, 0.5
"""Measuring budget of one check; with --dataloader-quick, all checks of a loader take less than ten seconds."""

# Every run of pytest in the environment loads this module, bench.py, fixtures.py and plugin.py. They import little, and
# their values are plain classes: making one costs 0.03 ms of CPU, a frozen slotted dataclass 0.47 ms.


class AdHocTarget:
    """A target named by ``--dataloader-target NAME=MODULE:ATTR``; ``origin`` is where it was written."""

    __slots__ = ("loader", "name", "origin")

    def __init__(self, name: str, loader: str, origin: str) -> None:
        self.name = name
        self.loader = loader
        self.origin = origin


class Options:
    """The options of one run, read and checked. Paths are absolute, or None where no file is asked for."""

    bench: bool
    targets: tuple[AdHocTarget, ...]
    seconds: float
    json: Path | None
    html: Path | None
    trace: Path | None
    markdown: Path | None
    baseline: Path | None
    update_baseline: bool
    tolerance: float
    strict: bool
    tune: bool
    checks: tuple[str, ...]
    quick: bool
    whole_epoch: bool
    list: bool

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    @property
    def measures(self) -> bool:
        """Whether declared targets are collected."""
        return self.bench or self.tune


class Option:
    """``--dataloader-NAME`` and the ini key ``dataloader_NAME``.

    ``read`` turns the text or the native TOML value into what ``Options`` holds; it is given where the value was
    written and the folder that relative paths start from. It raises ValueError.
    """

    __slots__ = ("default", "help", "ini_type", "metavar", "name", "read")

    def __init__(
        self,
        name: str,
        ini_type: Literal["bool", "float", "linelist", "string"],
        help_text: str,
        read: Callable[[Any, str, Path], Any],
        *,
        default: object,
        metavar: str = "",
    ) -> None:
        self.name = name
        self.ini_type = ini_type
        self.help = help_text
        self.read = read
        self.default = default
        self.metavar = metavar

    @property
    def flag(self) -> str:
        return f"--dataloader-{self.name}"

    @property
    def key(self) -> str:
        return f"dataloader_{self.name.replace('-', '_')}"


def _bool(value: Any, _origin: str, _folder: Path) -> bool:
    return bool(value)


def _seconds(value: Any, _origin: str, _folder: Path) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise ValueError(f"expected a number of seconds above 0, got {shown(value)}")
    return seconds


def _share(value: Any, _origin: str, _folder: Path) -> float:
    try:
        share = float(value)
    except (TypeError, ValueError, OverflowError):
        share = math.nan
    if not 0 <= share <= 1:
        raise ValueError(f"expected a share between 0 and 1, such as 0.15 for 15 %, got {shown(value)}")
    return share


def _file(value: Any, _origin: str, folder: Path) -> Path:
    from pytest_dataloader.probe.host import disk

    return disk.destination(str(value), folder)


def page_file(value: Any, _origin: str, folder: Path) -> Path:
    """Where a page is to be written; raises ValueError as ``disk.destination``, and where what makes it is missing."""
    from importlib.util import find_spec

    missing = [name for name in ("jinja2", "plotly") if find_spec(name) is None]
    if missing:
        raise ValueError(f"a page needs {' and '.join(missing)}: pip install 'pytest-dataloader[report]'")
    return _file(value, _origin, folder)


def _targets(values: Any, origin: str, _folder: Path) -> tuple[AdHocTarget, ...]:
    found: dict[str, AdHocTarget] = {}
    for value in values:
        name, separator, loader = (part.strip() for part in value.partition("="))
        if not (separator and name and loader):
            raise ValueError(
                f"expected NAME=MODULE:ATTR, such as train=proj.data:make_train_loader, got {shown(value)}"
            )
        if name in found:
            raise ValueError(f"{name!r} is given twice")
        found[name] = AdHocTarget(name, loader, f"{origin} {name}={loader}")
    return tuple(found.values())


def _checks(value: Any, _origin: str, _folder: Path) -> tuple[str, ...]:
    names = [name for name in re.split(r"[,\s]+", str(value)) if name]
    unknown = [name for name in names if name not in NAMES]
    if unknown or not names:
        got = repr(unknown[0]) if unknown else "nothing"
        raise ValueError(f"expected some of {', '.join(NAMES)}, got {got}")
    return tuple(name for name in NAMES if name in names)


OPTIONS = (
    Option(
        "bench",
        "bool",
        "measure: collect the loaders declared in pyproject.toml as tests, and give every check the time it needs",
        _bool,
        default=False,
    ),
    Option(
        "target",
        "linelist",
        "one more loader to measure, a DataLoader or a callable that returns one; repeatable",
        _targets,
        default=(),
        metavar="NAME=MODULE:ATTR",
    ),
    Option(
        "checks",
        "string",
        "of the declared loaders' checks only these, such as memory,order",
        _checks,
        default=NAMES,
        metavar="NAMES",
    ),
    Option(
        "quick",
        "bool",
        "every check in its shortest useful form, under 10 s a loader, and none that cannot apply to it",
        _bool,
        default=False,
    ),
    Option(
        "whole-epoch",
        "bool",
        "workers and order read one epoch to its end, however long it takes",
        _bool,
        default=False,
    ),
    Option(
        "list",
        "bool",
        "list the declared loaders, their limits and the check that holds each, and measure nothing",
        _bool,
        default=False,
    ),
    Option(
        "seconds",
        "float",
        "measuring budget of one check (default 5; with --dataloader-quick 0.5)",
        _seconds,
        default=None,
        metavar="N",
    ),
    Option(
        "json",
        "string",
        "write evidence and verdicts to this file, also when the run is interrupted",
        _file,
        default=None,
        metavar="PATH",
    ),
    Option(
        "html",
        "string",
        "write the run as one page of HTML with charts, that needs no network, to this file",
        page_file,
        default=None,
        metavar="PATH",
    ),
    Option(
        "trace",
        "string",
        "write the timelines of the stages check to this file, for ui.perfetto.dev and beside torch.profiler's",
        _file,
        default=None,
        metavar="PATH",
    ),
    Option(
        "markdown",
        "string",
        "write a summary for the page of a CI job to this file; GitHub's own is added to without being asked for",
        _file,
        default=None,
        metavar="PATH",
    ),
    Option(
        "baseline",
        "string",
        "hold the CPU time of a sample to this file of baselines, which you commit",
        _file,
        default=None,
        metavar="PATH",
    ),
    Option(
        "update-baseline",
        "bool",
        "write what is measured into the file of baselines, instead of failing what costs more",
        _bool,
        default=False,
    ),
    Option(
        "tolerance",
        "float",
        "allowed slowdown against the reference or the baseline, a fraction (default 0.15)",
        _share,
        default=0.15,
        metavar="SHARE",
    ),
    Option(
        "strict",
        "bool",
        "an inconclusive check (the machine was too busy to say), and one that saw nothing of the loader, fails",
        _bool,
        default=False,
    ),
    Option(
        "tune",
        "bool",
        "find the settings (num_workers...) that make each declared loader fastest here, and print them to paste",
        _bool,
        default=False,
    ),
)


WATCH, WATCHED = "dataloader_watch", ("workers", "shm", "fds")
"""The ini key that has every test watched, and what for."""


def declare(parser: pytest.Parser) -> None:
    """Add every option to the command line and to the ini file.

    Every default is None: that is how a flag that was not given is told from one that was, so that the ini file counts.
    """
    parser.addini(WATCH, f"fail a test that leaves some of these behind: {', '.join(WATCHED)}", type="args", default=[])
    group = parser.getgroup("dataloader", "measuring PyTorch DataLoaders")
    for option in OPTIONS:
        if option.ini_type == "bool":
            group.addoption(option.flag, action="store_true", default=None, help=option.help)
        elif option.ini_type == "linelist":
            group.addoption(option.flag, action="append", default=None, metavar=option.metavar, help=option.help)
        else:
            group.addoption(option.flag, action="store", default=None, metavar=option.metavar, help=option.help)
        # pytest before 8.4 knows no floats in ini files, and has no native TOML that would need them.
        ini_type = "string" if option.ini_type == "float" and pytest.version_tuple < (8, 4) else option.ini_type
        parser.addini(option.key, f"{option.help} (same as {option.flag})", type=ini_type, default=None)


def read_watch(config: pytest.Config) -> tuple[Any, ...]:
    """What every test is watched for, from the ini key ``dataloader_watch``; it has no flag: a suite decides it once.

    Raises pytest.UsageError that names the key.
    """
    try:
        chosen = tuple(dict.fromkeys(config.getini(WATCH)))
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(printable(str(error))) from None
    for name in chosen:
        if name not in WATCHED:
            origin, _ = _ini_origin(config, WATCH)
            raise pytest.UsageError(printable(f"{origin}: expected some of {', '.join(WATCHED)}, got {shown(name)}"))
    return chosen


def asks_for_list(config: pytest.Config) -> bool:
    """Whether a run lists the declared loaders and ends."""
    return bool(_read_one(config, next(option for option in OPTIONS if option.name == "list")))


def read_options(config: pytest.Config) -> Options:
    """Read the options of a run: command line, then ini file, then default.

    Raises pytest.UsageError that names the option, or the ini key and its file.
    """
    values = {option.name: _read_one(config, option) for option in OPTIONS}
    needs = {
        "--dataloader-target": (config.getoption("dataloader_target"), values["bench"] or values["tune"]),
        "--dataloader-quick": (config.getoption("dataloader_quick"), values["bench"]),
        "--dataloader-checks": (config.getoption("dataloader_checks"), values["bench"]),
        "--dataloader-whole-epoch": (config.getoption("dataloader_whole_epoch"), values["bench"]),
        "--dataloader-trace": (config.getoption("dataloader_trace"), values["bench"]),
    }
    for flag, (given, met) in needs.items():
        if given and not (met or values["list"]):
            other = " or --dataloader-tune" if flag == "--dataloader-target" else ""
            raise pytest.UsageError(f"{flag} needs --dataloader-bench{other}: targets are measured, or not collected")
    if values["update-baseline"] and values["baseline"] is None:
        raise pytest.UsageError("--dataloader-update-baseline needs --dataloader-baseline PATH, the file to update")
    values["seconds"] = values["seconds"] or (QUICK_SECONDS if values["quick"] else DEFAULT_SECONDS)
    values["targets"] = values.pop("target")
    return Options(**{name.replace("-", "_"): value for name, value in values.items()})


def _read_one(config: pytest.Config, option: Option) -> Any:
    origin, folder = option.flag, config.invocation_params.dir
    try:
        value = config.getoption(option.key)
        if value is None:
            origin, folder = _ini_origin(config, option.key)
            value = config.getini(option.key)
        return option.default if value is None else option.read(value, origin, folder)
    except (TypeError, ValueError, pytest.UsageError) as error:
        text = str(error)
        raise pytest.UsageError(printable(text if option.key in text else f"{origin}: {text}")) from None


def _ini_origin(config: pytest.Config, key: str) -> tuple[str, Path]:
    """Where the value of an ini key was written, and the folder that a relative path in it starts from."""
    overrides = config.getoption("override_ini") or ()
    if config.inipath is None or any(text.partition("=")[0].strip() == key for text in overrides):
        return f"-o {key}", config.invocation_params.dir
    return f"{config.inipath}: {key}", config.inipath.parent
