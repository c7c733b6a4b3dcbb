"""The checks, one module each; this module knows their names and how to call any of them.

A check module has

* a frozen dataclass of evidence: plain numbers and strings, units in the names;
* ``NEEDS_BENCH``: True where only ``--dataloader-bench`` gives it the time it needs;
* ``measure(loader, *, setting, ...) -> Evidence``: the only impure part. Besides ``setting`` it may
  name any limit of its ``judge`` that changes what has to be measured (``step_ms``, a floor that ends the
  measuring early); readers of clocks and of /proc are further keyword parameters with defaults;
* ``judge(evidence, *, <limits>) -> Verdict``: pure and total; its keywords are the check's limits;
* perhaps ``applies(loader, build) -> bool``: False where the loader has nothing that the check could measure;
* perhaps ``contradiction(limits) -> str``: why limits that were read cannot be held together; empty where they can;
* perhaps ``merge_ranks(evidence, told, world_size) -> Evidence``: in a job of several ranks, the evidence with what all
  of them told by ``setting.tell``, by rank; pure.
"""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from pytest_dataloader.checks.setting import Setting as Setting
    from pytest_dataloader.settings.limits import Kind
    from pytest_dataloader.verdict import Verdict

# Every run of pytest imports this module for the names below, so it imports the rest of ours when a check runs.

NAMES = (
    "workers",
    "fds",
    "shm",
    "order",
    "randomness",
    "throughput",
    "stages",
    "memory",
    "shards",
    "resume",
    "portability",
    "transfer",
)
"""Every check, in the order in which a target runs them: what breaks a loader first, so that it is named at once; the
samples before the rates, for which a loader without workers is read here, and often; last the one that initialises an
accelerator."""
BREAKAGE = "workers"
"""The check that says where a loader breaks: it runs also where another has seen it break."""
PAIRED = ("compare",)
"""Checks of two loaders, which only a test can have: ``dataloader_throughput.compare``."""

_WIDE = 10**15
"""A limit that every loader keeps: a petabyte, a share or a time that none reaches; as a floor, one part of it."""

_OF_THE_STEP = {"step", "step_ms"}
ASKED = ("baseline", "tune", "training")
"""Checks that an option asks for, beside those of a loader."""


def __getattr__(name: str) -> Any:
    if name != "Setting":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pytest_dataloader.checks.setting import Setting

    return Setting


def check_module(name: str) -> ModuleType:
    """Import the module of a check; raises BadLimit for a name that is none."""
    from pytest_dataloader.errors import BadLimit

    if name not in NAMES + PAIRED + ASKED:
        raise BadLimit(f"there is no check {name!r}; the checks are {', '.join(NAMES)}")
    return importlib.import_module(f"pytest_dataloader.checks.{name}")


def limits_of(name: str) -> Mapping[str, Kind]:
    """The limits of a check by name, each with its kind."""
    from pytest_dataloader.settings.limits import LIMIT_KINDS

    parameters = inspect.signature(check_module(name).judge).parameters.values()
    return {
        parameter.name: LIMIT_KINDS[str(parameter.annotation).split("|")[0].strip()]
        for parameter in parameters
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def read_limits(name: str, values: Mapping[str, object]) -> dict[str, Any]:
    """Read a user's limits for a check; raises BadLimit that names the limit. A value of None is left out."""
    from pytest_dataloader.errors import BadLimit

    known = limits_of(name)
    read = {}
    for key, value in values.items():
        if key not in known:
            raise BadLimit(f"{name} has no limit {key!r}; its limits are {', '.join(known) or 'none'}")
        if value is None:
            continue
        try:
            read[key] = known[key].read(value)
        except BadLimit as error:
            raise BadLimit(f"{key}: {error}") from None
    if wrong := contradiction(name, read):
        raise BadLimit(wrong)
    return read


def call_for(limits: Mapping[str, Any]) -> bool:
    """Whether limits given for a check ask for it; what tells of the training step does not."""
    return bool(set(limits) - _OF_THE_STEP)


def depends_on_loader(name: str) -> bool:
    """Whether a check applies to some loaders alone."""
    return hasattr(check_module(name), "applies")


def applies(name: str, loader: Any, build: Callable[..., Any] | None) -> bool:
    """Whether a loader, which ``build`` made if anything did, has what a check measures."""
    if isinstance(loader, _stream_type()):
        return bool(_streams().applies(name, loader))
    find = getattr(check_module(name), "applies", None)
    return find is None or bool(find(loader, build))


def contradiction(name: str, limits: Mapping[str, Any]) -> str:
    """Why a check cannot hold limits that were read together; empty where it can."""
    find = getattr(check_module(name), "contradiction", None)
    return "" if find is None else str(find(limits))


def measure(name: str, *loaders: Any, setting: Setting, limits: Mapping[str, Any]) -> Any:
    """Run a check's ``measure`` on a loader, or on two, with those of ``limits`` (already read) that it asks for.

    A ``Stream`` is measured as far as batches allow, by the module ``streams``.
    """
    if any(isinstance(loader, _stream_type()) for loader in loaders):
        return _streams().measure(name, loaders[0], setting=setting, limits=limits)
    function = check_module(name).measure
    wanted = inspect.signature(function).parameters
    return function(*loaders, setting=setting, **{key: value for key, value in limits.items() if key in wanted})


def merge_ranks(name: str, evidence: Any, told: Mapping[int, str], world_size: int) -> Any:
    """Evidence of a check with what the ranks of a job told while they measured."""
    return check_module(name).merge_ranks(evidence, told, world_size)


def judge(name: str, evidence: Any, *, limits: Mapping[str, Any]) -> Verdict:
    """Run a check's ``judge`` under limits already read."""
    from pytest_dataloader.probe.streams.evidence import Batches

    of_stream = isinstance(evidence, Batches)
    verdict: Verdict = _streams().judge(evidence, limits) if of_stream else check_module(name).judge(evidence, **limits)
    return verdict


def missed_limits(name: str, evidence: Any, limits: Mapping[str, Any]) -> tuple[str, ...]:
    """Of limits that were read, those that fail a check by themselves; none where it fails however wide they are."""
    bounds = [key for key in limits if key.startswith(("min_", "max_"))]
    wide = {key: _WIDE if key.startswith("max_") else 1 / _WIDE for key in bounds}

    def fails(**held: Any) -> bool:
        return judge(name, evidence, limits={**limits, **wide, **held}).outcome == "failed"

    return () if fails() else tuple(key for key in bounds if fails(**{key: limits[key]}))


def _stream_type() -> type:
    from pytest_dataloader.probe.loader.stream import Stream

    return Stream


def _streams() -> ModuleType:
    return importlib.import_module("pytest_dataloader.checks.streams")
