"""The shards check on simulated ranks: faults found, twins passed, and this process left without a process group."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset

from pytest_dataloader import loaders
from pytest_dataloader.checks import Setting, shards
from pytest_dataloader.checks.shards import judge, measure
from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.loader.recognition import is_dataloader
from pytest_dataloader.probe.samples import rank_simulation
from pytest_dataloader.probe.samples.partition import View, partition
from tests.variants import first_of_each, named
from tests.zoo.shards import (
    CLEAN,
    FAULTS,
    SIZE,
    UNSHARDED,
    Case,
    by_distributed_sampler,
    by_environment,
    by_global_state,
    distributed,
    ignores_rank,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.samples.evidence import Shards
    from pytest_dataloader.verdict import Verdict


@pytest.fixture(autouse=True)
def ample_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the child that is a rank, on a busy machine too."""
    monkeypatch.setattr(shards, "VIEW_SECONDS", 60.0)
    monkeypatch.setattr(rank_simulation, "_TIMEOUT_SECONDS", 120.0)


def examine(case: Case) -> tuple[Shards, Verdict]:
    given = case.given()
    is_loader = is_dataloader(given)
    loader = given if is_loader else loaders.call(given, "it")
    seen = measure(loader, setting=Setting(build=None if is_loader else given), world_size=case.world_size)
    return seen, judge(seen, world_size=case.world_size)


@pytest.mark.parametrize("name", named(FAULTS, first_of_each(FAULTS, lambda case: (case.says, case.code))))
def test_a_fault_is_found(name: str) -> None:
    case = FAULTS[name]
    _, verdict = examine(case)
    assert verdict.outcome == "failed"
    assert case.says in verdict.reason
    assert [each.code for each in verdict.advice] == [case.code]


TWINS = (
    "distributed sampler, padded",
    "own sampler",
    "sets of rows",
    "batches dealt out, padded",
    "stream in whole batches",
)


@pytest.mark.parametrize("name", named(CLEAN, TWINS))
def test_a_twin_is_not_accused(name: str) -> None:
    seen, verdict = examine(CLEAN[name])
    assert (verdict.outcome, CLEAN[name].says in verdict.reason) == ("passed", True), verdict.reason
    assert seen.worlds[0].world_size == 2


@pytest.mark.parametrize("name", UNSHARDED)
def test_a_loader_that_nothing_shards_is_not_accused(name: str) -> None:
    with pytest.raises(NotMeasured, match="nothing shards this loader by rank"):
        examine(UNSHARDED[name])


def test_the_environment_tells_the_rank() -> None:
    seen, verdict = examine(Case(lambda: by_environment))
    assert (seen.how, verdict.outcome) == ("environment", "passed")


def by_archive() -> DataLoader[int]:
    """Four archives: a fifth rank gets none."""
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    mine = [sample for archive in range(rank, 4, world) for sample in range(6 * archive, 6 * archive + 6)]
    if not mine:
        raise ValueError("no archive for this rank\nuse fewer")
    return DataLoader(mine, batch_size=2)  # type: ignore[arg-type]


@pytest.mark.slow
def test_sizes_at_which_a_loader_raises_are_no_doubt_of_the_others() -> None:
    asked = [examine(Case(lambda: by_archive, world_size=size)) for size in (2, 8)]
    assert [verdict.outcome for _, verdict in asked] == ["passed", "failed"]
    (two,), (eight,) = (seen.worlds for seen, _ in asked)
    verdict = judge(replace(asked[0][0], worlds=(two, eight)))
    assert (verdict.outcome, verdict.reason) == (
        "passed",
        "2 ranks: disjoint and complete; 8 ranks end with ValueError: no archive for this rank",
    )
    assert judge(replace(asked[0][0], worlds=(eight,))).outcome == "inconclusive"


