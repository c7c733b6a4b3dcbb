"""What the rest of the machine did while a loader was used in one go."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from pytest_dataloader.probe.host import clocks
from pytest_dataloader.probe.host.cpu_accounting import CpuAccount
from pytest_dataloader.probe.host.interference import Quietness, read_machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_dataloader.probe.host.interference import Machine
    from pytest_dataloader.probe.loader.borrowing import Borrowed


class NeighbourWatch:
    """Begins where it is made."""

    def __init__(self, borrowed: Borrowed) -> None:
        self._borrowed, self._processes = borrowed, CpuAccount()
        self._spent, self._machine = self._processes.read(borrowed.workers), read_machine()

    def quietness(self) -> Quietness:
        """How quiet the machine was since."""
        spent, machine = self._processes.read(self._borrowed.workers), read_machine()
        delays = [
            spent.consumer_delay_ns - self._spent.consumer_delay_ns,
            spent.worker_delay_ns - self._spent.worker_delay_ns,
        ]
        return quietness_between(
            self._machine,
            machine,
            wall_ns=spent.wall_ns - self._spent.wall_ns,
            own_ns=spent.main_cpu_ns + spent.worker_cpu_ns - self._spent.main_cpu_ns - self._spent.worker_cpu_ns,
            lost_ns=max(delays),
            delays_known=spent.delays_known,
        )


def quietness_between(
    before: Machine,
    after: Machine,
    *,
    wall_ns: int,
    own_ns: int,
    lost_ns: int = 0,
    delays_known: bool = True,
    speeds: Sequence[int] = (),
) -> Quietness:
    """How quiet the machine was between two readings, of whose CPU time ``own_ns`` is ours.

    ``lost_ns`` is time spent waiting for a CPU, where that is in the figures; ``speeds`` are times of one computation.
    """
    wall = max(1, wall_ns)
    whole = wall * clocks.cpus_allowed()
    return Quietness(
        delays_known=delays_known,
        lost_share=min(1.0, lost_ns / wall),
        others_share=min(1.0, max(0, after.busy_ns - before.busy_ns - own_ns) / whole),
        own_share=min(1.0, own_ns / whole),
        steal_share=(after.steal_ns - before.steal_ns) / whole,
        throttled_share=(after.throttled_ns - before.throttled_ns) / wall,
        cpu_slowdown=statistics.median(speeds) / max(1, min(speeds)) if speeds else 1.0,
    )
