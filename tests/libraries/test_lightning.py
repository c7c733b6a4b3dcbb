"""Lightning: a data module's loader, and the loader as the trainer makes it anew for a rank."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from torch.utils.data import DataLoader, DistributedSampler

from tests.libraries.ask import verdict_of
from tests.libraries.rows import Noisy

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    lightning: Any = pytest.importorskip("lightning")
    fabric: Any = pytest.importorskip("lightning.fabric.utilities.data")

pytestmark = pytest.mark.filterwarnings("ignore")


def module_loader() -> Any:
    class Module(lightning.LightningDataModule):  # type: ignore[misc]  # the library may be missing
        def setup(self, stage: str) -> None:
            assert stage == "fit"
            self.data = Noisy()

        def train_dataloader(self) -> Any:
            return DataLoader(self.data, batch_size=8, shuffle=True, num_workers=2)

    module = Module()
    module.setup("fit")
    return module.train_dataloader()


def remade() -> Any:
    loader = module_loader()
    return fabric._update_dataloader(loader, DistributedSampler(loader.dataset, num_replicas=2, rank=0))


class Deaf(DistributedSampler[Any]):
    """Is never told the epoch."""

    def set_epoch(self, epoch: int) -> None:
        pass


def deaf() -> Any:
    data = Noisy()
    return DataLoader(data, batch_size=8, sampler=Deaf(data, num_replicas=2, rank=0), num_workers=2)


@pytest.mark.parametrize("make", [module_loader, remade])
@pytest.mark.parametrize("check", ["randomness", "order", "workers"])
def test_a_loader_of_a_module_is_not_accused(make: Any, check: str) -> None:
    verdict = verdict_of(check, make)
    assert verdict.outcome == "passed", verdict.reason


def test_shares_of_the_loader_made_for_a_rank_are_disjoint() -> None:
    verdict = verdict_of("shards", lambda: remade())
    assert (verdict.outcome, "2" in verdict.reason) == ("passed", True), verdict.reason


def test_a_sampler_that_is_never_told_the_epoch_is_found() -> None:
    verdict = verdict_of("order", deaf)
    assert (verdict.outcome, verdict.reason) == ("failed", "Deaf: same order in both epochs, despite shuffling")
