"""The randomness check: its judgement over made-up evidence, and real loaders: faults are found, no twin is accused."""

from __future__ import annotations

import json
import random
import time
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, get_worker_info

from pytest_dataloader.checks import Setting, randomness
from pytest_dataloader.checks.randomness import judge, measure, merge_ranks
from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.samples.draws import UNSURE_DRAWS, DrawFault, DrawFaultKind, Draws
from pytest_dataloader.probe.samples.generators import GeneratorState
from pytest_dataloader.probe.samples.journal import JournalEntry
from tests.judgement import Judgement
from tests.variants import every, first_of_each, named
from tests.zoo import evidence
from tests.zoo.case import assert_found
from tests.zoo.randomness import (
    CLEAN,
    FAULTS,
    MODULE_RNG,
    Rows,
    from_module,
    from_numpy,
    from_own,
    numpy_generator,
    seed_alike,
)

QUICK = Setting()


SEEN = evidence.RANDOMNESS
OF_ALL_KINDS: dict[DrawFaultKind, tuple[str, str]] = {
    "frozen_generator": ("dataset.rng draws identical numbers in all workers", "DL402"),
    "constant_seed": ("dataset.rng gives all workers the same seed", "DL403"),
    "epoch_repeating_seed": ("dataset.rng gives all workers the same seed", "DL404"),
    "repeating_loader_seed": ("dataset.rng draws the same random numbers in all workers", ""),
    "reseeding_per_sample": ("dataset.rng draws identical numbers in all workers", "DL407"),
    "seeded_alike_by_iteration": ("dataset.rng gets the same seed in all workers, in __iter__", ""),
    "same_seed_on_ranks": ("dataset.rng gives all workers the same seed", ""),
    "same_draws_on_ranks": ("dataset.rng draws identical numbers on workers", ""),
}
SHARED = DrawFault("frozen_generator", "dataset.rng", ("workers", "epochs"))
ALIKE = DrawFault("same_content", "Rows", ("workers",), "by no generator that was found")
VERDICTS = {
    "all draws differ": Judgement(
        SEEN, "passed", "numpy.random: all draws differ (32 samples in 2 epochs of 2 workers)", in_full=True
    ),
    "all draws of two generators differ": Judgement(
        replace(SEEN, drawn=("random", "torch")), "passed", "random and torch: all draws differ (32 samples"
    ),
    "one epoch of one worker": Judgement(
        replace(SEEN, workers=1, epochs=1, samples_read=1), "passed",
        "numpy.random: all draws differ (1 sample in 1 epoch of 1 worker)", in_full=True,
    ),
    "without workers, in part": Judgement(
        replace(SEEN, workers=0, partly=("slow samples", "few of them")), "passed",
        "numpy.random: all draws differ (32 samples in 2 epochs without workers)\n"
        "slow samples\nfew of them",
        in_full=True,
    ),
    "draws that may be alike": Judgement(
        replace(SEEN, drawn=("random", "torch"), alike={"torch": "in every epoch, as an evaluation may"}), "passed",
        "random: all draws differ (32 samples in 2 epochs of 2 workers)\n"
        "torch: same draws in every epoch, as an evaluation may",
    ),
    "draws that seed the process that trains": Judgement(
        replace(SEEN, workers=0, alike={"torch": "whenever the same sample is read"}, seeds_process=("torch",)),
        "passed",
        "numpy.random: all draws differ (32 samples in 2 epochs without workers)\n"
        "torch: same draws whenever the same sample is read",
        ("DL407",),
    ),
    "nothing but draws that may be alike": Judgement(
        replace(SEEN, alike={"numpy.random": "whenever the same sample is read"}), "passed",
        "numpy.random: same draws whenever the same sample is read (32 samples in 2 epochs of 2 workers)",
    ),
    "change by no generator that was found": Judgement(
        replace(SEEN, drawn=()), "passed",
        "samples differ when read again (32 samples in 2 epochs of 2 workers)\n"
        "no generator was found that they come from",
    ),
    "nothing is drawn": Judgement(
        replace(SEEN, drawn=(), varies=False), "passed",
        "no persistent random generator is used (32 samples in 2 epochs of 2 workers)", in_full=True,
    ),
    "a stream from which nothing is drawn": Judgement(
        replace(SEEN, drawn=(), varies=None), "passed", "no persistent random generator is used"
    ),
    "no sample": Judgement(
        replace(SEEN, samples_read=0), "not_measured",
        "no sample came: its __iter__ reads none of its dataset",
        vacuous=True,
    ),
    "a fault, and no sample": Judgement(
        replace(SEEN, faults=(SHARED,), samples_read=0), "failed", "dataset.rng draws identical numbers", ("DL402",)
    ),
    "shared by two": Judgement(
        replace(SEEN, faults=(SHARED,)), "failed", "dataset.rng draws identical numbers in all workers and epochs",
        ("DL402",), in_full=True,
    ),
    "with a detail": Judgement(
        replace(SEEN, faults=(replace(SHARED, detail="ranks 0 and 2"),)), "failed",
        "dataset.rng draws identical numbers in all workers and epochs\n"
        "ranks 0 and 2", ("DL402",), in_full=True,
    ),
    "two faults": Judgement(
        replace(SEEN, faults=(SHARED, DrawFault("constant_seed", "init", ("workers",)))), "failed",
        "dataset.rng draws identical numbers in all workers and epochs\n"
        "init gives all workers the same seed",
        ("DL402", "DL403"), in_full=True,
    ),
    "the same content": Judgement(
        replace(SEEN, faults=(ALIKE,)), "inconclusive",
        "Rows makes random samples, the same in all workers\n"
        "by no generator that was found", ("DL402",), in_full=True,
    ),
    "what reading changes": Judgement(
        replace(SEEN, drawn=(), varies=True, changed_by_reading="dataset.rows"), "passed",
        "samples differ when read again (32 samples in 2 epochs of 2 workers)\n"
        "reading changes dataset.rows: see the order check",
        in_full=True,
    ),
    "the same content twice": Judgement(
        replace(SEEN, faults=(ALIKE, ALIKE)), "inconclusive",
        "Rows makes random samples, the same in all workers", ("DL402",)
    ),
    "the same content before a fault": Judgement(
        replace(SEEN, faults=(ALIKE, SHARED)), "failed",
        "Rows makes random samples, the same in all workers", ("DL402", "DL402")
    ),
    "draws of a stream for nobody knows what": Judgement(
        replace(SEEN, faults=(DrawFault("shared_draws", "Rows.__iter__.rng", ("workers", "epochs")),)), "inconclusive",
        "Rows.__iter__.rng draws identical numbers in all workers and epochs\n"
        "whether for samples or for their order is not known", ("",), in_full=True,
    ),
    **{
        str(kind): Judgement(
            replace(SEEN, faults=(DrawFault(kind, "dataset.rng", ("workers",)),)), "failed", says, (code,), in_full=True
        )
        for kind, (says, code) in OF_ALL_KINDS.items()
    },
}  # fmt: skip


