"""Features of the engine that can be switched off one at a time, so that what each does can be counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Function = TypeVar("_Function", bound="Callable[..., Any]")


class Switch(NamedTuple):
    """``function`` answers ``neutral`` where its feature is off; ``NOTHING_MORE`` is that of a generator."""

    function: Callable[..., Any]
    neutral: object


NOTHING_MORE = object()

FEATURES: dict[str, list[Switch]] = {}
"""By name, the functions that make up each feature. ``benchmarks/ablation.py`` switches them off over checkouts."""


def feature(name: str, neutral: object = False) -> Callable[[_Function], _Function]:
    """Register a function as a part of the feature ``name``. It is returned as it is, and costs nothing."""

    def register(function: _Function) -> _Function:
        FEATURES.setdefault(name, []).append(Switch(function, neutral))
        return function

    return register
