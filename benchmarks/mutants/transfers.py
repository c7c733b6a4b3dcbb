"""Operators of DL1xx: copies between host and device, and what waits for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from mutants.code import Code, called, dotted, every, is_constant, loaded, stored
from mutants.edits import REMOVED, after, before, change, cut, lines_of, replace
from mutants.flow import Flow, is_open
from mutants.loaders import copies, has
from mutants.mutant import Fault, operator

Making = Iterator[Fault | Callable[[], Fault]]
MODELS = re.compile(r"(^|\.|_)(model|net|network|encoder|decoder|generator|classifier|backbone)$", re.I)
HOST_TENSORS = {
    f"torch.{it}"
    for it in (
        "tensor",
        "from_numpy",
        "FloatTensor",
        "LongTensor",
        "Tensor",
        "ones",
        "zeros",
        "arange",
        "eye",
        "linspace",
    )
}

OF_A_SHAPE = {f"torch.{it}" for it in ("zeros", "ones", "full", "empty", "eye")}


def _is_unpinned(flow: Flow, loader: ast.Call) -> bool:
    value = flow.argument(loader, "pin_memory")
    return not is_open(loader) and (value is None or is_constant(value, False))


def _is_pinned(flow: Flow, loader: ast.Call) -> bool:
    return is_constant(flow.argument(loader, "pin_memory"), True) and flow.workers(loader) != 0


def _moves(code: Code, loop: ast.For, *, non_blocking: bool) -> list[ast.Call]:
    def word(call: ast.Call) -> ast.expr | None:
        return next((it.value for it in call.keywords if it.arg == "non_blocking"), None)

    return [it for it in copies(code, loop) if (is_constant(word(it), True) if non_blocking else word(it) is None)]


@operator("DL101")
def pin_by_hand(code: Code, flow: Flow) -> Making:
    """Pins a batch right before its copy. Needs a training loop whose loaders all do not pin."""

    def make(copy: ast.Call) -> Fault:
        assert isinstance(copy.func, ast.Attribute)
        text = change(code, copy, {"non_blocking": "True"})().text
        base = code.text(copy.func.value)
        return Fault([replace(code, copy, f"{base}.pin_memory(){text.removeprefix(base)}")], [copy])

    for loop, loaders in flow.training_loops():
        if all(_is_unpinned(flow, loader) for loader in loaders):
            for copy in copies(code, loop):
                yield partial(make, copy)


@operator("DL102")
def block(code: Code, flow: Flow) -> Making:
    """Drops ``non_blocking=True``. Needs a training loop whose loaders all pin and have workers."""
    for loop, loaders in flow.training_loops():
        if all(_is_pinned(flow, loader) for loader in loaders):
            for copy in _moves(code, loop, non_blocking=True):
                yield Fault([change(code, copy, {"non_blocking": REMOVED})], [copy])


@operator("DL102")
def pin_what_is_copied_blocking(code: Code, flow: Flow) -> Making:
    """Has all loaders of a training loop pin, with workers; the loop goes on to copy without ``non_blocking``."""

    def make(loaders: list[ast.Call], moves: list[ast.Call]) -> Fault:
        words: dict[str, str | None] = {"pin_memory": "True"}
        edits = [change(code, it, words if flow.workers(it) else {**words, "num_workers": "4"}) for it in loaders]
        return Fault(edits, moves)

    for loop, loaders in flow.training_loops():
        moves = _moves(code, loop, non_blocking=False)
        if moves and all(_is_unpinned(flow, it) and len(it.args) < 6 for it in loaders):
            yield partial(make, loaders, moves)


@operator("DL103")
def unpin(code: Code, flow: Flow) -> Making:
    """Drops ``pin_memory=True`` of all loaders of a training loop that copies with ``non_blocking=True``."""
    for loop, loaders in flow.training_loops():
        moves = _moves(code, loop, non_blocking=True)
        if moves and all(_is_pinned(flow, it) and not is_open(it) for it in loaders):
            yield Fault([change(code, it, {"pin_memory": REMOVED}) for it in loaders], [*moves, *loaders])


@operator("DL103")
def do_not_wait(code: Code, flow: Flow) -> Making:
    """Adds ``non_blocking=True`` to a copy in a training loop whose loaders all do not pin."""
    for loop, loaders in flow.training_loops():
        if all(_is_unpinned(flow, it) for it in loaders):
            for copy in _moves(code, loop, non_blocking=False):
                yield Fault([change(code, copy, {"non_blocking": "True"})], [copy, *loaders])


@operator("DL104")
def read_early(code: Code, flow: Flow) -> Making:  # noqa: ARG001 - all operators are called alike
    """Makes ``.cpu()`` in front of ``.numpy()`` asynchronous. Needs what a model returned, and CUDA."""

    def make(call: ast.Call) -> Fault:
        assert isinstance(call.func, ast.Attribute)
        return Fault([replace(code, call, code.text(call.func.value) + '.to("cpu", non_blocking=True)')], [call])

    for call in code.calls["cpu"]:
        read = code.up[call]
        if call.args or not (isinstance(read, ast.Attribute) and read.attr in {"numpy", "tolist"}):
            continue
        root: ast.AST = call
        while isinstance(root, ast.Call | ast.Attribute | ast.Subscript):
            root = root.func if isinstance(root, ast.Call) else root.value
        if not isinstance(root, ast.Name):
            continue
        assigns = [it for it in every(code.scope(call), ast.Assign) if root.id in stored(it)]
        made = assigns[0].value if len(assigns) == 1 else None
        if (
            isinstance(made, ast.Call)
            and MODELS.search(dotted(made.func))
            and b"cuda" in code.file(call).source
            and not _waits(code, call)
        ):
            yield partial(make, call)


def _waits(code: Code, call: ast.Call) -> bool:
    """Whether another copy to the host stands in the statement or behind it in its block: that one would wait."""
    here = code.statement(call)
    blocks = [value for _, value in ast.iter_fields(code.up[here]) if isinstance(value, list) and here in value]
    behind = " ".join(code.text(it) for block in blocks for it in block[block.index(here) :])
    return len(re.findall(r"\.(?:cpu|item|tolist)\(", behind)) > 1


@operator("DL105")
def empty_the_cache(code: Code, flow: Flow) -> Making:
    """Empties the cache at the end of each pass of a training loop."""
    for loop, _ in flow.training_loops():
        if code.file(loop).names.get("torch") == "torch":
            yield Fault([after(code, loop.body[-1], "torch.cuda.empty_cache()")], [loop.body[-1]])


@operator("DL106")
def copy_in_the_loop(code: Code, flow: Flow) -> Making:
    """Moves the making of a host tensor and its copy to the device into the loop that reads it.

    Needs one assignment before the loop, in its block or in one around it, of values that the loop leaves alone.
    """

    def make(made: ast.Assign, loop: ast.For) -> Fault:
        return Fault([cut(code, made), before(code, loop.body[0], lines_of(code, made))], [loop.body[0], made])

    for loop in dict.fromkeys([*flow.loaders_over, *(step.loop for step in _steps(code) if step.loop is not None)]):
        for made in _before(code, loop):
            if not isinstance(made, ast.Assign) or not isinstance(made.targets[0], ast.Name):
                continue
            name, value = made.targets[0].id, made.value
            if not (
                isinstance(value, ast.Call)
                and called(value) in {"to", "cuda"}
                and isinstance(value.func, ast.Attribute)
            ):
                continue
            host = value.func.value
            if isinstance(host, ast.Call) and code.is_called(host, *HOST_TENSORS) and name in loaded(loop):
                inside = {*ast.walk(loop), *ast.walk(made)}
                elsewhere = [it for it in every(code.scope(loop), ast.Name) if it.id == name and it not in inside]
                changed = re.search(rf"\b{name}\b\s*(\[[^\]]*\]\s*)?[-+*/]?=[^=]|\b{name}\.\w+_\(", code.text(loop))
                if not elsewhere and not changed and not loaded(value) & stored(loop):
                    yield partial(make, made, loop)


def _before(code: Code, loop: ast.For) -> Iterator[ast.stmt]:
    """What comes before a loop in its function, in the blocks around it."""
    inner: ast.AST = loop
    for outer in code.around(loop):
        for _, block in ast.iter_fields(outer):
            if isinstance(block, list) and inner in block:
                yield from block[: block.index(inner)]
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            return
        inner = outer


@operator("DL106")
def copy_a_constant(code: Code, flow: Flow) -> Making:  # noqa: ARG001 - all operators are called alike
    """Builds a tensor of three numbers on the host beside the copy of a batch, in a step of a training, and copies it
    to where the batch goes."""
    for step in _steps(code):
        for statement, copy, _ in _copied(code, step.loop)[:1] if step.loop is not None else ():
            text = f"scale = torch.tensor([0.2, 0.3, 0.5]){_how(code, copy)}\nprint(scale.shape)"
            if code.file(copy).names.get("torch") == "torch" and "scale" not in loaded(code.scope(copy)):
                yield partial(lambda it, text: Fault([after(code, it, text)], [it]), statement, text)


@operator("DL106")
def copy_what_stays(code: Code, flow: Flow) -> Making:  # noqa: ARG001 - all operators are called alike
    """Copies a tensor of three numbers, built in front of the loop of a training, to where the batch goes, in each of
    its steps."""

    def make(loop: ast.For, statement: ast.Assign, how: str) -> Fault:
        edits = [
            before(code, loop, "scale = torch.tensor([0.2, 0.3, 0.5])"),
            after(code, statement, f"print(scale{how}.shape)"),
        ]
        return Fault(edits, [statement])

    for step in _steps(code):
        for statement, copy, _ in _copied(code, step.loop)[:1] if step.loop is not None else ():
            if code.file(copy).names.get("torch") == "torch" and "scale" not in loaded(code.scope(copy)):
                assert step.loop is not None
                yield partial(make, step.loop, statement, _how(code, copy))


def _how(code: Code, copy: ast.Call) -> str:
    """The source of a copy without what is copied: ``.to(device, non_blocking=True)``."""
    assert isinstance(copy.func, ast.Attribute)
    return code.text(copy).removeprefix(code.text(copy.func.value))


@operator("DL106")
def build_on_the_host(code: Code, flow: Flow) -> Making:  # noqa: ARG001 - all operators are called alike
    """Builds a tensor of a shape on the host and copies it, where a step of a training, or a function that it calls,
    makes it on the device."""

    def make(call: ast.Call, where: ast.expr) -> Fault:
        text = change(code, call, {"device": REMOVED})().text
        return Fault([replace(code, call, f"{text}.to({code.text(where)})")], [call])

    seen: set[ast.AST] = set()
    for step in _steps(code):
        blocks = [*step.block]
        for call in [it for node in step.block for it in every(node, ast.Call)]:
            blocks += [it for it in code.definitions(call.func)
                       if not isinstance(it, ast.ClassDef) and code.file(it) is code.file(call)]  # fmt: skip
        for call in [it for node in blocks for it in every(node, ast.Call)]:
            where = next((word.value for word in call.keywords if word.arg == "device"), None)
            if where is None or call in seen or not code.is_called(call, *OF_A_SHAPE) or _is_at_times(code, call):
                continue
            seen.add(call)
            if any(word in code.text(where).lower() for word in ("device", "cuda", "gpu")):
                yield partial(make, call, where)


def _is_at_times(code: Code, node: ast.AST) -> bool:
    """Whether a test within its loop or function stands around a node."""
    for outer in code.around(node):
        if isinstance(outer, ast.If | ast.IfExp | ast.Try | ast.Match | ast.While):
            return True
        if isinstance(outer, ast.For | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return False
    return False


@operator("DL107")
def do_not_wait_for_the_stream(code: Code, flow: Flow) -> Making:  # noqa: ARG001 - all operators are called alike
    """Takes ``wait_stream`` out of a prefetcher that copies on a stream of its own."""
    for call in code.calls["wait_stream"]:
        home = code.owner(call) or code.scope(call)
        statement = code.up[call]
        if (
            isinstance(statement, ast.Expr)
            and "cuda.stream(" in code.text(home)
            and "non_blocking" in code.text(home)
            and code.text(home).count("wait_stream") == 1
        ):
            yield Fault([cut(code, statement)], [statement, home])


@operator("DL108")
def print_every_step(code: Code, flow: Flow) -> Making:
    """Takes the condition on the step's number away from what reads device tensors in a training loop that reads none
    in each step."""
    for loop, _ in flow.training_loops():
        for node in loop.body if not _reads_each_step(loop.body) else ():
            if (
                isinstance(node, ast.If)
                and not node.orelse
                and isinstance(node.test, ast.Compare)
                and "%" in code.text(node.test)
            ):
                reads = [it for inner in node.body for it in every(inner, ast.Call) if called(it) == "item"]
                if reads:
                    yield Fault([replace(code, node.test, "True")], [node, *reads])


@operator("DL108")
def read_twice(code: Code, flow: Flow) -> Making:  # noqa: ARG001 - all operators are called alike
    """Prints the loss behind its backward pass and again behind the optimizer's step, in a step of a training that
    reads nothing each time."""

    def make(step: _Step) -> Fault:
        text = f"print({step.loss}.item())"
        return Fault([after(code, step.backward, text), after(code, step.step, text)], [step.backward, step.step])

    for step in _steps(code):
        if not _reads_each_step(step.block):
            yield partial(make, step)


@operator("DL108")
def read_once_more(code: Code, flow: Flow) -> Making:  # noqa: ARG001 - all operators are called alike
    """Prints the loss behind its backward pass, in a step of a training that reads it behind the optimizer's step."""

    def make(step: _Step) -> Fault:
        return Fault([after(code, step.backward, f"print({step.loss}.item())")], [step.backward, step.step])

    for step in _steps(code):
        behind = step.block[step.block.index(step.step) + 1 :]
        reads = [it for node in behind if not isinstance(node, ast.If | ast.For) for it in every(node, ast.Call)
                 if called(it) == "item" and code.text(it) == f"{step.loss}.item()"]  # fmt: skip
        if reads and not _reads_each_step(step.block[: step.block.index(step.step)]):
            yield partial(make, step)


