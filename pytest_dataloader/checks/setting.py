"""How a run measures: what each check is told beside the loader and its limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Setting:
    """How a run measures: ``seconds`` is the budget of a check.

    ``progress`` is told what happens (share done 0..1), ``known`` gets the evidence so far of checks that can tell.
    """

    seconds: float = 5.0
    bench: bool = False
    quick: bool = False
    """Every check in its shortest useful form."""
    whole_epoch: bool = False
    """Whether ``workers`` and ``order`` read one epoch to its end."""
    traced: bool = False
    """Whether ``stages`` times a hundred batches in a row, for a trace."""
    progress: Callable[[str, float], None] = lambda _what, _share: None
    known: Callable[[Any], None] = lambda _evidence: None
    build: Callable[..., Any] | None = None
    """The user's callable that made the loader, where there is one."""
    ranks: int = 1
    """Ranks of a real job, all of which measure; each hears what the others pass to ``tell``, text, once all have."""
    tell: Callable[[str], None] = lambda _told: None

    shared: dict[str, Any] = field(default_factory=dict)
    """What one check of a loader hands to another that comes later in the same run."""

    def budget(self, own: float, share: float = 1.0) -> float:
        """Seconds for a check that needs ``own`` in any run: with ``bench`` at least that share of ``seconds``."""
        if self.quick:
            return _QUICK_SHARE * own
        return max(own, share * self.seconds) if self.bench else own


_QUICK_SHARE = 0.25
"""With it each check of the demo's loaders takes a second or less, portability and memory included."""
