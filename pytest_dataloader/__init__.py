"""pytest-dataloader: measures PyTorch data pipelines inside pytest and holds them to limits."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_dataloader.diagnosis.monitoring import Monitor as Monitor
    from pytest_dataloader.diagnosis.monitoring import monitor as monitor
    from pytest_dataloader.diagnosis.report import Report as Report
    from pytest_dataloader.diagnosis.report import diagnose as diagnose
    from pytest_dataloader.diagnosis.tracing import trace as trace
    from pytest_dataloader.errors import BadLimit as BadLimit
    from pytest_dataloader.errors import DataLoaderWarning as DataLoaderWarning
    from pytest_dataloader.errors import NotMeasured as NotMeasured
    from pytest_dataloader.fixtures import Check as Check
    from pytest_dataloader.verdict import Advice as Advice
    from pytest_dataloader.verdict import Verdict as Verdict

# pytest imports this module before the plugin: names are loaded when they are asked for.
_HOMES = {
    "Advice": "verdict",
    "BadLimit": "errors",
    "Check": "fixtures",
    "DataLoaderWarning": "errors",
    "Monitor": "diagnosis.monitoring",
    "NotMeasured": "errors",
    "Report": "diagnosis.report",
    "Verdict": "verdict",
    "diagnose": "diagnosis.report",
    "monitor": "diagnosis.monitoring",
    "trace": "diagnosis.tracing",
}

__all__ = [
    "Advice",
    "BadLimit",
    "Check",
    "DataLoaderWarning",
    "Monitor",
    "NotMeasured",
    "Report",
    "Verdict",
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
