"""Records as the JSON document that other tools read."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import disk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_dataloader.record import Record

SCHEMA = 1


def document(records: Iterable[Record], environment: Mapping[str, object]) -> dict[str, Any]:
    """Gather records by loader; a loader that was checked again by the same check counts with the last verdict."""
    loaders: dict[tuple[str, str], dict[str, Any]] = {}
    for record in records:
        loader = loaders.setdefault(
            (record.nodeid, record.id),
            {"id": record.id, "nodeid": record.nodeid, "description": record.description, "checks": {}},
        )
        loader["description"] = loader["description"] or record.description
        judged = {
            "verdict": record.verdict,
            "reason": record.reason,
            "evidence": dict(record.evidence),
            "limits": dict(record.limits),
            "advice": [dataclasses.asdict(advice) for advice in record.advice],
            **({"ranks": [dict(rank) for rank in record.ranks]} if record.ranks else {}),
        }
        if record.check == "tune":  # no check that a loader passes: advice about its settings
            loader["tune"] = judged
        else:
            loader["checks"][record.check] = judged
    return {"schema": SCHEMA, "environment": dict(environment), "loaders": list(loaders.values())}


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write a document in one step: readers see the old file or the new one, never a part.

    A link stays one, and what it leads to is written; folders that are missing are made. Raises OSError, also for what
    is no regular file: a device would be replaced by one.
    """
    kept = disk.mode_of(path)
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=".pytest-dataloader-", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2, allow_nan=False)
            file.write("\n")
        # mkstemp makes the file readable for its owner only; the mode that the process asks for is what users expect.
        umask = os.umask(0)
        os.umask(umask)
        Path(draft).chmod(0o666 & ~umask if kept is None else kept)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
