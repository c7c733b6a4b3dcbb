"""What workers that are spawned get by pickling: how many bytes, and which attribute does not pickle."""

from __future__ import annotations

import contextlib
import functools
import io
import multiprocessing.context
import pickle
import time
import types
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PARTS = ("dataset", "collate_fn", "worker_init_fn")
"""What torch hands to a worker, beside numbers. Samplers stay in the main process."""
_DEPTH = 12
_TIMEOUT_SECONDS = 20.0
_NAMED: dict[type, str] = {
    types.GeneratorType: "a generator",
    types.ModuleType: "a module",
    types.FrameType: "a frame",
    types.TracebackType: "a traceback",
}


@dataclass(frozen=True, slots=True)
class Culprit:
    """What does not pickle: its path from the loader (``dataset.transform.fn``), what it is, and the error."""

    path: str
    what: str
    error: str


@dataclass(frozen=True, slots=True)
class Luggage:
    """What one worker is handed: bytes pickled, and bytes of tensors, which travel by shared memory."""

    pickled_bytes: int
    tensor_bytes: int


class _Scale(io.RawIOBase):
    """A file that only counts."""

    size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.size += len(data)
        return len(data)


class _Pickler(pickle.Pickler):
    """Pickles as a start of a worker does, but leaves tensors where they are and hands out no descriptors."""

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=pickle.DEFAULT_PROTOCOL)
        self.tensor_bytes = 0
        self.dispatch_table = ForkingPickler(io.BytesIO()).dispatch_table

    def reducer_override(self, thing: Any) -> Any:
        import torch

        if isinstance(thing, torch.Tensor) and type(thing) in (torch.Tensor, torch.nn.Parameter):
            if thing.requires_grad and not thing.is_leaf:
                return NotImplemented  # torch refuses
            self.tensor_bytes += thing.untyped_storage().nbytes()
            return bytes, ()
        return NotImplemented


class _Popen:
    """Stands for the process that is being started: locks and pipes pickle only while there is one."""

    @staticmethod
    def duplicate_for_child(handle: int) -> int:
        return handle

    @staticmethod
    def DupFd(handle: int) -> int:  # multiprocessing's name
        return handle


@contextlib.contextmanager
def _as_if_spawning() -> Iterator[None]:
    multiprocessing.context.set_spawning_popen(_Popen())  # type: ignore[arg-type]  # a stand-in
    try:
        yield
    finally:
        multiprocessing.context.set_spawning_popen(None)


def _weigh(thing: Any) -> Luggage:
    scale = _Scale()
    buffer = io.BufferedWriter(scale)
    pickler = _Pickler(buffer)
    with _as_if_spawning():
        pickler.dump(thing)
    buffer.flush()
    return Luggage(scale.size, pickler.tensor_bytes)


def weigh_luggage(loader: Any) -> Luggage | None:
    """What a worker of this loader is handed; None where it cannot be pickled."""
    try:
        return _weigh(tuple(getattr(loader, part, None) for part in PARTS))
    except Exception:  # whatever the user's __reduce__ raises
        return None


def handover_cpu_seconds(loader: Any) -> float | None:
    """CPU time that pickling for one worker takes here, and unpickling there, tensors apart; None where unknown.

    Done in a forked child: what is unpickled may open things.
    """
    return child_process.ask(lambda: _handover_cpu_seconds(loader), _TIMEOUT_SECONDS)  # type: ignore[no-any-return]


def _handover_cpu_seconds(loader: Any) -> float:
    buffer = io.BytesIO()
    begun = time.process_time()
    with _as_if_spawning():
        _Pickler(buffer).dump(tuple(getattr(loader, part, None) for part in PARTS))
    pickle.loads(buffer.getbuffer())
    return time.process_time() - begun


def find_culprit(loader: Any) -> Culprit | None:
    """The innermost thing that does not pickle; None where all does."""
    for part in PARTS:
        thing = getattr(loader, part, None)
        error = _refusal(thing)
        if error is not None:
            return _descend(thing, part, error, _DEPTH)
    return None


