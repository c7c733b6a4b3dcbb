"""Operators of DL2xx: how a loader is built, and how it is iterated."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import partial

from mutants.code import Code, called, dotted, every, is_constant, loaded, method, stored
from mutants.edits import REMOVED, Edit, after, before, change, cut, importing, indentation, lines_of, replace
from mutants.flow import ITERATE, Flow, is_open
from mutants.mutant import EVALUATION, Fault, operator

WORKERS = "4"
Making = Iterator[Fault | Callable[[], Fault]]


def is_plain(loader: ast.Call) -> bool:
    """Whether all arguments are in sight, and none but the usual first ones by position."""
    return not is_open(loader) and len(loader.args) < 4


def has(flow: Flow, loader: ast.Call, name: str) -> bool:
    """Whether an argument is given and may be more than None, False or 0."""
    value = flow.argument(loader, name)
    return value is not None and not (isinstance(value, ast.Constant) and not value.value)


def source_of(loop: ast.For) -> tuple[ast.expr, bool]:
    """What a loop iterates, behind ``enumerate`` and progress bars, and whether it counts."""
    source, counted = loop.iter, False
    while isinstance(source, ast.Call) and called(source) in ITERATE and source.args:
        counted |= called(source) == "enumerate"
        source = source.args[0]
    return source, counted


def batch(loop: ast.For) -> ast.expr:
    """The target of a batch, without the count."""
    target = loop.target
    return target.elts[1] if source_of(loop)[1] and isinstance(target, ast.Tuple) and len(target.elts) == 2 else target


def names_of(loop: ast.For) -> set[str]:
    """The names of a batch, and of what it is unpacked into."""
    names = {it.id for it in every(batch(loop), ast.Name)}
    for node in loop.body:
        if isinstance(node, ast.Assign) and dotted(node.value) in names:
            names |= {it.id for it in every(node.targets[0], ast.Name)}
    return names


def copies(code: Code, loop: ast.For) -> Iterator[ast.Call]:
    """Copies of a batch, or an item of one, to the device: ``x.cuda(…)``, ``x.to(…)`` with a device.

    Not of what a call made of it, which is no tensor that the loader pinned.
    """
    names = names_of(loop)
    for node in every(loop, ast.Assign):
        if isinstance(node.value, ast.Call) and called(node.value) not in {"to", "cuda"}:
            names -= stored(node)
    for call in every(loop, ast.Call):
        if called(call) not in {"to", "cuda"} or not isinstance(call.func, ast.Attribute) or is_open(call):
            continue
        base = call.func.value
        item = base.value if isinstance(base, ast.Subscript) else base
        if not isinstance(item, ast.Name) or item.id not in names or code.scope(call) is not code.scope(loop):
            continue
        where = dotted(call.args[0]) if called(call) == "to" and call.args else ""
        if called(call) == "cuda" or (any(it in where.lower() for it in ("device", "gpu")) and _has_cuda(code)):
            yield call


def _has_cuda(code: Code) -> bool:
    return any(b"cuda" in file.source for file in code.files)


def is_repeated(flow: Flow, loader: ast.Call) -> bool:
    """Whether a loader built once is iterated epoch after epoch."""
    return any(loop.repeated for loop in flow.loops_of(loader))


@operator("DL201")
def iterator_anew(code: Code, flow: Flow) -> Making:
    """Takes each batch of a training loop by ``next(iter(loader))``. Needs one name or field to iterate."""

    def make(loop: ast.For) -> Fault:
        source, counted = source_of(loop)
        indentation(code, loop.body[0])
        count = code.text(loop.target.elts[0]) if counted and isinstance(loop.target, ast.Tuple) else "_"
        file = code.file(loop)
        header = Edit(
            file, file.span(loop.target)[0], file.span(loop.iter)[1], f"{count} in range(len({code.text(source)}))"
        )
        taken = before(code, loop.body[0], f"{code.text(batch(loop))} = next(iter({code.text(source)}))")
        return Fault([header, taken], [loop.iter])

    for loop, _ in flow.training_loops():
        source, counted = source_of(loop)
        if dotted(source) and loop.body[0].lineno > loop.lineno and (not counted or isinstance(loop.target, ast.Tuple)):
            yield partial(make, loop)


@operator("DL202")
def no_workers_for_an_option(code: Code, flow: Flow) -> Making:
    """Sets ``num_workers=0`` beside a literal option of workers."""
    for loader in flow.loaders:
        literal = is_constant(flow.argument(loader, "persistent_workers"), True)
        factor = flow.argument(loader, "prefetch_factor")
        if (
            (literal or (isinstance(factor, ast.Constant) and factor.value))
            and flow.argument(loader, "num_workers")
            and len(loader.args) < 6
        ):
            yield Fault([change(code, loader, {"num_workers": "0"})], [loader])


@operator("DL202")
def option_without_workers(code: Code, flow: Flow) -> Making:
    """Adds ``persistent_workers=True`` where no workers are asked for, or where an option's default asks for none."""
    for loader in flow.loaders:
        if is_plain(loader) and flow.workers(loader) == 0 and flow.argument(loader, "persistent_workers") is None:
            yield Fault([change(code, loader, {"persistent_workers": "True"})], [loader])


