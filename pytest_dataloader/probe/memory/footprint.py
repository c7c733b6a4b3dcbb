"""What one object costs: the bytes that reading it copies after a fork, and the bytes that a pickled copy takes."""

from __future__ import annotations

import sys
from typing import Any

from pytest_dataloader.probe.internals.torch_private import is_view

PAGE = 4096

_GC_HEADER = 16
_INSTANCE_PREFIX = 16
"""Two words that CPython keeps before an instance for its attributes and weak references."""
_TENSOR = 600
"""A torch tensor's Python object, TensorImpl and StorageImpl, all counted in place (590 to 604 measured per tensor)."""
_TENSOR_DATA = 64
"""What torch's allocator aligns a tensor's data to, and what malloc adds: small data lies between the counted parts."""
_WHOLE = (str, bytes, int, float, complex, tuple)
"""Types that keep their content in the object, so that the page of the reference count is the page of the content."""
_BUFFERS = frozenset({"numpy", "pandas", "pyarrow"})
_IMMORTAL = 1 << 30


def is_immortal(thing: object) -> bool:
    """Whether CPython never counts references to it (None, small integers, interned strings of some versions)."""
    check = getattr(sys, "_is_immortal", None)
    return bool(check(thing)) if check is not None else sys.getrefcount(thing) >= _IMMORTAL


def _round(size: int) -> int:
    return (size + 15) // 16 * 16


def exposed_bytes(thing: object) -> int:
    """Bytes on the pages that counting a reference to this object writes: never more than a page.

    Lists, dicts, sets and arrays pay for their header alone: their item tables are read without being written.
    """
    kind = type(thing)
    if kind in _WHOLE:
        return min(PAGE, _round(sys.getsizeof(thing)))
    if _is_tensor(kind):
        return _tensor_bytes(thing)
    size = kind.__basicsize__
    if kind.__flags__ & _HAS_GC:
        size += _GC_HEADER
        if kind.__flags__ & _HEAP_TYPE:
            size += _INSTANCE_PREFIX
    return min(PAGE, _round(size))


def object_bytes(thing: Any) -> int:
    """Bytes that a worker's own copy takes once unpickled: tables and buffers included.

    A tensor's storage travels through shared memory and takes nothing.
    """
    kind = type(thing)
    if _is_tensor(kind):
        return _TENSOR
    if kind.__module__.split(".", 1)[0] in _BUFFERS:
        # sys.getsizeof would measure every string of a frame; a frame's columns are counted one by one.
        return kind.__basicsize__ + (0 if kind.__name__ == "DataFrame" else int(getattr(thing, "nbytes", 0)))
    try:
        return _round(sys.getsizeof(thing))
    except Exception:  # a __sizeof__ of the user's that refuses
        return kind.__basicsize__


def _tensor_bytes(thing: Any) -> int:
    data = 0 if is_view(thing) else thing.element_size() * thing.nelement()
    aligned = (data + _TENSOR_DATA - 1) // _TENSOR_DATA * _TENSOR_DATA
    return min(PAGE, _TENSOR + (aligned + _TENSOR_DATA if data else 0))


def _is_tensor(kind: type) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(kind, torch.Tensor)


_HAS_GC = 1 << 14
_HEAP_TYPE = 1 << 9
