"""A borrowed loader: every kind can be pulled from, and the user's is left as it was."""

from __future__ import annotations

import multiprocessing
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, get_worker_info

from pytest_dataloader.errors import BadTarget, NotMeasured
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.borrowing import Borrowed, borrow, borrow_as
from pytest_dataloader.probe.loader.timeout import Hang, time_limit
from pytest_dataloader.probe.timing.instrumented_run import InstrumentedLoader
from tests.variants import variants

if TYPE_CHECKING:
    from collections.abc import Iterator


class Numbers(Dataset[Any]):
    """Ten numbers, with a random one each."""

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> Any:
        return torch.tensor([float(index), np.random.rand()])


class Batched(Numbers):
    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[index] for index in indices]


class Sliced(Numbers):
    """Takes a list of indices at once, as tables do."""

    def __getitem__(self, index: Any) -> Any:
        return torch.tensor([[float(each), np.random.rand()] for each in index])


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        return iter(torch.arange(10.0)[first::step, None])


class Reversing(DataLoader[Any]):
    """A subclass whose ``__iter__`` is a generator."""

    def __iter__(self) -> Any:
        for batch in super().__iter__():
            yield batch.flip(0)


class Repeating:
    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler

    def __iter__(self) -> Any:
        while True:
            yield from iter(self.sampler)


class Endless(DataLoader[Any]):
    """Makes its iterator once and keeps it, as timm's MultiEpochsDataLoader does."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        vars(self)["batch_sampler"] = Repeating(self.batch_sampler)
        self.iterator = super().__iter__()

    def __len__(self) -> int:
        return len(self.batch_sampler.sampler)  # type: ignore[union-attr]

    def __iter__(self) -> Any:
        for _ in range(len(self)):
            yield next(self.iterator)


class Wrapping(DataLoader[Any]):
    """Iterates a loader that it holds, as accelerate's does."""

    def __init__(self, inner: DataLoader[Any]) -> None:
        super().__init__(inner.dataset, batch_size=inner.batch_size)
        self.inner = inner

    def __iter__(self) -> Any:
        return iter(self.inner)


def stateful(**options: Any) -> Any:
    from torchdata.stateful_dataloader import StatefulDataLoader  # type: ignore[import-untyped]  # it has no types

    return StatefulDataLoader(Numbers(), batch_size=4, shuffle=True, **options)


KINDS = {
    "map": lambda: DataLoader(Numbers(), batch_size=4, shuffle=True),
    "map, workers": lambda: DataLoader(Numbers(), batch_size=4, shuffle=True, num_workers=2),
    "persistent": lambda: DataLoader(Numbers(), batch_size=4, shuffle=True, num_workers=2, persistent_workers=True),
    "out of order": lambda: DataLoader(Numbers(), batch_size=4, num_workers=1, in_order=False),
    "generator": lambda: DataLoader(Numbers(), 4, True, generator=torch.Generator().manual_seed(5), num_workers=2),
    "getitems": lambda: DataLoader(Batched(), batch_size=4, num_workers=1),
    "batch_sampler": lambda: DataLoader(Numbers(), batch_sampler=[[0], [1, 2, 3], [4]], num_workers=2),
    "no batches": lambda: DataLoader(Numbers(), batch_size=None),
    "sampler of batches": lambda: DataLoader(
        Sliced(), batch_size=None, sampler=[[0, 1], [2]]
    ),
    "iterable": lambda: DataLoader(Stream(), batch_size=4),
    "iterable, workers": lambda: DataLoader(Stream(), batch_size=2, num_workers=2),
    "iterable, persistent": lambda: DataLoader(Stream(), batch_size=2, num_workers=2, persistent_workers=True),
    "generator function": lambda: Reversing(Numbers(), batch_size=4, num_workers=2),
    "endless": lambda: Endless(Numbers(), batch_size=4, num_workers=1),
    "wrapping": lambda: Wrapping(DataLoader(Numbers(), batch_size=4, num_workers=1, persistent_workers=True)),
    "stateful": lambda: stateful(),
    "stateful, workers": lambda: stateful(num_workers=2, persistent_workers=True),
    "with timeout": lambda: DataLoader(Numbers(), batch_size=4, num_workers=1, timeout=30),
}  # fmt: skip
SLOW_STARTS = {
    "spawn": lambda: DataLoader(Numbers(), batch_size=4, num_workers=1, multiprocessing_context="spawn"),
    "forkserver": lambda: DataLoader(Numbers(), batch_size=4, num_workers=1, multiprocessing_context="forkserver"),
}
STATEFUL = pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")


