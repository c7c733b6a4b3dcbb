"""Records as the summary of a run: one line for a healthy loader, and what failed with its cause and remedy."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from pytest_dataloader.quantities import counted, figure, percent
from pytest_dataloader.report import bars, ladder
from pytest_dataloader.report.console import text
from pytest_dataloader.verdict import UNSUPPORTED, headline

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pytest_dataloader.record import Record
    from pytest_dataloader.verdict import Advice, Outcome

STYLES: Mapping[Outcome, str] = {
    "passed": "green",
    "failed": "bold red",
    "inconclusive": "bold yellow",
    "not_measured": "yellow",
}
_ORDER: tuple[Outcome, ...] = ("failed", "inconclusive", "passed", "not_measured")
"""In which verdicts are counted and shown."""
SHORT, FULL, FIGURES = 0, 1, 2
"""How much is shown: what needs a look; every check with its charts; all evidence too."""

_BOTTLENECKS = {
    "read": "I/O wait in __getitem__",
    "fetch": "__getitem__, CPU",
    "collate": "collate_fn",
    "send": "pickling in the workers",
    "receive": "receiving in the main process",
    "pin": "pin_memory",
    "consumer": "training step",
    "startup": "worker start-up",
}
_LONGEST_ERROR = 240
"""Characters of a first line: an exception of the user's in it may be longer than any headline of ours."""
_FOR_FILES = ("timeline",)
"""Evidence that nobody would read as text."""
_PLACES = ("attribute_filled_at", "accumulating_filled_at")
"""Figures that say where what is at fault is filled."""
_RESULTS = ("tune", "transfer")
"""Checks whose drawing is their result."""


def report_summary(
    records: Iterable[Record], verbosity: int = SHORT, reported: Collection[tuple[str, str]] = ()
) -> Group:
    """Every loader, the gravest first: counts and key figures in a line, below it the checks that need a look.

    From ``FULL`` on all checks with every sentence, chart and remedy; below ``SHORT`` no remedies. What was
    ``reported`` already, by id and check, is counted only.
    """
    records = list(records)
    parts: list[RenderableType] = list(_unsupported(records))
    blocks: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        blocks.setdefault((record.nodeid, record.id), []).append(record)
    built = [block for block in blocks.values() if any(record.description for record in block)]
    for block in sorted(built, key=lambda block: min(_gravity(record) for record in block)):
        shown = [record for record in sorted(block, key=_gravity) if verbosity >= FULL or _is_shown(record, reported)]
        parts.append(_line(block, verbosity, alone=bool(shown)))
        for record in shown:
            parts += _check(record, verbosity)
        if verbosity < FULL:
            parts += [_indented(text(why, "yellow"), 2) for why in _unmeasured(block)]
    return Group(*parts)


def closing(
    records: Iterable[Record], seconds: float | None = None, *, verbosity: int = SHORT, more: str = "-v"
) -> Text:
    """The last line: how many checks of each verdict, the seconds, and what to do next; ``more`` shows all checks."""
    records = list(records)
    line = _counts(records)
    if seconds is not None:
        line.append(f" in {seconds:.0f} s")
    codes = sorted({each.code for record in records if needs_a_look(record) for each in record.advice if each.code})
    if codes:
        line.append(f" · next: dl-lint --select {','.join(codes)}")
    elif verbosity < FULL and more:
        line.append(f" · {more} shows all checks")
    return line


def needs_a_look(record: Record) -> bool:
    """Whether a check is shown though nobody asked for all: it did not pass, or its figures are what was asked for."""
    in_job = record.check == "throughput" and bool(record.ranks)
    is_result = record.check in _RESULTS and bool(record.evidence)
    waits = record.check == "training" and bool(record.advice)
    return record.verdict in ("failed", "inconclusive") or record.vacuous or is_result or in_job or waits


def _is_shown(record: Record, reported: Collection[tuple[str, str]]) -> bool:
    return needs_a_look(record) and (record.verdict == "passed" or (record.id, record.check) not in reported)


def drawing(record: Record) -> Iterator[RenderableType]:
    """What of a check's evidence is easier to see than to read."""
    if not record.evidence:
        return
    match record.check:
        case "throughput":
            yield from bars.of_throughput(record.evidence, record.limits)
        case "stages":
            yield from bars.of_stages(record.evidence)
            yield from bars.of_waiting(record.evidence)
        case "transfer":
            yield from bars.of_transfer(record.evidence)
        case "tune":
            yield from ladder.tables(record.evidence)


def _gravity(record: Record) -> int:
    return _ORDER.index("inconclusive" if record.vacuous and record.verdict != "failed" else record.verdict)


def _line(block: Sequence[Record], verbosity: int, *, alone: bool) -> Text:
    """The line of a loader; ``alone`` where what it would say of a single check stands below."""
    one = block[0]
    line = text(one.id, "bold")
    if len(block) > 1:
        line.append("  ").append(_counts(block))
    elif not alone:
        line.append("  ").append(f"{one.check} {_word(one)}", STYLES[one.verdict])
    for fact in _facts(block):
        line.append(f" · {fact}")
    notes = sum(len(record.advice) for record in block if record.verdict == "passed" and not needs_a_look(record))
    if notes and verbosity < FULL:
        line.append(f" · {counted(notes, 'note')}")
    description = next(record.description for record in block if record.description)
    return line.append(f"\n  {text(description)}") if verbosity >= FULL else line


