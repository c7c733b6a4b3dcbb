"""The loaders of this process as they are first iterated: which was made where, and a meter for each."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import itertools
import sys
import sysconfig
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.internals import requirements, source_places, torch_private
from pytest_dataloader.probe.training.meter import Meter

if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Sequence

_FRAMES = 5
"""Calls in the user's own code that are remembered of where a loader was made."""
_OURS = f"{Path(__file__).parents[2]}/"


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A line of a file that is running."""

    file: str
    line: int

    def __str__(self) -> str:
        path = Path(self.file)
        shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        return f"{shown}:{self.line}"


class LoaderInUse:
    """A loader that this process iterates, or several of one place that follow each other, and its meter."""

    def __init__(self, made_at: tuple[CodePlace, ...], iterated_at: CodePlace | None, meter: Meter) -> None:
        self.made_at = made_at
        """The innermost place first; empty where it was made before anybody looked."""
        self.iterated_at = iterated_at
        self.meter = meter
        self.copy: Any = None
        """A shallow copy of the last one, without its iterator: what checks may look at once the loader is gone."""
        self._last: weakref.ref[Any] | None = None

    @property
    def alive(self) -> Any:
        """The last one, while it is there."""
        return None if self._last is None else self._last()

    def take(self, loader: Any) -> None:
        """This loader is iterated now."""
        if self.alive is not loader:
            self.meter.loaders += self._last is not None
            self._last = weakref.ref(loader)
            self.copy = torch_private.without_iterations(loader)

    @property
    def called(self) -> tuple[str, CodePlace | None]:
        """What the user's code calls it, and where: the variable that it, or what made it, is assigned to."""
        for place in self.made_at:
            if name := source_places.assigned_name(place.file, place.line):
                return name, place
        return "loader", next(iter(self.made_at), self.iterated_at)


class Discovery:
    """Finds the loaders that are iterated while it is on, by the order of their first iteration.

    ``wanted`` says which loaders are met at all, ``found`` is told of each new one. Nothing of torch is imported: where
    it is not loaded yet, discovery begins as soon as it is.
    """

    def __init__(
        self,
        *,
        wanted: Callable[[Any], bool] = lambda _loader: True,
        found: Callable[[LoaderInUse], None] = lambda _found: None,
        keeps_copies: bool = False,
    ) -> None:
        self.loaders: list[LoaderInUse] = []
        self.unsupported = ""
        """Why nothing can be found under the torch that is there."""
        self._wanted, self._found, self._keeps_copies = wanted, found, keeps_copies
        self._meters: list[Meter] = []
        self._made: dict[int, tuple[weakref.ref[Any], tuple[CodePlace, ...]]] = {}
        self._end: Callable[[], None] = lambda: None
        self._libraries = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})

    def start(self) -> None:
        """From now on."""
        if torch_private.DATALOADER in sys.modules:
            self._watch()
        else:
            finder = _AfterImport(torch_private.DATALOADER, self._watch)
            sys.meta_path.insert(0, finder)
            self._end = finder.leave

    def stop(self) -> None:
        """Find no more; loaders that are iterated just now are counted on until their iterators end."""
        self._end()

    def _watch(self) -> None:
        self._end = torch_private.watch_loaders(self)

    def made(self, loader: Any) -> None:
        """A loader was made: where is noted."""
        number = id(loader)
        forget = weakref.ref(loader, lambda _gone: self._made.pop(number, None))
        self._made[number] = forget, self._places()

    def iterated(self, loader: Any, iterator: Any, took_ns: int) -> None:
        """An iterator of a loader was made."""
        if not self._wanted(loader) or self.unsupported:
            return
        parts: tuple[requirements.Part, ...] = ("torch_private", "torch_stamps")
        self.unsupported = next((found for part in parts for found in requirements.mismatches(part)), "")
        if not self.unsupported:
            torch_private.watch_iteration(iterator, took_ns, self._in_use(loader).meter)

    def _in_use(self, loader: Any) -> LoaderInUse:
        _, made_at = self._made.get(id(loader), (None, ()))
        known = next((each for each in self.loaders if each.alive is loader), None)
        if known is None and made_at:  # those before it at the same place, where they are gone
            same = (each for each in self.loaders if each.made_at == made_at and each.alive is None)
            known = next(same, None)
        if known is None:
            meter = Meter(loader, self._meters)
            known = LoaderInUse(made_at, next(iter(self._places()), None), meter)
            self._meters.append(meter)
            self.loaders.append(known)
            self._found(known)
        known.take(loader)
        if not self._keeps_copies:
            known.copy = None
        return known

    def _places(self) -> tuple[CodePlace, ...]:
        """Where the user's code is, the innermost call first; of a library where none of it is theirs."""
        frames: list[types.FrameType] = []
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None:
            if not frame.f_code.co_filename.startswith((_OURS, "<")):
                frames.append(frame)
            frame = frame.f_back
        own = [each for each in frames if not each.f_code.co_filename.startswith(self._libraries)]
        chosen = own or [each for each in frames if f"{Path('torch', 'utils', 'data')}" not in each.f_code.co_filename]
        return tuple(CodePlace(each.f_code.co_filename, each.f_lineno) for each in itertools.islice(chosen, _FRAMES))


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls a function as soon as a module has been executed, before whoever imports it goes on."""

    def __init__(self, module: str, then: Callable[[], None]) -> None:
        self._module, self._then = module, then

    def leave(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._module:
            return None
        self.leave()
        specs = (finder.find_spec(fullname, path, target) for finder in sys.meta_path)
        spec = next((found for found in specs if found is not None), None)
        loader: Any = None if spec is None else spec.loader
        if loader is not None:
            execute = loader.exec_module

            def execute_and_tell(module: types.ModuleType) -> None:
                execute(module)
                self._then()

            loader.exec_module = execute_and_tell
        return spec
