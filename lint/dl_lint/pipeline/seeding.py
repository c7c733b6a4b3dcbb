"""Random numbers as rules ask about them: what is seeded, from what, and who draws."""

from __future__ import annotations

import ast
import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import arguments, classes
from dl_lint.flow.models import library
from dl_lint.flow.outcomes import truth_of
from dl_lint.flow.reaching import reached_by
from dl_lint.flow.values import (
    NONE,
    Absent,
    Class,
    Const,
    Derived,
    External,
    Instance,
    Made,
    Option,
    Partial,
    Unknown,
    Value,
    alternatives,
)
from dl_lint.pipeline import datasets, loaders, loops, samplers, workers
from dl_lint.source.syntax import Comprehension, Display, called, children, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.flow.values import Frame, Loader


SEEDERS = {"random": "random.seed", "numpy": "numpy.random.seed", "torch": "torch.manual_seed"}
"""What seeds each global generator, which torch has seeded differently in each worker and epoch."""

GENERATORS = frozenset(
    {
        "random.Random",
        "numpy.random.default_rng",
        "numpy.random.RandomState",
        "numpy.random.Generator",
        "torch.Generator",
    }
)
"""Classes and functions that make a generator of one's own."""

RESEEDING = ("seed", "manual_seed", "set_state", "setstate")

_RESTORING = frozenset({"set_state", "setstate", "set_rng_state", "fork_rng"})

_NO_DRAWS = frozenset(
    {"seed", "get_state", "set_state", "getstate", "setstate", "Random", "default_rng", "RandomState"}
)
_TORCH_DRAWS = frozenset(
    {"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal", "bernoulli",
     "multinomial", "poisson"}
)  # fmt: skip

_RANDOM_TRANSFORMS = frozenset(
    {"ColorJitter", "GaussianBlur", "ElasticTransform", "AutoAugment", "TrivialAugmentWide", "AugMix"}
)
"""Transforms of torchvision that draw, besides those that say so in their names."""

Origin = Literal["constant", "id", "base", "state", "other"]
"""What a seed is worked out from: constants, options, the rank and what else stays the same in a run; the worker's id;
torch's own seed of the worker, which differs by worker and epoch; the first word of numpy's state, which is the same in
every worker; or something else."""

_OF_WORKER_INFO: dict[str, Origin] = {"seed": "base", "id": "id", "num_workers": "constant"}
_WHOLE_SEEDS = ("torch.initial_seed", "torch.random.initial_seed")
_SAME_IN_A_RUN = frozenset({"torch.distributed.get_rank", "torch.distributed.get_world_size"})
_NUMBERS = ("builtins.int", "builtins.abs", "builtins.hash", "numpy.uint32", "numpy.int64")
_DEEPEST = 6


@dataclass(frozen=True, slots=True)
class Seeding:
    """A call that seeds a global generator from ``expr``; ``origins`` are all that it depends on."""

    call: ast.Call
    seeder: str
    expr: ast.expr
    origins: frozenset[Origin]


@dataclass(frozen=True, slots=True)
class WorkerStart:
    """``function`` is the ``worker_init_fn`` of ``loader``, perhaps with arguments bound by ``partial``.

    ``identity`` is the parameter that gets the worker's id, ``bound`` what the others get.
    """

    function: Scope
    loader: Loader
    identity: str | None
    bound: tuple[tuple[str, ast.expr], ...] = ()


def worker_starts(program: Program) -> Iterator[WorkerStart]:
    """The functions that loaders have their workers call when they start."""
    for loader in loaders.all_loaders(program):
        for one in alternatives(loaders.argument(program, loader, "worker_init_fn").value):
            for function in workers.functions(program, one):
                names = list(function.positions)
                bound = _bound(one.call, names) if isinstance(one, Partial) else {}
                identity = next((name for name in names if name not in bound), None)
                yield WorkerStart(function, loader, identity, tuple(bound.items()))


def _bound(call: ast.Call, names: list[str]) -> dict[str, ast.expr]:
    """What a ``partial`` passes by parameter."""
    found = dict(zip(names, call.args[1:], strict=False))
    found.update((one.arg, one.value) for one in call.keywords if one.arg is not None)
    return found


