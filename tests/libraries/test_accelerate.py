"""Loaders that accelerate prepares: the outer one takes all that it has from the user's, which it wraps."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from tests.libraries.ask import verdict_of
from tests.libraries.rows import SIZE, Names, Noisy, Stream

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    accelerate: Any = pytest.importorskip("accelerate")

pytestmark = pytest.mark.filterwarnings("ignore")


def prepared(loader: DataLoader[Any], **settings: Any) -> Any:
    configuration = accelerate.DataLoaderConfiguration(**settings)
    return accelerate.Accelerator(cpu=True, dataloader_config=configuration).prepare(loader)


def mapped() -> Any:
    return prepared(DataLoader(Noisy(), batch_size=8, shuffle=True, num_workers=2))


def seedable() -> Any:
    return prepared(DataLoader(Noisy(), batch_size=8, shuffle=True, num_workers=2), use_seedable_sampler=True)


def stateful() -> Any:
    return prepared(DataLoader(TensorDataset(torch.arange(SIZE)), 8, num_workers=2), use_stateful_dataloader=True)


def dispatched() -> Any:
    return prepared(DataLoader(Stream(), batch_size=8, num_workers=2), dispatch_batches=True)


def resumed() -> Any:
    return accelerate.skip_first_batches(prepared(DataLoader(TensorDataset(torch.arange(SIZE)), 8, num_workers=2)), 4)


def by_names() -> Any:
    return prepared(DataLoader(Names(), batch_size=64, num_workers=2))


def of_rank(rank: int, world_size: int) -> Any:
    loader = DataLoader(Stream(), batch_size=8, num_workers=2)
    prepare = accelerate.data_loader.prepare_data_loader
    return prepare(loader, num_processes=world_size, process_index=rank, put_on_device=False)


@pytest.mark.parametrize("make", [mapped, seedable, stateful, dispatched, resumed])
@pytest.mark.parametrize("check", ["randomness", "order", "workers"])
def test_a_prepared_loader_is_not_accused(make: Any, check: str) -> None:
    verdict = verdict_of(check, make)
    assert verdict.outcome == "passed", verdict.reason


def test_batches_that_are_skipped_are_told() -> None:
    reason = verdict_of("order", resumed).reason
    assert reason.startswith("224 samples: as often as SkipBatchSampler gives each"), reason
    assert "leaves out 32 of 256" in reason


def test_a_list_behind_a_prepared_loader_is_found() -> None:
    verdict = verdict_of("memory", by_names)
    assert (verdict.outcome, "dataset.names" in verdict.reason) == ("failed", True), verdict.reason


def test_a_prepared_loader_resumes_only_where_torchdata_does() -> None:
    assert "DataLoader has no state_dict" in verdict_of("resume", mapped).reason
    assert verdict_of("resume", stateful).outcome == "passed"


def test_ranks_of_a_prepared_stream_are_disjoint() -> None:
    verdict = verdict_of("shards", of_rank)
    assert verdict.outcome == "passed", verdict.reason
