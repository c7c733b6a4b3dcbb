"""Randomness: do two workers, two epochs or two ranks draw the same random numbers?"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.advice import randomness as sentences
from pytest_dataloader.errors import EmptyEpoch, NotMeasured
from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader import repeated_reads
from pytest_dataloader.probe.loader.sampling import epochs_told, shuffles
from pytest_dataloader.probe.loader.settings import has_thread_workers, start_method_of
from pytest_dataloader.probe.samples import intervention
from pytest_dataloader.probe.samples.draws import UNSURE_DRAWS, DrawFault, Draws, same_on_ranks
from pytest_dataloader.probe.samples.evidence import Randomness
from pytest_dataloader.probe.samples.generators import idiom_stream
from pytest_dataloader.probe.samples.provenance import traced
from pytest_dataloader.probe.samples.rank_simulation import Simulation, rank_arguments
from pytest_dataloader.probe.samples.side_effects import find_side_effect
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_dataloader.checks import Setting

NEEDS_BENCH = False

_WORKERS = 2
"""All workers begin in the same way: two show what any number has in common."""
_EPOCHS = 2
_INTERVENTION_SECONDS = 2.0
"""Budget of each of the five readings that tell what a stream draws for."""
_EFFECT_SECONDS = 2.0
_SECONDS = 4.0
"""Budget of an epoch; a dataset of 0.1 s a sample takes 1.6 s with two workers."""


def measure(loader: Any, *, setting: Setting) -> Randomness:
    """Have two workers read the same few samples twice in two epochs, the second time with every generator displaced.

    The user's errors come out as they are; raises NotMeasured for a loader that hangs, gives no batch or
    can be iterated only once.
    """
    started = time.monotonic()
    if has_thread_workers(loader):
        raise NotMeasured("its workers are threads of one process: their draws cannot be attributed")
    iterable = torch_private.reads_by_iteration(loader)
    workers = min(_WORKERS, loader.num_workers)
    natural = repeated_reads.undisturbed_calls(loader)

    def plan(copy: Any) -> list[Any]:
        return repeated_reads.plan(copy, max(1, workers))

    with (
        traced(loader, generators=True, displaced_from=natural, plan=plan, workers=workers) as run,
        epochs_told(loader) as tell,
    ):
        for number in range(_EPOCHS):
            setting.progress("reading the same samples again", number / _EPOCHS)
            tell(number)
            run.epoch(seconds=_SECONDS / 4 if setting.quick else _SECONDS, most=10**9)
            if run.borrowed.keeps_iterator:
                break  # its workers live on: the next epoch is more of the same
        entries = [entry for epoch in run.epochs for entry in epoch.entries]
        cut = any(epoch.cut for epoch in run.epochs)
    if not any(epoch.batches for epoch in run.epochs):
        raise EmptyEpoch
    draws = Draws(entries, natural, not iterable, {worker: idiom_stream(worker) for worker in range(workers)})
    if common := draws.shared_in_stream():
        setting.progress("seeding a generator otherwise", 0.9)
        seconds = _INTERVENTION_SECONDS / 4 if setting.quick else _INTERVENTION_SECONDS
        draws = replace(draws, effects=intervention.effects(loader, common, seconds=seconds))
    setting.tell(json.dumps(draws.begun_from()))
    shuffled = shuffles(loader)
    faults, changed_by_reading = _faults(loader, draws, shuffled=shuffled)
    ranks, of_ranks = _ranks(loader, setting) if draws.drawn else (1, ())
    return Randomness(
        faults=faults + of_ranks,
        drawn=draws.drawn,
        alike={name: when for name in draws.drawn if (when := draws.alike(name, shuffles=shuffled))},
        varies=None if iterable else draws.varies,
        workers=workers,
        epochs=len(run.epochs),
        samples_read=sum(len(entry.digests) for entry in entries if entry.kind == "sample"),
        ranks=ranks,
        start_method=start_method_of(loader),
        persistent_workers=bool(loader.persistent_workers),
        partly=("slow samples: not all planned samples were read",) if cut else (),
        seconds=round(time.monotonic() - started, 3),
        changed_by_reading=changed_by_reading,
        seeds_process=() if workers else draws.reseeded_globals,
    )


def _faults(loader: Any, draws: Draws, *, shuffled: bool) -> tuple[tuple[DrawFault, ...], str]:
    """The faults of draws, and what reading changes where that alone makes samples change: not these are at fault."""
    faults = draws.faults(shuffles=shuffled, functions=repeated_reads.functions(loader))
    if not any(fault.kind == "same_content" for fault in faults):
        return faults, ""
    indices = child_process.ask(lambda: repeated_reads.read_indices(loader), _EFFECT_SECONDS)
    effect = find_side_effect(loader, indices, seconds=_EFFECT_SECONDS) if indices else None
    if effect is None:
        return faults, ""
    if effect.is_of_samples:
        return (), effect.attribute
    return tuple(replace(fault, detail=f"reading changes {effect.attribute}") for fault in faults), ""


def merge_ranks(evidence: Randomness, told: Mapping[int, str], world_size: int) -> Randomness:
    """The evidence with the draws that the ranks of a job really have in common."""
    found = same_on_ranks({rank: json.loads(text) for rank, text in told.items()})
    known = {fault.source for fault in evidence.faults}
    more = tuple(fault for fault in found if fault.source not in known)
    return replace(evidence, faults=evidence.faults + more, ranks=world_size)


def _ranks(loader: Any, setting: Setting) -> tuple[int, tuple[DrawFault, ...]]:
    """How many ranks were compared, and whether what makes their loaders seeds their workers alike."""
    if setting.ranks > 1 or setting.build is None or rank_arguments(setting.build, 0, 1) is None:
        return 1, ()
    seeds = Simulation(loader, setting.build, "arguments").base_seeds(2)
    alike = seeds[0] is not None and seeds[0] == seeds[1]
    name = getattr(setting.build, "__qualname__", type(setting.build).__name__)
    detail = "the seed of the workers does not depend on the rank"
    return 2, (DrawFault("same_seed_on_ranks", name, ("ranks",), detail),) if alike else ()


def judge(evidence: Randomness) -> Verdict:
    """Fail for every pair of places that draw the same numbers; a dataset that draws none passes."""
    if any(fault.kind not in UNSURE_DRAWS for fault in evidence.faults):
        return Verdict("failed", sentences.describe_draw_faults(evidence), sentences.advice(evidence))
    if evidence.faults:
        return Verdict("inconclusive", sentences.describe_draw_faults(evidence), sentences.advice(evidence)[:1])
    if not evidence.samples_read:
        return Verdict("not_measured", "no sample came: its __iter__ reads none of its dataset", vacuous=True)
    return Verdict("passed", sentences.describe_draws(evidence), sentences.process_advice(evidence))
