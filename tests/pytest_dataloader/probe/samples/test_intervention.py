"""What an intervention shows of a generator, from samples that are made up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.probe.samples.intervention import StreamReading, effect

if TYPE_CHECKING:
    from pytest_dataloader.probe.samples.draws import Effect

MANY = 32


def reading(*values: object, names: bool = False, ended: bool = True, displaced: int | None = None) -> StreamReading:
    named = {"['name']": "row"} if names else {}
    samples = tuple(
        {**{path: f"{word} {number}" for path, word in named.items()}, "": str(value)}
        for number, value in enumerate(values)
    )
    return StreamReading(samples, len(samples) if displaced is None else displaced, ended)


ROWS = [f"row {number}" for number in range(MANY)]
ONE = [f"one {number}" for number in range(MANY)]
OTHER = [f"other {number}" for number in range(MANY)]
BACKWARDS = [ROWS[0], *reversed(ROWS[1:])]
TURNED = [ROWS[0], *ROWS[9:], *ROWS[1:9]]
NOBODY = StreamReading(ended=True)
EFFECTS: dict[str, tuple[Effect, StreamReading, StreamReading, StreamReading, StreamReading]] = {
    "other values": ("makes", reading(*ROWS), reading(*ONE), reading(*OTHER), NOBODY),
    "other values of a part beside names": (
        "makes", reading(*ROWS, names=True, ended=False), reading(*ONE, names=True, ended=False),
        reading(*OTHER, names=True, ended=False), NOBODY,
    ),
    "other values of a stream that was not read to its end": (
        "unclear", reading(*ROWS, ended=False), reading(*ONE, ended=False), reading(*OTHER, ended=False), NOBODY,
    ),
    "one of two values at each place": (
        "makes", reading(*ROWS), reading(*ONE), reading(*[(ROWS, ONE)[at % 2][at] for at in range(MANY)]), NOBODY,
    ),
    "another order": ("orders", reading(*ROWS), reading(*BACKWARDS), reading(*TURNED), NOBODY),
    "another order of a stream that was not read to its end": (
        "orders", reading(*ROWS, ended=False), reading(*BACKWARDS, ended=False), reading(*TURNED, ended=False), NOBODY,
    ),
    "what another worker had": ("orders", reading(*ROWS), reading(*ONE), reading(*OTHER), reading(*reversed(ONE))),
    "some elsewhere, some never": (
        "unclear", reading(*ROWS), reading(*BACKWARDS[:16], *ONE[16:]), reading(*OTHER), NOBODY,
    ),
    "few samples": ("unclear", reading(*ROWS[:15]), reading(*ONE[:15]), reading(*OTHER[:15]), NOBODY),
    "nothing": ("nothing", reading(*ROWS), reading(*ROWS), reading(*ROWS), NOBODY),
    "fewer samples": ("unclear", reading(*ROWS), reading(*ROWS[:9]), reading(*ROWS), NOBODY),
    "a generator that was not found": (
        "unclear", reading(*ROWS), reading(*ROWS, displaced=0), reading(*ROWS, displaced=0), NOBODY,
    ),
    "no sample": ("unclear", reading(), reading(), reading(), NOBODY),
}  # fmt: skip


@pytest.mark.parametrize("row", EFFECTS.values(), ids=EFFECTS)
def test_the_effect_follows_from_the_samples(
    row: tuple[Effect, StreamReading, StreamReading, StreamReading, StreamReading],
) -> None:
    due, natural, one, other, beside = row
    assert effect(natural, natural, (displaced(one), displaced(other)), beside) == due


def displaced(read: StreamReading) -> StreamReading:
    """All but the first sample come after an intervention, unless the row says otherwise."""
    return StreamReading(read.samples, min(read.displaced, max(0, len(read.samples) - 1)), read.ended)


def test_parts_that_differ_without_an_intervention_tell_nothing() -> None:
    restless = effect(reading(*ROWS), reading(*ONE), (reading(*ONE), reading(*OTHER)), NOBODY)
    assert restless == "unclear"
