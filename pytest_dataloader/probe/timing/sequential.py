"""Sequential testing: a loader is measured until its limits are clearly kept or missed, and not for ever."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Literal

from pytest_dataloader.probe.host import waits
from pytest_dataloader.probe.loader.timeout import Hang, time_limit

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_dataloader.probe.host.interference import Quietness
    from pytest_dataloader.probe.timing.rate_meter import RateMeter

MARGIN = 1.10
MARGIN_WITH_WORKERS = 1.15
"""By how much a loader must miss its limit before it fails. On 2 CPUs, figures beside two busy loops over those of the
idle machine: without workers 0.91 (JPEG) to 1.07 (Python), by the wall clock 0.33 to 0.97; with 2 workers 1.01 (sleep),
0.92 (JPEG), 0.87 (Python), 0.85 (memory), 0.80 (dicts), 0.45 (tiny). Idle runs differed by up to 1.1 and 1.3 times."""
_HOPELESS = 10.0
"""A loader that would miss this many times better fails on a busy machine too. Two busy loops brought the worst kind
(tiny samples, 2 workers) down to 0.45 of its idle figure; this leaves room for worse neighbours. Once, where others
took 97 % of the CPUs, one measured 0.02 of its figure: there it is what all CPUs would give."""
WAIT_SECONDS = 60.0
"""A loader that gives nothing for so long hangs; or for 12 times the budget, where that is more."""
CLEAR_WINDOWS = 3
"""Before so many, however clear the answer, the interval would say little to those who read it."""
FAIL_SHARE = 0.5
"""A failure is not certain before this share of the budget is spent; with workers, two sets of them were seen then."""
_RESTS = (0.2, 0.4, 0.8)
"""Shares of the budget. A failure must hold when looked at again after these: on an idle virtual machine a busy host
halved the CPU's speed for 1 to 12 s at a time, which no account shows (0.63 of the true figure in a run of 1.1 s)."""


def hopeless(quietness: Quietness) -> float:
    """How many times better a loader must be for its miss to be the neighbours' doing at most."""
    return max(_HOPELESS, quietness.most_gain)


STILL_SECONDS = 3.0
"""How long everything must stand still, once nothing has come for so long, before a loader is said to hang."""
STILL_SHARE, STILL_SWITCHES = 0.02, 20.0
"""Of processes that wait: share of the time on a CPU, or queueing for one, and voluntary context switches per second.
A loop around ``time.sleep(0.1)`` takes 0.0003 and 8.5 (benchmarks/worker_timeouts.py)."""

MeasurementEnd = Literal["measured", "hung", "unclear"]
"""How measuring ended: ``unclear`` where no batch came for long, though something was at work."""


def measure_until_decided(
    meter: RateMeter,
    *,
    seconds: float,
    wait: float,
    progress: Callable[[str, float], None],
    clear: Callable[[float], bool],
    narrow: Callable[[], bool],
) -> MeasurementEnd:
    """Have the meter pull until it is ``clear`` (told the share of the budget that is spent), or ``seconds`` are spent.

    Looks again, later, while the loader fails but by no more than what neighbours can do (``narrow``). Where no batch
    came for ``wait`` seconds, its workers are killed: it hangs if nothing moved any more.
    """
    try:
        with time_limit(wait) as alive:

            def came(what: str, spent: float) -> None:
                alive()
                progress(what, spent)

            meter.came = came
            meter.run(lambda seen: clear(seen.spent))
            for rest in _RESTS:
                if narrow():
                    meter.measure_again(rest * seconds, lambda _: not narrow())
    except Hang:
        still = _stands_still()
        meter.borrowed.close(kill=True)
        return "hung" if still else "unclear"
    return "measured"


def _stands_still() -> bool:
    """Whether this process, but for this thread, and all below it do no more than wait."""
    here = threading.get_native_id()
    before, began = waits.process_activity(os.getpid(), without=here), time.monotonic()
    time.sleep(STILL_SECONDS)
    after, seconds = waits.process_activity(os.getpid(), without=here), time.monotonic() - began
    busy, switches = (after.busy_ns - before.busy_ns) * 1e-9, after.switches - before.switches
    return busy < STILL_SHARE * seconds and switches < STILL_SWITCHES * seconds
