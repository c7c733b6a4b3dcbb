"""The sampled walk: what it counts, how it names it, and what it leaves alone."""

from __future__ import annotations

import random
from collections import deque, namedtuple
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import ConcatDataset, Dataset, Subset

from pytest_dataloader.probe.loader.positions import draw
from pytest_dataloader.probe.memory.objects import Walk, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_dataloader.probe.memory.exposure import Exposure

SIZE = 40_000
MODULE_ROWS: list[str] = []


def name(at: int) -> str:
    return f"/data/train/{at:09d}.jpg"  # 25 characters: 80 bytes as an object


class Fields(Dataset[Any]):
    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, at: int) -> Any:
        raise AssertionError("walking must not read samples")


@dataclass
class Record:
    path: str
    label: int


@dataclass(slots=True)
class Slotted:
    path: str


Pair = namedtuple("Pair", "path label")


def walked(thing: Any) -> Walk:
    return walk([("dataset", thing)], positions=draw(SIZE, 2064), universe=SIZE, seconds=20.0)


def found(seen: Walk, path: str) -> Exposure:
    slots = {slot.path: slot for slot in seen.exposures if slot.type != "NoneType"}
    assert path in slots, sorted(slots)
    return slots[path]


@pytest.mark.parametrize(
    ("make", "path", "size"),
    [
        (lambda: {"rows": [name(at) for at in range(SIZE)]}, "dataset.rows[*]", 80),
        (lambda: {"rows": tuple(name(at) for at in range(SIZE))}, "dataset.rows[*]", 80),
        (lambda: {"rows": deque(name(at) for at in range(SIZE))}, "dataset.rows[*]", 80),
        (lambda: {"rows": {name(at) for at in range(SIZE)}}, "dataset.rows[*]", 80),
        (lambda: {"rows": {at: name(at) for at in range(SIZE)}}, "dataset.rows[*]", 80),
        (lambda: {"rows": {name(at): None for at in range(SIZE)}}, "dataset.rows.keys()", 80),
        (lambda: {"rows": [(name(at), at) for at in range(SIZE)]}, "dataset.rows[*][0]", 80),
        (lambda: {"rows": [{"path": name(at)} for at in range(SIZE)]}, "dataset.rows[*]['path']", 80),
        (lambda: {"rows": [Record(name(at), at) for at in range(SIZE)]}, "dataset.rows[*].path", 80),
        (lambda: {"rows": [Slotted(name(at)) for at in range(SIZE)]}, "dataset.rows[*].path", 80),
        (lambda: {"rows": [Pair(name(at), at) for at in range(SIZE)]}, "dataset.rows[*].path", 80),
        (lambda: {"rows": [[at + 0.5] for at in range(SIZE)]}, "dataset.rows[*][0]", 32),
        (lambda: {"columns": {"path": [name(at) for at in range(SIZE)]}}, "dataset.columns['path'][*]", 80),
        (lambda: {"rows": np.array([name(at) for at in range(SIZE)], dtype=object)}, "dataset.rows[*]", 80),
        (
            lambda: {"frame": pd.DataFrame({"p": pd.Series(map(name, range(SIZE)), dtype=object)})},
            "dataset.frame['p'][*]",
            80,
        ),
        (lambda: {"rows": [np.zeros(2) for _ in range(SIZE)]}, "dataset.rows[*]", 96),
        (lambda: {"index": Record([name(at) for at in range(SIZE)], 0)}, "dataset.index.path[*]", 80),  # type: ignore[arg-type]
    ],
)
def test_what_is_exposed_is_counted_and_named(make: Callable[[], dict[str, Any]], path: str, size: int) -> None:
    dataset = Fields(**make())
    slot = found(walked(dataset), path)
    assert slot.count == pytest.approx(SIZE, rel=0.03)
    assert slot.exposed / slot.count == pytest.approx(size, rel=0.02)


@pytest.mark.parametrize(
    "make",
    [
        lambda: {"rows": np.zeros((SIZE, 4))},
        lambda: {"rows": torch.zeros(SIZE, 4)},
        lambda: {"rows": np.array([name(at) for at in range(SIZE)])},
        lambda: {"rows": [np.zeros(SIZE) for _ in range(20)]},
        lambda: {"rows": b"".join(name(at).encode() for at in range(SIZE))},
        lambda: {"rows": [at % 100 for at in range(SIZE)]},
        lambda: {"frame": pd.DataFrame({"x": np.zeros(SIZE)})},
        lambda: {"rows": [None] * SIZE},
    ],
    ids=["numpy", "tensor", "fixed width", "few arrays", "bytes", "small integers", "frame of numbers", "None"],
)
def test_what_holds_no_object_per_sample_exposes_next_to_nothing(make: Callable[[], dict[str, Any]]) -> None:
    assert sum(slot.exposed for slot in walked(Fields(**make())).exposures if not slot.content) < 20_000


def test_the_elements_of_arrays_are_counted_apart_and_once() -> None:
    rows = np.ones((4000, 100))
    fields = Fields(
        rows=rows, views=list(rows), tensor=torch.from_numpy(rows), few=[np.ones(10_000) for _ in range(40)]
    )
    found = {slot.path: slot.exposed for slot in walked(fields).exposures if slot.content}
    assert found == {"dataset.rows": 3_200_000, "dataset.few[*]": pytest.approx(3_200_000)}