def seedings(program: Program, function: Scope, start: WorkerStart | None = None) -> Iterator[Seeding]:
    """The calls in a function that seed a global generator; ``start`` says what its parameters are."""
    known = dict(start.bound) if start is not None else {}
    identity = start.identity if start is not None else None
    for call in function.calls:
        name = _called(program, call) or ""
        model = program.models.get(name)
        seeded = [generator for mark in model.marks if mark.kind == "Seeds" for generator in mark.of]
        given = [loaders.passed(program, call, one, *model.positions) for one in model.positions[:1]] if seeded else []
        expr = given[0].expr if given and given[0].given else None
        if not isinstance(expr, ast.expr):
            continue
        for generator in seeded:
            seeder = name if name.startswith(generator) else SEEDERS.get(generator, generator)
            yield Seeding(call, seeder, expr, frozenset(_Origins(program, identity, known, expr).of(expr)))


def draws(program: Program, functions: tuple[Scope, ...], seeder: str) -> ast.Call | None:
    """A call that draws from the global generator that ``seeder`` seeds, if one of ``functions`` has one."""
    return next(_all_draws(program, functions, seeder), None)


def _all_draws(program: Program, functions: tuple[Scope, ...], seeder: str) -> Iterator[ast.Call]:
    module = "torch" if seeder.startswith("torch.") else seeder.rpartition(".")[0]
    for function in functions:
        for scope in classes.with_inner(function):
            for call in scope.calls:
                of, _, name = (_called(program, call) or "").rpartition(".")
                own = of == module and name not in _NO_DRAWS and (module != "torch" or name in _TORCH_DRAWS)
                if own or (
                    module == "torch" and (_is_params(of, name) or _is_random(program, program.value(call.func)))
                ):
                    yield call


def _is_params(of: str, name: str) -> bool:
    """``RandomCrop.get_params(…)``, which draws for one sample."""
    return name == "get_params" and of.startswith("torchvision.transforms.")


def _is_random(program: Program, value: Value, depth: int = call_graph.DEEPEST_COMPOSITION) -> bool:
    """Whether a transform of torchvision, or one in it, draws from torch's global generator when it is called."""
    for one in alternatives(value):
        if isinstance(one, Made) and one.name.startswith("torchvision.transforms."):
            last = one.name.rpartition(".")[2]
            if last.startswith("Rand") or last in _RANDOM_TRANSFORMS:
                return True
            inner = call_graph.composed(program, one) if depth and program.models.has(one.name, "Composes") else ()
            if any(_is_random(program, part, depth - 1) for part in inner):
                return True
    return False


def _called(program: Program, call: ast.Call) -> str | None:
    found = {one.name if isinstance(one, External) else None for one in alternatives(program.value(call.func))}
    return found.pop() if len(found) == 1 else None


# --- where a seed comes from ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Origins:
    """Follows ``seed`` to what it is worked out from, in a function whose parameters are ``identity`` and ``bound``."""

    program: Program
    identity: str | None
    bound: Mapping[str, ast.expr]
    seed: ast.expr

    def of(self, expr: ast.expr, depth: int = _DEEPEST, *, summed: bool = False) -> Iterator[Origin]:
        """``summed`` where a number is worked out with ``expr``, which therefore is not None."""
        match expr:
            case ast.Constant(value=value):
                yield "other" if value is None else "constant"  # None asks the system for a fresh seed
            case ast.Name():
                is_number = summed or any(_is_told_from_none(self.program, expr, at) for at in (expr, self.seed))
                yield from self._of_name(expr, depth, is_number)
            case ast.Attribute(value=inner, attr=attr) if _is_worker_info(self.program, inner):
                yield _OF_WORKER_INFO.get(attr, "other")
            case ast.Subscript() if (call := _state_behind(self.program, expr)) is not None:
                yield from self._of_state(call, depth)
            case ast.Subscript(value=inner) if self.program.value(inner) == External("os.environ"):
                yield "constant"
            case ast.Call():
                yield from self._of_call(expr, depth, summed)
            case ast.BinOp() | ast.UnaryOp():
                for child in children(expr):
                    if isinstance(child, ast.expr):
                        yield from self.of(child, depth, summed=True)
            case _:
                yield _of_value(self.program.value(expr), summed or _is_told_from_none(self.program, expr))

    def _of_name(self, name: ast.Name, depth: int, is_number: bool) -> Iterator[Origin]:
        function = enclosing.function_of(self.program, name)
        bindings = function.bindings.get(name.id) or function.file.module.bindings.get(name.id, [])
        if name.id == self.identity:
            yield "id"
        elif name.id in self.bound:
            yield self._of_bound(self.bound[name.id], is_number)
        elif bindings and depth and all(one.kind == "assign" and not one.path for one in bindings):
            for binding in bindings:
                if binding.value is not None:
                    yield from self.of(binding.value, depth - 1, summed=is_number)
        elif not bindings and is_number and _is_kept(self.program, name, function):
            yield "constant"
        else:
            yield _of_value(self.program.value(name), is_number)

    def _of_bound(self, expr: ast.expr, is_number: bool) -> Origin:
        """What a ``partial`` bound when the loader was made: one number for all its workers and epochs."""
        is_number = is_number or _is_told_from_none(self.program, expr)
        return "constant" if is_number and not _varies(self.program, expr) else _of_value(self.program.value(expr))

    def _of_state(self, call: ast.Call, depth: int) -> Iterator[Origin]:
        """The first word of numpy's state at ``call``: the seed, where a number has just been that."""
        function, at = enclosing.function_of(self.program, call), self.program.site(call)
        before = [
            one
            for one in function.calls
            if one.args
            and self.program.site(one).order < at.order
            and _called(self.program, one) == "numpy.random.seed"
            and reached_by(self.program.site(one), at) == "always"
        ]
        if before and depth and not isinstance(before[-1].args[0], Display | Comprehension):
            yield from self.of(before[-1].args[0], depth - 1)
        else:
            yield "state"

    def _of_call(self, call: ast.Call, depth: int, summed: bool) -> Iterator[Origin]:
        name = _called(self.program, call)
        if name in _WHOLE_SEEDS:
            yield "base"
        elif name in _NUMBERS and len(call.args) == 1:
            yield from self.of(call.args[0], depth, summed=True)
        else:
            yield _of_value(self.program.value(call), summed)


