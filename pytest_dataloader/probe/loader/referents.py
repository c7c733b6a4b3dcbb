"""What an object refers to, by name: attributes, keys, positions, columns, closures and the globals of user code."""

from __future__ import annotations

import functools
import itertools
import re
import sys
import types
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator, Sequence

FEW = 32
"""Up to this many elements a container is looked at whole and its elements are named; above, sampled as ``[*]``."""
_OPAQUE = (
    type,
    types.ModuleType,
    types.CodeType,
    types.FrameType,
    types.BuiltinFunctionType,
    types.GetSetDescriptorType,
)
_FOREIGN = frozenset(
    {"torch", "numpy", "pandas", "pyarrow", "PIL", "cv2", "torchvision", "pytest", "pytest_dataloader"}
)
_FOREIGN_INSTALLED = frozenset(
    {
        "accelerate", "boto3", "botocore", "datasets", "dill", "fsspec", "httpx", "huggingface_hub", "lightning",
        "lightning_fabric", "lightning_utilities", "multiprocess", "pytorch_lightning", "requests", "streaming",
        "tokenizers", "torchdata", "torchmetrics", "tqdm", "transformers", "webdataset", "yaml",
    }
)  # fmt: skip
"""Libraries whose code, module globals and classes are not looked into, the second lot where they are installed: many a
project has a ``datasets`` of its own. An IterableDataset of the library leads to 3,000 functions: 0.14 s a walk."""
_PACKAGES = re.compile(r"[/\\](?:site|dist)-packages[/\\]")

_PLAIN = frozenset({list, tuple, dict, set, frozenset, deque})
SCALED = 1 << 20
"""Added to the rank of a position that is the read position scaled to the container's own length."""

_OBJECT_DTYPES = frozenset({"object", "string", "str"})
"""Types of pandas that may keep Python objects; strings kept by pyarrow have the same name and no object array."""

CacheFunction = type(functools.lru_cache(lambda: None))


def is_object_array(thing: Any) -> bool:
    """Whether a thing is a numpy array of Python objects."""
    return type(thing).__module__ == "numpy" and type(thing).__name__ == "ndarray" and thing.dtype == object


class Referent(NamedTuple):
    """One thing referred to: how a user would write the step, and how many like it this one stands for."""

    step: str
    thing: Any
    weight: float = 1.0
    rank: int = -1


def is_opaque(thing: object) -> bool:
    """Whether a thing is part of the program rather than of its data."""
    return isinstance(thing, _OPAQUE)


def is_foreign(name: str | None) -> bool:
    """Whether a module belongs to Python or to a library that keeps no samples of the user's."""
    root = (name or "").split(".", 1)[0]
    if not root or root in _FOREIGN or (root in _FOREIGN_INSTALLED and _is_installed(root)):
        return True
    return root in sys.stdlib_module_names and root != "__main__"


def _is_installed(root: str) -> bool:
    module = sys.modules.get(root)
    return module is None or _lies_in_packages(module)


def _lies_in_packages(module: types.ModuleType) -> bool:
    return _PACKAGES.search(getattr(module, "__file__", None) or "") is not None


@dataclass(slots=True)
class Reach:
    """How far to look into containers: the dataset's positions in the order read (of ``universe``), and how many.

    ``scattered``: what follows in the order of samples does not follow in this dataset's own.
    """

    positions: Sequence[int | None]
    universe: int
    most: int
    dice: random.Random
    scattered: bool = False
    names: dict[type, list[tuple[str, ...]]] = field(default_factory=dict)

    def names_of(self, thing: Any) -> Iterable[str]:
        """Attribute names of an instance, learnt from the first few of its type.

        Asking each instance for its ``__dict__`` would make CPython build one for it.
        """
        known = self.names.setdefault(type(thing), [])
        if len(known) < 4:
            known.append(tuple(attribute_names(thing)))
        return dict.fromkeys(itertools.chain.from_iterable(known))


