"""Who keeps batches alive in this process: the name that leads to them, and the line that puts them there."""

from __future__ import annotations

import gc
import sys
import types
from bisect import bisect_right
from collections import Counter, deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_dataloader.probe.host.descriptors import DELETED, SHARED_MEMORY
from pytest_dataloader.probe.internals.source_places import SourceLines, additions, lines_of, places_of
from pytest_dataloader.probe.loader.referents import attribute_names, is_foreign

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_STEPS = 8
"""From a tensor up through a list, a dict, an object's attributes to a module. A step asks every container of the
process what it refers to: 20 to 100 ms."""
_FOLLOWED = 64
_ELEMENTS = 100_000
_OURS = str(Path(__file__).parents[2])
_RUNNERS = ("_pytest", "pluggy")
"""What runs a test holds the loader under test, as nothing of the user's does."""


@dataclass(frozen=True, slots=True)
class Referrer:
    """A name, such as ``loader.kept[*]``, the line that adds to it, and how many storages or open files it keeps."""

    name: str
    line: str
    storages: int

    def __str__(self) -> str:
        return f"{self.name} ({self.line})" if self.line else self.name


class _Name(NamedTuple):
    """A name that needs no other, the attribute or variable in it that is added to, and where code may do so."""

    text: str
    variable: str = ""
    places: tuple[SourceLines, ...] = ()


class _Kept:
    """An object on the way from storages up to a name: the path from it down to them."""

    __slots__ = ("path", "storages", "thing")

    def __init__(self, thing: Any, path: str, storages: set[int]) -> None:
        self.thing, self.path, self.storages = thing, path, storages


def referrers(known: Mapping[str, Any], *, things: Iterable[tuple[int, Any]] | None = None) -> tuple[Referrer, ...]:
    """Names that lead to batches in torch's shared memory, or to other ``things`` (a number and an object each),
    those that keep most first.

    ``known`` are objects by the names that a user gives them, such as the loader. To be called where something was
    found to be kept: it takes 0.1 to 1 s.
    """
    roots = {id(thing): _Name(name, places=_places_of(type(thing))) for name, thing in known.items()}
    layer = [_Kept(thing, "", {address}) for address, thing in (kept_storages() if things is None else things)]
    found: Counter[_Name] = Counter()
    for _ in range(_STEPS):
        above = []
        frames = list(_running())
        for kept in layer:
            name = _name(kept, roots, frames)
            if name is None:
                above.append(kept)
            else:
                found[name] += len(kept.storages)
        del frames
        if not above:
            break
        layer = _referrers(above)
    return tuple(Referrer(name.text, _line(name), count) for name, count in found.most_common(3))


def kept_storages() -> Iterator[tuple[int, Any]]:
    """Tensors and numpy arrays that lie in segments of torch's mapped here, each with where its segment begins."""
    ranges = sorted((start, end) for start, end, _ in mapped_ranges())
    starts = [start for start, _ in ranges]

    def segment(address: int) -> int:
        at = bisect_right(starts, address) - 1
        return starts[at] if at >= 0 and address < ranges[at][1] else 0

    torch: Any = sys.modules.get("torch")
    for thing in gc.get_objects() if torch is not None and ranges else ():
        if issubclass(type(thing), torch.Tensor):
            try:
                address = segment(thing.untyped_storage().data_ptr())
            except (NotImplementedError, RuntimeError):  # kinds of tensors that have no storage
                continue
            if address:
                yield address, thing
        elif type(thing) in (list, tuple, dict, deque) and len(thing) <= _ELEMENTS:
            # Arrays of numbers are unknown to the collector; what holds them is not.
            for value in list(thing.values() if type(thing) is dict else thing):
                if type(value).__name__ == "ndarray" and (address := segment(_address(value))):
                    yield address, value


def _address(array: Any) -> int:
    interface = getattr(array, "__array_interface__", None)
    return int(interface["data"][0]) if interface else 0


def mapped_ranges() -> Iterator[tuple[int, int, str]]:
    """Where segments of torch's are mapped in this process: first address, address after the last, path."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        if f"{SHARED_MEMORY}torch_" in line:
            addresses, *_, path = line.split(maxsplit=5)
            start, _, end = addresses.partition("-")
            yield int(start, 16), int(end, 16), path.removesuffix(DELETED)


def _referrers(layer: list[_Kept]) -> list[_Kept]:
    """What refers to the things of a layer: those that keep most, all of one holder's taken together."""
    by_id = {id(kept.thing): kept for kept in layer}
    things = [kept.thing for kept in layer]
    above = []
    for holder in gc.get_referrers(*things):
        if holder is things or isinstance(holder, _Kept | types.FrameType) or _is_ours(holder):
            continue
        paths: Counter[str] = Counter()
        storages: set[int] = set()
        for step, child in _children(holder):
            kept = by_id.get(id(child))
            if kept is not None:
                paths[_joined(step, kept.path)] += len(kept.storages)
                storages |= kept.storages
        if storages:
            above.append(_Kept(holder, paths.most_common(1)[0][0], storages))
    return sorted(above, key=lambda kept: -len(kept.storages))[:_FOLLOWED]


