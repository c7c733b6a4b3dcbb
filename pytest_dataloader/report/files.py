"""Files that a report is written to: whole or not at all."""

from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path

from pytest_dataloader.probe.host import disk


def append(path: Path, text: str) -> None:
    """Add text to the end of a file in one step; what is there stays. Raises OSError, also for what is no regular file.

    What is on the disk may have been written by others, and its last line may have no end.
    """
    disk.mode_of(path)
    with path.open("ab") as file:
        separation = b"\n\n" if file.tell() else b""
        file.write(separation + text.encode())


def write_text(path: Path, text: str) -> None:
    """Write text in one step: readers see the old file or the new one, never a part. A name in ``.gz`` is compressed.

    A link stays one, and what it leads to is written; folders that are missing are made. Raises OSError, also for what
    is no regular file: a device would be replaced by one.
    """
    kept = disk.mode_of(path)
    content = text.encode()
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=".pytest-dataloader-", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        # mkstemp makes the file readable for its owner only; the mode that the process asks for is what users expect.
        umask = os.umask(0)
        os.umask(umask)
        Path(draft).chmod(0o666 & ~umask if kept is None else kept)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
