"""What a rule is and what it yields: findings with a place, a reason, a remedy and perhaps a fix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import ast

    from dl_lint.flow.values import Class, Loader
    from dl_lint.project import Project
    from dl_lint.source.positions import Place


Severity = Literal["bug", "slow", "advice"]


Operation = Literal["replace", "add argument", "remove argument", "add operator", "add first statement"]


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace one stretch of text by ``text``; an empty stretch inserts.

    Another ``operation`` is done to the call, the expression or the opening of the loop at ``place``; what text it
    comes to is worked out by libcst, where somebody wants to see it.
    """

    place: Place
    text: str
    operation: Operation = "replace"


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that fix a finding. Applied by ``--fix`` if ``safe``, else only by ``--unsafe-fixes``."""

    message: str
    edits: tuple[Edit, ...]
    safe: bool = True


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that the finding rests on, with what it says there."""

    place: Place
    message: str


@dataclass(frozen=True, slots=True)
class Needs:
    """What a fault takes: that one of ``loaders`` has workers, and that an object of ``cls`` is fetched from by way of
    ``node``. Wrong data, of which nobody hears, are a fault for whoever asks for workers: no loader is named."""

    loaders: tuple[Loader, ...] = ()
    cls: Class | None = None
    node: ast.AST | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One accusation. ``message`` says what is wrong and what it costs; ``remedy`` what to write instead.

    ``subject`` is what the conditions of the rule's ``Quiet`` list look at, until they have; ``advice`` says that one
    of them holds, and is set by those who apply them: this finding is shown only where advice is asked for. With
    ``repeats``, one on the next line that rests on the same places is the same fault, and told as a place of the first.
    ``needs`` is what the fault takes, by which all rules weigh alike what is left to whoever calls the code.
    ``cost`` is the bytes that a sample takes in each worker, where that is known.
    """

    place: Place
    message: str
    remedy: str
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    advice: bool = False
    repeats: bool = False
    cost: int | None = None
    subject: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    needs: Needs | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Quiet:
    """A condition under which a rule says nothing, or gives advice only. ``reason`` completes "where …", and ``when``
    is asked of the things that are a finding's subject."""

    weight: Literal["silent", "advice"]
    reason: str
    when: Callable[..., object]

    def __str__(self) -> str:
        return f"{'Silent' if self.weight == 'silent' else 'Advice'} where {self.reason}."


Check = Callable[["Project"], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A registered rule; ``name`` is the function's name with hyphens, as in ``dl-lint: ignore[manual-pin-memory]``."""

    code: str
    name: str
    severity: Severity
    check: Check
    module: str
    quiet: tuple[Quiet, ...] = ()

    def weighed(self, project: Project, everywhere: tuple[Quiet, ...] = ()) -> Iterator[tuple[Finding, Quiet | None]]:
        """Every finding with what keeps it quiet, if anything does: a condition of the rule, or one that holds
        ``everywhere`` and is asked of the project and the finding. Advice tells the reason why it is no more. Subjects,
        by which a finding would keep the whole project in memory, have done their work."""
        for finding in self.check(project):
            quiet = next((one for one in self.quiet if one.when(*finding.subject)), None)
            if quiet is None or quiet.weight == "advice":
                here = (one for one in everywhere if one.when(project, finding))
                quiet = next(here, quiet)
            if quiet is not None:
                finding = replace(finding, advice=True, message=f"{finding.message} (advice: {quiet.reason})")
            yield replace(finding, subject=(), needs=None), quiet


def listed(names: list[str]) -> str:
    """``a, b and c``, as a sentence has them."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def rule(code: str, severity: Severity, *, quiet: tuple[Quiet, ...] = ()) -> Callable[[Check], Rule]:
    """Register a generator function as the rule ``code``."""

    def register(check: Check) -> Rule:
        return Rule(code, check.__name__.replace("_", "-"), severity, check, check.__module__, quiet)

    return register
