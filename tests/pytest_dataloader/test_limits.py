"""Limits as users write them: what each reader takes, what it refuses, and that a limit of nothing is a limit."""

from __future__ import annotations

import inspect
import math
import sys
from dataclasses import replace
from typing import Any, Literal

import pytest

from pytest_dataloader import checks
from pytest_dataloader.checks import streams
from pytest_dataloader.errors import BadLimit
from pytest_dataloader.printable import shown
from pytest_dataloader.probe.device.evidence import DeviceUse, StepUse, Transfer
from pytest_dataloader.probe.host.interference import QUIET
from pytest_dataloader.probe.samples.resumption import Overhead
from pytest_dataloader.probe.timing.evidence import STAGES, Stages
from pytest_dataloader.probe.timing.stall import Stall
from pytest_dataloader.settings import limits
from pytest_dataloader.settings.limits import LIMIT_KINDS, parse_bytes
from tests.zoo import evidence


def a_step(_batch: Any) -> None:
    """Takes a batch."""


HUGE = 16**5000
"""Has more digits than Python writes out."""
UNITS = {
    "": 1, "B": 1, "b": 1,
    "kB": 1000, "KB": 1000, "MB": 1000**2, "mb": 1000**2, "GB": 1000**3, "TB": 1000**4,
    "KiB": 1024, "MiB": 1024**2, "mib": 1024**2, "GiB": 1024**3, "TiB": 1024**4,
}  # fmt: skip
NUMBERS = [1, 2.5, 1e-9, sys.float_info.max]
NO_NUMBERS = [True, False, "1", None, [1], math.nan, math.inf, -math.inf, HUGE, -HUGE]
METHODS = ("fork", "forkserver", "spawn")
READ: dict[str, list[tuple[object, object]]] = {
    **{kind: [(value, value) for value in NUMBERS] for kind in ("Rate", "Milliseconds", "Seconds")},
    "Share": [(0, 0.0), (0.0, 0.0), (0.25, 0.25), (1, 1.0)],
    "Bytes": [
        (0, 0), (33_554_432, 33_554_432), (64_000.0, 64_000), ("0", 0), ("64000", 64_000), (" 1.5 GiB ", 1_610_612_736),
        ("1.25MB", 1_250_000), ("0.5B", 0), ("12B", 12), ("0.5 kB", 500),
        *((f"70000{unit}", 70_000 * size) for unit, size in UNITS.items()),
        *((f"70000 {unit}", 70_000 * size) for unit, size in UNITS.items()),
    ],
    "Count": [(1, 1), (10**9, 10**9)],
    "StartMethods": [
        ("fork", ("fork",)), (["spawn", "fork"], ("spawn", "fork")), (METHODS, METHODS),
        (["spawn", "fork", "spawn"], ("spawn", "fork")),
    ],
    "Method": [("position", "position"), ("sampler.state_dict", "sampler.state_dict"), ("_a1", "_a1")],
    "Step": [(a_step, a_step), ("train:step", "train:step"), ("a.b_2:C.step", "a.b_2:C.step")],
}  # fmt: skip
REFUSED: dict[str, list[object]] = {
    **{kind: [*NO_NUMBERS, 0, 0.0, -1, -1e-9] for kind in ("Rate", "Milliseconds", "Seconds")},
    "Share": [*NO_NUMBERS, -0.001, 1.001, 2],
    "Bytes": [
        True, False, None, [1], math.nan, math.inf, -math.inf, HUGE, -HUGE, -1, 1.5, -0.5,
        "", " ", "MB", "-1MB", "+1MB", "1.MB", ".5MB", "1,5MB", "1e3", "1 PB", "1MiBB", "1Mi", "1 M B", "a lot",
        "1B 2B", "9" * 309, f"{'9' * 308}TB", 1, 32, 63_999, 2.0, "32", "63999 ",
    ],
    "Count": [*NO_NUMBERS[:-2], -HUGE, 0, -1, 1.0, 2.5],
    "StartMethods": [
        "", "threads", "Fork", [], (), ["fork", "threads"], ["fork", 1], {"fork": 1}, {"fork"}, None, 3, True,
    ],
    "Method": [None, 1, "", "1a", "a b", "a.", ".a", "a..b", "a()", "train:step", ["a"], a_step, HUGE],
    "Step": [None, 1, "", "train", "train:", ":step", "train:a b", "train::step", "1a:b", "a.:b", ["a:b"], HUGE],
}  # fmt: skip


def test_every_kind_of_limit_has_values_that_are_read_and_values_that_are_refused() -> None:
    assert set(READ) == set(REFUSED) == set(LIMIT_KINDS)


@pytest.mark.parametrize("kind", LIMIT_KINDS)
def test_a_value_is_read(kind: str) -> None:
    for value, expected in READ[kind]:
        read = LIMIT_KINDS[kind].read(value)
        assert (read, type(read)) == (expected, type(expected) if kind in ("Bytes", "Count", "Step") else type(read))


@pytest.mark.parametrize("kind", LIMIT_KINDS)
def test_what_no_loader_can_be_held_to_is_refused_by_name(kind: str) -> None:
    for value in REFUSED[kind]:
        with pytest.raises(BadLimit, match=r"^expected .*, got .*") as raised:
            LIMIT_KINDS[kind].read(value)
        assert str(raised.value).endswith(f"got {shown(value)}"), value


def test_numbers_are_read_as_floats() -> None:
    assert [type(LIMIT_KINDS[kind].read(1)) for kind in ("Rate", "Milliseconds", "Seconds", "Share")] == [float] * 4


@pytest.mark.parametrize(("unit", "size"), UNITS.items())
def test_units_of_bytes_are_powers_of_ten_or_of_two(unit: str, size: int) -> None:
    assert parse_bytes(f"99999.5{unit}") == int(99_999.5 * size)


