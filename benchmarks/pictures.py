"""The pictures of docs, from real runs of the example with faults: page, timeline, notebook.

    python benchmarks/pictures.py [--into docs/images] [--only notebook]

Needs the extra ``report``, Chromium, and for the notebook a kernel (ipykernel, nbclient). On a busy machine the checks
say so, in the pictures too: let it rest.
"""

from __future__ import annotations

import argparse
import base64
import os
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from tests.chromium import browser, found

if TYPE_CHECKING:
    from tests.chromium import Page

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "jpeg_with_faults"
PIXELS = 1280
COMMAND = ["pytest", "--dataloader-bench"]

CELL = """\
from data import make_train_loader
from pytest_dataloader import diagnose

diagnose(make_train_loader(), quick=True, max_worker_growth="8MB")"""
NOTEBOOK = """
body { margin: 0; background: white; color: black; font: 14px/1.4 sans-serif; }
main { width: 1000px; padding: 16px; } pre { font: 13px/1.4 "DejaVu Sans Mono", monospace; }
.cell { padding: 8px; border: 1px solid #ddd; background: #f7f7f7; } td { padding: 2px 8px; }
"""


def run(*options: str) -> None:
    """Run the example; raises RuntimeError where nothing was measured."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", *COMMAND, "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=EXAMPLE, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 1:  # the example has a fault
        raise RuntimeError(done.stdout + done.stderr)


def executed(cell: str) -> list[str]:
    """What a notebook shows below a cell, as HTML; the kernel is a real one."""
    import nbclient
    import nbformat

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(EXAMPLE)}}).execute()
    return [
        output.data["text/html"]
        for output in book.cells[0].outputs
        if "text/html" in output.get("data", ())  # not its progress
    ]


def draw_notebook(page: Page, folder: Path, into: Path) -> None:
    shown = f"<pre class='cell'>{escape(CELL)}</pre>{''.join(executed(CELL))}"
    path = Path(folder, "notebook.html")
    path.write_text(f"<!doctype html><meta charset='utf-8'><style>{NOTEBOOK}</style><main>{shown}</main>")
    page.look(PIXELS, 1000)
    page.open(path)
    picture_of(page, "main", into / "notebook.png")


def picture_of(page: Page, selector: str, path: Path) -> None:
    """An element of the page."""
    page.evaluate(f"document.querySelector('{selector}').scrollIntoView()")
    box = f"document.querySelector('{selector}').getBoundingClientRect().toJSON()"
    clip = {key: page.evaluate(f"{box}.{key}") for key in ("x", "y", "width", "height")}
    clip["y"] += page.evaluate("scrollY")
    told = page.call("Page.captureScreenshot", captureBeyondViewport=True, clip={**clip, "scale": 1})
    path.write_bytes(base64.b64decode(told["data"]))


def draw_run(page: Page, folder: Path, into: Path) -> None:
    """The page of a run, and the timeline on it."""
    html = Path(folder, "page.html")
    run(f"--dataloader-html={html}")
    page.look(PIXELS, 1000)
    page.open(html)
    page.evaluate("document.querySelector('.environment').open = false")
    page.picture(into / "page.png", whole=False)
    page.evaluate("document.querySelector('.chart.broad').scrollIntoView()")  # charts are drawn as they come into view
    page.until("document.querySelector('.chart.broad .plot svg')")
    picture_of(page, ".chart.broad", into / "timeline.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--only", choices=["notebook"], help="leave the other pictures as they are")
    options = parser.parse_args()
    into = options.into
    into.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, str(EXAMPLE.parent / "make_images.py")], check=True)
    with tempfile.TemporaryDirectory() as folder, browser(found()) as running, running.tab() as page:
        draw_notebook(page, Path(folder), into)
        if not options.only:
            draw_run(page, Path(folder), into)
    for path in sorted(into.iterdir()):
        print(f"{path.stat().st_size / 1e3:8.1f} kB  {path}")


if __name__ == "__main__":
    main()
