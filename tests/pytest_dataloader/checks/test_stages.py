"""The stages check: its judgement over made-up evidence, and loaders whose costs are known."""

from __future__ import annotations

import itertools
import multiprocessing
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, TensorDataset, get_worker_info

from pytest_dataloader import checks
from pytest_dataloader.checks import Setting
from pytest_dataloader.checks.stages import contradiction, judge, measure
from pytest_dataloader.errors import BadLimit, NotMeasured
from pytest_dataloader.probe.host.interference import QUIET
from pytest_dataloader.probe.loader.batch_storages import eight_bit_fields
from pytest_dataloader.probe.timing.bottleneck import describe_follow_up
from pytest_dataloader.probe.timing.evidence import STAGES, Stages, TriedChange
from pytest_dataloader.probe.timing.sample_times import SampleTimes, SlowSample
from pytest_dataloader.probe.timing.stall import Stall
from pytest_dataloader.probe.tuning import changes
from pytest_dataloader.probe.tuning.changes import COMBINED, FASTER, as_uint8, combined, try_changes
from tests import wording
from tests.variants import every

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.xdist_group("time")

QUICK = Setting(seconds=0.8, bench=True, quick=True)
TRYING = Setting(seconds=0.8, bench=True)

SEEN = Stages(
    bottleneck="read", why="bottleneck: I/O wait", ms_per_sample={**dict.fromkeys(STAGES, 0.1), "read": 2.0},
    limit_ms_per_sample=1.0, samples_per_batch=8, batches=600, stamped_batches=100, epochs=1, workers=2, cpus=2,
    measured_seconds=5,
)  # fmt: skip
WAITING = Stall(
    step_ms=8.0, share=0.2, interval=(0.18, 0.22), best=0.18, wall_share=0.2, waiting_steps=0.9, steps=500, windows=12,
    keeps_up_at_ms=9.5, tolerated=0.05,
)  # fmt: skip
STALLED = replace(SEEN, simulated=WAITING)
SMOOTH = replace(SEEN, simulated=replace(WAITING, share=0.01, interval=(0.0, 0.02), best=0.0))
NARROW = replace(SEEN, simulated=replace(WAITING, share=0.12, interval=(0.1, 0.14), best=0.1))
HOPELESS = replace(SEEN, simulated=replace(WAITING, share=0.97, interval=(0.96, 0.98), best=0.95))
LIMIT = {"step_ms": 8.0, "max_stall": 0.05}
BUSY = replace(QUIET, lost_share=0.4)


@pytest.mark.parametrize(
    ("seen", "limits", "outcome", "words"),
    [
        (SEEN, {}, "passed", "bottleneck: I/O wait"),
        (STALLED, {"step_ms": 8.0}, "passed", "data wait: 20.0 % of a 8 ms step (95 % CI 18.0 to 22.0)"),
        (STALLED, {"step_ms": 8.0}, "passed", "at most 5 % from a step of 9.5 ms"),
        (SMOOTH, LIMIT, "passed", "limit 5 %"),
        (NARROW, LIMIT, "inconclusive", "too close to call: it fails once it certainly misses by 15 %"),
        (replace(NARROW, workers=0), LIMIT, "inconclusive", "fails once it certainly misses by 10 %"),
        (HOPELESS, LIMIT, "failed", "the machine was quiet"),
        (replace(STALLED, simulated=replace(WAITING, share=0.4, interval=(0.38, 0.42), best=0.36)), LIMIT, "failed",
         "data wait: 40.0 % of a"),
        (replace(STALLED, simulated=replace(WAITING, share=0.4, interval=(0.38, 0.42), best=0.04)), LIMIT,
         "inconclusive", "too close"),
        (replace(STALLED, simulated=replace(WAITING, share=0.4, interval=(0.38, 0.42), best=0.36), quietness=BUSY),
         LIMIT, "inconclusive", "too busy to say: CPU contention: 40 %"),
        (replace(HOPELESS, quietness=BUSY), LIMIT, "failed", "10 times better would still miss"),
        (replace(SMOOTH, quietness=BUSY), LIMIT, "passed", "limit 5 %"),
        (Stages(), {}, "not_measured", "its epoch is empty"),
        (Stages(), LIMIT, "failed", "its epoch is empty"),
        (Stages(batches=5), {}, "not_measured", "no clock saw a batch of it"),
        (Stages(hung_seconds=60), {}, "failed", "hangs from the start: no batch for 60 s"),
        (replace(SEEN, hung_seconds=60), LIMIT, "failed", "hangs after 600 batches"),
    ],
)  # fmt: skip
def test_the_judgement_is_one_sided_and_never_fails_on_a_busy_machine(
    seen: Stages, limits: dict[str, Any], outcome: str, words: str
) -> None:
    verdict = judge(seen, **limits)
    assert (verdict.outcome, words in verdict.reason) == (outcome, True), verdict.reason
    assert [*wording.faults(verdict)] == []


