"""Objects that a worker's reads would copy: how many of a type lie under one path, and on which pages."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Exposure:
    """Objects of one type under one path: how many, their bytes, and the pages of a sample in the order read.

    ``content``: these are the pages of the elements of arrays, which reading leaves shared and only a write copies.
    """

    path: str
    type: str
    count: float = 0.0
    exposed: float = 0.0
    held: float = 0.0
    example: Any = None
    others: int = 1
    content: bool = False
    pages: array[int] = field(default_factory=lambda: array("Q"))
    ranks: array[int] = field(default_factory=lambda: array("q"))

    @property
    def attribute(self) -> str:
        """The attribute that holds them all: the path up to its first sampled container."""
        return self.path.split("[*]", 1)[0].removesuffix(".keys()")