def _of_value(value: Value, is_number: bool = False) -> Origin:
    found = [one for one in alternatives(value) if not (is_number and one == NONE)]
    fixed = bool(found) and all(_is_fixed(one, is_number) for one in found)
    return "constant" if fixed else "other"


def _is_fixed(value: Value, is_number: bool) -> bool:
    """Whether something is a number that stays the same in one run. None as a seed asks the system for a fresh one."""
    match value:
        case Option():
            return is_number or _is_fixed(value.default, is_number)
        case Made():
            return value.name in _SAME_IN_A_RUN or library().has(value.name, "Environment")
        case _:
            return isinstance(value, Const) and value.value is not None


@feature("seeds of functions around")
def _is_kept(program: Program, name: ast.Name, function: Scope) -> bool:
    """Whether a nested function reads what one around it got or made once, which no loop varies."""
    around = function.parent
    while around is not None and name.id not in around.bindings:
        around = around.parent
    if around is None or around.kind != "function" or name.id in around.remote or len(around.bindings[name.id]) != 1:
        return False
    made = around.bindings[name.id][0].kind in ("assign", "param")
    return made and not _is_of_epoch(name.id) and not _varies_by(program, name.id, around)


def _is_of_epoch(name: str) -> bool:
    """Whether something has the name of an epoch, not of their number."""
    return "epoch" in name and "epochs" not in name


def _is_told_from_none(program: Program, expr: ast.expr, at: ast.expr | None = None) -> bool:
    """Whether a test around ``seed``, or around what is seeded with it, asks for one: ``if seed is not None``."""
    name = dotted(expr)
    return name is not None and any(
        _asks_for_one(test, outcome, name) for test, outcome in enclosing.tests_around(program, at or expr)
    )


def _asks_for_one(test: ast.expr, outcome: bool, name: str) -> bool:
    match test:
        case ast.Compare(left=left, ops=(ast.IsNot() | ast.Is() as op,), comparators=(ast.Constant(value=None),)):
            return dotted(left) == name and outcome is isinstance(op, ast.IsNot)
        case _:
            return outcome and dotted(test) == name


@feature("seeds that a loop varies")
def _varies(program: Program, expr: ast.expr, depth: int = _DEEPEST) -> bool:
    """Whether a counting loop around ``expr``, or around a call that passes what it is made of, changes it, or another
    method. A loop over data sets makes another loader each time."""
    counting = (one for one in enclosing.loops_around(program, expr) if _counts(one))
    if any(enclosing.changes_in(program, expr, loop) for loop in counting):
        return True
    function = enclosing.function_of(program, expr)
    for node in ast.walk(expr):
        if _is_of_epoch((dotted(node) or "").rpartition(".")[2]):
            return True
        if (
            isinstance(node, ast.Attribute)
            and function.receiver is not None
            and dotted(node.value) == function.receiver
        ):
            stores = (enclosing.function_of(program, one.target) for one in program.attribute_stores(node.attr))
            if any(one.name != "__init__" and one.is_method for one in stores):
                return True
        if isinstance(node, ast.Name) and depth and _varies_by(program, node.id, function, depth):
            return True
    return False


