"""What ranks have in common, from what they tell: by index, by content, thinned, cut; and what one rank tells."""

from __future__ import annotations

import dataclasses
import random
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, DistributedSampler

from pytest_dataloader.checks.shards import judge
from pytest_dataloader.probe.samples.evidence import Shards
from pytest_dataloader.probe.samples.overlap import Overlap, overlap
from pytest_dataloader.probe.samples.share import MOST_INDICES, RankShare, rank_share, thin_by_checksum, thinning
from tests.zoo.order import Rows
from tests.zoo.shards import Stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_dataloader.verdict import Verdict

SIZE = 96
MARKS = ("a", "b")


def indexed(indices: Iterable[int], **changed: Any) -> RankShare:
    given = tuple(indices)
    plain = RankShare(
        size=SIZE, indices=given, all_given=True, batches=len(given), marks=MARKS, covers=True, all_read=True,
        counts=(len(given), 0),
    )  # fmt: skip
    return dataclasses.replace(plain, **changed)


def streamed(*workers: Sequence[Any], **changed: Any) -> RankShare:
    contents = tuple(tuple(map(str, worker)) for worker in workers)
    counts = (0, sum(map(len, contents)))
    plain = RankShare(iterable=True, contents=contents, all_read=True, steady=True, counts=counts)
    return dataclasses.replace(plain, **changed)


def said(*shares: RankShare, insist: bool = False) -> Verdict:
    return judged(overlap(dict(enumerate(shares)), len(shares)), insist=insist)


def judged(real: Overlap, *, insist: bool = False) -> Verdict:
    evidence = Shards((), "environment", 0, real.iterable, real.shuffles, takes_epochs=False, real=real)
    return judge(evidence, world_size=len(real.ranks) if insist else None)


def shuffled(seed: int, many: int = SIZE) -> list[int]:
    return random.Random(seed).sample(range(many), many)


def test_shares_of_a_sampler_are_disjoint() -> None:
    verdict = said(*(indexed(range(rank, SIZE, 4)) for rank in range(4)))
    assert (verdict.outcome, verdict.reason) == ("passed", "the 4 ranks of this job are disjoint")


