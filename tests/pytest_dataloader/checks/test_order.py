"""The order check: its judgement over made-up evidence, and real loaders: every fault is found, no twin is accused."""

from __future__ import annotations

import importlib
import itertools
import random
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import pytest
import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    Subset,
    SubsetRandomSampler,
    get_worker_info,
)

from pytest_dataloader.checks import Setting, order
from pytest_dataloader.checks.order import judge, measure
from pytest_dataloader.errors import EmptyEpoch
from pytest_dataloader.probe.samples.sequence import OrderFault, OrderFaultKind
from pytest_dataloader.probe.samples.worker_counts import WorkerCount
from tests.judgement import Judgement
from tests.variants import first_of_each, named, variants
from tests.zoo import evidence
from tests.zoo.case import assert_found
from tests.zoo.order import CLEAN, FAULTS, SIZE, UNSURE, EpochStream, Equal, Lying, Rotating, Rows, Stream, Thrice

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_dataloader.probe.samples.evidence import Order

SETTING = Setting(seconds=60.0, bench=True)
"""Ample on a busy machine too: what is said of an epoch that is not read to its end is another test."""


SEEN = evidence.ORDER
STREAM = replace(SEEN, iterable=True, sampler="", size=0, reshuffled=None)
IN_TURN = replace(SEEN, sampler="SequentialSampler", reshuffled=None)


def with_faults(*kinds: OrderFaultKind, source: str = "Rows", seen: Order = SEEN) -> Order:
    return replace(seen, faults=tuple(OrderFault(kind, source, f"is {kind}", 8) for kind in kinds))