@pytest.mark.slow
def test_shares_that_hang_on_the_random_state_are_inconclusive() -> None:
    _, verdict = examine(Case(lambda: by_global_state))
    assert verdict.outcome == "inconclusive"
    assert "only where all ranks have the same random state" in verdict.reason


def asks_other_ranks(rank: int = 0, world_size: int = 1) -> DataLoader[Any]:
    """Its seed is rank 0's, as OpenMMLab's samplers have it."""
    del rank, world_size
    seed = torch.zeros(1, dtype=torch.int64).random_(100)
    if torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1:
        torch.distributed.broadcast(seed, src=0)
    return distributed(seed=int(seed))


def test_ranks_that_ask_each_other_are_not_held_to_what_nobody_answers() -> None:
    _, verdict = examine(Case(lambda: asks_other_ranks))
    assert verdict.outcome == "inconclusive"
    assert "ranks exchange data by broadcast" in verdict.reason
    loader = asks_other_ranks()
    seen = measure(loader, setting=Setting(build=lambda: asks_other_ranks()))
    assert (seen.how, judge(seen).outcome) == ("sampler", "passed")


class Cut:
    """A row as an index, which its sampler tells who reads it, as lhotse's do."""

    def __init__(self, row: int, rank: int, world_size: int) -> None:
        self.row = row
        self.custom = {"dataloading_info": {"rank": rank, "world_size": world_size, "worker_id": None}}


class OfCuts(Dataset[Any]):
    """Is asked for many cuts at once, and for no single one."""

    def __getitem__(self, cuts: Any) -> Any:
        return torch.tensor([cut.row for cut in cuts])


def by_cuts(rank: int, world_size: int) -> DataLoader[Any]:
    cuts = [Cut(row, rank, world_size) for row in range(rank, SIZE, world_size)]
    batches: Any = [cuts[at : at + 8] for at in range(0, len(cuts), 8)]
    return DataLoader(OfCuts(), batch_size=None, sampler=batches)


def test_indices_that_note_their_rank_are_known_again() -> None:
    seen, verdict = examine(Case(lambda: by_cuts))
    assert (verdict.outcome, seen.worlds[0].samples, seen.worlds[0].foreign) == ("passed", (48, 48), 0)


def by_rows_in_whole_batches(rank: int, world_size: int) -> DataLoader[Any]:
    """Each rank numbers its own rows from 0, and asks for eight at once."""
    rows = torch.arange(SIZE)[rank::world_size]
    return DataLoader(rows, batch_size=None, sampler=BatchSampler(range(len(rows)), 8, drop_last=False))  # type: ignore[arg-type]


def test_many_rows_that_are_asked_for_at_once_are_compared_one_by_one() -> None:
    seen, verdict = examine(Case(lambda: by_rows_in_whole_batches))
    assert (verdict.outcome, seen.size, seen.worlds[0].samples) == ("passed", SIZE, (48, 48))


class Noting(IterableDataset[Any]):
    """Rows by rank, each with a note of who reads it."""

    def __init__(self, note: Callable[[int, int], dict[str, Any]]) -> None:
        self.note = note

    def __iter__(self) -> Iterator[Any]:
        rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        return iter([{"row": row, **self.note(rank, world)} for row in range(rank, SIZE, world)])


@pytest.mark.parametrize(
    ("note", "outcome", "says"),
    [
        (lambda rank, world: {"read": {"rank": rank, "world_size": world}}, "passed", "disjoint and complete"),
        (lambda rank, _: {"rank": rank}, "inconclusive", "48 of their samples are not among the 96 of one rank alone"),
        (lambda _, world: {"of": world}, "inconclusive", "what they hold changes with the rank or with their batch"),
    ],
    ids=["a part of its own", "the rank among the rest", "the world among the rest"],
)
def test_samples_that_note_their_rank_are_not_called_lost(note: Any, outcome: str, says: str) -> None:
    _, verdict = examine(Case(lambda: DataLoader(Noting(note), 8), world_size=2))
    assert (verdict.outcome, says in verdict.reason) == (outcome, True), verdict.reason


