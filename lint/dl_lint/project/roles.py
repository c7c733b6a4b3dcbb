"""What the name of a dataset class says that it is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.project import purpose
from dl_lint.project.repetition import words

if TYPE_CHECKING:
    from dl_lint.project.values import Class

EVALUATING = frozenset({"val", "valid", "validation", "eval", "evaluation", "test", "testing"})
"""Words in the name of a class whose samples nothing is trained on: for evaluation, or for the project's own tests."""


def is_named_for_evaluation(cls: Class) -> bool:
    """Whether the name of a class says so, and does not speak of training as well: ``ValidationCrops``."""
    named = {*words(cls.scope.name)}
    return bool(EVALUATING & named) and not purpose.TRAINING & named