def _word(record: Record) -> str:
    return record.verdict.replace("_", " ")


def _counts(records: Sequence[Record]) -> Text:
    counts = Counter(record.verdict for record in records)
    parts = [Text(f"{counts[each]:,} {each.replace('_', ' ')}", STYLES[each]) for each in _ORDER if counts[each]]
    return Text(", ").join(parts)


def _facts(block: Iterable[Record]) -> Iterator[str]:
    """The rate of a loader and its bottleneck, where they were measured."""
    records = list(block)
    alone = "the loader alone: " if any(record.check == "training" for record in records) else ""
    for record in records:
        seen = record.evidence
        if record.verdict not in ("passed", "failed"):
            continue
        if record.check == "training" and seen.get("batches"):
            yield f"training: {figure(seen['samples_per_second'])} samples/s, {percent(seen['input_wait'])} data wait"
        if record.check == "throughput" and seen.get("samples_per_second"):
            yield f"{alone}{figure(seen['samples_per_second'])} samples/s"
        if record.check == "stages" and seen.get("bottleneck"):
            pace = seen["pace_ms_per_sample"]
            share = pace[seen["bottleneck"]] / max(1e-12, sum(pace.values()))
            yield f"bottleneck: {_BOTTLENECKS[seen['bottleneck']]} {percent(share)}"


def _unsupported(records: Iterable[Record]) -> Iterator[Text]:
    """A first line where checks could not be relied on under the torch that is there."""
    found: dict[str, dict[str, None]] = {}
    for record in records:
        if record.reason.startswith(UNSUPPORTED):
            found.setdefault(record.reason.partition(":")[0], {})[record.check] = None
    for torch, names in found.items():
        yield text(f"{torch}: not measured: {', '.join(names)}", STYLES["inconclusive"])


def _unmeasured(block: Sequence[Record]) -> Iterator[str]:
    """Why nothing at all was measured of a loader, each reason once; and what others were kept from by a fault."""
    nothing = all(record.verdict == "not_measured" for record in block)
    found: dict[str, list[str]] = {}
    for record in block:
        if record.verdict == "not_measured" and not needs_a_look(record):
            found.setdefault(headline(record.reason), []).append(record.check)
    for reason, names in found.items():
        if nothing or len(names) > 1:
            yield f"not measured: {', '.join(names)}: {reason}"


def _check(record: Record, verbosity: int) -> Iterator[RenderableType]:
    """The headline of a check, where its cause is, and what to change."""
    full, is_result = verbosity >= FULL, record.check in _RESULTS
    in_job = record.check == "throughput" and bool(record.ranks)
    first, *more = record.reason.splitlines() or [""]
    if not (full or in_job):
        first, more = textwrap.shorten(first, _LONGEST_ERROR, placeholder=" ..."), []
    title = Text(f"{record.check} {_word(record)}", STYLES[record.verdict])
    yield _indented(Text.assemble(title, ": ", text(first)), 2)
    below: list[RenderableType] = [text(line.strip()) for line in more]
    if not full:
        below += [text(place) for place in _places(record.evidence)]
    if full or is_result:
        below += drawing(record)
    if verbosity >= SHORT:
        below += [
            _remedy(advice, record.verdict) for advice in (record.advice if full or is_result else record.advice[:1])
        ]
    if verbosity >= FIGURES:
        below += [
            text(f"{name} = {_figure(value)}") for name, value in record.evidence.items() if name not in _FOR_FILES
        ]
    yield _indented(Group(*below), 4)


def _places(evidence: Mapping[str, Any]) -> Iterator[str]:
    """Where the cause is: who keeps what leaks, or the line at fault."""
    if kept := evidence.get("kept_by"):
        yield f"kept by {kept[0]['name']}{f' ({line})' if (line := kept[0]['line']) else ''}"
    place = next((evidence[key] for key in _PLACES if evidence.get(key)), None)
    if place := place or _innermost(evidence.get("stack") or ()):
        yield f"at {place}"


def _innermost(stack: Sequence[str]) -> str:
    """The last frame of a stack, with its line of code where that is known."""
    at = max((at for at, line in enumerate(stack) if line.startswith("File ")), default=None)
    if at is None:
        return ""
    code = stack[at + 1].strip() if at + 1 < len(stack) else ""
    return f"{stack[at]}: {code}" if code else stack[at]


def _remedy(advice: Advice, verdict: Outcome) -> Text:
    name = advice.code or ("fix" if verdict == "failed" else "note")
    return Text.assemble((f"{name}: ", "bold"), text(advice.text))


def _indented(content: RenderableType, columns: int) -> Padding:
    return Padding(content, (0, 0, 0, columns))


def _figure(value: Any) -> str:
    """A figure for reading: four significant digits, long texts and lists cut.

    >>> _figure(812.34567), _figure(12345678), _figure([1.23456, None])
    ('812.3', '12345678', '[1.235, -]')
    """
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        shown = [_figure(item) for item in value[:8]] + (["..."] if len(value) > 8 else [])
        return f"[{', '.join(shown)}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_figure(item)}' for key, item in value.items())}}}"
    return "-" if value is None else str(value)