class Moved:
    """A wrapper that moves batches, as timm's PrefetchLoader."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self.loader = loader

    def __iter__(self) -> Iterator[Any]:
        return iter(self.loader)


def moved_by_arguments(rank: int, world_size: int) -> Moved:
    return Moved(by_distributed_sampler(rank, world_size))


def moved_by_environment() -> Moved:
    return Moved(by_environment())


def moved_unsharded(rank: int, world_size: int) -> Moved:
    return Moved(ignores_rank(rank, world_size))


@pytest.mark.parametrize(
    ("make", "outcome"), [(moved_by_arguments, "passed"), (moved_by_environment, "passed"), (moved_unsharded, "failed")]
)
def test_the_loader_in_a_wrapper_is_made_for_each_rank(make: Any, outcome: str) -> None:
    stream = loaders.call(make, "make")
    seen = measure(stream.inner, setting=Setting(build=make), world_size=2)
    assert judge(seen).outcome == outcome


class Missing(Dataset[Any]):
    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        raise KeyError(f"no row {index}")


def cannot_be_read(rank: int, world_size: int) -> DataLoader[Any]:
    """Ranks read the same indices, and contents cannot be compared."""
    del rank, world_size
    return DataLoader(Missing(), 8)


def at_some_seeds(rank: int, world_size: int) -> DataLoader[Any]:
    if torch.initial_seed() == 0:
        raise OSError("no file for this seed")
    return by_cuts(rank, world_size)


@pytest.mark.parametrize(
    ("make", "says"), [(cannot_be_read, "KeyError: 'no row 0'"), (at_some_seeds, "OSError: no file for this seed")]
)
def test_what_one_rank_alone_raises_is_the_reason(make: Any, says: str) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)  # a test before this one may have left 0, at which one of the loaders is not made at all
        with pytest.raises(NotMeasured, match=f"a world of one rank cannot be simulated: {says}"):
            examine(Case(lambda: make))


def test_nothing_of_this_process_is_changed() -> None:
    loader: Any = distributed()
    environment, state, attributes = dict(os.environ), torch.get_rng_state(), dict(vars(loader))
    measure(loader, setting=Setting())
    assert dict(os.environ) == environment
    assert torch.equal(state, torch.get_rng_state())
    assert vars(loader) == attributes
    assert (loader.sampler.rank, loader.sampler.num_replicas, loader.sampler.epoch) == (0, 2, 0)
    assert not torch.distributed.is_initialized()


def test_threads_of_this_process_are_not_waited_for_in_children() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        torch.randperm(200_000), torch.ones(2_000_000).sum()  # the pool is started here, and is gone after a fork
        seen, verdict = examine(Case(lambda: distributed(50_000), world_size=2))
    finally:
        torch.set_num_threads(threads)
    assert (verdict.outcome, seen.size) == ("passed", 50_000)


def views(*shares: tuple[int, ...]) -> list[View]:
    return [View((share, share), len(share)) for share in shares]


def test_shares_are_held_against_the_whole() -> None:
    padded = partition(views((0, 1), (2, 0)), range(3), slack=1, drops=False)
    assert (padded.padding, padded.padded, padded.repeated, padded.lost) == (1, (0,), 0, 0)
    lost = partition(views((0, 1), (2,)), range(4), slack=1, drops=False)
    assert (lost.lost, lost.dropped) == (1, 0)
    cut = partition(views((0,), (2,)), range(3), slack=1, drops=False)
    assert (cut.lost, cut.dropped) == (0, 1)
    assert partition(views((0, 1), (2,)), range(4), slack=1, drops=True).dropped == 1
    assert partition(views((0, 1), (1, 0)), range(2), slack=1, drops=False).unsharded
    assert partition(views((0, 1, 2), (3,)), range(4), slack=1, drops=False).unequal
