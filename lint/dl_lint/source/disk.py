"""Files on disk: read without ever waiting for a writer, and told apart by digests of what is in them."""

from __future__ import annotations

import os
import stat


class NotRegularError(OSError):
    """What lies at a path is a folder, a pipe or a device."""


def read(path: str) -> bytes:
    """What is in a regular file; a pipe put in its place does not make the caller wait. OSError says why not."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise NotRegularError
        return stream.read()


def digest(*parts: bytes | str) -> str:
    """A name for the parts, in their order; no two sequences of parts share one by concatenation."""
    from hashlib import blake2b  # 5 ms, with OpenSSL: a run that finds no files has nothing to tell apart

    total = blake2b(digest_size=16)
    for part in parts or ("",):
        data = part.encode(errors="surrogateescape") if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()
