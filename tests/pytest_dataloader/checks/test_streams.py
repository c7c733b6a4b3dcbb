"""What is no DataLoader: its judgement over made-up evidence, and what real ones show, or what is missing for it."""

from __future__ import annotations

import collections
import itertools
import multiprocessing
import os
import random
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, get_worker_info
from torchdata import nodes  # type: ignore[import-untyped]  # torchdata ships no types

from pytest_dataloader import checks, loaders
from pytest_dataloader.checks import NAMES, Setting
from pytest_dataloader.checks.streams import NEEDS, OUTER
from pytest_dataloader.checks.streams import judge as judge_of_streams
from pytest_dataloader.diagnosis.runner import Runner, Subject
from pytest_dataloader.errors import EmptyEpoch
from pytest_dataloader.probe.loader.stream import Stream, stream_of
from pytest_dataloader.probe.memory.kept_batches import NO_KEPT_BATCHES
from pytest_dataloader.probe.streams import keepers
from tests.judgement import Judgement
from tests.variants import variants
from tests.zoo import evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.streams.evidence import Batches, Growth
    from pytest_dataloader.verdict import Verdict

SHORT = Setting(seconds=0.5, bench=True, quick=True)
PATIENT = Setting(seconds=120.0, bench=True)
"""For epochs that end by themselves, however busy the machine is."""
ROWS = torch.arange(2560, dtype=torch.float32).reshape(640, 4)


CONTENTS, HELD, GROWTH, PROCESSES = evidence.CONTENTS, evidence.HELD, evidence.GROWTH, evidence.PROCESSES
POOL = replace(PROCESSES, children=3)


def growing(*steps: int, epochs: int = 4) -> Growth:
    """A process that gains so many megabytes from look to look, a hundred batches apart."""
    private = tuple(itertools.accumulate((step * 1_000_000 for step in steps), initial=50_000_000))
    return replace(GROWTH, private_bytes=private, epochs=epochs, batches=100 * len(steps))


