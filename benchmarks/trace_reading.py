"""Reads traces of torch.profiler that are damaged, and one of a gigabyte: crashes, wrong sums, memory, seconds.

    python benchmarks/trace_reading.py [--damaged 1000] [--gigabytes 1.0] [TRACE...]

Without traces, those recorded for the tests. A damaged one is cut off, has bytes changed, removed or exchanged, in its
text or in its compressed form, or is random bytes; or it is JSON, whose events are removed, shuffled, or have values of
other types. Right is what was read before, or one line that
says what is wrong with the file, or that it says nothing of a device; the parts of a step are its length whatever came.
The large one repeats the events of a trace, each time later; it is read by a process of its own, for its memory.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from pytest_dataloader.errors import BadTrace, NotMeasured
from pytest_dataloader.probe.device.recording import record
from pytest_dataloader.probe.device.utilization import utilization

RECORDED = Path(__file__).resolve().parents[1] / "tests/pytest_dataloader/probe/device/traces"


KEYS = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "args")
ARGUMENTS = ("device", "stream", "correlation", "bytes", "External id")
VALUES = (
    None,
    True,
    -1,
    0,
    10**30,
    1e308,
    float("nan"),
    "",
    "text",
    "ProfilerStep#1",
    "kernel",
    [],
    {},
    [1],
    {"a": 1},
    2.5,
)


def damage(content: bytes, chance: random.Random) -> bytes:
    kind = chance.randrange(5)
    if kind == 0:
        return content[: chance.randrange(len(content))]
    if kind == 1:
        return chance.randbytes(chance.randrange(1, 5000))
    damaged = bytearray(content)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(damaged))
        size = chance.randrange(1, 60)
        if kind == 2:
            damaged[at] = chance.randrange(256)
        elif kind == 3:
            del damaged[at : at + size]
        else:
            other = chance.randrange(len(damaged))
            damaged[at : at + size] = damaged[other : other + size]
    return bytes(damaged)


def mutate(content: bytes, chance: random.Random) -> bytes:
    document = json.loads(content)
    events = document["traceEvents"]
    for _ in range(chance.randrange(1, 400)):
        event = chance.choice(events)
        if not isinstance(event, dict):
            continue
        match chance.randrange(4):
            case 0:
                event[chance.choice(KEYS)] = chance.choice(VALUES)
            case 1:
                event.pop(chance.choice(KEYS), None)
            case 2 if isinstance(event.get("args"), dict):
                event["args"][chance.choice(ARGUMENTS)] = chance.choice(VALUES)
            case _:
                events[chance.randrange(len(events))] = chance.choice([event, *VALUES])
    if chance.random() < 0.3:
        chance.shuffle(events)
    if chance.random() < 0.3:
        document[chance.choice(["deviceProperties", "distributedInfo", "schemaVersion"])] = chance.choice(VALUES)
    return json.dumps(document).encode()


def outcome(path: Path) -> str:
    try:
        use = utilization(record(path))
    except BadTrace as error:
        return "several lines" if "\n" in str(error) else "broken file"
    except NotMeasured:
        return "not measured"
    except Exception as error:
        return f"CRASH {type(error).__name__}: {error}"
    for step in use.steps:
        parts = step.compute_ms + step.copy_ms + step.idle_waiting_ms + step.idle_other_ms
        if abs(parts - step.ms) > 1e-6 * max(1.0, step.ms) or min(parts, step.waited_ms) < 0:
            return f"WRONG SUM of {step}"
    return f"read: {use.bound}"


def read_damaged(sources: list[Path], count: int, folder: Path) -> Counter[str]:
    chance, seen = random.Random(1), Counter[str]()
    for number in range(count):
        content = sources[number % len(sources)].read_bytes()
        path = folder / "damaged.json"
        if number % 3:
            content = gzip.decompress(content)
        path.write_bytes((mutate if number % 3 == 2 else damage)(content, chance))
        seen[outcome(path)] += 1
    return seen


def write_large(source: Path, size: float, path: Path) -> None:
    """The events of a trace over and over, each time a second later."""
    events = [event for event in json.loads(gzip.decompress(source.read_bytes()))["traceEvents"] if "ts" in event]
    number = 0
    with path.open("w") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [\n')
        while file.tell() < size * 1e9:
            for event in events:
                moved = {**event, "ts": event["ts"] + number * 1e6}
                arguments = event.get("args", {})
                if "correlation" in arguments:
                    moved["args"] = {**arguments, "correlation": f"{number}-{arguments['correlation']}"}
                file.write(json.dumps(moved) + ",\n")
            number += 1
        file.write("{}]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("traces", nargs="*", type=Path)
    parser.add_argument("--damaged", type=int, default=1000)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--read", type=Path, help="read one trace, and say what that took")
    options = parser.parse_args()
    if options.read:
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        said = outcome(options.read)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(
            f"{said}: {time.process_time() - began:.0f} s of CPU, {(after - before) / 1e3:,.0f} MB beyond the imports"
        )
        return 0
    sources = options.traces or sorted(RECORDED.glob("*.gz"))
    with tempfile.TemporaryDirectory() as name:
        seen = read_damaged(sources, options.damaged, Path(name)) if options.damaged else Counter()
        for said, count in seen.most_common():
            print(f"{count:5}  {said}")
        if options.gigabytes:
            large = Path(name, "large.json")
            write_large(sources[0], options.gigabytes, large)
            print(f"{large.stat().st_size / 1e9:.2f} GB: ", end="", flush=True)
            subprocess.run([sys.executable, __file__, "--read", str(large)], check=True)
    return 1 if any(said.startswith(("CRASH", "WRONG", "several")) for said in seen) else 0


if __name__ == "__main__":
    sys.exit(main())
