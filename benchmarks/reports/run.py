"""What is said of loaders with the faults of public reports, and of their healthy twins.

    python benchmarks/reports/run.py [NAME …] [--full] [--forms make,mended] [--bare] [--runs N]

A report is a module of this folder: its docstring says what happened, ``REPORT`` where it was filed, ``TRUE`` what is
to be said. ``make()`` has the fault, ``mended()`` has not, and ``bare(loader)`` shows it without pytest-dataloader.
A fault is named where one of ``CHECK`` fails, cannot tell, or advises with words that match ``WORDS``. A twin is
accused where any check fails, or cannot tell for another reason than time.

Each runs as ``python -m pytest_dataloader NAME:FORM --quick`` in a session of its own, whose processes are ended
with it. The table is Markdown. Exit status 1 where a fault is not named or a twin is accused.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LONGEST_SECONDS = 300.0
SHOW = "import importlib, sys; it = importlib.import_module(sys.argv[1]); print(it.bare(getattr(it, sys.argv[2])()))"


def run(arguments: list[str], checkout: Path) -> str:
    """What a command of this Python prints last; its whole session ends with it."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), str(checkout)])}
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=HERE, env=environment, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        told = process.communicate(timeout=LONGEST_SECONDS)[0]
    except subprocess.TimeoutExpired:
        told = f"did not end in {LONGEST_SECONDS:.0f} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return (told.strip().splitlines() or [""])[-1]


def checks_of(name: str, form: str, checkout: Path, *, full: bool) -> dict[str, Any]:
    """The checks of one loader, by name, as the JSON has them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "found.json")
        command = ["-m", "pytest_dataloader", f"{name}:{form}", "--json", str(path)]
        told = run(command if full else [*command, "--quick"], checkout)
        if not path.exists():
            return {"command": {"verdict": "failed", "reason": told, "advice": []}}
        return json.loads(path.read_text())["loaders"][0]["checks"]


def is_said(check: dict[str, Any]) -> bool:
    """Whether a check says that something is wrong, or may be."""
    short_of_time = check["verdict"] == "inconclusive" and "busy" in check["reason"]
    return check["verdict"] in ("failed", "inconclusive") and not short_of_time


def verdict_of(module: Any, found: dict[str, Any], form: str) -> tuple[bool, str]:
    """Whether what was said is right, and what it was."""
    said = [f"{name} {check['verdict']}: {check['reason']}" for name, check in found.items() if is_said(check)]
    if form == "mended":
        return not said, "; ".join(said) or "nothing"
    advice = [
        f"{name} {check['verdict']}: {check['reason']} ({' '.join(each['text'] for each in check['advice'])})"
        for name, check in found.items()
        if re.fullmatch(module.CHECK, name) and (is_said(check) or check["advice"])
    ]
    told = [each for each in advice if re.search(module.WORDS, each)]
    return bool(told), "; ".join(told or said) or "passed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", default=sorted(each.stem for each in HERE.glob("*.py") if each != Path(__file__))
    )
    parser.add_argument("--full", action="store_true", help="without --quick")
    parser.add_argument("--bare", action="store_true", help="show the faults without pytest-dataloader")
    parser.add_argument("--forms", default="make,mended")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--checkout", type=Path, default=HERE.parents[1], help="whose pytest_dataloader is asked")
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    wrong = 0
    print("| report | form | right | said | s |\n|---|---|---|---|---|", flush=True)
    for name in options.names:
        module = importlib.import_module(name)
        for form in options.forms.split(",") * options.runs:
            begun = time.monotonic()
            if options.bare:
                right, said = True, run(["-c", SHOW, name, form], options.checkout)
            else:
                right, said = verdict_of(module, checks_of(name, form, options.checkout, full=options.full), form)
            wrong += not right
            told = " ".join(said.split()).replace("|", "/")
            print(
                f"| {name} | {form} | {'yes' if right else '**no**'} | {told} | {time.monotonic() - begun:.0f} |",
                flush=True,
            )
    return wrong > 0


if __name__ == "__main__":
    raise SystemExit(main())
