"""Open file descriptors of a process of ours: how many, of what, and how many there may be."""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DELETED = " (deleted)"
SHARED_MEMORY = "/dev/shm/"
TORCH, SEGMENT = "shared-memory segment of torch", "shared-memory segment"
"""Sorts of descriptors: shared memory that torch made, and other shared memory."""


def why_no_descriptors() -> str:
    """Why descriptors cannot be counted here; empty where they can."""
    return "" if os.path.isdir("/proc/self/fd") else f"{sys.platform} has no /proc, where open descriptors are listed"  # noqa: PTH112  # asked in every watched test


def limit() -> int:
    """How many descriptors this process, and each worker of it, may have open: the soft RLIMIT_NOFILE."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def count_descriptors(pid: int | None = None) -> int | None:
    """How many descriptors a process (this one) has open; None where it is gone or another user's. 0.03 ms."""
    try:
        listed = len(os.listdir(f"/proc/{'self' if pid is None else pid}/fd"))  # noqa: PTH208  # no Path for each entry
    except OSError:
        return None
    return listed - (pid is None or pid == os.getpid())  # the listing's own


def links(pid: int | None = None) -> dict[int, str]:
    """What each descriptor of a process (this one) refers to: a path, ``pipe:[inode]``, ``socket:[inode]``..."""
    folder = f"/proc/{'self' if pid is None else pid}/fd"
    found: dict[int, str] = {}
    try:
        numbers = os.listdir(folder)  # noqa: PTH208  # no Path for each entry
    except OSError:
        return found
    for number in numbers:
        try:
            found[int(number)] = os.readlink(f"{folder}/{number}")  # noqa: PTH115  # no Path for each entry
        except OSError:  # closed meanwhile, as the listing's own is
            continue
    return found


def kind(target: str) -> str:
    """What sort of thing a target is.

    >>> kind("pipe:[123]"), kind("/dev/shm/torch_1_2_3 (deleted)"), kind("/data/train.bin")
    ('pipe', 'shared-memory segment of torch', 'file')
    """
    if target.startswith(f"{SHARED_MEMORY}torch_"):
        return TORCH
    if target.startswith(SHARED_MEMORY):
        return SEGMENT
    if target.startswith("anon_inode:"):
        return target.removeprefix("anon_inode:").strip("[]")
    name, separator, _ = target.partition(":[")
    return name if separator else "file"


def is_segment(target: str) -> bool:
    """Whether a descriptor is of shared memory; semaphores, which multiprocessing makes for each queue, are none."""
    return target.startswith(SHARED_MEMORY) and not target.startswith(f"{SHARED_MEMORY}sem.")


def example(targets: Iterable[str], sort: str) -> str:
    """The target of a sort that is open most often, without the number of the piece; empty where there is none."""
    counted = Counter(target.removesuffix(DELETED) for target in targets if kind(target) == sort)
    return counted.most_common(1)[0][0] if counted else ""


def shared_with(own: Mapping[int, str], others: Iterable[Iterable[str]]) -> frozenset[int]:
    """Descriptors of pipes whose other end one of the ``others`` holds: they lead to a process that is alive."""
    theirs = {target for targets in others for target in targets if target.startswith("pipe:")}
    return frozenset(number for number, target in own.items() if target in theirs)
