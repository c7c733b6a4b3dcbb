"""What is no DataLoader: measured as far as batches allow, by the DataLoader inside it, or said what is missing."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import time
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, get_worker_info
from torchdata import nodes  # type: ignore[import-untyped]  # torchdata ships no types

from pytest_dataloader import checks, loaders
from pytest_dataloader.checks import NAMES, Setting
from pytest_dataloader.checks.streams import NEEDS, OUTER
from pytest_dataloader.diagnosis.runner import Runner, Subject
from pytest_dataloader.probe.loader.stream import Stream, stream_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.verdict import Verdict

SHORT = Setting(seconds=0.5, bench=True, quick=True)
PATIENT = Setting(seconds=120.0, bench=True)
"""For epochs that end by themselves, however busy the machine is."""
ROWS = torch.arange(2560, dtype=torch.float32).reshape(640, 4)


def generated() -> Iterator[torch.Tensor]:
    """A generator function: an epoch of 40 batches."""
    yield from torch.split(ROWS, 16)


class Prefetcher:
    """A wrapper as timm's: batches of a DataLoader, each moved while the one before is used."""

    def __init__(self, **settings: Any) -> None:
        self.loader = DataLoader(TensorDataset(ROWS), batch_size=16, **settings)

    def __iter__(self) -> Iterator[torch.Tensor]:
        before = None
        for (batch,) in self.loader:
            if before is not None:
                yield before
            before = batch * 2
        if before is not None:
            yield before


class Replay:
    """A replay buffer: it gives samples for ever, and has no epochs."""

    def extend(self, rows: torch.Tensor) -> None:
        self.rows = rows

    def sample(self) -> torch.Tensor:
        return self.rows[torch.randint(len(self.rows), (16,))]


