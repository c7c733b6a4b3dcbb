"""Where figures were measured: interpreter, torch, machine, and how much of it this process may use."""

from __future__ import annotations

import importlib.metadata
import multiprocessing
import os
import platform
import subprocess
import sys
from pathlib import Path

from pytest_dataloader.probe.host import clocks

_GIT_SECONDS = 2.0
"""On a network file system git may take long; a report does without then."""


def environment() -> dict[str, object]:
    """Describe this process and machine. Imports no torch: under pytest-xdist the controller has none loaded."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "torch": _version("torch"),
        "pytest_dataloader": _version("pytest-dataloader"),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu_model": _cpu_model(),
        "cpus": os.cpu_count(),
        "cpus_allowed": clocks.cpus_allowed(),
        "memory_bytes": _memory_bytes(),
        "start_method": _start_method(),
        "project": Path.cwd().name,
        "commit": _commit(),
    }


def _commit() -> str | None:
    """The commit that is checked out in the working folder; None where git says nothing."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, timeout=_GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _version(distribution: str) -> str | None:
    loaded = sys.modules.get(distribution)
    if loaded is not None and hasattr(loaded, "__version__"):
        return str(loaded.__version__)
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def read_cpu_model(cpuinfo: str) -> str | None:
    """The name of the first CPU in the text of /proc/cpuinfo; None where it is not told (ARM)."""
    for line in cpuinfo.splitlines():
        name, separator, value = line.partition(":")
        if separator and name.strip() == "model name":
            return value.strip()
    return None


def _cpu_model() -> str | None:
    try:
        return read_cpu_model(Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        # On Linux platform.processor() would start a process to learn less than /proc tells.
        return None if sys.platform == "linux" else platform.processor() or None


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _start_method() -> str:
    """The start method of workers that name none. Asking without ``allow_none`` would fix it for the whole process."""
    return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