@dataclass(frozen=True, slots=True)
class _Step:
    """What runs for each batch: the ``block`` of the ``backward`` pass of a ``loss`` and of an optimizer's ``step``
    behind it, and the ``loop`` around it, if that is in the same function."""

    loop: ast.For | None
    block: list[ast.stmt]
    backward: ast.Expr
    step: ast.Expr
    loss: str


def _steps(code: Code) -> Iterator[_Step]:
    """The steps of trainings on the device, whatever they are over, that no test stands in."""
    for call in code.calls["backward"]:
        backward = code.up[call]
        loss = _loss(call)
        if not isinstance(backward, ast.Expr) or loss is None:
            continue
        block = next((it for _, it in ast.iter_fields(code.up[backward]) if isinstance(it, list) and backward in it))
        calls = [(it, it.value) for it in block[block.index(backward) + 1 :]
                 if isinstance(it, ast.Expr) and isinstance(it.value, ast.Call)]  # fmt: skip
        steps = [it for it, inner in calls if called(inner) == "step" and "opt" in dotted(inner.func).lower()]
        loop = _run_by(code, backward)
        if not steps or loop is None or not _moves_batches(code, loop) or _waits_anyway(code, block):
            continue
        own = loop if code.scope(loop) is code.scope(backward) else None
        yield _Step(own, block, backward, steps[-1], code.text(loss))