CODES: dict[OrderFaultKind, str] = {
    "truncated": "DL309", "lost": "", "duplicated": "", "unsharded": "DL405", "starved": "", "not_reshuffled": "",
    "stale": "DL308", "differs_with_workers": "DL303", "uneven_sampler": "", "overwritten": "", "left_out": "",
    "whole": "", "same_order": "", "wrong_length": "", "unlike": "", "dropped_by_workers": "",
    "shared_by_workers": "DL405",
    "cut_by_len": "", "type_changes": "", "field_missing": "", "not_a_number": "", "gradients": "", "misaligned": "",
    "few_weights": "", "shuffle_undone": "", "batches_lost": "", "reused": "", "process_changed": "",
    "length_per_worker": "", "changed_in_place": "", "follows_readings": "",
    "hash_order": "", "hash_order_divided": "", "shuffles_itself": "", "ends_by_worker": "",
}  # fmt: skip
"""Of every kind of fault, the rule that finds it in code."""
MAY_BE_MEANT = {
    "uneven_sampler", "unlike", "same_order", "whole", "left_out", "dropped_by_workers", "shared_by_workers",
    "type_changes",
    "field_missing", "not_a_number", "gradients", "misaligned", "shuffle_undone", "reused", "process_changed",
    "follows_readings", "hash_order", "ends_by_worker",
}  # fmt: skip
VERDICTS = {
    "shuffled": Judgement(
        SEEN, "passed",
        "96 samples: no duplicates, none missing, reshuffled each epoch\n"
        "same content in a single process (96 compared)",
        in_full=True,
    ),
    "in turn": Judgement(
        IN_TURN, "passed",
        "96 samples: no duplicates, none missing\nsame content in a single process (96 compared)", in_full=True
    ),
    "too few to be reshuffled": Judgement(
        replace(SEEN, reshuffled=False, compared=0), "passed",
        "96 samples: no duplicates, none missing\ntoo few samples to see them reshuffled", in_full=True,
    ),
    "a part of an epoch": Judgement(
        replace(SEEN, compared=0, partly=("the first 96 samples were read", "more is to come")), "passed",
        "96 samples: no duplicates, none missing, reshuffled each epoch\n"
        "the first 96 samples were read\nmore is to come",
        in_full=True,
    ),
    "an epoch that ends early": Judgement(
        replace(SEEN, samples=(24, 24), unseen_batches=9, compared=24), "passed",
        "24 samples: no duplicates, reshuffled each epoch\n"
        "the epoch ended 9 batches before its len(): these were not seen",
    ),
    "several passes": Judgement(
        replace(SEEN, passes=3), "passed",
        "96 samples: no duplicates, none missing, reshuffled each epoch\n"
        "an epoch is 3 passes over the data"
    ),
    "two passes": Judgement(
        replace(SEEN, passes=2), "passed",
        "96 samples: no duplicates, none missing, reshuffled each epoch\n"
        "an epoch is 2 passes over the data"
    ),
    "a sampler that repeats": Judgement(
        replace(SEEN, repeated=4), "passed",
        "96 samples: as often as RandomSampler gives each, reshuffled each epoch\n"
        "it repeats 4 and leaves out 0 of 96",
    ),
    "a sampler that leaves out": Judgement(
        replace(SEEN, left_out=4), "passed",
        "96 samples: as often as RandomSampler gives each, reshuffled each epoch\n"
        "it repeats 0 and leaves out 4 of 96",
    ),
    "a sampler that leaves out the end": Judgement(
        replace(SEEN, left_out=4, never_read=4), "passed",
        "96 samples: as often as RandomSampler gives each, reshuffled each epoch\n"
        "it repeats 0 and leaves out 4 of 96, the last ones in every epoch", ("",),
    ),
    "a sampler without end": Judgement(
        replace(SEEN, endless=True, reshuffled=False), "passed",
        "96 samples, as RandomSampler gives them without end\niterated anew, it gives the same order", in_full=True,
    ),
    "a sampler without end, reshuffled": Judgement(
        replace(SEEN, endless=True), "passed", "96 samples, as RandomSampler gives them without end", in_full=True,
    ),
    "drop_last": Judgement(
        replace(SEEN, size=101, dropped_last=5, left_out=5), "passed",
        "96 samples: no duplicates, none missing, reshuffled each epoch\n"
        "drop_last drops 5 of 101 samples in every epoch",
    ),
    "drop_last of a stream": Judgement(
        replace(STREAM, dropped_last=5), "passed",
        "96 samples: no duplicates, none missing\ndrop_last drops 5 of 96 samples in every epoch\n"
        "same content in a single process (96 compared)",
    ),
    "a stream": Judgement(
        STREAM, "passed",
        "96 samples: no duplicates, none missing\nsame content in a single process (96 compared)", in_full=True
    ),
    "a stream of more batches than it says": Judgement(
        replace(STREAM, batches=8, batches_told=5), "passed",
        "96 samples: no duplicates, none missing\nsame content in a single process (96 compared)\n"
        "len(loader) is 5, and an epoch has 8 batches", in_full=True,
    ),
    "a stream that loses samples with fewer workers": Judgement(
        replace(STREAM, fewer_workers=(WorkerCount(1, 96), WorkerCount(2, 96), WorkerCount(3, 95))), "passed",
        "96 samples: no duplicates, none missing\nsame content in a single process (96 compared)\n"
        "95 samples with 3 workers",
        in_full=True,
    ),
    "a part of a stream": Judgement(
        replace(STREAM, partly=("the first 96 samples of an epoch were read",)), "passed",
        "96 samples of a stream: no two workers start with the same samples\n"
        "the first 96 samples of an epoch were read", in_full=True,
    ),
    "no sample": Judgement(
        replace(SEEN, samples=(0, 0)), "not_measured", "no sample came: the loader reads no dataset of its own",
        vacuous=True,
    ),
    "no sample in the second epoch": Judgement(
        replace(SEEN, samples=(96, 0)), "passed",
        "96 samples: no duplicates, none missing, reshuffled each epoch",
    ),
    "two faults": Judgement(
        with_faults("lost", "stale"), "failed", "Rows: is lost\nRows: is stale", ("", "DL308"), in_full=True
    ),
    "a sure fault behind what may be meant": Judgement(
        with_faults("same_order", "duplicated"), "failed",
        "Rows: is same_order\nRows: is duplicated", ("", "")
    ),
    "a sure fault before what may be meant": Judgement(
        with_faults("unsharded", "left_out"), "failed", "Rows: is unsharded\nRows: is left_out", ("DL405", "")
    ),
    "two that may be meant": Judgement(
        with_faults("same_order", "unlike"), "inconclusive",
        "Rows: is same_order\nRows: is unlike", ("", "")
    ),
    "a fault in the part that was read": Judgement(
        replace(with_faults("lost"), partly=("the first 24 samples of an epoch were read",)), "failed",
        "Rows: is lost\nthe first 24 samples of an epoch were read", ("",), in_full=True,
    ),
    "a fault, and no sample": Judgement(
        replace(with_faults("truncated"), samples=(0, 0)), "failed", "Rows: is truncated", ("DL309",)
    ),
    **{
        f"{kind}, alone": Judgement(
            with_faults(kind), "inconclusive" if kind in MAY_BE_MEANT else "failed", f"Rows: is {kind}", (code,)
        )
        for kind, code in CODES.items()
    },
}  # fmt: skip


