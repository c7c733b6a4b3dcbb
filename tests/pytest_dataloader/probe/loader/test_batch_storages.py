"""What a batch weighs on its way to another process, and a collate function that makes it lighter."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset, default_collate

from pytest_dataloader.probe.loader.batch_storages import (
    CompactCollate,
    EightBits,
    Uint8Collate,
    eight_bit_fields,
    weigh,
)

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


PIXELS = torch.randint(0, 256, (8, 3, 64, 96), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
SCALED = PIXELS.float() / 255
NORMALISED = (SCALED - torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)) / torch.tensor([0.229, 0.224, 0.225]).view(
    3, 1, 1
)


@pytest.mark.parametrize(
    "tensor",
    [
        SCALED,
        NORMALISED,
        NORMALISED.permute(0, 2, 3, 1),
        SCALED[0],
        SCALED[:, :1],
        PIXELS.double() / 127.5 - 1,
        PIXELS.long() % 21,
        PIXELS[:, 0].float().gt(99).float(),
    ],
    ids=["0 to 1", "normalised", "channels last", "one image", "grey", "float64", "labels of pixels", "masks"],
)
def test_images_in_a_wider_type_are_seen(tensor: torch.Tensor) -> None:
    (seen,) = eight_bit_fields([{"image": tensor}, torch.zeros(8)])
    assert (seen.path, seen.type) == ("[0]['image']", str(tensor.dtype).removeprefix("torch."))
    assert (seen.bytes, seen.uint8_bytes) == (tensor.nbytes, tensor.numel())


@pytest.mark.parametrize(
    "tensor",
    [
        PIXELS,
        torch.nn.functional.interpolate(SCALED, size=(70, 100), mode="bilinear"),
        SCALED * torch.linspace(0.5, 1.0, 96),
        torch.zeros(8, 3, 64, 96),
        torch.arange(8.0).view(8, 1).expand(8, 10_000),
        torch.full((8, 10_000), float("nan")),
        torch.arange(8 * 10_000) % 1000,
        SCALED[:, :, :16, :16],
        torch.where(SCALED > 0.5, SCALED**2, SCALED),
    ],
    ids=["uint8", "resized", "shaded", "zeros", "a number each", "NaN", "identifiers", "little", "no even steps"],
)
def test_other_data_is_not(tensor: torch.Tensor) -> None:
    assert eight_bit_fields([tensor]) == ()


def stacked(samples: Any) -> Any:
    return torch.stack([image for image, _ in samples]), [label for _, label in samples]


@pytest.mark.parametrize("collate", [default_collate, stacked])
def test_a_batch_in_uint8_has_it_in_the_fields_that_it_would_hold(collate: Any) -> None:
    loader = DataLoader(TensorDataset(SCALED, torch.arange(8.0)), batch_size=4, collate_fn=collate)
    (field,) = eight_bit_fields(next(iter(loader)))
    assert field == EightBits("[0]", "float32", 4 * 3 * 64 * 96 * 4, 4 * 3 * 64 * 96)
    images, labels = Uint8Collate(collate, frozenset([field.path]))([(SCALED[at], at / 2) for at in range(4)])
    assert (images.dtype, images.shape) == (torch.uint8, (4, 3, 64, 96))
    assert list(labels) == [0.0, 0.5, 1.0, 1.5]
