"""What one run of pytest knows: its options, and the records of what it has measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_dataloader.baselines import Entries
    from pytest_dataloader.distributed.job import Job
    from pytest_dataloader.record import Record
    from pytest_dataloader.settings.options import Options


class Bench:
    """The options of a run and its ledger: the records by the node id of the item that made them.

    On a controller of pytest-xdist the records come with the reports of the workers.
    """

    __slots__ = ("baselines", "job", "ledger", "options")

    def __init__(self, options: Options) -> None:
        self.options = options
        self.baselines: Entries | None = None
        """What the file of baselines holds; None where loaders are held to none."""
        self.job: Job | None = None
        """The job of several ranks that this process is one of."""
        self.ledger: dict[str, list[Record]] = {}


BENCH = pytest.StashKey[Bench]()
"""On the config."""

UNMEASURED = pytest.StashKey[list[str]]()
"""On an item: what its checks did not measure, one reason each. A test that passes otherwise is reported as skipped."""
