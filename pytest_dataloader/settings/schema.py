"""JSON Schemas of the settings, for editors and for validate-pyproject, made of what the plugin reads them by."""

from __future__ import annotations

from typing import Any

from pytest_dataloader import checks
from pytest_dataloader.loaders import REFERENCE
from pytest_dataloader.settings.limits import DESCRIPTIONS
from pytest_dataloader.settings.options import OPTIONS, WATCH, WATCHED
from pytest_dataloader.settings.targets import NAME

DIALECT = "http://json-schema.org/draft-07/schema#"
"""What editors and validate-pyproject understand."""
SITE = "https://pytest-dataloader.github.io/pytest-dataloader/schemas"

_INI_TYPES: dict[str, dict[str, Any]] = {
    "bool": {"type": "boolean"},
    "float": {"type": "number", "minimum": 0},
    "linelist": {"type": "array", "items": {"type": "string"}},
    "string": {"type": "string"},
}


def settings(_tool_name: str = "pytest-dataloader") -> dict[str, Any]:
    """The schema of ``[tool.pytest-dataloader]``; validate-pyproject calls it with the name of the table."""
    names = {"enum": list(checks.NAMES)}
    chosen = {"anyOf": [names, {"type": "array", "items": names}]}
    limits = {
        limit: {**kind.schema, "description": DESCRIPTIONS[limit]}
        for check in (*checks.NAMES, "tune")
        for limit, kind in checks.limits_of(check).items()
    }
    target = {
        "type": "object",
        "properties": {
            "loader": {
                "type": "string",
                "pattern": f"^(?:{REFERENCE.pattern})$",
                "description": "MODULE:ATTR of a DataLoader, or of a callable that returns one",
            },
            "checks": {**chosen, "description": "only these checks"},
            "skip": {**chosen, "description": "all checks but these"},
            **limits,
        },
        "required": ["loader"],
        "additionalProperties": False,
    }
    return {
        "$schema": DIALECT,
        "$id": f"{SITE}/pytest-dataloader.json",
        "title": "Settings of pytest-dataloader",
        "type": "object",
        "properties": {
            "targets": {
                "type": "object",
                "propertyNames": {"pattern": f"^(?:{NAME.pattern})$"},
                "additionalProperties": target,
                "description": "loaders to measure, each under a name of its own",
            }
        },
        "additionalProperties": False,
    }


def pytest_options() -> dict[str, Any]:
    """The schema of the plugin's keys in ``[tool.pytest.ini_options]``, by key."""
    keys = {option.key: {**_INI_TYPES[option.ini_type], "description": option.help} for option in OPTIONS}
    return {**keys, WATCH: {"type": "array", "items": {"enum": list(WATCHED)}}}