@pytest.mark.parametrize("row", VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_follows_from_the_evidence(row: Judgement) -> None:
    assert row.of(judge) == row


def test_every_kind_of_fault_has_a_row() -> None:
    assert set(CODES) == set(get_args(OrderFaultKind))


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        (with_faults("lost"), "return one sample for each index from __getitems__"),
        (with_faults("lost", source="the loader"), "yield every batch"),
        (with_faults("lost", seen=STREAM), "give each sample to one worker"),
        (with_faults("duplicated", source="the loader"), "go through the sampler once"),
    ],
    ids=["lost by the dataset", "lost by the loader", "lost by a stream", "doubled by the loader"],
)
def test_what_to_change_depends_on_who_loses_samples(seen: Order, text: str) -> None:
    assert judge(seen).advice[0].text.startswith(text)


def setting_of(name: str) -> Setting:
    return Setting() if "without end" in name else SETTING


pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")  # more workers than this machine's CPUs


@pytest.mark.parametrize("name", named(FAULTS, first_of_each(FAULTS, lambda case: case.kind)))
def test_a_fault_is_found_and_named(name: str) -> None:
    case = FAULTS[name]
    seen = measure(case.make(), setting=setting_of(name))
    assert_found(case, seen.faults, judge(seen))


@pytest.mark.parametrize("name", UNSURE)
def test_what_may_be_meant_is_inconclusive(name: str) -> None:
    case = UNSURE[name]
    seen = measure(case.make(), setting=setting_of(name))
    assert [(fault.kind, fault.source) for fault in seen.faults] == [(case.kind, case.source)]
    assert judge(seen).outcome == "inconclusive"


TWINS = (
    "in order", "shuffled, persistent", "unbatched", "epoch shared with persistent workers",
    "stream that shares the epoch", "as many shards as workers", "weighted", "batches by pairs of columns",
    "a buffer of which samples are copies", "as many buffers as samples in a batch", "batches of pairs",
    "missing rows that no batch needs", "a loader that peeks", "stream of runs of equal labels", "stream of pairs",
    "stream of passes",
)  # fmt: skip


@pytest.mark.parametrize("name", named(CLEAN, TWINS))
def test_a_twin_is_not_accused(name: str) -> None:
    seen = measure(CLEAN[name].make(), setting=setting_of(name))
    assert judge(seen).outcome == "passed", judge(seen).reason


@pytest.mark.parametrize("method", named(["spawn", "forkserver"], ["forkserver"]))
def test_workers_that_are_not_forked_are_traced_too(method: str) -> None:
    seen = measure(DataLoader(Stream(sharded=False), 8, num_workers=2, multiprocessing_context=method), setting=SETTING)
    assert [fault.kind for fault in seen.faults] == ["unsharded"]
    seen = measure(DataLoader(Rows(), 8, True, num_workers=2, multiprocessing_context=method), setting=SETTING)
    assert (judge(seen).outcome, seen.compared) == ("passed", SIZE)


@pytest.mark.parametrize(("shuffle", "samples", "said"), [(True, SIZE, True), (True, 1, False), (False, SIZE, None)])
def test_whether_a_loader_reshuffles_is_stated(shuffle: bool, samples: int, said: bool | None) -> None:
    seen = measure(DataLoader(Subset(Rows(), range(samples)), 8, shuffle), setting=SETTING)
    told = {True: ", reshuffled each epoch", False: "\ntoo few samples to see them reshuffled", None: ""}[said]
    assert seen.reshuffled is said
    assert f"none missing{told}" in judge(seen).reason
    assert ("reshuffled" in judge(seen).reason) is bool(told)


