"""What a check says of a loader, as a target without ``--dataloader-bench`` has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_dataloader import checks, loaders
from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable


def verdict_of(check: str, make: Callable[..., Any], seconds: float = 0.5) -> Verdict:
    """The verdict on the loader that a callable makes."""
    loader = loaders.call(make, getattr(make, "__qualname__", "make"))
    try:
        seen = checks.measure(check, loader, setting=checks.Setting(seconds, build=make), limits={})
    except NotMeasured as error:
        return Verdict("not_measured", str(error))
    return checks.judge(check, seen, limits={})
