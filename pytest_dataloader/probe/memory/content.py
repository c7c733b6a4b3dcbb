"""The elements of arrays and tensors: which pages hold nothing else, so that only a write to them copies a page."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_dataloader.probe.loader.referents import FEW, Reach, chosen_positions
from pytest_dataloader.probe.memory.footprint import PAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

_PER_ELEMENT = 4
"""Pages looked at in each array of many."""
_PER_ARRAY = 256


class Content(NamedTuple):
    """Where an array keeps its elements; ``owner`` is where the memory begins that it is, or is a view of."""

    owner: int
    start: int
    size: int
    rows: int

    @property
    def pages(self) -> range:
        """Pages that lie in it from their first to their last byte."""
        return range(-(-self.start // PAGE), (self.start + self.size) // PAGE)


def content_of(thing: Any) -> Content | None:
    """Where a numpy array or a tensor of this process's memory keeps its elements, if they can be written to."""
    torch: Any = sys.modules.get("torch")
    try:
        if torch is not None and isinstance(thing, torch.Tensor):
            if thing.device.type != "cpu" or thing.layout is not torch.strided or not thing.is_contiguous():
                return None
            owner, start, shape = thing.untyped_storage().data_ptr(), thing.data_ptr(), thing.shape
            return Content(owner, start, thing.nbytes, int(shape[0]) if len(shape) else 1)
        numpy: Any = sys.modules.get("numpy")
        if numpy is None or not isinstance(thing, numpy.ndarray) or thing.dtype.hasobject:
            return None
        if not thing.flags.c_contiguous or not thing.flags.writeable:
            return None
        base = thing
        while isinstance(base.base, numpy.ndarray):
            base = base.base
        rows = thing.shape[0] if thing.ndim else 1
        return Content(_address(base), _address(thing), thing.nbytes, rows)
    except Exception:  # kinds of tensors that have no memory, subclasses whose own code refuses
        return None


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def pages_of_element(content: Content, rank: int) -> Iterator[tuple[int, int]]:
    """A few pages all over an array that is one of many, each with the rank of that one."""
    yield from ((page, rank) for page in _spread(content.pages, _PER_ELEMENT))


def pages_of_rows(content: Content, reach: Reach) -> Iterator[tuple[int, int]]:
    """The pages in the middle of an array's rows at the positions read, and at others; each with its rank."""
    if content.rows <= FEW:
        yield from ((page, -1) for page in _spread(content.pages, _PER_ARRAY))
        return
    size = content.size // content.rows
    for row, _, rank in chosen_positions(content.rows, reach):
        page = (content.start + row * size + size // 2) // PAGE
        if page in content.pages:
            yield page, rank


def _spread(pages: range, most: int) -> range:
    return pages[:: max(1, len(pages) // most)][:most]
