"""webdataset: shards split by worker and node, batches made in the dataset, WebLoader."""

from __future__ import annotations

import functools
import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from torch.utils.data import DataLoader

from tests.libraries.ask import verdict_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    webdataset: Any = pytest.importorskip("webdataset")

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four archives of 24 samples."""
    folder: Path = tmp_path_factory.mktemp("shards")
    for shard in range(4):
        with webdataset.TarWriter(str(folder / f"{shard}.tar")) as archive:
            for number in range(24 * shard, 24 * shard + 24):
                archive.write({"__key__": f"{number:04d}", "npy": np.full(4, number, np.float32), "cls": number})
    return f"{folder}/{{0..3}}.tar"


def samples(shards: str, **options: Any) -> Any:
    return webdataset.WebDataset(shards, **{"shardshuffle": False, **options}).decode().to_tuple("npy", "cls")


def plain(shards: str) -> Any:
    return DataLoader(samples(shards), batch_size=8, num_workers=2)


def shuffled(shards: str) -> Any:
    return DataLoader(samples(shards, shardshuffle=100).shuffle(50), batch_size=8, num_workers=2)


def noisy(image: Any) -> Any:
    return image + np.random.rand(4)


def augmented(shards: str) -> Any:
    return DataLoader(samples(shards).map_tuple(noisy, int), batch_size=8, num_workers=2)


def web_loader(shards: str) -> Any:
    return webdataset.WebLoader(samples(shards).batched(8), batch_size=None, num_workers=2)


def rebatched(shards: str) -> Any:
    return web_loader(shards).unbatched().shuffle(50).batched(16)


def by_node(shards: str) -> Any:
    return DataLoader(samples(shards, nodesplitter=webdataset.split_by_node), batch_size=8)


def not_split(shards: str) -> Any:
    return DataLoader(samples(shards, workersplitter=None), batch_size=8, num_workers=2)


@pytest.mark.parametrize("make", [plain, shuffled, augmented, web_loader, rebatched])
@pytest.mark.parametrize("check", ["randomness", "order"])
def test_a_loader_of_shards_is_not_accused(shards: str, make: Any, check: str) -> None:
    verdict = verdict_of(check, functools.partial(make, shards))
    assert verdict.outcome == "passed", verdict.reason


def test_draws_of_an_augmentation_are_seen(shards: str) -> None:
    assert verdict_of("randomness", functools.partial(augmented, shards)).reason.startswith("numpy.random: all draws")


def test_shards_that_no_worker_splits_are_found(shards: str) -> None:
    verdict = verdict_of("order", functools.partial(not_split, shards))
    assert (verdict.outcome, [each.code for each in verdict.advice]) == ("failed", ["DL405"])


def test_shards_split_by_node_are_disjoint(shards: str) -> None:
    verdict = verdict_of("shards", functools.partial(by_node, shards))
    assert verdict.outcome == "passed"
    ranks = verdict.reason.splitlines()[0]  # as many as the time and the four shards allow
    assert re.fullmatch("[1-4]((,| to) [1-4])* ranks: disjoint and complete", ranks), verdict.reason


def test_without_a_split_by_node_the_library_says_what_is_missing(shards: str) -> None:
    verdict = verdict_of("shards", functools.partial(plain, shards))
    assert (verdict.outcome, "nodesplitter" in verdict.reason) == ("not_measured", True)
