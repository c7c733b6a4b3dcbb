"""What breaking a rule costs, as ``make proof`` measured it: ``effects.json``, and the line of it on a rule's page."""

from __future__ import annotations

import functools
import math
import os
from dataclasses import asdict, dataclass, field
from typing import Any

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "effects.json")

DIGITS = 3
"""Significant digits of a figure that was measured; what was counted, and did not vary, is shown as it is."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What the pair of a rule, ``benchmarks/proof/<rule_name>.py``, showed."""

    sentence: str
    """Follows "It"; ``{figure}``, ``{faulty}`` and ``{mended}`` stand for the numbers."""
    situation: str
    """What was measured: the first line of the pair's docstring."""
    compare: str
    """``difference`` or ``ratio``: how the figure comes of the two forms."""
    check: str
    """The check that sees this fault in a loader; empty where none does."""
    figure: float
    low: float
    high: float
    """95 % interval of what another run shows; the figure itself where it did not vary."""
    faulty: float
    mended: float
    rounds: int
    seconds: float
    """What measuring took."""
    date: str = ""
    python: str = ""
    torch: str = ""
    machine: dict[str, Any] = field(default_factory=dict)

    @property
    def varies(self) -> bool:
        return self.low < self.high

    def told(self) -> str:
        """The sentence with its numbers and their interval.

        >>> Effect("costs {figure} MB", "A list.", "difference", "", 16.432, 16.2, 16.6, 20.0, 3.57, 5, 9.1).told()
        'costs 16.4 MB (16.2 to 16.6)'
        """
        figure = shown(self.figure, unit(self.figure)) if self.varies else shown(self.figure)
        text = self.sentence.format(figure=figure, faulty=shown(self.faulty), mended=shown(self.mended))
        if not self.varies:
            return text
        return f"{text} ({shown(self.low, unit(self.figure))} to {shown(self.high, unit(self.figure))})"

    def as_record(self) -> dict[str, Any]:
        return asdict(self)


def unit(figure: float) -> float:
    """The value of the last significant digit of a figure.

    >>> [unit(figure) for figure in (16.4321, 12345.6, 0)]
    [0.1, 100.0, 0.01]
    """
    return float(f"1e{(math.floor(math.log10(abs(figure))) if figure else 0) + 1 - DIGITS}")


def shown(value: float, last: float | None = None) -> str:
    """A number, thousands set off: to the digit of value ``last``, or else whole ones whole, others to three digits.

    >>> shown(1024), shown(1234.5), shown(0.012345), shown(16.04), shown(15.96, 0.1), shown(12345.6, 100.0)
    ('1,024', '1,230', '0.0123', '16.0', '16.0', '12,300')
    """
    if last is None:
        if float(value).is_integer():
            return f"{value:,.0f}"
        last = unit(value)
    places = -round(math.log10(last))
    return f"{round(value, places):,.{max(0, places)}f}"


@functools.cache
def stored(path: str = PATH) -> dict[str, dict[str, Any]]:
    """By code, an effect or the reason why there is none: ``not_measured`` yet, or ``no_pair`` at all.

    Read when a page is asked for, and not when files are linted.
    """
    import json

    with open(path, encoding="utf-8") as file:
        found: dict[str, dict[str, Any]] = json.load(file)
    return found


def line(code: str) -> str:
    """What the page of a rule says of its cost, in Markdown; empty where nothing is known."""
    record = stored().get(code)
    return "" if record is None else told(code, record)


def told(code: str, record: dict[str, Any]) -> str:
    """A record of the file as a line.

    >>> told("DL102", {"not_measured": "needs a CUDA device"})
    'Not measured yet: needs a CUDA device.'
    >>> told("DL001", {"no_pair": "it is about comments"})
    'No cost to measure: it is about comments.'
    """
    if "no_pair" in record:
        return f"No cost to measure: {record['no_pair']}."
    if "not_measured" in record:
        return f"Not measured yet: {record['not_measured']}."
    effect = Effect(**record)
    sentence = effect.told()
    where = ", ".join([f"torch {effect.torch.partition('+')[0]}", *_machine(effect.machine)])
    measured = f"measured by `make proof RULE={code}` on {effect.date} ({where})"
    check = f" The check `{effect.check}` measures it in a loader of yours." if effect.check else ""
    return f"{sentence[0].upper()}{sentence[1:]}. {effect.situation.rstrip('.')}; {measured}.{check}"


def _machine(machine: dict[str, Any]) -> list[str]:
    cpus = machine.get("cpus", 0)
    return [f"{cpus} CPU{'s' if cpus != 1 else ''}", *([machine["gpu"]] if machine.get("gpu") else [])]
