"""Tells of loaders as they are made."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def on_loader_construction(born: Callable[[Any], None]) -> Callable[[], None]:
    """Have ``born`` called with every loader that is made from now on; returns what ends that."""
    from torch.utils.data import DataLoader

    original = DataLoader.__init__

    @functools.wraps(original)
    def noting(loader: Any, *arguments: Any, **settings: Any) -> None:
        original(loader, *arguments, **settings)
        born(loader)

    kind: Any = DataLoader
    kind.__init__ = noting

    def end() -> None:
        kind.__init__ = original

    return end
