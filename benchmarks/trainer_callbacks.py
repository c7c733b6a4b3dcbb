"""Real trainings of Lightning, transformers and accelerate with our callbacks: what was logged, and what was warned of.

    python benchmarks/trainer_callbacks.py [--seconds 60] [--only lightning] [--markdown trainers.md]
    python benchmarks/trainer_callbacks.py --equal

Hypothesis: with a healthy dataset nothing is warned of; one that workers copy as they read it is warned of by
``max_worker_growth``, one that is slower than the training by ``max_input_wait``, each once and for nothing else. What
was logged is read back with TensorBoard's own reader. ``--equal`` trains 100 steps with each callback and without, and
compares losses and weights bit for bit; ignite too, which logs nothing by itself.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader import DataLoaderWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMITS: dict[str, Any] = {"max_input_wait": 0.25, "max_worker_growth": "24MB", "max_fd_use": 0.5}
WARNED = {"healthy": [], "copied as it is read": ["max_worker_growth"], "slow": ["max_input_wait"]}
"""By the kind of dataset, the limits that are passed."""
BATCH, STEP_SECONDS, SLOW_SECONDS = 16, 0.05, 0.015
LOG_EVERY = 20
FIGURES = ("input_wait", "ready_share", "samples_per_second", "step_ms", "descriptors", "worker_0/growth_mb")


class Rows(Dataset[Any]):
    """Rows of 64 numbers: a tensor, or one dict a row; ``slow`` ones take 15 ms to be made."""

    def __init__(self, kind: str, length: int) -> None:
        self.kind, self.length = kind, length
        self.rows: Any = torch.rand(50_000, 64)
        if kind == "copied as it is read":
            self.rows = [{"id": number, "name": f"row {number}"} for number in range(1_500_000)]

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        row = self.rows[index * 7919 % len(self.rows)]
        if self.kind == "slow":
            time.sleep(SLOW_SECONDS)
        x = torch.rand(64) if isinstance(row, dict) else row + torch.rand(64)
        return {"x": x, "labels": x.sum()}


class Net(nn.Module):
    """A small model; what it returns is what each trainer asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 1))

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> Any:
        return {"loss": (self.layers(x).squeeze(1) - labels).square().mean()}


class Job:
    """One training: its dataset, its steps, and what it gave."""

    def __init__(self, kind: str, steps: int, folder: Path, *, watched: bool, step_seconds: float) -> None:
        self.kind, self.steps, self.folder = kind, steps, folder
        self.watched, self.step_seconds = watched, step_seconds
        torch.manual_seed(7)
        torch.set_num_threads(1)
        self.model = Net()
        self.losses: list[float] = []

    def loss(self, batch: Any) -> torch.Tensor:
        """Of a step, which takes so long at least."""
        time.sleep(self.step_seconds)
        found: torch.Tensor = self.model(**batch)["loss"]
        self.losses.append(found.item())
        return found

    @property
    def data(self) -> Rows:
        return Rows(self.kind, self.steps * BATCH)

    @property
    def loader(self) -> DataLoader[Any]:
        return DataLoader(self.data, batch_size=BATCH, shuffle=True, num_workers=2)

    def result(self) -> str:
        """A digest of all losses and weights, to the last bit."""
        found = [self.losses, [each.tolist() for each in self.model.parameters()], torch.rand(1).item()]
        return hashlib.sha256(repr(found).encode()).hexdigest()

    def lightning(self) -> None:
        import lightning.pytorch as pl
        from lightning.pytorch.loggers import TensorBoardLogger

        from pytest_dataloader.integrations.lightning import DataLoaderMonitor

        job = self

        class Module(pl.LightningModule):  # type: ignore[misc]  # as it is installed
            def __init__(self) -> None:
                super().__init__()
                self.net = job.model

            def training_step(self, batch: Any, _number: int) -> torch.Tensor:
                return job.loss(batch)

            def configure_optimizers(self) -> Any:
                return torch.optim.SGD(self.parameters(), lr=1e-4)

        trainer = pl.Trainer(
            max_epochs=1, accelerator="cpu", callbacks=[DataLoaderMonitor(**LIMITS)] if self.watched else [],
            logger=TensorBoardLogger(self.folder), enable_progress_bar=False, enable_model_summary=False,
            log_every_n_steps=LOG_EVERY, enable_checkpointing=False,
        )  # fmt: skip
        trainer.fit(Module(), self.loader)

    def transformers(self) -> None:
        from transformers import Trainer, TrainingArguments

        from pytest_dataloader.integrations.transformers import DataLoaderCallback

        job = self

        class Wrapped(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.net = job.model

            def forward(self, x: torch.Tensor, labels: torch.Tensor) -> Any:
                return {"loss": job.loss({"x": x, "labels": labels})}

        given = TrainingArguments(
            output_dir=str(self.folder / "out"), per_device_train_batch_size=BATCH, num_train_epochs=1,
            logging_steps=LOG_EVERY, report_to=["tensorboard"], use_cpu=True, save_strategy="no", disable_tqdm=True,
            dataloader_num_workers=2, remove_unused_columns=False,
        )  # fmt: skip
        trainer = Trainer(model=Wrapped(), args=given, train_dataset=self.data)
        if self.watched:
            DataLoaderCallback(**LIMITS).add_to(trainer)
        trainer.train()

    def accelerate(self) -> None:
        from accelerate import Accelerator

        from pytest_dataloader.integrations.accelerate import DataLoaderMonitor

        accelerator = Accelerator(cpu=True, log_with="tensorboard", project_dir=str(self.folder))
        accelerator.init_trackers("run")
        optimizer: Any = torch.optim.SGD(self.model.parameters(), lr=1e-4)
        optimizer, loader = accelerator.prepare(optimizer, self.loader)
        watching = DataLoaderMonitor(accelerator, every_n_steps=LOG_EVERY, **LIMITS)
        with watching if self.watched else contextlib.nullcontext():
            for batch in loader:
                optimizer.zero_grad()
                accelerator.backward(self.loss(batch))
                optimizer.step()
        accelerator.end_training()

    def ignite(self) -> None:
        from ignite.engine import Engine

        from pytest_dataloader.integrations.ignite import DataLoaderMonitor

        optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)

        def step(_engine: Any, batch: Any) -> float:
            optimizer.zero_grad()
            loss = self.loss(batch)
            loss.backward()  # type: ignore[no-untyped-call]  # torch's own
            optimizer.step()
            return loss.item()

        engine = Engine(step)
        if self.watched:
            DataLoaderMonitor(**LIMITS).attach(engine, every_n_steps=LOG_EVERY)
        engine.run(self.loader, max_epochs=1)


