"""What a loop repeats for: each batch, sample or step, or each of a few things such as models and attempts."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Literal

from dl_lint.project.frameworks import is_map_dataset
from dl_lint.project.values import Const, Instance, Made, Value, WhenAccelerated, alternatives
from dl_lint.source.syntax import children, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.model import Project

Repetition = Literal["step", "few", "other"]

DATA = frozenset(
    {"loader", "dataloader", "batch", "batches", "minibatch", "minibatches", "sample", "samples", "image", "images",
     "img", "imgs", "frame", "frames", "clip", "clips", "utterance", "utterances", "wav", "wavs"}
)  # fmt: skip
"""Last words of the names of data that goes through a model piece by piece."""

LISTS = frozenset({"path", "paths", "file", "files", "list", "ids", "iter", "iterator", "dl"})
"""Words that may follow those: ``image_paths``."""

STEPS = frozenset(
    {"step", "steps", "iteration", "iterations", "iter", "iters", "timesteps", "tokens", "len", "length", "maxlen"}
)
"""Last words of the names of how many steps there are: of training, sampling or decoding."""


COUNTS = frozenset({"bs", "bsz", "b", "batch_size", "batchsize", "num_images", "n_images", "num_samples", "n_samples"})
"""Names of how many samples there are in a batch."""

FEW = frozenset(
    {"attempt", "attempts", "retry", "retries", "trial", "trials", "tries", "tracker", "trackers", "model", "models",
     "layer", "layers", "module", "modules", "engine", "engines", "op", "ops", "param", "params", "parameter",
     "parameters", "checkpoint", "checkpoints", "ckpt", "ckpts", "seed", "seeds", "fold", "folds", "epoch", "epochs",
     "warmup", "component", "components", "block", "blocks", "concept", "concepts", "task", "tasks", "loaders",
     "dataset", "datasets", "config", "configs", "name", "names", "size", "sizes", "scale", "scales", "repeat",
     "repeats"}
)  # fmt: skip
"""Words for what a program has a handful of, or goes over once."""

WEIGHTS = frozenset({"param", "params", "parameter", "parameters", "weight", "weights"})
"""Words for what models consist of: ``weight_iterator.batches()`` are batches of those."""

LOADERS = frozenset({"loader", "loaders", "dataloader", "dataloaders"})
"""Words for the variable of a loop over loaders, each of which has many batches."""

TIMING = frozenset({"benchmark", "bench", "profile", "profiler", "measure", "timing", "timeit", "warmup"})
"""Words in the names of functions that measure, and repeat to that end."""


ALIKE = frozenset({"cuda", "gpu", "gpus", "npu", "xpu", "device", "train", "training"})
"""Words of tests that come out alike in every pass."""

SETTINGS = frozenset(
    {"every", "freq", "interval", "cache", "memory", "mem", "vram", "reduce", "save", "low", "clear", "empty", "oom",
     "ooms", "failed", "failures", "errors"}
)  # fmt: skip
"""Words of tests of a setting or a mishap, not of data."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def repetition(project: Project, loop: LoopNode) -> Repetition:
    """What one pass of ``loop`` stands for, by what it iterates if that is known, else by its names."""
    if any(loop is one.node for one in project.loader_loops()):
        return "step"
    named = _named(project, loop)
    if named == "step" and any(loop in project.repeating(one.node) for one in project.loader_loops()):
        return "other"
    return "step" if named == "other" and loop in _stepping(project) else named


def _stepping(project: Project) -> frozenset[LoopNode]:
    """The loops each pass of which has a backward pass of its own, wherever the batch comes from."""
    return project.evaluator.once(
        "stepping loops",
        lambda: frozenset(
            loop for step in project.method_calls("backward") for loop in list(project.loops_around(step))[:1]
        ),
    )


def _named(project: Project, loop: LoopNode) -> Repetition:
    if TIMING & set(words(project.function_of(loop).name)):
        return "few"
    if isinstance(loop, ast.While):
        return _while(loop)
    value = project.value(loop.iter)
    if project.batches_in(value) or any(_is_dataset(project, one) for one in alternatives(value)):
        return "step"
    given = [last for name in names_in(loop.target) for last in words(name)[-1:]]
    of_model = {word for name in names_in(loop.iter) for part in name.split(".") for word in words(part)}
    if (FEW | LOADERS) & set(given) or WEIGHTS & of_model:
        return "few"
    if _is_data(given[:-1]) or _is_data(given[-1:]):
        return "step"
    return _over(loop.iter)


