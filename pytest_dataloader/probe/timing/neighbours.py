"""What the rest of the machine did while a loader was used in one go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.probe.host import clocks
from pytest_dataloader.probe.host.cpu_accounting import Processes
from pytest_dataloader.probe.host.interference import Quietness, read_machine

if TYPE_CHECKING:
    from pytest_dataloader.probe.loader.borrowing import Borrowed


class Watch:
    """Begins where it is made."""

    def __init__(self, borrowed: Borrowed) -> None:
        self._borrowed, self._processes = borrowed, Processes()
        self._spent, self._machine = self._processes.read(borrowed.workers), read_machine()

    def quietness(self) -> Quietness:
        """How quiet the machine was since."""
        spent, machine = self._processes.read(self._borrowed.workers), read_machine()
        wall = max(1, spent.wall_ns - self._spent.wall_ns)
        whole = wall * clocks.cpus_allowed()
        own = spent.main_cpu_ns + spent.worker_cpu_ns - self._spent.main_cpu_ns - self._spent.worker_cpu_ns
        delay = spent.consumer_delay_ns - self._spent.consumer_delay_ns
        delay = max(delay, spent.worker_delay_ns - self._spent.worker_delay_ns)
        return Quietness(
            delays_known=spent.delays_known,
            lost_share=min(1.0, delay / wall),
            others_share=min(1.0, max(0, machine.busy_ns - self._machine.busy_ns - own) / whole),
            own_share=min(1.0, own / whole),
            steal_share=(machine.steal_ns - self._machine.steal_ns) / whole,
            throttled_share=(machine.throttled_ns - self._machine.throttled_ns) / wall,
            cpu_slowdown=1.0,
        )