@operator("DL203")
def shuffle_beside_a_sampler(code: Code, flow: Flow) -> Making:
    """Adds ``shuffle=True`` beside ``sampler=``, made on the spot or assigned without a condition."""
    for loader in flow.loaders:
        sampler = flow.argument(loader, "sampler")
        values = _assigned(code, sampler)
        if (
            is_plain(loader)
            and len(loader.args) < 3
            and values
            and all(called(it).endswith("Sampler") for it in values)
        ):
            yield Fault([change(code, loader, {"shuffle": "True"})], [loader])


@operator("DL203")
def shuffle_an_iterable(code: Code, flow: Flow) -> Making:
    """Adds ``shuffle=True`` to a loader over an ``IterableDataset`` of the checkout."""
    for cls in flow.iterable_datasets():
        for loader in flow.loaders_of(cls):
            if (
                is_plain(loader)
                and len(loader.args) < 3
                and not has(flow, loader, "shuffle")
                and len(flow.classes_of(loader)) == 1
            ):
                yield Fault([change(code, loader, {"shuffle": "True"})], [loader])


@operator("DL203")
def size_beside_a_batch_sampler(code: Code, flow: Flow) -> Making:
    """Adds ``batch_size=8`` beside ``batch_sampler=``, which is made without a condition."""
    for loader in flow.loaders:
        values = _assigned(code, flow.argument(loader, "batch_sampler"))
        if (
            values
            and all(called(it) for it in values)
            and is_plain(loader)
            and len(loader.args) < 2
            and not has(flow, loader, "batch_size")
        ):
            yield Fault([change(code, loader, {"batch_size": "8"})], [loader])


def _assigned(code: Code, value: ast.expr | None) -> list[ast.expr]:
    """What a name holds, all that is assigned to it in its function; a value that is no name stands for itself."""
    if not isinstance(value, ast.Name):
        return [value] if value is not None else []
    scope = code.scope(value)
    targets = [it for it in code.stores[value.id] if code.scope(it) is scope and isinstance(it, ast.Name)]
    assigns = [code.up[it] for it in targets]
    return (
        [it.value for it in assigns if isinstance(it, ast.Assign)]
        if all(isinstance(it, ast.Assign) for it in assigns)
        else []
    )


@operator("DL204")
def drop_persistent_workers(code: Code, flow: Flow) -> Making:
    """Drops ``persistent_workers=True`` of a loader with workers that is iterated every epoch."""
    for loader in flow.loaders:
        if (
            is_constant(flow.argument(loader, "persistent_workers"), True)
            and (flow.workers(loader) or 0) > 1
            and is_repeated(flow, loader)
        ):
            yield Fault([change(code, loader, {"persistent_workers": REMOVED})], [loader])


