"""Does everything hold under the releases of torch, Python and pytest that people have?

    python benchmarks/matrix/run.py [--only 2.4 2.15] [--write] [--folder .matrix]

Makes an environment for each row, with what a user would have there and no CUDA libraries, and runs the contract suite
in it: one fault and one healthy twin of each check, every private name, the demo. ``--write`` renews the table in
docs/compatibility.md from the last run of each row. Rows that this machine cannot have (no such Python, no such
release) are named with the reason.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.pythons import interpreters  # noqa: E402  # a script of a checkout

DOCUMENT = ROOT / "docs" / "compatibility.md"
BEGIN, END = "<!-- matrix -->\n", "<!-- /matrix -->\n"
SECONDS = 1200
"""For one environment's contract suite; it takes two minutes of two quiet CPUs."""
NEEDED_BY_TORCH = ("filelock", "fsspec", "jinja2", "networkx", "setuptools", "sympy", "typing-extensions")
"""What torch imports, less the libraries of CUDA that its builds ask for."""
BESIDE = ("numpy>=2", "pillow>=11", "pytest-xdist>=3.8", "pytest-timeout>=2.3", "requests")


@dataclass(frozen=True, slots=True)
class Environment:
    """A row: what is installed there."""

    python: str
    torch: str
    pytest: str

    @property
    def name(self) -> str:
        return f"python{self.python}-torch{self.torch}-pytest{self.pytest}"


OLDEST, NEWEST = Environment("3.11", "2.4.1", "8.1.2"), Environment("3.11", "2.15.0", "9.2.0")
ENVIRONMENTS = (
    OLDEST,
    Environment("3.11", "2.6.0", "8.4.2"),
    Environment("3.11", "2.8.0", "8.4.2"),
    Environment("3.11", "2.9.1", "9.1.1"),
    Environment("3.11", "2.11.0", "9.1.1"),
    Environment("3.11", "2.12.0", "9.1.1"),
    Environment("3.11", "2.13.0", "9.1.1"),
    Environment("3.11", "2.14.1", "9.2.0"),
    NEWEST,
    Environment("3.12", "2.15.0", "9.2.0"),
    Environment("3.13", "2.15.0", "9.2.0"),
    Environment("3.14", "2.15.0", "9.2.0"),
)


@dataclass(frozen=True, slots=True)
class Result:
    """How the contract suite ended in an environment; ``missing`` where there is none."""

    environment: Environment
    passed: int = 0
    failed: tuple[str, ...] = ()
    skipped: int = 0
    missing: str = ""

    @property
    def good(self) -> bool:
        return bool(self.passed) and not self.failed

    def row(self) -> str:
        here = self.environment
        seen = f"{self.passed} of {self.passed + len(self.failed)}" if not self.missing else self.missing
        failed = "; ".join(self.failed[:3]) + (f" and {len(self.failed) - 3} more" if len(self.failed) > 3 else "")
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"| {here.python} | {here.torch} | {here.pytest} | {seen}{skipped} | {failed} |"


def make(environment: Environment, folder: Path) -> str:
    """Make an environment, where it is not there yet; why it cannot be had, or nothing."""
    python = interpreters().get(environment.python)
    if python is None:
        return f"no Python {environment.python} on this machine"
    binary = folder / environment.name / "bin" / "python"
    stamp = folder / environment.name / "installed"
    if not stamp.exists():
        steps = [
            [python, "-m", "venv", str(folder / environment.name)],
            [str(binary), "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1"],
            # Without what it depends on: gigabytes of CUDA's libraries, for which stand-ins are enough here.
            [str(binary), "-m", "pip", "install", "--quiet", "--no-deps", f"torch=={environment.torch}"],
            [str(binary), "-m", "pip", "install", "--quiet", "--no-deps", "torchdata==0.11.0"],
            [
                *(str(binary), "-m", "pip", "install", "--quiet", *NEEDED_BY_TORCH, *BESIDE),
                *(f"pytest=={environment.pytest}", "--editable", str(ROOT / "lint"), "--editable", str(ROOT)),
            ],
        ]
        for step in steps:
            # The constraints of a machine must not choose the versions; the linter is installed beside.
            environ = {**os.environ, "PIP_CONSTRAINT": os.devnull, "DL_LINT_BY_NAME": "1"}
            done = subprocess.run(step, env=environ, capture_output=True, text=True, check=False)
            if done.returncode:
                return (done.stderr.strip().splitlines() or ["it could not be installed"])[-1]
        libraries = next((folder / environment.name).glob("lib/python*/site-packages/torch/lib"))
        subprocess.run([sys.executable, str(Path(__file__).with_name("cuda_stubs.py")), str(libraries)], check=True)
        stamp.touch()
    return ""


