"""Interrupts each check by SIGINT and SIGTERM at random moments, and looks at what the run says and leaves.

    python benchmarks/interruptions.py [--rounds 60] [--checks NAME...] [--to process group members] [--seed 0]

A round is a run of pytest, or, one in ``COMMAND_EVERY``, of the command, with one check of a healthy loader with two
workers. Runs are forks of this process, which has torch imported, each in a session of its own. The signal goes to the
process, to its group at once (``timeout``, a terminal), or to its members one after the other, workers first (a
scheduler that lists the processes of a job). Most come while the check is under way, some while the loader is built,
which starts a worker too, some as the run ends. A run that had ended before is drawn again.

``false``: a verdict of the interrupted check, exit status 1 or an internal error. ``lost``: the run went on to its end.
``left``: processes of the session, segments of theirs in /dev/shm and temporary files, ten seconds later.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import importlib
import json
import mmap
import os
import pkgutil
import random
import shutil
import signal
import struct
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

SIGNALS = (signal.SIGINT, signal.SIGTERM)
TO = ("process", "group", "members")
COMMAND_EVERY = 3
BUILDING, ENDING = 0.08, 0.07
"""Shares of the rounds that are interrupted while the loader is built, and as the run ends."""
GRACE_SECONDS, LONGEST_SECONDS = 10.0, 60.0
BUILT, BEGUN, ENDED = range(3)
MODULES = ("torch.utils.data", "torchdata.stateful_dataloader", "psutil", "pytest", "_pytest.junitxml")
LOADERS = """
import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler
from torchdata.stateful_dataloader import StatefulDataLoader

class Rows(Dataset):
    def __init__(self):
        self.data = torch.zeros(2048, 32)
    def __len__(self):
        return len(self.data)
    def __getitem__(self, index):
        return self.data[index] + torch.rand(32)

def make(rank=0, world_size=1):
    next(iter(DataLoader(Rows(), num_workers=1)))
    sampler = DistributedSampler(Rows(), world_size, rank)
    return DataLoader(Rows(), batch_size=32, sampler=sampler, num_workers=2)

def make_persistent(rank=0, world_size=1):
    sampler = DistributedSampler(Rows(), world_size, rank)
    return DataLoader(Rows(), batch_size=32, sampler=sampler, num_workers=2, persistent_workers=True)

class Numbers(Rows):
    def __getitem__(self, index):
        return self.data[index] + index

def make_stateful():
    return StatefulDataLoader(Numbers(), batch_size=32, num_workers=2)
