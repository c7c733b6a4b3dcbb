"""What breaking each rule of dl-lint costs, measured: its pair, faulty and mended, run in turns.

    python benchmarks/proof/run.py [CODE|name …] [--rounds N] [--write]

`make proof` runs all pairs, `make proof RULE=DL301` one, and both write what they measured to
`lint/dl_lint/engine/effects.json`, which `--explain`, docs/rules.md and editors show.

A pair is `benchmarks/proof/<rule_name>.py`. Its docstring is the situation in a sentence; `faulty()` and `mended()`
measure one form each, once, in the unit of `EFFECT`. Each call has a process of its own, and the order turns around
with every round (faulty, mended, mended, faulty, …), so that what the machine does meanwhile meets both. The effect of
a round is the difference or the ratio of its two figures.

The figure is the mean of these effects, for ratios that of their logarithms. The interval is one of prediction: it
holds a further round with 95 % (Student's t, times the square root of 1 + 1/n), and not the mean alone. The mean of a
second run varies less than one of its rounds; but a machine that is busy is so for a whole run, and disturbs all rounds
alike. The interval is rounded outward. A count that did not vary is its own interval.

Exit status: 0, 1 where a pair failed, 2 for what cannot be run. What a pair needs and is not there is no failure.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import datetime
import importlib.metadata
import importlib.util
import json
import math
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dl_lint.config import ConfigError
from dl_lint.engine import catalogue, effects
from dl_lint.engine.effects import Effect
from dl_lint.engine.selection import find

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dl_lint.engine.report import Entry

HERE = Path(__file__).resolve().parent
STORED = HERE.parents[1] / "lint" / "dl_lint" / "engine" / "effects.json"

NO_PAIR = {"DL001": "it is about comments, which cost a loader nothing"}
"""Rules that have no pair, and why; follows "No cost to measure:"."""

ROUNDS = 5
LONGEST_SECONDS = 120.0
"""What one call of a form may take: forms take seconds, and one that hangs must not stop the others."""

STUDENT = (12.71, 4.31, 3.19, 2.78, 2.58, 2.45, 2.37, 2.31, 2.27, 2.23, 2.21, 2.18, 2.17, 2.15, 2.14)
"""97.5 % points of Student's t for 1 to 15 degrees of freedom, rounded up."""

MARK = "measured by benchmarks/proof: "
"""Begins the line that holds what a form gave, among all that it may print."""

FORM = """
import importlib, json, sys
name, form, mark, device = sys.argv[1:]
found = {"gpu": ""}
if device:
    import torch
    found["gpu"] = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
if found["gpu"] or not device:
    pair = importlib.import_module(name)
    found |= {name: getattr(pair, name) for name in ("EFFECT", "COMPARE", "CHECK")}
    found |= {"situation": pair.__doc__, "rounds": getattr(pair, "ROUNDS", None)}
    found["figure"] = float(getattr(pair, form)())
print("\\n" + mark + json.dumps(found), flush=True)
"""


class Lacking(Exception):
    """What a pair needs is not there; completes "Not measured yet:"."""


class Failed(Exception):
    """A pair gave no figure."""


def pairs() -> dict[str, Path]:
    """The pair of each rule that has one, by code."""
    found = {code: HERE / f"{entry.name.replace('-', '_')}.py" for code, entry in catalogue.entries().items()}
    return {code: path for code, path in found.items() if path.exists()}


