"""Tells when something changed that a run rests on: code, notebooks, settings, ignore files, requirements."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from watchfiles import DefaultFilter, watch

from dl_lint.source.packaging import may_tell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from watchfiles import Change

    from dl_lint.config import Home

ENDS = (".py", ".ipynb", ".pyx", ".toml", ".yaml", ".yml", ".json", ".gitignore")


class _OfARun(DefaultFilter):
    """No hidden folders, caches or environments, which the default names."""

    ignore_dirs = (*DefaultFilter.ignore_dirs, ".ipynb_checkpoints", "venv")

    def __call__(self, change: Change, path: str) -> bool:
        return (path.endswith(ENDS) or may_tell(os.path.basename(path))) and super().__call__(change, path)


def changes(paths: Sequence[str], home: Home) -> Iterator[None]:
    """Once at first, then after every change. Ctrl-C raises KeyboardInterrupt, as anywhere."""
    watched = {
        os.path.abspath(path) if os.path.isdir(path) else os.path.dirname(os.path.abspath(path)) for path in paths
    }
    if home.root is not None:
        watched.add(home.root)
    outer = {one for one in watched if not any(one != other and one.startswith(other + os.sep) for other in watched)}
    seen = watch(*sorted(outer), watch_filter=_OfARun(), raise_interrupt=True, rust_timeout=1000, yield_on_timeout=True)
    next(seen)  # from here on nothing is missed
    yield
    for found in seen:
        if found:
            yield
