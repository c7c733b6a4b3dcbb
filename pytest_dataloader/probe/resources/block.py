"""A block of code held to leaving nothing behind: segments, descriptors, more than a few batches."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import descriptors, process_tree
from pytest_dataloader.probe.host.descriptors import TORCH, kind
from pytest_dataloader.probe.loader.batch_storages import awaiting_their_turn
from pytest_dataloader.probe.resources import leftovers
from pytest_dataloader.probe.resources.deliveries import Deliveries, keep_deliveries
from pytest_dataloader.probe.resources.leftovers import Leftovers, LeftoverWatch, ResourceKind
from pytest_dataloader.probe.resources.referrers import Referrer, mapped_ranges, referrers
from pytest_dataloader.probe.resources.segment_registry import keep_segment_registry

if TYPE_CHECKING:
    from collections.abc import Iterator

KEPT = 2
"""Batches that a block may still hold at its end: the variable of its loop, and one more."""


class Block:
    """What a watched block has left behind, known once it has ended; and in words, once whoever watches puts it so."""

    __slots__ = ("kept_by", "left", "sentences")

    def __init__(self) -> None:
        self.left = Leftovers()
        self.kept_by: tuple[Referrer, ...] = ()
        self.sentences: tuple[str, ...] = ()


@contextlib.contextmanager
def watched_block(looked_for: ResourceKind, keep: int = KEPT) -> Iterator[Block]:
    """Look at what is there before the block and after it; nothing is looked at where the block raises.

    Workers that run, and the pipes that lead to them, belong to a loader that is still in use.
    """
    block = Block()
    with (
        process_tree.keep_process_registry() as process_registry,
        keep_segment_registry() as registry,
        keep_deliveries() as deliveries,
    ):
        watch = LeftoverWatch(process_registry, registry)
        before = watch.now()
        yield block

        def worth(left: Leftovers) -> Leftovers:
            return _without_few(_of_loops(left.only((looked_for,))), deliveries, keep)

        block.left = watch.left_since(before, worth)
        if block.left:
            block.kept_by = _kept_by(block.left)


def _of_loops(left: Leftovers) -> Leftovers:
    """Without what libraries open for good; under the file_system strategy that includes a socket to each manager."""
    torch: Any = sys.modules.get("torch.multiprocessing")
    by_file = torch is not None and torch.get_sharing_strategy() == "file_system"
    targets = tuple(
        (number, target)
        for number, target in left.targets
        if (kind(target) == "socket" and not by_file) or not leftovers.is_of_libraries(target, (f"{sys.prefix}/",))
    )
    return Leftovers(left.workers, left.names, targets)


def _without_few(left: Leftovers, deliveries: Deliveries, keep: int) -> Leftovers:
    """Without the segments of the last batches, which a loop leaves in its variable, and of those still to come."""
    names = {target.removesuffix(descriptors.DELETED) for _, target in left.batches}
    names |= {segment.path for segment in left.names if segment.maker is not None}
    if not names:
        return left
    held = [(start, path) for start, _, path in mapped_ranges() if path in names]
    known, unknown = deliveries.batches_at([start for start, _ in held])
    few = {path for _, path in held}
    if known + unknown > keep:
        early = awaiting_their_turn() if unknown else set()
        known, unknown = deliveries.batches_at([start for start, _ in held if start not in early])
        if known + unknown > keep:
            return left
    return Leftovers(
        left.workers,
        tuple(segment for segment in left.names if segment.path not in few),
        tuple(each for each in left.targets if each[1].removesuffix(descriptors.DELETED) not in few),
    )


def _kept_by(left: Leftovers) -> tuple[Referrer, ...]:
    """Who keeps the batches among what is left."""
    by_name = any(segment.maker is not None for segment in left.names)
    return referrers({}) if by_name or any(kind(target) == TORCH for _, target in left.targets) else ()
