"""Digests of what samples hold: the same content gives the same digest in every process."""

from __future__ import annotations

import array
import hashlib
import io
import pickle
import sys
import types
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_dataloader.probe.loader.referents import attribute_names

_SIZE = 12
"""Bytes of a digest: two of 10**9 samples collide with a chance of 10**-11."""
_DEEPEST = 32
_LEAVES_DEEP = 4
_SCALARS = (int, float, complex, bool, type(None), type(Ellipsis), slice, range)
_READER = frozenset({"rank", "global_rank", "local_rank", "worker_id", "num_workers", "local_world_size"})
_WORLD = frozenset({"world_size", "num_replicas"})
"""Names under which a sampler or a dataset notes who reads a sample: lhotse's put rank, world_size and worker_id into
each cut."""
_OPAQUE = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, io.IOBase, Iterator)


def digest(sample: Any) -> str:
    """A digest of a sample of any structure: tensors, arrays, images, containers, objects with attributes.

    Nothing of the sample is consumed or changed. What holds no content of its own (functions, open files,
    iterators) counts by its type, and so does a part that notes the rank and the world size and nothing but who reads
    the sample: that one is the same on another rank.
    """
    whole = hashlib.blake2b(digest_size=_SIZE)
    _feed(whole, sample, 0)
    return whole.hexdigest()


def leaves(sample: Any, path: str = "", depth: int = 0) -> dict[str, str]:
    """The digest of each part of a sample by its path, ``[1]['label']``: parts can differ alone."""
    parts: list[tuple[Any, Any]] = []
    if isinstance(sample, Mapping) and depth < _LEAVES_DEEP:
        parts = list(sample.items())
    elif isinstance(sample, list | tuple) and depth < _LEAVES_DEEP and len(sample) <= 64:
        parts = list(enumerate(sample))
    if not parts:
        return {path: digest(sample)}
    found: dict[str, str] = {}
    for key, part in parts:
        found.update(leaves(part, f"{path}[{key!r}]", depth + 1))
    return found


def _feed(whole: Any, thing: Any, depth: int) -> None:
    kind = type(thing)
    whole.update(f"<{kind.__module__}.{kind.__qualname__}".encode())
    if depth > _DEEPEST or isinstance(thing, (*_OPAQUE, type)):
        whole.update(getattr(thing, "__qualname__", "").encode())
    elif isinstance(thing, str):
        whole.update(str.encode(thing, errors="surrogatepass"))
    elif isinstance(thing, bytes | bytearray | memoryview | array.array):
        whole.update(bytes(thing))
    elif isinstance(thing, _SCALARS):
        whole.update(repr(thing).encode())
    elif isinstance(thing, Mapping):
        _feed_unordered(whole, () if depth and _notes_reader(thing) else thing.items(), depth)
    elif isinstance(thing, set | frozenset):
        _feed_unordered(whole, thing, depth)
    elif isinstance(thing, list | tuple | deque):
        for part in thing:
            _feed(whole, part, depth + 1)
    else:
        _feed_object(whole, thing, depth)
    whole.update(b">")


def _notes_reader(part: Mapping[Any, Any]) -> bool:
    """Whether a part of a sample holds a rank and a world size, and nothing of the sample."""
    names = {name for name in part if isinstance(name, str)}
    return "rank" in names and bool(names & _WORLD) and len(names) == len(part) and names <= _READER | _WORLD


def _feed_unordered(whole: Any, parts: Any, depth: int) -> None:
    inner = []
    for part in parts:
        own = hashlib.blake2b(digest_size=_SIZE)
        _feed(own, part, depth + 1)
        inner.append(own.digest())
    whole.update(b"".join(sorted(inner)))


def _feed_object(whole: Any, thing: Any, depth: int) -> None:
    if _is_tensor(thing):
        _feed_tensor(whole, thing, depth)
    elif type(thing).__module__.partition(".")[0] == "numpy" and hasattr(thing, "dtype"):
        whole.update(f"{thing.dtype}{getattr(thing, 'shape', ())}".encode())
        if thing.dtype.hasobject:
            _feed(whole, thing.tolist(), depth + 1)
        else:
            whole.update(thing.tobytes())
    elif hasattr(thing, "tobytes") and hasattr(thing, "mode") and hasattr(thing, "size"):  # an image of PIL
        whole.update(f"{thing.mode}{thing.size}".encode())
        whole.update(thing.tobytes())
    elif type(thing).__module__.partition(".")[0] in ("pandas", "pyarrow"):
        whole.update(_pickled(thing))
    else:
        names = sorted(attribute_names(thing))
        for name in names:
            whole.update(name.encode())
            _feed(whole, getattr(thing, name, None), depth + 1)
        if not names:
            whole.update(_pickled(thing))


def _is_tensor(thing: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.Tensor)


def _feed_tensor(whole: Any, tensor: Any, depth: int) -> None:
    import torch

    whole.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
    tensor = tensor.detach()
    if tensor.layout is not torch.strided:
        if tensor.layout is torch.sparse_coo:
            settled = tensor.coalesce()
            _feed(whole, (settled.indices(), settled.values()), depth + 1)
        else:
            _feed(whole, tensor.to_dense(), depth + 1)
    elif tensor.is_quantized:
        _feed(whole, (tensor.int_repr(), repr(tensor.qscheme())), depth + 1)
    elif tensor.numel() and tensor.device.type != "meta":
        solid = tensor.cpu().resolve_conj().resolve_neg().contiguous()
        flat = solid.as_strided((solid.numel(),), (1,))  # of one element, contiguous with any stride
        whole.update(memoryview(flat.view(torch.uint8).numpy()))


def _pickled(thing: Any) -> bytes:
    try:
        return pickle.dumps(thing, protocol=5)
    except Exception:  # nothing to be seen inside: counts by its type
        return b""