def needs(path: Path) -> tuple[str, ...]:
    """What a pair says that it needs, read without importing it, since that may fail for the lack of it."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        target = (
            node.target
            if isinstance(node, ast.AnnAssign)
            else node.targets[0]
            if isinstance(node, ast.Assign)
            else None
        )
        if isinstance(target, ast.Name) and target.id == "NEEDS":
            return tuple(ast.literal_eval(node.value))  # type: ignore[attr-defined]  # both kinds have a value
    return ()


def form(path: Path, name: str) -> dict[str, Any]:
    """Measure one form of a pair in a process of its own. Raises Lacking or Failed."""
    needed = needs(path)
    for need in needed:
        if need != "cuda" and importlib.util.find_spec(need) is None:
            raise Lacking(f"needs the package {need}")
    command = [sys.executable, "-c", FORM, path.stem, name, MARK, "cuda" if "cuda" in needed else ""]
    with subprocess.Popen(
        command, cwd=path.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(timeout=LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"{name}() had not ended after {LONGEST_SECONDS:.0f} s") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and what it left behind
    lines = [line.removeprefix(MARK) for line in out.splitlines() if line.startswith(MARK)]
    if not lines:
        told = [line for line in err.splitlines() if line.strip()]
        raise Failed(f"{name}() gave no figure: {told[-1] if told else f'exit status {process.returncode}'}")
    found: dict[str, Any] = json.loads(lines[-1])
    if "figure" not in found:
        raise Lacking("needs a CUDA device")
    if not math.isfinite(found["figure"]):
        raise Failed(f"{name}() gave {found['figure']}")
    return found


def measure(path: Path, rounds: int | None = None) -> Effect:
    """The effect that a pair shows, over ``rounds`` or as many as it asks for. Raises Lacking or Failed."""
    begun = time.monotonic()
    figures: dict[str, list[float]] = {"faulty": [], "mended": []}
    found: dict[str, Any] = {}
    done = 0
    while done < (rounds or found.get("rounds") or ROUNDS):
        for name in list(figures)[:: -1 if done % 2 else 1]:
            found = form(path, name)
            figures[name].append(found["figure"])
            _say(".")
        done += 1
    shown = [effect(*both, found["COMPARE"]) for both in zip(figures["faulty"], figures["mended"], strict=True)]
    figure, low, high = interval(shown, found["COMPARE"])
    return Effect(
        sentence=found["EFFECT"],
        situation=" ".join(found["situation"].strip().partition("\n\n")[0].split()),
        compare=found["COMPARE"],
        check=found["CHECK"],
        figure=figure,
        low=low,
        high=high,
        faulty=statistics.fmean(figures["faulty"]),
        mended=statistics.fmean(figures["mended"]),
        rounds=done,
        seconds=round(time.monotonic() - begun, 1),
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        python=platform.python_version(),
        torch=importlib.metadata.version("torch"),
        machine=machine() | ({"gpu": found["gpu"]} if found["gpu"] else {}),
    )


def effect(faulty: float, mended: float, compare: str) -> float:
    """What one round shows. Raises Failed for a ratio to nothing."""
    if compare == "difference":
        return faulty - mended
    if compare != "ratio":
        raise Failed(f'COMPARE is "{compare}", and not "difference" or "ratio"')
    if faulty <= 0 or mended <= 0:
        raise Failed(f"no ratio of {faulty:g} to {mended:g}")
    return faulty / mended


def interval(shown: Sequence[float], compare: str) -> tuple[float, float, float]:
    """The mean of the effects, and the 95 % interval of a further one, rounded outward at the mean's last digit.

    >>> interval([5.0, 5.0], "difference")
    (5.0, 5.0, 5.0)
    >>> interval([16.3, 16.4, 16.5], "difference")
    (16.4, 15.9, 16.9)
    """
    if min(shown) == max(shown):
        return shown[0], shown[0], shown[0]
    values = [math.log(one) for one in shown] if compare == "ratio" else list(shown)
    mean = statistics.fmean(values)
    freedom = min(len(values) - 1, len(STUDENT))
    half = STUDENT[freedom - 1] * statistics.stdev(values) * math.sqrt(1 + 1 / len(values))
    figure, low, high = (math.exp(one) if compare == "ratio" else one for one in (mean, mean - half, mean + half))
    return figure, *outward(low, high, effects.unit(figure))


def outward(low: float, high: float, unit: float) -> tuple[float, float]:
    """
    >>> outward(16.21, 16.58, 0.1), outward(1234.0, 1266.0, 10.0)
    ((16.2, 16.6), (1230.0, 1270.0))
    """
    last = Decimal(f"1e{round(math.log10(unit))}")
    return float(Decimal(low).quantize(last, ROUND_FLOOR)), float(Decimal(high).quantize(last, ROUND_CEILING))


def machine() -> dict[str, Any]:
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        named = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        model = named[0].partition(":")[2].strip() if named else model
    return {"cpu": model, "cpus": cpus, "system": f"{platform.system()} {platform.machine()}"}


def as_stored(new: Effect, record: Mapping[str, Any] | None) -> str:
    """Whether a figure lies where the stored run says that another would."""
    if record is None or "figure" not in record:
        return "new"
    old = Effect(**record)
    if (old.sentence, old.situation, old.compare) != (new.sentence, new.situation, new.compare):
        return "other pair"
    near = any(math.isclose(new.figure, end, rel_tol=1e-9) for end in (old.low, old.high))
    return "yes" if near or old.low <= new.figure <= old.high else f"no: {old.told()}"


def merged(
    stored: Mapping[str, Mapping[str, Any]], measured: Mapping[str, Effect], lacking: Mapping[str, str]
) -> dict[str, Mapping[str, Any]]:
    """The file's new content. What was measured elsewhere stays where this machine cannot measure it."""
    known = catalogue.entries()
    found = {code: record for code, record in stored.items() if code in known and "no_pair" not in record}
    found |= {code: {"no_pair": why} for code, why in NO_PAIR.items()}
    for code, why in lacking.items():
        if "figure" not in found.get(code, {}):
            found[code] = {"not_measured": why}
    found |= {code: one.as_record() for code, one in measured.items()}
    return {code: found[code] for code in sorted(found)}