def stages_of(bottleneck: str, **changes: Any) -> Stages:
    passing: dict[str, float] = {**dict.fromkeys(STAGES, 0.0), bottleneck: 0.8}
    given = {"ms_per_sample": dict.fromkeys(STAGES, 1.0), "pace_ms_per_sample": passing, **changes}
    return replace(SEEN, bottleneck=bottleneck, **given)


WAITS: dict[str, Any] = {"helpful_workers": 8, "waiting_share_of_worker": 0.9}
DEAR: dict[str, Any] = {
    "samples_per_second": 1000.0, "alone_samples_per_second": 9000.0,
    "ms_per_sample": {**dict.fromkeys(STAGES, 0.01), "send": 0.4, "receive": 0.5},
}  # fmt: skip
ONE_SLOW = SampleTimes(800, 1.0, 1.2, (SlowSample("100", 600.0),), 1)


@pytest.mark.parametrize(
    ("seen", "codes", "words"),
    [
        (stages_of("read", workers=0), [], ""),
        (
            stages_of("read", workers=0, tried=(TriedChange("num_workers=2", 1.8, 912.0),)),
            ["DL207"],
            "num_workers=2 gave 912 samples/s, 1.8 times as many",
        ),
        (
            stages_of("read", workers=0, tried=(TriedChange("num_workers=2", 1.1, 912.0),)),
            ["DL207"],
            "1.1 times as many",
        ),
        (stages_of("read", workers=0, tried=(TriedChange("num_workers=2", 1.09, 912.0),)), [], ""),
        (
            stages_of("read", **WAITS, tried=(TriedChange("num_workers=8", 3.9, 912.0),)),
            [""],
            "3.9 times as many: 90 % of a worker's time is I/O wait",
        ),
        (
            stages_of("fetch", workers=1, helpful_workers=2, tried=(TriedChange("num_workers=2", 1.9, 912.0),)),
            [""],
            "1.9 times as many",
        ),
        (
            stages_of("read", straggler_factor=3.0, tried=(TriedChange("in_order=False", 1.4, 9.0),)),
            ["", ""],
            "in_order=False gave 9 samples/s, 1.4 times as many; use shards and files of one size",
        ),
        (stages_of("read", sample_times=ONE_SLOW, **WAITS), [""], "look at sample 100: 600 ms, 600 times the median"),
        (stages_of("fetch", workers=8), ["DL206"], "reduce the CPU cost of __getitem__"),
        (stages_of("collate"), [""], "reduce the CPU cost of collate_fn, or the bytes of a sample"),
        (stages_of("receive", **DEAR), [], ""),
        (
            stages_of("receive", **DEAR, tried=(TriedChange("num_workers=0", 8.5, 8_500.0),)),
            [""],
            "num_workers=0 gave 8,500 samples/s, 8.5 times as many",
        ),
        (stages_of("receive", sampler_ms_per_sample=0.9), [""], "use a faster sampler"),
        (stages_of("receive", sampler_ms_per_sample=0.9, **DEAR), [], ""),
        (
            stages_of("send", tried=(TriedChange("batch_size=32", 1.2, 9.0), TriedChange(COMBINED, 2.0, 9.0))),
            ["", ""],
            "one tensor for each dtype gave 9 samples/s, 2.0 times as many; batch_size=32 gave",
        ),
        (stages_of("pin", workers=0), ["DL210"], "pin_memory=False"),
        (stages_of("startup"), ["DL204"], "persistent_workers=True"),
        (stages_of("startup", persistent_workers=True), [], ""),
        (stages_of("consumer"), [], ""),
    ],
)
def test_advice_follows_the_bottleneck(seen: Stages, codes: list[str], words: str) -> None:
    verdict = judge(seen)
    assert [advice.code for advice in verdict.advice] == codes
    assert words in "; ".join(advice.text for advice in verdict.advice)


