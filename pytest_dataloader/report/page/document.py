"""The page as text, and its file: the template filled, with plotly.js and the evidence packed into it.

Why plotly: its Python package ships the script that draws, so that a page needs no network and no build step, and it
has bars with a base, bands and hovering. Of its bundles it ships the whole one alone, 4.8 MB; packed with gzip and
base64 it is 2 MB, and a browser inflates it when the first chart comes into view.
"""

from __future__ import annotations

import base64
import gzip
import json as text_json
import secrets
from datetime import UTC, datetime
from importlib import resources
from typing import TYPE_CHECKING, Any

from pytest_dataloader.printable import printable
from pytest_dataloader.report import files, json
from pytest_dataloader.report.page import content

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_TEMPLATE, _STYLE, _SCRIPT = "page.html.jinja", "page.css", "page.js"


def write_page(path: Path, document: Mapping[str, Any], written: str) -> None:
    """Write the page of a document of evidence in one step, as ``files.write_text`` does; ``written`` says when.

    Raises OSError as that does, and ImportError where jinja2 or plotly is missing.
    """
    files.write_text(path, page(document, written))


def now() -> str:
    """When a page is written, for its reader."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def page(document: Mapping[str, Any], written: str = "") -> str:
    """The page of what ``report.json.document`` gathers; raises ImportError where jinja2 or plotly is missing."""
    import jinja2
    import markupsafe
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]  # it has no stubs

    folder = resources.files(__package__)

    def part(name: str) -> str:
        return folder.joinpath(name).read_text(encoding="utf-8")

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    shown = content.loaders_of(document)
    place = document["environment"]
    text = environment.from_string(part(_TEMPLATE)).render(
        loaders=shown,
        counts=content.counts(check for loader in shown for check in loader.checks),
        checks=list(dict.fromkeys(check.check for loader in shown for check in loader.checks)),
        verdicts=content.VERDICTS,
        environment=content.environment_of(document),
        project=printable(" @ ".join(str(place[key]) for key in ("project", "commit") if place.get(key))),
        quick=bool(place.get("quick")),
        written=written,
        style=markupsafe.Markup(part(_STYLE)),
        script=markupsafe.Markup(part(_SCRIPT)),
        nonce=secrets.token_urlsafe(16),
        packed_json=lambda value: packed(text_json.dumps(value, separators=(",", ":"), allow_nan=False)),
        evidence=packed(json.json_text(document)),
        plotly=packed(get_plotlyjs()),
    )
    return str(text)


def packed(text: str) -> str:
    """A text as base64 of gzip, which a browser's DecompressionStream inflates: nothing in it ends a script element.

    >>> gzip.decompress(base64.b64decode(packed("</script>")))
    b'</script>'
    """
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode("ascii")
