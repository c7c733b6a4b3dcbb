"""Which settings make the loader fastest on this machine?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.advice import tune as sentences
from pytest_dataloader.errors import EmptyEpoch
from pytest_dataloader.probe.internals import worker_errors
from pytest_dataloader.probe.tuning.batch_sizes import compare_batch_sizes, hindrance
from pytest_dataloader.probe.tuning.evidence import Tuning, tuning_of
from pytest_dataloader.probe.tuning.pinning import compare_pinning
from pytest_dataloader.probe.tuning.search import Search
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from pytest_dataloader.checks import Setting
    from pytest_dataloader.settings.limits import Milliseconds

NEEDS_BENCH = False


def measure(loader: Any, *, setting: Setting, step_ms: float | None = None) -> Tuning:
    """Measure a loader with more and more workers, and with what else may help, in about ``setting.seconds``.

    With ``step_ms``, no more workers are recommended than a training step of so long needs. Then other batch sizes are
    measured under the settings found, for a third of that time, and as long pinning where there is a CUDA device. What
    is known is handed to ``setting.known`` whenever there is more of it. Raises what the loader raises.
    """
    search = Search(loader, seconds=setting.seconds, told=setting.progress)
    search.step_seconds = None if step_ms is None else step_ms / 1e3
    search.known = lambda: setting.known(tuning_of(search))
    try:
        search.run()
    except EmptyEpoch:
        return Tuning(empty=True)
    return _with_pinning(_with_batch_sizes(search, setting), search, setting)


def _with_batch_sizes(search: Search, setting: Setting) -> Tuning:
    """The tuning, and what other batch sizes give; one that the loader cannot have takes nothing from the tuning."""
    found = tuning_of(search)
    best = found.settings
    if best is None or search.alone is None:
        return found
    found = replace(found, batch_size_unclear=hindrance(search.loader))
    if found.batch_size_unclear:
        return found
    batches, each = search.alone.batches, search.alone.samples_per_batch
    rows = compare_batch_sizes(
        search.loader,
        best,
        seconds=setting.seconds,
        samples=None if batches is None else batches * each,
        came=lambda what: setting.progress(what, 1.0),
    )
    try:
        for row in rows:
            found = replace(found, batch_sizes=(*found.batch_sizes, row), measured_seconds=search.spent_seconds)
            setting.known(found)
    except Exception as error:  # with the loader's own settings it works: whatever this is, the batch size brings it
        why = f"not all batch sizes can be had: {worker_errors.told(error)}"
        found = replace(found, batch_size_unclear=why, notes=(*found.notes, why))
    return found


def _with_pinning(found: Tuning, search: Search, setting: Setting) -> Tuning:
    """The tuning, and what pinning gives; last, since it initialises CUDA."""
    if found.settings is None:
        return found
    try:
        rows = compare_pinning(
            search.loader, found.settings, seconds=setting.seconds, came=lambda what: setting.progress(what, 1.0)
        )
    except Exception as error:  # without pinning it works: whatever this is, pinning brings it
        return replace(found, notes=(*found.notes, f"pinning could not be measured: {worker_errors.told(error)}"))
    return replace(found, pinning=rows, measured_seconds=search.spent_seconds)


def judge(evidence: Tuning, *, step_ms: Milliseconds | None = None) -> Verdict:
    """A recommendation; never a failure."""
    if evidence.empty:
        return Verdict("not_measured", "the loader gave no batch: its epoch is empty")
    if not evidence.recommendation:
        why = "\n".join(evidence.notes) or "it was interrupted before workers were tried"
        return Verdict("not_measured", f"nothing to recommend: {why}")
    so_far = "" if evidence.complete else "\ninterrupted: not all settings were tried"
    busy = f"\nrepeat this on a quiet machine: {evidence.disturbances[0]}" if evidence.disturbances else ""
    recommended = sentences.recommendation(evidence, step_ms)
    return Verdict("passed", f"{recommended}{so_far}{busy}", sentences.advice(evidence))