class OneSlow(Dataset[Any]):
    """Sample 100 takes 300 ms, the others 1 ms."""

    def __len__(self) -> int:
        return 2000

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.3 if index == 100 else 0.001)
        return index


@pytest.mark.parametrize("shuffle", every([False, True], step=2))
def test_one_slow_sample_is_named(shuffle: bool) -> None:
    seen = measure(DataLoader(OneSlow(), 16, shuffle, num_workers=2), setting=replace(QUICK, seconds=4.0))
    assert seen.sample_times is not None
    assert [one.index for one in seen.sample_times.slowest] == ["100"]
    slow_ms = seen.sample_times.slowest[0].ms
    assert slow_ms > 0.9 * 300  # others that have the CPU between two clocks take a little from a sleep
    assert 1 <= seen.sample_times.median_ms < 5
    assert f"sample 100 takes {slow_ms:.0f} ms" in seen.why
    assert judge(seen).advice[0].text.startswith("look at sample 100: ")


def test_no_sample_is_slow_where_all_are_alike() -> None:
    seen = measure(DataLoader(Waiting(), 8, num_workers=2), setting=QUICK)
    assert seen.sample_times is not None
    assert (seen.sample_times.slowest, seen.sample_times.slow) == ((), 0)
    assert seen.sample_times.samples >= 8


def test_workers_that_cost_more_than_they_bring_are_told_so() -> None:
    rows = TensorDataset(torch.zeros(20_000), torch.zeros(20_000))
    seen = measure(DataLoader(rows, batch_size=32, shuffle=True, num_workers=2), setting=replace(TRYING, seconds=2.0))
    assert seen.alone_samples_per_second > 1.25 * seen.samples_per_second > 0
    assert "num_workers=0 is faster" in seen.why
    first, *others = (advice.text for advice in judge(seen).advice)
    assert first.startswith("num_workers=0 gave ")
    restarting = "DataLoader(..., persistent_workers=True): restarting"
    assert all(text.startswith(restarting) for text in others), others  # on a busy machine
    bringing = measure(DataLoader(Waiting(), batch_size=8, num_workers=2), setting=QUICK)
    assert bringing.alone_samples_per_second == 0
    assert "cost more" not in bringing.why


def test_tensors_of_a_batch_are_counted() -> None:
    loaders = [
        DataLoader(TensorDataset(torch.zeros(20_000, 64)), batch_size=32, num_workers=2),
        DataLoader(Rows(), batch_size=32, num_workers=2),
    ]
    for loader in loaders:
        seen = measure(loader, setting=replace(TRYING, seconds=2.0))
        assert (seen.tensors_per_batch, seen.tensor_bytes_per_batch) == (1, 32 * 64 * 4)
        said = "; ".join(advice.text for advice in judge(seen).advice)
        assert "num_workers=0 gave" in said
        assert "tensor" not in said


class ComputingSampler(Sampler[int]):
    """Computes 0.3 ms for each index."""

    def __iter__(self) -> Iterator[int]:
        for index in range(20_000):
            compute(0.3)
            yield index


