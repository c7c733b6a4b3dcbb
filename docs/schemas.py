"""The JSON Schemas of the site: of a pyproject.toml, and of the report that ``--dataloader-json`` writes.

The report's comes from the dataclasses of evidence, by msgspec.
"""

from __future__ import annotations

import ast
import inspect
import sys
import typing
from typing import TYPE_CHECKING, Any

import dl_lint.schema
import msgspec

from pytest_dataloader import checks, evidence
from pytest_dataloader.environment import environment
from pytest_dataloader.probe.streams import evidence as streams
from pytest_dataloader.report.json import SCHEMA
from pytest_dataloader.settings import schema
from pytest_dataloader.verdict import Advice, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator


def pyproject() -> dict[str, Any]:
    """The tables of a pyproject.toml that are ours, and pytest's with our options; what else it holds is free."""
    options = {"type": "object", "properties": schema.pytest_options()}
    tools = {
        "dl-lint": _part(dl_lint.schema.settings()),
        "pytest": {"type": "object", "properties": {"ini_options": options}},
        "pytest-dataloader": _part(schema.settings()),
    }
    return {
        "$schema": schema.DIALECT,
        "$id": f"{schema.SITE}/pyproject.json",
        "type": "object",
        "properties": {"tool": {"type": "object", "properties": tools}},
    }


def _part(whole: dict[str, Any]) -> dict[str, Any]:
    """A schema inside another one, which says the dialect and the address."""
    return {key: value for key, value in whole.items() if not key.startswith("$")}


def report() -> dict[str, Any]:
    """The document of ``--dataloader-json``: by check its verdict, evidence, limits and advice."""
    classes = [value for value in vars(streams).values() if isinstance(value, type)]
    of_streams = [kind for kind in classes if issubclass(kind, streams.Batches)]
    kinds = {name: [evidence_of(name), *of_streams] for name in (*checks.NAMES, *checks.PAIRED, *checks.ASKED)}
    every = list(dict.fromkeys(kind for kinds_of in kinds.values() for kind in kinds_of))
    for kind in every:
        _resolve(sys.modules[kind.__module__], set())
    computed = [(kind, name, hint) for kind in every for name, hint in _properties(kind)]
    types = [Advice, *every, *(hint for _, _, hint in computed)]
    refs, definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    named = dict(zip(types[: len(every) + 1], refs, strict=False))
    for kind in every:
        definitions[kind.__name__]["additionalProperties"] = False
    for (kind, name, _), given in zip(computed, refs[len(every) + 1 :], strict=True):
        definitions[kind.__name__]["properties"][name] = given
    judged = {
        name: {
            "type": "object",
            "properties": {
                "verdict": {"enum": list(typing.get_args(Outcome))},
                "reason": {"type": "string"},
                "evidence": {"anyOf": [*(named[kind] for kind in kinds[name]), {"type": "object", "maxProperties": 0}]},
                "limits": {"type": "object"},
                "advice": {"type": "array", "items": named[Advice]},
                "ranks": {"type": "array", "items": {"type": "object"}},
            },
            "required": ["verdict", "reason", "evidence", "limits", "advice"],
            "additionalProperties": False,
        }
        for name in kinds
    }
    loader = {
        "type": "object",
        "properties": {
            **{name: {"type": "string"} for name in ("id", "nodeid", "description")},
            "checks": {
                "type": "object",
                "properties": {name: each for name, each in judged.items() if name != "tune"},
                "additionalProperties": False,
            },
            "tune": judged["tune"],
        },
        "required": ["id", "nodeid", "description", "checks"],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{schema.SITE}/report.json",
        "title": "Report of pytest-dataloader",
        "type": "object",
        "properties": {
            "schema": {"const": SCHEMA},
            "environment": {"type": "object", "properties": {key: {} for key in environment()}},
            "loaders": {"type": "array", "items": loader},
        },
        "required": ["schema", "environment", "loaders"],
        "additionalProperties": False,
        "$defs": _with_null_for_no_number(definitions),
    }


def evidence_of(check: str) -> type:
    """The dataclass of a check's evidence, by the annotation of its ``judge``."""
    found: type = getattr(evidence, checks.check_module(check).judge.__annotations__["evidence"])
    return found


def _resolve(module: Any, seen: set[str]) -> None:
    """Import what a module, and those whose classes it names, imports for type checkers alone."""
    if module.__name__ in seen or not module.__name__.startswith("pytest_dataloader"):
        return
    seen.add(module.__name__)
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), module.__name__, "exec"), vars(module))
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ in sys.modules:
            _resolve(sys.modules[value.__module__], seen)


def _properties(kind: type) -> Iterator[tuple[str, Any]]:
    """The figures that are computed, with their types; one that was not measured is left out of a report."""
    for base in reversed(kind.__mro__):
        for name, member in vars(base).items():
            if isinstance(member, property) and not name.startswith("_"):
                yield name, typing.get_type_hints(member.fget, vars(sys.modules[base.__module__]))["return"]


def _with_null_for_no_number(schema: Any) -> Any:
    """A schema of JSON as reports hold it: NaN and infinity are null there."""
    if isinstance(schema, list):
        return [_with_null_for_no_number(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _with_null_for_no_number(value) for key, value in schema.items()}
    return {**changed, "type": ["number", "null"]} if schema.get("type") == "number" else changed