@operator("DL204")
def give_workers(code: Code, flow: Flow) -> Making:
    """Gives workers to a loader that has none, in its call, and is iterated every epoch."""
    for loader in _idle_and_repeated(flow):
        value = flow.argument(loader, "num_workers")
        if is_plain(loader) and (value is None or flow.default(value) is None):
            yield Fault([change(code, loader, {"num_workers": WORKERS})], [loader])


@operator("DL204")
def give_workers_by_an_option(code: Code, flow: Flow) -> Making:
    """Gives workers to a loader by the default of its option on the command line; it is iterated every epoch."""
    for loader in _idle_and_repeated(flow):
        value = flow.argument(loader, "num_workers")
        default = flow.default(value) if value is not None else None
        if default is not None and is_constant(default, 0):
            yield Fault([replace(code, default, "8")], [loader])


@operator("DL204")
def workers_for_lightning(code: Code, flow: Flow) -> Making:
    """Gives workers that do not persist to the loader that a hook of Lightning returns; its trainer counts epochs."""
    for loader in flow.loaders:
        hook, cls = code.scope(loader), code.owner(loader)
        returned = isinstance(code.up[loader], ast.Return) and isinstance(hook, ast.FunctionDef)
        if (
            returned
            and cls is not None
            and getattr(hook, "name", "") in {"train_dataloader", "val_dataloader"}
            and any(
                base.rpartition(".")[2] in {"LightningModule", "LightningDataModule"} for base in code.ancestors(cls)
            )
            and is_plain(loader)
        ):
            words: dict[str, str | None] = {"num_workers": WORKERS, "persistent_workers": REMOVED}
            yield Fault([change(code, loader, words)], [loader])


def _idle_and_repeated(flow: Flow) -> Iterator[ast.Call]:
    for loader in flow.loaders if not flow.code.is_for_old_torch else ():
        if (
            not flow.workers(loader)
            and not is_open(loader)
            and flow.argument(loader, "persistent_workers") is None
            and is_repeated(flow, loader)
            and not flow.is_prepared(loader)
            and not _is_renewed(flow, loader)
        ):
            yield loader


def _is_renewed(flow: Flow, loader: ast.Call) -> bool:
    """Whether an epoch loop may change the dataset, of which workers that persist would keep a copy."""
    code, name = flow.code, dotted(flow.argument(loader, "dataset")) or "dataset"
    places = [*flow.reach[loader].through, *(loop.node for loop in flow.loops_of(loader))]
    epochs = {outer for it in places if (outer := code.epoch_loop(it)) is not None}
    changed = re.compile(rf"\b(?:{re.escape(name)}|\w*dataset)\.\w+(?:\(|\.| *=[^=])")
    return any(changed.search(code.text(outer)) for outer in epochs)


