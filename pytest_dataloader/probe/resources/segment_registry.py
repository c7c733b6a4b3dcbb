"""Writes down which segments of multiprocessing.shared_memory this process and its workers create: no name tells."""

from __future__ import annotations

import contextlib
import functools
import tempfile
from multiprocessing import shared_memory
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MARK = "created_without_pytest_dataloader"


class SegmentRegistry:
    """The names of segments created while they were kept, in a file that every process of ours appends to."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def names(self) -> frozenset[str]:
        """The names as /dev/shm has them."""
        try:
            return frozenset(self._path.read_text(encoding="utf-8").split())
        except OSError:
            return frozenset()

    def install(self) -> None:
        """Have this process, and those forked from it, write down what they create."""
        _uninstall()
        creating = shared_memory.SharedMemory.__init__
        shared_memory.SharedMemory.__init__ = _noting(creating, self._path)  # type: ignore[method-assign]  # put back by keep_segment_registry

    def told_to_workers(self, first: Callable[[int], None] | None) -> Callable[[int], None]:
        """A ``worker_init_fn`` that installs this in a worker that was not forked, and then calls the ``first`` one."""
        return _Start(self, first)


class _Start:
    def __init__(self, registry: SegmentRegistry, first: Callable[[int], None] | None) -> None:
        self._creations = registry
        self._first = first

    def __call__(self, worker: int) -> None:
        self._creations.install()
        if self._first is not None:
            self._first(worker)


@contextlib.contextmanager
def keep_segment_registry() -> Iterator[SegmentRegistry]:
    """Write down, during the block, every segment that this process and processes forked from it create."""
    outer = getattr(shared_memory.SharedMemory.__init__, _MARK, None)
    if outer is not None:  # a block inside a block: one file tells both
        yield SegmentRegistry(outer[1])
        return
    with tempfile.TemporaryDirectory(prefix="pytest-dataloader-", ignore_cleanup_errors=True) as folder:
        registry = SegmentRegistry(Path(folder, "names"))
        registry.install()
        try:
            yield registry
        finally:
            _uninstall()


def _uninstall() -> None:
    known = getattr(shared_memory.SharedMemory.__init__, _MARK, None)
    if known is not None:
        shared_memory.SharedMemory.__init__ = known[0]  # type: ignore[method-assign]  # as it was


def _noting(creating: Callable[..., None], path: Path) -> Callable[..., None]:
    @functools.wraps(creating)
    def noted(segment: Any, name: str | None = None, create: bool = False, *others: Any, **more: Any) -> None:
        creating(segment, name, create, *others, **more)
        if create:
            with contextlib.suppress(OSError), path.open("a", encoding="utf-8") as file:
                file.write(f"{segment.name}\n")

    setattr(noted, _MARK, (creating, path))
    return noted