def test_an_order_of_ones_own_that_changes_is_told() -> None:
    assert (
        ", reshuffled each epoch"
        in judge(measure(CLEAN["an order of its own that goes on"].make(), setting=SETTING)).reason
    )


def test_a_length_may_be_that_of_all_ranks() -> None:
    loader = DataLoader(Lying(4 * SIZE), 8, num_workers=2)
    assert judge(measure(loader, setting=SETTING)).outcome == "failed"
    assert judge(measure(loader, setting=replace(SETTING, ranks=4))).outcome == "passed"


@pytest.mark.parametrize("name", ["samples of a batch that come once", "batches by columns"])
def test_what_getitems_gives_is_held_against_one_process(name: str) -> None:
    verdict = judge(measure(CLEAN[name].make(), setting=SETTING))
    assert (verdict.outcome, "same content in a single process (96 compared)" in verdict.reason) == ("passed", True)


@pytest.mark.parametrize("dataset", [Rows, Stream])
def test_an_epoch_of_several_passes_is_told(dataset: type[Any]) -> None:
    told = judge(measure(Thrice(dataset(), 8, num_workers=2), setting=SETTING))
    assert told.outcome == "passed"
    assert told.reason.startswith(f"{3 * SIZE} samples: no duplicates, none missing\nan epoch is 3 passes")


def test_an_epoch_that_its_loader_ends_early_is_told() -> None:
    told = judge(measure(CLEAN["a loader that gives a few batches"].make(), setting=SETTING))
    assert told.outcome == "passed"
    assert "the epoch ended 9 batches before its len()" in told.reason
    assert "lost" not in told.reason


def test_a_buffer_that_is_read_into_again_is_explained() -> None:
    told = judge(measure(FAULTS["one buffer for all samples"].make(), setting=SETTING))
    assert "84 of 96 samples are overwritten before they are batched\nsamples of a batch share memory" in told.reason
    assert "return a copy" in told.advice[0].text


def test_what_a_stream_loses_is_counted_and_no_index_is_asked_for() -> None:
    verdict = judge(measure(FAULTS["rows lost between workers"].make(), setting=SETTING))
    assert "leaves out 3 samples that num_workers=0 gives" in verdict.reason
    assert "to one worker" in verdict.advice[0].text


def test_what_a_stream_gives_with_fewer_workers_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "_SECONDS", 60.0)
    seen = measure(DataLoader(Equal(40), 8, num_workers=4), setting=SETTING)
    assert [(each.workers, each.samples) for each in seen.fewer_workers] == [(1, 40), (2, 40), (3, 39)]
    assert "39 samples with 3 workers" in judge(seen).reason


def test_of_a_stream_without_end_nothing_is_said_of_its_whole() -> None:
    seen = measure(CLEAN["stream without end"].make(), setting=Setting())
    told = judge(seen).reason
    assert told.startswith(
        f"{seen.samples[0]:,} samples of a stream: no two workers start with the same samples\nthe first "
    )
    assert (seen.compared, "lost" in told) == (0, False)


class Everything(IterableDataset[Any]):
    """Gives all of 160 samples in each worker, in an order of its own, or draws as many with replacement."""

    def __init__(self, *, replacement: bool) -> None:
        self.replacement = replacement

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        draw = torch.Generator().manual_seed(0 if info is None else info.id)
        return iter(
            torch.randint(160, (160,), generator=draw) if self.replacement else torch.randperm(160, generator=draw)
        )


class Beginning(DataLoader[Any]):
    """Gives the first 28 batches of an epoch."""

    def __iter__(self) -> Any:
        return itertools.islice(super().__iter__(), 28)


@pytest.mark.parametrize(("replacement", "outcome"), [(False, "inconclusive"), (True, "passed")])
def test_samples_that_two_workers_gave_do_not_pass_in_a_part_of_an_epoch(replacement: bool, outcome: str) -> None:
    seen = measure(Beginning(Everything(replacement=replacement), 8, num_workers=2), setting=SETTING)
    verdict = judge(seen)
    assert verdict.outcome == outcome, verdict.reason
    assert (" read came from two workers" in verdict.reason) == (not replacement)