def test_a_sampler_that_most_of_receiving_goes_into_is_what_to_mend() -> None:
    loader = DataLoader(TensorDataset(torch.zeros(20_000, 64)), 32, sampler=ComputingSampler(), num_workers=2)
    seen = measure(loader, setting=QUICK)
    assert seen.bottleneck == "receive"
    first, *others = (advice.text for advice in judge(seen).advice)
    assert first.startswith("use a faster sampler")
    assert all(
        text.startswith("DataLoader(..., persistent_workers=True): restarting") for text in others
    )  # on a busy machine


class WaitingSampler(Sampler[int]):
    """Waits 0.5 ms for each index, as for a service."""

    def __iter__(self) -> Iterator[int]:
        for index in range(20_000):
            time.sleep(0.0005)
            yield index


def test_without_workers_a_sampler_that_waits_waits_as_long() -> None:
    loader = DataLoader(TensorDataset(torch.zeros(20_000, 64)), 32, sampler=WaitingSampler(), num_workers=2)
    seen = measure(loader, setting=replace(QUICK, seconds=2.0))
    assert seen.bottleneck == "receive"
    assert seen.sampler_waiting_ms_per_sample > 0.9 * 0.5
    assert seen.alone_samples_per_second < 1.25 * 1e3 / seen.sampler_ms_per_sample
    assert "cost more" not in seen.why


@pytest.mark.parametrize("name", ["read", "collate"])
def test_more_workers_help_where_workers_wait(name: str) -> None:
    make, _, _ = TRUTHS[name]
    seen = measure(make(), setting=TRYING)
    assert seen.helpful_workers > seen.workers
    assert seen.waiting_share_of_worker > 0.7
    [tried] = seen.tried
    assert tried.change == "num_workers=8"
    assert tried.gain > 1.5  # 4 times on a quiet machine
    assert "times as many: " in judge(seen).advice[0].text


class Fields(Dataset[Any]):
    """Forty numbers for each sample, each a tensor of its own."""

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.001)
        return {f"field{number}": torch.zeros(1) for number in range(40)}


def test_one_tensor_for_all_fields_is_tried_as_it_would_be() -> None:
    loader = DataLoader(Fields(), batch_size=8)
    whole, parted = next(iter(combined(loader))), next(iter(loader))
    assert {kind: tensor.numel() for kind, tensor in whole.items()} == {"torch.float32": 8 * len(parted)}
    assert loader.collate_fn is not combined(loader).collate_fn


class Pictures(Dataset[Any]):
    """8-bit images, as float32 in 0 to 1 or as they are."""

    def __init__(self, *, wide: bool) -> None:
        self.wide = wide
        self.images = torch.randint(0, 256, (8, 3, 256, 256), dtype=torch.uint8)

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Any:
        image = self.images[index % 8]
        return (image / 255 if self.wide else image), index


def test_images_that_are_handed_over_as_floats_are_tried_as_uint8() -> None:
    loader = DataLoader(Pictures(wide=True), batch_size=16, num_workers=2)
    batch = next(iter(loader))
    seen = stages_of("collate", workers=2, samples_per_batch=16, eight_bit_fields=eight_bit_fields(batch))
    assert "[0] is float32 with at most 256 values: 12.6 MB per batch, 3.1 MB as uint8" in describe_follow_up(seen)
    tried: list[TriedChange] = []
    while len(tried) < 3 and all(each.gain <= 1.0 for each in tried):  # others may take the CPUs of one trial
        tried += try_changes(loader, seen, seconds=3.0, came=lambda _what: None)  # a rate takes so many batches
    assert {each.change for each in tried} == {"[0] as uint8, converted on the device,"}
    assert tried[-1].gain > 1.0  # 1.3 to 1.6 on a quiet machine
    narrow = next(iter(as_uint8(loader, seen)))
    assert (narrow[0].dtype, narrow[1].tolist()) == (torch.uint8, batch[1].tolist())
    for other in (
        replace(seen, bottleneck="fetch"),
        replace(seen, workers=0),
        replace(seen, eight_bit_fields=eight_bit_fields([batch[0][:1]])),
    ):
        assert "uint8" not in describe_follow_up(other)
        assert all("uint8" not in text for text, _, _ in changes._changes(loader, other))


