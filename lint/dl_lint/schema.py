"""The JSON Schema of [tool.dl-lint], for editors and for validate-pyproject."""

from __future__ import annotations

from typing import Any

from dl_lint.config import KEYS, NAME, START_METHODS, VERSION
from dl_lint.engine import catalogue


def settings(_tool_name: str = "dl-lint") -> dict[str, Any]:
    """The schema of ``[tool.dl-lint]``; validate-pyproject calls it with the name of the table."""
    entries = catalogue.entries().values()
    prefixes = {entry.code[:length]: None for length in (2, 3, 4) for entry in entries}
    selectors = _listed({"enum": ["ALL", *prefixes, *(name for entry in entries for name in (entry.code, entry.name))]})
    text = {"type": "string"}
    names = _listed({**text, "pattern": f"^(?:{NAME.pattern})$"})
    truth = {"type": "boolean"}
    kinds: dict[str, dict[str, Any]] = {
        "select": selectors,
        "extend-select": selectors,
        "ignore": selectors,
        "per-file-ignores": {"type": "object", "additionalProperties": selectors},
        "exclude": _listed(text),
        "pedantic": truth,
        "baseline": text,
        "dataloader-classes": names,
        "dataset-classes": names,
        "device-names": names,
        "trainer-calls-set-epoch": truth,
        "start-method": {"enum": list(START_METHODS)},
        "target-torch": {**text, "pattern": f"^(?:{VERSION.pattern})$"},
        "models": _listed(text),
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://pytest-dataloader.github.io/pytest-dataloader/schemas/dl-lint.json",
        "title": "Settings of dl-lint",
        "type": "object",
        "properties": {key: {**kinds[key], "description": says} for key, says in KEYS.items()},
        "additionalProperties": False,
    }


def _listed(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}
