"""Loaders as users name them: importing MODULE:ATTR, telling what is a DataLoader, saying what one is."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import inspect
import os
import re
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import BadTarget, DataLoaderCheckError
from pytest_dataloader.probe.loader.recognition import is_dataloader, loader_inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType, TracebackType

REFERENCE = re.compile(r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<attribute>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")
"""``MODULE:ATTR``, both dotted."""

_OURS = Path(__file__).parent


def what_instead(value: object) -> str:
    """Say what a value is that is no DataLoader, and how to get one from it."""
    data = sys.modules.get("torch.utils.data")
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    if data is not None and isinstance(value, data.Dataset):
        return f"{name}, which is a Dataset: wrap it in a DataLoader"
    if callable(getattr(value, "train_dataloader", None)):
        return f"{name}: name the DataLoader that its train_dataloader() returns"
    inside = next((key for key, held in getattr(value, "__dict__", {}).items() if is_dataloader(held)), None)
    if inside is not None:
        return f"{name}, which holds a DataLoader: name that one, its attribute {inside}"
    return name


def describe(loader: Any) -> str:
    """Name a loader in a line: its class, its dataset's class and the settings that shape its speed."""
    try:
        return f"{type(loader).__name__}({', '.join(_settings(loader))})"
    except Exception:  # a subclass may compute its settings, and a report is no place to fail
        return type(loader).__name__


def _settings(loader: Any) -> Iterator[str]:
    yield type(loader.dataset).__name__
    yield f"batch_size={loader.batch_size}"
    yield f"num_workers={loader.num_workers}"
    for name in ("persistent_workers", "pin_memory"):
        if getattr(loader, name, False):
            yield f"{name}=True"
    if loader.num_workers and getattr(loader, "prefetch_factor", None) not in (None, 2):
        yield f"prefetch_factor={loader.prefetch_factor}"
    context = getattr(loader, "multiprocessing_context", None)
    if context is not None:
        yield f"start_method={context.get_start_method()}"


@contextlib.contextmanager
def importable(roots: Sequence[Path]) -> Iterator[None]:
    """Put folders in front of sys.path, as pytest's ``pythonpath`` does, for as long as the block lasts.

    Workers that are spawned take sys.path from here, so the block must last while a loader is used.
    """
    added = [str(root) for root in roots if str(root) not in sys.path]
    sys.path[:0] = added
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for path in added:
            with contextlib.suppress(ValueError):
                sys.path.remove(path)


def build(reference: str, roots: Sequence[Path]) -> Any:
    """Import MODULE:ATTR and return the DataLoader that it is or that it returns when called.

    Raises BadTarget that says what went wrong, with the user's own frames where their code raised.
    """
    value, seen = _resolve(reference, roots)
    value = loader_inside(value)
    if is_dataloader(value):
        return value
    if not callable(value):
        raise BadTarget(f"expected a torch.utils.data.DataLoader or a callable, {seen} is {what_instead(value)}")
    return call(value, seen)


def function_of(reference: str, roots: Sequence[Path]) -> Any:
    """The callable that MODULE:ATTR is; None where it is the loader itself."""
    value, _ = _resolve(reference, roots)
    return None if is_dataloader(loader_inside(value)) else value


def _resolve(reference: str, roots: Sequence[Path]) -> tuple[Any, str]:
    """What MODULE:ATTR is, and its name in messages."""
    match = REFERENCE.fullmatch(reference)
    if match is None:
        raise BadTarget(f"expected MODULE:ATTR, such as proj.data:make_train_loader, got {reference!r}")
    value: Any = _import(match["module"], roots)
    seen = match["module"]
    for name in match["attribute"].split("."):
        value, seen = _attribute(value, name, seen), f"{seen}.{name}"
    return value, seen


def _import(name: str, roots: Sequence[Path]) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and (name == missing or name.startswith(f"{missing}.")):
            raise BadTarget(_missing(missing, roots)) from None
        raise BadTarget(f"importing {name} raised {explain(error)}") from None


def _missing(name: str, roots: Sequence[Path]) -> str:
    parent, _, leaf = name.rpartition(".")
    if parent in sys.modules:
        return f"{parent} ({getattr(sys.modules[parent], '__file__', None) or 'a namespace'}) has no module {leaf!r}"
    places = " and ".join(str(root) for root in roots)
    return (
        f"there is no module {name!r}: it was looked for in {places}, then on sys.path; "
        "install the project, or add its folder to pytest's pythonpath setting"
    )


def _attribute(value: object, name: str, seen: str) -> Any:
    try:
        return getattr(value, name)
    except AttributeError:
        close = difflib.get_close_matches(name, dir(value), 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise BadTarget(f"{seen} has no attribute {name!r}{hint}") from None


def call(function: Any, seen: str) -> Any:
    """Call what makes a loader; one that takes a rank is told its own in a job, else that it is alone.

    Raises BadTarget.
    """
    from pytest_dataloader.distributed.job import place_in
    from pytest_dataloader.probe.samples.rank_simulation import rank_arguments

    place = place_in(os.environ)
    told = rank_arguments(function, *((0, 1) if place is None else (place.rank, place.world_size))) or {}
    try:
        inspect.signature(function).bind(**told)
    except TypeError as error:
        raise BadTarget(
            f"{seen} cannot be called without arguments ({error}); name a callable that needs none"
        ) from None
    except ValueError:  # a builtin without a signature: the call will tell
        pass
    try:
        loader = loader_inside(function(**told))
    except (Exception, SystemExit) as error:
        raise BadTarget(f"{seen}() raised {explain(error)}") from None
    if not is_dataloader(loader):
        raise BadTarget(f"expected a torch.utils.data.DataLoader, {seen}() returned {what_instead(loader)}")
    return loader


def explain(error: BaseException) -> str:
    """Name an exception of the user's code with the frames that are theirs.

    Frames of this package and of torch are left out, unless the error comes out of this package itself: then it is
    a fault here, and all frames are needed to mend it.
    """
    text = "".join(traceback.format_exception_only(error)).rstrip()
    if isinstance(error, DataLoaderCheckError):
        return text.partition(": ")[2]
    frames = traceback.extract_tb(error.__traceback__)
    if not (frames and _is_inside(frames[-1].filename, _OURS)):
        hidden = [_OURS, *_machinery()]
        frames = traceback.StackSummary.from_list(
            [frame for frame in frames if not any(_is_inside(frame.filename, folder) for folder in hidden)]
        )
    return "\n".join([text, *"".join(frames.format()).rstrip().splitlines()])


def without_our_frames(error: BaseException) -> TracebackType | None:
    """The traceback of an exception from its first frame outside this package; all of it where there is none."""
    frame = error.__traceback__
    while frame is not None and _is_inside(frame.tb_frame.f_code.co_filename, _OURS):
        frame = frame.tb_next
    return frame or error.__traceback__


def _machinery() -> list[Path]:
    """Folders whose frames say nothing about the user's mistake."""
    modules = (importlib, sys.modules.get("torch"))
    return [Path(module.__file__).parent for module in modules if module is not None and module.__file__]


def _is_inside(filename: str, folder: Path) -> bool:
    return filename.startswith(("<frozen importlib", f"{folder}{os.sep}"))