def _while(loop: ast.While) -> Repetition:
    last = {one for name in names_in(loop.test) for one in words(name)[-1:]}
    if "size" in last or FEW & last:
        return "few"
    return "step" if STEPS & last and isinstance(loop.test, ast.Compare) else "other"


def _over(iterated: ast.expr) -> Repetition:
    """By the name of what is iterated, whatever is wrapped around it."""
    inner = iterated
    while (
        isinstance(inner, ast.Call)
        and inner.args
        and not (isinstance(inner.func, ast.Name) and inner.func.id == "range")
    ):
        inner = inner.args[0]
    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == "range":
        return "other" if len(inner.args) > 2 else _range(inner.args[-1])
    name = dotted(inner)
    parts = words(name) if name is not None else []
    if not parts:
        return "other"
    if parts[-1] in FEW:
        return "few"
    data = parts[-1] in DATA or (parts[-1] in LISTS and len(parts) > 1 and parts[-2] in DATA)
    return "step" if data or parts[-1] == "timesteps" else "other"


def _range(stop: ast.expr) -> Repetition:
    """``range(stop)``: over the samples of a batch, or so many steps."""
    if isinstance(stop, ast.Subscript) and isinstance(stop.value, ast.Attribute) and stop.value.attr == "shape":
        return "step" if isinstance(stop.slice, ast.Constant) and stop.slice.value == 0 else "other"
    if isinstance(stop, ast.Call):
        if isinstance(stop.func, ast.Attribute) and stop.func.attr == "size" and len(stop.args) == 1:
            return "step" if isinstance(stop.args[0], ast.Constant) and stop.args[0].value == 0 else "other"
        if isinstance(stop.func, ast.Name) and stop.func.id == "len" and len(stop.args) == 1:
            return _over(stop.args[0])
        return "other"
    if isinstance(stop, ast.BinOp):
        return _range(stop.left)
    name = dotted(stop)
    parts = words(name) if name is not None else []
    if not parts:
        return "other"
    if parts[-1] in STEPS or (name or "").rpartition(".")[2].lower() in COUNTS:
        return "step"
    return "few" if parts[-1] in FEW else "other"


def _is_data(last: list[str]) -> bool:
    return any(one in DATA and one not in ("loader", "dataloader") for one in last)


def _is_dataset(project: Project, value: Value) -> bool:
    match value:
        case Instance():
            return any(one.cls == value.cls for one in project.dataset_classes())
        case Made():
            return is_map_dataset(value.name)
        case _:
            return False


def names_in(expr: ast.AST) -> Iterator[str]:
    """The dotted names in an expression, those of builtin functions left out."""
    waiting = [expr]
    while waiting:
        node = waiting.pop(0)
        name = dotted(node)
        if name is not None:
            yield name
        elif isinstance(node, ast.Call):
            waiting += [node.func, *node.args] if isinstance(node.func, ast.Attribute) else node.args
        else:
            waiting += children(node)


def usual(project: Project, test: ast.expr, outcome: bool) -> bool:
    """Whether ``test`` has ``outcome`` in all passes or in all but odd ones: there is a GPU, there is data."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return usual(project, test.operand, not outcome)
    if isinstance(test, ast.BoolOp):
        decided = [usual(project, one, outcome) for one in test.values]
        return all(decided) if (isinstance(test.op, ast.And)) is outcome else outcome and any(decided)
    value = project.value(test)
    if isinstance(value, WhenAccelerated | Const):
        return bool(value.value) is outcome if isinstance(value, Const) else outcome
    parts = [set(words(name)) for name in names_in(test)]
    if not parts or any(SETTINGS & one for one in parts):
        return False
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and _is_nothing(test.comparators[0]):
        empty = isinstance(test.ops[0], ast.Eq | ast.Is | ast.LtE | ast.Lt)
        return empty is not outcome and not isinstance(test.left, ast.BinOp)
    return all(ALIKE & one for one in parts) and (outcome or not any({"train", "training"} & one for one in parts))


def _is_nothing(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Constant) and expr.value in (0, None)


def words(name: str) -> list[str]:
    """``self.valDataLoader_2`` as val, data, loader; of the last part only."""
    return [word.lower() for word in _WORD.findall(name.rpartition(".")[2])]