def test_shared_objects_are_counted_once_in_all() -> None:
    labels = [name(at) for at in range(100)]
    rows = [labels[at % 100] for at in range(SIZE)]
    del labels
    assert found(walked(Fields(rows=rows)), "dataset.rows[*]").count == pytest.approx(100, rel=0.05)


def test_an_alias_is_walked_once() -> None:
    rows = [name(at) for at in range(SIZE)]
    seen = walked(Fields(rows=rows, images=rows))
    assert sum(slot.count for slot in seen.exposures if slot.type == "str") == pytest.approx(SIZE, rel=0.03)


def test_two_lists_of_the_same_objects_are_counted_half_each() -> None:
    rows = [name(at) for at in range(SIZE)]
    seen = walked(Fields(rows=rows, again=list(rows)))
    assert sum(slot.count for slot in seen.exposures if slot.type == "str") == pytest.approx(SIZE, rel=0.05)


def test_a_list_that_the_test_keeps_does_not_halve_the_count() -> None:
    kept = [name(at) for at in range(SIZE)]
    slot = found(walked(Fields(rows=list(kept))), "dataset.rows[*]")
    assert slot.count == pytest.approx(len(kept), rel=0.03)


def test_subsets_and_concatenations_are_sampled_where_reading_reads() -> None:
    order = list(range(SIZE))
    random.Random(3).shuffle(order)
    rows = [name(at) for at in range(SIZE)]
    positions = draw(SIZE, 2064)
    slot = found(walked(Subset(Fields(rows=rows), order)), "dataset.dataset.rows[*]")
    read = {id(rows[order[position]]) // 4096 for position in positions}
    ranked = [page for page, rank in zip(slot.pages, slot.ranks, strict=True) if rank >= 0]
    assert len(ranked) == 768
    assert set(ranked) <= read

    seen = walked(ConcatDataset([Fields(rows=rows), Fields(rows=[name(-at) for at in range(SIZE)])]))
    first, second = found(seen, "dataset.datasets[0].rows[*]"), found(seen, "dataset.datasets[1].rows[*]")
    # Positions of the whole below SIZE lie in the first part, at themselves.
    assert max(first.ranks) > 0
    assert set(second.ranks) == {-1}


def test_closures_class_attributes_and_globals_are_reached() -> None:
    MODULE_ROWS[:] = [name(at) for at in range(SIZE)]
    rows = [name(at) for at in range(SIZE)]

    class Declared(Fields):
        ROWS = tuple(name(at) for at in range(SIZE))

        def __getitem__(self, at: int) -> Any:
            return MODULE_ROWS[at]

    seen = walked(Declared(transform=lambda at: rows[at]))
    paths = {slot.path for slot in seen.exposures if slot.count > SIZE * 0.9}
    assert {"dataset.ROWS[*]", "dataset.transform.closure['rows'][*]"} <= paths
    assert any(path.endswith("MODULE_ROWS[*]") for path in paths)
    MODULE_ROWS.clear()


def test_objects_that_refuse_to_be_looked_into_are_passed_by() -> None:
    class Hostile(list[int]):
        def __len__(self) -> int:
            raise RuntimeError("do not count me")

    seen = walked(Fields(hostile=Hostile([1, 2]), rows=[name(at) for at in range(SIZE)]))
    assert found(seen, "dataset.rows[*]").count == pytest.approx(SIZE, rel=0.03)


def test_cycles_end() -> None:
    ring: dict[str, Any] = {}
    ring["self"] = ring
    assert walked(Fields(ring=ring, me=[ring, [ring]])).complete


def test_what_a_class_of_thousands_of_methods_holds_is_walked_to_its_end() -> None:
    many = {f"method_{at}": lambda _self, at=at: at for at in range(4000)}
    assert walked(type("Wide", (Fields,), many)(names=[name(0)])).complete


def test_a_walk_out_of_time_says_so() -> None:
    deep: list[Any] = [name(at) for at in range(SIZE)]
    seen = walk([("dataset", Fields(rows=deep))], positions=(), universe=0, seconds=-1.0)
    assert not seen.complete


def test_walking_leaves_no_dict_on_instances_that_had_none_and_no_random_state_moved() -> None:
    state = random.getstate(), torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()  # type: ignore[index]
    walked(Fields(rows=[Record(name(at), at) for at in range(SIZE)]))
    after = random.getstate(), torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()  # type: ignore[index]
    assert after == state


def test_memory_in_another_order_than_the_samples_is_noticed() -> None:
    rows = [name(at) for at in range(SIZE)]
    shuffled = random.Random(5).sample(rows, SIZE)
    order = random.Random(6).sample(range(SIZE), SIZE)
    assert walked(Fields(rows=rows)).scattered == set()
    assert walked(Fields(rows=shuffled)).scattered == {"dataset.rows"}
    assert "dataset.dataset.rows" in walked(Subset(Fields(rows=rows), order)).scattered
    assert walked(Subset(Fields(rows=rows), range(0, SIZE, 2))).scattered == set()
