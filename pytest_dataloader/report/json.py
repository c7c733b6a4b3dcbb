"""Records as the JSON document that other tools read."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from pytest_dataloader.report import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pytest_dataloader.record import Record

SCHEMA = 1


def evidence_document(records: Iterable[Record], environment: Mapping[str, object]) -> dict[str, Any]:
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


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a document in one step, as ``files.write_text`` does, and raises OSError as that."""
    files.write_text(path, json_text(content))


def json_text(content: Mapping[str, Any]) -> str:
    """A document as it is written."""
    return json.dumps(content, indent=2, allow_nan=False) + "\n"
