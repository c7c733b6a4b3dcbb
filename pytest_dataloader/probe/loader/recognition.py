"""What is a torch DataLoader, and which one feeds a pipeline."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any


def is_dataloader(value: object) -> bool:
    """True for torch's DataLoader and its subclasses, StatefulDataLoader among them. Imports nothing."""
    data = sys.modules.get("torch.utils.data")
    return data is not None and isinstance(value, data.DataLoader)


def is_of_library(value: object) -> bool:
    """Whether the class of a value is one of an installed library other than torch: its user cannot change it."""
    name = type(value).__module__
    parts = Path(getattr(sys.modules.get(name), "__file__", None) or "").parts
    return not {"site-packages", "dist-packages"}.isdisjoint(parts) and name.partition(".")[0] != "torch"


def loader_inside(value: Any) -> Any:
    """The DataLoader that feeds a pipeline, such as webdataset's WebLoader; anything else as it is.

    What the pipeline does to batches afterwards, in the main process, is not part of it.
    """
    stages = getattr(value, "pipeline", None)
    if not is_dataloader(value) and isinstance(stages, list) and stages and is_dataloader(stages[0]):
        return stages[0]
    return value