def test_a_run_sees_which_fields_uint8_would_hold() -> None:
    fields = measure(DataLoader(Pictures(wide=True), batch_size=4, num_workers=1), setting=QUICK).eight_bit_fields
    assert [(field.path, field.bytes // field.uint8_bytes) for field in fields] == [("[0]", 4)]
    assert not measure(DataLoader(Pictures(wide=False), batch_size=4, num_workers=1), setting=QUICK).eight_bit_fields


def test_a_change_that_a_loader_does_not_take_is_not_advised() -> None:
    class Own(DataLoader[Any]):
        """Has no workers, whatever it is given."""

        def __iter__(self) -> Any:
            self.__dict__["num_workers"] = 0
            return super().__iter__()

    seen = stages_of("read", workers=0, samples_per_batch=8)
    loader = Own(Waiting(), batch_size=8)
    assert try_changes(loader, seen, seconds=0.5, came=lambda _what: None) == ()
    [tried] = try_changes(DataLoader(Waiting(), batch_size=8), seen, seconds=0.5, came=lambda _what: None)
    assert (tried.change.startswith("num_workers="), tried.gain > FASTER) == (True, True)


class Warming(Dataset[Any]):
    """Waits less and less, as for a disk whose files come to be cached."""

    def __init__(self) -> None:
        self.began = time.monotonic()

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.02 * 0.25 ** (time.monotonic() - self.began))
        return torch.zeros(1)


def test_what_becomes_faster_by_itself_is_no_gain_of_a_change() -> None:
    seen = stages_of("read", workers=2, helpful_workers=2, straggler_factor=3.0)
    loader = DataLoader(Warming(), batch_size=2, num_workers=2)
    [tried] = try_changes(loader, seen, seconds=1.0, came=lambda _what: None)
    assert (tried.change, tried.gain < FASTER) == ("in_order=False", True)


def test_the_limits_are_those_that_users_write() -> None:
    assert set(checks.limits_of("stages")) == {"step_ms", "step", "max_stall"}


def test_a_limit_on_waiting_needs_a_step() -> None:
    with pytest.raises(BadLimit, match="max_stall needs step_ms"):
        checks.read_limits("stages", {"max_stall": 0.05})
    assert checks.read_limits("stages", {"max_stall": 0.05, "step_ms": 1}) == {"max_stall": 0.05, "step_ms": 1.0}


def test_without_a_step_there_is_no_stall_to_ask_for() -> None:
    assert STALLED.stall == 0.2
    with pytest.raises(NotMeasured, match="give step_ms"):
        _ = SEEN.stall


class Free(Dataset[Any]):
    """Costs next to nothing."""

    def __init__(self, length: int = 100_000) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return index


class Waiting(Free):
    """Waits 2 ms for each sample."""

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.002)
        return index


class Computing(Free):
    """Takes 2 ms of CPU time for each sample."""

    def __getitem__(self, index: int) -> Any:
        compute(2)
        return index


class Uneven(Free):
    """Waits 2 ms, in worker 1 four times as long."""

    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        time.sleep(0.008 if info is not None and info.id == 1 else 0.002)
        return index


class Stream(IterableDataset[Any]):
    """Endless."""

    def __iter__(self) -> Iterator[Any]:
        return map(Waiting().__getitem__, itertools.count())


class Rows(IterableDataset[Any]):
    """Endless rows of 64 numbers, which cost next to nothing."""

    def __iter__(self) -> Iterator[Any]:
        return itertools.repeat(torch.zeros(64))


