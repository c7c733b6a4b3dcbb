"""The ranks of a torchrun job: what each says of a check reaches all, through the store of the launcher."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PREFIX = "pytest-dataloader"
_POLL_SECONDS = 0.02
_CONNECT_SECONDS = 60.0

_RANK_SECONDS, _RANK_BUDGETS = 60.0, 24.0
"""How long a rank waits for the others to say what they saw: so long and so many budgets for each rank of a machine,
as they measure one after the other. A loader that hangs ends its own check after 60 s or 12 budgets."""

ENDED = "it ended its run without it"
LEFT = "it finished the test without it"
PASSED = "it had nothing to tell"


@dataclass(frozen=True, slots=True)
class RankAddress:
    """Where this process stands in its job, as torchrun's environment variables tell."""

    rank: int
    world_size: int
    local_world_size: int
    host: str
    port: int
    run: str
    """The name of the job and how often it was restarted: no two runs share what they tell."""

    def patience_seconds(self, budget_seconds: float) -> float:
        """How long the others are waited for where each check measures for a budget."""
        return self.local_world_size * (_RANK_SECONDS + _RANK_BUDGETS * budget_seconds)


def place_in(environ: Mapping[str, str]) -> RankAddress | None:
    """The place of this process; None where no launcher with a store of its own started it beside others."""
    try:
        place = RankAddress(
            rank=int(environ["RANK"]),
            world_size=int(environ["WORLD_SIZE"]),
            local_world_size=int(environ.get("LOCAL_WORLD_SIZE", "1")),
            host=environ["MASTER_ADDR"],
            port=int(environ["MASTER_PORT"]),
            run=f"{environ['TORCHELASTIC_RUN_ID']}-{environ.get('TORCHELASTIC_RESTART_COUNT', '0')}",
        )
    except (KeyError, ValueError):
        return None
    return place if place.world_size > 1 and environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True" else None


class Job:
    """A place in a job and its store. ``seconds`` is how long the others are waited for."""

    def __init__(
        self, place: RankAddress, store: Any, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.place = place
        self._store = store
        self._seconds = seconds
        self._clock = clock
        self._times: dict[str, int] = {}
        self._lost: dict[int, str] = {}

    @classmethod
    def join(cls, place: RankAddress, seconds: float) -> Job:
        """Connect to the store of the launcher. Needs no process group, and leaves that of the tests alone."""
        from datetime import timedelta

        from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]  # not in its __all__

        timeout = timedelta(seconds=_CONNECT_SECONDS)
        store = TCPStore(place.host, place.port, is_master=False, timeout=timeout, wait_for_workers=False)
        return cls(place, PrefixStore(f"{_PREFIX}/{place.run}", store), seconds)

    def gather(self, about: str, nodeid: str, said: str) -> tuple[dict[int, str], dict[int, str]]:
        """Tell the others what this rank says about something in a test, and wait for what they say.

        Returns what was said by rank, this one's included, and for each rank that said nothing, why.
        """
        name = f"{nodeid}|{about}"
        times = self._times[name] = self._times.get(name, 0) + 1
        return self._exchange(f"{name}|{times}", nodeid, said)

    def compare(self, about: str, nodeid: str, said: str) -> dict[int, str]:
        """Tell the others something that comes before the next ``gather`` about it, and return what all told, by rank.

        A rank that is at that gather already has nothing to tell, and is not waited for.
        """
        name = f"{nodeid}|{about}"
        after = f"{name}|{self._times.get(name, 0) + 1}"
        return self._exchange(f"{after}|before", nodeid, said, after)[0]

    def _exchange(self, key: str, nodeid: str, said: str, after: str = "") -> tuple[dict[int, str], dict[int, str]]:
        """What all ranks say under ``key``, and why some do not; ``after`` is what a rank says that passed over it."""
        self._tell(key, said)
        heard, missing = {self.place.rank: said}, dict(self._lost)
        deadline = self._clock() + self._seconds
        waiting = [rank for rank in range(self.place.world_size) if rank not in heard and rank not in missing]
        while waiting:
            late = self._clock() > deadline
            for rank in list(waiting):
                # What it said later is asked for first: it may have said all of it meanwhile.
                left = self._left(rank, nodeid)
                passed = bool(after) and self._hear(after, rank) is not None
                answer = self._hear(key, rank)
                if answer is not None:
                    heard[rank] = answer
                elif passed or left:
                    missing[rank] = PASSED if passed else left
                elif late:  # it is not waited for again
                    missing[rank] = self._lost[rank] = f"nothing was heard of it for {self._seconds:.0f} s"
                else:
                    continue
                waiting.remove(rank)
            if waiting:
                time.sleep(_POLL_SECONDS)
        return heard, missing

    def finish(self, nodeid: str) -> None:
        """Tell the others that a test is over: nothing more is to be heard about it."""
        self._tell(f"finished|{nodeid}", "")

    def close(self, said: str, seconds: float | None = None) -> tuple[dict[int, str], dict[int, str]]:
        """Tell the others how this rank's run ended, and wait for how theirs did."""
        self._seconds = self._seconds if seconds is None else seconds
        self._tell("ended", "")
        return self.gather("end", "", said)

    def _left(self, rank: int, nodeid: str) -> str:
        """Why nothing more is to be expected of a rank; empty where it may still say something."""
        if nodeid and self._hear("ended", rank) is not None:
            return ENDED
        return LEFT if nodeid and self._hear(f"finished|{nodeid}", rank) is not None else ""

    def _tell(self, key: str, text: str) -> None:
        self._store.set(f"{self.place.rank}|{key}", text)

    def _hear(self, key: str, rank: int) -> str | None:
        key = f"{rank}|{key}"
        return self._store.get(key).decode() if self._store.check([key]) else None
