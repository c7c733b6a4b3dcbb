"""What a loop is for: training, evaluation, or something else that repeats."""

from __future__ import annotations

import ast
import re
from operator import is_
from typing import TYPE_CHECKING, Literal

from dl_lint.flow import call_graph, effects, enclosing
from dl_lint.flow.features import feature
from dl_lint.flow.values import Const, Instance, Made, Value, WhenAccelerated, alternatives
from dl_lint.pipeline import datasets, loaders, loops
from dl_lint.source.syntax import Assignment, Display, children, dotted, targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Binding
    from dl_lint.flow.values import Loader
    from dl_lint.pipeline.loops import LoaderLoop


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

PIECES = frozenset({"chunk", "chunks", "tile", "window", "stride", "split", "piece", "slice", "block"})
"""Words for the size of the pieces that one thing is cut into."""

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


def repetition(program: Program, loop: LoopNode) -> Repetition:
    """What one pass of ``loop`` stands for, by what it iterates if that is known, else by its names."""
    if any(loop is one.node for one in loops.loader_loops(program)):
        return "step"
    named = _named(program, loop)
    if named == "step" and any(loop in call_graph.repeating(program, one.node) for one in loops.loader_loops(program)):
        return "other"
    return "step" if named == "other" and loop in _stepping(program) else named


def _stepping(program: Program) -> frozenset[LoopNode]:
    """The loops each pass of which has a backward pass of its own, wherever the batch comes from."""
    return program.once(
        "stepping loops",
        lambda: frozenset(
            loop
            for step in effects.backward_passes(program)
            for loop in list(enclosing.loops_around(program, step))[:1]
        ),
    )


@feature("repetition by names", "other")
def _named(program: Program, loop: LoopNode) -> Repetition:
    if TIMING & set(words(enclosing.function_of(program, loop).name)):
        return "few"
    if isinstance(loop, ast.While):
        return _while(loop)
    value = program.value(loop.iter)
    if loops.batches_in(value) or any(_is_dataset(program, one) for one in alternatives(value)):
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
        return _strided(*inner.args) if len(inner.args) == 3 else _range(inner.args[-1]) if inner.args else "other"
    name = dotted(inner)
    parts = words(name) if name is not None else []
    if not parts:
        return "other"
    if parts[-1] in FEW:
        return "few"
    data = parts[-1] in DATA or (parts[-1] in LISTS and len(parts) > 1 and parts[-2] in DATA)
    return "step" if data or parts[-1] == "timesteps" else "other"


def _strided(_start: ast.expr, stop: ast.expr, by: ast.expr) -> Repetition:
    """``range(rank, len(dataset), world_size)``, or in batches; but not what goes through one thing in pieces."""
    counted = isinstance(stop, ast.Call) and dotted(stop.func) == "len"
    return _range(stop) if counted and dotted(by) and PIECES.isdisjoint(words(dotted(by) or "")) else "other"


def _range(stop: ast.expr) -> Repetition:
    """``range(stop)``: over the samples of a batch, or so many steps."""
    if isinstance(stop, ast.Subscript) and isinstance(stop.value, ast.Attribute) and stop.value.attr == "shape":
        return "step" if isinstance(stop.slice, ast.Constant) and stop.slice.value == 0 else "other"
    if isinstance(stop, ast.Call):
        if isinstance(stop.func, ast.Attribute) and stop.func.attr == "size" and len(stop.args) == 1:
            return "step" if isinstance(stop.args[0], ast.Constant) and stop.args[0].value == 0 else "other"
        if isinstance(stop.func, ast.Name) and stop.func.id == "len" and len(stop.args) == 1:
            return "step" if words(dotted(stop.args[0]) or "")[-1:] == ["dataset"] else _over(stop.args[0])
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


def _is_dataset(program: Program, value: Value) -> bool:
    match value:
        case Instance():
            return any(one.cls == value.cls for one in datasets.dataset_classes(program))
        case Made():
            return datasets.is_map_dataset(program, value.name)
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


