"""One loader of a zoo, and what a check must say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.utils.data import DataLoader

    from pytest_dataloader.verdict import Verdict


class Case(NamedTuple):
    """A loader; for a faulty one the fault's kind, what it is called, and the code that finds it."""

    make: Callable[[], DataLoader[Any]]
    kind: str = ""
    source: str = ""
    code: str = ""


def assert_found(case: Case, faults: tuple[Any, ...], verdict: Verdict) -> None:
    """The fault is found, and it is named with the code of its rule."""
    assert [(fault.kind, fault.source) for fault in faults] == [(case.kind, case.source)]
    assert verdict.outcome == "failed"
    assert case.source in verdict.reason
    assert [each.code for each in verdict.advice] == [case.code]
