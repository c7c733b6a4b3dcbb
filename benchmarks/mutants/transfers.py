"""Operators of DL1xx: copies between host and device, and what waits for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
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

    Needs one assignment right before the loop or earlier in its block, of values that the loop leaves alone.
    """

    def make(made: ast.Assign, loop: ast.For) -> Fault:
        return Fault([cut(code, made), before(code, loop.body[0], lines_of(code, made))], [loop.body[0], made])

    for loop in flow.loaders_over:
        block = getattr(code.up[loop], "body", [])
        for made in block[: block.index(loop)] if loop in block else ():
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
                used = [it for it in block if it is not loop and it is not made and name in loaded(it)]
                changed = re.search(rf"\b{name}\b\s*(\[[^\]]*\]\s*)?[-+*/]?=[^=]|\b{name}\.\w+_\(", code.text(loop))
                if not used and not changed and not loaded(value) & stored(loop):
                    yield partial(make, made, loop)


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
def read_twice(code: Code, flow: Flow) -> Making:
    """Prints the loss behind its backward pass and again behind the optimizer's step, in a loop that copies batches to
    the device and reads none in each step."""

    def make(backward: ast.Expr, step: ast.Expr, loss: str) -> Fault:
        return Fault([after(code, backward, f"print({loss}.item())"), after(code, step, f"print({loss}.item())")],
                     [backward, step])  # fmt: skip

    for loop, _ in flow.training_loops():
        if _reads_each_step(loop.body) or not any(copies(code, loop)):
            continue
        calls = [(node, node.value) for node in loop.body
                 if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]  # fmt: skip
        losses = [(node, dotted(call.func).rpartition(".")[0]) for node, call in calls if called(call) == "backward"]
        steps = [node for node, call in calls if called(call) == "step" and "opt" in dotted(call.func).lower()]
        if losses and steps and losses[0][1].isidentifier() and losses[0][0].lineno < steps[-1].lineno:
            yield partial(make, losses[0][0], steps[-1], losses[0][1])


def _reads_each_step(body: Sequence[ast.stmt]) -> bool:
    """Whether the host waits for the device in each step, whatever its number, or seems to."""
    always = (node for node in body if not isinstance(node, ast.If))
    return any(
        called(call) in ("item", "synchronize", "cpu", "float") for node in always for call in every(node, ast.Call)
    )


def _copied(code: Code, loop: ast.For) -> Iterator[tuple[ast.Assign, ast.Call, str]]:
    """The statements of a loop's body that give the copy of a batch a name."""
    for copy in copies(code, loop):
        statement = code.up[copy]
        if isinstance(statement, ast.Assign) and statement in loop.body and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                yield statement, copy, target.id


@operator("DL109")
def read_each(code: Code, flow: Flow) -> Making:
    """Prints each element of a part of the batch that a training loop has brought to the device."""
    for loop, _ in flow.training_loops():
        for statement, _, name in [*_copied(code, loop)][-1:]:
            text = f"print([one.item() for one in {name}.flatten()])"
            yield partial(lambda it, text: Fault([after(code, it, text)], [it]), statement, text)


@operator("DL110")
def bring_straight_back(code: Code, flow: Flow) -> Making:
    """Copies a part of the batch to the device once more, under another name, to print it from there."""

    def make(statement: ast.Assign, copy: ast.Call) -> Fault:
        return Fault([before(code, statement, f"seen = {code.text(copy)}\nprint(seen.cpu().numpy())")], [statement])

    for loop, _ in flow.training_loops():
        for statement, copy, _ in [*_copied(code, loop)][:1]:
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
