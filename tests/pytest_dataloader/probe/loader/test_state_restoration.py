"""What iterating a loader changes is put back."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Sampler, Subset, TensorDataset

from pytest_dataloader.probe.loader.state_restoration import preserve_state

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Recording(Dataset[Any]):
    """Keeps generators, a counter, a cache and a lazily opened file, as datasets do."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file: Any = None
        self.reads = 0
        self.python = random.Random(1)
        self.numpy = np.random.default_rng(1)
        self.legacy = np.random.RandomState(1)
        self.torch = torch.Generator().manual_seed(1)

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        if self.file is None:
            self.file = self.path.open()
        self.reads += 1
        return (
            self.python.random(), self.numpy.random(), self.legacy.rand(), torch.rand(1, generator=self.torch).item(),
            random.random(), np.random.rand(), torch.rand(1).item(),
        )  # fmt: skip


class Jitter:
    """A transform with a generator of its own."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(2)

    def __call__(self, batch: Any) -> Any:
        return batch, self.generator.random()


class Counting(Sampler[int]):
    """Counts its epochs, as hand-written distributed samplers do."""

    def __init__(self) -> None:
        self.epoch = 0

    def __iter__(self) -> Any:
        self.epoch += 1
        return iter(range(6))

    def __len__(self) -> int:
        return 6


@pytest.fixture
def data(tmp_path: Path) -> Recording:
    (tmp_path / "data").write_text("data")
    return Recording(tmp_path / "data")


@pytest.mark.parametrize("wrapped", ["plain", "subset", "concatenated"])
def test_a_loader_draws_the_same_numbers_as_if_it_had_not_been_iterated(data: Recording, wrapped: str) -> None:
    inner: Dataset[Any] = data
    if wrapped == "subset":
        inner = Subset(data, range(6))
    if wrapped == "concatenated":
        inner = ConcatDataset([data])
    shuffled = torch.Generator().manual_seed(3)
    loader = DataLoader(inner, batch_size=2, shuffle=True, generator=shuffled, collate_fn=Jitter())
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    with preserve_state(loader):
        first = list(loader)
    second = list(loader)
    assert str(first) == str(second)
    assert data.file is not None
    data.file.close()


def test_a_file_that_was_opened_on_the_way_is_closed_and_forgotten(data: Recording) -> None:
    loader = DataLoader(data)
    with preserve_state(loader):
        next(iter(loader))
        opened = data.file
    assert opened.closed
    assert (data.file, data.reads) == (None, 0)


def test_a_file_that_was_open_before_stays_open(data: Recording) -> None:
    data.file = data.path.open()
    with preserve_state(DataLoader(data)):
        data[0]
    assert not data.file.closed
    data.file.close()


def test_samplers_forget_the_epochs() -> None:
    sampler = Counting()
    loader: DataLoader[Any] = DataLoader(range(6), sampler=sampler)  # type: ignore[arg-type]  # has what it takes
    with preserve_state(loader):
        list(loader)
    assert sampler.epoch == 0


def test_states_are_put_back_when_the_loader_raises(data: Recording) -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    with pytest.raises(ZeroDivisionError), preserve_state(DataLoader(data)):
        _ = 1 / int(torch.rand(3).sum() * 0)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_users_client_is_not_turned_back() -> None:
    class Client:
        connected = False

        def connect(self) -> None:
            self.connected = True

    class Remote(Dataset[int]):
        def __init__(self) -> None:
            self.client = Client()

        def __getitem__(self, index: int) -> int:
            self.client.connect()
            return index

    data = Remote()
    with preserve_state(DataLoader(data, sampler=[0])):
        data[0]
    assert data.client.connected


class Endless(Sampler[int]):
    """Goes on with one generator in every epoch, as OpenMMLab's samplers do."""

    def __init__(self) -> None:
        self.rows = (row % 6 for row in itertools.count())

    def __iter__(self) -> Iterator[int]:
        yield from self.rows


def test_a_sampler_goes_on_after_an_epoch_that_was_left() -> None:
    data = TensorDataset(torch.arange(6))
    loader = DataLoader(data, batch_size=2, sampler=Endless())
    generator = vars(loader.sampler)["rows"]
    for _ in range(2):
        with preserve_state(loader):
            assert next(iter(loader))
    assert vars(loader.sampler)["rows"] is generator
    assert next(iter(loader))