@pytest.mark.parametrize("row", VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_follows_from_the_evidence(row: Judgement) -> None:
    assert row.of(judge) == row


def test_every_kind_of_fault_has_a_row() -> None:
    assert {*OF_ALL_KINDS, *UNSURE_DRAWS} == set(get_args(DrawFaultKind))


def test_what_the_ranks_of_a_job_draw_alike_is_added_once() -> None:
    told = {rank: json.dumps({"torch": ["a state", "another"], "random": [f"{rank}", "one"]}) for rank in (0, 1)}
    merged = merge_ranks(SEEN, told, 2)
    assert [(fault.kind, fault.source) for fault in merged.faults] == [("same_draws_on_ranks", "torch")]
    assert merged.ranks == 2
    assert merge_ranks(merged, told, 2) == merged


@pytest.mark.parametrize("name", named(FAULTS, first_of_each(FAULTS, lambda case: (case.kind, case.source))))
def test_a_fault_is_found_and_named(name: str) -> None:
    case = FAULTS[name]
    seen = measure(case.make(), setting=QUICK)
    assert_found(case, seen.faults, judge(seen))


TWINS = (
    "deterministic", "drawn from without workers", "kept and never drawn from", "seeded well",
    "seed by worker, persistent", "seeded by the index", "stream drawing globally", "collate drawing globally",
    "made in the iteration by worker, evaluation", "shuffle buffer seeded alike", "distorted alike, then divided",
    "shuffled alike, then divided",
)  # fmt: skip


@pytest.mark.parametrize("name", named(CLEAN, TWINS))
def test_a_twin_is_not_accused(name: str) -> None:
    seen = measure(CLEAN[name].make(), setting=QUICK)
    assert judge(seen).outcome == "passed", judge(seen).reason
    assert seen.samples_read


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("numpy's global generator", "numpy.random: all draws differ ("),
        ("seeded by the index", "random: same draws whenever the same sample is read ("),
        ("evaluation with a constant seed", "torch: same draws for every sample, as an evaluation may ("),
        (
            "made in the worker from a fixed seed, evaluation",
            "collate_fn.generator: same draws in every epoch, as an evaluation may (",
        ),
        (
            "made in the iteration by worker, evaluation",
            "noisy_from.<locals>.noisy.rng: same draws in every epoch, as an evaluation may (",
        ),
        (
            "shuffle buffer seeded alike",
            "numpy.random: all draws differ (64 samples in 2 epochs of 2 workers)\n"
            "buffered.rng: same draws to order or "
            "choose samples, as workers",
        ),
        ("draws without effect", "without_effect.rng: same draws that change no sample ("),
    ],
)
def test_draws_that_come_again_are_not_said_to_differ(name: str, told: str) -> None:
    assert judge(measure(CLEAN[name].make(), setting=QUICK)).reason.startswith(told)


