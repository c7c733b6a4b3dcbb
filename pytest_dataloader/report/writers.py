"""The files that a run can be asked for, each written in one step; what goes wrong is told, and ends no run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from pytest_dataloader.environment import environment
from pytest_dataloader.report import github, json, markdown, trace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_dataloader.record import Record

Format = Literal["json", "html", "trace", "markdown"]
"""As the options are called that name the files."""


def write_report(form: Format, path: Path, records: Sequence[Record], *, quick: bool = False) -> str:
    """Write records, of a ``quick`` run or not, to a file; why that failed, or an empty text."""
    place = environment() | {"quick": quick}
    try:
        match form:
            case "json":
                json.write_json(path, json.evidence_document(records, place))
            case "html":
                from pytest_dataloader.report.page import document

                document.write_page(path, json.evidence_document(records, place), document.now())
            case "trace":
                trace.write_trace(path, trace.trace_document(trace.timelines(records), place))
            case _:
                github.write_markdown(path, os.environ, lambda room: markdown.report_document(records, place, room))
    except OSError as error:
        return f"cannot write {path}: {error.strerror or error}"
    except ImportError as error:  # jinja2 and plotly are here, and do not work
        return f"cannot make {path}: {error}"
    return ""
