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
TEST = re.compile(r"(^|/)tests?/|(^|/)test_\w*\.py$")
"""Files in which a batch or two are taken, where most faults cost nothing."""
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

    def moved(self, path: str, row: int) -> int:
        """Where the edits have put a line."""
        mine = [edit for edit in self.edits if edit.file.path == path and edit.file.starts[row - 1] >= edit.end]
        return row + sum(edit.text.count("\n") - edit.file.source[edit.start : edit.end].count(b"\n") for edit in mine)

    def lines(self, code: Code) -> list[tuple[str, int, int]]:
        """Path, first and last line of each place, in the files as they were."""
        spans = [(code.file(place), *code.file(place).span(place)) for place in self.places]
        if self.anywhere:
            return [(file.path, 1, len(file.starts) - 1) for file, _, _ in spans]
        return [(file.path, file.line(start), file.line(end)) for file, start, end in spans]

    def due(self, code: Code) -> list[tuple[str, int, int]]:
        """The lines at or near each place, in the files as they are edited."""
        return [
            (path, self.moved(path, first) - TOLERANCE, self.moved(path, last) + TOLERANCE)
            for path, first, last in self.lines(code)
        ]


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
