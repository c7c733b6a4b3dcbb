"""Whether a resumed run goes on where the uninterrupted one was, from batches that are made up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_dataloader.probe.samples.continuation import (
    Resumption,
    chosen_stops,
    chosen_whole,
    completed,
    continued,
    continued_with_workers,
    describe_stop,
    distinct_parts,
    identifying_parts,
    overlapping,
    stable_parts,
)
from pytest_dataloader.probe.samples.resumption import Batch, Resumed, Stop, Uninterrupted

WHOLE = frozenset({""})


def batches(*contents: str) -> tuple[Batch, ...]:
    return tuple(({"": each},) for each in contents)


FIRST, SECOND = ("a0", "a1", "a2", "a3", "a4", "a5"), ("b0", "b1", "b2", "b3", "b4", "b5")
STOPS = (
    *(Stop(0, number, b"") for number in range(1, 7)), Stop(0, 6, b"", ended=True),
    *(Stop(1, number, b"") for number in range(1, 7)),
)  # fmt: skip
RUN = Uninterrupted((batches(*FIRST), batches(*SECOND)), (True, False), STOPS, 0.1)
"""Two epochs of six batches, of which the second was not run to its end."""
CUT = replace(RUN, epochs=(batches(*FIRST),), ended=(False,), stops=STOPS[:6])
"""Only a part of an epoch."""


def test_the_first_stops_are_those_that_differ_most() -> None:
    chosen = [(stop.epoch, stop.batches, stop.ended) for stop in chosen_stops(RUN)]
    beginnings = [(0, 1, False), (1, 1, False)]
    endings = [(1, 3, False), (0, 6, True), (0, 6, False), (0, 5, False), (0, 3, False)]
    assert chosen == beginnings + endings


def test_no_stop_is_chosen_twice_where_there_are_few() -> None:
    short = replace(RUN, epochs=(batches("a0", "a1"),), stops=(Stop(0, 1, b""), Stop(0, 2, b"")))
    assert [stop.batches for stop in chosen_stops(short)] == [1, 2]


@pytest.mark.parametrize(
    ("stop", "run", "place"),
    [
        (Stop(0, 3, b""), RUN, "after batch 3"),
        (Stop(0, 6, b""), RUN, "after the last batch"),
        (Stop(0, 6, b""), CUT, "after batch 6"),
        (Stop(0, 6, b"", ended=True), RUN, "after the end of epoch 1"),
        (Stop(1, 3, b""), RUN, "after batch 3 of epoch 2"),
        (Stop(1, 6, b"", ended=True), RUN, "after the end of epoch 2"),
        (Stop(0, 5, b"", earlier=3), RUN, "twice, after batch 3 and after batch 5"),
    ],
    ids=["a batch", "the last batch", "the last of a part", "the end", "the second epoch", "its end", "twice"],
)
def test_a_stop_has_a_place_in_words(stop: Stop, run: Uninterrupted, place: str) -> None:
    assert describe_stop(stop, run) == place


CONTINUED: dict[str, tuple[Uninterrupted, int, tuple[tuple[str, ...], ...], tuple[str, int, str, bool | None]]] = {
    "exact": (RUN, 2, (("a2", "a3"),), ("exact", 0, "", None)),
    "exact to the end": (RUN, 2, (("a2", "a3", "a4", "a5"),), ("exact", 0, "", None)),
    "exact into the next epoch": (RUN, 4, (("a4", "a5"), ("b0", "b1")), ("exact", 0, "", True)),
    "exact, and another next epoch": (RUN, 4, (("a4", "a5"), ("b1", "b0")), ("exact", 0, "", False)),
    "exact, of which no next epoch is known": (
        replace(RUN, epochs=RUN.epochs[:1]), 4, (("a4", "a5"), ("b0",)), ("exact", 0, "", None)
    ),
    "a batch again": (RUN, 2, (("a1", "a2"),), ("repeats", 1, "batch 2 comes, not batch 3", None)),
    "from the beginning": (RUN, 4, (("a0", "a1"),), ("repeats", 4, "batch 1 comes, not batch 5", None)),
    "the whole epoch again, in another order": (
        RUN, 4, (("a1", "a0", "a3", "a2", "a5", "a4"), ("b0",)), ("repeats", 4, "the whole epoch comes again", None)
    ),
    "batches left out": (RUN, 2, (("a4", "a5"),), ("skips", 2, "batch 5 comes, not batch 3", None)),
    "the last batch alone": (RUN, 2, (("a5",),), ("skips", 3, "batch 6 comes, not batch 3", None)),
    "others": (RUN, 2, (("b1", "a7"),), ("differs", 0, "other batches come", None)),
    "an epoch that ends too soon": (RUN, 2, (("a2", "a3"), ("b0",)), ("short", 2, "2 batches of 4", None)),
    "an epoch that ends too late": (
        RUN, 2, (("a2", "a3", "a4", "a5", "a6"),), ("differs", 1, "5 batches of 4", None)
    ),
    "a part of an epoch that goes on": (CUT, 4, (("a4", "a5", "a6"),), ("exact", 0, "", None)),
    "nothing of what is to come": (RUN, 6, ((), ()), ("short", 6, "no batch comes", None)),
    "the next epoch behind the last batch": (RUN, 6, (("b0", "b1"),), ("exact", 0, "", True)),
    "the next epoch behind an empty one": (RUN, 6, ((), ("b0", "b1")), ("exact", 0, "", True)),
    "another next epoch behind the last batch": (RUN, 6, (("b1", "b0"),), ("exact", 0, "", False)),
    "a next epoch that is not known": (
        replace(RUN, epochs=RUN.epochs[:1]), 6, (("b0",),), ("exact", 0, "", None)
    ),
}  # fmt: skip


@pytest.mark.parametrize(("run", "stopped", "got", "expected"), CONTINUED.values(), ids=CONTINUED)
def test_a_resumed_run_is_held_against_the_uninterrupted_one(
    run: Uninterrupted,
    stopped: int,
    got: tuple[tuple[str, ...], ...],
    expected: tuple[str, int, str, bool | None],
) -> None:
    stop = Stop(0, stopped, b"")
    seen = continued(run, stop, Resumed(tuple(batches(*each) for each in got)), WHOLE)
    assert (seen.outcome, seen.off_by, seen.detail, seen.next_epoch) == expected
    assert seen.place == describe_stop(stop, run)


def test_what_a_resumed_run_raises_is_told() -> None:
    seen = continued(RUN, Stop(0, 2, b""), Resumed(error="OSError: gone"), WHOLE)
    assert seen == Resumption("after batch 2", "raises", detail="OSError: gone")


def test_only_parts_that_can_be_compared_are() -> None:
    run = replace(RUN, epochs=((({"image": "a0", "noise": "1"},), ({"image": "a1", "noise": "2"},)),), ended=(True,))
    resumed = Resumed(((({"image": "a1", "noise": "9"},),),))
    assert continued(run, Stop(0, 1, b""), resumed, frozenset({"image"})).outcome == "exact"
    assert continued(run, Stop(0, 1, b""), resumed, frozenset({"image", "noise"})).outcome == "differs"


def test_samples_that_come_twice_and_never_are_counted() -> None:
    seen = continued(RUN, Stop(0, 2, b""), Resumed((batches("a5", "a0", "a1", "a3"), ())), WHOLE)
    assert (seen.outcome, seen.twice, seen.never) == ("differs", 2, 2)
    cut = continued(RUN, Stop(0, 2, b""), Resumed((batches("a5", "a0"),)), WHOLE)
    assert (cut.twice, cut.never) == (1, 0)  # what comes later may be what is missing


ROWS = tuple(map(str, range(12)))


def shuffled(*order: str, drops: int = 0, labels: bool = False, ended: bool = True) -> Uninterrupted:
    """An epoch of batches of two samples."""
    samples = [{"[0]": each, **({"[1]": "cat"} if labels else {})} for each in order[: len(order) - drops]]
    epoch = tuple(tuple(samples[at : at + 2]) for at in range(0, len(samples), 2))
    stops = tuple(Stop(0, at, b"") for at in range(1, len(epoch) + 1))
    return Uninterrupted((epoch,), (ended,), stops, 0.1)


BACKWARDS = tuple(reversed(ROWS))
MIXED = (*ROWS[6:], *ROWS[:6])
PARTS = frozenset({"[0]"})


def test_parts_that_are_the_same_in_all_batches_are_not_compared() -> None:
    ours, theirs = shuffled(*ROWS, labels=True), shuffled(*BACKWARDS, labels=True)
    assert stable_parts(ours, theirs) is None
    assert stable_parts(ours, ours) == frozenset({"[0]", "[1]"})


IDENTIFYING: dict[str, tuple[Uninterrupted, Uninterrupted, frozenset[str] | None]] = {
    "another order": (shuffled(*ROWS), shuffled(*BACKWARDS), PARTS),
    "beside a label": (shuffled(*ROWS, labels=True), shuffled(*BACKWARDS, labels=True), PARTS),
    "others are dropped": (shuffled(*ROWS, drops=2), shuffled(*BACKWARDS, drops=2), PARTS),
    "other samples": (shuffled(*ROWS), shuffled(*(f"noise {row}" for row in ROWS)), None),
    "a part of an epoch": (shuffled(*ROWS, ended=False), shuffled(*BACKWARDS), None),
    "another part of an epoch": (shuffled(*ROWS), shuffled(*BACKWARDS, ended=False), None),
    "labels alone": (shuffled(*["cat"] * 12), shuffled(*["cat"] * 12), None),
}


@pytest.mark.parametrize(("one", "other", "parts"), IDENTIFYING.values(), ids=IDENTIFYING)
def test_a_sample_is_known_by_parts_that_come_in_any_order(
    one: Uninterrupted, other: Uninterrupted, parts: frozenset[str] | None
) -> None:
    assert identifying_parts(one, other) == parts


@pytest.mark.parametrize(
    ("rest", "drops", "expected"),
    [
        (ROWS[6:], 0, ("exact", 0, 0)),
        (BACKWARDS[:6], 0, ("reordered", 0, 0)),
        ((*ROWS[2:6], *ROWS[8:10]), 0, ("twice", 4, 4)),
        (ROWS[6:8], 0, ("twice", 0, 4)),
        (ROWS[:6], 0, ("twice", 6, 6)),
        ((*ROWS[6:8], *ROWS[10:12]), 2, ("reordered", 0, 0)),  # drop_last leaves out others
    ],
    ids=["as it was", "in another order", "of another shuffle", "too few", "the same again", "others are dropped"],
)
def test_what_an_epoch_had_left_is_counted(rest: tuple[str, ...], drops: int, expected: tuple[str, int, int]) -> None:
    run, other = shuffled(*ROWS, drops=drops), shuffled(*MIXED, drops=drops)
    resumed = Resumed((shuffled(*rest).epochs[0], ()))
    seen = completed(run, other, Stop(0, 3, b""), resumed, PARTS)
    assert (seen.outcome, seen.twice, seen.never) == expected


def test_parts_of_which_no_value_comes_twice_are_known() -> None:
    ours, theirs = shuffled(*ROWS, labels=True, ended=False), shuffled(*BACKWARDS, labels=True, ended=False)
    assert distinct_parts(ours, theirs) == ("[0]",)
    assert distinct_parts(ours, shuffled(*ROWS[:4], *ROWS[:4])) == ()
    assert distinct_parts(ours, Uninterrupted((), (), (), 0.0, "OSError: gone")) == ("[0]",)


@pytest.mark.parametrize(
    ("rest", "paths", "twice"),
    [
        (ROWS[:6], ["[0]"], 6), (ROWS[1:8], ["[0]"], 5), (ROWS[2:8], ["[0]"], None), (ROWS[6:], ["[0]"], None),
        (ROWS, [], None),
    ],
    ids=["the same again", "five again", "four again", "nothing again", "no part that tells"],
)  # fmt: skip
def test_samples_that_come_again_in_a_part_of_an_epoch_are_counted(
    rest: tuple[str, ...], paths: list[str], twice: int | None
) -> None:
    run = shuffled(*ROWS, ended=False)
    seen = overlapping(run, run.stops[2], Resumed((shuffled(*rest).epochs[0],)), paths)
    assert seen == (twice and Resumption("after batch 3", "twice", twice=twice))


def test_stops_in_the_middle_of_whole_epochs_come_first() -> None:
    whole = replace(RUN, ended=(True, True))
    assert [(stop.epoch, stop.batches) for stop in chosen_whole(whole)] == [(0, 3), (1, 3), (0, 1), (0, 5)]
    assert [(stop.epoch, stop.batches) for stop in chosen_whole(RUN)] == [(0, 3), (0, 1), (0, 5)]
    assert chosen_whole(CUT) == []


TWO_WORKERS = shuffled("0", "2", "1", "3", "4", "6", "5", "7", "8", "10", "9", "11")
"""The samples of twelve rows as two workers give them in batches of two."""


@pytest.mark.parametrize(
    ("run", "other", "got", "expected"),
    [
        (shuffled(*ROWS), shuffled(*ROWS), ROWS[6:], ("exact", 0, 0)),
        (shuffled(*ROWS, ended=False), shuffled(*ROWS, ended=False), ROWS[6:8], ("exact", 0, 0)),
        (shuffled(*ROWS), shuffled(*ROWS), ROWS[4:], ("repeats", 2, 0)),
        (TWO_WORKERS, shuffled(*ROWS), ROWS[6:], ("twice", 1, 1)),
        (TWO_WORKERS, shuffled(*ROWS), ("5", *ROWS[7:]), ("reordered", 0, 0)),
        (TWO_WORKERS, shuffled(*ROWS, ended=False), ROWS[6:], None),
        (TWO_WORKERS, shuffled(*(f"noise {row}" for row in ROWS)), ROWS[6:], None),
    ],
    ids=["the same", "the same part", "a batch again", "another share", "what is left", "no end", "other samples"],
)
def test_what_other_workers_make_of_a_state_is_counted(
    run: Uninterrupted, other: Uninterrupted, got: tuple[str, ...], expected: tuple[str, int, int] | None
) -> None:
    resumed = Resumed((shuffled(*got).epochs[0], ()) if run.ended[0] else (shuffled(*got).epochs[0],))
    seen = continued_with_workers(run, other, run.stops[2], resumed, PARTS)
    assert (seen and (seen.outcome, seen.twice, seen.never)) == expected
