"""Callbacks in real trainers: the figures come back out of TensorBoard's own reader, the weights are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


class Rows(Dataset[Any]):
    """Samples as a dict, for trainers that call ``model(**batch)``."""

    def __init__(self, keys: bool = False) -> None:
        self.keys = keys

    def __len__(self) -> int:
        return 256

    def __getitem__(self, index: int) -> Any:
        x, y = torch.rand(4) + index / 256, torch.tensor(index / 256)
        return {"x": x, "labels": y} if self.keys else (x, y)


def logged(folder: Path) -> set[str]:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    found: set[str] = set()
    for path in folder.rglob("events.*"):
        events = accumulator.EventAccumulator(str(path))
        events.Reload()
        found |= set(events.Tags()["scalars"])
    return found


def weights(model: torch.nn.Module) -> list[Any]:
    return [each.tolist() for each in model.parameters()]


def test_lightning(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning.pytorch")
    loggers = pytest.importorskip("lightning.pytorch.loggers")
    pytest.importorskip("tensorboard")
    from pytest_dataloader.integrations.lightning import DataLoaderMonitor

    class Model(lightning.LightningModule):  # type: ignore[misc, name-defined, unused-ignore]  # as it is installed
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch: Any, _number: int) -> Any:
            return (self.layer(batch[0]).squeeze(1) - batch[1]).square().mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    def train(callbacks: list[Any]) -> list[Any]:
        lightning.seed_everything(1)
        model = Model()
        trainer = lightning.Trainer(
            max_epochs=2, accelerator="cpu", callbacks=callbacks, logger=loggers.TensorBoardLogger(tmp_path),
            enable_progress_bar=False, enable_model_summary=False, log_every_n_steps=8,
        )  # fmt: skip
        trainer.fit(model, DataLoader(Rows(), batch_size=8, shuffle=True, num_workers=1))
        return weights(model)

    watching = DataLoaderMonitor(max_input_wait=0.9)
    assert train([watching]) == train([])
    assert watching.monitor.state.batches == 64
    assert {"dataloader/input_wait", "dataloader/worker_0/private_mb"} <= logged(tmp_path)


def test_transformers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    pytest.importorskip("tensorboard")
    from pytest_dataloader.integrations.transformers import DataLoaderCallback

    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "events"))

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x: torch.Tensor, labels: torch.Tensor) -> Any:
            return {"loss": (self.layer(x).squeeze(1) - labels).square().mean()}

    def train(callback: Any) -> list[Any]:
        transformers.set_seed(1)
        model = Model()
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path / "out"), per_device_train_batch_size=8, num_train_epochs=2, logging_steps=8,
            report_to=["tensorboard"], use_cpu=True, save_strategy="no", disable_tqdm=True, dataloader_num_workers=1,
            remove_unused_columns=False,
        )  # fmt: skip
        trainer = transformers.Trainer(model=model, args=arguments, train_dataset=Rows(keys=True))
        if callback is not None:
            callback.add_to(trainer)
        trainer.train()
        return weights(model)

    callback = DataLoaderCallback(max_input_wait=0.9)
    assert train(callback) == train(None)
    assert callback.monitor.state.batches == 64
    assert any(name.endswith("dataloader/input_wait") for name in logged(tmp_path))


def test_accelerate(tmp_path: Path) -> None:
    accelerate = pytest.importorskip("accelerate")
    pytest.importorskip("tensorboard")
    from pytest_dataloader.integrations.accelerate import DataLoaderMonitor

    accelerator = accelerate.Accelerator(cpu=True, log_with="tensorboard", project_dir=str(tmp_path))
    accelerator.init_trackers("run")
    loader = accelerator.prepare(DataLoader(Rows(), batch_size=8, num_workers=1))
    with DataLoaderMonitor(accelerator, every_n_steps=8) as watching:
        for _batch in loader:
            pass
    accelerator.end_training()
    assert watching.state.batches == 32
    assert "dataloader/input_wait" in logged(tmp_path)


def test_ignite() -> None:
    engines = pytest.importorskip("ignite.engine")
    from pytest_dataloader.integrations.ignite import DataLoaderMonitor

    engine = engines.Engine(lambda _engine, batch: batch[0].sum().item())
    watching = DataLoaderMonitor().attach(engine, every_n_steps=8)
    engine.run(DataLoader(Rows(), batch_size=8, num_workers=1), max_epochs=2)
    assert watching.state.batches == 64
    assert 0 <= engine.state.metrics["dataloader/input_wait"] <= 1
