"""Loaders of libraries that are no plain DataLoader: kept iterators, threads, own indices, whole batches, streams."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from tests.libraries.ask import verdict_of
from tests.libraries.rows import SIZE, Noisy

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.filterwarnings("ignore")


def library(name: str) -> Any:
    """A module of a library; skips where it is missing, or does not load beside this torch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return pytest.importorskip(name)
        except (RuntimeError, OSError) as error:  # its compiled part is of another torch
            pytest.skip(f"{name}: {error}")


def ultralytics_infinite() -> Any:
    return library("ultralytics.data.build").InfiniteDataLoader(Noisy(), batch_size=8, shuffle=True, num_workers=2)


def timm_multi_epochs() -> Any:
    return library("timm.data.loader").MultiEpochsDataLoader(Noisy(), batch_size=8, shuffle=True, num_workers=2)


def monai_thread() -> Any:
    return library("monai.data").ThreadDataLoader(Noisy(), batch_size=8, shuffle=True, num_workers=2)


def monai_thread_workers() -> Any:
    loader = library("monai.data").ThreadDataLoader
    return loader(Noisy(), use_thread_workers=True, batch_size=8, shuffle=True, num_workers=2)


def cuts() -> Any:
    lhotse, dummies = library("lhotse"), library("lhotse.testing.dummies")
    recordings = [dummies.dummy_recording(number, duration=5.0, with_data=False) for number in range(SIZE)]
    made = [
        lhotse.MonoCut(id=f"cut-{number}", start=0.0, duration=1.0 + number % 4, channel=0, recording=recording)
        for number, recording in enumerate(recordings)
    ]
    return lhotse.CutSet.from_cuts(made)


class Durations(Dataset[Any]):
    """Is asked for a set of cuts."""

    def __getitem__(self, cuts: Any) -> Any:
        return {"id": [cut.id for cut in cuts], "duration": torch.tensor([cut.duration for cut in cuts])}


def lhotse_sampler() -> Any:
    sampler = library("lhotse.dataset").DynamicBucketingSampler(cuts(), max_duration=40.0, num_buckets=3, shuffle=True)
    return DataLoader(Durations(), sampler=sampler, batch_size=None, num_workers=2)


def lhotse_wrapper() -> Any:
    sampler = library("lhotse.dataset").SimpleCutSampler(cuts(), max_duration=40.0, shuffle=True)
    wrapper = library("lhotse.dataset.iterable_dataset").IterableDatasetWrapper(Durations(), sampler)
    return DataLoader(wrapper, batch_size=None, num_workers=2)


class Graphs(Dataset[Any]):
    """Graphs, each of its own number."""

    def __init__(self) -> None:
        data = library("torch_geometric.data").Data
        self.graphs = [data(x=torch.full((4, 2), float(number))) for number in range(SIZE)]

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        return self.graphs[index]


def geometric() -> Any:
    return library("torch_geometric.loader").DataLoader(Graphs(), batch_size=8, shuffle=True, num_workers=2)


def geometric_batches() -> Any:
    loader, graphs = library("torch_geometric.loader"), Graphs()
    sampler = loader.DynamicBatchSampler(graphs.graphs, max_num=32, mode="node", shuffle=True)
    return loader.DataLoader(graphs.graphs, batch_sampler=sampler, num_workers=2)


class Dicts(Noisy):
    """Rows as tensordicts."""

    def __getitem__(self, index: int) -> Any:
        return library("tensordict").TensorDict({"x": torch.rand(8), "index": torch.tensor(index)})


def tensordicts() -> Any:
    library("tensordict")
    return DataLoader(Dicts(), batch_size=8, shuffle=True, num_workers=2, collate_fn=torch.stack)


def metric_learning() -> Any:
    labels = [number % 8 for number in range(SIZE)]
    sampler = library("pytorch_metric_learning.samplers").MPerClassSampler(labels, 4, 16, SIZE)
    return DataLoader(Noisy(), batch_size=16, sampler=sampler, num_workers=2)