class DataModule:
    """As Lightning's: it has a loader once it is set up."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def prepare_data(self) -> None:
        self.told.append("prepared")

    def setup(self, stage: str) -> None:
        self.told.append(stage)

    def train_dataloader(self) -> DataLoader[Any]:
        assert self.told == ["prepared", "fit"]
        return DataLoader(TensorDataset(ROWS), batch_size=16)

    def val_dataloader(self) -> Prefetcher:
        assert self.told == ["prepared", "validate"]
        return Prefetcher()


class UsedUp:
    """An iterable with one epoch in it."""

    def __init__(self) -> None:
        self.batches = iter(torch.split(ROWS, 16))

    def __iter__(self) -> Iterator[torch.Tensor]:
        yield from self.batches


class Opening:
    """Leaves a file open for each batch."""

    def __init__(self) -> None:
        self.files: list[int] = []

    def __iter__(self) -> Iterator[torch.Tensor]:
        for batch in torch.split(ROWS, 16):
            self.files.append(os.open(__file__, os.O_RDONLY))
            yield batch

    def __del__(self) -> None:
        for file in self.files:
            os.close(file)


class Keeping:
    """Keeps every batch that it gives: 1 MB each."""

    def __init__(self) -> None:
        self.kept: list[torch.Tensor] = []

    def __iter__(self) -> Iterator[torch.Tensor]:
        for _ in range(2):
            time.sleep(0.01)
            self.kept.append(torch.ones(1 << 18))
            yield self.kept[-1]


class WithProcess:
    """Has batches made in a process of its own, an epoch at a time."""

    def __iter__(self) -> Iterator[int]:
        with multiprocessing.get_context("fork").Pool(1) as pool:
            yield from pool.imap(abs, range(64))


def endless() -> Any:
    """A node whose processes make tensors without an end."""
    rows = nodes.IterableWrapper(itertools.repeat(ROWS))
    return nodes.ParallelMapper(rows, torch.Tensor.clone, num_workers=2, method="process")


def stream(value: Any) -> Stream:
    found = stream_of(value, type(value).__name__)
    assert found is not None
    return found


def verdict(check: str, measured: Any, **limits: Any) -> Verdict:
    setting = PATIENT if check in ("order", "workers", "fds", "shm") else SHORT
    read = checks.read_limits(check, limits)
    return Runner(setting).run(Subject("it", "it", measured), check, read).verdict


def test_a_generator_function_is_measured_as_far_as_batches_allow() -> None:
    made = loaders.call(generated, "proj.generated")
    assert loaders.describe(made) == "generated, which is no DataLoader"
    seen = {check: verdict(check, made) for check in NAMES}
    assert {check for check, each in seen.items() if each.outcome == "not_measured"} == {*NEEDS}
    assert {check for check in NAMES if checks.applies(check, made, None)} == set(NAMES) - {*NEEDS}
    assert all(seen[check].reason == f"it would need {what}" for check, what in NEEDS.items())
    assert not [each for each in seen.values() if each.outcome == "failed"]
    assert "640 samples, told apart by content: none twice, and the same ones in the next epoch, in the same order" in (
        seen["order"].reason
    )
    assert seen["workers"].reason.startswith("it has no child processes; 80 batches in 2 epochs, the first after")


def test_of_a_wrapper_the_whole_is_measured_and_the_dataloader_inside() -> None:
    made = stream(Prefetcher(num_workers=1))
    assert made.path == "loader"
    assert "around DataLoader(TensorDataset, batch_size=16, num_workers=1)" in loaders.describe(made)
    inner = "; of the DataLoader inside, its attribute loader"
    for check in NAMES:
        seen = verdict(check, made)
        if check == "throughput" and "the interval says nothing" in seen.reason:
            assert seen.outcome == "inconclusive"  # too busy a machine for a rate
            continue
        assert seen.outcome == ("not_measured" if check in ("shards", "resume", "transfer") else "passed"), (
            check,
            seen.reason,
        )
        assert seen.reason.endswith(inner) == (check not in OUTER and seen.outcome == "passed")
    assert not checks.applies("resume", made, None)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
# Their thread may be at a batch whose worker has ended, when a loop over them is left early.
def test_torchdata_nodes_and_their_worker_processes_are_measured() -> None:
    node = nodes.ParallelMapper(nodes.IterableWrapper(range(64)), abs, num_workers=2, method="process")
    made = stream(nodes.Loader(nodes.Batcher(node, 4)))
    assert "4 child processes, all of which ended; 32 batches in 2 epochs" in verdict("workers", made).reason
    for check in ("fds", "shm"):  # an epoch that is left early leaves its batches on their way
        assert verdict(check, stream(nodes.Loader(nodes.Batcher(endless(), 4)))).outcome == "passed"
    order = verdict("order", made)
    assert (order.outcome, order.reason[:10]) == ("passed", "64 samples")


def test_a_replay_buffer_has_no_end() -> None:
    buffer = Replay()
    buffer.extend(ROWS)
    made = stream(buffer)
    assert verdict("throughput", made, min_samples_per_second=1).outcome == "passed"
    part = checks.measure("workers", made, setting=SHORT, limits={})
    assert "read in part" in checks.judge("workers", part, limits={}).reason


def test_the_loaders_of_a_data_module_are_prepared_as_its_trainer_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "of_module", __import__("types").ModuleType("of_module"))
    module: Any = __import__("of_module")
    module.DataModule, module.datamodule = DataModule, DataModule()
    assert isinstance(loaders.build("of_module:datamodule.train_dataloader", []).loader, DataLoader)
    assert isinstance(loaders.build("of_module:DataModule.train_dataloader", []).loader, DataLoader)
    assert loaders.build("of_module:DataModule.val_dataloader", []).loader.path == "loader"


@pytest.mark.parametrize(
    ("make", "check", "outcome", "words"),
    [
        (UsedUp, "order", "failed", "the first epoch gave 640 samples and the second none: it is used up"),
        (Opening, "fds", "failed", "left behind by four epochs, more than by two: 64 open descriptors, file: "),
        (Keeping, "memory", "failed", "this process grows by 1."),
        (lambda: stream_of(iter([1]), "iterator"), "fds", "not_measured", "measuring would use it up"),
        (WithProcess, "workers", "passed", "all of which ended"),
    ],
)
def test_what_is_wrong_with_a_stream_is_named(make: Any, check: str, outcome: str, words: str) -> None:
    made = make()
    seen = verdict(check, made if isinstance(made, Stream) else stream(made))
    assert (seen.outcome, words in seen.reason) == (outcome, True), seen.reason


def test_a_leak_is_seen_although_the_process_has_free_memory_for_it() -> None:
    large = torch.ones(7 << 20)
    del large  # from now on, blocks below its 28 MB are taken from the heap, and stay there
    blocks = [torch.ones(1 << 18) for _ in range(64)]
    pin = torch.ones(1)
    del blocks
    seen = verdict("memory", stream(Keeping()))
    assert (len(pin), seen.outcome) == (1, "failed"), seen.reason


def test_contents_that_cannot_be_told_apart_are_not_passed() -> None:
    assert verdict("order", loaders.call(lambda: iter([torch.zeros(16, 4)] * 4), "zeros")).outcome == "inconclusive"
    drawn_anew = verdict("order", loaders.call(lambda: (torch.rand(4, 2) for _ in range(8)), "rand"))
    assert (drawn_anew.outcome, "drawn anew" in drawn_anew.reason) == ("not_measured", True)


def test_a_stream_that_raises_is_a_broken_loader_and_random_states_are_put_back() -> None:
    def torn() -> Iterator[int]:
        yield random.randint(0, 3)
        raise ValueError("torn")

    state, runner = random.getstate(), Runner(SHORT)
    made = loaders.call(torn, "torn")
    for check, words in (("workers", "the loader raised ValueError: torn"), ("fds", "the loader raises: see workers")):
        seen = runner.run(Subject("it", "it", made), check, {})
        assert words in seen.verdict.reason
    assert random.getstate() == state


def test_containers_and_datasets_are_no_streams() -> None:
    class Numbers(IterableDataset[int]):
        def __iter__(self) -> Iterator[int]:
            return iter(range(3))

    for value in ([1], (1,), {"a": 1}, "text", {1}, TensorDataset(ROWS), Numbers(), 3, Prefetcher):
        assert stream_of(value, "") is None
    assert stream_of(itertools.count(), "count") is not None


class Rows(IterableDataset[int]):
    """A stream that is split among its workers, and says its length."""

    def __len__(self) -> int:
        return 68

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        yield from range(first, 68, step)


class Counted:
    """Takes as many batches of a loader as its len() says, or another number."""

    def __init__(self, loader: DataLoader[int], batches: int | None = None) -> None:
        self.loader, self.batches = loader, batches

    def __iter__(self) -> Iterator[Any]:
        yield from itertools.islice(self.loader, len(self.loader) if self.batches is None else self.batches)


@pytest.mark.parametrize(
    ("batches", "outcome"), [(None, "failed"), (6, "passed"), (4, "passed"), (100, "passed")], ids=str
)
def test_a_wrapper_that_counts_by_len_never_sees_the_last_batches_of_a_stream(
    batches: int | None, outcome: str
) -> None:
    made = loaders.measurable(Counted(DataLoader(Rows(), batch_size=16, num_workers=2), batches))
    seen = verdict("order", made)
    assert seen.outcome == outcome
    told = (
        "Counted: its epoch ends after the 5 batches that len() of the DataLoader inside says, and 6 come of that one"
    )
    assert seen.reason.startswith(told) == (outcome == "failed")


@pytest.mark.parametrize(("workers", "outcome"), [(2, "inconclusive"), (1, "passed"), (0, "passed")])
def test_workers_that_each_drop_a_last_batch_of_a_stream(workers: int, outcome: str) -> None:
    made = DataLoader(Rows(), batch_size=12, num_workers=workers, drop_last=True)
    seen = verdict("order", made)
    assert seen.outcome == outcome
    words = "len() of the loader says 5 batches, and 4 come: with drop_last each of 2 workers drops samples of its own"
    assert (words in seen.reason) == (outcome == "inconclusive")
