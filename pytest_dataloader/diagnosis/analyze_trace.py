"""``pytest-dataloader trace analyze``: what a device waits for, read off traces of ``torch.profiler``."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.padding import Padding

from pytest_dataloader import checks
from pytest_dataloader.advice import transfer as sentences
from pytest_dataloader.diagnosis.arguments import CommandParser, file
from pytest_dataloader.errors import BadLimit, BadTrace, NotMeasured
from pytest_dataloader.printable import encodable, printable, put
from pytest_dataloader.probe.device.evidence import Transfer
from pytest_dataloader.probe.device.recording import record
from pytest_dataloader.probe.device.utilization import utilization
from pytest_dataloader.probe.host.interference import QUIET
from pytest_dataloader.quantities import figure, percent
from pytest_dataloader.record import Record, figures, plain
from pytest_dataloader.report import terminal, writers
from pytest_dataloader.report.console import show, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_dataloader.probe.device.evidence import DeviceUse
    from pytest_dataloader.verdict import Verdict

NAME = "trace analyze"

_KEPT, _MISSED, _NOT_READ = 0, 1, 2
_EXAMPLES = (
    "trace analyze trace.json.gz",
    "trace analyze rank*.json --max-gpu-idle 0.1",
    "trace analyze trace.json --step train_step --json device.json",
)


def main(arguments: Sequence[str]) -> int:
    """Analyze the traces that the arguments name; the status to exit with."""
    parser = _parser()
    given = parser.parse(arguments)
    limits = {"max_gpu_idle": given.max_gpu_idle, "max_input_wait": given.max_input_wait}
    try:
        read = checks.read_limits("transfer", limits)
    except BadLimit as error:
        parser.error(str(error))
    records, uses, status = list[Record](), dict[Path, "DeviceUse"](), _KEPT
    for path in given.traces:
        try:
            uses[path] = utilization(record(path, given.step), given.step)
        except (BadTrace, NotMeasured) as error:
            told = str(error) if isinstance(error, BadTrace) else f"{path}: {error}"
            print(printable(f"{parser.prog}: {told}").replace("\n", "\\n"), file=sys.stderr)
            status = _NOT_READ
            continue
        records.append(_judged(path, uses[path], read))
    _show(records, uses)
    asked: dict[writers.Format, Path | None] = {"json": given.json, "html": given.html}
    for form, path in asked.items():
        if path is not None and (wrong := writers.write_report(form, path, records)):
            print(printable(f"{parser.prog}: --{form}: {wrong}"), file=sys.stderr)
            return _NOT_READ
    missed = any(each.verdict == "failed" for each in records)
    unknown = any(each.verdict == "not_measured" for each in records)
    return _MISSED if missed else _NOT_READ if unknown else status


def _parser() -> CommandParser:
    parser = CommandParser(
        NAME,
        "Say what the device of a trace waits for: the loader, copies or the host; no device is needed.",
        _EXAMPLES,
        "0 where no limit is missed, 1 where one is, 2 where a trace could not be read or says nothing of a device",
    )
    parser.add_argument(
        "traces", nargs="+", type=Path, metavar="TRACE", help="what torch.profiler exported, also as .json.gz"
    )
    parser.add_argument(
        "--step", metavar="NAME", help="take each record_function(NAME) for a training step, not those of the profiler"
    )
    parser.add_argument(
        "--max-gpu-idle", type=float, metavar="SHARE", help="of its steps, in which the device may do nothing: 0 to 1"
    )
    parser.add_argument(
        "--max-input-wait", type=float, metavar="SHARE", help="of its steps, in which the host may wait for the loader"
    )
    parser.add_argument("--html", type=file, metavar="PATH", help="write the report as one page with charts")
    parser.add_argument("--json", type=file, metavar="PATH", help="write evidence and verdicts to this file")
    return parser


def _judged(path: Path, use: DeviceUse, limits: Mapping[str, Any]) -> Record:
    evidence = Transfer(use, way="", own_step=True, gains=(), quietness=QUIET)
    verdict: Verdict = checks.judge("transfer", evidence, limits=limits)
    return Record(
        id=str(path),
        nodeid=str(path),
        description=sentences.description(use),
        check="transfer",
        verdict=verdict.outcome,
        reason=printable(verdict.reason),
        evidence=figures(evidence),
        limits=plain(limits),
        advice=verdict.advice,
    )


def _show(records: Sequence[Record], uses: Mapping[Path, DeviceUse]) -> None:
    for each, use in zip(records, uses.values(), strict=True):
        show(terminal.report_summary([each], terminal.FULL), sys.stdout)
        show(Padding(text("\n".join(sentences.details(use))), (0, 0, 0, 2)), sys.stdout)
    if len(uses) > 1:
        put(f"{encodable(printable(_slowest(uses)), sys.stdout.encoding)}\n", sys.stdout)


def _slowest(uses: Mapping[Path, DeviceUse]) -> str:
    """Which of several traces has the longest steps: of ranks, the one that all others wait for."""
    path = max(uses, key=lambda each: uses[each].ms_per_step)
    usual = statistics.median(use.ms_per_step for use in uses.values())
    longest = uses[path]
    rank = f"rank {longest.rank}, " if longest.rank is not None else ""
    return (
        f"slowest: {rank}{path}: {figure(longest.ms_per_step)} ms a step, "
        f"{percent(longest.ms_per_step / usual - 1)} more than the median of {len(uses)}"
    )
