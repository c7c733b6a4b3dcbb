"""The rules: one file each, named like the rule, which holds its documentation, its check and its ``Quiet`` list."""

from __future__ import annotations

from dl_lint.context.entry_points import is_test
from dl_lint.rule import Quiet

EVERYWHERE = (Quiet("advice", "it stands in a test, which takes a batch or two", is_test),)
"""What holds for every rule; asked of the project and the path of the file."""
