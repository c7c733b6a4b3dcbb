"""How much memory a process has to itself and how much it shares: /proc/PID/smaps_rollup.

Of the ways to read memory, each does one thing. pagemap tells which pages, and so which attribute: with it, it decided
all of 112 loaders of ``benchmarks/memory_calibration.py``. smaps_rollup tells how many bytes: the price of warming up,
the curve of each worker over an epoch, and the verdict where pagemap is withheld.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Reading:
    """Bytes of one process at one moment."""

    private_bytes: int
    shared_bytes: int
    rss_bytes: int
    pss_bytes: int


RollupReader = Callable[[int], Reading]


def parse_rollup(text: str) -> Reading:
    """Read /proc/PID/smaps_rollup. Raises KeyError where a field is missing."""
    fields = {}
    for line in text.splitlines()[1:]:
        name, _, rest = line.partition(":")
        if rest.strip().endswith("kB"):
            fields[name] = int(rest.split()[0]) * 1024
    return Reading(fields["Private_Dirty"], fields["Shared_Dirty"], fields["Rss"], fields["Pss"])


def read_rollup(pid: int) -> Reading:
    """Read a process, about 20 ms per GB. Raises OSError where the kernel withholds it."""
    try:
        return parse_rollup(Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii"))
    except KeyError as error:
        raise OSError(0, f"smaps_rollup has no {error.args[0]}") from None


def why_no_smaps(pid: int, reader: RollupReader = read_rollup) -> str:
    """Why a process cannot be read; empty where it can."""
    try:
        reader(pid)
    except OSError as error:
        return f"smaps_rollup: {error.strerror or error}"
    return ""
