"""Figures as bars: a rate beside its threshold, the stages of a batch, the data wait of a step, what a device does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.progress_bar import ProgressBar
from rich.table import Table

from pytest_dataloader.quantities import figure, percent
from pytest_dataloader.report.console import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rich.console import RenderableType

_MOST_COLUMNS = 40
_MANY = 3
_NEGLIGIBLE = 0.001
"""A stage below this share of the slowest one gets no bar."""
_OVERLAPPED = 0.01
"""An overlapped stage that takes less than this share of the slowest one is not named."""
_PARTS = {
    "compute": "compute",
    "copying": "copies only",
    "idle_waiting": "idle: data wait",
    "idle_other": "idle: other",
}


def of_throughput(evidence: Mapping[str, Any], limits: Mapping[str, Any]) -> Iterator[Table]:
    """A rate beside its threshold."""
    threshold, rate = limits.get("min_samples_per_second"), evidence.get("samples_per_second")
    if not threshold or not rate:
        return
    share = rate / threshold
    words = f"{percent(share)} of" if share < _MANY else f"{figure(share)} times"
    yield _bars([("threshold", f"{words} {figure(threshold)} samples/s", min(1.0, share), False)])


def of_stages(evidence: Mapping[str, Any]) -> Iterator[RenderableType]:
    """A bar for each stage that time passes in, in the order in which a batch goes through them; the longest is bold.

    They add up to the wall time per sample. Stages that overlap a slower one are in the last line, without a bar.
    """
    own = evidence.get("ms_per_sample") or {}
    pace = evidence.get("pace_ms_per_sample") or own
    most = max(pace.values(), default=0.0)
    if most <= 0:
        return
    workers = evidence.get("workers") or 0
    yield text(f"ms/sample (wall, {workers} workers)" if workers > 1 else "ms/sample (wall)")
    yield _bars(
        (stage, figure(cost), cost / most, stage == evidence.get("bottleneck"))
        for stage, cost in pace.items()
        if cost >= _NEGLIGIBLE * most
    )
    hidden = [
        f"{name} {figure(cost)}" for name, cost in own.items() if not pace.get(name) and cost >= _OVERLAPPED * most
    ]
    if hidden:
        yield text(f"overlapped: {', '.join(hidden)}")


def of_waiting(evidence: Mapping[str, Any]) -> Iterator[Table]:
    """How much of its time a training step of the length given waits."""
    stall = evidence.get("simulated")
    if stall:
        words = f"{percent(stall['share'])} of a {figure(stall['step_ms'])} ms step"
        yield _bars([("data wait", words, stall["share"], False)])


def of_transfer(evidence: Mapping[str, Any]) -> Iterator[Table]:
    """A bar for each part of a training step, by what the device does."""
    shares = evidence["shares"]
    yield _bars([(words, percent(shares[name]), shares[name], False) for name, words in _PARTS.items()])


def _bars(rows: Iterable[tuple[str, str, float, bool]]) -> Table:
    """Label, figure, share of the bar, and whether it stands out."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, overflow="fold")
    grid.add_column(max_width=_MOST_COLUMNS)
    for label, words, share, bold in rows:
        style = "bold" if bold else "none"
        bar = ProgressBar(1.0, share, complete_style=style, finished_style=style)
        grid.add_row(text(label), text(words), bar, style=style)
    return grid