def test_units_of_bytes_are_all_tested() -> None:
    assert {unit.upper() for unit in UNITS} == set(limits._UNITS)


def test_a_bare_number_is_asked_for_the_unit_that_was_meant() -> None:
    with pytest.raises(BadLimit, match=r'^expected a size with its unit, such as "32MB" or "32B", got 32$'):
        parse_bytes(32)


def test_every_limit_has_a_description() -> None:
    known = {name for check in (*checks.NAMES, *checks.ASKED) for name in checks.limits_of(check)}
    assert known - {"tolerance"} == set(limits.DESCRIPTIONS)


def test_every_limit_of_every_check_has_a_reader() -> None:
    for name in (*checks.NAMES, *checks.PAIRED, *checks.ASKED):
        assert set(checks.limits_of(name)) == set(keywords_of(name))


def keywords_of(name: str) -> dict[str, str]:
    """The limits of a check with their kinds."""
    parameters = inspect.signature(checks.check_module(name).judge).parameters.values()
    return {
        parameter.name: str(parameter.annotation).removesuffix(" | None")
        for parameter in parameters
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


@pytest.mark.parametrize(
    ("check", "values", "reason"),
    [
        ("memory", {"max_growth": 1}, "memory has no limit 'max_growth'; its limits are max_worker_growth, max_total"),
        ("order", {"max_lost": 1}, "order has no limit 'max_lost'; its limits are none"),
        ("memory", {"max_total_memory": "1 PB"}, "max_total_memory: expected a size such as .*, got '1 PB'"),
        ("fds", {"max_fd_use": 1.5}, "max_fd_use: expected a share between 0 and 1, got 1.5"),
        ("speed", {}, "there is no check 'speed'; the checks are workers, fds, "),
    ],
    ids=["unknown limit", "no limits at all", "bad size", "bad share", "unknown check"],
)  # fmt: skip
def test_a_bad_limit_is_named_with_its_check_or_its_key(check: str, values: dict[str, object], reason: str) -> None:
    with pytest.raises(BadLimit, match=f"^{reason}"):
        checks.read_limits(check, values)


def test_a_limit_of_none_is_no_limit_and_one_of_nothing_is() -> None:
    values = {"max_worker_growth": None, "max_total_memory": 0}
    assert checks.read_limits("memory", values) == {"max_total_memory": 0}
    assert checks.read_limits("fds", {"max_fd_use": 0}) == {"max_fd_use": 0.0}


STALL = Stall(
    step_ms=8.0, share=0.9, interval=(0.88, 0.92), best=0.88, wall_share=0.9, waiting_steps=1.0, steps=500, windows=12,
    keeps_up_at_ms=80.0, tolerated=0.001,
)  # fmt: skip
STAGED = Stages(
    bottleneck="read", why="bottleneck: I/O wait", ms_per_sample=dict.fromkeys(STAGES, 0.1), limit_ms_per_sample=1.0,
    samples_per_batch=8, batches=600, stamped_batches=100, epochs=1, workers=2, cpus=2, measured_seconds=5,
    simulated=STALL,
)  # fmt: skip
STEPS = (StepUse("a step", 10.0, 5.0, 0.0, 5.0, 0.0, 5.0),) * 8
TRANSFER = Transfer(DeviceUse("", 1, None, "loader", STEPS, 8, True, (), ()), "as it is", False, (), QUIET)
GROWN = replace(evidence.MEMORY, growth_bytes_per_worker=1, predicted_total_bytes=2)
MISSES_NOTHING: dict[tuple[str, str], Any] = {
    ("fds", "max_fd_use"): evidence.FDS,
    ("shm", "max_shm"): evidence.SHM,
    ("memory", "max_worker_growth"): GROWN,
    ("memory", "max_total_memory"): GROWN,
    ("stages", "max_stall"): STAGED,
    ("resume", "max_snapshot_overhead"): replace(evidence.RESUME, overhead=Overhead(1, 0.02, 0.01)),
    ("transfer", "max_gpu_idle"): TRANSFER,
    ("transfer", "max_input_wait"): TRANSFER,
}
"""By check and limit, evidence that passes where no limit is set and misses one of 0."""
NEEDS = {"max_stall": {"step_ms": 8.0}, "max_gpu_idle": {"step_ms": 8.0}, "max_input_wait": {"step_ms": 8.0}}
"""What else must be given for a limit to be read."""


def test_every_limit_that_may_be_nothing_has_evidence_that_misses_it() -> None:
    may_be_nothing = [
        (name, limit)
        for name in checks.NAMES
        for limit, kind in keywords_of(name).items()
        if kind in ("Share", "Bytes")
    ]
    assert set(MISSES_NOTHING) == set(may_be_nothing)


@pytest.mark.parametrize(("check", "limit"), MISSES_NOTHING)
def test_a_limit_of_nothing_is_obeyed(check: str, limit: str) -> None:
    seen = MISSES_NOTHING[check, limit]
    assert checks.judge(check, seen, limits={}).outcome == "passed"
    nothing = checks.read_limits(check, {limit: 0, **NEEDS.get(limit, {})})
    assert checks.judge(check, seen, limits=nothing).outcome == "failed"
    assert checks.missed_limits(check, seen, nothing) == (limit,)


@pytest.mark.parametrize("limit", ["max_shm", "max_fd_use"])
def test_a_stream_obeys_a_limit_of_nothing(limit: Literal["max_shm", "max_fd_use"]) -> None:
    assert streams.judge(evidence.HELD, {}).outcome == "passed"
    assert streams.judge(evidence.HELD, {limit: 0}).outcome == "failed"
