"""Sequential testing: a loader is measured until its limits are clearly kept or missed, and not for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.probe.loader.timeout import Hang, time_limit

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_dataloader.probe.timing.rate_meter import RateMeter

MARGIN = 1.10
MARGIN_WITH_WORKERS = 1.15
"""By how much a loader must miss its limit before it fails. On 2 CPUs, figures beside two busy loops over those of the
idle machine: without workers 0.91 (JPEG) to 1.07 (Python), by the wall clock 0.33 to 0.97; with 2 workers 1.01 (sleep),
0.92 (JPEG), 0.87 (Python), 0.85 (memory), 0.80 (dicts), 0.45 (tiny). Idle runs differed by up to 1.1 and 1.3 times."""
HOPELESS = 10.0
"""A loader that would miss this many times better fails on a busy machine too. Two busy loops brought the worst kind
(tiny samples, 2 workers) down to 0.45 of its idle figure; this leaves room for worse neighbours."""
WAIT_SECONDS = 60.0
"""A loader that gives nothing for so long hangs; or for 12 times the budget, where that is more."""
CLEAR_WINDOWS = 3
"""Before so many, however clear the answer, the interval would say little to those who read it."""
FAIL_SHARE = 0.5
"""A failure is not certain before this share of the budget is spent; with workers, two sets of them were seen then."""
_RESTS = (0.2, 0.4, 0.8)
"""Shares of the budget. A failure must hold when looked at again after these: on an idle virtual machine a busy host
halved the CPU's speed for 1 to 12 s at a time, which no account shows (0.63 of the true figure in a run of 1.1 s)."""


def measure_until_decided(
    meter: RateMeter,
    *,
    seconds: float,
    wait: float,
    progress: Callable[[str, float], None],
    clear: Callable[[float], bool],
    narrow: Callable[[], bool],
) -> bool:
    """Have the meter pull until it is ``clear`` (told the share of the budget that is spent), or ``seconds`` are spent.

    Looks again, later, while the loader fails but by no more than what neighbours can do (``narrow``). False where
    no batch came for ``wait`` seconds: the loader hangs, and its workers are killed.
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
                    meter.look_again(rest * seconds, lambda _: not narrow())
    except Hang:
        meter.borrowed.close(kill=True)
        return False
    return True
