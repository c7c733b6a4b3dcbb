"""Operators of DL4xx: samplers, seeds and ranks."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from mutants.code import Code, Function, behind_docstring, called, dotted, every, is_constant, method
from mutants.edits import REMOVED, Unfit, after, before, change, cut, name_of, replace
from mutants.loaders import WORKERS, has, is_plain, is_repeated
from mutants.mutant import EVALUATION, Fault, operator

if TYPE_CHECKING:
    from mutants.flow import Flow

Making = Iterator[Fault | Callable[[], Fault]]
NUMPY_DRAWS = {"rand", "randn", "randint", "uniform", "normal", "choice", "permutation", "shuffle", "random"}
RANDOM_DRAWS = {"random", "randint", "uniform", "choice", "sample", "shuffle", "randrange", "gauss", "choices"}


def draws(code: Code, cls: ast.ClassDef) -> Iterator[ast.Call]:
    """Draws from the global generators in ``__getitem__`` and the methods that it calls, but not where they failed."""
    read = method(cls, "__getitem__")
    functions: list[ast.AST] = [read] if read is not None else []
    for call in every(read, ast.Call) if read is not None else ():
        found = method(cls, dotted(call.func).removeprefix("self."))
        if found is not None and found not in functions and found.name != "__init__":
            functions.append(found)
    for function in functions:
        for call in every(function, ast.Call):
            home, _, name = code.resolved(call.func).rpartition(".")
            if code.enclosing(call, ast.ExceptHandler) is not None:
                continue
            if (home == "numpy.random" and name in NUMPY_DRAWS) or (home == "random" and name in RANDOM_DRAWS):
                yield call


def draws_of_numpy(code: Code, cls: ast.ClassDef) -> list[ast.Call]:
    return [it for it in draws(code, cls) if code.resolved(it.func).startswith("numpy.random")]


def drawing_loaders(code: Code, flow: Flow) -> list[ast.Call]:
    """Loaders that are trained on, with data sets that draw from numpy's global generator."""
    found = [loader for cls in flow.datasets() if not EVALUATION.search(cls.name) and draws_of_numpy(code, cls)
             for loader in flow.loaders_of(cls)]  # fmt: skip
    return [it for it in dict.fromkeys(found) if any(flow.trains(loop.node) for loop in flow.loops_of(it))]


def seeders(code: Code, flow: Flow) -> dict[Function, list[ast.Call]]:
    """The functions of the checkout that loaders have as ``worker_init_fn``, with these loaders."""
    found: dict[Function, list[ast.Call]] = {}
    for loader in flow.loaders:
        value = flow.argument(loader, "worker_init_fn")
        for function in code.definitions(value) if value is not None and flow.workers(loader) != 0 else ():
            if not isinstance(function, ast.ClassDef):
                found.setdefault(function, []).append(loader)
    return found


def _seeds(function: Function) -> list[ast.Call]:
    return [it for it in every(function, ast.Call) if called(it) in {"seed", "manual_seed"} and it.args]


def _with_seeder(code: Code, flow: Flow, loader: ast.Call, body: str, modules: tuple[str, ...]) -> Fault:
    """A new ``worker_init_fn`` of a loader, in front of the first definition of its file."""
    file = code.file(loader)
    names = {name: name_of(file, name) for name in modules}
    start = next((it for it in file.tree.body if isinstance(it, ast.FunctionDef | ast.ClassDef)), None)
    if start is None or start.lineno > loader.lineno:
        raise Unfit("nothing is defined before")
    function = f"def seed_worker(worker_id):\n    {body.format(**names)}\n\n"
    words: dict[str, str | None] = {"worker_init_fn": "seed_worker"}
    given = change(code, loader, words if flow.workers(loader) else {**words, "num_workers": WORKERS})
    return Fault([before(code, start, function), given], [loader, start])


def _unseeded(flow: Flow, loader: ast.Call) -> bool:
    return (
        is_plain(loader) and not has(flow, loader, "worker_init_fn") and flow.argument(loader, "worker_init_fn") is None
    )