def torchio_queue() -> Any:
    torchio = library("torchio")
    subjects = [torchio.Subject(image=torchio.ScalarImage(tensor=torch.rand(1, 8, 8, 8))) for _ in range(16)]
    queue = torchio.Queue(torchio.SubjectsDataset(subjects), 16, 4, torchio.UniformSampler(4), num_workers=2)
    return torchio.SubjectsLoader(queue, batch_size=8, num_workers=0)


def mosaic(folder: Any) -> Any:
    streaming = library("streaming")
    with streaming.MDSWriter(out=str(folder), columns={"x": "ndarray:float32:4"}, size_limit=1 << 12) as writer:
        for number in range(SIZE):
            writer.write({"x": np.full(4, number, np.float32)})
    streaming.base.util.clean_stale_shared_memory()
    return DataLoader(streaming.StreamingDataset(local=str(folder), batch_size=8), batch_size=8, num_workers=2)


HEALTHY: list[Callable[[], Any]] = [
    ultralytics_infinite, timm_multi_epochs, monai_thread, monai_thread_workers, lhotse_sampler, geometric,
    geometric_batches, tensordicts, metric_learning, torchio_queue,
]  # fmt: skip


@pytest.mark.parametrize("make", HEALTHY)
@pytest.mark.parametrize("check", ["order", "fds", "workers"])
def test_a_loader_of_a_library_is_not_accused(make: Any, check: str) -> None:
    verdict = verdict_of(check, make)
    assert verdict.outcome == "passed", verdict.reason


@pytest.mark.parametrize("make", [ultralytics_infinite, timm_multi_epochs, lhotse_sampler, tensordicts])
def test_draws_of_a_library_s_loader_differ(make: Any) -> None:
    verdict = verdict_of("randomness", make)
    assert verdict.outcome == "passed", verdict.reason


def test_ranks_of_a_sampler_of_cuts_are_told_apart() -> None:
    """Its cuts note the rank that reads them, and its dataset takes whole sets."""
    verdict = verdict_of("shards", lhotse_sampler)
    assert (verdict.outcome, "ranks: disjoint and complete" in verdict.reason) == ("passed", True), verdict.reason


class Pictures(Noisy):
    """Images in bytes, as timm's collate function has them."""

    def __getitem__(self, index: int) -> Any:
        return torch.full((3, 8, 8), index % 256, dtype=torch.uint8), index


def timm_prefetch(**settings: Any) -> Any:
    loader = DataLoader(Pictures(), batch_size=8, num_workers=2, **settings)
    return library("timm.data.loader").PrefetchLoader(loader, device=torch.device("cpu"))


def timm_by_rank(rank: int, world_size: int) -> Any:
    return timm_prefetch(sampler=DistributedSampler(Pictures(), world_size, rank))


@pytest.mark.parametrize(
    ("make", "outcome", "says"),
    [
        (timm_by_rank, "passed", "ranks: disjoint and complete"),
        (timm_prefetch, "not_measured", "no sharding by rank"),
    ],
)
def test_ranks_of_the_loader_in_a_prefetcher_are_simulated(make: Any, outcome: str, says: str) -> None:
    verdict = verdict_of("shards", make)
    assert (verdict.outcome, says in verdict.reason) == (outcome, True), verdict.reason


def test_cuts_that_each_worker_reads_are_found() -> None:
    verdict = verdict_of("order", lhotse_wrapper, seconds=60)  # it ends once all cuts were read
    assert (verdict.outcome, [each.code for each in verdict.advice]) == ("failed", ["DL405"])


def test_workers_that_meet_in_shared_memory_do_not_hang(tmp_path: Any) -> None:
    verdict = verdict_of("fds", lambda: mosaic(tmp_path / "shards"))
    assert verdict.outcome == "passed", verdict.reason
