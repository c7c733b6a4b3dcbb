"""Loaders as users name them: importing MODULE:ATTR, telling what is a DataLoader, saying what one is."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import os
import pkgutil
import re
import sys
import traceback
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_dataloader.errors import BadTarget, DataLoaderCheckError
from pytest_dataloader.printable import did_you_mean
from pytest_dataloader.probe.host import interruption
from pytest_dataloader.probe.internals import worker_errors
from pytest_dataloader.probe.loader.recognition import is_dataloader, loader_inside
from pytest_dataloader.probe.loader.stream import Stream, stream_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

REFERENCE = re.compile(r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<attribute>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")
"""``MODULE:ATTR``, both dotted."""

_OURS = Path(__file__).parent
_STANDING_IN = ("probe/internals/envelopes.py", "probe/samples/tracing.py")
"""What calls the user's dataset and collate_fn: where these are written in C, what they raise comes out there."""
_REMOTE = re.compile(r'\n  File "([^"]+)", line (\d+)')
_OWN_FRAME = re.compile(rf'  File "{re.escape(str(_OURS))}[^"]*", line \d+, in .*\n(?:    .*\n)*')
"""In the traceback of a worker, which torch hands over as text."""


def what_instead(value: object) -> str:
    """Say what a value is that is no DataLoader, and how to get one from it."""
    data = sys.modules.get("torch.utils.data")
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    if data is not None and isinstance(value, data.Dataset):
        return f"{name}, which is a Dataset: wrap it in a DataLoader"
    if isinstance(value, list | tuple):
        return f"{name}, whose items are no batches"
    if callable(getattr(value, "train_dataloader", None)):
        return f"{name}: name its loader, ATTR.train_dataloader"
    inside = next((key for key, held in getattr(value, "__dict__", {}).items() if is_dataloader(held)), None)
    if inside is not None:
        return f"{name}, which holds a DataLoader: name that one, its attribute {inside}"
    return name


def describe(loader: Any) -> str:
    """Name a loader in a line: its class, its dataset's class and the settings that shape its speed."""
    if isinstance(loader, Stream):
        inner = f", around {describe(loader.inner)}" if loader.inner is not None else ", which is no DataLoader"
        return f"{loader.name}{inner}"
    try:
        return f"{type(loader).__name__}({', '.join(_settings(loader))})"
    except Exception:  # a subclass may compute its settings, and a report is no place to fail
        return type(loader).__name__


def _settings(loader: Any) -> Iterator[str]:
    yield type(loader.dataset).__name__
    batches = getattr(loader, "batch_sampler", None)
    own = loader.batch_size is None and batches is not None
    yield f"batch_sampler={type(batches).__name__}" if own else f"batch_size={loader.batch_size}"
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


@contextlib.contextmanager
def arguments_of(reference: str, arguments: Sequence[str], roots: Sequence[Path]) -> Iterator[None]:
    """Let the user's code find its own ``sys.argv`` for as long as the block lasts: the file of MODULE:ATTR, then
    ``arguments``.
    """
    module, _, _ = reference.partition(":")
    *folders, name = module.split(".")
    places = (root.joinpath(*folders, file) for root in roots for file in (f"{name}.py", f"{name}/__init__.py"))
    program = module if module.endswith(".py") else str(next(filter(Path.is_file, places), module))
    kept, sys.argv = sys.argv, [program, *arguments]
    try:
        yield
    finally:
        sys.argv = kept


class Built(NamedTuple):
    """A loader, and the callable that made it; None where it was there."""

    loader: Any
    function: Any


def build(reference: str, roots: Sequence[Path]) -> Built:
    """Import MODULE:ATTR and return the DataLoader, or the stream, that it is or that it returns when called.

    Raises BadTarget that says what went wrong, with the user's own frames where their code raised.
    """
    value, seen = _resolve(reference, roots)
    found = measurable(value)
    if found is not None:
        return Built(found, None)
    if not callable(value):
        raise BadTarget(f"expected a torch.utils.data.DataLoader or a callable, {seen} is {what_instead(value)}")
    return Built(call(value, seen), value)