def _is_ours(holder: Any) -> bool:
    return isinstance(holder, types.FunctionType) and holder.__code__.co_filename.startswith(_OURS)


def _joined(step: str, path: str) -> str:
    """A step in front of a path. What a dict of attributes calls a key is an attribute of its object."""
    if step != "__dict__":
        return step + path
    key, _, rest = path.removeprefix("['").partition("']")
    return f".{key}{rest}" if path.startswith("['") else path


def _children(holder: Any) -> Iterator[tuple[str, Any]]:
    """What an object refers to, each with how a user would write the step."""
    if isinstance(holder, dict):
        for key, value in list(holder.items()):
            yield f"[{key!r}]" if isinstance(key, str) and key.isidentifier() else "[*]", value
    elif isinstance(holder, tuple) and all(isinstance(each, types.CellType) for each in holder):
        yield from ((f"[{at}]", cell) for at, cell in enumerate(holder))
    elif isinstance(holder, list | tuple | set | frozenset | deque):
        yield from (("[*]", value) for value in list(holder))
    elif isinstance(holder, types.CellType):
        yield "", holder.cell_contents
    elif isinstance(holder, types.FunctionType):
        yield ".closure", holder.__closure__
        yield ".__defaults__", holder.__defaults__
        yield ".__kwdefaults__", holder.__kwdefaults__
    elif isinstance(holder, types.MethodType):
        yield "", holder.__self__
    elif isinstance(holder, types.GeneratorType):
        yield from (
            (f".{name}", value) for name, value in (holder.gi_frame.f_locals if holder.gi_frame else {}).items()
        )
    elif isinstance(holder, type):
        yield from (("__dict__", each) for each in gc.get_referents(holder) if type(each) is dict)
    else:
        yield "__dict__", getattr(holder, "__dict__", None)
        for name in attribute_names(holder):
            yield f".{name}", getattr(holder, name, None)


def _name(kept: _Kept, roots: Mapping[int, _Name], frames: Iterable[types.FrameType]) -> _Name | None:
    """The name of a thing that needs no other to be found: a loader, a module's global, a class, a local variable."""
    thing, path = kept.thing, kept.path
    variable = path.lstrip(".[']").partition("[")[0].partition("'")[0].rpartition(".")[2]
    root = roots.get(id(thing))
    if root is not None:
        return root._replace(text=root.text + path, variable=variable)
    if isinstance(thing, dict) and isinstance(name := thing.get("__name__"), str):
        module = sys.modules.get(name)
        if module is not None and vars(module) is thing:
            return _Name(
                name + _joined("__dict__", path), variable, (SourceLines(getattr(module, "__file__", None) or ""),)
            )
    if isinstance(thing, type):
        return _Name(f"{thing.__module__}.{thing.__qualname__}{path}", variable, _places_of(thing))
    if isinstance(thing, types.FunctionType):
        code = thing.__code__
        if path.startswith(".closure["):
            number, _, rest = path.removeprefix(".closure[").partition("]")
            variable = code.co_freevars[int(number)]
            path = f".closure[{variable!r}]{rest}"
        return _Name(f"{thing.__qualname__}{path}", variable, (lines_of(code),))
    for frame in frames:
        code = frame.f_code
        for name, value in frame.f_locals.items() if code.co_name != "<module>" else ():
            if value is thing:
                variable = variable if path.startswith(".") else name
                return _Name(f"{name}{path} in {code.co_qualname}", variable, (lines_of(code),))
    return None


def _running() -> Iterator[types.FrameType]:
    """Frames of the user's: their variables are no references that the collector knows."""
    runners = [getattr(sys.modules.get(name), "__file__", None) for name in _RUNNERS]
    others = (_OURS, *(str(Path(file).parent) for file in runners if file))
    for frame in list(sys._current_frames().values()):
        here: types.FrameType | None = frame
        while here is not None:
            if not here.f_code.co_filename.startswith(others):
                yield here
            here = here.f_back
    del frame  # this generator's own among them: a cycle, which keeps what the frames above it hold


def _places_of(kind: type) -> tuple[SourceLines, ...]:
    """Where the user's classes behind an object are written."""
    return places_of(base for base in kind.__mro__ if not is_foreign(base.__module__))


def _line(name: _Name) -> str:
    """The one line that puts something into what is named, ``train.py:12``; empty where none or several do."""
    found = {f"{Path(place.file).name}:{line}" for place in name.places for line in additions(place, name.variable)}
    return found.pop() if len(found) == 1 else ""