def run(environment: Environment, folder: Path) -> Result:
    """Run the contract suite in an environment."""
    if missing := make(environment, folder):
        return Result(environment, missing=missing)
    report = folder / f"{environment.name}.xml"
    report.unlink(missing_ok=True)
    command = [str(folder / environment.name / "bin" / "python"), "-m", "pytest", "tests/contract", "-q"]
    options = ["-p", "no:cacheprovider", "-W", "default", "--timeout=300", f"--junitxml={report}"]
    log = folder / f"{environment.name}.log"
    with log.open("w", encoding="utf-8") as output:
        try:
            subprocess.run([*command, *options], cwd=ROOT, stdout=output, stderr=output, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return Result(environment, failed=(f"not finished in {SECONDS} s",))
    return read(environment, folder)


def read(environment: Environment, folder: Path) -> Result:
    """What the last run in an environment left."""
    if environment.python not in interpreters():
        return Result(environment, missing=f"no Python {environment.python} on this machine")
    report, log = folder / f"{environment.name}.xml", folder / f"{environment.name}.log"
    if not log.exists():
        return Result(environment, missing="not tried yet")
    if not report.exists():
        last = (log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["no output"])[-1]
        return Result(environment, failed=(last,))
    outcomes, failed = Counter[str](), []
    for case in ET.parse(report).iter("testcase"):
        outcome = next((each.tag for each in case if each.tag in ("failure", "error", "skipped")), "passed")
        outcomes[outcome] += 1
        failed += [case.get("name", "")] if outcome in ("failure", "error") else []
    return Result(environment, outcomes["passed"], tuple(failed), outcomes["skipped"])


def table(results: list[Result]) -> str:
    head = "| Python | torch | pytest | contract tests passed | failed |\n|---|---|---|---|---|\n"
    return head + "".join(f"{result.row()}\n" for result in results)


def write(results: list[Result]) -> None:
    """Put the table between the marks of the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}{table(results)}{END}{after}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", metavar="TORCH", help="releases of torch: 2.4 2.15, or oldest, newest")
    parser.add_argument("--write", action="store_true", help="renew the table in docs/compatibility.md")
    parser.add_argument("--folder", type=Path, default=ROOT / ".matrix", help="where environments are kept, 2 GB each")
    parser.add_argument("--jobs", type=int, default=2, help="environments at a time (default: %(default)s)")
    given = parser.parse_args()
    ends = {"oldest": OLDEST, "newest": NEWEST}
    chosen = [
        each
        for each in ENVIRONMENTS
        if given.only is None
        or any(ends.get(name) == each or f"{each.torch}.".startswith(f"{name}.") for name in given.only)
    ]
    given.folder.mkdir(parents=True, exist_ok=True)

    def row(environment: Environment) -> Result:
        began = time.monotonic()
        result = run(environment, given.folder)
        print(f"{result.row()} {time.monotonic() - began:.0f} s", flush=True)
        return result

    # Each waits for half of its time: for downloads, then for workers.
    with ThreadPoolExecutor(given.jobs) as pool:
        results = list(pool.map(row, chosen))
    if given.write:
        write([read(each, given.folder) for each in ENVIRONMENTS])
    # What this machine cannot have is no fault; that none could be tried is one.
    tried = [result for result in results if not result.missing]
    return 0 if all(result.good for result in tried) and (tried or not chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
