"""A line of the terminal report."""

from __future__ import annotations

Line = list[tuple[str, dict[str, bool]]]
"""Pieces of text, each with its markup as pytest's terminal reporter takes it."""