def kinds(*tables: Any) -> pytest.MarkDecorator:
    rows = {name: make for table in tables for name, make in table.items()}
    quick = {name for table in tables for name in [*table][::2]} - {"spawn"} | rows.keys() & {"forkserver"}
    return pytest.mark.parametrize("make", variants(rows, quick))


def drain(borrowed: Borrowed) -> tuple[int, int]:
    """Batches and samples of one whole epoch."""
    borrowed.begin_epoch()
    batches = samples = 0
    while True:
        got, more = borrowed.pull(2)
        batches, samples = batches + got, samples + more
        if got < 2:
            return batches, samples


def seed() -> None:
    torch.manual_seed(0)
    np.random.seed(0)


def batches_of(loader: Any) -> list[Any]:
    return [torch.as_tensor(each if torch.is_tensor(each) else torch.stack(each)).tolist() for each in loader]


@pytest.fixture(autouse=True)
def no_worker_is_left() -> Iterator[None]:
    before = set(multiprocessing.active_children())
    yield
    assert not set(multiprocessing.active_children()) - before


@STATEFUL
@kinds(KINDS, SLOW_STARTS)
def test_every_kind_of_loader_is_pulled_from_epoch_after_epoch(make: Any) -> None:
    loader = make()
    expected = (len(batches_of(loader)), 5 if getattr(loader.batch_sampler, "append", None) else 10)
    if vars(loader).get("sampler") == [[0, 1], [2]]:
        expected = (2, 3)
    elif loader.batch_size is None and vars(loader).get("batch_sampler") is None:
        expected = (10, 20)  # what a single index gives may be a batch: pairs count as such
    with borrow(loader) as borrowed:
        assert drain(borrowed) == expected
        assert drain(borrowed) == expected
        assert len(borrowed.workers) == vars(loader).get("inner", loader).num_workers
    end(loader)


@STATEFUL
@kinds(KINDS)
def test_the_users_loader_gives_the_same_batches_as_without_us(make: Any) -> None:
    seed()
    loader = make()
    expected = batches_of(loader)
    end(loader)
    seed()
    loader = make()
    before = {name: id(value) for name, value in vars(loader).items()}
    with borrow(loader) as borrowed:
        drain(borrowed)
        borrowed.begin_epoch()
        borrowed.pull(1)
    assert {name: id(value) for name, value in vars(loader).items()} == before
    assert batches_of(loader) == expected
    end(loader)


def end(loader: Any) -> None:
    """Stop the workers that the user's own loader keeps."""
    for holder in (loader, vars(loader).get("inner")):
        for name in ("_iterator", "iterator"):
            iterator = vars(holder).get(name) if holder is not None else None
            if iterator is not None and hasattr(iterator, "_shutdown_workers"):
                iterator._shutdown_workers()


def test_a_live_persistent_iterator_goes_on_where_it_was() -> None:
    loader = DataLoader(Numbers(), batch_size=4, num_workers=1, persistent_workers=True)
    theirs = iter(loader)
    first = next(theirs)
    with borrow(loader) as borrowed:
        drain(borrowed)
    assert [int(batch[0, 0]) for batch in (first, *theirs)] == [0, 4, 8]
    end(loader)


@STATEFUL
def test_a_stateful_loader_keeps_its_place() -> None:
    loader = stateful(num_workers=0)
    epoch = iter(loader)
    next(epoch)
    place = loader.state_dict()
    with borrow(loader) as borrowed:
        drain(borrowed)
    assert loader.state_dict() == place


class Failing(Numbers):
    def __getitem__(self, index: int) -> Any:
        if index == 5:
            raise LookupError("sample 5 is broken")
        return super().__getitem__(index)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("persistent", [False, True])
def test_the_users_exception_comes_out_and_the_workers_are_gone_though_it_is_held(
    workers: int, persistent: bool
) -> None:
    loader = DataLoader(Failing(), batch_size=2, num_workers=workers, persistent_workers=persistent and workers > 0)
    before = set(multiprocessing.active_children())
    with pytest.raises(LookupError, match="sample 5 is broken") as held, borrow(loader) as borrowed:
        drain(borrowed)
    assert not set(multiprocessing.active_children()) - before
    where = {entry.name for entry in held.traceback} if workers == 0 else str(held.value)
    assert "__getitem__" in where


