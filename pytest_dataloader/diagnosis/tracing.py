"""``trace``: the timeline of the user's own loop, beside what ``torch.profiler`` sees of it."""

from __future__ import annotations

import contextlib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataloader import loaders
from pytest_dataloader.environment import environment
from pytest_dataloader.errors import BadTarget, DataLoaderWarning
from pytest_dataloader.probe.loader.stream import Stream
from pytest_dataloader.probe.timing.timeline import timeline
from pytest_dataloader.probe.timing.watched_loop import WatchedLoop
from pytest_dataloader.record import figures
from pytest_dataloader.report import trace as report

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator


@contextlib.contextmanager
def trace(loader: Any, path: str | os.PathLike[str], *, name: str = "loader") -> Iterator[None]:
    """Write the timeline of the first hundred batches that a block takes from a DataLoader, for ui.perfetto.dev.

    To be entered before the loop begins: workers that were started before have no clocks. The file is written when the
    block ends, also by an error. Warns where no batch was seen; raises BadTarget for what has no DataLoader in it, and
    OSError.
    """
    measurable = loaders.measurable(loader)
    inner = measurable.inner if isinstance(measurable, Stream) else measurable
    if inner is None:
        raise BadTarget(f"expected a torch.utils.data.DataLoader, got {loaders.what_instead(loader)}")
    loop = WatchedLoop(inner)
    try:
        with loop:
            yield
    finally:
        seen = timeline(loop)
        found = [] if seen is None else [(name, figures(seen))]
        report.write_trace(Path(path), report.trace_document(found, environment()))
    if seen is None:
        told = "no batch of the loader was seen: the block must hold the start of its workers and its loop"
        warnings.warn(DataLoaderWarning(told), stacklevel=3)