def _varies_by(program: Program, name: str, function: Scope, depth: int = _DEEPEST) -> bool:
    """Whether what a name in a function is made of varies."""
    for binding in function.bindings.get(name, ()):
        made_of = [binding.value]
        if binding.kind == "param":
            made_of = [_passed(program, frame, name) for frame in call_graph.callers(program, function)]
        if any(one is not None and _varies(program, one, depth - 1) for one in made_of):
            return True
    return False


def _counts(loop: LoopNode) -> bool:
    return (
        isinstance(loop, ast.While)
        or loops.counts_epochs(loop)
        or any(isinstance(node, ast.Name) and node.id in ("range", "trange") for node in ast.walk(loop.iter))
    )


def _passed(program: Program, frame: Frame, name: str) -> ast.expr | None:
    node = arguments.passed(program, frame, name).node
    node = node.value if isinstance(node, ast.keyword) else node
    return node if isinstance(node, ast.expr) and node is not frame.call else None


def _is_worker_info(program: Program, expr: ast.expr) -> bool:
    """Whether an expression is what ``get_worker_info()`` returns."""
    if isinstance(expr, ast.Name):
        bindings = enclosing.function_of(program, expr).bindings.get(expr.id, [])
        return any(isinstance(one.value, ast.Call) and _asks_worker(program, one.value) for one in bindings)
    return isinstance(expr, ast.Call) and _asks_worker(program, expr)


def _asks_worker(program: Program, call: ast.Call) -> bool:
    return _called(program, call) == "torch.utils.data.get_worker_info"


@feature("state of numpy as a seed", None)
def _state_behind(program: Program, expr: ast.Subscript) -> ast.Call | None:
    """The call in ``numpy.random.get_state()[1][0]``."""
    match expr:
        case ast.Subscript(
            value=ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=1)), slice=ast.Constant(value=0)
        ):
            return call if _called(program, call) == "numpy.random.get_state" else None
        case _:
            return None


def is_whole_seed(program: Program, expr: ast.expr, depth: int = _DEEPEST) -> bool:
    """Whether an expression is torch's 64-bit seed of a worker, plus or minus something perhaps, but not cut down."""
    match expr:
        case ast.Call():
            return _called(program, expr) in _WHOLE_SEEDS
        case ast.Attribute(value=inner, attr="seed"):
            return _is_worker_info(program, inner)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return is_whole_seed(program, left, depth) or is_whole_seed(program, right, depth)
        case ast.Name(id=name):
            bindings = enclosing.function_of(program, expr).bindings.get(name, [])
            return bool(depth and bindings) and all(
                one.kind == "assign" and one.value is not None and not one.path
                and is_whole_seed(program, one.value, depth - 1)
                for one in bindings
            )  # fmt: skip
        case _:
            return False


def asks_for_worker(program: Program, test: ast.expr) -> bool:
    """Whether a test only asks if this is a worker: ``get_worker_info()``, ``info is not None``."""
    match test:
        case ast.Compare(left=left, ops=(ast.IsNot() | ast.NotEq(),), comparators=(ast.Constant(value=None),)):
            return _is_worker_info(program, left)
        case _:
            return _is_worker_info(program, test)


@feature("generators that are renewed")
def is_renewed(program: Program, name: str, made: ast.AST, drawn: ast.AST) -> bool:
    """Whether something gives ``name`` a new generator or state after its constructor, in a worker or for an epoch.
    What is ``made`` in a library may be drawn from in an example."""
    stores = (store.target for store in program.attribute_stores(name) if isinstance(store.target, ast.Attribute))
    calls = (call.func.value for call in program.method_calls(*RESEEDING) if isinstance(call.func, ast.Attribute))
    seeded = (one for one in calls if (dotted(one) or "").rpartition(".")[2] == name)
    if any(
        enclosing.function_of(program, one).name != "__init__" and _may_be(program, one, made, drawn)
        for one in (*stores, *seeded)
    ):
        return True
    return name in enclosing.function_of(program, drawn).outer