@operator("DL205")
def build_in_loop(code: Code, flow: Flow) -> Making:
    """Moves what builds a loader, by itself or by a function, into the epoch loop that stands behind it in its block.

    Needs workers, names that the loop leaves alone, and no use between the two places.
    """

    def make(loader: ast.Call, made: ast.stmt, loop: ast.stmt) -> Fault:
        assert isinstance(loop, ast.For | ast.While)
        edits = [] if flow.workers(loader) else [change(code, loader, {"num_workers": WORKERS})]
        old = new = ""
        if edits and made.lineno <= loader.lineno <= (made.end_lineno or 0) and code.file(made) is code.file(loader):
            old, new = code.text(loader), edits.pop()().text
        source = lines_of(code, made, old, new)
        header = loop.iter if isinstance(loop, ast.For) else loop.test
        return Fault([cut(code, made), before(code, loop.body[0], source), *edits], [header, loop.body[0], loader])

    for loader in flow.loaders:
        if not is_repeated(flow, loader) or (flow.workers(loader) is None and not is_plain(loader)):
            continue
        for call in [loader, *flow.reach[loader].built]:
            made = code.up[call]
            block = getattr(code.up[made], "body", []) if isinstance(made, ast.Assign) else []
            if made not in block:
                continue
            behind = block[block.index(made) + 1 :]
            loop = next(
                (it for it in behind if isinstance(it, ast.For | ast.While) and code.epoch_loop(it.body[0]) is it), None
            )
            if loop is None or not isinstance(made, ast.Assign):
                continue
            names = {name for target in made.targets for name in stored(target) if name}
            between = {it for node in behind[: behind.index(loop)] for it in loaded(node)}
            inside = loaded(loop) | stored(loop)
            inputs = loaded(made.value) - {dotted(call.func).partition(".")[0]}
            handed = {it for it in inputs if it in inside and not _is_settings(it)}
            if (
                not names & between
                and not handed
                and not inputs & stored(loop)
                and names & loaded(loop)
                and "set_epoch" not in code.text(loop)
                and "." not in "".join(names)
            ):
                yield partial(make, loader, made, loop)


def _is_settings(name: str) -> bool:
    """Whether a name of a call is that of parsed options, which a loop may read."""
    return (
        name in {"args", "opt", "opts", "cfg", "config", "hps", "hparams", "params", "FLAGS", "device"}
        or name.isupper()
    )


@operator("DL206")
def count_cpus(code: Code, flow: Flow) -> Making:
    """Puts the host's CPU count in place of a literal ``num_workers``."""

    def make(loader: ast.Call) -> Fault:
        return Fault(
            [*importing(code, code.file(loader), "os"), change(code, loader, {"num_workers": "os.cpu_count()"})],
            [loader],
        )

    for loader in flow.loaders:
        if (
            isinstance(flow.argument(loader, "num_workers"), ast.Constant)
            and flow.workers(loader)
            and len(loader.args) < 6
        ):
            yield partial(make, loader)


@operator("DL206")
def count_cpus_for_an_option(code: Code, flow: Flow) -> Making:
    """Makes the host's CPU count the default of an option for ``num_workers``."""

    def make(loader: ast.Call, default: ast.expr) -> Fault:
        edits = [*importing(code, code.file(default), "os"), replace(code, default, "os.cpu_count()")]
        return Fault(edits, [loader, default])

    for loader in flow.loaders:
        value = flow.argument(loader, "num_workers")
        default = flow.default(value) if value is not None else None
        if default is not None and isinstance(default, ast.Constant):
            yield partial(make, loader, default)


@operator("DL207")
def take_workers(code: Code, flow: Flow) -> Making:
    """Takes the workers of a loader that is trained on every epoch, over a dataset that reads files for a sample."""
    for loader in flow.loaders:
        if (flow.workers(loader) or 0) > 0 and len(loader.args) < 6 and not is_open(loader):
            plain = not any(flow.argument(loader, it) for it in ("persistent_workers", "prefetch_factor", "timeout"))
            if (
                plain
                and _reads_files(code, flow, loader)
                and any(loop.repeated and flow.trains(loop.node) for loop in flow.loops_of(loader))
            ):
                yield Fault([change(code, loader, {"num_workers": "0"})], [loader])


def _reads_files(code: Code, flow: Flow, loader: ast.Call) -> bool:
    readers = [method(cls, "__getitem__") for cls in flow.classes_of(loader)]
    return any(
        re.search(r"\b(open|imread|read_image|decode|read)\(", code.text(it)) for it in readers if it is not None
    )


