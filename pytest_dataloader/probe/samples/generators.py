"""Random generators that a loader's code can draw from: where they are kept, and where each one stands."""

from __future__ import annotations

import gc
import hashlib
import io
import pickle
import random
import sqlite3
import sys
import tarfile
import types
import zipfile
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_dataloader.probe.loader.referents import (
    Reach,
    class_members,
    is_foreign,
    is_opaque,
    referents,
    user_globals,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GLOBALS = ("random", "numpy.random", "torch")
"""Those that torch seeds in every worker, by the names that reports give them."""

_DEPTH = 8
_MOST = 3000
"""Objects looked at. Each sample of a plan has a walk of 0.2 to 5 ms, or 30 near the classes of large libraries."""
_PER_CONTAINER = 32
_FILES = frozenset({"h5py.File", "lmdb.Environment", "netCDF4.Dataset", "zarr.Group"})
_FRESH = 624
"""Position of a Mersenne twister that was seeded and not drawn from."""


class GeneratorState(NamedTuple):
    """Where a generator stands. ``stream`` is the same for draws of one block after one seeding: a Mersenne
    twister's words, else the state itself. ``unused``: seeded, and nothing drawn since.
    """

    state: str
    stream: str
    unused: bool = False


def find_generators(roots: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Generators by name: the global ones, then those kept anywhere under the roots or by the code behind them.

    One that several names lead to has the shortest.
    """
    found = dict(_global_generators())
    for path, thing in reachable_objects(roots, found.values()):
        if is_generator(thing):
            found.setdefault(path, thing)
    return found


def of_iteration(iterator: Any, roots: Sequence[tuple[str, Any]], known: Iterable[Any]) -> dict[str, Any]:
    """Generators that only an iteration under way holds: in the local variables of the user's generator functions, or
    on an iterator of theirs. Those kept under the roots, and those already ``known``, are not among them.
    """
    found: dict[str, Any] = {}
    for path, thing in reachable_objects([(type(iterator).__name__, iterator)], [*known, *(root for _, root in roots)]):
        if is_generator(thing):
            found.setdefault(path, thing)
    return found


def open_files(roots: Sequence[tuple[str, Any]]) -> tuple[str, ...]:
    """Paths of open files and archives, whose position or state forked workers share."""
    return tuple(path for path, thing in reachable_objects(roots) if _is_open_file(thing))


def reachable_objects(roots: Sequence[tuple[str, Any]], known: Iterable[Any] = ()) -> Iterator[tuple[str, Any]]:
    """Objects under the roots and in the modules of the code behind them, nearest first; not those already known."""
    seen = {id(each) for each in known}
    queue: deque[tuple[str, Any, int]] = deque((name, thing, 0) for name, thing in roots)
    kept: list[Any] = []  # what is looked at must live on, or another object could have its address
    while queue and len(kept) < _MOST:
        path, thing, depth = queue.popleft()
        if id(thing) in seen or is_opaque(thing) or isinstance(thing, str | bytes | int | float):
            continue
        seen.add(id(thing))
        kept.append(thing)
        yield path, thing
        if depth < _DEPTH and not is_generator(thing):
            queue.extend((name, value, depth + 1) for name, value in _below(path, thing))


def _below(path: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """What a thing refers to, and what the user's code behind it holds."""
    if isinstance(thing, Iterator) and type(thing).__module__ in ("builtins", "itertools"):
        yield from _in_iteration(path, thing)
        return
    reach = Reach((), 0, _PER_CONTAINER, random.Random(0))
    try:
        yield from ((f"{path}{each.step}", each.thing) for each in list(referents(thing, reach)))
    except Exception:  # an object whose own code refuses to be looked into
        return
    if isinstance(thing, types.FunctionType):
        for name, value in user_globals(thing):
            if isinstance(value, type):
                yield from ((f"{name}.{member}", held) for member, held in _members(value))
            else:
                yield name, value
    elif not is_foreign(type(thing).__module__):
        yield from ((f"{path}.{name}", value) for name, value in _members(type(thing)))


def _in_iteration(path: str, iterator: Any) -> Iterator[tuple[str, Any]]:
    """What an iterator of Python's own goes through: of a user's generator function its local variables, of each the
    iterators behind it. A library's variables are its own affair: shuffle buffers are seeded alike on purpose.
    """
    frame = getattr(iterator, "gi_frame", None)
    if frame is not None and not is_foreign(frame.f_globals.get("__name__")):
        yield from ((f"{iterator.__qualname__}.{name}", value) for name, value in list(frame.f_locals.items()))
    for held in gc.get_referents(iterator):
        behind = held if type(held) is tuple else (held,)  # map and zip keep a tuple of iterators
        yield from ((path, each) for each in behind if isinstance(each, Iterator))


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    return iter(()) if is_foreign(kind.__module__) else class_members(kind)


def _global_generators() -> Iterator[tuple[str, Any]]:
    import torch

    yield "random", random.seed.__self__  # type: ignore[attr-defined]  # a bound method of the hidden instance
    if "numpy" in sys.modules:
        from numpy.random import mtrand

        yield "numpy.random", mtrand._rand  # what scikit-learn takes it by, too
    yield "torch", torch.default_generator


def _is_open_file(thing: Any) -> bool:
    kinds = (io.IOBase, zipfile.ZipFile, tarfile.TarFile, sqlite3.Connection)
    named = f"{type(thing).__module__.partition('.')[0]}.{type(thing).__name__}" in _FILES
    return (isinstance(thing, kinds) and not getattr(thing, "closed", False)) or named


def is_generator(thing: Any) -> bool:
    """Whether a thing is a random generator that can be drawn from and put back."""
    import torch

    if isinstance(thing, random.Random):
        return not isinstance(thing, random.SystemRandom)
    np = sys.modules.get("numpy")
    return isinstance(thing, torch.Generator) or (
        np is not None and isinstance(thing, np.random.Generator | np.random.RandomState)
    )


def generator_state(generator: Any) -> GeneratorState:
    """Where a generator stands; drawing from it is the only thing that would move it."""
    import torch

    if isinstance(generator, torch.Generator):
        raw = generator.get_state().numpy().tobytes()
        # at::mt19937 on the CPU: seed, left, seeded, next, then 624 words of 8 bytes (torch 2.13).
        left = int.from_bytes(raw[8:12], "little")
        return GeneratorState(_hash(raw), _hash(raw[24:5016]), left == 1)
    if isinstance(generator, random.Random):
        words = generator.getstate()
        return GeneratorState(_hash(repr(words).encode()), _hash(repr(words[1][:-1]).encode()), words[1][-1] == _FRESH)
    bits = getattr(generator, "bit_generator", None)
    state = generator.get_state(legacy=False) if bits is None else bits.state
    inner = state.get("state", {})
    whole = _hash(_plain(state))
    if "key" in inner:
        return GeneratorState(whole, _hash(inner["key"].tobytes()), inner["pos"] == _FRESH)
    return GeneratorState(whole, whole)


def _plain(state: Any) -> bytes:
    if isinstance(state, dict):
        return b"{" + b",".join(str(key).encode() + b":" + _plain(value) for key, value in sorted(state.items())) + b"}"
    return state.tobytes() if hasattr(state, "tobytes") else repr(state).encode()


def _hash(raw: bytes) -> str:
    return hashlib.blake2b(raw, digest_size=10).hexdigest()


def displace(generator: Any, key: str) -> None:
    """Seed a generator by a text, so that what it draws next depends on nothing else."""
    import torch

    seed = int(_hash(key.encode()), 16) % 2**32
    if isinstance(generator, torch.Generator):
        generator.manual_seed(seed)
    elif isinstance(generator, random.Random) or not hasattr(generator, "bit_generator"):
        generator.seed(seed)
    else:
        generator.bit_generator.state = type(generator.bit_generator)(seed).state


def global_digests() -> tuple[str, ...]:
    """A digest of where each of the global generators stands."""
    return tuple(generator_state(each).state for _, each in _global_generators())


def global_states() -> bytes:
    """Where the global generators stand, for ``restore_global`` in this process or another."""
    import torch

    legacy = sys.modules["numpy"].random.get_state() if "numpy" in sys.modules else None
    return pickle.dumps((random.getstate(), torch.get_rng_state(), legacy))


def restore_global(states: bytes) -> None:
    """Put the global generators where they stood."""
    import torch

    python, cpu, legacy = pickle.loads(states)
    random.setstate(python)
    torch.set_rng_state(cpu)
    if legacy is not None:
        import numpy as np

        np.random.set_state(legacy)


def seed_child(seed: int) -> None:
    """In a forked child: seed the global generators, and compute with one thread, as torch does in its workers.

    The threads of the parent's pool do not exist here, and work given to them would wait for ever.
    """
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        import numpy as np

        np.random.seed(seed)


def idiom_stream(worker: int) -> str:
    """The stream of ``np.random.seed(np.random.get_state()[1][0] + worker_id)`` in a worker.

    Torch seeds numpy by an array, after which that word is 2**31, whatever the seed (numpy's init_by_array).
    """
    import numpy as np

    return generator_state(np.random.RandomState(2**31 + worker)).stream
