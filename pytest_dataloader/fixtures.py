"""The checks as fixtures, ``dataloader_<check>``: thin, made from the list of checks."""

from __future__ import annotations

from typing import Any, Protocol

import pytest

from pytest_dataloader.checks import NAMES


class Check(Protocol):
    """A check as a test gets it from a fixture."""

    def __call__(self, loader: Any, /, **limits: Any) -> Any:
        """Run the check on a torch DataLoader and return its evidence.

        The test fails where a limit is missed or cannot be one; it is reported as skipped where nothing was measured.
        """


class _FixtureCheck:
    """A check bound to the test that uses it."""

    def __init__(self, check: str, item: pytest.Item) -> None:
        self._check = check
        self._item = item

    def __repr__(self) -> str:
        return f"dataloader_{self._check}"

    def __call__(self, loader: Any, /, **limits: Any) -> Any:
        __tracebackhide__ = True
        from pytest_dataloader import checks, loaders, outcome
        from pytest_dataloader.errors import DataLoaderCheckError

        misuse = f"expected a torch.utils.data.DataLoader, got {loaders.what_instead(loader)}"
        if loaders.is_dataloader(loader):
            try:
                read = checks.read_limits(self._check, limits)
                return outcome.examine(
                    self._item, outcome.subject_of(self._item, loader, self._check), self._check, read
                )
            except DataLoaderCheckError as error:
                misuse = str(error)
            except Exception as error:
                error.__traceback__ = loaders.without_our_frames(error)
                raise
        return pytest.fail(f"{self!r}: {misuse}", pytrace=False)


def _fixture(check: str) -> Any:
    def fixture(request: pytest.FixtureRequest) -> Check:
        return _FixtureCheck(check, request.node)

    fixture.__doc__ = (
        f"The {check} check: dataloader_{check}(loader, **limits) measures a torch DataLoader, fails the test where a "
        "limit is missed, and returns the evidence."
    )
    return pytest.fixture(name=f"dataloader_{check}")(fixture)


globals().update({f"dataloader_{check}": _fixture(check) for check in NAMES})
