"""Facts that depend on each other in circles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.flow import solver
from dl_lint.flow.solver import Solver
from dl_lint.flow.values import UNKNOWN, Const, Value, alternatives, union

if TYPE_CHECKING:
    import pytest

SIZE = 40
"""Of a circle in which each fact rests on the next one."""


def solved(monkeypatch: pytest.MonkeyPatch, largest: int) -> tuple[Solver, int]:
    """All facts of a circle, each asked for on its own, and how often one was worked out."""
    monkeypatch.setattr(solver, "LARGEST", largest)
    made, count = Solver(), 0

    def fact(number: int) -> Value:
        nonlocal count
        count += 1
        if number == SIZE - 1:
            return union((Const(1, "int"), ask(0)))
        return ask(number + 1)

    def ask(number: int) -> Value:
        return made.solve(number, lambda: fact(number))

    for number in range(SIZE):
        ask(number)
    return made, count


def test_facts_of_a_circle_are_each_worked_out_on_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made, count = solved(monkeypatch, SIZE)
    assert {made.done[number] for number in range(SIZE)} == {Const(1, "int")}
    assert count > SIZE


def test_facts_of_a_very_large_circle_are_worked_out_once_and_may_be_anything_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, count = solved(monkeypatch, SIZE // 2)
    assert count == SIZE
    assert made.done[0] == Const(1, "int")
    assert {alternatives(made.done[number]) for number in range(1, SIZE)} == {(Const(1, "int"), UNKNOWN)}
