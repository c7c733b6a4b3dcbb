"""Correct idioms of real code, each turned into one known fault."""
