"""One report to show, and the files that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from dl_lint.engine.report import Entry, Failure, Report, Reported
from dl_lint.output import Look
from dl_lint.rule import Edit, Finding, Fix, Related
from dl_lint.source.positions import Place

if TYPE_CHECKING:
    from collections.abc import Callable

BUG = Entry("DL211", "loader-argument-set-later", "bug", "dl_lint.rules.loader_argument_set_later")
SLOW = Entry("DL209", "ignored-pin-memory-device", "slow", "dl_lint.rules.ignored_pin_memory_device")
ADVICE = Entry("DL001", "unused-suppression", "advice", "dl_lint.engine.unused_suppression")

TEXTS = {
    "src/data.py": (
        "import torch",
        "",
        "loader = DataLoader(ds, 4)",
        "loader.dataset = other",
        "",
        "last = 1",
    ),
    "src/a b,c:%.py": ("x = 1  # dl-lint: ignore",),
}


@pytest.fixture
def look() -> Look:
    return Look(lambda path: TEXTS.get(path, ()))


@pytest.fixture
def report() -> Report:
    """A bug with a related place and an unsafe fix of two files, and advice with a safe fix, in a file oddly named."""
    bug = Finding(
        Place("src/data.py", (4, 0, 4, 14)),
        "assigning `dataset` raises ValueError: 100 %\nof the time",
        "build another loader",
        (Related(Place("src/data.py", (3, 9, 3, 26)), "built here"),),
        Fix(
            "build it there",
            (
                Edit(Place("src/data.py", (3, 20, 3, 22)), "other"),
                Edit(Place("src/a b,c:%.py", (1, 0, 1, 0)), "y = 2\n"),
            ),
            safe=False,
        ),
    )
    odd = "src/a b,c:%.py"
    idle = Finding(Place(odd, (1, 7, 1, 24)), "silences nothing", "remove it", fix=_removal(odd))
    return Report((Reported(ADVICE, idle), Reported(BUG, bug)), (Failure("src/broken.py", "syntax error", 3),), 7)


def _removal(path: str) -> Fix:
    return Fix("remove it", (Edit(Place(path, (1, 5, 1, 24)), ""),))


@pytest.fixture
def one() -> Callable[..., Report]:
    """A report of one finding of DL209."""

    def make(place: Place, message: str = "wrong", *related: Related) -> Report:
        return Report((Reported(SLOW, Finding(place, message, "right", related)),), (), 1)

    return make