def write(records: Mapping[str, Mapping[str, Any]]) -> None:
    """All at once: whoever reads meanwhile sees the old file or the new one."""
    new = STORED.with_suffix(f".{os.getpid()}.new")
    new.write_text(json.dumps(records, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    new.replace(STORED)


def _say(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


def table(
    asked: Sequence[Entry], measured: Mapping[str, Effect], compared: Mapping[str, str], others: Mapping[str, str]
) -> Iterator[str]:
    width = max(len(entry.name) for entry in asked)
    if measured:
        yield f"{'code':5}  {'rule':{width}}  {'seconds':>7}  as stored   it"
    for entry in asked:
        if (found := measured.get(entry.code)) is not None:
            beside = compared[entry.code].partition(":")[0]
            yield f"{entry.code}  {entry.name:{width}}  {found.seconds:7.1f}  {beside:10}  {found.told()}"
    for entry in asked:
        if compared.get(entry.code, "").startswith("no:"):
            yield f"{entry.code} was stored with another figure: {compared[entry.code][4:]}"
    for entry in asked:
        if entry.code in others:
            yield f"{entry.code}  {entry.name:{width}}  not measured: {others[entry.code]}"


def arguments(argv: Sequence[str] | None) -> tuple[list[Entry], int | None, bool]:
    """The rules, the rounds, and whether to write. Exits with 2 for what nobody can run."""
    parser = argparse.ArgumentParser(prog="run.py", description="Measure what breaking a rule costs.")
    parser.add_argument("rules", nargs="*", metavar="CODE|name", help="default: all")
    parser.add_argument("--rounds", type=int, help="of each pair, 2 at least; default: what the pair asks for, or 5")
    parser.add_argument("--write", action="store_true", help=f"keep the result in {STORED.name}")
    given = parser.parse_args(argv)
    if given.rounds is not None and given.rounds < 2:
        parser.error("--rounds: one round has no interval")
    known = catalogue.entries()
    try:
        asked = {find(one.replace("_", "-"), known).code for one in given.rules} or set(known)
    except ConfigError as error:
        parser.error(str(error))
    return [known[code] for code in sorted(asked)], given.rounds, given.write


def main(argv: Sequence[str] | None = None) -> int:
    asked, rounds, keep = arguments(argv)
    there = pairs()
    stored = effects.stored(str(STORED)) if STORED.exists() else {}
    measured: dict[str, Effect] = {}
    lacking: dict[str, str] = {}
    failed = {entry.code: "there is no pair yet" for entry in asked if entry.code not in there}
    failed = {code: why for code, why in failed.items() if code not in NO_PAIR}
    for entry in asked:
        if entry.code in there:
            _say(f"{entry.code} {entry.name} ")
            try:
                measured[entry.code] = measure(there[entry.code], rounds)
                _say(f" {measured[entry.code].seconds:.0f} s\n")
            except Lacking as why:
                lacking[entry.code] = str(why)
                _say(f"not measured: {why}\n")
            except Failed as why:
                failed[entry.code] = str(why)
                _say(f" failed: {why}\n")
        if keep:
            write(merged(stored, measured, lacking))  # all pairs take half an hour, which somebody may interrupt
    compared = {code: as_stored(one, stored.get(code)) for code, one in measured.items()}
    reasons = {entry.code: NO_PAIR[entry.code] for entry in asked if entry.code in NO_PAIR}
    for line in table(asked, measured, compared, reasons | lacking | failed):
        print(line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