def referents(thing: Any, reach: Reach) -> Iterator[Referent]:
    """Everything that ``thing`` refers to, large containers by a sample."""
    kind = type(thing)
    if isinstance(thing, dict):
        yield from _of_mapping(thing, reach)
    elif isinstance(thing, list | tuple):
        yield from _of_sequence(thing, reach, getattr(kind, "_fields", ()))
    elif isinstance(thing, deque | set | frozenset):
        yield from _of_unordered(thing, reach)
    elif isinstance(thing, types.FunctionType):
        yield from _of_function(thing)
    elif isinstance(thing, types.MethodType):
        yield Referent(".__self__", thing.__self__)
        yield Referent("", thing.__func__)
    elif isinstance(thing, functools.partial):
        yield from (Referent(f".{name}", getattr(thing, name)) for name in ("func", "args", "keywords"))
    elif isinstance(thing, CacheFunction):
        yield Referent("", thing.__wrapped__)
    elif kind.__module__.split(".", 1)[0] in ("numpy", "pandas"):
        yield from _of_array(thing, reach)
    if kind not in _PLAIN and kind.__module__.split(".", 1)[0] not in ("numpy", "pandas", "pyarrow"):
        yield from _of_instance(thing, reach)


def _of_instance(thing: Any, reach: Reach) -> Iterator[Referent]:
    for name in reach.names_of(thing):
        try:
            yield Referent(f".{name}", object.__getattribute__(thing, name))
        except AttributeError:
            continue


def attribute_names(thing: Any) -> Iterable[str]:
    """Names of an instance's own attributes and slots."""
    kind = type(thing)
    own: Any = ()
    if kind.__dictoffset__:
        try:
            own = object.__getattribute__(thing, "__dict__")
        except AttributeError:
            own = ()
    slots: list[str] = []
    for base in kind.__mro__:
        declared = base.__dict__.get("__slots__", ())
        for name in (declared,) if isinstance(declared, str) else declared:
            hidden = name.startswith("__") and not name.endswith("__")
            slots.append(f"_{base.__name__.lstrip('_')}{name}" if hidden else name)
    return [name for name in (*own, *slots) if isinstance(name, str) and name not in ("__dict__", "__weakref__")]


def _of_mapping(thing: dict[Any, Any], reach: Reach) -> Iterator[Referent]:
    if len(thing) <= FEW:
        for key, value in list(thing.items()):
            named = isinstance(key, str | int)
            yield Referent(f"[{key!r}]" if named else "[*]", value)
            if not named:
                yield Referent(".keys()", key)
        return
    keyed = [(rank, thing[key]) for rank, key in enumerate(reach.positions) if key is not None and key in thing]
    keyed = keyed[: reach.most]
    many = len(keyed) >= min(reach.most, len(thing)) // 2
    if many:
        yield from (Referent("[*]", value, len(thing) / len(keyed), rank) for rank, value in keyed)
    for share, key in _spread(thing, reach):
        yield Referent(".keys()", key, share)
        if not many:
            yield Referent("[*]", thing[key], share)


def _spread(thing: Any, reach: Reach) -> Iterator[tuple[float, Any]]:
    """A sample without replacement from something that can only be walked, in one pass; each with its weight."""
    wanted = min(len(thing), reach.most)
    chosen = sorted(reach.dice.sample(range(len(thing)), wanted))
    walk = iter(thing)
    at = 0
    for position in chosen:
        for item in itertools.islice(walk, position - at, position - at + 1):
            yield len(thing) / wanted, item
        at = position + 1


def _of_sequence(thing: Sequence[Any], reach: Reach, fields: Sequence[str]) -> Iterator[Referent]:
    if len(thing) <= FEW:
        for at, item in enumerate(thing):
            yield Referent(f".{fields[at]}" if at < len(fields) else f"[{at}]", item)
        return
    for at, weight, rank in chosen_positions(len(thing), reach):
        yield Referent("[*]", thing[at], weight, rank)