class Whole(Waiting):
    """Gets the indices of a batch at once, and waits once."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        time.sleep(0.016)
        return indices


class SlowToPickle:
    def __init__(self, samples: list[Any]) -> None:
        self.samples = samples

    def __reduce__(self) -> tuple[Any, ...]:
        compute(30)
        return SlowToPickle, (self.samples,)


class SlowToUnpickle(SlowToPickle):
    def __reduce__(self) -> tuple[Any, ...]:
        return unpickle_slowly, (self.samples,)


def unpickle_slowly(samples: list[Any]) -> SlowToUnpickle:
    compute(30)
    return SlowToUnpickle(samples)


def compute(ms: float) -> None:
    end = time.thread_time_ns() + int(ms * 1e6)
    while time.thread_time_ns() < end:
        pass


def waiting_collate(samples: list[Any]) -> Any:
    time.sleep(0.05)
    return samples


def wait_at_start(_worker: int) -> None:
    time.sleep(1.0)


@pytest.fixture(autouse=True)
def no_worker_is_left() -> Iterator[None]:
    before = set(multiprocessing.active_children())
    yield
    assert not set(multiprocessing.active_children()) - before


TRUTHS: dict[str, tuple[Any, str, float]] = {
    "read": (lambda: DataLoader(Waiting(), batch_size=8, num_workers=2), "read", 2.0),
    "read here": (lambda: DataLoader(Waiting(), batch_size=8), "read", 2.0),
    "iterable": (lambda: DataLoader(Stream(), batch_size=8, num_workers=2), "read", 2.0),
    "single samples": (lambda: DataLoader(Waiting(), batch_size=None), "read", 2.0),
    "whole batches": (lambda: DataLoader(Whole(), batch_size=8, num_workers=1), "read", 2.0),
    "computing": (lambda: DataLoader(Computing(), batch_size=32, num_workers=1), "fetch", 2.0),
    "computing here": (lambda: DataLoader(Computing(), batch_size=8), "fetch", 2.0),
    "collate": (lambda: DataLoader(Free(), batch_size=10, num_workers=2, collate_fn=waiting_collate), "collate", 5.0),
    "send": (lambda: DataLoader(Free(), batch_size=10, num_workers=1, collate_fn=SlowToPickle), "send", 3.0),
    "receive": (lambda: DataLoader(Free(), batch_size=10, num_workers=1, collate_fn=SlowToUnpickle), "receive", 3.0),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_a_known_cost_is_seen_where_it_is(name: str) -> None:
    """Sleeps and CPU time hold on a busy machine: what others take of the CPU is in no stage."""
    make, stage, ms = TRUTHS[name]
    seen = measure(make(), setting=QUICK)
    assert seen.bottleneck == stage, seen
    assert 0.9 * ms < seen.ms_per_sample[stage] < 1.3 * ms
    assert seen.bottleneck == stage
    passing = seen.pace_ms_per_sample
    assert max(passing, key=lambda each: passing[each]) == stage, "the longest bar is the stage that is named"
    assert sum(passing.values()) == pytest.approx(seen.limit_ms_per_sample)
    assert judge(seen).outcome == "passed"


def test_a_worker_that_holds_the_others_up_is_named() -> None:
    seen = measure(DataLoader(Uneven(), batch_size=4, num_workers=2), setting=QUICK)
    assert seen.bottleneck == "read"
    assert seen.slowest_worker == 1
    assert seen.straggler_factor > 2
    assert "worker 1 takes" in seen.why
    assert {one.worker for one in seen.per_worker} == {0, 1}
    assert seen.out_of_order_share > 0.1
    overtaking = measure(DataLoader(Uneven(), batch_size=4, num_workers=2, in_order=False), setting=QUICK)
    assert overtaking.straggler_factor == 1.0


class SlowNowAndThen(Dataset[Any]):
    """One sample of 64 takes 100 ms, the others none."""

    def __len__(self) -> int:
        return 64_000

    def __getitem__(self, index: int) -> int:
        time.sleep(0.1 if index % 64 == 63 else 0)
        return index


def test_what_timed_batches_leave_open_is_told_where_they_differ() -> None:
    differing = measure(DataLoader(SlowNowAndThen(), batch_size=8, num_workers=2), setting=QUICK)
    assert "as batches differ)" in differing.why
    alike = measure(DataLoader(Waiting(), batch_size=8, num_workers=2), setting=QUICK)
    assert 0 < alike.limit_error < 0.2
    assert "at 95 %" not in alike.why


@pytest.mark.parametrize("persistent", every([False, True], step=2))
def test_the_start_of_epochs_counts_where_each_one_pays_it(persistent: bool) -> None:
    loader = DataLoader(
        Free(30), batch_size=8, num_workers=1, worker_init_fn=wait_at_start, persistent_workers=persistent
    )
    seen = measure(loader, setting=replace(QUICK, seconds=2.5))
    assert seen.worker_startup_seconds > 0.9
    assert seen.batches_per_epoch == 4
    if persistent:
        assert seen.startup_seconds < 0.9
    else:
        assert seen.bottleneck == "startup"
        assert "to start an epoch of 4 batches" in seen.why
        assert seen.startup_seconds > 0.9
        assert seen.epoch_boundary_seconds > 0.9
        assert "DL204" in [advice.code for advice in judge(seen).advice]


def test_a_slow_step_waits_for_nothing_and_a_fast_one_does() -> None:
    loader = DataLoader(Waiting(), batch_size=8, num_workers=2)
    slow = measure(loader, setting=replace(QUICK, seconds=2), step_ms=60)
    assert slow.bottleneck == "consumer"
    assert slow.ms_per_sample["consumer"] == pytest.approx(7.5)
    fast = measure(loader, setting=replace(QUICK, seconds=2), step_ms=1)
    assert fast.bottleneck == "read"
    assert slow.stall < fast.stall
    assert fast.stall > 0.4
    assert judge(fast, step_ms=1, max_stall=0.02).outcome in ("failed", "inconclusive")
    assert fast.simulated is not None
    assert fast.simulated.keeps_up_at_ms > 6


def test_without_workers_every_step_waits() -> None:
    runs = [measure(DataLoader(Waiting(), batch_size=4), setting=QUICK, step_ms=8) for _ in range(3)]
    assert 0.4 < min(seen.stall for seen in runs) < 0.7
    # What others do on the machine only adds to the time of a batch.
    keeps_up_at_ms = [seen.simulated.keeps_up_at_ms for seen in runs if seen.simulated is not None]
    assert min(keeps_up_at_ms) == pytest.approx(8.2 * 19, rel=0.3)


def test_a_limit_that_is_clearly_kept_ends_the_measuring() -> None:
    loader = DataLoader(Free(), batch_size=4, num_workers=1)
    seen = measure(loader, setting=Setting(seconds=30, bench=True), step_ms=20, max_stall=0.9)
    assert judge(seen, step_ms=20, max_stall=0.9).outcome == "passed"
    assert seen.measured_seconds < 20


def test_evidence_is_plain_numbers_and_strings() -> None:
    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            return all(map(plain, value.values()))
        if isinstance(value, list | tuple):
            return all(map(plain, value))
        return value is None or isinstance(value, int | float | str)

    assert plain(asdict(measure(DataLoader(Waiting(), batch_size=4, num_workers=1), setting=QUICK, step_ms=5)))


def test_the_stall_is_measured_with_a_real_step() -> None:
    taken: list[int] = []

    def step(batch: torch.Tensor) -> None:
        taken.append(len(batch))
        time.sleep(0.02)

    class Waiting(Dataset[int]):
        def __len__(self) -> int:
            return 400

        def __getitem__(self, index: int) -> int:
            time.sleep(0.01)
            return index

    loader = DataLoader(Waiting(), batch_size=4)  # 40 ms a batch, and nobody makes one beside a step of 20 ms
    seen = measure(loader, setting=Setting(seconds=2.0, bench=True), step=step)
    assert seen.simulated is not None
    assert set(taken) == {4}
    assert seen.simulated.step_ms >= 20
    assert 0.4 < seen.stall < 0.9
    verdict = judge(seen, step=step)
    assert "a step of " in verdict.reason
    assert judge(seen, step=step, max_stall=0.95).outcome == "passed"


def test_a_step_is_given_once() -> None:
    assert "two ways" in contradiction({"step": print, "step_ms": 3.0})
    assert not contradiction({"step": print, "max_stall": 0.1})
    with pytest.raises(BadLimit, match="expected MODULE:ATTR of a callable that takes a batch"):
        checks.read_limits("stages", {"step": "train"})