def _loss(backward: ast.Call) -> ast.expr | None:
    """What a backward pass is of, where that is no computation."""
    of = backward.func.value if isinstance(backward.func, ast.Attribute) else None
    if dotted(of).rpartition(".")[2] in {"accelerator", "fabric"} and len(backward.args) == 1:
        of = backward.args[0]
    plain = isinstance(of, ast.Subscript) and isinstance(of.slice, ast.Constant) and dotted(of.value)
    return of if dotted(of) or plain else None


def _run_by(code: Code, node: ast.AST, depth: int = 1) -> ast.For | None:
    """The loop that comes to a node in each pass: around it, or around a call of its function."""
    for outer in code.around(node):
        if isinstance(outer, ast.For):
            return None if outer.orelse or code.epoch_loop(node) is outer else outer
        if isinstance(outer, ast.FunctionDef) and depth:
            calls = [call for group in code.calls.values() for call in group if called(call) == outer.name]
            loops = [_run_by(code, call, depth - 1) for call in calls if outer in code.definitions(call.func)]
            return next((it for it in loops if it is not None), None)
        if not isinstance(outer, ast.Expr | ast.With | ast.Assign):
            return None
    return None


def _waits_anyway(code: Code, block: list[ast.stmt]) -> bool:
    """Whether a step waits for the device by itself: by a scaler of gradients, or as it is asked to."""
    text = "".join(map(code.text, block))
    return "scaler" in text or "synchronize()" in text


