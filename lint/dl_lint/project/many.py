"""Whether a loader has so many batches that to keep something of each runs into a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import containers, public_sets, told_sizes, workers
from dl_lint.project.values import Absent, Const, Made, Option, alternatives

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.values import Loader

LIMIT = 1_024
"""Descriptors that a process may have open, as a rule: ``ulimit -n``."""

SMALL = 8
"""Samples in a batch up to which a data set of a few thousand has as many batches as that."""

USUAL = 32
"""Samples in a batch of which nobody knows the size."""


def are_batches(project: Project, loader: Loader) -> bool:
    """Whether batches are so small, or the data set is told to be so large, that an epoch has more than ``LIMIT``."""
    samples = _in_batch(project, loader)
    if samples is not None and samples <= SMALL:
        return True
    data = project.argument(loader, "dataset")
    told = [told_sizes.told(project, one.cls) for one in workers.given(project, loader)]
    told += [public_sets.large(one.name) for one in alternatives(data.value) if isinstance(one, Made)]
    if isinstance(data.expr, t.Expr):
        told.append(containers.length(project, data.expr))
    return max(told, default=0) > LIMIT * (samples or USUAL)


def _in_batch(project: Project, loader: Loader) -> int | None:
    """The fewest samples that a batch is said to have, by default of its option; None where that is not known, as of a
    data set that makes batches itself."""
    if project.argument(loader, "batch_sampler").given:
        return None
    said = alternatives(project.argument(loader, "batch_size").value)
    defaults = [one.default if isinstance(one, Option) else one for one in said]
    known = [one.value for one in defaults if isinstance(one, Const) and isinstance(one.value, int)]
    alone = any(isinstance(one, Absent) for one in defaults)
    return 1 if alone else min(known, default=None)