def _resolve(reference: str, roots: Sequence[Path]) -> tuple[Any, str]:
    """What MODULE:ATTR is, and its name in messages."""
    reference = _of_file(reference, roots)
    match = REFERENCE.fullmatch(reference)
    if match is None:
        module, _, attribute = reference.rpartition(".")
        hint = f"; did you mean {module}:{attribute}?" if REFERENCE.fullmatch(f"{module}:{attribute}") else ""
        raise BadTarget(f"expected MODULE:ATTR, such as proj.data:make_train_loader, got {reference!r}{hint}")
    value: Any = _import(match["module"], roots)
    seen = match["module"]
    for name in match["attribute"].split("."):
        holder, value, seen = value, _attribute(value, name, seen), f"{seen}.{name}"
        if name.endswith("_dataloader") and callable(getattr(holder, "setup", None)):
            value = functools.partial(_of_data_module, holder, name)
    return value, seen


def _of_file(reference: str, roots: Sequence[Path]) -> str:
    """FILE.py:ATTR as MODULE:ATTR; anything else as it is. The folder of a file outside of ``roots`` joins sys.path."""
    name, colon, attribute = reference.rpartition(":")
    if not colon or not name.endswith(".py"):
        return reference
    path = Path(name).absolute()
    if not path.is_file():
        near = did_you_mean(path.name, (other.name for other in path.parent.glob("*.py")))
        raise BadTarget(f"there is no file {name}{near}")
    inside = [root for root in roots if path.is_relative_to(root)]
    home = max(inside, key=lambda root: len(root.parts), default=path.parent)
    module = ".".join(path.relative_to(home).with_suffix("").parts)
    if not REFERENCE.fullmatch(f"{module}:x"):  # a folder with a name that no package can have
        home, module = path.parent, path.stem
    if str(home) not in sys.path:
        sys.path.insert(0, str(home))
    return f"{module}:{attribute}"


def _of_data_module(module: Any, name: str) -> Any:
    """The loader of a data module of Lightning's, or of its class, prepared as its trainer prepares it."""
    made = module() if isinstance(module, type) else module
    if callable(getattr(made, "prepare_data", None)):
        made.prepare_data()
    made.setup(_STAGES.get(name.removesuffix("_dataloader"), "fit"))
    return getattr(made, name)()


_STAGES = {"test": "test", "predict": "predict", "val": "validate"}


def measurable(value: Any) -> Any:
    """The DataLoader that a value is or that feeds it, or the stream that it is; None for anything else."""
    found = loader_inside(value)
    if is_dataloader(found):
        return found
    return stream_of(found, type(found).__name__)


def _import(name: str, roots: Sequence[Path]) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        interruption.raise_received(wait=True)
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and (name == missing or name.startswith(f"{missing}.")):
            raise BadTarget(_missing(missing, roots)) from None
        raise BadTarget(f"importing {name} raised {explain(error)}") from None


def _missing(name: str, roots: Sequence[Path]) -> str:
    parent, _, leaf = name.rpartition(".")
    if parent in sys.modules:
        package = sys.modules[parent]
        folders = list(getattr(package, "__path__", ()))
        place = getattr(package, "__file__", None) or " and ".join(folders)
        hint = did_you_mean(leaf, (module.name for module in pkgutil.iter_modules(folders)))
        return f"{parent} ({place}) has no module {leaf!r}{hint}"
    places = " and ".join(str(root) for root in roots)
    return (
        f"there is no module {name!r}: it was looked for in {places}, then on sys.path; "
        "install the project, or put its folder on PYTHONPATH"
    )


def _attribute(value: object, name: str, seen: str) -> Any:
    try:
        return getattr(value, name)
    except AttributeError:
        raise BadTarget(f"{seen} has no attribute {name!r}{did_you_mean(name, dir(value))}") from None


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
        made = function(**told)
    except (Exception, SystemExit) as error:
        interruption.raise_received(wait=True)
        raise BadTarget(f"{seen}() raised {explain(error)}") from None
    loader = measurable(made)
    if loader is None:
        raise BadTarget(f"expected a torch.utils.data.DataLoader, {seen}() returned {what_instead(made)}")
    if isinstance(loader, Stream) and loader.once:  # a generator function gives a new one for each epoch
        return Stream(lambda: iter(function(**told)), seen.rpartition(".")[2], made)
    return loader


