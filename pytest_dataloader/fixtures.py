"""The checks as fixtures, ``dataloader_<check>``: thin."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader.bench import BENCH
from pytest_dataloader.checks import check_module
from pytest_dataloader.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.checks import signatures
    from pytest_dataloader.probe.resources.block import Block


class _FixtureCheck:
    """A check bound to the test that uses it: what ``signatures`` declares of each, for all of them.

    The test fails where a limit is missed or cannot be one; it is reported as skipped where nothing was measured.
    """

    def __init__(self, check: str, item: pytest.Item) -> None:
        self._check = check
        self._item = item

    def __repr__(self) -> str:
        return f"dataloader_{self._check}"

    def __call__(self, loader: Any, /, **limits: Any) -> Any:
        __tracebackhide__ = True
        return self._examine(self._check, limits, loader)

    def _examine(self, check: str, limits: dict[str, Any], *given: Any, build: Any = None) -> Any:
        __tracebackhide__ = True
        from pytest_dataloader import checks, loaders, outcome
        from pytest_dataloader.errors import DataLoaderCheckError
        from pytest_dataloader.probe.host import interruption

        interruption.forget_signals()
        found = tuple(map(loaders.measurable, given))
        foreign = [loader for loader, seen in zip(given, found, strict=True) if seen is None]
        if foreign:
            misuse = f"expected a torch.utils.data.DataLoader, got {loaders.what_instead(foreign[0])}"
        else:
            try:
                read = checks.read_limits(check, limits)
                subject = replace(outcome.subject_in_test(self._item, found[0], check), build=build)
                return outcome.examine(self._item, subject, check, read, *found[1:])
            except DataLoaderCheckError as error:
                misuse = str(error)
            except Exception as error:
                loaders.hide_our_frames(error)
                raise
        return pytest.fail(printable(f"{self!r}: {misuse}"))


class _RankedCheck(_FixtureCheck):
    """A check of ranks, which also takes what makes the loader of a rank."""

    def __call__(self, loader: Any, /, **limits: Any) -> Any:
        __tracebackhide__ = True
        from pytest_dataloader import loaders
        from pytest_dataloader.errors import BadTarget

        if loaders.measurable(loader) is not None or not callable(loader):
            return self._examine(self._check, limits, loader)
        try:
            made = loaders.call(loader, getattr(loader, "__qualname__", type(loader).__name__))
        except BadTarget as error:
            misuse = str(error)
        else:
            return self._examine(self._check, limits, made, build=loader)
        return pytest.fail(printable(f"{self!r}: {misuse}"))


class _ThroughputCheck(_FixtureCheck):
    """The throughput check, which can also compare two loaders."""

    def compare(self, loader: Any, reference: Any, /, *, tolerance: float | None = None) -> Any:
        """Pull from both loaders in turn, without workers, until it is certain which one costs more per sample.

        Fails where ``loader`` is certainly slower than ``reference`` by more than ``tolerance``, a share (0.15 is 15 %;
        left out, that of ``--dataloader-tolerance``). Returns the comparison: ``ratio``, ``interval``, ``cpu_ratio``.
        """
        __tracebackhide__ = True
        allowed = self._item.config.stash[BENCH].options.tolerance if tolerance is None else tolerance
        return self._examine("compare", {"tolerance": allowed}, loader, reference)


class _WatchingCheck(_FixtureCheck):
    """A check that can also watch a block of code, such as a training loop of one's own."""

    @contextlib.contextmanager
    def watch(self, *, keep: int = 2) -> Iterator[Block]:
        """Fail the test where the block leaves something behind, with its name; nothing is said where it raises.

        Up to ``keep`` batches may still be held when it ends, as the variable of a loop holds the last one.
        """
        __tracebackhide__ = True
        from pytest_dataloader.advice import resources
        from pytest_dataloader.probe.resources.block import watched_block

        reason = check_module(self._check).why_not()
        if reason:
            pytest.skip(f"{self!r}.watch: {reason}")
        with watched_block("shm" if self._check == "shm" else "fds", keep) as block:
            yield block
        if block.left:
            kept = ", ".join(map(str, block.kept_by))
            block.sentences = (*resources.leftovers(block.left), *([f"batches are kept by {kept}"] if kept else []))
            told = "\n  ".join([f"{self._check}: the block left behind", *block.sentences])
            pytest.fail(printable(told))


@pytest.fixture
def dataloader_workers(request: pytest.FixtureRequest) -> signatures.WorkersCheck:
    """The workers check: whether workers die, hang or raise. Call it with a DataLoader and limits."""
    return _FixtureCheck("workers", request.node)


@pytest.fixture
def dataloader_fds(request: pytest.FixtureRequest) -> signatures.FdsCheck:
    """The fds check: whether open descriptors grow. Call it with a DataLoader and limits."""
    return _WatchingCheck("fds", request.node)


@pytest.fixture
def dataloader_shm(request: pytest.FixtureRequest) -> signatures.ShmCheck:
    """The shm check: whether shared memory grows or does not fit. Call it with a DataLoader and limits."""
    return _WatchingCheck("shm", request.node)


@pytest.fixture
def dataloader_throughput(request: pytest.FixtureRequest) -> signatures.ThroughputCheck:
    """The throughput check: samples per second, once warm. Call it with a DataLoader and limits."""
    return _ThroughputCheck("throughput", request.node)


@pytest.fixture
def dataloader_stages(request: pytest.FixtureRequest) -> signatures.StagesCheck:
    """The stages check: where the time of a sample goes. Call it with a DataLoader and limits."""
    return _FixtureCheck("stages", request.node)


@pytest.fixture
def dataloader_memory(request: pytest.FixtureRequest) -> signatures.MemoryCheck:
    """The memory check: what workers gain in an epoch. Call it with a DataLoader and limits."""
    return _FixtureCheck("memory", request.node)


@pytest.fixture
def dataloader_randomness(request: pytest.FixtureRequest) -> signatures.RandomnessCheck:
    """The randomness check: whether random draws are the same in two places. Call it with a DataLoader and limits."""
    return _RankedCheck("randomness", request.node)


@pytest.fixture
def dataloader_order(request: pytest.FixtureRequest) -> signatures.OrderCheck:
    """The order check: whether samples repeat, are missing or keep one order. Call it with a DataLoader and limits."""
    return _FixtureCheck("order", request.node)


@pytest.fixture
def dataloader_shards(request: pytest.FixtureRequest) -> signatures.ShardsCheck:
    """The shards check: whether the shares of ranks overlap. Call it with a DataLoader and limits."""
    return _RankedCheck("shards", request.node)


@pytest.fixture
def dataloader_resume(request: pytest.FixtureRequest) -> signatures.ResumeCheck:
    """The resume check: whether samples come twice or never after a restart. Call it with a DataLoader and limits."""
    return _FixtureCheck("resume", request.node)


@pytest.fixture
def dataloader_portability(request: pytest.FixtureRequest) -> signatures.PortabilityCheck:
    """The portability check: whether workers start by each start method. Call it with a DataLoader and limits."""
    return _FixtureCheck("portability", request.node)


@pytest.fixture
def dataloader_transfer(request: pytest.FixtureRequest) -> signatures.TransferCheck:
    """The transfer check: whether an accelerator waits for batches. Call it with a DataLoader and limits."""
    return _FixtureCheck("transfer", request.node)
