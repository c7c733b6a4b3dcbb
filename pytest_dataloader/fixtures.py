"""The checks as fixtures, ``dataloader_<check>``: thin, made from the list of checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import ref

import pytest

from pytest_dataloader import checks, loaders, outcome
from pytest_dataloader.errors import DataLoaderCheckError
from pytest_dataloader.outcome import Subject


class Check(Protocol):
    """A check as a test gets it from a fixture."""

    def __call__(self, loader: Any, /, **limits: Any) -> Any:
        """Run the check on a torch DataLoader and return its evidence.

        The test fails where a limit is missed or cannot be one; it is reported as skipped where nothing was measured.
        """


@dataclass(slots=True)
class _Seen:
    """The loaders that a test has measured so far: its n-th loader is reported as ``nodeid#n``."""

    loaders: list[tuple[ref[Any], set[str]]] = field(default_factory=list)

    def number(self, loader: Any, check: str) -> int:
        """Which loader of the test this is, from 1. A loader that had this check before counts anew."""
        for number, (known, had) in enumerate(self.loaders, 1):
            if known() is loader and check not in had:
                had.add(check)
                return number
        self.loaders.append((ref(loader), {check}))
        return len(self.loaders)


_SEEN = pytest.StashKey[_Seen]()


class _FixtureCheck:
    """A check bound to the test that uses it."""

    def __init__(self, check: str, item: pytest.Item) -> None:
        self._check = check
        self._item = item

    def __repr__(self) -> str:
        return f"dataloader_{self._check}"

    def __call__(self, loader: Any, /, **limits: Any) -> Any:
        __tracebackhide__ = True
        misuse = f"expected a torch.utils.data.DataLoader, got {loaders.what_instead(loader)}"
        if loaders.is_dataloader(loader):
            try:
                read = checks.read_limits(self._check, limits)
                return outcome.examine(self._item, self._subject(loader), self._check, read)
            except DataLoaderCheckError as error:
                misuse = str(error)
            except Exception as error:
                error.__traceback__ = loaders.without_our_frames(error)
                raise
        return pytest.fail(f"{self!r}: {misuse}", pytrace=False)

    def _subject(self, loader: Any) -> Subject:
        nodeid = outcome.plain_nodeid(self._item)
        number = self._item.stash.setdefault(_SEEN, _Seen()).number(loader, self._check)
        return Subject(nodeid if number == 1 else f"{nodeid}#{number}", nodeid, loader)


def _fixture(check: str) -> Any:
    def fixture(request: pytest.FixtureRequest) -> Check:
        return _FixtureCheck(check, request.node)

    fixture.__doc__ = (
        f"The {check} check: dataloader_{check}(loader, **limits) measures a torch DataLoader, fails the test where a "
        "limit is missed, and returns the evidence."
    )
    return pytest.fixture(name=f"dataloader_{check}")(fixture)


globals().update({f"dataloader_{check}": _fixture(check) for check in checks.NAMES})