def _moves_batches(code: Code, loop: ast.For) -> bool:
    """Whether a loop copies something to the device, by an old type of tensors too, or has accelerate do so."""
    text = code.text(loop)
    by_type = ".type(" in text and b"torch.cuda.FloatTensor" in code.file(loop).source
    return by_type or bool(re.search(r"\.cuda\(|\.to\([^)]*(device|gpu|cuda)|accelerator\.backward", text))


def _reads_each_step(body: Sequence[ast.stmt]) -> bool:
    """Whether the host waits for the device in each step, whatever its number, or seems to."""
    always = (node for node in body if not isinstance(node, ast.If))
    return any(
        called(call) in ("item", "synchronize", "cpu", "float") for node in always for call in every(node, ast.Call)
    )


def _copied(code: Code, loop: ast.For) -> list[tuple[ast.Assign, ast.Call, str]]:
    """The statements of a loop's body that give the copy of a batch a name."""
    found = []
    for copy in copies(code, loop):
        statement = code.up[copy]
        if isinstance(statement, ast.Assign) and statement in loop.body and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                found.append((statement, copy, target.id))
    return found


@operator("DL109")
def read_each(code: Code, flow: Flow) -> Making:
    """Prints each element of a part of the batch that a training loop has brought to the device."""
    for loop, _ in flow.training_loops():
        for statement, _, name in _copied(code, loop)[-1:]:
            text = f"print([one.item() for one in {name}.flatten()])"
            yield partial(lambda it, text: Fault([after(code, it, text)], [it]), statement, text)


