"""Files on disk: read up to a limit and without ever waiting for a writer, and told apart by digests."""

from __future__ import annotations

import os
import stat

SETTINGS_BYTES = 1_000_000
"""Settings, ignore patterns and requirements: the largest in the wild have a tenth of that."""


class NotRegularError(OSError):
    """What lies at a path is a folder, a pipe or a device."""


class TooLargeError(OSError):
    """A file holds more than anybody meant to be read."""


def read(path: str, most_bytes: int, *, own: bool = False) -> bytes:
    """What is in a regular file of at most so many bytes; with ``own``, one that this user wrote, and no link to one.

    A pipe or a device in its place does not make the caller wait. OSError says why not, in ``strerror``.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (os.O_NOFOLLOW if own else 0)
    with open(os.open(path, flags), "rb") as stream:
        seen = os.fstat(stream.fileno())
        if stat.S_ISDIR(seen.st_mode):
            raise IsADirectoryError(0, "is a directory", path)
        if not stat.S_ISREG(seen.st_mode):
            raise NotRegularError(0, "not a regular file", path)
        if own and seen.st_uid != os.geteuid():
            raise PermissionError(0, "written by another user", path)
        data = stream.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise TooLargeError(0, f"larger than {most_bytes / 1e6:.0f} MB", path)
    return data


def digest(*parts: bytes | str) -> str:
    """A name for the parts, in their order; no two sequences of parts share one by concatenation."""
    from hashlib import blake2b  # 5 ms, with OpenSSL: a run that finds no files has nothing to tell apart

    total = blake2b(digest_size=16)
    for part in parts or ("",):
        data = part.encode(errors="surrogateescape") if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()