@operator("DL208")
def share_under_the_guard(code: Code, flow: Flow) -> Making:
    """Chooses the sharing strategy under the main guard, where spawned workers never see it."""

    def make(loader: ast.Call, guard: ast.If) -> Fault:
        chosen = before(code, guard.body[0], 'torch.multiprocessing.set_sharing_strategy("file_system")')
        spawned = change(code, loader, {"num_workers": WORKERS, "multiprocessing_context": '"spawn"'})
        return Fault([chosen, spawned], [guard.body[0], loader])

    for loader in flow.loaders:
        file = code.file(loader)
        guard = next((it for it in file.tree.body if isinstance(it, ast.If) and "__name__" in code.text(it.test)), None)
        if (
            guard is not None
            and is_plain(loader)
            and flow.loops_of(loader)
            and file.names.get("torch") == "torch"
            and b"sharing_strategy" not in file.source
        ):
            yield partial(make, loader, guard)


@operator("DL209")
def name_the_pin_device(code: Code, flow: Flow) -> Making:
    """Adds ``pin_memory_device="cuda"`` beside ``pin_memory``, where no old torch is declared, which heeds it."""
    for loader in flow.loaders if not code.is_for_old_torch else ():
        if has(flow, loader, "pin_memory") and not is_open(loader):
            yield Fault([change(code, loader, {"pin_memory_device": '"cuda"'})], [loader])


@operator("DL210")
def pin_without_workers(code: Code, flow: Flow) -> Making:
    """Takes the workers of a loader that pins; its batches are copied to the device while it trains."""
    for loop, loaders in flow.training_loops():
        moved = list(copies(code, loop))
        for loader in loaders if moved else ():
            if is_constant(flow.argument(loader, "pin_memory"), True) and len(loader.args) < 6 and not is_open(loader):
                plain = not any(
                    flow.argument(loader, it) for it in ("persistent_workers", "prefetch_factor", "timeout")
                )
                if flow.workers(loader) != 0 and plain:
                    yield Fault([change(code, loader, {"num_workers": "0"})], [loader])


@operator("DL211")
def set_later(code: Code, flow: Flow) -> Making:
    """Assigns ``batch_size`` to a loader behind its construction, or behind the call of the function that builds it."""
    for loader in flow.loaders:
        reach = flow.reach[loader]
        for call in [loader, *(it for it in reach.built if it in reach.expressions)]:
            made = code.up[call]
            if isinstance(made, ast.Assign) and (name := dotted(made.targets[0])):
                yield Fault([after(code, made, f"{name}.batch_size = 1")], [made])


@operator("DL410")
def drop_the_last_batch(code: Code, flow: Flow) -> Making:
    """Sets ``drop_last=True`` on a loader that is only evaluated, in loops that are all known; with batches of one it
    would drop nothing."""
    for loader in flow.loaders:
        loops, size = flow.loops_of(loader), flow.argument(loader, "batch_size")
        named = EVALUATION.search(code.text(code.statement(loader)).split("=")[0])
        if (
            loops
            and named
            and is_plain(loader)
            and size is not None
            and not is_constant(size, 1)
            and not has(flow, loader, "drop_last")
            and not any(flow.trains(loop.node) for loop in loops)
            and not has(flow, loader, "batch_sampler")
            and all(_evaluates(code, loop.node) for loop in loops)
        ):
            yield Fault([change(code, loader, {"drop_last": "True"})], [loader])


def _evaluates(code: Code, loop: ast.For) -> bool:
    """Whether the function around a loop says so: no gradients, or the model's evaluation mode."""
    scope = code.scope(loop)
    text = code.text(scope) if not isinstance(scope, ast.Module) else ""
    decorators = getattr(scope, "decorator_list", [])
    return (
        "no_grad" in text
        or ".eval()" in text
        or "inference_mode" in text
        or any("no_grad" in code.text(it) for it in decorators)
    )


@operator("DL411")
def forget_to_shuffle(code: Code, flow: Flow) -> Making:
    """Drops ``shuffle=True`` of a map-style loader that is trained on for several epochs, unless split at random."""
    for loader in flow.loaders:
        if (
            is_constant(flow.argument(loader, "shuffle"), True)
            and is_plain(loader)
            and len(loader.args) < 3
            and any(loop.repeated and flow.trains(loop.node) for loop in flow.loops_of(loader))
            and not any(has(flow, loader, it) for it in ("sampler", "batch_sampler"))
            and not _is_split_at_random(code, loader)
        ):
            yield Fault([change(code, loader, {"shuffle": REMOVED})], [loader])


