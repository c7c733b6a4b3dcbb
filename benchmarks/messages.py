"""Every message that a loader can get, one after the other, to be read aloud.

    python -m benchmarks.messages [--only zoo,workers,resources,memory,targets] [--columns 80] > messages.txt

The faults of tests/zoo, of worker_faults.py, resources_faults.py and the memory loaders, each through its check, as the
terminal shows it; then what bad targets, limits and options are told.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))

from pytest_dataloader import loaders
from pytest_dataloader.checks import Setting
from pytest_dataloader.diagnosis.runner import Runner, Subject
from pytest_dataloader.report import terminal
from pytest_dataloader.report.console import rendered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Case = tuple[str, str, Any, Any, dict[str, Any]]
"""Name, check, a callable that makes the loader, a callable of ranks or None, limits."""

BAD_TARGETS = {
    "no colon": 'loader = "proj.data"',
    "no such module": 'loader = "proj.dat:make"',
    "no such attribute": 'loader = "proj.data:mak"',
    "a module that does not import": 'loader = "proj.broken:make"',
    "a callable that raises": 'loader = "proj.data:raises"',
    "a callable that needs arguments": 'loader = "proj.data:needs"',
    "no loader": 'loader = "proj.data:number"',
    "an object that holds a loader": 'loader = "proj.data:holder"',
    "an empty loader": 'loader = "proj.data:empty"',
    "no key loader": "step_ms = 3",
    "an unknown key": 'loader = "proj.data:make"\nmin_sample_per_second = 3',
    "a limit of the wrong type": 'loader = "proj.data:make"\nmax_worker_growth = "much"',
    "a limit below 0": 'loader = "proj.data:make"\nmax_stall = -1',
    "an unknown check": 'loader = "proj.data:make"\nchecks = ["memmory"]',
    "a limit that no check holds": 'loader = "proj.data:make"\nchecks = ["order"]\nmax_fd_use = 0.5',
    "a step that is missing": 'loader = "proj.data:make"\nstep = "proj.data:step"',
    "a step that raises": 'loader = "proj.data:make"\nstep = "proj.data:raises_on"\nchecks = ["stages"]',
}
BAD_OPTIONS = (
    ("--dataloader-seconds=0",), ("--dataloader-checks=memmory",), ("--dataloader-target=proj.data:make",),
    ("--dataloader-json=/proc/no/such",), ("--dataloader-baseline=proj",), ("--dataloader-tolerance=15",),
    ("--dataloader-update-baseline",),
)  # fmt: skip
PROJECT = """
from torch.utils.data import DataLoader
class Holder:
    train_loader = DataLoader(list(range(8)))
number, holder = 3, Holder()
def make(): return DataLoader(list(range(640)), batch_size=8)
def empty(): return DataLoader(list(range(3)), batch_size=8, drop_last=True)
def raises(): raise FileNotFoundError("/data/train.csv")
def needs(root): return make()
def raises_on(batch): raise ValueError("shapes do not match")
"""


def of_zoo() -> Iterator[Case]:
    for check in ("randomness", "order", "shards", "resume"):
        for name, case in importlib.import_module(f"tests.zoo.{check}").FAULTS.items():
            if check == "shards":
                given = case.given()
                ready = loaders.is_dataloader(given)
                limits = {"world_size": case.world_size}
                yield name, check, (lambda given=given: given) if ready else given, None if ready else given, limits
            else:
                yield name, check, case.make, None, {}


def of_workers() -> Iterator[Case]:
    import worker_faults

    for fault, kind in worker_faults.FAULTS.items():
        if kind:
            yield fault, "workers", lambda fault=fault: worker_faults.make(fault, "fork", False), None, {}


def of_resources() -> Iterator[Case]:
    from resources_loaders import PAIRS

    for name, pair in PAIRS.items():
        if not pair.by_file and not pair.room:
            yield name, pair.check, pair.faulty, None, {}


def of_memory() -> Iterator[Case]:
    for module in ("memory_copying", "memory_growing", "memory_writing"):
        importlib.import_module(module)
    import memory_loaders

    for case in memory_loaders.FAULTY:
        yield case.name, "memory", case.build, None, {}


def show(case: Case, columns: int) -> None:
    """Measure one case and print its block."""
    name, check, make, build, limits = case
    try:
        loader = make() if build is None else loaders.call(build, name)
    except Exception as error:
        print(f"\n# {name}\n{type(error).__name__}: {error}")
        return
    subject = Subject("it", "it", loader, build)
    done = Runner(Setting(seconds=1.0, bench=True)).run(subject, check, limits)
    record = subject.record(check, limits, done.evidence, done.verdict)
    print(f"\n# {name}")
    print(rendered(terminal.report_summary([record]), columns), end="")
    sys.stdout.flush()


def told(folder: Path, arguments: tuple[str, ...]) -> str:
    """What pytest prints about a target or an option, without its header and its times."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--dataloader-bench",
        "--dataloader-seconds=0.5",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    lines = (done.stdout + done.stderr).replace(str(folder), "...").splitlines()
    return "\n".join(
        line for line in lines if not re.match(r"(===+ test session|platform |rootdir|plugins|collect)", line)
    )


def show_targets() -> None:
    """Bad targets and bad options, each in a run of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "proj").mkdir()
        (folder / "proj" / "data.py").write_text(PROJECT)
        (folder / "proj" / "broken.py").write_text("import no_such_package\n")
        for what, keys in BAD_TARGETS.items():
            (folder / "pyproject.toml").write_text(f"[tool.pytest-dataloader.targets.train]\n{keys}\n")
            print(f"\n# {what}\n{told(folder, ('--dataloader-quick',))}", flush=True)
        (folder / "pyproject.toml").write_text('[tool.pytest-dataloader.targets.train]\nloader = "proj.data:make"\n')
        for arguments in BAD_OPTIONS:
            print(f"\n# {' '.join(arguments)}\n{told(folder, arguments)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="zoo,workers,resources,memory,targets")
    parser.add_argument("--columns", type=int, default=80)
    given = parser.parse_args()
    os.environ["COLUMNS"] = str(given.columns)
    warnings.simplefilter("ignore")
    parts: dict[str, Callable[[], Iterator[Case]]] = {
        "zoo": of_zoo, "workers": of_workers, "resources": of_resources, "memory": of_memory,
    }  # fmt: skip
    for part in given.only.split(","):
        print(f"\n## {part}")
        if part == "targets":
            show_targets()
            continue
        for case in parts[part]():
            show(case, given.columns)


if __name__ == "__main__":
    main()