TRAINERS = ("lightning", "transformers", "accelerate")
EQUAL = (*TRAINERS, "ignite")


def logged(folder: Path) -> dict[str, list[float]]:
    """What TensorBoard reads of a training, by name: the figures of ours."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found: dict[str, list[float]] = {}
    for path in folder.rglob("events.*"):
        events = EventAccumulator(str(path))
        events.Reload()
        for tag in events.Tags()["scalars"]:
            name = tag.partition("dataloader/")[2]
            if name:
                found.setdefault(name, []).extend(event.value for event in events.Scalars(tag))
    return found


def train(trainer: str, kind: str, steps: int, step_seconds: float, watched: bool) -> dict[str, Any]:
    """Train in this process."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        os.environ["TENSORBOARD_LOGGING_DIR"] = f"{name}/events"
        job = Job(kind, steps, Path(name), watched=watched, step_seconds=step_seconds)
        began = time.monotonic()
        getattr(job, trainer)()
        took = time.monotonic() - began
        ours = [str(each.message) for each in caught if isinstance(each.message, DataLoaderWarning)]
        figures = logged(Path(name)) if watched and trainer in TRAINERS else {}
        return {"seconds": took, "warned": ours, "logged": figures, "result": job.result()}


def in_a_process(*words: object) -> dict[str, Any]:
    command = [sys.executable, __file__, "--train", json.dumps(words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{words}: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare() -> Iterator[str]:
    yield "| trainer | 100 steps with the callback and without |"
    yield "|---|---|"
    for trainer in EQUAL:
        try:
            importlib.import_module(trainer)
        except ImportError:
            yield f"| {trainer} | not installed |"
            continue
        results = {in_a_process(trainer, "healthy", 100, 0.0, watched)["result"] for watched in (True, False)}
        yield f"| {trainer} | {'equal to the last bit' if len(results) == 1 else 'DIFFERENT'} |"


def look(trainers: list[str], seconds: float) -> Iterator[str]:
    yield f"| trainer | dataset | s | times logged | {' | '.join(FIGURES)} | warned of |"
    yield f"|---|---|---|---|{'---|' * len(FIGURES)}---|"
    for trainer in trainers:
        for kind, expected in WARNED.items():
            per_step = max(STEP_SECONDS, SLOW_SECONDS * BATCH / 2 if kind == "slow" else 0.0)
            found = in_a_process(trainer, kind, int(seconds / per_step), STEP_SECONDS, True)
            figures = found["logged"]
            shown = [f"{statistics.median(figures[name]):.3g}" if name in figures else "" for name in FIGURES]
            names = [text.partition(":")[0] for text in found["warned"]]
            right = "" if names == expected else " (WRONG)"
            times = len(figures.get("input_wait", ()))
            said = "<br>".join(found["warned"]) or "nothing"
            yield f"| {trainer} | {kind} | {found['seconds']:.0f} | {times} | {' | '.join(shown)} | {said}{right} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", choices=TRAINERS, default=list(TRAINERS))
    parser.add_argument("--equal", action="store_true")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--train", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.train:
        print(json.dumps(train(*json.loads(given.train))))
        return
    rows = []
    for row in compare() if given.equal else look(given.only, given.seconds):
        rows.append(row)
        print(row, flush=True)
    if given.markdown:
        given.markdown.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
