"""What is said of loaders with the faults of public reports, and of their healthy twins.

    python benchmarks/reports/run.py [NAME …] [--full] [--forms make,mended] [--bare] [--runs N] [--load N]
    python benchmarks/reports/run.py --folder FOLDER_OF_OTHER_MODULES

A report is a module of this folder: its docstring says what happened, ``REPORT`` where it was filed, ``TRUE`` what is
to be said. ``make()`` has the fault, ``mended()`` has not, and ``bare(loader)`` shows it without pytest-dataloader.
A fault is named where one of ``CHECK`` fails, cannot tell, or advises with words that match ``WORDS``. A twin is
accused where any check fails, or cannot tell for another reason than time. Modules of another folder need none of
these names: there any check may have named the fault, and a reader judges by what was said; one whose docstring begins
with "Healthy" has no fault in ``make()`` either. ``--load`` keeps so many CPUs busy beside.

Each runs as ``python -m pytest_dataloader NAME:FORM --quick`` in a session of its own, whose processes are ended
with it. The table is Markdown. Exit status 1 where a fault is not named or a twin is accused.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
FORMS = ("make", "mended")
LONGEST_SECONDS = 300.0
SHOW = "import importlib, sys; it = importlib.import_module(sys.argv[1]); print(it.bare(getattr(it, sys.argv[2])()))"


@dataclass(frozen=True, slots=True)
class Report:
    """A module: its forms, of which some have no fault, and by which checks and words the fault is named."""

    name: str
    forms: tuple[str, ...]
    sound: tuple[str, ...]
    check: str = ""
    words: str = ""

    @classmethod
    def read(cls, path: Path) -> Report:
        """Without importing it, which may take seconds and libraries."""
        tree = ast.parse(path.read_text(encoding="utf-8"))
        there = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
        named = {
            each.targets[0].id: ast.literal_eval(each.value)
            for each in tree.body
            if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
            if each.targets[0].id in ("CHECK", "WORDS")
        }
        healthy = (ast.get_docstring(tree) or "").startswith("Healthy")
        forms = tuple(form for form in FORMS if form in there)
        return cls(path.stem, forms, FORMS if healthy else ("mended",), named.get("CHECK", ""), named.get("WORDS", ""))


@contextlib.contextmanager
def busy(loops: int) -> Iterator[None]:
    """So many processes that do nothing but use a CPU."""
    processes = [multiprocessing.Process(target=spin, daemon=True) for _ in range(loops)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.join()


def spin() -> None:
    while True:
        pass


def run(arguments: list[str], folder: Path, checkout: Path) -> str:
    """What a command of this Python prints last, or what it ends with where it prints nothing; its session ends too."""
    others = filter(None, [str(folder), str(checkout), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(others)}
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, env=environment, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        printed, errors = process.communicate(timeout=LONGEST_SECONDS)
        told = printed.strip() or errors.strip().partition("\n")[0]
    except subprocess.TimeoutExpired:
        told = f"did not end in {LONGEST_SECONDS:.0f} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return (told.strip().splitlines() or [""])[-1]


def checks_of(name: str, form: str, folder: Path, checkout: Path, *, full: bool) -> dict[str, Any]:
    """The checks of one loader, by name, as the JSON has them."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "found.json")
        command = ["-m", "pytest_dataloader", f"{name}:{form}", "--json", str(path)]
        told = run(command if full else [*command, "--quick"], folder, checkout)
        if not path.exists():
            return {"command": {"verdict": "failed", "reason": told, "advice": []}}
        return json.loads(path.read_text())["loaders"][0]["checks"]


def is_said(check: dict[str, Any]) -> bool:
    """Whether a check says that something is wrong, or may be."""
    short_of_time = check["verdict"] == "inconclusive" and "busy" in check["reason"]
    return check["verdict"] in ("failed", "inconclusive") and not short_of_time


def verdict_of(report: Report, found: dict[str, Any], form: str) -> tuple[bool, str]:
    """Whether what was said is right, and what it was."""
    said = [f"{name} {check['verdict']}: {check['reason']}" for name, check in found.items() if is_said(check)]
    if form in report.sound:
        return not said, "; ".join(said) or "nothing"
    if not report.check:
        return bool(said) and "command" not in found, "; ".join(said) or "passed"
    advice = [
        f"{name} {check['verdict']}: {check['reason']} ({' '.join(each['text'] for each in check['advice'])})"
        for name, check in found.items()
        if re.fullmatch(report.check, name) and (is_said(check) or check["advice"])
    ]
    told = [each for each in advice if re.search(report.words, each)]
    return bool(told), "; ".join(told or said) or "passed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="modules; all of them where none is named")
    parser.add_argument("--folder", type=Path, default=HERE)
    parser.add_argument("--full", action="store_true", help="without --quick")
    parser.add_argument("--bare", action="store_true", help="show the faults without pytest-dataloader")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--load", type=int, default=0, help="busy processes beside")
    parser.add_argument("--checkout", type=Path, default=HERE.parents[1], help="whose pytest_dataloader is asked")
    options = parser.parse_args()
    folder = options.folder.resolve()
    paths = [folder / f"{name}.py" for name in options.names] or sorted(folder.glob("*.py"))
    wrong = 0
    print("| report | form | right | said | s |\n|---|---|---|---|---|", flush=True)
    with busy(options.load):
        for report in map(Report.read, (path for path in paths if path != Path(__file__).resolve())):
            for form in [form for form in options.forms.split(",") if form in report.forms] * options.runs:
                begun = time.monotonic()
                if options.bare:
                    right, said = True, run(["-c", SHOW, report.name, form], folder, options.checkout)
                else:
                    found = checks_of(report.name, form, folder, options.checkout, full=options.full)
                    right, said = verdict_of(report, found, form)
                wrong += not right
                told = " ".join(said.split()).replace("|", "/")
                print(
                    f"| {report.name} | {form} | {'yes' if right else '**no**'} | {told} "
                    f"| {time.monotonic() - begun:.0f} |",
                    flush=True,
                )
    return wrong > 0


if __name__ == "__main__":
    raise SystemExit(main())
