"""What a device shows of data loading, in one command of some minutes, with no network and nothing but this work tree.

    python benchmarks/device/run.py [--out FOLDER] [--parts PART...] [--rehearse]

Parts: ``matrix`` (pinned or pageable, blocking or not, prefetched or not, 0 or 4 workers), ``repeats`` (ten of a
healthy and ten of a faulty loader), ``ladder`` (ResNet-50 with one remedy after the other), ``check`` (what the check
``transfer`` says of the same loaders), ``proof`` (what breaking the rules of transfers costs), ``tests`` (those that
are skipped without a device). Each part writes ``PART.json`` as it ends, and traces into ``traces/``.

Every loop is recorded by ``torch.profiler`` and by CUDA events at once: an event at each end of a copy and of a matrix
product, and one at each end of a step, on a stream of its own that is always empty, which stamps the moment of the host
on the clock of the device. The share of a step in which the device idles is read off both. Between the first event and
what it is to time, the host may have paused: what took longer than usual counts as long as usual, up to its last event.

``--rehearse`` runs everything on the CPU, with clocks in the place of events: what the figures say is then nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, Dataset

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WARM_UP, RECORDED = 4, 12
"""Steps before the profiler records, and steps that it records."""
BATCH, SHAPE = 64, (3, 224, 224)
"""38.5 MB a batch."""
STEP_MS, MOST_IDLE = 20.0, 0.15
PAUSED = 1.2
"""Times as long as usual, from which on the host paused between an event and what it times."""
DEVICE_RULES = ("DL103", "DL105", "DL210")
"""Those of DL101 to DL108 and DL210 whose interval is widest; `make proof` measures all."""

DEVICE_TESTS = (
    "tests/pytest_dataloader/probe/tuning/test_pinning.py",
    "tests/pytest_dataloader/checks/test_transfer.py",
)
"""Those that hold something that is skipped without a device."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One way to load, copy and train."""

    pinned: bool = False
    non_blocking: bool = False
    prefetched: bool = False
    workers: int = 0
    sample_ms: float = 0.2
    """CPU time that a sample takes to make."""

    @property
    def name(self) -> str:
        words = ("pinned" if self.pinned else "pageable", "non_blocking" if self.non_blocking else "blocking")
        return "-".join((*words, "prefetched" if self.prefetched else "direct", f"{self.workers}_workers"))


CELLS = [Cell(*each) for each in itertools.product((False, True), (False, True), (False, True), (0, 4))]
HEALTHY = Cell(pinned=True, non_blocking=True, prefetched=True, workers=8)
FAULTY = Cell(workers=0, sample_ms=0.4)
LADDER = (
    Cell(),
    Cell(workers=8),
    Cell(workers=8, pinned=True),
    Cell(workers=8, pinned=True, non_blocking=True),
    Cell(workers=8, pinned=True, non_blocking=True, prefetched=True),
)


class Images(Dataset[Any]):
    """Samples of 602 kB that each take some CPU time to make."""

    def __init__(self, sample_ms: float) -> None:
        self.sample_ms = sample_ms
        self.pixels = torch.rand(SHAPE)

    def __len__(self) -> int:
        return 64 * BATCH

    def __getitem__(self, index: int) -> Any:
        end = time.perf_counter() + self.sample_ms / 1e3
        while time.perf_counter() < end:
            pass
        return self.pixels + index, index % 1000


class Device:
    """A device, or in a rehearsal the CPU: its moments, its streams and its work."""

    def __init__(self, *, rehearse: bool) -> None:
        self.real = not rehearse
        self.name = "cuda" if self.real else "cpu"
        self.marks = torch.cuda.Stream() if self.real else None

    def moment(self, stream: Any = None) -> Any:
        """An event at the end of what a stream has been given, on the host's clock in a rehearsal."""
        if not self.real:
            return time.perf_counter() * 1e3
        event = torch.cuda.Event(enable_timing=True)
        event.record(stream if stream is not None else torch.cuda.current_stream())
        return event

    def ms(self, since: Any, moment: Any) -> float:
        return float(since.elapsed_time(moment) if self.real else moment - since)

    def wait(self) -> None:
        if self.real:
            torch.cuda.synchronize()

    def wait_for(self, moment: Any) -> None:
        if self.real:
            moment.synchronize()

    def profiler(self) -> Any:
        kinds = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * self.real
        return profile(activities=kinds, schedule=schedule(wait=0, warmup=WARM_UP, active=RECORDED, repeat=1))