def _may_be(program: Program, node: ast.expr, made: ast.AST, drawn: ast.AST) -> bool:
    """Whether ``node`` may be what is drawn from: not in another sub-project, nor on self of an unrelated class."""
    around = (posixpath.dirname(posixpath.dirname(program.path(one))) for one in (made, drawn))
    if not program.path(node).startswith(tuple(around)):
        return False
    function, owner = enclosing.function_of(program, node), enclosing.function_of(program, drawn).parent
    if function.receiver is None or function.parent is None or owner is None:
        return True
    if (dotted(node) or "").partition(".")[0] != function.receiver or owner.kind != "class":
        return True
    here, there = Class(function.parent), Class(owner)
    return here in classes.lineage(program, there) or there in classes.lineage(program, here)


def seedings_at_start(program: Program) -> Iterator[tuple[Seeding, Loader, ast.Call | None]]:
    """Each seeding with a loader whose workers run it, and a call there that draws; None if none is seen to."""
    yield from _when_started(program)
    yield from _at_first_sample(program)


def _when_started(program: Program) -> Iterator[tuple[Seeding, Loader, ast.Call | None]]:
    """What ``worker_init_fn`` seeds, and where the samples of that loader draw."""
    for start in worker_starts(program):
        for seeded in seedings(program, start.function, start):
            yield seeded, start.loader, _drawing(program, start.loader, seeded.seeder)


def _at_first_sample(program: Program) -> Iterator[tuple[Seeding, Loader, ast.Call | None]]:
    """What datasets seed once in a worker, under a condition."""
    for dataset in datasets.dataset_classes(program):
        functions = datasets.fetching(program, dataset.cls)
        for function in functions:
            for seeded in seedings(program, function):
                if any(enclosing.tests_around(program, seeded.call)):
                    drawing = draws(program, functions, seeded.seeder)
                    for loader in workers.users(program, dataset.cls):
                        yield seeded, loader, drawing


def _drawing(program: Program, loader: Loader, seeder: str) -> ast.Call | None:
    """Where the samples of a loader draw from the generator that is seeded; None if they are not seen to."""
    for one in alternatives(loaders.argument(program, loader, "dataset").value):
        if isinstance(one, Instance):
            found = draws(program, datasets.fetching(program, one.cls), seeder)
            if found is not None:
                return found
    return None


def only_orders(program: Program, functions: tuple[Scope, ...], seeder: str) -> bool:
    """Whether all that is seen to be drawn from a global generator are orders, which are to be the same each time."""
    found = [called(call) for call in _all_draws(program, functions, seeder)]
    return bool(found) and samplers.ORDERING.issuperset(found)


def is_restored(program: Program, seeded: Seeding) -> bool:
    """Whether the function that seeds a generator sets it back to an earlier state, or has it seeded at random."""
    function = enclosing.function_of(program, seeded.call)
    return any(called(call) in _RESTORING or (called(call) == "seed" and not call.args) for call in function.calls)


DRAWING = ("albumentations", "audiomentations", "detectron2", "imgaug", "mmcv", "mmdet", "mmseg", "monai")
"""Libraries whose transforms draw from the generators of numpy and Python."""


def may_draw(program: Program, seeded: Seeding) -> bool:
    """Whether anything in the sub-project of a seeding draws from the generator that it seeds, or has a library do so.
    Of torch's generator draws torchvision, so that it always may."""
    near = seeded.call
    if seeded.seeder.startswith("torch") or any(program.mentions(near, name) for name in DRAWING):
        return True
    scopes = (scope for file in program.files for scope in file.scopes if scope.calls)
    return (
        draws(program, tuple(one for one in scopes if program.are_near(near, one.calls[0])), seeded.seeder) is not None
    )


def repeats(program: Program, seeded: Seeding, loader: Loader) -> bool:
    """Whether a seed is fixed but for the worker's id, in workers that do not outlive an epoch."""
    if "id" not in seeded.origins or not seeded.origins <= {"id", "constant"}:
        return False
    given = alternatives(loaders.argument(program, loader, "persistent_workers").value)
    known = [one for one in given if not isinstance(one, Unknown | Derived)]
    return bool(known) and all(isinstance(one, Absent) or truth_of(one) is False for one in known)


def may_draw_unseen(program: Program, seeded: Seeding, loader: Loader) -> bool:
    """Whether the dataset is not known, and something that may be in it draws from what is seeded."""
    found = alternatives(loaders.argument(program, loader, "dataset").value)
    known = all(isinstance(one, Instance | Made) for one in found)
    return not known and not seeded.seeder.startswith("torch.") and may_draw(program, seeded)