@operator("DL401")
def forget_the_epoch(code: Code, flow: Flow) -> Making:
    """Takes every ``set_epoch`` away. Needs shuffling ``DistributedSampler``s, and a loader of one that is trained on
    every epoch in the same file, or in the only file that calls ``set_epoch``."""
    calls = code.calls["set_epoch"]
    mentions = sum(file.source.count(b"set_epoch") for file in code.files)
    samplers = [it for it in code.calls["DistributedSampler"] if not is_constant(_word(it, "shuffle"), False)]
    for home in {code.file(it) for it in calls}:
        own = [it for it in calls if code.file(it) is home]
        alone = len(own) == mentions
        near = samplers if alone else [it for it in samplers if code.file(it) is home]
        if (
            not near
            or len(own) != home.source.count(b"set_epoch")
            or not all(isinstance(code.up[it], ast.Expr) for it in own)
        ):
            continue
        loaders = [it for it in flow.loaders if has(flow, it, "sampler") and (alone or code.file(it) is home)]
        trained = [it for it in loaders if any(loop.repeated and flow.trains(loop.node) for loop in flow.loops_of(it))]
        if trained and not any(map(flow.is_prepared, trained)):
            yield Fault(
                [cut(code, code.statement(it)) for it in own],
                [*near, *own, *trained, *(loop.node.iter for it in trained for loop in flow.loops_of(it))],
            )


@operator("DL401")
def sample_by_rank(code: Code, flow: Flow) -> Making:
    """Gives a shuffling loader that is trained on every epoch a ``DistributedSampler``; nothing sets its epoch."""

    def make(loader: ast.Call, dataset: ast.expr) -> Fault:
        sampler = f"torch.utils.data.distributed.DistributedSampler({code.text(dataset)})"
        places = [loader, *(loop.node.iter for loop in flow.loops_of(loader) if loop.repeated)]
        return Fault([change(code, loader, {"shuffle": REMOVED, "sampler": sampler})], places)

    if any(b"set_epoch" in file.source for file in code.files):
        return
    for loader in flow.loaders:
        dataset = flow.argument(loader, "dataset")
        shuffles = is_constant(flow.argument(loader, "shuffle"), True) and len(loader.args) < 3
        if (
            shuffles
            and is_plain(loader)
            and isinstance(dataset, ast.Name)
            and not flow.is_prepared(loader)
            and code.file(loader).names.get("torch") == "torch"
            and not has(flow, loader, "sampler")
            and any(loop.repeated and flow.trains(loop.node) for loop in flow.loops_of(loader))
        ):
            yield partial(make, loader, dataset)


@operator("DL402")
def freeze_the_generator(code: Code, flow: Flow) -> Making:
    """Draws from a generator made in ``__init__``. Needs draws in the ``__getitem__`` of a training dataset."""

    def make(made: ast.FunctionDef, own: list[ast.Call], maker: str) -> Fault:
        prefix = code.text(own[0].func).rpartition(".")[0]
        if not prefix:
            raise Unfit("imported by name")
        edits = []
        for call in own:
            drawn = code.text(call.func).rpartition(".")[2]
            drawn = {"rand": "random_sample"}.get(drawn, drawn) if maker.startswith("RandomState") else drawn
            edits.append(replace(code, call.func, f"self.rng.{drawn}"))
        return Fault([after(code, made.body[-1], f"self.rng = {prefix}.{maker}"), *edits], [*own, made])

    for cls in flow.datasets():
        made = method(cls, "__init__")
        found = list(dict.fromkeys(draws(code, cls))) if not EVALUATION.search(cls.name) else []
        for home, maker in (("numpy.random", "RandomState(0)"), ("random", "Random(0)")):
            own = [it for it in found if code.resolved(it.func).rpartition(".")[0] == home]
            if own and made is not None and "seed" not in code.text(cls) and not isinstance(made.body[-1], ast.Return):
                yield partial(make, made, own, maker)


@operator("DL403")
def constant_seed(code: Code, flow: Flow) -> Making:
    """Gives all seeds of a ``worker_init_fn`` the number 42."""
    for function, loaders in seeders(code, flow).items():
        if _seeds(function):
            yield Fault([replace(code, it.args[0], "42") for it in _seeds(function)], [function, *loaders])


