"""What a page of many loaders takes: its size, and the seconds until Chromium has opened it and drawn its charts.

    python benchmarks/page_size.py --loaders 50 --workers 8

One loader with so many workers is measured by a real run of pytest, tuning included; each loader of the page has its
evidence with every figure moved by up to 10 %, so that packing finds no two of them alike. "Opened" is from asking for
the file to its having been painted, the median of some openings in fresh browsers; "a loader's charts" is from opening
the first loader to its last chart, with the script that draws inflated and read.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from pytest_dataloader.report.page import document
from tests import chromium

_DATA = """
import json
import time
import torch
from torch.utils.data import DataLoader, Dataset

class Records(Dataset):
    def __init__(self):
        self.rows = [{{"label": number % 10, "text": f"record {{number}}"}} for number in range(50_000)]
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, index):
        row = self.rows[index]
        time.sleep(0.0004)
        return torch.rand(3, 32, 32), row["label"], len(json.dumps(row))

def make():
    return DataLoader(Records(), batch_size=16, shuffle=True, num_workers={workers})
"""


def measured(workers: int, seconds: float) -> dict[str, Any]:
    """The evidence of a real run on one loader with so many workers."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.joinpath("data.py").write_text(_DATA.format(workers=workers))
        folder.joinpath("pyproject.toml").write_text(
            '[tool.pytest-dataloader.targets.train]\nloader = "data:make"\n'
            'min_samples_per_second = 2000\nmax_worker_growth = "1MB"\n'
        )
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--dataloader-bench"]
        asked = ["--dataloader-tune", f"--dataloader-seconds={seconds}", "--dataloader-json=seen.json"]
        asked.append("--dataloader-html=page.html")  # for the hundred batches of its timeline
        subprocess.run([*command, *asked], cwd=folder, check=False, stdout=subprocess.DEVNULL)
        found: dict[str, Any] = json.loads(folder.joinpath("seen.json").read_text())
    return found


def moved(value: Any, by: random.Random) -> Any:
    """The same with each figure moved by up to a tenth."""
    if isinstance(value, dict):
        return {
            name: each if name in ("worker", "epoch", "number") else moved(each, by) for name, each in value.items()
        }
    if isinstance(value, list):
        return [moved(each, by) for each in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, int):
        return int(value * by.uniform(0.9, 1.1))
    digits = len(str(value).partition(".")[2])  # times of a timeline have three
    return round(value * by.uniform(0.9, 1.1), digits)


def many(seen: dict[str, Any], number: int) -> dict[str, Any]:
    """A document of so many loaders like the one that was seen."""
    by, (first,) = random.Random(1), seen["loaders"]
    loaders = []
    for at in range(number):
        one = copy.deepcopy(first) | {"id": f"train-{at}", "nodeid": f"pyproject.toml::train-{at}"}
        for each in (*one["checks"].values(), one.get("tune", {})):
            if "evidence" in each:
                each["evidence"] = moved(each["evidence"], by)
        loaders.append(one)
    return {**seen, "loaders": loaders}


def opened(path: Path, program: str) -> tuple[float, float]:
    """Seconds until a page is there, and then until a loader's charts are."""
    with chromium.browser(program) as running, running.tab() as page:
        page.look(1280)
        there = page.open(path)
        began = time.monotonic()
        page.evaluate("document.querySelector('details.loader').open = true")
        for at in range(int(page.evaluate("document.querySelectorAll('#loader-0 .plot').length"))):
            page.evaluate(f"document.querySelectorAll('#loader-0 .plot')[{at}].scrollIntoView()")
            page.until(f"'drawn' in document.querySelectorAll('#loader-0 .plot')[{at}].dataset")
        return there, time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loaders", type=int, default=50)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5.0, help="budget of each check of the loader measured")
    parser.add_argument("--openings", type=int, default=5)
    parser.add_argument("--evidence", type=Path, help="a file of --dataloader-json to use instead of measuring")
    parser.add_argument("--keep", type=Path, help="where to leave the page")
    given = parser.parse_args()
    seen = json.loads(given.evidence.read_text()) if given.evidence else measured(given.workers, given.seconds)
    content = many({**seen, "loaders": seen["loaders"][:1]}, given.loaders)
    evidence_mb = len(json.dumps(content, indent=2)) / 1e6
    with tempfile.TemporaryDirectory() as folder:
        path = given.keep or Path(folder) / "page.html"
        began = time.monotonic()
        document.write_page(path, content, document.now())
        made = time.monotonic() - began
        size = path.stat().st_size / 1e6
        print(
            f"{given.loaders} loaders, {evidence_mb:.1f} MB of evidence: a page of {size:.2f} MB, made in {made:.1f} s"
        )
        program = chromium.found()
        if not program:
            sys.exit(f"no Chromium is installed: none of {', '.join(chromium.NAMES)}")
        times = [opened(path, program) for _ in range(given.openings)]
    there, drawn = (statistics.median(each) for each in zip(*times, strict=True))
    print(f"opened in {there:.2f} s, a loader's charts in {drawn:.2f} s (median of {given.openings})")


if __name__ == "__main__":
    main()