def test_an_epoch_without_samples_is_not_passed() -> None:
    with pytest.raises(EmptyEpoch, match="its epoch is empty"):
        measure(DataLoader(Subset(Rows(), []), 8, num_workers=2), setting=SETTING)


class Pausing(Thrice):
    """Takes longer than an epoch may take once it has given so many samples."""

    def __init__(self, *given: Any, after: int, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.after = after

    def __iter__(self) -> Any:
        given = 0
        for batch in super().__iter__():
            yield batch
            given += len(batch)
            if given == self.after:
                time.sleep(order._SECONDS)


CUTS = {
    f"{dataset.__name__}-{after}": (dataset, after) for dataset in (Rows, Stream) for after in (SIZE, SIZE + SIZE // 2)
}


@pytest.mark.parametrize(("dataset", "after"), variants(CUTS, ["Rows-144", "Stream-96"]))
def test_of_an_epoch_that_is_cut_after_its_first_pass_only_a_part_was_seen(dataset: type[Any], after: int) -> None:
    seen = measure(Pausing(dataset(), 8, num_workers=2, after=after), setting=Setting())
    assert (judge(seen).outcome, seen.passes, seen.samples[0] < 3 * SIZE) == ("passed", 1, True), judge(seen).reason
    assert judge(seen).reason.endswith(f"\nthe first {seen.samples[0]} samples of an epoch were read")


class Table(Dataset[Any]):
    """Rows that are read by slices."""

    def __len__(self) -> int:
        return 70

    def __getitem__(self, rows: slice) -> Any:
        return torch.arange(70)[rows]


@pytest.mark.parametrize(
    ("starts", "outcome", "words"),
    [
        (range(0, 70, 16), "passed", "70 samples: no duplicates, none missing"),
        (
            range(0, 64, 32),
            "passed",
            "32 samples: as often as list gives each\nit repeats 0 and leaves out 38 of 70",
        ),
    ],
)
def test_a_slice_is_the_samples_that_it_takes(starts: range, outcome: str, words: str) -> None:
    loader = DataLoader(Table(), batch_size=None, sampler=[slice(start, start + 16) for start in starts])
    verdict = judge(measure(loader, setting=SETTING))
    assert (verdict.outcome, verdict.reason[: len(words)]) == (outcome, words)


REST = """
from torch.utils.data import IterableDataset, get_worker_info


class Rest(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        each = 61 // info.num_workers if info else 61
        begin = info.id * each if info else 0
        return iter(range(begin, begin + each))
"""


@pytest.mark.parametrize(("folder", "outcome"), [("site-packages", "inconclusive"), ("src", "failed")])
def test_the_rest_of_a_librarys_stream_is_not_called_lost(
    folder: str, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath(folder).mkdir()
    tmp_path.joinpath(folder, "streams_with_a_rest.py").write_text(REST)
    monkeypatch.syspath_prepend(tmp_path / folder)
    monkeypatch.delitem(sys.modules, "streams_with_a_rest", raising=False)
    stream = importlib.import_module("streams_with_a_rest").Rest()
    verdict = judge(measure(DataLoader(stream, 4, num_workers=2), setting=SETTING))
    says = "leaves out 1 of 61 samples that" if outcome == "inconclusive" else "leaves out 1 sample that"
    assert (verdict.outcome, says in verdict.reason) == (outcome, True), verdict.reason


class CutFirst(Sampler[int]):
    """Whole batches of eight, cut before or after they are shuffled."""

    def __init__(self, size: int, *, cut_first: bool) -> None:
        self.size, self.cut_first = size, cut_first

    def __iter__(self) -> Iterator[int]:
        whole = self.size // 8 * 8
        yield from torch.randperm(whole if self.cut_first else self.size)[:whole].tolist()


@pytest.mark.parametrize(
    ("sampler", "never_read"),
    [
        (CutFirst(45, cut_first=True), 5),
        (CutFirst(45, cut_first=False), 0),
        (CutFirst(48, cut_first=True), 0),
        (SubsetRandomSampler(range(40)), 0),
        (range(40), 0),
    ],
    ids=["cut first", "shuffled first", "no rest", "a split", "in order"],
)
def test_samples_at_the_end_that_no_epoch_has_are_told(sampler: Any, never_read: int) -> None:
    size = getattr(sampler, "size", 45)
    seen = measure(DataLoader(Rows(size), 8, sampler=sampler), setting=SETTING)
    advice = [each.text for each in judge(seen).advice]
    assert (seen.never_read, any("never read" in text for text in advice)) == (never_read, never_read > 0)


class Endless(Sampler[int]):
    """One long order from a seed of its own, which a training iterates once."""

    def __init__(self, size: int) -> None:
        self.size, self.shuffle = size, True

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(3)
        while True:
            yield from torch.randperm(self.size, generator=generator).tolist()


def test_a_sampler_that_does_not_end_is_not_asked_for_another_order() -> None:
    verdict = judge(measure(DataLoader(Rows(SIZE), 8, sampler=Endless(SIZE), num_workers=2), setting=SETTING))
    assert verdict.outcome == "passed"
    assert "samples, as Endless gives them without end\niterated anew, it gives the same order" in verdict.reason


class Growing(Sampler[int]):
    """More samples in each epoch; its length is known at its start, or only at its end."""

    def __init__(self, *, at_its_end: bool) -> None:
        self.epoch, self.at_its_end = 0, at_its_end
        self.length = 1

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        gives = torch.randperm(40 + 20 * self.epoch).tolist()
        self.length = len(gives)
        yield from gives

    def __len__(self) -> int:
        return self.length if self.at_its_end else 40 + 20 * self.epoch


@pytest.mark.parametrize("at_its_end", [False, True])
def test_the_length_of_a_sampler_is_that_of_the_epoch(at_its_end: bool) -> None:
    sampler = Growing(at_its_end=at_its_end)
    seen = measure(DataLoader(Rows(SIZE), batch_size=None, sampler=sampler), setting=SETTING)
    assert [fault.detail for fault in seen.faults] == []


def test_what_drop_last_costs_is_stated() -> None:
    verdict = judge(measure(CLEAN["drop_last"].make(), setting=SETTING))
    assert (verdict.outcome, "drop_last drops 5 of 93 samples in every epoch" in verdict.reason) == ("passed", True)


def test_what_drop_last_costs_of_a_stream_is_stated() -> None:
    loader = DataLoader(Stream(), 7, num_workers=3, drop_last=True)
    given = sum(map(len, loader))
    assert (
        f"drop_last drops {SIZE - given} of 96 samples in every epoch" in judge(measure(loader, setting=SETTING)).reason
    )
    assert given == SIZE - 12


def test_what_was_seen_only_in_part_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "_MOST", 24)
    seen = measure(DataLoader(Rows(), 8, True, num_workers=2), setting=SETTING)
    assert "the first 24 samples of an epoch were read" in judge(seen).reason
    assert (judge(seen).outcome, seen.left_out, seen.samples) == ("passed", 0, (24, 24))
    assert [fault.kind for fault in measure(FAULTS["unsharded stream"].make(), setting=SETTING).faults] == ["unsharded"]
    assert judge(measure(CLEAN["stream"].make(), setting=SETTING)).outcome == "passed"


def test_the_loader_its_epoch_and_random_states_are_as_they_were() -> None:
    dataset = Rotating(3)
    sampler: Any = DistributedSampler(dataset, num_replicas=2, rank=0)
    sampler.set_epoch(7)
    for loader in (
        DataLoader(dataset, 8, sampler=sampler, num_workers=2),
        DataLoader(dataset, 8, sampler=RandomSampler(dataset)),
        DataLoader(EpochStream(5), 8, num_workers=1, persistent_workers=True),
    ):
        attributes, state, python = dict(vars(loader)), torch.get_rng_state(), random.getstate()
        measure(loader, setting=SETTING)
        assert vars(loader) == attributes
        assert torch.equal(state, torch.get_rng_state())
        assert python == random.getstate()
        assert (dataset.epoch, sampler.epoch) == (3, 7)
        assert loader.dataset.epoch in (3, 5)  # type: ignore[attr-defined]  # both kinds have one
