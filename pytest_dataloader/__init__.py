"""pytest-dataloader: measures PyTorch data pipelines inside pytest and holds them to limits."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_dataloader.checks.signatures import FdsCheck as FdsCheck
    from pytest_dataloader.checks.signatures import MemoryCheck as MemoryCheck
    from pytest_dataloader.checks.signatures import OrderCheck as OrderCheck
    from pytest_dataloader.checks.signatures import PortabilityCheck as PortabilityCheck
    from pytest_dataloader.checks.signatures import RandomnessCheck as RandomnessCheck
    from pytest_dataloader.checks.signatures import ResumeCheck as ResumeCheck
    from pytest_dataloader.checks.signatures import ShardsCheck as ShardsCheck
    from pytest_dataloader.checks.signatures import ShmCheck as ShmCheck
    from pytest_dataloader.checks.signatures import StagesCheck as StagesCheck
    from pytest_dataloader.checks.signatures import ThroughputCheck as ThroughputCheck
    from pytest_dataloader.checks.signatures import TransferCheck as TransferCheck
    from pytest_dataloader.checks.signatures import WorkersCheck as WorkersCheck
    from pytest_dataloader.diagnosis.monitoring import Monitor as Monitor
    from pytest_dataloader.diagnosis.monitoring import monitor as monitor
    from pytest_dataloader.diagnosis.report import Report as Report
    from pytest_dataloader.diagnosis.report import diagnose as diagnose
    from pytest_dataloader.diagnosis.tracing import trace as trace
    from pytest_dataloader.errors import BadLimit as BadLimit
    from pytest_dataloader.errors import DataLoaderWarning as DataLoaderWarning
    from pytest_dataloader.errors import NotMeasured as NotMeasured
    from pytest_dataloader.verdict import Advice as Advice
    from pytest_dataloader.verdict import Verdict as Verdict

# pytest imports this module before the plugin: names are loaded when they are asked for.
_HOMES = {
    "Advice": "verdict",
    "BadLimit": "errors",
    "DataLoaderWarning": "errors",
    "FdsCheck": "checks.signatures",
    "MemoryCheck": "checks.signatures",
    "Monitor": "diagnosis.monitoring",
    "NotMeasured": "errors",
    "OrderCheck": "checks.signatures",
    "PortabilityCheck": "checks.signatures",
    "RandomnessCheck": "checks.signatures",
    "Report": "diagnosis.report",
    "ResumeCheck": "checks.signatures",
    "ShardsCheck": "checks.signatures",
    "ShmCheck": "checks.signatures",
    "StagesCheck": "checks.signatures",
    "ThroughputCheck": "checks.signatures",
    "TransferCheck": "checks.signatures",
    "Verdict": "verdict",
    "WorkersCheck": "checks.signatures",
    "diagnose": "diagnosis.report",
    "monitor": "diagnosis.monitoring",
    "trace": "diagnosis.tracing",
}

__all__ = [
    "Advice",
    "BadLimit",
    "DataLoaderWarning",
    "FdsCheck",
    "MemoryCheck",
    "Monitor",
    "NotMeasured",
    "OrderCheck",
    "PortabilityCheck",
    "RandomnessCheck",
    "Report",
    "ResumeCheck",
    "ShardsCheck",
    "ShmCheck",
    "StagesCheck",
    "ThroughputCheck",
    "TransferCheck",
    "Verdict",
    "WorkersCheck",
    "diagnose",
    "monitor",
    "trace",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
