"""The fields of batches: types that change, NaN, gradients, fields that are missing or mixed; and right twins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, WeightedRandomSampler, default_collate

from pytest_dataloader.checks import Setting
from pytest_dataloader.checks.order import judge, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SETTING = Setting(seconds=30.0, bench=True)
SIZE = 64


class Made(Dataset[Any]):
    """Samples that a function makes of their index."""

    def __init__(self, make: Callable[[int], Any], size: int = SIZE) -> None:
        self.make = make
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Any:
        return self.make(index)


def row(index: int) -> torch.Tensor:
    return torch.full((16,), float(index))


def text(index: int) -> torch.Tensor:
    return torch.full((3 + index * 7 % 11,), index)


LAYER = torch.nn.Linear(16, 4)


def normalised(index: int) -> tuple[torch.Tensor, int]:
    sample = row(index) - row(20)
    return sample / sample.abs().max(), index


def sorted_apart(samples: list[Any]) -> Any:
    texts = sorted((text for text, _ in samples), key=len, reverse=True)
    return pad_sequence(texts, batch_first=True), torch.tensor([label for _, label in samples])


def sorted_together(samples: list[Any]) -> Any:
    samples = sorted(samples, key=lambda sample: len(sample[0]), reverse=True)
    return pad_sequence([text for text, _ in samples], batch_first=True), torch.tensor([at for _, at in samples])


def optional(index: int) -> dict[str, torch.Tensor]:
    return {"row": row(index)} | ({"mask": row(1)} if index % 3 else {})


def by_the_first(samples: list[Any]) -> Any:
    return {key: torch.stack([each[key] for each in samples if key in each]) for key in samples[0]}


def filled(samples: list[Any]) -> Any:
    return {key: torch.stack([each.get(key, torch.zeros(16)) for each in samples]) for key in ("row", "mask")}


def rows_alone(samples: list[Any]) -> Any:
    return {"row": torch.stack([each["row"] for each in samples])}


def mixed_up(samples: list[Any]) -> Any:
    rows, labels = default_collate(samples)
    return (rows + rows.flip(0)) / 2, labels, labels.flip(0)


FAULTS: dict[str, tuple[Callable[[int], Any], Any, str, str]] = {
    "a type that changes": (
        lambda index: (row(index), index if index < 32 else index / 2), None, "type_changes", "[1] is "
    ),
    "an array whose type changes": (
        lambda index: {"x": np.full(4, index, dtype=np.float32 if index < 32 else np.float64)}, None, "type_changes",
        "['x'] is float32 in 4 batches and float64 in 4 batches",
    ),
    "a sample divided by zero": (normalised, None, "not_a_number", "[0] is all NaN in 1 of 64 samples"),
    "gradients": (
        lambda index: LAYER(row(index)), None, "gradients", "a batch requires gradients in 8 of 8 batches"
    ),
    "texts sorted without their labels": (
        lambda index: (text(index), index), sorted_apart, "misaligned", "rows of [1] belong to another sample"
    ),
    "rows sorted without their classes": (
        lambda index: (text(index), index % 3), sorted_apart, "misaligned", "rows of [1] belong to another sample"
    ),
    "fields of the first sample": (
        optional, by_the_first, "field_missing", "['mask'] has fewer rows than samples in "
    ),
}  # fmt: skip

TWINS: dict[str, tuple[Callable[[int], Any], Any]] = {
    "rows and labels": (lambda index: (row(index), index), None),
    "one sample without a dimension": (lambda index: index, None),
    "texts padded in their order": (lambda index: (text(index), index), sorted_together),
    "texts padded in their order, and classes": (lambda index: (text(index), index % 3), sorted_together),
    "optional fields filled in": (optional, filled),
    "optional fields left out": (optional, rows_alone),
    "rows that are mixed on purpose": (lambda index: (row(index), index), mixed_up),
    "missing values marked by NaN": (lambda index: (torch.tensor([index, float("nan")]), torch.tensor(index)), None),
    "missing labels marked by NaN": (lambda index: (row(index), torch.tensor(float("nan") if index % 2 else 1)), None),
    "samples that are all alike": (lambda _: (row(1), 1), sorted_together),
    "two views of a sample": (lambda index: [row(index), row(index) + 0.5], None),
    "texts": (lambda index: {"text": f"text {index}", "length": index}, None),
    "samples as they are": (lambda index: (row(index), index), list),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_a_loop_cannot_rely_on_is_named(name: str) -> None:
    make, collate, kind, words = FAULTS[name]
    seen = measure(DataLoader(Made(make), 8, collate_fn=collate), setting=SETTING)
    assert [fault.kind for fault in seen.faults] == [kind]
    assert judge(seen).outcome == "inconclusive"
    assert words in judge(seen).reason


@pytest.mark.parametrize("name", TWINS)
def test_fields_that_are_right_are_not_accused(name: str) -> None:
    make, collate = TWINS[name]
    seen = measure(DataLoader(Made(make), 8, shuffle=True, collate_fn=collate), setting=SETTING)
    assert (judge(seen).outcome, seen.faults) == ("passed", ())


def test_fields_are_seen_in_workers_too() -> None:
    seen = measure(DataLoader(Made(normalised), 8, shuffle=True, num_workers=2), setting=SETTING)
    assert "Made: [0] is all NaN in 1 of 64 samples" in judge(seen).reason
    assert [(field.path, field.kinds) for field in seen.fields] == [("[0]", {"float32": 8}), ("[1]", {"int64": 8})]


@pytest.mark.parametrize(
    ("make", "settings", "note", "advice"),
    [
        (lambda at: (row(at), at / 3), {}, "\n[1] is float64, made of Python floats", "unless float64 is intended"),
        (lambda at: at / 3, {}, "", ""),
        (lambda at: {"box": [at, at + 1]}, {}, "\n['box']: a list of 2 numbers becomes a list of 2 tensors", "tensor"),
        (lambda at: (row(at), float("nan")), {}, "\nNaN in [1] of 64 of 64 samples", ""),
        (row, {"batch_size": 9, "shuffle": True}, "\nthe last batch of an epoch has 1 sample", "drop_last=True) if"),
        (row, {"batch_size": 9}, "", ""),
        (row, {"batch_size": 9, "shuffle": True, "drop_last": True}, "", ""),
        (row, {"batch_size": 1, "shuffle": True}, "", ""),
    ],
)
def test_what_a_loop_should_know_is_told_and_passes(
    make: Callable[[int], Any], settings: dict[str, Any], note: str, advice: str
) -> None:
    verdict = judge(measure(DataLoader(Made(make), **({"batch_size": 8} | settings)), setting=SETTING))
    assert verdict.outcome == "passed"
    assert note in verdict.reason
    if note:
        assert not advice or any(advice in each.text for each in verdict.advice)
    else:
        assert (verdict.advice, "hold NaN" in verdict.reason, "last batch" in verdict.reason) == ((), False, False)


def test_weights_of_classes_are_told_from_those_of_samples() -> None:
    loader = DataLoader(Made(row), 8, sampler=WeightedRandomSampler([1.0, 3.0], SIZE))
    verdict = judge(measure(loader, setting=SETTING))
    assert verdict.outcome == "failed"
    assert "WeightedRandomSampler: 2 weights for 64 samples\nonly the first 2 samples are ever drawn" in verdict.reason


class Kept(Sampler[int]):
    """Shuffles, and gives what a set, a dict, or a sorted list makes of it."""

    def __init__(self, kept: Callable[[list[int]], Any]) -> None:
        self.kept = kept

    def __iter__(self) -> Iterator[int]:
        return iter(self.kept(torch.randperm(SIZE).tolist()))

    def __len__(self) -> int:
        return SIZE


@pytest.mark.parametrize(
    ("kept", "outcome"), [(set, "inconclusive"), (sorted, "inconclusive"), (dict.fromkeys, "passed")]
)
def test_a_shuffle_that_is_undone_is_named(kept: Callable[[list[int]], Any], outcome: str) -> None:
    verdict = judge(measure(DataLoader(Made(row), 8, sampler=Kept(kept)), setting=SETTING))
    undone = "Kept: draws random numbers, but gives the stored order in both epochs"
    assert (verdict.outcome, undone in verdict.reason) == (outcome, outcome == "inconclusive")


class Buffered(IterableDataset[Any]):
    """A stream that is shuffled in a buffer."""

    def __init__(self, buffer: int) -> None:
        self.buffer = buffer

    def __iter__(self) -> Iterator[Any]:
        held: list[int] = []
        for index in range(600):
            held.append(index)
            if len(held) == self.buffer:
                yield held.pop(int(torch.randint(len(held), ())))
        yield from (held[at] for at in torch.randperm(len(held)).tolist())


@pytest.mark.parametrize(("buffer", "told"), [(1, False), (4, True), (600, False)])
def test_a_stream_whose_batches_are_made_of_neighbours_is_told(buffer: int, told: bool) -> None:
    verdict = judge(measure(DataLoader(Buffered(buffer), 8), setting=SETTING))
    assert (verdict.outcome, "shared a batch in the epoch before" in verdict.reason) == ("passed", told)
    assert any("enlarge the shuffle buffer" in each.text for each in verdict.advice) is told


class Modes(Made):
    """Changes a mode of torch in the process that reads it, and puts it back or does not."""

    def __init__(self, *, back: bool) -> None:
        super().__init__(row)
        self.back = back

    def __getitem__(self, index: int) -> Any:
        torch.set_grad_enabled(False)
        made = row(index)
        if self.back:
            torch.set_grad_enabled(True)
        return made


@pytest.mark.parametrize(
    ("back", "workers", "outcome"), [(False, 0, "inconclusive"), (True, 0, "passed"), (False, 1, "passed")]
)
def test_modes_that_reading_changes_for_the_training_loop_are_told(back: bool, workers: int, outcome: str) -> None:
    try:
        verdict = judge(measure(DataLoader(Modes(back=back), 8, num_workers=workers), setting=SETTING))
    finally:
        torch.set_grad_enabled(True)
    told = "Modes: changes for the loop that iterates it: gradients from on to off" in verdict.reason
    assert (verdict.outcome, told) == (outcome, outcome == "inconclusive")