@dataclass(slots=True)
class Events:
    """Events of one loop, as pairs of a beginning and an end."""

    copies: list[tuple[Any, Any]]
    kernels: list[tuple[Any, Any]]
    steps: list[tuple[Any, Any]]


def moved(batches: Iterable[Any], cell: Cell, device: Device, events: Events) -> Iterator[Any]:
    """Batches on the device, copied one after the other on the stream that trains."""
    for images, labels in batches:
        begun = device.moment()
        both = images.to(device.name, non_blocking=cell.non_blocking), labels.to(device.name, non_blocking=True)
        events.copies.append((begun, device.moment()))
        yield both


def prefetched(batches: Iterable[Any], cell: Cell, device: Device, events: Events) -> Iterator[Any]:
    """Batches on the device, each copied on a stream of its own while the one before is trained on."""
    side = torch.cuda.Stream() if device.real else None
    ready: Any = None
    for images, labels in batches:
        with torch.cuda.stream(side) if device.real else contextlib.nullcontext():
            begun = device.moment(side)
            both = images.to(device.name, non_blocking=cell.non_blocking), labels.to(device.name, non_blocking=True)
            events.copies.append((begun, device.moment(side)))
        if ready is not None:
            yield ready
        if device.real:
            torch.cuda.current_stream().wait_stream(side)
            for part in both:
                part.record_stream(torch.cuda.current_stream())
        ready = both
    if ready is not None:
        yield ready


Step = Callable[[Any, list[tuple[Any, Any]]], object]
"""Trains on a batch, and notes the events around what it has the device do."""


def stand_in(device: Device, step_ms: float) -> Step:
    """A step of matrix products that take so long together."""
    size = 8192 if device.real else 256
    a = torch.randn(size, size, device=device.name, dtype=torch.bfloat16)

    def products(count: int, around: list[tuple[Any, Any]] | None = None) -> None:
        for _ in range(count):
            begun = device.moment()
            torch.mm(a, a)
            if around is not None:
                around.append((begun, device.moment()))

    products(10)
    device.wait()
    begun = time.perf_counter()
    products(20)
    device.wait()
    count = max(1, round(step_ms / ((time.perf_counter() - begun) / 20 * 1e3)))

    return lambda _batch, around: products(count, around)


