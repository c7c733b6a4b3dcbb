"""What a batch weighs on its way to another process, and a collate function that makes it lighter."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import torch

from pytest_dataloader.probe.loader.batch_storages import CompactCollate, weigh

STORAGE = torch.zeros(1000, 10)


def test_what_crosses_is_told_by_its_way() -> None:
    seen = weigh({"view": STORAGE[:2], "array": np.zeros(500), "names": ["a"] * 3, "empty": torch.zeros(0)})
    assert (seen.storage_bytes, seen.shared_bytes, seen.tensor_bytes) == ((40_000,), 40_000, 80)
    assert seen.array_bytes == 4000
    assert 4000 < seen.piped_bytes < 4200


def test_a_storage_that_tensors_show_in_turns_is_shown() -> None:
    assert weigh(list(STORAGE)).tensor_bytes == 40_000
    assert weigh([STORAGE, STORAGE.t()]).tensor_bytes == 40_000


def as_it_is(batch: Any) -> Any:
    return batch


def test_a_compact_batch_has_tensors_and_no_more_than_they_show() -> None:
    fixed = np.arange(4)
    fixed.flags.writeable = False
    batch: dict[str, Any] = {"rows": [STORAGE[0], np.arange(3.0)], "label": (fixed, "cat"), "texts": np.array(["a"])}
    made = pickle.loads(pickle.dumps(CompactCollate(as_it_is)))(batch)
    assert weigh(made).shared_bytes == weigh(made).tensor_bytes == 40 + 24 + 32
    assert torch.equal(made["rows"][1], torch.arange(3.0, dtype=torch.float64))
    assert (made["label"][0].tolist(), made["label"][1]) == ([0, 1, 2, 3], "cat")
    assert made["texts"] is not None
    assert weigh(made).array_bytes == batch["texts"].nbytes


def test_a_batch_that_is_compact_is_left_as_it_is() -> None:
    rows = list(STORAGE)
    assert all(one is other for one, other in zip(CompactCollate(as_it_is)(rows), rows, strict=True))