@operator("DL403")
def new_constant_seed(code: Code, flow: Flow) -> Making:
    """Adds a ``worker_init_fn`` that seeds numpy with 42, to the loader of a training dataset that draws from it."""
    for loader in drawing_loaders(code, flow):
        if _unseeded(flow, loader):
            yield partial(_with_seeder, code, flow, loader, "{numpy}.random.seed(42)", ("numpy",))


@operator("DL404")
def repeating_seed(code: Code, flow: Flow) -> Making:
    """Has a ``worker_init_fn`` seed by the worker's number alone, in workers that start anew for every epoch."""
    drawing = drawing_loaders(code, flow)
    for function, loaders in seeders(code, flow).items():
        worker = function.args.args[0].arg if function.args.args else ""
        again = [it for it in loaders if it in drawing and is_repeated(flow, it)]
        if _seeds(function) and worker and again and not any(has(flow, it, "persistent_workers") for it in loaders):
            yield Fault(
                [replace(code, it.args[0], f"{worker} + 1234") for it in _seeds(function)], [function, *loaders]
            )


@operator("DL404")
def new_repeating_seed(code: Code, flow: Flow) -> Making:
    """Adds a ``worker_init_fn`` that seeds numpy by the worker's number, to a training loader of several epochs."""
    for loader in drawing_loaders(code, flow):
        if (
            _unseeded(flow, loader)
            and flow.argument(loader, "persistent_workers") is None
            and is_repeated(flow, loader)
        ):
            yield partial(_with_seeder, code, flow, loader, "{numpy}.random.seed(1234 + worker_id)", ("numpy",))


@operator("DL404")
def state_of_numpy(code: Code, flow: Flow) -> Making:
    """Adds a ``worker_init_fn`` that seeds numpy from the first word of its own state, which torch made constant."""
    for loader in drawing_loaders(code, flow):
        if _unseeded(flow, loader) and is_repeated(flow, loader) and not code.is_for_old_torch:
            body = "{numpy}.random.seed({numpy}.random.get_state()[1][0] + worker_id)"
            yield partial(_with_seeder, code, flow, loader, body, ("numpy",))


@operator("DL406")
def shuffle_on_every_rank(code: Code, flow: Flow) -> Making:
    """Shuffles in place of ``sampler=DistributedSampler(…)``. Needs DistributedDataParallel and a training loop."""
    if not any(it in code.calls for it in ("DistributedDataParallel", "DDP")):
        return
    for loader in flow.loaders:
        sampler = flow.argument(loader, "sampler")
        values = _all_assigned(code, sampler)
        trained = [loop for loop in flow.loops_of(loader) if flow.trains(loop.node)]
        made = [it for it in values if called(it) == "DistributedSampler"]
        if (
            made
            and trained
            and is_plain(loader)
            and len(loader.args) < 3
            and not flow.is_prepared(loader)
            and not EVALUATION.search(code.text(code.statement(loader)).split("(")[0])
        ):
            yield Fault(
                [change(code, loader, {"sampler": REMOVED, "shuffle": "True"})],
                [loader, *(loop.node.iter for loop in trained)],
            )


@operator("DL407")
def reseed_for_every_sample(code: Code, flow: Flow) -> Making:
    """Seeds numpy from torch's seed of the worker at the start of ``__getitem__``, which draws from numpy itself."""

    def make(read: ast.FunctionDef, call: ast.Call) -> Fault:
        prefix = code.text(call.func).rpartition(".")[0]
        if code.file(read).names.get("torch") != "torch" or not prefix:
            raise Unfit("torch is not imported")
        first = behind_docstring(read)
        return Fault([before(code, first, f"{prefix}.seed(torch.initial_seed() % 2**32)")], [first])

    for cls in flow.datasets():
        read = method(cls, "__getitem__")
        own = [it for it in draws_of_numpy(code, cls) if code.scope(it) is read]
        if (
            own
            and read is not None
            and not (flow.loaders_of(cls) and all(flow.workers(it) == 0 for it in flow.loaders_of(cls)))
        ):
            yield partial(make, read, own[0])


