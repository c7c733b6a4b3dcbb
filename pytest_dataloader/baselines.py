"""The file of baselines: what a sample cost when somebody was content with it, by loader, CPU, Python and torch."""

from __future__ import annotations

import dataclasses
import functools
import json
import platform
import sys
from typing import TYPE_CHECKING, Any

from pytest_dataloader.environment import environment
from pytest_dataloader.errors import BadBaseline
from pytest_dataloader.locking import alone_in
from pytest_dataloader.printable import shown
from pytest_dataloader.probe.host import disk
from pytest_dataloader.probe.timing.evidence import BaselineEntry, Platform
from pytest_dataloader.report import json as written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_SCHEMA = 1

as_json = functools.partial(shown, write=json.dumps)


Entries = dict[str, list[BaselineEntry]]
"""By the loader's id."""


def here() -> Platform:
    """This process's place; a CPU that does not tell its model goes by its architecture."""
    known = environment()
    minor = ".".join(platform.python_version_tuple()[:2])
    cpu = str(known["cpu_model"] or f"unnamed {known['machine']}")
    return Platform(cpu, f"{known['implementation']} {minor}", str(known["torch"] or "none"))


def read_baselines(path: Path) -> Entries:
    """Read a file of baselines; none where there is no file. Raises BadBaseline that names file and place."""
    try:
        content = json.loads(disk.read_bytes(path).decode())
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadBaseline(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except (ValueError, RecursionError) as error:
        raise BadBaseline(f"{path} is no JSON: {error}") from None
    if not isinstance(content, dict) or not isinstance(content.get("loaders"), dict):
        raise BadBaseline(f'{path} is no file of baselines: expected {{"schema": {_SCHEMA}, "loaders": {{...}}}}')
    if content.get("schema") != _SCHEMA:
        raise BadBaseline(f"{path}: schema {shown(content.get('schema'))} is not {_SCHEMA}; another version wrote it")
    return {
        name: [
            _entry(value, f"{path}: loaders[{as_json(name)}][{at}]")
            for at, value in enumerate(_list(path, name, values))
        ]
        for name, values in content["loaders"].items()
    }


def find_baseline(entries: Entries, loader: str, place: Platform) -> tuple[BaselineEntry | None, str]:
    """The entry of a loader at a place, or None and the reason in words."""
    known = entries.get(loader, ())
    for entry in known:
        if entry.place == place:
            return entry, ""
    if not known:
        return None, "the file of baselines holds none of this loader"
    others = "; ".join(entry.place.sentence for entry in known)
    return None, f"the baseline is of another place ({others}; here it is {place.sentence})"


def entry_of(evidence: Mapping[str, Any]) -> BaselineEntry:
    """The entry that the evidence of a baseline check makes."""
    cost, place = evidence["cost"], Platform(**evidence["place"])
    return BaselineEntry(
        place, evidence["num_workers"], cost["cpu_ms_per_sample"], cost["wait_ms_per_sample"], cost["kernel_ms"]
    )


def update(path: Path, fresh: Mapping[str, BaselineEntry]) -> None:
    """Put entries into the file, in place of those of the same loader and place; all others stay.

    In one step, and one process at a time. Raises BadBaseline for a file that is broken, which stays as it is;
    OSError where it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with alone_in(path.parent):
        entries = read_baselines(path)
        for loader, entry in fresh.items():
            others = [kept for kept in entries.get(loader, ()) if kept.place != entry.place]
            entries[loader] = [*others, entry]
        written.write_json(path, _document(entries))


def _document(entries: Entries) -> dict[str, Any]:
    """Sorted, so that a diff shows what changed."""
    loaders = {}
    for name in sorted(entries):
        ordered = sorted(entries[name], key=lambda entry: dataclasses.astuple(entry.place))
        loaders[name] = [
            {
                **dataclasses.asdict(entry.place),
                "num_workers": entry.num_workers,
                "cpu_ms_per_sample": _rounded(entry.cpu_ms_per_sample),
                "wait_ms_per_sample": _rounded(entry.wait_ms_per_sample),
                "kernel_ms": {kernel: _rounded(cost) for kernel, cost in sorted(entry.kernel_ms.items())},
            }
            for entry in ordered
        ]
    return {"schema": _SCHEMA, "loaders": loaders}


def _rounded(value: float) -> float:
    """Five digits: more would be noise in a file that people review."""
    return float(f"{value:.5g}")


def _list(path: Path, name: str, values: object) -> Sequence[object]:
    if not isinstance(values, list):
        raise BadBaseline(f"{path}: loaders[{as_json(name)}]: expected a list")
    return values


def _entry(value: object, where: str) -> BaselineEntry:
    if not isinstance(value, dict):
        raise BadBaseline(f"{where}: expected a table, got {as_json(value)}")
    texts = {key: value.get(key) for key in ("cpu_model", "python", "torch")}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise BadBaseline(f"{where}.{key}: expected text, got {as_json(text)}")
    kernels = value.get("kernel_ms")
    if not isinstance(kernels, dict) or not kernels:
        raise BadBaseline(f"{where}.kernel_ms: expected a table of numbers, got {as_json(kernels)}")
    workers = value.get("num_workers")
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 0:
        raise BadBaseline(f"{where}.num_workers: expected a whole number, got {as_json(workers)}")
    return BaselineEntry(
        place=Platform(**{key: str(text) for key, text in texts.items()}),
        num_workers=workers,
        cpu_ms_per_sample=_cost(value, "cpu_ms_per_sample", where),
        wait_ms_per_sample=_cost(value, "wait_ms_per_sample", where, least=0.0),
        kernel_ms={name: _cost(kernels, name, f"{where}.kernel_ms") for name in kernels},
    )


def _cost(table: Mapping[str, object], key: str, where: str, least: float = 1e-9) -> float:
    value = table.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= sys.float_info.max:
        raise BadBaseline(f"{where}.{key}: expected a number {'above' if least else 'from'} 0, got {as_json(value)}")
    return float(value)