def slow_in_one_worker(_dataset: Any, _index: int) -> float:
    worker = get_worker_info()
    time.sleep(0.02 if worker is not None and worker.id == 0 else 0)
    return 0.0


def test_out_of_order_workers_read_the_same_samples_again() -> None:
    seen = measure(DataLoader(Rows(slow_in_one_worker), 8, num_workers=2, in_order=False), setting=QUICK)
    assert seen.varies is False
    assert judge(seen).reason.startswith("no persistent random generator is used")


@pytest.mark.parametrize("method", named(["spawn", "forkserver"], ["forkserver"]))
def test_workers_that_are_not_forked_are_traced_too(method: str) -> None:
    frozen = DataLoader(Rows(from_own, rng=numpy_generator()), 8, num_workers=2, multiprocessing_context=method)
    seen = measure(frozen, setting=QUICK)
    assert [(fault.kind, fault.source) for fault in seen.faults] == [("frozen_generator", "dataset.rng")]


def test_the_loader_and_every_generator_are_as_they_were() -> None:
    for workers in (0, 2):
        loader = DataLoader(
            Rows(from_module, rng=numpy_generator()), 8, True, num_workers=workers, generator=torch.Generator()
        )
        before, attributes = states(loader), dict(vars(loader))
        measure(loader, setting=QUICK)
        assert states(loader) == before
        assert vars(loader) == attributes
        assert type(loader.dataset) is Rows


def states(loader: DataLoader[Any]) -> list[str]:
    dataset: Any = loader.dataset
    generators = (
        MODULE_RNG.bit_generator.state,
        dataset.rng.bit_generator.state,
        loader.generator.get_state().tolist(),
    )
    return [
        str(each) for each in (random.getstate(), np.random.get_state(), torch.get_rng_state().tolist(), *generators)
    ]


def test_two_faults_are_both_named() -> None:
    both = Rows(lambda self, index: from_own(self, index) + from_numpy(self, index), rng=numpy_generator())
    seen = measure(DataLoader(both, 8, num_workers=2, worker_init_fn=seed_alike), setting=QUICK)
    assert {fault.source for fault in seen.faults} == {"dataset.rng", "seed_alike"}
    assert {each.code for each in judge(seen).advice} == {"DL402", "DL403"}


def seeded_alike(rank: int, world_size: int) -> DataLoader[Any]:
    del rank, world_size
    return DataLoader(Rows(from_numpy), 8, num_workers=2, generator=torch.Generator().manual_seed(0))


def seeded_by_rank(rank: int, world_size: int) -> DataLoader[Any]:
    del world_size
    return DataLoader(Rows(from_numpy), 8, num_workers=2, generator=torch.Generator().manual_seed(rank))


def left_to_torch(rank: int, world_size: int) -> DataLoader[Any]:
    del rank, world_size
    return DataLoader(Rows(from_numpy), 8, num_workers=2)


def test_ranks_that_are_seeded_alike_are_found() -> None:
    seen = measure(seeded_alike(0, 1), setting=Setting(build=seeded_alike))
    assert [(fault.kind, fault.source) for fault in seen.faults] == [("same_seed_on_ranks", "seeded_alike")]
    assert judge(seen).outcome == "failed"
    for build in (seeded_by_rank, left_to_torch):
        seen = measure(build(0, 1), setting=Setting(build=build))
        assert (judge(seen).outcome, seen.ranks) == ("passed", 2)


