"""The Python interpreters of this machine that the project supports, by version."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST, NEWEST = 11, 14


def interpreters() -> dict[str, str]:
    """A command for each minor version of Python 3 that starts here, as ``{"3.12": "/usr/bin/python3.12"}``."""
    found = {f"3.{sys.version_info.minor}": sys.executable}
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for minor in range(OLDEST, NEWEST + 1):
        installed = sorted(map(str, versions.glob(f"3.{minor}.*/bin/python3")))
        for command in (shutil.which(f"python3.{minor}"), *installed):
            if command and f"3.{minor}" not in found and _starts(command):
                found[f"3.{minor}"] = command
    return found


def _starts(command: str) -> bool:
    """A name on the path may be a placeholder that only says which version it lacks."""
    return subprocess.run([command, "-c", ""], capture_output=True, check=False).returncode == 0
