"""Files that are decoded whole while a sample is fetched, of which a slice is kept."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing, reaching
from dl_lint.flow.interpreter import classes
from dl_lint.flow.values import Made, alternatives
from dl_lint.pipeline import datasets
from dl_lint.source.positions import span
from dl_lint.source.syntax import Assignment, Display, called, children, dotted, targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.pipeline.datasets import DatasetClass


@dataclass(frozen=True, slots=True)
class Reader:
    """A function that decodes a part of a file where it is asked for one.

    ``parts`` are the names of those arguments, which follow ``before`` others; ``first`` says that it returns a tuple,
    the samples or frames first.
    """

    parts: frozenset[str]
    before: int
    first: bool
    remedy: str


_AUDIO = Reader(
    frozenset({"frame_offset", "num_frames"}),
    1,
    True,
    "pass `frame_offset` and `num_frames` (`torchaudio.info` gives the length)",
)
_LIBROSA = Reader(
    frozenset({"offset", "duration"}),
    3,
    True,
    "pass `offset` and `duration` (`librosa.get_duration` gives the length)",
)
READERS = {
    "torchaudio.load": _AUDIO,
    "torchaudio.backend.sox_io_backend.load": _AUDIO,
    "soundfile.read": Reader(
        frozenset({"start", "stop", "frames"}), 1, True, "pass `start` and `stop` (`soundfile.info` gives the length)"
    ),
    "librosa.load": _LIBROSA,
    "librosa.core.load": _LIBROSA,
    "numpy.load": Reader(
        frozenset({"mmap_mode"}), 1, False, 'pass `mmap_mode="r"`, which reads no more of an .npy file than is kept'
    ),
    "torch.load": Reader(frozenset({"mmap"}), 4, False, "pass `mmap=True`, which reads no more than is kept"),
    "torchvision.io.read_video": Reader(
        frozenset({"start_pts", "end_pts"}), 1, True, "pass `start_pts` and `end_pts`, or ask a decoder for the frames"
    ),
}
"""What decodes a file whole unless it is asked for a part."""

_VOLUME = Reader(frozenset(), 3, False, "index `dataobj` of the loaded image, which reads no more than that slice")

LENGTHS = frozenset({"shape", "size", "ndim", "dtype", "dim", "numel", "ndimension"})
"""Attributes and methods that tell how much was read."""

ALONG = frozenset(
    {"squeeze", "unsqueeze", "float", "double", "half", "numpy", "astype", "contiguous", "transpose", "permute", "t",
     "from_numpy", "FloatTensor", "tensor", "as_tensor", "Tensor", "asarray", "array", "float32", "ascontiguousarray",
     "to"}
)  # fmt: skip
"""Methods and functions that leave the samples in their places, so that slicing first gives the same."""

CHANNELS = 8
"""A slice of fewer picks channels."""

_DEEPEST = 2


@dataclass(frozen=True, slots=True)
class Decoding:
    """``call`` decodes a whole file, and ``kept`` is all that is used of it."""

    call: ast.Call
    name: str
    reader: Reader
    kept: ast.AST


def decodings(program: Program, dataset: DatasetClass) -> Iterator[Decoding]:
    """The files that are decoded whole while a sample is fetched, although nothing but slices of them is used."""
    functions = datasets.fetching(program, dataset.cls)
    for function in functions:
        for call, name, reader in _readings(program, function):
            asked = any(one.arg is None or one.arg in reader.parts for one in call.keywords)
            if asked or len(call.args) > reader.before or any(isinstance(one, ast.Starred) for one in call.args):
                continue
            kept = _Uses(program, functions).slices(call, in_tuple=reader.first)
            if kept:
                yield Decoding(call, name, reader, min(kept, key=span))


def _readings(program: Program, function: Scope) -> Iterator[tuple[ast.Call, str, Reader]]:
    for call, name in datasets.outside_calls(program, function):
        if name in READERS:
            yield call, name, READERS[name]
    for scope in classes.with_inner(function):
        for call in scope.calls:
            if called(call) in ("get_fdata", "get_data") and isinstance(call.func, ast.Attribute):
                made = alternatives(program.value(call.func.value))
                if made and all(isinstance(one, Made) and one.name.startswith("nibabel.") for one in made):
                    yield call, called(call), _VOLUME


class _Whole(Exception):
    """All of it is used, or may be."""


@dataclass(frozen=True, slots=True)
class _Uses:
    """Where what was decoded goes in ``functions``."""

    program: Program
    functions: tuple[Scope, ...]
    followed: set[tuple[Scope, str, ast.AST]] = field(default_factory=set)
    """The names that were gone into, each with what binds it: a loop may bind one to what it makes of it."""

    def slices(self, call: ast.Call, *, in_tuple: bool) -> list[ast.AST]:
        """The slices that are all that is used of what ``call`` gives; none where more may be."""
        try:
            return list(self._uses(call, in_tuple, _DEEPEST))
        except _Whole:
            return []

    def _uses(self, expr: ast.AST, in_tuple: bool, depth: int) -> Iterator[ast.AST]:
        above = self.program.parent(expr)
        match above:
            case ast.Assign() | ast.AnnAssign():
                yield from self._assigned(above, in_tuple, depth)
            case ast.Subscript(value=value, slice=index) if value is expr:
                if in_tuple:
                    if not isinstance(index, ast.Constant) or index.value != 0:
                        return
                    yield from self._uses(above, False, depth)
                elif _picks_part(index):
                    yield above
                elif _picks_channels(index):
                    yield from self._uses(above, False, depth)
                else:
                    raise _Whole
            case ast.Attribute(value=value, attr=attr) if value is expr and not in_tuple:
                yield from self._attribute(above, attr, depth)
            case ast.Call() if above.func is not expr and not in_tuple:
                yield from self._passed(above, expr, depth)
            case ast.BinOp() | ast.UnaryOp() | ast.IfExp() if not in_tuple and getattr(above, "test", None) is not expr:
                yield from self._uses(above, False, depth)
            case ast.Return() | ast.Tuple():
                yield from self._returned(above, expr, in_tuple, depth)
            case _:
                raise _Whole

    def _attribute(self, node: ast.Attribute, attr: str, depth: int) -> Iterator[ast.AST]:
        call = self.program.parent(node)
        if attr in LENGTHS:
            return
        if attr == "T":
            yield from self._uses(node, False, depth)
        elif attr in ALONG and isinstance(call, ast.Call) and call.func is node:
            yield from self._uses(call, False, depth)
        elif attr == "mean" and isinstance(call, ast.Call) and (call.args or call.keywords):
            yield from self._uses(call, False, depth)  # of the channels
        else:
            raise _Whole

    def _passed(self, call: ast.Call, expr: ast.AST, depth: int) -> Iterator[ast.AST]:
        entered = call_graph.entered(self.program, call)
        if called(call) == "len":
            return
        if called(call) in ALONG and not entered:
            yield from self._uses(call, False, depth)
        elif entered and depth and expr in call.args:
            for function in entered:
                at = call.args.index(expr)
                if at >= len(function.positions):
                    raise _Whole
                yield from self._named(function, function.positions[at], call, depth - 1)
        else:
            raise _Whole

    def _assigned(self, stmt: Assignment, in_tuple: bool, depth: int) -> Iterator[ast.AST]:
        for target in targets(stmt):
            if isinstance(target, Display) and in_tuple:
                target, inner = target.elts[0], False
            else:
                inner = in_tuple
            if not isinstance(target, ast.Name):
                raise _Whole
            yield from self._named(enclosing.function_of(self.program, stmt), target.id, stmt, depth, in_tuple=inner)

    def _named(
        self, function: Scope, name: str, by: ast.AST, depth: int, *, in_tuple: bool = False
    ) -> Iterator[ast.AST]:
        """The uses of a name that see what ``by``, an assignment or the call of the function, has bound it to."""
        if (function, name, by) in self.followed:
            return
        self.followed.add((function, name, by))
        mine = [one for one in function.bindings.get(name, ()) if one.node is by or one.kind == "param"]
        if any(inner.loads.get(name) for inner in classes.with_inner(function) if inner is not function):
            raise _Whole
        for load in function.loads.get(name, ()):
            seen = reaching.reaching(function, name, self.program.site(load)).bindings
            if any(one in seen for one in mine):
                try:
                    yield from self._uses(load, in_tuple, depth)
                except _Whole:
                    if not self._is_of_short_ones(load, name):
                        raise

    def _returned(self, above: ast.AST, expr: ast.AST, in_tuple: bool, depth: int) -> Iterator[ast.AST]:
        """On, at the calls of the function that returns it."""
        function = enclosing.function_of(self.program, above)
        if isinstance(above, ast.Tuple):
            outer = self.program.parent(above)
            if in_tuple or above.elts[0] is not expr or not isinstance(outer, ast.Return):
                raise _Whole
            in_tuple = True
        frames = call_graph.callers(self.program, function) if depth and function.name != "__getitem__" else ()
        inside = [one.call for one in frames if enclosing.function_of(self.program, one.call) in self.functions]
        if not inside:
            raise _Whole
        for call in inside:
            yield from self._uses(call, in_tuple, depth - 1)

    def _is_of_short_ones(self, node: ast.AST, name: str) -> bool:
        """Whether a place is reached by a test of the length only: what is too short is padded, and used whole."""
        return any(self._asks_length(test, name) for test, _ in enclosing.tests_around(self.program, node))

    def _asks_length(self, test: ast.AST, name: str) -> bool:
        waiting, seen = [test], {name}
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Name) and node.id not in seen and isinstance(node.ctx, ast.Load):
                seen.add(node.id)
                function = enclosing.function_of(self.program, node)
                waiting += [one.value for one in function.bindings.get(node.id, ()) if one.value is not None]
            if isinstance(node, ast.Attribute) and node.attr in LENGTHS and dotted(node.value) == name:
                return True
            if isinstance(node, ast.Call) and called(node) == "len" and name in map(dotted, node.args):
                return True
            waiting.extend(children(node))
        return False


def _parts(index: ast.expr) -> list[ast.expr]:
    return index.elts if isinstance(index, ast.Tuple) else [index]


def _picks_part(index: ast.expr) -> bool:
    """Whether an index keeps a stretch of the samples or frames: a slice with an end of its own."""
    for one in _parts(index):
        match one:
            case ast.Slice(upper=ast.Constant(value=int() as end), step=None) if end <= CHANNELS:
                continue
            case ast.Slice(upper=ast.UnaryOp() | ast.Constant(value=None)):
                continue
            case ast.Slice(upper=ast.expr(), step=None):
                return True
            case _:
                continue
    return False


def _picks_channels(index: ast.expr) -> bool:
    """Whether an index leaves every sample: ``[0]``, ``[:, None]``, ``[:1]``."""
    return all(
        (isinstance(one, ast.Slice) and (one.lower is None or isinstance(one.lower, ast.Constant)) and one.step is None)
        or (isinstance(one, ast.Constant) and not isinstance(one.value, str))  # a key picks of an archive
        for one in _parts(index)
    )
