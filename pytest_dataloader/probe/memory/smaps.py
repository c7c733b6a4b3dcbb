"""How much memory a process has to itself and how much it shares: smaps_rollup, else psutil's unique set size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Source = Literal["smaps_rollup", "uss"]


@dataclass(frozen=True, slots=True)
class Reading:
    """Bytes of one process at one moment. ``shared_bytes`` is None where only the unique set size is told."""

    source: Source
    private_bytes: int
    shared_bytes: int | None
    rss_bytes: int
    pss_bytes: int | None
    anonymous_bytes: int | None = None


Reader = Callable[[int], Reading]


def parse_rollup(text: str) -> Reading:
    """Read /proc/PID/smaps_rollup. Raises KeyError where a field is missing."""
    fields = {}
    for line in text.splitlines()[1:]:
        name, _, rest = line.partition(":")
        if rest.strip().endswith("kB"):
            fields[name] = int(rest.split()[0]) * 1024
    return Reading(
        "smaps_rollup",
        private_bytes=fields["Private_Dirty"],
        shared_bytes=fields["Shared_Dirty"],
        rss_bytes=fields["Rss"],
        pss_bytes=fields["Pss"],
        anonymous_bytes=fields.get("Anonymous"),
    )


def read_rollup(pid: int) -> Reading:
    """Read a process by smaps_rollup, about 20 ms per GB. Raises OSError where it is withheld."""
    try:
        return parse_rollup(Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii"))
    except KeyError as error:
        raise OSError(0, f"smaps_rollup has no {error.args[0]}") from None


def read_uss(pid: int) -> Reading:
    """Read a process by psutil: unique and resident set size only. Raises OSError where they are withheld."""
    import psutil

    try:
        full = psutil.Process(pid).memory_full_info()
    except psutil.Error as error:
        raise OSError(0, str(error) or type(error).__name__) from None
    return Reading("uss", int(full.uss), None, int(full.rss), getattr(full, "pss", None))


READERS: tuple[Reader, ...] = (read_rollup, read_uss)
"""In order of preference."""


def first_that_reads(pid: int, readers: tuple[Reader, ...] = READERS) -> tuple[Reader | None, tuple[str, ...]]:
    """The first reader that works for a process, and why those before it do not."""
    withheld = []
    for reader in readers:
        try:
            reader(pid)
        except OSError as error:
            withheld.append(f"{reader.__name__.removeprefix('read_')}: {error.strerror or error}")
            continue
        return reader, tuple(withheld)
    return None, tuple(withheld)