@feature("tests that hold as a rule")
def usual(program: Program, test: ast.expr, outcome: bool) -> bool:
    """Whether ``test`` has ``outcome`` in all passes or in all but odd ones: there is a GPU, there is data."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return usual(program, test.operand, not outcome)
    if isinstance(test, ast.BoolOp):
        decided = [usual(program, one, outcome) for one in test.values]
        return all(decided) if (isinstance(test.op, ast.And)) is outcome else outcome and any(decided)
    value = program.value(test)
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


Purpose = Literal["training", "evaluation", "unknown"]

EVALUATION = frozenset(
    {"val", "valid", "validation", "validate", "eval", "evaluation", "evaluate", "dev", "test", "testing",
     "valset", "validset", "evalset", "devset", "testset", "valloader", "evalloader", "testloader"}
)  # fmt: skip
TRAINING = frozenset({"train", "training", "trn", "tr", "trainset", "trainloader", "fit", "finetune", "pretrain"})
HOOKS = frozenset({"val_dataloader", "test_dataloader"})
"""Methods of Lightning modules that give evaluation loaders."""


def purpose(program: Program, made: Made) -> Purpose:
    """What ``made`` is for: by what it is bound to and the data it is given, else by the function that makes it.

    Names that speak of both, and those that speak of neither, leave it unknown.
    """
    dataset = loaders.argument(program, made, "dataset")
    said = _of_words({*_bound_to(program, made.call), *(_mentioned(dataset.expr) if dataset.given else ())})
    if said == "unknown":
        said = _of_function(enclosing.function_of(program, made.call).name)
    return "unknown" if said == "both" else said


@feature("loaders for evaluation alone")
def is_only_evaluated(program: Program, loader: Loader) -> bool:
    """Whether a loader is for evaluation by its names, those that a builder's callers give it, or the branch that it is
    made in, while none says training; and whether no loop over it trains."""
    if any(one.call is loader.call for one, _ in loops.drained_again(program)):
        return False  # evaluation takes a few batches of a stream that never ends
    said = {purpose(program, loader), branch_purpose(program, loader.call)}
    for frame in loader.frames:
        said |= _of_call(program, frame.call)
    if "evaluation" not in said or "training" in said:
        return False
    return not any(
        is_trained_on(program, loop)
        for loop in loops.loader_loops(program)
        for one in loop.loaders
        if one.call is loader.call and all(map(is_, one.frames, loader.frames))
    )


def _of_call(program: Program, call: ast.Call) -> set[Purpose]:
    """What a call of a builder says: the branch that it stands in, and its names."""
    names = {*_bound_to(program, call), *(name for arg in call.args for name in _mentioned(arg))}
    of_names = _of_words(names)
    return {branch_purpose(program, call), "training" if of_names == "both" else of_names}


def evaluating_call(program: Program, loader: Loader) -> ast.Call | None:
    """The call of a builder that says that its loader is for evaluation; None where the construction says so."""
    if "evaluation" in (purpose(program, loader), branch_purpose(program, loader.call)):
        return None
    calls = (frame.call for frame in loader.frames)
    return next((call for call in calls if "evaluation" in _of_call(program, call)), None)


@feature("purpose by branch", "unknown")
def branch_purpose(program: Program, node: ast.AST) -> Purpose:
    """What the tests around a node say: ``if split == "test":``, ``if not is_train:``."""
    tests = list(enclosing.tests_around(program, node))
    for test, outcome in tests:
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, outcome = test.operand, not outcome
        match test:
            case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is outcome:
                tests += ((one, outcome) for one in values if _asks_for_purpose(one))
            case ast.Name() | ast.Attribute():
                said = _of_words({dotted(test) or ""})
                if said == "training":
                    return "training" if outcome else "evaluation"
                if said == "evaluation" and outcome:
                    return said
            case ast.Compare(ops=(ast.Eq() | ast.In(),), comparators=(asked,)) if outcome:
                texts = asked.elts if isinstance(asked, Display) else (asked,)
                asked_for = {_of_words({str(one.value)}) for one in texts if isinstance(one, ast.Constant)}
                if asked_for in ({"evaluation"}, {"training"}):
                    return "evaluation" if "evaluation" in asked_for else "training"
            case _:
                continue
    return "unknown"


def _asks_for_purpose(test: ast.expr) -> bool:
    """Whether a part of a test asks for nothing else: ``is_train``, and not ``freeze_train``."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    named = set(words(dotted(test) or ""))
    return isinstance(test, ast.Compare) or named <= TRAINING | EVALUATION | {"is"}


def evaluation_bindings(program: Program, expr: ast.AST) -> Iterator[Binding]:
    """What a name is bound to in branches that are for evaluation."""
    if isinstance(expr, ast.Name):
        for one in enclosing.function_of(program, expr).bindings.get(expr.id, ()):
            if branch_purpose(program, one.node) == "evaluation":
                yield one


def _of_words(names: set[str]) -> Literal["training", "evaluation", "unknown", "both"]:
    found = {word for name in names for word in words(name)}
    evaluation, training = not found.isdisjoint(EVALUATION), not found.isdisjoint(TRAINING)
    if evaluation and training:
        return "both"
    return "evaluation" if evaluation else "training" if training else "unknown"


def _of_function(name: str) -> Purpose:
    if name in HOOKS:
        return "evaluation"
    # a function whose name starts with test is more often a test than an evaluation
    return "evaluation" if _of_words({name}) == "evaluation" and "test" not in words(name) else "unknown"


def _bound_to(program: Program, call: ast.Call) -> Iterator[str]:
    """The names that the statement around a call gives to what comes of it; in ``a, b = f(), g()`` the call's own."""
    child: ast.AST = call
    within: ast.AST = call  # the node below child: the item of a tuple
    for above in enclosing.ancestors(program, call):
        if isinstance(above, ast.keyword) and above.arg is not None and child is above.value:
            yield above.arg
        if isinstance(above, Assignment):
            for target in targets(above):
                yield from _targets(target, above.value, within)
        if isinstance(above, ast.stmt | ast.Lambda):
            return
        within, child = child, above


def _targets(target: ast.expr, value: ast.expr | None, within: ast.AST) -> Iterator[str]:
    match target, value:
        case (
            ast.Tuple(elts=names) | ast.List(elts=names) | ast.Set(elts=names),
            ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items),
        ) if within in items and len(names) == len(items):
            yield dotted(names[items.index(within)]) or ""
        case (ast.Subscript(), _):
            yield from _mentioned(target)
        case _:
            name = dotted(target)
            if name is not None:
                yield name


def _mentioned(node: ast.AST) -> Iterator[str]:
    """The names, attributes and keys in an expression."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        match one:
            case ast.Name(id=name):
                yield name
            case ast.Attribute(attr=name):
                yield name
            case ast.Constant(value=str() as key):
                yield key
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case _:
                pass
        waiting.extend(children(one))


def is_trained_on(program: Program, loop: LoaderLoop) -> bool:
    """Whether each pass of a loop has a backward pass, in the loop or in what it calls."""
    return trains(program, loop.node)


def trains(program: Program, loop: ast.AST) -> bool:
    """The same of any loop."""
    return loop in _training_loops(program)


def _training_loops(program: Program) -> frozenset[LoopNode]:
    return program.once(
        "training loops",
        lambda: frozenset(
            node for step in effects.backward_passes(program) for node in call_graph.repeating(program, step)
        ),
    )