def find_generator(loader: Any) -> str:
    """The path of a torch.Generator: it pickles, and cannot be unpickled from torch's shared memory. Empty if none."""
    import torch

    for part in PARTS:
        found = _search(getattr(loader, part, None), part, lambda thing: isinstance(thing, torch.Generator), 4, set())
        if found:
            return found
    return ""


def _refusal(thing: Any) -> str | None:
    try:
        _weigh(thing)
    except Exception as error:  # the user's __reduce__ may raise anything
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return None


def _descend(thing: Any, path: str, error: str, depth: int) -> Culprit:
    if depth:
        for name, part in _parts(thing):
            inner = _refusal(part)
            if inner is not None:
                return _descend(part, f"{path}{name}", inner, depth - 1)
    return Culprit(path, describe_unpicklable(thing), error)


def _search(thing: Any, path: str, wanted: Callable[[Any], bool], depth: int, seen: set[int]) -> str:
    if wanted(thing):
        return path
    if not depth or id(thing) in seen:
        return ""
    seen.add(id(thing))
    for name, part in _parts(thing, most=100):
        if found := _search(part, f"{path}{name}", wanted, depth - 1, seen):
            return found
    return ""


def _parts(thing: Any, most: int | None = None) -> list[tuple[str, Any]]:
    """What pickling a thing pickles with it, each with how it is reached."""
    if isinstance(thing, type | types.FunctionType | types.BuiltinFunctionType | str | bytes | int | float):
        return []
    if isinstance(thing, dict):
        pairs = [(f"[{key!r}]", value) for key, value in list(thing.items())[:most]]
        return [*pairs, *((f" key {key!r}", key) for key in list(thing)[:most])]
    if isinstance(thing, list | tuple | set | frozenset):
        return [(f"[{number}]", part) for number, part in enumerate(list(thing)[:most])]
    if isinstance(thing, functools.partial):
        return [(".func", thing.func), (".args", thing.args), (".keywords", thing.keywords)]
    if isinstance(thing, types.MethodType):
        return [(".__self__", thing.__self__)]
    return _state_of(thing)


def _state_of(thing: Any) -> list[tuple[str, Any]]:
    """The attributes that an object pickles: those that its ``__getstate__`` or ``__reduce__`` names."""
    try:
        with _as_if_spawning():
            reduced = thing.__reduce_ex__(4)
    except Exception:  # it refuses by itself
        return []
    if not isinstance(reduced, tuple):
        return []
    state = reduced[2] if len(reduced) > 2 else None
    slots = state[1] if isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict) else {}
    first = state[0] if isinstance(state, tuple) and slots else state
    fields = first if isinstance(first, dict) else {}
    found = [(f".{name}", value) for name, value in (*fields.items(), *slots.items())]
    if not fields and not slots and state is not None:
        found.append((".__getstate__()", state))
    # What a thing is made of again has no name of its own: it goes by the path of the thing.
    return [*found, *(("", part) for part in reduced[1] if part is not type(thing))]


def describe_unpicklable(thing: Any) -> str:
    """What a thing that does not pickle is.

    >>> describe_unpicklable(lambda: 0), describe_unpicklable(object()), describe_unpicklable(None for _ in ())
    ('a lambda', 'a builtins.object', 'a generator')
    """
    kind = type(thing)
    name = getattr(thing, "__qualname__", "")
    if isinstance(thing, types.FunctionType):
        return "a lambda" if thing.__name__ == "<lambda>" else f"the nested function {thing.__name__}"
    if isinstance(thing, type):
        return f"the local class {thing.__name__}" if "<locals>" in name else f"the class {name}"
    if isinstance(thing, io.IOBase):
        return "an open file"
    if kind.__module__ == "_thread":
        return "a lock"
    if kind in _NAMED:
        return _NAMED[kind]
    if "<locals>" in kind.__qualname__:
        return f"an object of the local class {kind.__name__}"
    return f"a {kind.__module__}.{kind.__qualname__}"
