"""Where the rules of dl-lint that advice names are explained."""

from __future__ import annotations

import re

# dl-lint is never imported from here; a test compares the addresses with its own.
_SITE = "https://pytest-dataloader.github.io/pytest-dataloader"


def explanation_of(code: str) -> str:
    """The address of a rule's explanation; empty for what is no code of a rule.

    >>> explanation_of("DL301").rpartition("/rules")[2], explanation_of("")
    ('/DL301/', '')
    """
    return f"{_SITE}/rules/{code}/" if re.fullmatch(r"DL\d{3}", code) else ""
