"""Copies on a stream of their own: prefetchers written by hand, and what makes other streams wait for them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.interpreter import classes
from dl_lint.flow.values import External, Made, alternatives
from dl_lint.source.syntax import WithStatement, advanced, called, dotted
from dl_lint.transfers import copies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope


STREAM_CONTEXTS = frozenset({"torch.cuda.stream", "torch.cuda.StreamContext", "torch.xpu.stream", "torch.npu.stream"})
STREAMS = frozenset({"torch.cuda.Stream", "torch.xpu.Stream", "torch.npu.Stream", "torch.Stream"})

WAITS = frozenset({"wait_stream", "wait_event", "wait", "synchronize", "query", "record_event"})
"""Methods that order streams after one another, or tell that somebody has thought of it."""

_HANDING = frozenset({"next", "__next__", "__iter__", "get_batch", "next_batch"})
"""Methods of a prefetcher that hand out a batch."""


@dataclass(frozen=True, slots=True)
class Prefetch:
    """``copy`` runs on the side stream that ``context`` enters; ``lacking`` is what its consumers would need."""

    copy: ast.Call
    context: ast.With | ast.AsyncWith
    lacking: Literal["wait", "record"]


def unsynchronized_prefetches(program: Program) -> Iterator[Prefetch]:
    """The prefetchers whose batches the consumer's stream does not wait for, or whose memory the side stream may fill
    again while that still reads it."""
    for file in program.files:
        for name in ("stream", "StreamContext"):
            for call in file.methods.get(name, ()):
                context = program.parent(program.parent(call) or call)
                if isinstance(context, WithStatement) and _enters_side_stream(program, call):
                    copy = _copied(program, context)
                    functions = _of_prefetcher(program, context)
                    if copy is not None and functions and (lacking := _lacking(program, call, functions)):
                        yield Prefetch(copy, context, lacking)


def _enters_side_stream(program: Program, call: ast.Call) -> bool:
    if not call.args or not any(
        isinstance(one, External) and one.name in STREAM_CONTEXTS for one in alternatives(program.value(call.func))
    ):
        return False
    found = alternatives(program.value(call.args[0]))
    return any(isinstance(one, Made) and one.name in STREAMS for one in found)


def _copied(program: Program, context: ast.With | ast.AsyncWith) -> ast.Call | None:
    """The first asynchronous copy to the device in a block, or in a function that it calls."""
    function = enclosing.function_of(program, context)
    inside = [
        call
        for scope in classes.with_inner(function)
        for call in scope.calls
        if context in enclosing.ancestors(program, call)
    ]
    for call in inside:
        if _copies(program, call):
            return call
        entered = call_graph.reachable(program, *call_graph.entered(program, call))
        if any(
            _copies(program, one) for scope in entered for inner in classes.with_inner(scope) for one in inner.calls
        ):
            return call
    return None


def _copies(program: Program, call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("to", "cuda", "copy_"):
        return False
    return copies.transfer(program, call, call.func).asynchronous is True


def _of_prefetcher(program: Program, context: ast.With | ast.AsyncWith) -> tuple[Scope, ...]:
    """The functions of a prefetcher: the methods of the class around a block, or the generator that it stands in; none
    where it is not one that takes batch after batch and hands them out."""
    function = enclosing.function_of(program, context)
    owner = function.parent
    if function.is_method and owner is not None:
        functions = tuple(one for one in owner.children if one.kind == "function")
        hands_out = any(one.name in _HANDING for one in functions)
    else:
        functions, hands_out = (function,), bool(function.yields)
    scopes = [inner for one in functions for inner in classes.with_inner(one)]
    takes = any(advanced(call) is not None for scope in scopes for call in scope.calls) or any(
        scope.yields and scope.loops for scope in scopes
    )
    return functions if hands_out and takes else ()


def _lacking(program: Program, entering: ast.Call, functions: tuple[Scope, ...]) -> Literal["wait", "record"] | None:
    reached = call_graph.reachable(program, *functions)
    calls = [call for one in reached for scope in classes.with_inner(one) for call in scope.calls]
    if not any(called(call) in WAITS for call in calls):
        return "wait"
    side = (dotted(entering.args[0]) or "").rpartition(".")[2]
    for call in calls:
        waits_itself = (
            called(call) in WAITS
            and isinstance(call.func, ast.Attribute)
            and (dotted(call.func.value) or "").rpartition(".")[2] == side
        )
        if called(call) in ("record_stream", "synchronize") or waits_itself:
            return None
    return "record"
