"""What holds what a worker has kept, where no container that was known before has grown: made in the worker itself."""

from __future__ import annotations

import gc
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.loader.referents import CacheFunction
from pytest_dataloader.probe.memory.objects import Walk, walk, worker_roots

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_dataloader.probe.loader.positions import Plan

_SECONDS = 1.0
_FEW = 16
"""Results that a cache must have gained before it is named."""


def bytes_held(seen: Walk) -> dict[str, float]:
    """Bytes by path, as a walk saw them."""
    found: Counter[str] = Counter()
    for exposure in seen.exposures:
        if not exposure.content:
            found[exposure.path] += round(exposure.held)
    return dict(found)


def bytes_held_now(loader: Any, plan: Plan) -> dict[str, float]:
    """Bytes by path, by a walk of now."""
    return bytes_held(walk(worker_roots(loader), positions=plan.indices, universe=plan.universe, seconds=_SECONDS))


def results_kept() -> dict[tuple[int, str], int]:
    """How many results each lru_cache of this process keeps. Nothing is written to but to the caches."""
    caches = [each for each in gc.get_referrers(CacheFunction) if type(each) is CacheFunction]
    return {
        (id(cache), f"{cache.__module__}.{cache.__qualname__}".replace(".<locals>", "")): cache.cache_info().currsize
        for cache in caches
    }


def holder(
    held: Mapping[str, float],
    held_before: Mapping[str, float],
    results: Mapping[tuple[int, str], int],
    results_before: Mapping[tuple[int, str], int],
) -> str:
    """The function whose cache gained most results, else the path that gained most bytes; empty where nothing did."""
    gained = Counter({key: size - results_before.get(key, 0) for key, size in results.items()})
    for (_, name), more in gained.most_common(1):
        if more >= _FEW:
            return name
    grown = Counter({path: size - held_before.get(path, 0) for path, size in held.items()})
    for path, more in grown.most_common(1):
        return _first_new(path, held_before) if more > 0 else ""
    return ""


def _first_new(path: str, before: Mapping[str, float]) -> str:
    """The part of a path that was not there before: ``dataset.kept`` of ``dataset.kept[*].image``."""
    ends = [place.start() for place in re.finditer(r"\.|\[", path)] + [len(path)]
    return next((path[:end] for end in ends[1:] if path[:end] not in before), path).removesuffix("[*]")