@operator("DL407")
def reseed_with_a_constant(code: Code, flow: Flow) -> Making:
    """Seeds numpy with a constant at the start of ``__getitem__``, which draws from numpy itself."""

    def make(read: ast.FunctionDef, call: ast.Call) -> Fault:
        prefix = code.text(call.func).rpartition(".")[0]
        if not prefix:
            raise Unfit("a function of numpy's alone is imported")
        first = behind_docstring(read)
        return Fault([before(code, first, f"{prefix}.seed(42)")], [first])

    for cls in flow.datasets():
        read = method(cls, "__getitem__")
        own = [it for it in draws_of_numpy(code, cls) if code.scope(it) is read]
        if own and read is not None:
            yield partial(make, read, own[0])


@operator("DL408")
def oversize(code: Code, flow: Flow) -> Making:
    """Drops ``% 2**32`` of torch's seed, in a ``worker_init_fn`` that seeds numpy with it."""
    for function, loaders in seeders(code, flow).items():
        seeds = [it for it in _seeds(function) if code.resolved(it.func) == "numpy.random.seed"]
        given = [it.args[0] for it in seeds]
        for node in every(function, ast.BinOp):
            assign = code.up[node]
            name = dotted(assign.targets[0]) if isinstance(assign, ast.Assign) else ""
            is_given = node in given or (name != "" and name in map(dotted, given))
            if is_given and isinstance(node.op, ast.Mod) and "torch.initial_seed()" in code.text(node.left):
                yield Fault([replace(code, node, code.text(node.left))], [node, *seeds, *loaders])


@operator("DL408")
def new_oversized_seed(code: Code, flow: Flow) -> Making:
    """Adds a ``worker_init_fn`` that seeds numpy with torch's seed as it is, to the loader of a training dataset."""
    for loader in drawing_loaders(code, flow):
        if _unseeded(flow, loader):
            body = "{numpy}.random.seed({torch}.initial_seed())"
            yield partial(_with_seeder, code, flow, loader, body, ("numpy", "torch"))


@operator("DL409")
def pad_the_evaluation(code: Code, flow: Flow) -> Making:
    """Samples what is evaluated by rank. Needs a ``SequentialSampler`` or none, and DistributedDataParallel."""

    def make(loader: ast.Call, dataset: ast.expr) -> Fault:
        sampler = f"torch.utils.data.distributed.DistributedSampler({code.text(dataset)}, shuffle=False)"
        return Fault([change(code, loader, {"sampler": sampler, "shuffle": REMOVED})], [loader])

    if not any(it in code.calls for it in ("DistributedDataParallel", "DDP")):
        return
    for loader in flow.loaders:
        dataset = flow.argument(loader, "dataset")
        named = EVALUATION.search(code.text(code.statement(loader)).split("=")[0])
        loops = flow.loops_of(loader)
        if named and loops and isinstance(dataset, ast.Name) and is_plain(loader) and len(loader.args) < 3:
            free = (
                not has(flow, loader, "sampler")
                and not has(flow, loader, "batch_sampler")
                and not has(flow, loader, "shuffle")
            )
            if (
                free
                and not has(flow, loader, "drop_last")
                and not any(flow.trains(loop.node) for loop in loops)
                and code.file(loader).names.get("torch") == "torch"
                and not flow.is_prepared(loader)
            ):
                yield partial(make, loader, dataset)


def _word(call: ast.Call, name: str) -> ast.expr | None:
    return next((word.value for word in call.keywords if word.arg == name), None)


def _all_assigned(code: Code, value: ast.expr | None) -> list[ast.expr]:
    """A value, or all that its name is assigned in its function."""
    if not isinstance(value, ast.Name):
        return [value] if value is not None else []
    scope = code.scope(value)
    assigns = [code.up[it] for it in code.stores[value.id] if isinstance(it, ast.Name) and code.scope(it) is scope]
    return [it.value for it in assigns if isinstance(it, ast.Assign)]