class Counting(Rows):
    """What changes in every worker alike, and is not random."""

    calls = 0

    def __getitem__(self, index: int) -> Any:
        self.calls += 1
        return index, self.calls


def test_alike_without_a_known_generator_is_told_but_not_accused() -> None:
    verdict = judge(measure(DataLoader(Counting(), 8, num_workers=2), setting=QUICK))
    assert verdict.outcome == "inconclusive"
    assert "the same in all workers and epochs\nreading changes dataset.calls" in verdict.reason


def test_a_loader_that_raises_or_hangs_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    class Raising(Rows):
        def __getitem__(self, index: int) -> Any:
            raise LookupError("no row")

    with pytest.raises(LookupError, match="no row"):
        measure(DataLoader(Raising(), 8, num_workers=1), setting=QUICK)

    class Hanging(Rows):
        def __getitem__(self, index: int) -> Any:
            import time

            time.sleep(60)

    monkeypatch.setattr("pytest_dataloader.probe.samples.provenance._WAIT_SECONDS", 1.0)
    with pytest.raises(NotMeasured, match="no batch came for"):
        measure(DataLoader(Hanging(), 8, num_workers=1), setting=QUICK)


def test_what_a_slow_dataset_did_not_show_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(randomness, "_SECONDS", 0.0)
    seen = measure(DataLoader(Rows(from_numpy), 8, num_workers=2), setting=QUICK)
    assert "not all planned samples were read" in judge(seen).reason


def call(
    number: int, before: str, after: str, *, worker: int = 0, epoch: int = 0, unused: bool = False
) -> JournalEntry:
    standings = {"rng": GeneratorState(before, before)}, {"rng": GeneratorState(after, after, unused)}
    return JournalEntry("sample", epoch, worker, number, (number % 2,), (after,), *standings)


FROZEN = [call(0, "a", "b"), call(1, "b", "c"), call(0, "a", "b", worker=1), call(1, "b", "c", worker=1)]


@pytest.mark.parametrize(
    ("entries", "kinds"),
    [
        (FROZEN, ["frozen_generator"]),
        ([call(0, "a", "b"), call(1, "b", "c"), call(0, "x", "y", worker=1), call(1, "y", "z", worker=1)], []),
        ([call(0, "a", "b"), call(0, "a", "b", worker=1)], []),  # once: a table made on first use
        ([call(0, "a", "b"), call(1, "b", "c"), call(2, "x", "b"), call(3, "y", "c")], []),  # seeded by the index
        ([call(0, "a", "k"), call(2, "x", "k"), call(3, "y", "k")], ["reseeding_per_sample"]),
        ([call(2, "x", "k", unused=True), call(3, "y", "k", unused=True)], []),  # seeded, never drawn from
    ],
)  # fmt: skip
def test_faults_follow_from_states(entries: list[JournalEntry], kinds: list[str]) -> None:
    draws = Draws(entries, {"sample": 2, "collate": 2}, True, {})
    functions = {"sample": "Rows.__getitem__", "collate": "collate", "start": "init"}
    assert [fault.kind for fault in draws.faults(shuffles=True, functions=functions)] == kinds


def told_by(loader: Any) -> str:
    told = list[str]()
    measure(loader, setting=Setting(ranks=2, tell=told.append))
    return told[-1]


@pytest.mark.parametrize(
    "options", every([{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}], step=3)
)
def test_ranks_that_draw_the_same_numbers_are_named(options: dict[str, Any]) -> None:
    def rank(seed: int) -> str:
        torch.manual_seed(seed)
        return told_by(DataLoader(Drawing(), batch_size=4, **options))

    with torch.random.fork_rng(devices=[]):
        told = {0: rank(1), 1: rank(2), 2: rank(1)}
        seen = measure(DataLoader(Drawing(), batch_size=4, **options), setting=QUICK)
    assert randomness.merge_ranks(seen, {0: told[0], 1: told[1]}, 2).faults == ()
    verdict = judge(randomness.merge_ranks(seen, told, 3))
    assert (verdict.outcome, verdict.reason) == ("failed", "torch draws identical numbers on ranks\nranks 0 and 2")


class Drawing(Rows):
    def __getitem__(self, index: int) -> Any:
        return torch.rand(2)