def test_padding_is_told_and_no_fault() -> None:
    verdict = said(*(indexed([*range(rank, SIZE - 1, 2), 0][: SIZE // 2], size=SIZE - 1) for rank in range(2)))
    assert (verdict.outcome, verdict.reason) == (
        "passed",
        "the 2 ranks of this job are disjoint\npadding repeats 1 sample",
    )


@pytest.mark.parametrize(("batches", "outcome"), [((8, 8), "passed"), ((8, 7), "failed")])
def test_a_round_of_batches_that_is_filled_up_is_padding(batches: tuple[int, int], outcome: str) -> None:
    dealt = [[*range(48)], [*range(48, 84), *range(12)]]
    shares = [
        indexed(rows, size=84, batches=many, batch_size=12, by_batches=True)
        for rows, many in zip(dealt, batches, strict=True)
    ]
    assert said(*shares).outcome == outcome
    assert said(*(dataclasses.replace(share, by_batches=False) for share in shares)).outcome == "failed"


@pytest.mark.parametrize(
    ("ends", "total_size", "outcome"),
    [((60, 36), 120, "passed"), ((60, 36), 0, "failed"), ((60, 36), 96, "failed"), ((60, 30), 120, "failed")],
    ids=["by its account", "without", "another account", "not all of them"],
)
def test_padding_is_what_the_sampler_says(ends: tuple[int, int], total_size: int, outcome: str) -> None:
    end, begin = ends
    shares = [indexed(range(end), total_size=total_size), indexed(range(begin, begin + 60), total_size=total_size)]
    assert said(*shares).outcome == outcome


def test_a_rank_tells_its_largest_batch_and_who_deals_batches_out() -> None:
    by_hand = rank_share(DataLoader(Rows(8), batch_sampler=[[0, 1], [2, 3, 4], [5, 6, 7]]), seconds=5)
    assert (by_hand.batch_size, by_hand.by_batches) == (3, True)
    by_torch = rank_share(DataLoader(Rows(8), batch_size=2), seconds=5)
    assert (by_torch.batch_size, by_torch.by_batches) == (2, False)


def test_ranks_that_read_all_are_a_fault_though_each_shuffles() -> None:
    verdict = said(*(indexed(shuffled(rank), shuffles=True) for rank in range(2)))
    assert verdict.outcome == "failed"
    assert "each reads all 96 samples, in another order" in verdict.reason
    assert [each.code for each in verdict.advice] == ["DL406"]


def test_ranks_that_shuffle_alike_are_a_fault() -> None:
    verdict = said(*(indexed(shuffled(0), shuffles=True) for _ in range(2)))
    assert (verdict.outcome, "in the same order (ranks 0 and 1: 96)" in verdict.reason) == ("failed", True)


def test_a_loader_that_does_not_shuffle_may_be_for_evaluation() -> None:
    alike = [indexed(range(SIZE)) for _ in range(2)]
    assert said(*alike).outcome == "inconclusive"
    assert said(*alike, insist=True).outcome == "failed"


def test_ranks_that_share_a_part_are_named() -> None:
    verdict = said(indexed(range(48)), indexed(range(40, 88)), indexed(range(48, 96)))
    assert verdict.outcome == "failed"
    assert "48 samples are read by several (ranks 1 and 2: 40)" in verdict.reason


def test_samples_that_no_rank_reads_are_a_fault_of_samplers_that_give_all() -> None:
    """As with num_replicas that is not the number of ranks."""
    assert said(*(indexed(range(rank, SIZE, 4)) for rank in range(2))).reason.endswith("48 samples are read by none")
    assert said(*(indexed(range(rank, SIZE, 4), covers=False) for rank in range(2))).outcome == "passed"
    cut = [indexed(range(rank, SIZE - 2, 2), drops=True, batch_size=4) for rank in range(2)]
    assert (said(*cut).outcome, "drop_last drops 2 samples" in said(*cut).reason) == ("passed", True)


def test_ranks_that_draw_with_replacement_are_not_accused() -> None:
    draws = [[random.Random(rank).randrange(SIZE) for _ in range(SIZE)] for rank in range(2)]
    assert said(*(indexed(each, shuffles=True, covers=False) for each in draws)).outcome == "passed"
    assert said(*(indexed(draws[0], shuffles=True) for _ in range(2))).outcome == "failed"


def test_ranks_with_different_numbers_of_batches_are_a_fault() -> None:
    reason = said(indexed(range(48)), indexed(range(46, 96))).reason
    assert reason.startswith("rank 0 has 48 batches, rank 1 has 50\nranks with more batches hang")


def test_indices_of_datasets_of_their_own_are_not_compared() -> None:
    own = [
        indexed(range(SIZE), marks=(f"{rank}",), contents=(tuple(f"{rank}.{row}" for row in range(SIZE)),), steady=True)
        for rank in range(2)
    ]
    assert said(*own).reason == "the 2 ranks of this job are disjoint"


def test_streams_are_compared_by_content() -> None:
    assert said(streamed(range(40), range(40, 80)), streamed(range(80, 120), range(120, 160))).outcome == "passed"
    alike = said(streamed(range(40), range(40, 80)), streamed(range(40), range(40, 80)))
    assert (alike.outcome, [each.code for each in alike.advice]) == ("failed", ["DL405"])
    assert said(streamed(shuffled(1)), streamed(shuffled(2))).outcome == "failed"


def test_few_contents_in_common_are_inconclusive() -> None:
    assert said(streamed(range(100)), streamed(range(90, 190))).outcome == "inconclusive"


def test_streams_that_are_padded_to_whole_batches_are_not_accused() -> None:
    padded = [streamed([*range(40), *range(90, 98)], batch_size=8), streamed([*range(50, 90), *range(8)], batch_size=8)]
    assert said(*padded).reason.endswith("are disjoint\npadding repeats 8 samples")
    assert said(*(dataclasses.replace(each, batch_size=2) for each in padded)).outcome == "inconclusive"


def test_samples_that_are_alike_by_nature_accuse_nobody() -> None:
    assert said(streamed([row % 10 for row in range(90)]), streamed([row % 9 for row in range(90)])).outcome == "passed"


def test_contents_that_change_are_not_called_disjoint() -> None:
    verdict = said(streamed(range(40), steady=False), streamed(range(40, 80), steady=False))
    assert (verdict.outcome, "no sample is seen on two" in verdict.reason) == ("passed", True)


def test_a_rank_that_tells_nothing_is_named() -> None:
    seen = overlap({0: indexed(range(48)), 2: indexed(range(48, 96))}, 3)
    assert judged(seen).reason.endswith("rank 1: what it reads could not be seen")


def test_large_shares_are_thinned_alike_on_all_ranks() -> None:
    assert [thinning(many) for many in (MOST_INDICES, MOST_INDICES + 1, 4 * MOST_INDICES)] == [1, 2, 4]
    assert set(thin_by_checksum(range(1000), 4)) <= set(thin_by_checksum(range(1000), 2))
    seen = overlap({rank: large(range(rank, 1000, 2), 1 + rank) for rank in (0, 1)}, 2)
    assert (seen.one_in, seen.repeated, seen.lost, seen.samples) == (2, 0, 0, (500, 500))


def large(given: Sequence[int], one_in: int) -> RankShare:
    thinned = thin_by_checksum(given, one_in)
    return indexed(thinned, one_in=(one_in, 1), size=1000, batches=1, counts=(len(given), 0))


def test_what_is_counted_is_told_as_that_and_what_is_estimated_as_that() -> None:
    whole = said(large(range(1000), 2), large(range(999, -1, -1), 2)).reason
    assert whole.endswith("each reads all 1,000 samples, in another order")
    part = overlap({0: large(range(700), 2), 1: large(range(400, 1000), 2)}, 2)
    assert f"about {part.repeated:,} samples are read by several (ranks 0 and 1: about " in judged(part).reason
    assert part.repeated == 2 * len(thin_by_checksum(range(400, 700), 2))
    assert part.samples == (700, 600)


def test_what_a_rank_tells_survives_the_store() -> None:
    told = indexed(range(5), contents=(("a",), ("b", "c")), sampler="S")
    assert RankShare.decode(told.encode()) == told


@pytest.mark.parametrize("workers", [0, 2])
def test_a_rank_tells_what_its_sampler_gives_and_its_workers_read(workers: int) -> None:
    rows = Rows(SIZE)
    sampler: Any = DistributedSampler(rows, num_replicas=2, rank=1, shuffle=False)
    state = torch.get_rng_state()
    share = rank_share(DataLoader(rows, batch_size=8, sampler=sampler, num_workers=workers), seconds=5)
    assert share.indices == tuple(range(1, SIZE, 2))
    assert (share.all_given, share.batches, share.covers, share.steady) == (True, 6, True, True)
    assert sum(map(len, share.contents)) == SIZE // 2
    assert len(share.marks) == 8
    assert torch.equal(torch.get_rng_state(), state)


def test_a_rank_tells_what_each_worker_streams() -> None:
    loader = DataLoader(Stream(lambda rows, _rank, _world, worker, workers: rows[worker::workers]), 8, num_workers=2)
    share = rank_share(loader, seconds=5)
    assert ([len(made) for made in share.contents], share.indices, share.steady) == ([48, 48], (), True)
