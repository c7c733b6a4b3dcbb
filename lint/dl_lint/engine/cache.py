"""What earlier runs worked out, kept as text that can be read but never executed.

It is the user's, not the repository's: ``DL_LINT_CACHE_DIR``, or ``dl-lint`` in the user's folder for caches, never a
folder in what is linted, where whoever wrote that could have put records of their own. The folder may be deleted at
any time, shared by concurrent runs, read-only or damaged: a record that is absent, unreadable, altered, of another
user or no regular file is worked out again. Records are written to a file of their own and renamed into place.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dl_lint.source import disk
from dl_lint.source.disk import digest

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = ("ignored", "runs")

# An answer about a thousand findings takes 1 MB, one about which of 50,000 paths are ignored 4 MB.
LIMIT_BYTES = 256 * 2**20

# A record is written at once; who takes this long is dead.
LONGEST_WRITE_SECONDS = 600

TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# See https://bford.info/cachedir/\n"


def users_folder() -> str | None:
    """Where this user's records lie; None where there is no such place."""
    chosen = os.environ.get("DL_LINT_CACHE_DIR")
    if chosen:
        return os.path.abspath(chosen)
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        return None
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", "dl-lint")
    base = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(base if os.path.isabs(base) else os.path.join(home, ".cache"), "dl-lint")


def _is_within(folder: str, project: str) -> bool:
    return f"{os.path.realpath(folder)}/".startswith(f"{os.path.realpath(project)}/")


class Cache:
    """Records by kind and key, those of each project on their own. Without a folder nothing is found and nothing kept.

    ``project`` is the folder that is linted: the same files elsewhere may mean something else.
    """

    def __init__(self, folder: str | None, project: str = "") -> None:
        self._folder = None if folder is not None and project and _is_within(folder, project) else folder
        self._project = project
        self._ready = False
        self._written = False

    def read(self, kind: str, key: str) -> Any | None:
        """The record, or None if there is none that can be trusted."""
        if self._folder is None:
            return None
        import json

        try:
            checksum, _, body = disk.read(self._path(kind, key), LIMIT_BYTES, own=True).partition(b"\n")
            if checksum.decode("ascii") != digest(body):
                return None
            return json.loads(body)
        except (OSError, ValueError, RecursionError):
            return None

    def write(self, kind: str, key: str, record: Any) -> None:
        """Keep a record of JSON values. A cache that cannot be written to is no reason to stop."""
        if self._folder is None:
            return
        import json

        body = json.dumps(record, separators=(",", ":")).encode("ascii")
        path = self._path(kind, key)
        temporary = f"{path}.{os.getpid()}.tmp"
        try:
            self._prepare()
            with open(temporary, "xb") as file:
                file.write(digest(body).encode("ascii") + b"\n" + body)
            os.replace(temporary, path)
            self._written = True
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)
        except BaseException:  # Ctrl-C between the two
            with suppress(OSError):
                os.unlink(temporary)
            raise

    def trim(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """After a run that wrote: delete what killed runs left half written, and above the limit the oldest until
        half of it is free again."""
        if self._folder is None or not self._written:
            return
        records = []
        for kind in KINDS:
            with suppress(OSError), os.scandir(os.path.join(self._folder, kind)) as entries:
                for entry in entries:
                    with suppress(OSError):
                        seen = entry.stat(follow_symlinks=False)
                        if entry.name.endswith(".tmp") and time.time() - seen.st_mtime > LONGEST_WRITE_SECONDS:
                            os.unlink(entry.path)
                            continue
                        records.append((seen.st_mtime_ns, seen.st_size, entry.path))
        total = sum(size for _, size, _ in records)
        if total <= limit_bytes:
            return
        for _, size, path in sorted(records):
            with suppress(OSError):
                os.unlink(path)
            total -= size
            if total <= limit_bytes // 2:
                return

    def _path(self, kind: str, key: str) -> str:
        assert self._folder is not None
        return os.path.join(self._folder, kind, digest(self._project, key) + ".json")

    def _prepare(self) -> None:
        if self._ready or self._folder is None:
            return
        for kind in KINDS:
            os.makedirs(os.path.join(self._folder, kind), mode=0o700, exist_ok=True)
        tag = os.path.join(self._folder, "CACHEDIR.TAG")
        if not os.path.exists(tag):
            with open(tag, "w", encoding="ascii") as file:
                file.write(TAG)
        self._ready = True


def tool_version() -> str:
    """A digest of the sizes and times of dl-lint's own files and Python's version.

    Not of a version number, so that a checkout of dl-lint being worked on never reads stale records. Asking for the
    files takes 1 ms; reading them 6.
    """
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return digest(str(sys.version_info[:2]), *sorted(_modules(here)))


def _modules(folder: str) -> Iterator[str]:
    pending = [folder]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.name.endswith((".py", ".pyi")):
                    seen = entry.stat()
                    yield f"{entry.path[len(folder) :]} {seen.st_size} {seen.st_mtime_ns}"
                elif entry.name != "__pycache__" and entry.is_dir():
                    pending.append(entry.path)
