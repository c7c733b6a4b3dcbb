"""How much of a loader was seen, in lines below a verdict; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def coverage(partly: Iterable[str]) -> str:
    """What was seen in part only.

    >>> coverage(["an epoch was not run to its end"]), coverage([])
    ('\\nan epoch was not run to its end', '')
    """
    return "".join(f"\n{each}" for each in partly)
