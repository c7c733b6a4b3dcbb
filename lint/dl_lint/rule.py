"""What a rule is and what it yields: findings with a place, a reason, a remedy and perhaps a fix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from dl_lint.project import Project

Severity = Literal["bug", "slow", "advice"]

Span = tuple[int, int, int, int]
"""Line, column, end line, end column; lines count from 1, columns from 0 in characters."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A stretch of one file; ``path`` is POSIX, as the user named it."""

    path: str
    span: Span


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace one stretch of text; an empty stretch inserts."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that mend a finding. Applied by ``--fix`` if ``safe``, else only by ``--unsafe-fixes``."""

    message: str
    edits: tuple[Edit, ...]
    safe: bool = True


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that the finding rests on, with what it says there."""

    place: Place
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One accusation. ``message`` says what is wrong and what it costs; ``remedy`` what to write instead.

    ``advice`` where it depends on a size that the code does not tell, while other findings of the rule do not: this one
    is shown only where advice is asked for.
    """

    place: Place
    message: str
    remedy: str
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    advice: bool = False


Check = Callable[["Project"], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A registered rule; ``name`` is the function's name with hyphens, as in ``dl-lint: ignore[manual-pin-memory]``."""

    code: str
    name: str
    severity: Severity
    check: Check
    module: str


def rule(code: str, severity: Severity) -> Callable[[Check], Rule]:
    """Register a generator function as the rule ``code``."""

    def register(check: Check) -> Rule:
        return Rule(code, check.__name__.replace("_", "-"), severity, check, check.__module__)

    return register