"""


@dataclass
class Marks:
    """Times that a run writes and this process reads: when it began to build the loader, began and ended the check."""

    memory: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, mmap.PAGESIZE))

    def clear(self) -> None:
        self.memory[:24] = bytes(24)

    def __getitem__(self, mark: int) -> float:
        return float(struct.unpack_from("d", self.memory, 8 * mark)[0])

    def set(self, mark: int) -> None:
        if not self[mark]:
            struct.pack_into("d", self.memory, 8 * mark, time.monotonic())


@dataclass(frozen=True)
class Kind:
    """What a round is."""

    check: str
    sent: signal.Signals
    to: str
    command: bool
    loader: str


@dataclass
class Seen:
    """How a round ended."""

    when: str
    status: int
    false: str = ""
    lost: str = ""
    left: str = ""
    seconds: float = 0.0

    @property
    def bad(self) -> bool:
        return bool(self.false or self.lost or self.left)


def import_all() -> None:
    import pytest_dataloader

    for name in MODULES:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(pytest_dataloader.__path__, "pytest_dataloader."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ModuleNotFoundError):  # the callback of a trainer that is not installed
                importlib.import_module(module.name)
    gc.freeze()


def mark_calls(marks: Marks) -> None:
    """In a run: have the building of the loader and the examination marked."""
    loaders: Any = importlib.import_module("pytest_dataloader.loaders")
    runner: Any = importlib.import_module("pytest_dataloader.diagnosis.runner").Runner
    build, run = loaders.build, runner.run

    def marked_build(*given: Any) -> Any:
        marks.set(BUILT)
        return build(*given)

    def marked_run(*given: Any) -> Any:
        marks.set(BEGUN)
        seen = run(*given)
        marks.set(ENDED)
        return seen

    loaders.build = marked_build
    runner.run = marked_run


def be_the_run(kind: Kind, folder: Path, marks: Marks) -> int:
    """In the fork: the run itself."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number in (1, 2):
        os.dup2(output, number)
    faulthandler.dump_traceback_later(LONGEST_SECONDS - 20, file=os.fdopen(os.dup(2), "w"))
    os.chdir(folder)
    os.environ |= {"TMPDIR": str(folder / "tmp"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    tempfile.tempdir = None
    sys.path.insert(0, str(folder))
    mark_calls(marks)
    if kind.command:
        from pytest_dataloader.diagnosis.command import main

        given = [f"loaders_here:{kind.loader}", "--checks", kind.check, "--seconds=0.2", "--json=seen.json"]
        return main(given)
    import pytest

    given = ["-q", "-p", "pytest_dataloader.plugin", "-p", "no:cacheprovider", "--dataloader-bench"]
    given += ["--dataloader-seconds=0.2", f"--dataloader-checks={kind.check}", "--dataloader-json=seen.json"]
    return int(pytest.main([*given, f"--dataloader-target=it=loaders_here:{kind.loader}"]))


def start(kind: Kind, folder: Path, marks: Marks) -> int:
    """The pid of a new run."""
    (folder / "seen.json").unlink(missing_ok=True)
    marks.clear()
    pid = os.fork()
    if pid == 0:
        status = be_the_run(kind, folder, marks)
        sys.stdout.flush()
        raise SystemExit(status)
    return pid


def session_of(leader: int) -> list[int]:
    """Processes of a session that run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            state, _, _, session = path.read_text().rpartition(")")[2].split()[:4]
            found += [int(path.parent.name)] if int(session) == leader and state not in "ZX" else []
    return sorted(found)


def ended(pid: int) -> int | None:
    done, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


def until(what: Callable[[], Any], seconds: float, pause: float = 0.002) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < deadline:
        time.sleep(pause)
    return found


def send(kind: Kind, pid: int, members: list[int]) -> None:
    match kind.to:
        case "process":
            os.kill(pid, kind.sent)
        case "group":
            os.killpg(pid, kind.sent)
        case _:
            for each in sorted(members, reverse=True):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, kind.sent)
                time.sleep(0.005)


def records_in(path: Path) -> list[dict[str, Any]] | None:
    """The checks of a report; None where there is none, and an error where it is broken."""
    if not path.exists():
        return None
    return [each for loader in json.loads(path.read_text())["loaders"] for each in loader["checks"].values()]


def one_round(kind: Kind, folder: Path, marks: Marks, chance: random.Random, takes: list[float]) -> Seen | None:
    """None for a run that ended before the signal."""
    pid = start(kind, folder, marks)
    drawn = chance.random()
    mark, span = (BUILT, 0) if drawn < BUILDING else (ENDED, 2) if drawn < BUILDING + ENDING else (BEGUN, 1)
    status: int | None = None

    def reached() -> bool:
        nonlocal status
        status = ended(pid) if status is None else status
        return status is not None or bool(marks[mark])

    until(reached, LONGEST_SECONDS)
    until(lambda: False, max(0.0, marks[mark] + chance.uniform(0, takes[span]) - time.monotonic()))
    if status is None:
        status = ended(pid)
    if status is not None:
        return None
    members = session_of(pid)
    send(kind, pid, members)
    when = "ending" if marks[ENDED] else "checking" if marks[BEGUN] else "building" if marks[BUILT] else "starting"
    sent = time.monotonic()
    at_end = until(lambda: (code := ended(pid)) is not None and (code,), LONGEST_SECONDS)
    if not at_end:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    seen = judge(Seen(when, at_end[0] if at_end else 999), kind, folder)
    seen.seconds = time.monotonic() - sent
    seen.left = look_for_leftovers(pid, {pid, *members}, folder)
    return seen


def judge(seen: Seen, kind: Kind, folder: Path) -> Seen:
    text = (folder / "output").read_text(errors="replace")
    try:
        records = records_in(folder / "seen.json")
    except ValueError:
        seen.false, records = "a broken report", []
    failed = [f"{each['verdict']}: {each['reason']}" for each in records or [] if each["verdict"] == "failed"]
    if failed or seen.status == 1 or "INTERNALERROR" in text:
        seen.false = "; ".join(failed) or f"status {seen.status}"
    if seen.when == "ending":
        seen.false = seen.false or ("" if records or seen.status == 2 else "no record of what had ended")
        return seen
    if seen.status in (0, 999):
        seen.lost = f"status {seen.status}"
    elif not seen.false and (seen.status != 2 or records):
        seen.false = f"status {seen.status}, {len(records or [])} records"
    elif not seen.false and records is None and (not kind.command or seen.when == "checking"):
        seen.false = "no report"
    return seen


def looks_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        folder = Path("/proc", str(pid))
        parent = folder.joinpath("stat").read_text().rpartition(")")[2].split()[1]
        return f"process {pid} of {parent} in {folder.joinpath('wchan').read_text()}"
    return f"process {pid}"


def look_for_leftovers(leader: int, pids: set[int], folder: Path) -> str:
    def left() -> list[str]:
        # Our tests make a thousand with names of pids to come.
        names = [path.name for path in Path("/dev/shm").glob("torch_*") if not path.name.endswith("_1_1")]
        segments = [name for name in names if int(name.split("_")[1]) in pids]
        files = [*(folder / "tmp").iterdir(), *folder.glob(".pytest-dataloader-*")]
        return [*map(looks_of, session_of(leader)), *segments, *(path.name for path in files)]

    until(lambda: not left(), GRACE_SECONDS, 0.02)
    found = left()
    for pid in session_of(leader):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    for path in (folder / "tmp").iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return ", ".join(found)


def durations(kind: Kind, folder: Path, marks: Marks) -> list[float]:
    """What building, the check and ending take in a run that nobody disturbs."""
    pid = start(kind, folder, marks)
    _, status = os.waitpid(pid, 0)
    now, text = time.monotonic(), (folder / "output").read_text(errors="replace")
    if os.waitstatus_to_exitcode(status) not in (0, 5) or not marks[ENDED]:
        raise SystemExit(f"an undisturbed run of {kind} failed:\n{text}")
    return [marks[BEGUN] - marks[BUILT], marks[ENDED] - marks[BEGUN], now - marks[ENDED]]


def loader_for(check: str, number: int) -> str:
    if check == "resume":
        return "make_stateful"
    return ("make", "make_persistent")[number // COMMAND_EVERY % 2]


def run_all(options: argparse.Namespace, folder: Path, rows: list[tuple[Kind, Seen]]) -> None:
    marks, chance = Marks(), random.Random(options.seed)
    takes: dict[tuple[str, bool, str], list[float]] = {}
    for number in range(options.rounds):
        for check in options.checks:
            for sent in SIGNALS:
                for to in options.to:
                    command = (number + len(rows)) % COMMAND_EVERY == 0
                    kind = Kind(check, sent, to, command, loader_for(check, number + len(rows)))
                    known = (check, command, kind.loader)
                    if known not in takes:
                        takes[known] = durations(kind, folder, marks)
                    seen = None
                    while seen is None:
                        seen = one_round(kind, folder, marks, chance, takes[known])
                    rows.append((kind, seen))
                    if seen.bad:
                        text = (folder / "output").read_text(errors="replace")
                        print(f"{number} {kind}\n{seen}\n{text}\n", file=sys.stderr, flush=True)
        print(f"round {number}: {sum(seen.bad for _, seen in rows)} of {len(rows)} bad", file=sys.stderr, flush=True)


def show(rows: list[tuple[Kind, Seen]]) -> None:
    for title, key in (("check", lambda kind: kind.check), ("sent", lambda kind: f"{kind.sent.name} to {kind.to}")):
        print(f"\n| {title} | rounds | while | false | lost | left | exit status |\n{'|---' * 7}|")
        groups: defaultdict[str, list[Seen]] = defaultdict(list)
        for kind, seen in rows:
            groups[key(kind)].append(seen)
            groups["all"].append(seen)
        for name, each in sorted(groups.items(), key=lambda group: group[0] == "all"):
            when, status = Counter(one.when for one in each), Counter(one.status for one in each)
            sums = [sum(bool(getattr(one, part)) for one in each) for part in ("false", "lost", "left")]
            told = [", ".join(f"{key} {count}" for key, count in counts.most_common()) for counts in (when, status)]
            print("|", " | ".join(map(str, (name, len(each), told[0], *sums, told[1]))), "|")


def main() -> int:
    from pytest_dataloader import checks

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=60, help="of each check, signal and receiver")
    parser.add_argument("--checks", nargs="*", default=list(checks.NAMES))
    parser.add_argument("--to", nargs="*", default=["process", "group"], choices=TO)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    import_all()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs this in the background
    folder, ours, rows = Path(tempfile.mkdtemp()).resolve(), os.getpid(), list[tuple[Kind, Seen]]()
    try:
        (folder / "tmp").mkdir()
        (folder / "loaders_here.py").write_text(LOADERS)
        run_all(options, folder, rows)
    finally:
        if os.getpid() == ours:  # not in a run, which comes by here as it ends
            shutil.rmtree(folder, ignore_errors=True)
            show(rows)
    return 1 if any(seen.bad for _, seen in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