def explain(error: BaseException) -> str:
    """Name an exception of the user's code in a line, and below it the frames that are theirs, in a worker too."""
    if isinstance(error, DataLoaderCheckError):
        return str(error)
    carried = worker_errors.caught(error)
    if carried is not None:
        worker, text, frames = carried
        return "\n".join([f"{text} (in worker {worker})", *(f"  {frame}" for frame in frames)])
    theirs = _their_frames(error)
    if worker_errors.dead_workers(error) or (not theirs and isinstance(error, ConnectionError | EOFError)):
        return f"{_in_a_line(error)}; a worker ended before its time: the workers check tells at which sample"
    return "\n".join([*_told(error), *"".join(traceback.StackSummary.from_list(theirs).format()).rstrip().splitlines()])


def place_of_error(error: BaseException) -> str:
    """The innermost place of an exception outside this package and torch, ``data.py:31``; empty where there is none."""
    return next((f"{frame.filename}:{frame.lineno}" for frame in reversed(_their_frames(error))), "")


def _their_frames(error: BaseException) -> list[traceback.FrameSummary]:
    hidden = [_OURS, *_machinery()]
    found = traceback.extract_tb(error.__traceback__)
    return [frame for frame in found if not any(_is_inside(frame.filename, folder) for folder in hidden)]


def is_ours(error: BaseException) -> bool:
    """Whether an exception comes out of this package itself: a fault here, which says nothing of the loader."""
    return bool(_place_of(error))


def own_fault(error: BaseException) -> str:
    """An exception that comes out of this package, in a line, with the place that is to be fixed."""
    return f"a fault of pytest-dataloader, not of the loader: {_in_a_line(error)} ({_place_of(error)})"


def _place_of(error: BaseException) -> str:
    """The innermost place of an exception where that is in this package; empty where it is not."""
    remote = [place for text in map(str, error.args) if worker_errors.caught(error) for place in _REMOTE.findall(text)]
    frames = traceback.extract_tb(error.__traceback__)
    file, line = remote[-1] if remote else (frames[-1].filename, frames[-1].lineno) if frames else ("", 0)
    if not file.startswith(f"{_OURS}{os.sep}") or file.endswith(_STANDING_IN):
        return ""
    return f"{Path(file).relative_to(_OURS)}, line {line}"


def _in_a_line(error: BaseException) -> str:
    carried = worker_errors.caught(error)
    return carried[1] if carried else _told(error)[0]


def _told(error: BaseException) -> list[str]:
    """Type and message, then what belongs to it: for a SyntaxError the place in the file, which Python puts first."""
    lines = "".join(traceback.format_exception_only(error)).rstrip().splitlines()
    if isinstance(error, SyntaxError):
        lines.insert(0, lines.pop(next((at for at, line in enumerate(lines) if not line.startswith(" ")), -1)))
    return lines


def hide_our_frames(error: BaseException) -> None:
    """Leave only frames of others in an exception that is passed on, and in those that it followed, also in what they
    tell of a worker.
    """
    seen: set[int] = set()
    chain: list[BaseException | None] = [error]
    while chain:
        each = chain.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            _hide_our_frames(each)
            chain += [each.__cause__, each.__context__]


def _hide_our_frames(error: BaseException) -> None:
    kept, frame = [], error.__traceback__
    while frame is not None:
        if not frame.tb_frame.f_code.co_filename.startswith(f"{_OURS}{os.sep}"):
            kept.append(frame)
        frame = frame.tb_next
    trace = None
    for frame in reversed(kept):
        trace = types.TracebackType(trace, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    error.__traceback__ = trace or error.__traceback__
    if worker_errors.caught(error):
        error.args = tuple(
            type(text)(_OWN_FRAME.sub("", text)) if isinstance(text, str) else text for text in error.args
        )


def _machinery() -> list[Path]:
    """Folders whose frames say nothing about the user's mistake."""
    names = ("importlib", "multiprocessing", "torch", "_pytest", "pluggy")
    files = [getattr(sys.modules.get(name), "__file__", None) for name in names]
    return [Path(file).parent for file in files if file]


def _is_inside(filename: str, folder: Path) -> bool:
    return filename.startswith(("<frozen ", f"{folder}{os.sep}"))
