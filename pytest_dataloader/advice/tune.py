"""What to say of the settings that tuning found; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.probe.timing.bottleneck import MAIN_SHARE
from pytest_dataloader.probe.tuning.estimates import WORTHWHILE_GAIN
from pytest_dataloader.quantities import figure, percent
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from pytest_dataloader.probe.tuning.evidence import Tuning


def recommendation(seen: Tuning, step_ms: float | None) -> str:
    """The settings to take over, and what they give."""
    rate = f"{figure(seen.samples_per_second)} samples/s"
    keeps = seen.recommendation == seen.now
    if seen.keeps_up_with_ms:
        rate = f"{rate}, enough for steps of {figure(seen.keeps_up_with_ms)} ms"
        return f"keep {seen.now}: {rate}" if keeps else f"DataLoader(..., {seen.recommendation}): {rate}"
    if step_ms is not None:
        rate = f"{rate}, too few for steps of {figure(step_ms)} ms"
    if keeps:
        return f"keep {seen.now}: {rate}, nothing is clearly faster"
    if seen.gain < 1 + WORTHWHILE_GAIN:
        return f"DataLoader(..., {seen.recommendation}): {rate}, as many as {seen.now} gives"
    return f"DataLoader(..., {seen.recommendation}): {rate}, {seen.gain:.1f} times {seen.now}"


def advice(seen: Tuning) -> tuple[Advice, ...]:
    """What else to know before taking them over."""
    found = []
    if seen.settings is not None and seen.settings.num_workers and seen.gain >= 1 + WORTHWHILE_GAIN:
        if seen.now == "num_workers=0":
            found.append(Advice("DL207", "without workers, each training step waits for its batch"))
        if seen.settings.persistent_workers and "persistent" not in seen.now:
            stale = "persistent workers keep their copy of the first epoch"
            found.append(Advice("DL308", f"not for a dataset that changes between epochs: {stale}"))
    if any(row.source == "at most" for row in seen.rows) and not seen.keeps_up_with_ms:
        waits = f"{percent(seen.waiting_share)} of a sample's time is I/O wait"
        found.append(Advice("", f"__getitems__(self, indices) in the dataset can wait once for a whole batch: {waits}"))
    if seen.sampler_share >= MAIN_SHARE:
        draws = f"it takes {percent(seen.sampler_share)} of a sample's time, in the main process"
        found.append(Advice("", f"use a faster sampler: {draws}"))
    return (*found, *(Advice(*_coded(note)) for note in seen.notes))


def _coded(note: str) -> tuple[str, str]:
    code, separator, text = note.partition(": ")
    return (code, text) if separator and code.startswith("DL") else ("", note)
