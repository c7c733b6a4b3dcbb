"""Tuning real loaders: the right direction, honest limits, and a loader left as it was."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    Sampler,
    SequentialSampler,
    get_worker_info,
)

from pytest_dataloader.checks import Setting
from pytest_dataloader.checks.tune import judge, measure
from pytest_dataloader.errors import NothingSeen, NotMeasured
from pytest_dataloader.probe.host import capacity
from pytest_dataloader.probe.loader.settings import LoaderSettings
from pytest_dataloader.probe.tuning import batch_sizes, search, trial
from pytest_dataloader.probe.tuning.evidence import Tuning
from pytest_dataloader.probe.tuning.ladder import LadderRow
from pytest_dataloader.report.ladder import size_cells
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.xdist_group("time")

SETTING = Setting(seconds=2.0)
QUICK = Setting(seconds=0.3)


class Waiting(Dataset[Any]):
    def __init__(self, seconds: float = 0.004, length: int = 2_000) -> None:
        self.seconds, self.length = seconds, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        if self.seconds:
            time.sleep(self.seconds)
        return torch.tensor(index)


class Many(Waiting):
    def __getitem__(self, index: int) -> Any:
        return tuple(torch.tensor(index) for _ in range(20))


class AtOnce(Waiting):
    def __getitems__(self, indices: list[int]) -> Any:
        time.sleep(self.seconds)
        return [torch.tensor(index) for index in indices]


class Stream(IterableDataset[Any]):
    def __init__(self, shared_out: bool) -> None:
        self.shared_out = shared_out

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info and self.shared_out else (0, 1)
        for number in range(first, 4_000, step):
            time.sleep(0.001)
            yield torch.tensor(number)


class Stubborn(DataLoader[Any]):
    """Makes up its own number of workers."""

    def __iter__(self) -> Any:
        vars(self)["num_workers"] = 0
        return super().__iter__()


def rated(start: trial.TrialStart, rate: float, *disturbances: str, vague: bool = False) -> trial.Trial:
    """A trial of a start that was real, with the rate that a test is about."""
    return trial.Trial(
        **known_of(start), samples_per_second=rate, vague=vague, steady=True, batch_seconds=4 / rate,
        worker_cpu_seconds=0.001, main_cpu_seconds=0.0001, disturbances=disturbances,
    )  # fmt: skip


def stored(
    monkeypatch: pytest.MonkeyPatch, rate: Callable[[int], float], *, size: int = 8, batches: int = 250
) -> list[int]:
    """Let searches find what was measured once: the samples per second of each number of workers, in waiting batches.

    Returns the numbers of workers that are tried, filled as they are.
    """
    tried: list[int] = []

    def alone(_loader: Any, _seconds: float, came: Callable[[float], None]) -> trial.Alone:
        came(1.0)
        each = size / rate(0)
        return trial.Alone(
            (each,), waiting_seconds=0.95 * each, sampler_seconds=0.0, sampler_waiting_seconds=0.0,
            cpu_seconds=0.05 * each, samples_per_batch=size, batches=batches,
        )  # fmt: skip

    def measured(_loader: Any, settings: LoaderSettings, _seconds: float, came: Callable[[float], None]) -> trial.Trial:
        tried.append(settings.num_workers)
        came(1.0)
        return rated(started(settings, size), rate(settings.num_workers))

    monkeypatch.setattr(search, "measure_alone", alone)
    monkeypatch.setattr(search, "measure_trial", measured)
    monkeypatch.setattr(batch_sizes, "measure_start", measured)
    return tried


def started(settings: LoaderSettings, size: int) -> trial.TrialStart:
    """A start with so many numbers in a batch."""
    return trial.TrialStart(settings, batches=100, first_seconds=0.05, worker_bytes=10_000_000, batch_bytes=8 * size)


def by_workers(number: int) -> float:
    """What samples that wait for 4 ms give: workers that wait help each other."""
    return 240.0 * number or 250.0


def known_of(start: trial.TrialStart) -> dict[str, Any]:
    return {each.name: getattr(start, each.name) for each in dataclasses.fields(trial.TrialStart)}


def state(loader: DataLoader[Any]) -> dict[str, int]:
    return {name: id(value) for name, value in vars(loader).items()}


def test_samples_that_wait_want_workers_and_the_loader_stays_as_it_was() -> None:
    loader = DataLoader(Waiting(), batch_size=8, shuffle=True)
    before, random = state(loader), torch.get_rng_state()
    known: list[Tuning] = []
    seen = measure(loader, setting=dataclasses.replace(SETTING, known=known.append))
    assert seen.settings is not None
    assert seen.settings.num_workers >= 2, seen
    assert seen.gain > (1 if seen.disturbances else 1.5)
    assert [row.change for row in seen.rows][:3] == [
        "num_workers=0", f"+ num_workers={seen.settings.num_workers}", "+ persistent_workers=True",
    ]  # fmt: skip
    assert seen.rows[-1].source == "at most"
    assert seen.rows[-1].vs_baseline > 3
    assert known
    assert known[0].rows[0].change == "num_workers=0"
    verdict = judge(seen)
    assert verdict.outcome == "passed"
    assert f"DataLoader(..., {seen.recommendation})" in verdict.reason
    assert "DL207" in [advice.code for advice in verdict.advice]
    assert state(loader) == before
    assert torch.equal(torch.get_rng_state(), random)


def test_a_training_step_that_takes_its_time_needs_no_more_workers_than_keep_up_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored(monkeypatch, by_workers)
    loader = DataLoader(Waiting(), batch_size=8, num_workers=2)
    seen = measure(loader, setting=SETTING, step_ms=10_000)
    assert seen.recommendation == "num_workers=0"
    assert judge(seen, step_ms=10_000).reason.endswith("samples/s, enough for steps of 10,000 ms")
    hurried = measure(loader, setting=SETTING, step_ms=0.01)
    assert hurried.settings is not None
    assert hurried.settings.num_workers >= 2
    assert "too few for steps of 0.01 ms" in judge(hurried, step_ms=0.01).reason


@pytest.mark.slow
def test_what_else_the_loader_was_given_stays() -> None:
    given = DataLoader(Waiting(0.002), batch_size=8, num_workers=1, prefetch_factor=3, in_order=False)
    seen = measure(given, setting=QUICK)
    assert seen.recommendation.endswith("prefetch_factor=3, in_order=False"), seen


class Wrapping(DataLoader[Any]):
    def __init__(self, inner: DataLoader[Any]) -> None:
        super().__init__(inner.dataset)
        self.inner = inner

    def __iter__(self) -> Any:
        yield from self.inner


def test_of_a_loader_that_wraps_another_the_inner_one_is_tuned() -> None:
    seen = measure(Wrapping(DataLoader(Waiting(0.002), batch_size=8, num_workers=1)), setting=QUICK)
    assert (seen.now, next(row.change for row in seen.rows)) == ("num_workers=1", "num_workers=0")
    assert next(each.samples_per_second for each in seen.tried if each.num_workers == 1) > 0


def test_many_tiny_tensors_want_no_workers() -> None:
    loader = DataLoader(Many(0.0), batch_size=4, num_workers=2)
    seen = measure(loader, setting=SETTING)
    assert seen.recommendation == "num_workers=0", seen
    assert seen.gain > (1 if seen.disturbances else 1.5)
    assert [row.now for row in seen.rows].count(True) == 1
    assert (seen.rows[-1].change, seen.rows[-1].vs_previous) == ("as it is: num_workers=2", 0.0)


@pytest.mark.slow
def test_before_workers_are_recommended_for_what_computes_it_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[trial.Alone] = []

    def cold_at_first(*args: Any, **options: Any) -> trial.Alone:
        looks.append(trial.measure_alone(*args, **options))
        times, cpu = looks[-1].batch_seconds, looks[-1].cpu_seconds
        if looks[1:]:
            return looks[-1]
        return dataclasses.replace(looks[-1], batch_seconds=tuple(100 * each for each in times), cpu_seconds=100 * cpu)

    monkeypatch.setattr(search, "measure_alone", cold_at_first)
    seen = measure(DataLoader(Many(0.0), batch_size=4), setting=SETTING)
    assert len(looks) in (2, 3)  # on a busy machine a trial that is faster than its worker asks for one too
    assert seen.recommendation == "num_workers=0"


@pytest.mark.slow
def test_a_trial_of_one_worker_in_a_slow_spell_does_not_settle_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow_spell(loader: Any, settings: LoaderSettings, *args: Any) -> trial.Trial:
        found = trial.measure_trial(loader, settings, *args)
        if settings.num_workers != 1:
            return found
        slower = {"samples_per_second": found.samples_per_second / 1.6, "batch_seconds": found.batch_seconds * 1.6}
        return dataclasses.replace(found, **slower)  # type: ignore[arg-type]

    monkeypatch.setattr(search, "measure_trial", slow_spell)
    seen = measure(DataLoader(Waiting(0.002), batch_size=4), setting=SETTING)
    assert seen.settings is not None
    assert seen.settings.num_workers >= 2


@pytest.mark.slow
def test_between_none_and_the_best_number_of_workers_the_best_of_three_looks_in_turn_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[int] = []

    def with_a_slow_first_look_at_two(loader: Any, settings: LoaderSettings, *args: Any) -> trial.Trial:
        number = settings.num_workers
        looks.append(number)
        found = trial.measure_start(loader, settings, 0.05, *args[1:])
        rate = {1: 700.0, 2: 960.0 if looks.count(2) == 1 else 1_200.0}.get(number, 900.0)
        return rated(found, rate)

    def always_the_same(loader: Any, *args: Any, **options: Any) -> trial.Alone:
        looks.append(0)
        found = trial.measure_alone(loader, 0.05, *args[1:], **options)
        return dataclasses.replace(found, batch_seconds=(4 / 1_000,), waiting_seconds=0.0, cpu_seconds=4 / 1_000)

    monkeypatch.setattr(search, "measure_trial", with_a_slow_first_look_at_two)
    monkeypatch.setattr(search, "measure_alone", always_the_same)
    seen = measure(DataLoader(Waiting(0.002), batch_size=4), setting=Setting(seconds=20.0))
    assert seen.settings is not None
    assert seen.settings.num_workers == 2, seen
    first = list(dict.fromkeys(looks))
    assert looks[len(first) :][:4] == [0, 2, 2, 0]


def test_where_one_number_is_far_ahead_nothing_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = stored(monkeypatch, lambda number: 400.0 * number**2 or 500.0, size=4)
    monkeypatch.setattr(search, "_BURST", 1e9)
    tuner = search.Search(DataLoader(Waiting(0.002), batch_size=4), seconds=20.0)
    tuner.run()
    assert tuner.complete
    assert tried.count(tuner.chosen.num_workers) == 1 + (not tuner.chosen.persistent_workers), tried


LADDERS: dict[str, tuple[dict[int, float], list[int]]] = {
    "none is best": ({0: 500.0}, [1, 2, 4]),
    "none is best, and more are better than few": ({0: 500.0, 1: 200.0, 2: 240.0, 4: 240.0}, [1, 2, 4, 8]),
    "few workers are slower than none": ({0: 500.0, 1: 260.0, 2: 250.0, 4: 1_000.0}, [1, 2, 4, 8, 16]),
    "none is out of reach, even were each to double": ({0: 500.0, 1: 31.0}, [1]),
    "all alike": ({0: 500.0, 1: 490.0, 2: 510.0, 4: 500.0}, [1, 2, 4]),
    "each doubles": ({0: 500.0, 1: 200.0, 2: 400.0, 4: 800.0, 8: 1_600.0, 16: 3_200.0}, [1, 2, 4, 8, 16]),
    "two is best": ({0: 500.0, 1: 500.0, 2: 1_000.0, 4: 1_010.0, 8: 1_000.0}, [1, 2, 4, 8]),
    "a slow one between": ({0: 500.0, 1: 500.0, 2: 1_000.0, 4: 990.0, 8: 2_000.0}, [1, 2, 4, 8, 16]),
}


@pytest.mark.parametrize(("rates", "tried"), LADDERS.values(), ids=LADDERS)
def test_the_ladder_ends_after_two_numbers_of_workers_that_bring_nothing(
    monkeypatch: pytest.MonkeyPatch, rates: dict[int, float], tried: list[int]
) -> None:
    seen = stored(monkeypatch, lambda number: rates.get(number, 150.0), size=4)
    monkeypatch.setattr(search, "_BURST", 1e9)
    tuner = search.Search(DataLoader(Waiting(), batch_size=4), seconds=20.0)
    monkeypatch.setattr(search.Search, "_most_workers", lambda _search: 16)
    tuner.run()
    assert list(dict.fromkeys(seen)) == tried


class WaitingSampler(Sampler[int]):
    def __iter__(self) -> Iterator[int]:
        for index in range(2_000):
            time.sleep(0.0005)
            yield index


def test_what_a_sampler_waits_stays_in_the_main_process_whatever_the_workers() -> None:
    seen = measure(DataLoader(Waiting(0.0), batch_size=16, sampler=WaitingSampler()), setting=SETTING)
    assert seen.sampler_share > 0.7
    assert seen.waiting_share < 0.25
    none, *others = seen.tried
    assert max(each.samples_per_second for each in others) < 1.5 * none.samples_per_second, seen
    assert not [row for row in seen.rows if row.source == "at most"]
    said = "; ".join(advice.text for advice in judge(seen).advice)
    assert "use a faster sampler" in said
    assert "__getitems__" not in said


def test_a_dataset_with_getitems_is_shown_what_that_brings(monkeypatch: pytest.MonkeyPatch) -> None:
    stored(monkeypatch, lambda _number: 1_000.0, size=16)  # fewer than it gives without any
    monkeypatch.setattr(search, "measure_alone", trial.measure_alone)
    seen = measure(DataLoader(AtOnce(), batch_size=16), setting=SETTING)
    assert [row.change for row in seen.rows][:2] == ["num_workers=0, sample by sample", "+ the dataset's __getitems__"]
    assert seen.rows[1].vs_previous > 4
    assert not [row for row in seen.rows if row.source == "at most"]


@pytest.mark.slow
def test_a_stream_that_workers_would_repeat_gets_one_at_most() -> None:
    repeats = measure(DataLoader(Stream(False), batch_size=8), setting=QUICK)
    assert any(note.startswith("DL405: each worker gives the same samples") for note in repeats.notes)
    assert max(each.num_workers for each in repeats.tried) == 1
    assert "DL405" in [advice.code for advice in judge(repeats).advice]
    shared = measure(DataLoader(Stream(True), batch_size=8), setting=QUICK)
    assert max(each.num_workers for each in shared.tried) >= 2


def test_a_subclass_that_takes_no_settings_is_said_and_not_guessed() -> None:
    seen = measure(Stubborn(Waiting(0.001), batch_size=8), setting=QUICK)
    assert seen.recommendation == ""
    verdict = judge(seen)
    assert verdict.outcome == "not_measured"
    assert "Stubborn ran 0 workers where 1 were asked for" in verdict.reason


def test_a_loader_that_cannot_be_passed_to_workers_keeps_none() -> None:
    loader = DataLoader(Waiting(0.001), batch_size=8, collate_fn=lambda samples: samples, num_workers=0)
    vars(loader)["_DataLoader__multiprocessing_context"] = torch.multiprocessing.get_context("spawn")
    seen = measure(loader, setting=QUICK)
    assert judge(seen).outcome == "not_measured"
    assert "workers cannot be had" in seen.notes[0]
    assert seen.rows[0].change == "num_workers=0"


class Wide(Waiting):
    def __getitem__(self, index: int) -> Any:
        super().__getitem__(index)
        return torch.zeros(1_000, dtype=torch.float64)


def test_batch_sizes_are_measured_beside_the_own_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def as_on_a_quiet_machine(*args: Any) -> trial.Trial:
        return rated(trial.measure_start(*args), 750.0)

    stored(monkeypatch, by_workers)
    monkeypatch.setattr(batch_sizes, "measure_start", as_on_a_quiet_machine)
    dataset = Wide(0.001)
    given = BatchSampler(SequentialSampler(dataset), 8, drop_last=False)
    loader = DataLoader(dataset, batch_sampler=given, num_workers=2)
    known: list[Tuning] = []
    seen = measure(loader, setting=dataclasses.replace(SETTING, known=known.append))
    assert [(row.batch_size, row.now) for row in seen.batch_sizes] == [(4, False), (8, True), (16, False), (32, False)]
    assert [row.batch_bytes for row in seen.batch_sizes] == [8_000 * row.batch_size for row in seen.batch_sizes]
    assert seen.settings is not None
    for row in seen.batch_sizes:
        assert row.samples_per_second == 750.0
        assert row.seconds_to_first_batch >= 0.001 * row.batch_size
        assert row.total_bytes > seen.settings.num_workers * 2 * row.batch_bytes
    assert [len(each.batch_sizes) for each in known[-4:]] == [1, 2, 3, 4]
    assert given.batch_size == 8
    assert len(next(iter(loader))) == 8


def test_the_rate_of_a_batch_size_of_which_too_few_batches_came_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def what_was_in_store(loader: Any, settings: LoaderSettings, *_: Any) -> trial.TrialStart:
        start = started(settings, loader.batch_size)
        return start if loader.batch_size == 32 else rated(start, 75_000.0, vague=loader.batch_size == 16)

    stored(monkeypatch, by_workers)
    monkeypatch.setattr(batch_sizes, "measure_start", what_was_in_store)
    seen = measure(DataLoader(Waiting(0.001), batch_size=8), setting=QUICK)
    assert [row.samples_per_second for row in seen.batch_sizes] == [75_000.0, 75_000.0, None, None]
    assert [row[1] for row in size_cells([dataclasses.asdict(row) for row in seen.batch_sizes])[3:]] == ["unclear"] * 2


def test_more_than_all_workers_can_make_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_a_store(_loader: Any, settings: LoaderSettings, *_: Any) -> trial.Trial:
        start = started(settings, 4)
        return rated(start, 400.0) if settings.num_workers == 1 else rated(start, 75_000.0, "others took the CPUs")

    stored(monkeypatch, lambda _number: 400.0, size=4)
    monkeypatch.setattr(search, "measure_trial", with_a_store)
    seen = measure(DataLoader(Waiting(0.002), batch_size=4), setting=SETTING)
    assert all(row.samples_per_second < 20_000 for row in seen.rows)
    assert all(each.samples_per_second < 20_000 for each in seen.tried)
    assert [note for note in seen.notes if "more came than its workers can make" in note], seen.notes


def test_batch_sizes_that_leave_few_batches_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    stored(monkeypatch, by_workers, size=20, batches=5)
    seen = measure(DataLoader(Waiting(0.001, length=100), batch_size=20, drop_last=True), setting=QUICK)
    assert [row.batch_size for row in seen.batch_sizes] == [10, 20]


@pytest.mark.parametrize(
    ("room", "free", "settings", "sizes"),
    [
        ("available_bytes", 10**9, LoaderSettings(), [500, 1_000, 2_000, 4_000]),
        ("available_bytes", 40_000_000, LoaderSettings(), [500, 1_000, 2_000]),
        ("available_bytes", 10_000_000, LoaderSettings(), [500, 1_000]),
        ("shared_memory_bytes", 10**9, LoaderSettings(2), [500, 1_000, 2_000, 4_000]),
        ("shared_memory_bytes", 200_000_000, LoaderSettings(2), [500, 1_000, 2_000]),
    ],
)
def test_batch_sizes_that_fill_the_memory_are_left_out(
    monkeypatch: pytest.MonkeyPatch, room: str, free: int, settings: LoaderSettings, sizes: list[int]
) -> None:
    for name, roomy in (("available_bytes", 10**12), ("shared_memory_bytes", None)):
        monkeypatch.setattr(capacity, name, lambda bytes_=free if name == room else roomy: bytes_)

    def with_numbers_of_a_kilobyte(loader: Any, settings: LoaderSettings, *_: Any) -> trial.TrialStart:
        return trial.TrialStart(settings, 16, first_seconds=0.1, worker_bytes=0, batch_bytes=8_000 * loader.batch_size)

    monkeypatch.setattr(batch_sizes, "measure_start", with_numbers_of_a_kilobyte)
    samples = 16_000
    rows = batch_sizes.compare_batch_sizes(
        DataLoader(Wide(0.0, samples), batch_size=1_000), settings,
        seconds=0.1, samples=samples, came=lambda _what: None,
    )  # fmt: skip
    assert [row.batch_size for row in rows] == sizes


def at_most_eight(samples: list[Any]) -> Any:
    if len(samples) > 8:
        raise ValueError("no more than 8 fit")
    return torch.stack(samples)


def test_a_batch_size_that_the_loader_cannot_have_takes_nothing_from_the_tuning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored(monkeypatch, by_workers)
    monkeypatch.setattr(batch_sizes, "measure_start", trial.measure_start)
    seen = measure(DataLoader(Waiting(0.002), batch_size=8, collate_fn=at_most_eight), setting=QUICK)
    assert [row.batch_size for row in seen.batch_sizes] == [4, 8]
    assert seen.recommendation.startswith("num_workers=")
    verdict = judge(seen)
    assert verdict.outcome == "passed"
    assert any(
        "not all batch sizes can be had: ValueError: no more than 8 fit" in each.text for each in verdict.advice
    ), verdict.advice


class Clusters(BatchSampler):
    """Batches that belong together."""


@pytest.mark.parametrize(
    ("loader", "why"),
    [
        (DataLoader(Waiting(0.001), batch_size=None), "the loader does not make its batches from samples"),
        (
            DataLoader(Waiting(0.001), batch_sampler=Clusters(range(200), 4, drop_last=False)),
            "Clusters chooses what is in a batch",
        ),
        (Wrapping(DataLoader(Waiting(0.001), batch_size=8)), "Wrapping iterates in a way of its own"),
    ],
)
def test_a_loader_that_cannot_have_another_batch_size_says_why(
    monkeypatch: pytest.MonkeyPatch, loader: DataLoader[Any], why: str
) -> None:
    stored(monkeypatch, by_workers)
    seen = measure(loader, setting=QUICK)
    assert (seen.batch_sizes, seen.batch_size_unclear) == ((), why)


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning")
@pytest.mark.parametrize("stateful", [False, True])
def test_batch_sizes_of_streams_and_of_loaders_with_a_state_are_measured(stateful: bool) -> None:
    from torchdata.stateful_dataloader import StatefulDataLoader  # type: ignore[import-untyped]  # it has no py.typed

    loader: Any = StatefulDataLoader(Waiting(0.001), batch_size=4) if stateful else DataLoader(Stream(True), 4)
    assert batch_sizes.hindrance(loader) == ""
    rows = list(
        batch_sizes.compare_batch_sizes(loader, LoaderSettings(2), seconds=0.3, samples=None, came=lambda _what: None)
    )
    assert [row.batch_size for row in rows] == [2, 4, 8, 16]
    assert [row.batch_bytes for row in rows] == [8 * row.batch_size for row in rows]


def test_an_empty_loader_is_not_measured() -> None:
    verdict = judge(measure(DataLoader(Waiting(length=0), batch_size=4), setting=QUICK))
    assert (verdict.outcome, verdict.reason) == ("not_measured", "the loader gave no batch: its epoch is empty")


class SlowInWorkers(Waiting):
    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(index) if get_worker_info() else torch.tensor(index)


def test_settings_of_which_too_few_batches_came_for_a_rate_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "LEAST_SECONDS", 0.06)
    known: list[Tuning] = []
    loader = DataLoader(SlowInWorkers(0.5, length=2))  # no trial waits for more than 6 times LEAST_SECONDS
    seen = measure(loader, setting=dataclasses.replace(QUICK, known=known.append))
    assert judge(seen) == Verdict(
        "not_measured",
        "nothing to recommend: with num_workers=1, persistent_workers=True 2 batches came, too few for a rate: "
        "it takes more seconds",
    )
    assert [(row.change, row.source) for row in seen.rows] == [("num_workers=0", "measured")]
    assert known
    assert (seen.complete, seen.batch_sizes) == (False, ())


def test_a_look_without_a_rate_is_said_where_no_earlier_one_gave_any(monkeypatch: pytest.MonkeyPatch) -> None:
    def rateless(_loader: Any, settings: LoaderSettings, *_: Any) -> trial.Trial:
        raise NotMeasured(f"too few batches came with {settings.text}")

    monkeypatch.setattr(search, "measure_trial", rateless)
    start = trial.TrialStart(LoaderSettings(2), batches=2, first_seconds=1.0, worker_bytes=0, batch_bytes=0)
    tuner = search.Search(DataLoader(Waiting()), trials={start.settings: rated(start, 400.0)})
    for settings in (LoaderSettings(2), LoaderSettings(4)):
        tuner._look(settings, 0.1)
    assert list(tuner.trials) == [LoaderSettings(2)]
    assert tuner.notes == ["too few batches came with num_workers=4"]


def test_batches_without_samples_have_no_rate() -> None:
    loader = DataLoader(Waiting(0.0), batch_sampler=[[], []], collate_fn=list)
    with pytest.raises(NothingSeen, match="no batch of the loader holds a sample"):
        measure(loader, setting=QUICK)


PASTE = "DataLoader(..., num_workers=4, persistent_workers=True): 1,234 samples/s, 3.7 times num_workers=0"
BASE = Tuning(
    recommendation="num_workers=4, persistent_workers=True", settings=LoaderSettings(4, persistent_workers=True),
    now="num_workers=0", samples_per_second=1234.5, gain=3.7, rows=(LadderRow("num_workers=0", 333.0, "measured"),),
    complete=True,
)  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (BASE, PASTE),
        (dataclasses.replace(BASE, complete=False), f"{PASTE}\ninterrupted: not all settings were tried"),
        (
            dataclasses.replace(BASE, disturbances=("CPU contention: 20 %",)),
            f"{PASTE}\nrepeat this on a quiet machine: CPU contention: 20 %",
        ),
        (
            dataclasses.replace(BASE, gain=1.02, now="num_workers=12"),
            "DataLoader(..., num_workers=4, persistent_workers=True): 1,234 samples/s, as many as num_workers=12 gives",
        ),
        (
            dataclasses.replace(BASE, now=BASE.recommendation),
            f"keep {BASE.recommendation}: 1,234 samples/s, nothing is clearly faster",
        ),
        (Tuning(), "nothing to recommend: it was interrupted before workers were tried"),
    ],
)  # fmt: skip
def test_the_recommendation_is_one_sentence(seen: Tuning, reason: str) -> None:
    assert judge(seen).reason == reason
