"""What an operator makes, and the register of operators."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mutants.code import Code, File
from mutants.edits import Edit
from mutants.flow import Flow

if TYPE_CHECKING:
    import ast

    from mutants.edits import Pending

EVALUATION = re.compile(r"val|test|eval|infer|predict|demo|dev(?!ice)", re.I)
TOLERANCE = 5
"""Lines between a place where a finding is due and the finding."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The edits that make it, and the nodes at which a finding is due."""

    edits: Sequence[Edit | Pending]
    places: Sequence[ast.AST]
    anywhere: bool = False

    def mutant(self) -> Mutant:
        """Raises ``Unfit`` where the place cannot be changed safely."""
        made = [edit if isinstance(edit, Edit) else edit() for edit in self.edits]
        return Mutant(made, self.places, self.anywhere)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault, made: which bytes change, and the nodes at which a finding is due."""

    edits: Sequence[Edit]
    places: Sequence[ast.AST]
    anywhere: bool = False
    """The rule may report on any line of the first place's file."""

    def sources(self) -> dict[File, bytes]:
        """The changed files."""
        found = {edit.file: edit.file.source for edit in self.edits}
        for edit in sorted(self.edits, key=lambda it: (-it.start, -it.end)):
            found[edit.file] = found[edit.file][: edit.start] + edit.text.encode() + found[edit.file][edit.end :]
        return found

    def overlaps(self) -> bool:
        spans = sorted((edit.file.path, edit.start, edit.end) for edit in self.edits)
        return any(a[0] == b[0] and b[1] < a[2] for a, b in itertools.pairwise(spans))

    def due(self, code: Code, *, edited: bool) -> list[tuple[str, int, int]]:
        """Path, first and last line of each place, in the files as they were or as they are edited."""
        found = []
        for place in self.places:
            file = code.file(place)
            if self.anywhere:
                found.append((file.path, 0, 10**9))
                continue
            start, end = file.span(place)
            first, last = file.line(start), file.line(end)
            if edited:
                mine = [edit for edit in self.edits if edit.file is file]
                grown = {edit: edit.text.count("\n") - file.source[edit.start : edit.end].count(b"\n") for edit in mine}
                first += sum(more for edit, more in grown.items() if edit.end <= start)
                last += sum(more for edit, more in grown.items() if edit.start <= end)
            found.append((file.path, first - TOLERANCE, last + TOLERANCE))
        return found


Make = Callable[[Code, Flow], Iterator[Fault | Callable[[], Fault]]]


@dataclass(frozen=True, slots=True)
class Operator:
    """Makes mutants of one rule; the docstring of ``make`` says of what, and what it needs."""

    rule: str
    name: str
    make: Make = field(compare=False)


OPERATORS: list[Operator] = []


def operator(rule: str) -> Callable[[Make], Make]:
    """Registers a generator of mutants. It may yield functions that make one."""

    def register(make: Make) -> Make:
        OPERATORS.append(Operator(rule, make.__name__.replace("_", "-"), make))
        return make

    return register
