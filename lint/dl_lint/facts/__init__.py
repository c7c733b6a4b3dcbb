"""What one file says: its syntax as plain values, its suppressions, its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts.model import FileFacts, Suppression

if TYPE_CHECKING:
    from dl_lint.source import Source

__all__ = ["FileFacts", "Suppression", "read"]


def read(source: Source) -> FileFacts:
    """Parse the file and keep what rules can ask about; raises SourceError if it cannot be parsed."""
    # libcst takes 0.2 s to import, and a run whose facts are all cached needs none of it.
    from dl_lint.facts.lower import lower
    from dl_lint.facts.suppressions import suppressions

    body, ranges, tokens = lower(source)
    return FileFacts(body, suppressions(tokens.comments), ranges)
