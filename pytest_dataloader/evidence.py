"""What each check saw, as types for annotations: ``def rate(seen: evidence.Throughput) -> float``."""

from __future__ import annotations

from pytest_dataloader.probe.device.evidence import Transfer as Transfer
from pytest_dataloader.probe.memory.evidence import Memory as Memory
from pytest_dataloader.probe.resources.evidence import Fds as Fds
from pytest_dataloader.probe.resources.evidence import Shm as Shm
from pytest_dataloader.probe.samples.evidence import Order as Order
from pytest_dataloader.probe.samples.evidence import Randomness as Randomness
from pytest_dataloader.probe.samples.evidence import Resume as Resume
from pytest_dataloader.probe.samples.evidence import Shards as Shards
from pytest_dataloader.probe.timing.evidence import Baseline as Baseline
from pytest_dataloader.probe.timing.evidence import Comparison as Comparison
from pytest_dataloader.probe.timing.evidence import Stages as Stages
from pytest_dataloader.probe.timing.evidence import Throughput as Throughput
from pytest_dataloader.probe.training.evidence import Training as Training
from pytest_dataloader.probe.tuning.evidence import Tuning as Tuning
from pytest_dataloader.probe.workers.evidence import Portability as Portability
from pytest_dataloader.probe.workers.evidence import Workers as Workers