def resnet(device: Device) -> Step:
    """A training step of ResNet-50."""
    from torchvision.models import resnet50

    model = resnet50().to(device.name, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(batch: Any, around: list[tuple[Any, Any]]) -> object:
        images, labels = batch
        begun = device.moment()
        with torch.autocast(device.name, dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(images.contiguous(memory_format=torch.channels_last)), labels)
        loss.backward()
        optimizer.step()
        around.append((begun, device.moment()))
        return optimizer.zero_grad()

    return step


def record(cell: Cell, step: Step, device: Device, trace: Path) -> dict[str, Any]:
    """Run a loop under the profiler and between events; what the events say of each recorded step."""
    dataset = Images(cell.sample_ms)
    loader = DataLoader(dataset, BATCH, num_workers=cell.workers, pin_memory=cell.pinned and device.real)
    events, walls = Events([], [], []), []
    copied = (prefetched if cell.prefetched else moved)(loader, cell, device, events)
    base = device.moment(device.marks)
    before: Any = None
    with device.profiler() as profiler:
        for number in range(1, WARM_UP + RECORDED + 1):
            wall, begun = time.perf_counter(), device.moment(device.marks)
            batch = next(copied)
            step(batch, events.kernels)
            del batch
            if before is not None:  # the host is a step ahead, as where it looks at the loss of the step before
                device.wait_for(before)
            before = device.moment()
            if number == WARM_UP + RECORDED:
                device.wait()
            events.steps.append((begun, device.moment(device.marks)))
            walls.append(1e3 * (time.perf_counter() - wall))
            profiler.step()
        copied.close()
    plain = trace.with_suffix("")
    profiler.export_chrome_trace(str(plain))
    trace.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    row = {**asdict(cell), "trace": trace.name, "trace_bytes": trace.stat().st_size, "wall_ms": walls[WARM_UP:]}
    return row | told(events, base, device)


def told(events: Events, base: Any, device: Device) -> dict[str, Any]:
    """Length and parts of each recorded step by the events, in milliseconds."""
    device.wait()

    def spans(pairs: list[tuple[Any, Any]]) -> list[tuple[float, float]]:
        return [(device.ms(base, begin), device.ms(base, end)) for begin, end in pairs]

    def as_usual(pairs: list[tuple[Any, Any]]) -> list[tuple[float, float]]:
        found = spans(pairs)
        usual = statistics.median(end - begin for begin, end in found)
        return [(max(begin, end - PAUSED * usual), end) for begin, end in found]

    steps = spans(events.steps)[WARM_UP:]
    kernels, copies = as_usual(events.kernels), as_usual(events.copies)
    return {
        "steps_ms": [end - begin for begin, end in steps],
        "busy_ms": [length_within(kernels + copies, *step) for step in steps],
        "kernels_ms": [length_within(kernels, *step) for step in steps],
        "copies_ms": [length_within(copies, *step) for step in steps],
    }


def length_within(spans: list[tuple[float, float]], begin: float, end: float) -> float:
    """The length of the union of spans, as far as it lies between two moments."""
    total, reached = 0.0, begin
    for low, high in sorted(spans):
        total += max(0.0, min(high, end) - max(low, reached))
        reached = max(reached, high)
    return total


def measure(cells: Iterable[Cell], step: Step, device: Device, traces: Path, title: str) -> Any:
    """The record of each cell, printed as it comes."""
    rows = []
    for number, cell in enumerate(cells):
        row = record(cell, step, device, traces / f"{title}-{number:02}-{cell.name}.json.gz")
        rows.append(row)
        idle = 1 - sum(row["busy_ms"]) / sum(row["steps_ms"])
        mean = sum(row["wall_ms"]) / len(row["wall_ms"])
        print(
            f"{title} {cell.name}: {mean:.1f} ms a step, idle by events {idle:.3f}, {row['trace_bytes']} B", flush=True
        )
    return rows


def run(part: str, device: Device, traces: Path, out: Path) -> Any:
    match part:
        case "matrix":
            return measure(CELLS, stand_in(device, STEP_MS), device, traces, part)
        case "repeats":
            step = stand_in(device, STEP_MS)
            return measure([HEALTHY, FAULTY] * 10, step, device, traces, part)
        case "ladder":
            return measure([replace(cell, sample_ms=1.0) for cell in LADDER], resnet(device), device, traces, part)
        case "check":
            return [checked(cell) for cell in [HEALTHY, FAULTY] * 10]
        case "proof":
            command = [sys.executable, str(ROOT / "benchmarks/proof/run.py"), *DEVICE_RULES, "--write"]
            said = command_says(command, out / "proof.log")
            stored = ROOT / "lint/dl_lint/engine/effects.json"
            return {**said, "effects": {rule: json.loads(stored.read_text())[rule] for rule in DEVICE_RULES}}
        case "tests":
            options = ["-p", "pytest_dataloader.plugin", "--noconftest", "-q", "-rA", "-o", "filterwarnings="]
            command = [sys.executable, "-m", "pytest", *options, *DEVICE_TESTS]
            return command_says(command, out / "tests.log")
        case _:
            raise ValueError(part)


def checked(cell: Cell) -> dict[str, Any]:
    """What the check says of a loader, with what it may idle."""
    from pytest_dataloader import diagnose

    loader = DataLoader(Images(cell.sample_ms), BATCH, num_workers=cell.workers, pin_memory=cell.pinned)
    report = diagnose(loader, checks=["transfer"], quick=True, seconds=2.0, step_ms=STEP_MS, max_gpu_idle=MOST_IDLE)
    return {**asdict(cell), **report.document()["loaders"][0]["checks"]["transfer"]}


def command_says(command: list[str], log: Path) -> dict[str, Any]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "lint"), os.environ.get("PYTHONPATH", "")])
    with log.open("w") as file:
        status = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    print(log.read_text()[-1500:], flush=True)
    return {"status": status.returncode}


PARTS = ("matrix", "repeats", "ladder", "check", "proof", "tests")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("device-kit"))
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--rehearse", action="store_true", help="on the CPU")
    options = parser.parse_args()
    if not options.rehearse and not torch.cuda.is_available():
        print("there is no CUDA device here; --rehearse runs everything on the CPU", file=sys.stderr)
        return 2
    device, traces = Device(rehearse=options.rehearse), options.out / "traces"
    traces.mkdir(parents=True, exist_ok=True)
    machine = {
        "device": torch.cuda.get_device_name() if device.real else "",
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
    }
    failed = []
    for part in options.parts:
        begun = time.monotonic()
        try:
            rows = run(part, device, traces, options.out)
        except Exception as error:  # the parts behind it are worth having
            failed.append(part)
            print(f"{part}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            continue
        seconds = round(time.monotonic() - begun, 1)
        result = {"part": part, "seconds": seconds, **machine, "rows": rows}
        (options.out / f"{part}.json").write_text(json.dumps(result, indent=1) + "\n")
        print(f"{part}: {seconds} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