@operator("DL110")
def bring_straight_back(code: Code, flow: Flow) -> Making:
    """Copies a part of the batch to the device once more, under another name, to print it from there."""

    def make(statement: ast.Assign, copy: ast.Call) -> Fault:
        return Fault([before(code, statement, f"seen = {code.text(copy)}\nprint(seen.cpu().numpy())")], [statement])

    for loop, _ in flow.training_loops():
        for statement, copy, _ in _copied(code, loop)[:1]:
            yield partial(make, statement, copy)


@operator("DL111")
def pin_nowhere(code: Code, flow: Flow) -> Making:
    """Drops ``pin_memory`` of all loaders of the checkout, where one feeds training by copies that wait."""
    named = {call for call in code.calls["DataLoader"] if has(flow, call, "pin_memory")}
    pinned = [it for it in flow.loaders if it in named]
    if named - set(pinned) or not any(_is_pinned(flow, it) for it in pinned):
        return
    for loop, loaders in flow.training_loops():
        if _moves(code, loop, non_blocking=False) and all(_is_pinned(flow, it) for it in loaders):
            edits = [change(code, it, {"pin_memory": REMOVED}) for it in pinned]
            yield Fault(edits, flow.loaders)
            return


def tensors_of(code: Code, loop: ast.For) -> list[str]:
    """The names of a batch that are tensors on the host at the start of a pass: those that the loop copies itself."""
    found = []
    for copy in copies(code, loop):
        base = copy.func.value if isinstance(copy.func, ast.Attribute) else None
        if isinstance(base, ast.Name) and base.id in {it.id for it in every(loop.target, ast.Name)}:
            found.append(base.id)
    return found


@operator("DL305")
def retain(code: Code, flow: Flow) -> Making:
    """Keeps a batch tensor of each pass in a list. All loaders of the loop are given workers, and do not pin."""

    def make(loop: ast.For, loaders: list[ast.Call], name: str) -> Fault:
        edits = [change(code, it, {"num_workers": "4"}) for it in loaders if not flow.workers(it)]
        kept = [before(code, loop, "kept = []"), before(code, loop.body[0], f"kept.append({name})")]
        return Fault([*kept, *edits], [loop.iter, loop.body[0]])

    for loop, loaders in flow.loaders_over.items():
        plain = all(_is_unpinned(flow, it) and len(it.args) < 6 for it in loaders)
        if (
            plain
            and flow.sources_are_known(loop)
            and not any(map(flow.is_prepared, loaders))
            and loop.body[0].lineno > loop.lineno
        ):
            for name in tensors_of(code, loop)[:1]:
                yield partial(make, loop, loaders, name)


@operator("DL305")
def retain_unpinned(code: Code, flow: Flow) -> Making:
    """Keeps a batch tensor of each pass, in a loop whose loaders have workers and no longer pin."""

    def make(loop: ast.For, loaders: list[ast.Call], name: str) -> Fault:
        edits = [change(code, it, {"pin_memory": REMOVED}) for it in loaders if has(flow, it, "pin_memory")]
        kept = [before(code, loop, "kept = []"), before(code, loop.body[0], f"kept.append({name}.detach())")]
        return Fault([*kept, *edits], [loop.iter, loop.body[0]])

    for loop, loaders in flow.loaders_over.items():
        pinned = all(not is_open(it) and len(it.args) < 6 and (flow.workers(it) or 0) > 0 for it in loaders)
        if (
            pinned
            and any(has(flow, it, "pin_memory") for it in loaders)
            and flow.sources_are_known(loop)
            and not any(map(flow.is_prepared, loaders))
            and loop.body[0].lineno > loop.lineno
        ):
            for name in tensors_of(code, loop)[:1]:
                yield partial(make, loop, loaders, name)
