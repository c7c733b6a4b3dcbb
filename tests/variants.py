"""Tables of a test of which a few rows run every time; the others, further variants of these, are slow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from _pytest.mark import ParameterSet


def named(names: Iterable[str], quick: Collection[str]) -> list[ParameterSet]:
    """Rows that are looked up by their names; all but the ``quick`` ones are slow."""
    return variants({name: name for name in names}, quick)


def variants(rows: Mapping[str, Any], quick: Collection[str]) -> list[ParameterSet]:
    """Rows by name, a tuple for several parameters; all but the ``quick`` ones are slow."""
    unknown = set(quick) - set(rows)
    assert not unknown, f"no rows: {sorted(unknown)}"
    return [
        pytest.param(
            *(row if isinstance(row, tuple) else (row,)), id=name, marks=() if name in quick else pytest.mark.slow
        )
        for name, row in rows.items()
    ]


def first_of_each(rows: Mapping[str, Any], kind: Callable[[Any], object]) -> list[str]:
    """The names of the first row of each kind."""
    found: dict[object, str] = {}
    for name, row in rows.items():
        found.setdefault(kind(row), name)
    return list(found.values())


def every(rows: Iterable[Any], step: int) -> list[ParameterSet]:
    """Rows without names, of which all but every ``step``-th are slow."""
    return [pytest.param(row, marks=() if at % step == 0 else pytest.mark.slow) for at, row in enumerate(rows)]