def _is_split_at_random(code: Code, loader: ast.Call) -> bool:
    """Whether a dataset is a part of ``random_split``, whose records are in no stored order."""
    split = (code.statement(it) for it in code.calls["random_split"] if code.file(it) is code.file(loader))
    return any(not loaded(loader).isdisjoint(stored(it)) for it in split)


@operator("DL212")
def ask_for_one_more(code: Code, flow: Flow) -> Making:
    """Gives a ``collate_fn`` or ``worker_init_fn`` of one parameter a second one, which no loader passes."""

    def make(function: ast.FunctionDef, loader: ast.Call) -> Fault:
        last = function.args.args[-1]
        return Fault([replace(code, last, f"{code.text(last)}, settings")], [function, loader])

    for loader in flow.loaders:
        for name in ("collate_fn", "worker_init_fn"):
            value = flow.argument(loader, name)
            for function in code.definitions(value) if isinstance(value, ast.Name | ast.Attribute) else ():
                if isinstance(function, ast.FunctionDef) and _takes_one(function) and _may_call(flow, loader, name):
                    yield partial(make, function, loader)


def _takes_one(function: ast.FunctionDef) -> bool:
    args = function.args
    own = [it for it in args.args if it.arg != "self"]
    return len(own) == 1 and not (args.defaults or args.vararg or args.kwarg or function.decorator_list)


def _may_call(flow: Flow, loader: ast.Call, name: str) -> bool:
    return name == "collate_fn" or flow.workers(loader) != 0


@operator("DL213")
def leave_a_parameter_out(code: Code, flow: Flow) -> Making:
    """Drops ``num_workers=num_workers`` of a loader in a function that reads that parameter nowhere else, and that a
    call gives it a constant above 0."""
    for loader in flow.loaders:
        value, scope = flow.argument(loader, "num_workers"), code.scope(loader)
        if not isinstance(value, ast.Name) or not isinstance(scope, ast.FunctionDef) or is_open(loader):
            continue
        param = next((it for it in (*scope.args.args, *scope.args.kwonlyargs) if it.arg == value.id), None)
        reads = [it for it in every(scope, ast.Name) if it.id == value.id]
        given = [word.value for call in flow.callers(scope) for word in call.keywords if word.arg == value.id]
        if (
            param is not None
            and param.arg == "num_workers"
            and len(reads) == 1
            and any(isinstance(it, ast.Constant) and it.value for it in given)
            and any(word.arg == "num_workers" for word in loader.keywords)
        ):
            yield Fault([change(code, loader, {"num_workers": REMOVED})], [param])


@operator("DL213")
def leave_an_option_out(code: Code, flow: Flow) -> Making:
    """Drops ``num_workers=args.workers`` of the one loader of a script, which reads that option nowhere else."""
    for loader in flow.loaders:
        value, file = flow.argument(loader, "num_workers"), code.file(loader)
        if not isinstance(value, ast.Attribute) or not isinstance(value.value, ast.Name) or is_open(loader):
            continue
        mine = [it for it in flow.options[value.attr] if code.file(it) is file]
        reads = [it for it in every(file.tree, ast.Attribute) if it.attr == value.attr]
        default = flow.default(value)
        parsed = any(code.file(it) is file for name in ("parse_args", "parse_known_args") for it in code.calls[name])
        if (
            len(mine) == len(reads) == 1
            and isinstance(default, ast.Constant)
            and default.value
            and parsed
            and sum(code.file(it) is file for it in flow.loaders) == 1
            and any(word.arg == "num_workers" for word in loader.keywords)
        ):
            yield Fault([change(code, loader, {"num_workers": REMOVED})], [mine[0]])
