"""How often is a sleep told shorter than it was, because others had the CPU while the clocks were read?

    python benchmarks/stamps_interrupted.py [--seconds 60] [--busy 6]

Beside busy loops, sleeps of 2 ms are measured as wall time less the thread's run-queue delay: once by clocks that are
read one after the other, once by ``envelopes.stamp_before`` and ``stamp_after``, which read again where that took too
long.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from pytest_dataloader.probe.internals import envelopes
from pytest_dataloader.probe.internals.envelopes import DELAY, WALL, Moment, between

if TYPE_CHECKING:
    from collections.abc import Callable

SLEEP_MS = 2.0


def started_once() -> Moment:
    delay, process, thread = envelopes.read_kept_delay_ns(), envelopes.process_cpu_ns(), envelopes.thread_cpu_ns()
    return envelopes.wall_ns(), thread, process, delay


def ended_once() -> Moment:
    return (
        envelopes.wall_ns(), envelopes.thread_cpu_ns(), envelopes.process_cpu_ns(), envelopes.read_kept_delay_ns()
    )  # fmt: skip


WAYS: dict[str, tuple[Callable[[], Moment], Callable[[], Moment]]] = {
    "read once": (started_once, ended_once),
    "read again": (envelopes.stamp_before, envelopes.stamp_after),
}


def slept_ms(start: Callable[[], Moment], end: Callable[[], Moment]) -> float:
    """A sleep and as long as a quarter of it of computing, without the wait for a CPU."""
    began = start()
    time.sleep(SLEEP_MS / 1e3)
    ends_ns = time.thread_time_ns() + 500_000
    while time.thread_time_ns() < ends_ns:
        pass
    passed = between(began, end())
    return (passed[WALL] - passed[DELAY]) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--busy", type=int, default=6, help="busy loops beside it")
    given = parser.parse_args()
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(given.busy)]
    try:
        seen: dict[str, list[float]] = {way: [] for way in WAYS}
        ends = time.monotonic() + given.seconds
        while time.monotonic() < ends:
            for way, stamps in WAYS.items():
                seen[way].append(slept_ms(*stamps))
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    for way, values in seen.items():
        short = sum(value < 0.95 * SLEEP_MS for value in values)
        print(f"{way}: {short} of {len(values):,} too short ({short / len(values):.2%}), least {min(values):.2f} ms")


if __name__ == "__main__":
    main()
