"""Images, sounds and arrays that a dataset reads and keeps when it is made, beside which its records weigh nothing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import purpose, workers
from dl_lint.project.changes import GROWING
from dl_lint.project.repetition import words
from dl_lint.project.syntax import children, dotted
from dl_lint.project.values import External

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.datasets import Kept
    from dl_lint.project.model import Project
    from dl_lint.project.values import Class

_DECODERS = frozenset(
    {"PIL.Image.open", "cv2.imread", "cv2.imdecode", "imageio.imread", "imageio.v2.imread", "skimage.io.imread",
     "torchvision.io.read_image", "torchvision.io.decode_image", "matplotlib.pyplot.imread", "numpy.load",
     "soundfile.read", "torchaudio.load", "librosa.load", "scipy.io.wavfile.read"}
)  # fmt: skip
"""Functions that read a file which holds an array."""

_CONVERTING = frozenset(
    {"array", "asarray", "ascontiguousarray", "from_numpy", "tensor", "as_tensor", "FloatTensor", "Tensor", "stack",
     "cat", "concatenate", "to_tensor", "cvtColor", "resize", "cast", "copy", "deepcopy"}
)  # fmt: skip
"""Functions whose result is of the size of what they are given."""

_SMALL = frozenset(
    {"size", "shape", "width", "height", "mode", "format", "dtype", "ndim", "sum", "mean", "max", "min", "std", "item",
     "any", "all", "getpixel", "getbbox", "numel", "info"}
)  # fmt: skip
"""Attributes and methods of an image or an array that give a few numbers."""

FARTHEST = 64
"""Expressions that are looked through."""


def outweigh(project: Project, cls: Class, attribute: str) -> bool:
    """Whether making an object reads a file for each record in ``self.attribute`` and keeps what it decodes, if only
    for training: then there are as few records as images fit into memory."""
    return project.evaluator.once(("outweigh", cls, attribute), partial(_outweigh, project, cls, attribute))


def _outweigh(project: Project, cls: Class, attribute: str) -> bool:
    making = workers.building(project, cls)
    return any(
        kept.method in making
        and kept.attribute != attribute
        and _goes_over(project, kept, attribute)
        and any(_is_decoded(project, one) for one in _added(kept))
        for kept in project.kept(cls)
    )


def _added(kept: Kept) -> Iterator[t.Expr]:
    """What is kept in a container for each turn of a loop."""
    if kept.change is not None and kept.change.kind in GROWING and kept.change.value is not None:
        yield kept.change.value
    if kept.binding is not None:
        match kept.binding.node:
            case t.AugAssign(value=value):
                yield value
            case t.Assign(value=t.Comprehension(element=element)):
                yield element
            case _:
                return


def _goes_over(project: Project, kept: Kept, attribute: str) -> bool:
    """Whether a loop over the attribute keeps something, always or for training."""
    if any(not (outcome and _is_for_training(test)) for test, outcome in project.tests_around(kept.node)):
        return False
    over = [loop.iter for loop in project.loops_around(kept.node) if not isinstance(loop, t.While)]
    match kept.binding.node if kept.binding is not None else None:
        case t.Assign(value=t.Comprehension(generators=clauses)):
            over += [clause.iter for clause in clauses]
        case _:
            pass
    wanted = f"{kept.method.params[0].name}.{attribute}"
    return any(dotted(node) == wanted for one in over for node in _inside(one))


def _is_for_training(test: t.Expr) -> bool:
    texts = [node.value for node in _inside(test) if isinstance(node, t.Constant) and isinstance(node.value, str)]
    is_equal = isinstance(test, t.Compare) and test.ops in (("==",), ("in",))
    return is_equal and any(not purpose.TRAINING.isdisjoint(words(text)) for text in texts)


def _inside(expr: t.Node) -> Iterator[t.Node]:
    yield expr
    for child in children(expr):
        yield from _inside(child)


def _is_decoded(project: Project, expr: t.Expr) -> bool:
    """Whether something is a decoded file, as it was read or converted."""
    waiting: list[t.Node] = [expr]
    seen: set[t.Node] = set()
    while waiting and len(seen) < FARTHEST:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, t.Call) and project.value(node.func) in _EXTERNAL:
            return True
        waiting.extend(_of_its_size(project, node))
    return False


_EXTERNAL = frozenset(map(External, _DECODERS))


def _of_its_size(project: Project, node: t.Node) -> Iterator[t.Node]:
    """What an expression has the size of."""
    match node:
        case t.Call(func=func, args=args):
            name = (dotted(func) or str(getattr(func, "attr", ""))).rpartition(".")[2]
            if name in _CONVERTING or {"transform", "transforms"}.intersection(words(name)):
                yield from args
            if isinstance(func, t.Attribute):
                yield func
        case t.Attribute(attr=attr, value=value) if attr not in _SMALL:
            yield value
        case t.Subscript(value=value):
            yield value
        case t.BinOp(left=left, right=right):
            yield from (left, right)
        case t.Sequence(items=items):
            yield from items
        case t.Name(id=name):
            bindings = project.function_of(node).bindings.get(name, ())
            first = [one for one in bindings if one.kind == "assign" and one.path in ((), (0,))]  # of sound and rate
            yield from (one.value for one in first if one.value is not None)
        case _:
            return