class Stuck(Numbers):
    def __getitem__(self, index: int) -> Any:
        time.sleep(600)


def test_a_hanging_worker_is_killed() -> None:
    began = time.monotonic()
    with pytest.raises(Hang), borrow(DataLoader(Stuck(), num_workers=2)) as borrowed, time_limit(0.5):
        drain(borrowed)
    assert time.monotonic() - began < 60


def test_new_workers_take_over_from_persistent_ones() -> None:
    loader = DataLoader(Numbers(), batch_size=4, num_workers=1, persistent_workers=True)
    with borrow(loader) as borrowed:
        drain(borrowed)
        first = [worker.pid for worker in borrowed.workers]
        drain(borrowed)
        assert [worker.pid for worker in borrowed.workers] == first
        borrowed.renew_workers()
        assert drain(borrowed) == (3, 10)
        assert [worker.pid for worker in borrowed.workers] != first


def test_what_waits_in_the_queues_is_known() -> None:
    with borrow(DataLoader(Numbers(), batch_size=1, num_workers=1, prefetch_factor=3)) as borrowed:
        borrowed.begin_epoch()
        borrowed.pull(1)
        assert borrowed.depth == 3
        assert not borrowed.running_dry
        deadline = time.monotonic() + 30
        while borrowed.ready != 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert borrowed.ready == 3
        borrowed.pull(8)
        assert borrowed.running_dry


def test_only_a_torch_loader_can_be_borrowed() -> None:
    with pytest.raises(BadTarget, match=r"expected a torch DataLoader, got builtins\.list"), borrow([1, 2]):
        pass


def test_a_loader_that_can_be_iterated_once_is_not_used_up() -> None:
    once = (each for each in [[0], [1]])
    with pytest.raises(NotMeasured, match="only once"), borrow(DataLoader(Numbers(), batch_sampler=once)):
        pass
    assert list(once) == [[0], [1]]


def test_the_sampler_of_batches_counts_its_indices() -> None:
    sampler = BatchSampler(RandomSampler(range(10)), 4, drop_last=False)
    with borrow(DataLoader(Numbers(), batch_sampler=sampler)) as borrowed:
        assert drain(borrowed) == (3, 10)
        assert borrowed.counted_by == "indices"


class Ready(Dataset[Any]):
    """Batches that are stored whole."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Any:
        return torch.full((64, 4), float(index))


class ReadyStream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return map(Ready().__getitem__, range(3))


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("kind", [Borrowed, InstrumentedLoader])
def test_the_samples_of_ready_batches_are_counted_however_these_are_read(kind: Any, workers: int) -> None:
    datasets: list[Dataset[Any]] = [Ready(), ReadyStream()]
    for dataset in datasets:
        with borrow_as(kind, DataLoader(dataset, batch_size=None, num_workers=workers)) as borrowed:
            borrowed.begin_epoch()
            assert borrowed.pull(8) == (3, 3 * 64)
            assert borrowed.counted_by == "first dimension" or kind is InstrumentedLoader


class MakesItsOwn(DataLoader[Any]):
    """Asks no sampler, and torch for no iterator."""

    def __iter__(self) -> Any:
        return (torch.zeros(4, 2) for _ in range(3))


def test_a_loader_that_makes_all_its_batches_itself_is_counted_by_them() -> None:
    with borrow(MakesItsOwn(Numbers())) as borrowed:
        assert drain(borrowed) == (3, 3 * 4)
        assert (borrowed.counted_by, borrowed.running_dry, borrowed.workers) == ("first dimension", False, [])


@pytest.mark.parametrize("end", [KeyboardInterrupt, RuntimeError])
def test_workers_are_not_asked_to_end_where_one_may_have_died_with_the_lock(end: type[BaseException]) -> None:
    """After a signal that workers may have got too, and where one has died of it."""
    workers: list[Any] = []

    def end_with_the_lock_taken() -> None:
        with time_limit(60), borrow(DataLoader(Numbers(), num_workers=2)) as borrowed:
            borrowed.begin_epoch()
            borrowed.pull(1)
            workers.extend(borrowed.workers)
            torch_private.disown_workers(borrowed.iterator)
            borrowed.iterator._workers_done_event._cond.acquire()
            if end is RuntimeError:
                workers[0].kill()
                workers[0].join()
            raise end

    with pytest.raises(end):
        end_with_the_lock_taken()
    assert len(workers) == 2
    assert not any(worker.is_alive() for worker in workers)