VERDICTS = {
    "the same samples": Judgement(
        CONTENTS, "passed",
        "640 samples: no duplicates, the same in the next epoch, in another order\n"
        "samples were compared by content", in_full=True,
    ),
    "the same samples in order": Judgement(
        replace(CONTENTS, same_order=True), "passed",
        "640 samples: no duplicates, the same in the next epoch, in the same order\n"
        "samples were compared by content", in_full=True
    ),
    "the first epoch was read in part": Judgement(
        replace(CONTENTS, complete=(False, True), common=639), "passed",
        "640 samples: no duplicates, in another order\n"
        "samples were compared by content\nan epoch was read in part", in_full=True,
    ),
    "the second epoch was read in part": Judgement(
        replace(CONTENTS, complete=(True, False)), "passed",
        "640 samples: no duplicates, in another order\n"
        "samples were compared by content\nan epoch was read in part"
    ),
    "used up": Judgement(
        replace(CONTENTS, samples=(640, 0), twice=3), "failed",
        "the second epoch is empty, the first had 640 samples", in_full=True,
    ),
    "some samples twice": Judgement(
        replace(CONTENTS, twice=1200), "inconclusive",
        "640 samples, 1,200 of them equal to another one\n"
        "samples were compared by content",
        in_full=True
    ),
    "drawn anew": Judgement(
        replace(CONTENTS, common=0), "not_measured",
        "640 samples: none of them is in the next epoch, drawn anew or other data\n"
        "samples were compared by content", in_full=True,
    ),
    "some others in the next epoch": Judgement(
        replace(CONTENTS, common=639), "inconclusive",
        "640 samples: 639 of them are among the 640 of epoch 2\n"
        "samples were compared by content",
        in_full=True,
    ),
    "a longer next epoch": Judgement(
        replace(CONTENTS, samples=(640, 641)), "inconclusive",
        "640 samples: 640 of them are among the 641 of epoch 2\n"
        "samples were compared by content"
    ),
    "nothing is left": Judgement(
        HELD, "passed",
        "nothing left open in this process\nseen in 4 epochs, 160 batches together", in_full=True,
    ),
    "something stays": Judgement(
        replace(HELD, stays=1), "passed",
        "1 descriptor of prefetched batches stay open, no more with each epoch\n"
        "seen in 4 epochs, 160 batches together", in_full=True,
    ),
    "more is left with each epoch": Judgement(
        replace(HELD, left=("64 open descriptors", "a segment"), stays=1), "failed",
        "leaks, more after four epochs than after two: 64 open descriptors, a segment", (),
        {"max_shm": 0, "max_fd_use": 0.0}, in_full=True,
    ),
    "as much shared memory as allowed": Judgement(
        HELD, "passed",
        "nothing left open in this process", (), {"max_shm": 8192},
    ),
    "more shared memory than allowed": Judgement(
        HELD, "failed", "peak 8.2 kB in this process, limit 8.2 kB", (), {"max_shm": 8191}, in_full=True
    ),
    "no shared memory allowed": Judgement(
        HELD, "failed", "peak 8.2 kB in this process, limit 0 B", (), {"max_shm": 0}
    ),
    "as many descriptors as allowed": Judgement(
        HELD, "passed",
        "nothing left open in this process", (), {"max_fd_use": 0.2},
    ),
    "more descriptors than allowed": Judgement(
        HELD, "failed", "peak 20 of 100 descriptors (20 %), limit 19 %", (), {"max_fd_use": 0.19}, in_full=True
    ),
    "no descriptors allowed": Judgement(
        HELD, "failed", "peak 20 of 100 descriptors (20 %), limit 0 %", (), {"max_fd_use": 0.0}
    ),
    "memory stays": Judgement(
        GROWTH, "passed", "no lasting growth: 100.0 kB in 400 batches in 4 epochs",
        in_full=True,
    ),
    "a leak": Judgement(
        growing(40, 5, 5, 5), "failed",
        "leak: +50.0 kB per batch in this process, without end in 400 batches in 4 epochs",
        in_full=True,
    ),
    "a leak over three epochs": Judgement(
        growing(40, 5, 5, 5, epochs=3), "failed",
        "leak: +50.0 kB per batch in this process, without end in 400 batches in 3 epochs",
    ),
    "a leak, or a cache": Judgement(
        growing(40, 5, 5, 5, epochs=2), "inconclusive",
        "+50.0 kB per batch in this process (400 batches in 2 epochs)\n"
        "a cache that fills, or a leak", in_full=True,
    ),
    "growth that ends": Judgement(
        growing(40, 5, 5, 1), "passed", "no lasting growth: 11.0 MB in 400 batches in 4 epochs"
    ),
    "growth that slows down": Judgement(
        growing(40, 8, 8, 2), "failed",
        "leak: +60.0 kB per batch in this process, without end in 400 batches in 4 epochs",
    ),
    "growth with a pause": Judgement(
        growing(40, 5, 0, 5), "passed",
        "no lasting growth: 10.0 MB in 400 batches in 4 epochs",
    ),
    "growth as slow as that of allocators": Judgement(
        growing(40, 1, 1, 1), "failed",
        "leak: +10.0 kB per batch in this process, without end in 400 batches in 4 epochs",
    ),
    "too few looks": Judgement(
        growing(40, 5, 5), "not_measured", "300 batches in 4 epochs: too few to see memory grow", vacuous=True,
        in_full=True,
    ),
    "no processes": Judgement(
        PROCESSES, "passed",
        "no child processes\n80 batches in 2 epochs, the first after 0.25 s", in_full=True
    ),
    "no processes, read in part": Judgement(
        replace(PROCESSES, whole=False, epochs=1, batches=1), "passed",
        "no child processes\n1 batch in 1 epoch, read in part, the first after 0.25 s", in_full=True,
    ),
    "processes that end": Judgement(
        POOL, "passed",
        "3 child processes, all of which ended\n80 batches in 2 epochs, the first after 0.25 s", in_full=True
    ),
    "processes that stay": Judgement(
        replace(POOL, outliving=("reader", "pool", "pool")), "passed",
        "3 child processes, 3 of which stay: pool, reader\n"
        "80 batches in 2 epochs, the first after 0.25 s", in_full=True,
    ),
    "a first batch in time": Judgement(PROCESSES, "passed", "no child processes", (), {"max_startup_seconds": 0.25}),
    "a first batch too late": Judgement(
        POOL, "failed", "0.25 s to the first batch, limit 0.24 s", (), {"max_startup_seconds": 0.24},
        in_full=True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_follows_from_the_evidence(row: Judgement) -> None:
    def judge(seen: Any, **limits: Any) -> Verdict:
        return judge_of_streams(seen, limits)

    assert row.of(judge) == row


@pytest.mark.parametrize("seen", [CONTENTS, HELD, GROWTH, PROCESSES], ids=lambda seen: type(seen).__name__)
def test_a_stream_that_gives_nothing_is_not_judged(seen: Batches) -> None:
    with pytest.raises(EmptyEpoch, match="it gave no batch: its epoch is empty"):
        judge_of_streams(replace(seen, batches=0), {})


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
    assert "640 samples: no duplicates, the same in the next epoch, in the same order\nsamples were compared by" in (
        seen["order"].reason
    )
    assert seen["workers"].reason.startswith("no child processes\n80 batches in 2 epochs, the first after")


def test_of_a_wrapper_the_whole_is_measured_and_the_dataloader_inside() -> None:
    made = stream(Prefetcher(num_workers=1))
    assert made.path == "loader"
    assert "around DataLoader(TensorDataset, batch_size=16, num_workers=1)" in loaders.describe(made)
    inner = "\nof the DataLoader inside, its attribute loader"
    for check in NAMES:
        seen = verdict(check, made)
        if check == "throughput" and "the machine was busy" in seen.reason:
            assert seen.outcome in ("passed", "inconclusive")
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
    assert "4 child processes, all of which ended\n32 batches in 2 epochs" in verdict("workers", made).reason
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
        (UsedUp, "order", "failed", "the second epoch is empty, the first had 640 samples"),
        (Opening, "fds", "failed", "leaks, more after four epochs than after two: 64 open descriptors, file: "),
        (Keeping, "memory", "failed", "leak: +1."),
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


class Around:
    """A wrapper around a shuffling loader of 40 batches of 65 kB, which gives them in some way."""

    def __init__(self, give: Callable[[Around], Iterator[Any]], **settings: Any) -> None:
        rows = TensorDataset(torch.ones(320, 2048))
        self.loader: DataLoader[Any] = DataLoader(rows, **{"batch_size": 8, "shuffle": True, **settings})
        self.give = give
        self.kept: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        return self.give(self)


def each_doubled(around: Around) -> Iterator[Any]:
    for (rows,) in itertools.cycle(around.loader):
        yield rows * 2


def keeping(around: Around) -> Iterator[Any]:
    for batch in around.loader:
        around.kept.append(batch)
        yield batch


def gathering(around: Around) -> Iterator[Any]:
    gathered = []
    for batch in around.loader:
        gathered.append(batch)
        yield batch


def caching(around: Around) -> Iterator[Any]:
    if not around.kept:
        around.kept = list(around.loader)
    yield from around.kept


KEEPERS: dict[str, tuple[Callable[[], Around], str, str, str]] = {
    "cycle": (
        lambda: Around(lambda it: itertools.cycle(it.loader)), "failed", "itertools.cycle",
        "2.6 MB in an epoch of 40 batches\neach later epoch gives the same batches again, although the loader shuffles",
    ),
    "cycle inside a generator, under workers": (
        lambda: Around(each_doubled, num_workers=2), "failed", "itertools.cycle", "although the loader shuffles"
    ),
    "list": (lambda: Around(keeping), "failed", "kept of Around", "and as much again in the next"),
    "cache": (lambda: Around(caching, shuffle=False), "passed", "", "no copy-on-write growth"),
    "cycle in order": (
        lambda: Around(lambda it: itertools.cycle(it.loader), shuffle=False), "passed", "itertools.cycle",
        "each later epoch gives the same batches again\n",
    ),
    "local list": (lambda: Around(gathering), "passed", "gathered of gathering", "2.6 MB in an epoch of 40 batches\n"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("build", "outcome", "keeper", "words"),
    variants(KEEPERS, {"cycle", "cycle inside a generator, under workers", "list", "local list"}),
)
def test_who_keeps_the_batches_of_a_loader_is_named(
    build: Callable[[], Around], outcome: str, keeper: str, words: str
) -> None:
    made = stream(build())
    state = torch.get_rng_state()
    seen = verdict("memory", made)
    assert seen.outcome == outcome, seen.reason
    assert f"kept by {keeper} after the loop has dropped it" in seen.reason or not keeper
    assert words in seen.reason
    if outcome == "failed":
        assert [advice.code for advice in seen.advice] == [""]
        assert re.search(r"Tried with \d+ batch(es)?: none of its batches stayed", seen.advice[0].text)
    assert torch.equal(torch.get_rng_state(), state)


def last_of(most: int | None) -> Callable[[Around], Iterator[Any]]:
    def give(around: Around) -> Iterator[Any]:
        history: collections.deque[Any] = collections.deque(maxlen=most)
        for batch in around.loader:
            history.append(batch)
            yield batch

    return give


def labelled(around: Around) -> Iterator[Any]:
    for batch in around.loader:
        around.kept.append(float(batch[0].sum()))
        yield batch


def ahead(around: Around) -> Iterator[Any]:
    waiting: collections.deque[Any] = collections.deque()
    for batch in around.loader:
        waiting.append(batch)
        if len(waiting) > 4:
            yield waiting.popleft()
    yield from waiting


def endless_rounds(around: Around) -> Iterator[Any]:
    while True:
        yield from around.loader


LETTING_GO: dict[str, Callable[[], Around]] = {
    "rounds": lambda: Around(endless_rounds, num_workers=2),
    "chained": lambda: Around(lambda it: itertools.chain.from_iterable(itertools.repeat(it.loader))),
    "the last ones": lambda: Around(last_of(100)),
    "a few of the last": lambda: Around(last_of(3)),
    "numbers": lambda: Around(labelled),
    "taken ahead": lambda: Around(ahead, num_workers=1),
    "short": lambda: Around(lambda it: itertools.islice(it.loader, 3)),
    "epochs of one": lambda: Around(lambda it: iter(it.loader), batch_size=320),
}


@pytest.mark.parametrize("build", variants(LETTING_GO, {"rounds", "the last ones", "taken ahead", "epochs of one"}))
def test_wrappers_that_let_go_of_batches_or_bound_them_are_not_accused(build: Callable[[], Around]) -> None:
    seen = checks.measure("memory", stream(build()), setting=SHORT, limits={})
    assert seen.kept_batches == NO_KEPT_BATCHES
    assert checks.judge("memory", seen, limits={}).outcome == "passed"


def test_more_objects_than_are_looked_at_are_told_as_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keepers, "_OBJECTS", 1000)
    made = Around(lambda it: itertools.cycle(it.loader))
    made.kept = [str(number) for number in range(2000)]
    seen = verdict("memory", stream(made))
    assert "whether something keeps its batches was not seen in 1 batch" in seen.reason


def test_batches_that_come_too_slowly_are_told_as_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_dataloader.probe.streams.keepers._LEAST_SECONDS", 0.0)

    def give(around: Around) -> Iterator[Any]:
        for batch in around.loader:
            time.sleep(1.0)
            yield batch

    seen = verdict("memory", stream(Around(give)))
    assert "whether something keeps its batches was not seen in 1 batch" in seen.reason
    assert seen.outcome == "passed"


def test_who_keeps_batches_is_named_without_a_dataloader_inside_too() -> None:
    def cycled() -> Iterator[Any]:
        return itertools.cycle(torch.split(torch.ones(320, 2048), 8))

    grows = verdict("memory", stream(Keeping()))
    assert "kept by kept of Keeping after the loop has dropped it" in grows.reason
    assert "drop each batch once it is given" in grows.advice[0].text
    assert verdict("memory", loaders.call(cycled, "cycled")).outcome != "failed"


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
    told = "Counted: drops the last 1 of 6 batches\nits epoch ends after 5, the len() of the DataLoader inside"
    assert seen.reason.startswith(told) == (outcome == "failed")


@pytest.mark.parametrize(("workers", "outcome"), [(2, "inconclusive"), (1, "passed"), (0, "passed")])
def test_workers_that_each_drop_a_last_batch_of_a_stream(workers: int, outcome: str) -> None:
    made = DataLoader(Rows(), batch_size=12, num_workers=workers, drop_last=True)
    seen = verdict("order", made)
    assert seen.outcome == outcome
    words = "len(loader) is 5, but an epoch has 4 batches\ndrop_last drops "
    assert (words in seen.reason) == (outcome == "inconclusive")
