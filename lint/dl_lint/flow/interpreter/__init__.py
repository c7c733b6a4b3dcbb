"""The interpreter: what each kind of expression stands for, and what can be done with what it stands for.

Importing any part of it registers them all.
"""

from __future__ import annotations

from dl_lint.flow.interpreter import calls, expressions

__all__ = ["calls", "expressions"]