def chosen_positions(length: int, reach: Reach) -> list[tuple[int, float, int]]:
    """Positions to look at in a sequence, none twice: (position, weight, rank in the order read or -1).

    Three quarters are those that reading visits: as they are, and, in a container of another length than the
    dataset (frames of videos, windows of series), half of them scaled to its length. The rest is drawn at random.
    """
    wanted = min(length, reach.most)
    aligned = wanted * 3 // 4
    ranked: dict[int, int] = {}
    scaled = 0 if length == reach.universe or reach.universe < 2 else aligned // 2
    for rank, position in enumerate(reach.positions):
        if len(ranked) >= aligned - scaled:
            break
        if position is not None and 0 <= position < length:
            ranked.setdefault(position, rank)
    for rank, position in enumerate(reach.positions[:scaled]):
        if position is not None and 0 <= position < reach.universe:
            ranked.setdefault(position * length // reach.universe, rank + SCALED)
    for position in reach.dice.sample(range(length), wanted):
        if len(ranked) >= wanted:
            break
        ranked.setdefault(position, -1)
    return [(position, length / len(ranked), rank) for position, rank in ranked.items()]


def _of_unordered(thing: Any, reach: Reach) -> Iterator[Referent]:
    if isinstance(thing, deque) and len(thing) > FEW:
        for at, weight, rank in sorted(chosen_positions(len(thing), reach)):
            yield Referent("[*]", thing[at], weight, rank)
        return
    yield from (Referent("[*]", item, share) for share, item in _spread(thing, reach))


def _of_array(thing: Any, reach: Reach) -> Iterator[Referent]:
    kind = type(thing).__name__
    if kind == "DataFrame":
        if thing.columns.is_unique:
            names = [name for name, dtype in thing.dtypes.items() if str(dtype) in _OBJECT_DTYPES]
            yield from (Referent(f"[{name!r}]", thing[name]) for name in names)
        yield Referent(".index", thing.index)
        return
    values = thing
    if kind != "ndarray":
        if str(getattr(thing, "dtype", "")) not in _OBJECT_DTYPES:
            return
        array = getattr(thing, "array", thing)
        values = getattr(array, "_ndarray", None)
        if getattr(thing, "index", None) is not None and not callable(thing.index):
            yield Referent(".index", thing.index)
    if values is None or str(getattr(values, "dtype", "")) != "object":
        return
    if values.ndim == 1:
        for at, weight, rank in chosen_positions(len(values), reach):
            yield Referent("[*]", values[at], weight, rank)
    elif values.ndim == 0:
        yield Referent("[()]", values[()])
    else:
        width = values.size // max(1, len(values))
        for at, weight, rank in chosen_positions(len(values), reach):
            yield Referent("[*]", values[at].flat[reach.dice.randrange(width)], weight * width, rank)


def _of_function(thing: types.FunctionType) -> Iterator[Referent]:
    for name, cell in zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True):
        try:
            yield Referent(f".closure[{name!r}]", cell.cell_contents)
        except ValueError:  # not assigned yet
            continue
    yield from (Referent(f".__defaults__[{at}]", value) for at, value in enumerate(thing.__defaults__ or ()))


def user_globals(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Module-level values that a function of user code names, of its own module and of modules of the same project that
    it names: (``module.NAME``, value).
    """
    if is_foreign(function.__module__):
        return
    names: set[str] = set()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes.extend(constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    for name in sorted(names & function.__globals__.keys()):
        value = function.__globals__[name]
        if not isinstance(value, types.ModuleType):
            yield f"{function.__module__}.{name}", value
        elif not is_foreign(value.__name__) and not _lies_in_packages(value):
            held = [(f"{value.__name__}.{other}", vars(value)[other]) for other in sorted(names & vars(value).keys())]
            yield from (pair for pair in held if not isinstance(pair[1], types.ModuleType))


def class_members(kind: type) -> Iterator[tuple[str, Any]]:
    """What the user's own classes behind an instance hold: (name, value) of data and functions alike."""
    for base in kind.__mro__:
        if is_foreign(base.__module__):
            continue
        for name, value in list(vars(base).items()):
            if isinstance(value, staticmethod | classmethod):
                yield name, value.__func__
            elif isinstance(value, property):
                yield name, value.fget
            elif not name.startswith("__") or isinstance(value, types.FunctionType | CacheFunction):
                yield name, value
