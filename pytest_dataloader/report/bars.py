"""Figures as bars: a rate against its floor, a bar for each stage, the share of a step that waits or computes."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.quantities import figure, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_dataloader.report.line import Line

_MOST_COLUMNS = 40
_LEAST_COLUMNS = 8
_LABEL = 9
"""The longest name of a stage, and a space."""
_VALUE = 10
_MANY = 3
_NEGLIGIBLE = 0.001
"""A stage below this share of the slowest one gets no bar."""
_ASIDE = 0.01
"""A stage beside them that takes less than this share of the slowest one is not told."""


@dataclass(frozen=True, slots=True)
class Ink:
    """What bars are drawn with: blocks in eighths, or ASCII where the terminal's encoding has no blocks."""

    full: str = "█"
    parts: str = " ▏▎▍▌▋▊▉"
    maybe: str = "▒"
    rest: str = "░"
    mark: str = "│"

    @property
    def text(self) -> str:
        """Every character, to try an encoding with."""
        return self.full + self.parts + self.maybe + self.rest + self.mark


BLOCKS = Ink()
ASCII = Ink(full="#", parts="        ", maybe="-", rest=".", mark="|")


def ink_for(encoding: str | None) -> Ink:
    """The ink that a terminal's encoding can print."""
    try:
        BLOCKS.text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def bar(share: float, columns: int, ink: Ink) -> str:
    """A bar that fills ``share`` of ``columns``.

    >>> bar(0.5, 8, BLOCKS), bar(0.3, 8, BLOCKS), bar(0.3, 8, ASCII)
    ('████', '██▍', '##')
    """
    eighths = round(max(0.0, min(1.0, share)) * columns * 8)
    return ink.full * (eighths // 8) + ink.parts[eighths % 8].strip()


def of_throughput(evidence: Mapping[str, Any], limits: Mapping[str, Any], width: int, ink: Ink) -> Iterator[Line]:
    """A rate against its floor: the bar, its interval, and a mark where the floor is."""
    floor, rate = limits.get("min_samples_per_second"), evidence.get("samples_per_second")
    if not floor or not rate:
        return
    low, high = evidence["interval"]
    columns = _columns(width, len(_against(rate, floor)) + 2)
    if not columns:
        return
    most = max(min(high, 2 * floor), rate, floor) or 1.0
    drawn = [ink.full if at < low else ink.maybe if at < high else ink.rest for at in _scale(most, columns)]
    drawn[min(columns - 1, int(floor / most * columns))] = ink.mark
    yield [("".join(drawn), {}), (f"  {_against(rate, floor)}", {})]


def _against(rate: float, floor: float) -> str:
    share = rate / floor
    return f"{percent(share) + ' of' if share < _MANY else figure(share) + ' times'} the floor of {figure(floor)}"


def _scale(most: float, columns: int) -> list[float]:
    """The value in the middle of each column."""
    return [most * (at + 0.5) / columns for at in range(columns)]


def of_stages(evidence: Mapping[str, Any], width: int, ink: Ink) -> Iterator[Line]:
    """A bar for each stage that time passes in, in the order in which a batch goes through them; the longest is bold.

    They add up to the time that passes for a sample. What runs beside them is told, and has no bar.
    """
    own = evidence.get("ms_per_sample") or {}
    pace = evidence.get("pace_ms_per_sample") or own
    most = max(pace.values(), default=0.0)
    if most <= 0:
        return
    columns = _columns(width, _LABEL + _VALUE + 2)
    workers = evidence.get("workers") or 0
    head = f"{'':{_LABEL}}{'ms/sample':>{_VALUE}}"
    shared = f"{head}  that pass, {workers} workers side by side"
    yield [(shared if workers > 1 and len(shared) <= width else head, {})]
    for stage, cost in pace.items():
        if cost < _NEGLIGIBLE * most:
            continue
        slowest = {"bold": True} if stage == evidence.get("bottleneck") else {}
        yield [(f"{stage:{_LABEL}}{figure(cost):>{_VALUE}}  {bar(cost / most, columns, ink)}", slowest)]
    aside = [f"{stage} {figure(cost)}" for stage, cost in own.items() if not pace.get(stage) and cost >= _ASIDE * most]
    if aside:
        text = f"{'beside':{_LABEL}} {', '.join(aside)}"
        yield [(textwrap.shorten(text, width, placeholder=" ...") if len(text) > width else text, {})]


def of_waiting(evidence: Mapping[str, Any], width: int, ink: Ink) -> Iterator[Line]:
    """How much of its time a training step of the length given waits."""
    stall = evidence.get("simulated")
    if not stall:
        return
    words = f"{percent(stall['share'])} beside steps of {figure(stall['step_ms'])} ms"
    columns = _columns(width, _LABEL + len(words) + 2)
    filled = bar(stall["share"], columns, ink)
    drawn = f"{filled}{ink.rest * (columns - len(filled))}  " if columns else ""
    yield [(f"{'waits':{_LABEL}}{drawn}{words}", {})]


_PARTS = {
    "compute": "computing",
    "copying": "only copying",
    "idle_waiting": "idle, loader",
    "idle_other": "idle, other",
}


def of_transfer(evidence: Mapping[str, Any], width: int, ink: Ink) -> Iterator[Line]:
    """A bar for each part of a training step, by what the device does."""
    label = max(map(len, _PARTS.values())) + 2
    columns = _columns(width, label + _VALUE)
    for name, words in _PARTS.items():
        share = evidence["shares"][name]
        drawn = f"{bar(share, columns, ink):<{columns}}  " if columns else ""
        yield [(f"{words:{label}}{drawn}{percent(share):>5}", {})]


def _columns(width: int, used: int) -> int:
    """How long a bar may be beside ``used`` columns of text; 0 where it would say nothing."""
    left = min(_MOST_COLUMNS, width - used)
    return left if left >= _LEAST_COLUMNS else 0
