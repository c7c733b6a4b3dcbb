"""A training step as a sequence of events: what it has the device do, and where the host waits for the device.

The statements of a step, and of the functions of the project that it calls, are interpreted in order over an abstract
domain: a value is on the device, on the host, or it is not known where. Each read of a device tensor is an event, and a
value on the host remembers the reads that it comes of: so a number that decides what runs next, or that the device
computes with, is told from one that is only shown or kept.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from dl_lint.flow import call_graph, effects, enclosing
from dl_lint.flow.interpreter import arguments, classes
from dl_lint.flow.outcomes import by_default, truth
from dl_lint.flow.scopes import Scope
from dl_lint.flow.values import UNKNOWN as NOT_KNOWN
from dl_lint.flow.values import Batch, External, Frame, Instance, Made, Tensor, alternatives
from dl_lint.pipeline import loaders, loops, ranks, trip_counts
from dl_lint.source.syntax import (
    Comprehension,
    ForStatement,
    FunctionDefinition,
    TryStatement,
    called,
    children,
    dotted,
    targets,
)
from dl_lint.transfers import copies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Binding
    from dl_lint.flow.values import Value

DEEPEST = 3
"""Calls that a step is followed into."""

MOST_ENTERED = 100
"""Functions that one step is followed into."""

RAREST = 2
"""Samples that a batch must have for a test of its shape to let nearly all of them pass."""

_STEPPING = ("opt", "scaler", "solver")
"""Parts of the names of objects whose ``step`` changes the weights; that of a schedule or a profiler does not."""

_TO_THE_HOST = ("Read", "Array")
"""What a method is marked as that hands the host what a tensor holds."""

Place = Literal["device", "host", "unknown"]

Form = Literal["unknown", "tensor", "mask", "array", "container"]

Kind = Literal["launch", "forward", "work", "copy", "return", "read", "decision", "synchronisation"]

_SINGLE = ("View", "Fresh", "New", "Cast", "Writes")
"""What a method or function is marked as that gives a tensor, where it does not give several."""

_TESTS = frozenset(
    {"eq", "ne", "gt", "ge", "lt", "le", "isnan", "isfinite", "isinf", "bool", "logical_not", "logical_and"}
)
"""Methods of a tensor that give truth values."""

_OF_CONTAINERS = frozenset({"copy", "index", "items", "values", "get", "pop"})
"""Methods of a tensor that a list or a dict has too."""


_LOOKING = ("Read", "Fresh", "Cast", "Writes")
"""What is marked as reading the memory of a tensor of the host on the spot."""

_BLOCKING = frozenset({"item", "cpu", "tolist", "numpy", "nonzero"})
"""Methods of a tensor of the device that return once all work queued before is done."""

_WAITING = ("synchronize", "sync", "wait", "query", "barrier", "join", "result")
"""Parts of the names of what waits for the device, or may."""

_OF_STREAMS = ("synchronize", "wait_stream", "wait_event", "Event", "query", "current_stream", "Stream")
"""Calls that show that a file knows of streams: what it hands on may be awaited by whoever reads it."""

_ADDING = frozenset({"append", "extend", "add", "insert", "appendleft"})
"""Methods of a container that take something in."""

_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
"""Comparisons that lists of tensors do not have."""


class Each(NamedTuple):
    """A loop of which a value is one pass's: over the elements of a tensor, over numbers, or over other things."""

    node: LoopNode
    over: Literal["elements", "numbers", "others"] = "others"


@dataclass(frozen=True, slots=True)
class Held:
    """Where a value is: the abstract domain."""

    place: Place = "unknown"
    certain: bool = False
    """Whether it is of tensors for certain; what a function that is not known makes of tensors may be a number."""
    form: Form = "unknown"
    """Whether it is one tensor for certain, one of truth values, an array, or a list, tuple or dict of such."""
    may_be_back: bool = False
    """Whether it is on the device in one case, and brought back to the host in another."""
    reads: frozenset[int] = frozenset()
    """Of a value on the host, the numbers of the reads that it comes of."""
    copies: frozenset[int] = frozenset()
    """Of a value on the device, the numbers of the copies that brought it there as it is."""
    loop: Each | None = None
    pending: frozenset[int] = frozenset()
    """Of a value on the host, the numbers of the copies that bring it there without a wait."""
    parts: tuple[tuple[object, Held], ...] = ()
    """Those of a tuple by position and of a dict by key, where they are known."""

    @property
    def is_tensor(self) -> bool:
        return self.form in ("tensor", "mask")

    def part(self, key: object) -> Held:
        return dict(self.parts).get(key, replace(self, parts=()))


Copies = dict[int, tuple[ast.Call, Scope]]

UNKNOWN = Held()
HOST = Held("host")
DEVICE = Held("device", certain=True)


def joined(values: Iterable[Held]) -> Held:
    """What holds, or is computed of, several values: on the device if one of them may be."""
    found = list(values)
    device = [one for one in found if one.place == "device"]
    on_host = bool(found) and all(one.place == "host" for one in found)
    forms = {one.form for one in found}
    return Held(
        "device" if device else "host" if on_host else "unknown",
        any(one.certain for one in device),
        forms.pop() if len(forms) == 1 else "tensor" if forms == {"tensor", "mask"} else "unknown",
        any(one.may_be_back for one in found),
        frozenset(number for one in found for number in one.reads),
        frozenset(number for one in found for number in one.copies),
        next((one.loop for one in found if one.loop is not None), None),
        frozenset(number for one in found for number in one.pending),
    )


def either(values: Iterable[Held]) -> Held:
    """What is one of several values."""
    found = list(values)
    held = joined(found)
    is_back = held.place == "device" and any(one.place == "host" and one.reads for one in found)
    return replace(held, may_be_back=held.may_be_back or is_back)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a step comes to at ``node``, through ``calls``; ``always``, or in some steps only.

    A launch gives the device much to do; a forward pass is a part of that, and work, in code that is not known, may be.
    A copy brings a tensor to the device. A read has the host wait until the device has done all that is queued. So does
    a decision: of what the device has computed it depends what runs next, or how large that is.
    """

    kind: Kind
    node: ast.AST
    calls: tuple[ast.Call, ...]
    always: bool
    number: int
    loop: Each | None = None
    """Of a read that each pass of a loop has, that loop."""


@dataclass(slots=True)
class _Place:
    """Where an interpretation is: in which function, reached through which calls, and what its names hold."""

    function: Scope
    names: dict[str, Held]
    calls: tuple[ast.Call, ...] = ()
    always: bool = True
    rarely: bool = False
    """Whether only every n-th step comes there."""
    returned: list[Held] = field(default_factory=list)
    losses: frozenset[str] = frozenset()
    """The names of what has a backward pass in the function."""
    captured: frozenset[str] = frozenset()
    """The names that functions and classes within it read."""


class Steps:
    """One step, interpreted: its ``events`` in order."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.events: list[Event] = []
        self.needed: set[int] = set()
        """The reads of which the step goes on to compute."""
        self.used: set[int] = set()
        """The copies to the device of which something is computed there, or whose result is handed on."""
        self.taken_back: dict[int, list[ast.AST]] = {}
        """Of a copy to the device, the reads that bring back what it brought there."""
        self.beside: dict[ast.Call, list[Event]] = {}
        """Of a call that enters one of several functions, the reads of those whose events are not among ``events``."""
        self.early_reads: dict[ast.Call, ast.AST] = {}
        """Of a copy to the host that the host does not wait for, the first read of its result before it has waited."""
        self._under_way: dict[int, tuple[ast.Call, Scope]] = {}
        """The copies to the host that nobody has waited for, each with the function that makes it."""
        self.begun: dict[LoopNode, int] = {}
        """How many events there were before a loop."""
        self._given: dict[ast.Call, list[Held]] = {}
        """What ``enumerate`` and ``zip`` were given."""
        self._moves = False
        self._deepest = DEEPEST
        self._entered = 0
        self._numbers = 0

    def run(self, node: LoopNode | FunctionDefinition, function: Scope, names: dict[str, Held], batch: Held) -> None:
        """Interpret the body of a loop over batches, or of a function, where ``names`` are known."""
        self._moves = batch.place == "device" or any(one.place == "device" for one in names.values())
        at = _Place(function, dict(names), losses=_losses(self.program, function))
        if isinstance(node, ForStatement):
            self._bind(at, node.target, self._element(at, node.iter, batch, None))
        if not isinstance(node, ast.comprehension):
            self._block(at, node.body)

    def run_whole(self, function: Scope, deepest: int) -> None:
        """Interpret a function, or what a module does on import, of whose parameters nothing is known."""
        self._deepest = deepest
        at = _Place(function, {}, losses=_losses(self.program, function), captured=_captured(function))
        match function.node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() as node:
                self._block(at, node.body)
            case ast.Lambda(body=body):
                self._hand_on(at, body, self._value(at, body))
            case None:
                self._block(at, function.file.syntax.module.body)

    def _use(self, *values: Held) -> None:
        """Note that something is computed of values, or that they go where they are not followed."""
        for one in values:
            self.used |= one.copies

    def _need(self, at: _Place, reads: frozenset[int]) -> None:
        """Note that the step goes on to compute with what was read; every n-th one could read it itself."""
        if not at.rarely:
            self.needed |= reads

    def _look(self, at: _Place, node: ast.AST, *values: Held) -> None:
        """Note that the host looks at values, in the function that copied them if they are on their way."""
        for number in (number for one in values if one.form != "container" for number in one.pending):
            copy, function = self._under_way.get(number, (None, None))
            if copy is not None and function is at.function:
                self.early_reads.setdefault(copy, node)

    def _hand_on(self, at: _Place, node: ast.AST, *values: Held) -> None:
        """Note that arrays go to who does not know of the copies, where nothing shows that it may."""
        if not any(at.function.file.methods.get(name) for name in _OF_STREAMS):
            self._look(at, node, *(one for one in values if one.form == "array"))

    def _add(self, kind: Kind, node: ast.AST, at: _Place, loop: Each | None = None) -> int:
        self._numbers += 1
        self.events.append(Event(kind, node, at.calls, at.always, self._numbers, loop))
        return self._numbers

    def _read(self, node: ast.AST, held: Held, at: _Place) -> Held:
        self._under_way.clear()
        number = self._add("read", node, at, held.loop)
        for copy in held.copies:
            self.taken_back.setdefault(copy, []).append(node)
        return Held("host", reads=held.reads | {number}, loop=held.loop)

    # --- statements ------------------------------------------------------------------------

    def _block(self, at: _Place, body: list[ast.stmt]) -> None:
        for stmt in body:
            if isinstance(stmt, ast.If):
                if self._if(at, stmt):
                    return
            else:
                self._statement(at, stmt)

    def _statement(self, at: _Place, stmt: ast.stmt) -> None:
        match stmt:
            case ast.Assign() | ast.AnnAssign():
                held = self._value(at, stmt.value)
                for target in targets(stmt):
                    self._bind(at, target, held)
            case ast.AugAssign(target=target, value=value):
                self._bind(at, target, self._computed(at, target, value))
            case ast.Return(value=value):
                at.returned.append(self._value(at, value))
                self._hand_on(at, stmt, at.returned[-1])
                if not at.calls:
                    self._use(at.returned[-1])
            case ast.For() | ast.AsyncFor():
                self._for(at, stmt)
            case ast.While(test=test, body=body):
                self._test(at, test)
                self._block(at, body)
                self._carry(at, stmt)
            case ast.With() | ast.AsyncWith():
                for item in stmt.items:
                    held = self._value(at, item.context_expr)
                    if item.optional_vars is not None:
                        self._bind(at, item.optional_vars, held)
                self._block(at, stmt.body)
            case ast.Try() | ast.TryStar():
                self._try(at, stmt)
            case ast.Match(subject=subject, cases=cases):
                self._value(at, subject)
                for case in cases:
                    self._at_times(at, case.body)
            case ast.Assert(test=test):
                self._test(at, test)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return
            case _:
                for child in children(stmt):
                    if isinstance(child, ast.expr):
                        self._value(at, child)

    def _if(self, at: _Place, stmt: ast.If) -> bool:
        """Whether it is known to leave the block that it stands in."""
        outcome = self._outcome(at, stmt.test)
        self._test(at, stmt.test, decides=outcome is None)
        if outcome is not None:
            arm = stmt.body if outcome else stmt.orelse
            self._block(at, arm)
            return _leaves(arm)
        always, rarely, before, under_way = at.always, at.rarely, dict(at.names), dict(self._under_way)
        arms, left = [], []
        for body, taken in ((stmt.body, True), (stmt.orelse, False)):
            at.names, self._under_way = dict(before), dict(under_way)
            at.always = always and self._is_usual(stmt.test, taken)
            at.rarely = rarely or trip_counts.is_every_nth(self.program, stmt.test, taken)
            self._block(at, body)
            if not _leaves(body):
                arms.append(at.names)
                left.append(self._under_way)
        self._under_way = _in_all(under_way, left)
        at.always, at.rarely = always, rarely
        at.names = _merged(arms) if arms else before
        return False

    def _for(self, at: _Place, stmt: ForStatement) -> None:
        over = self._value(at, stmt.iter)
        self.begun[stmt] = self._numbers
        self._bind(at, stmt.target, self._element(at, stmt.iter, over, stmt))
        self._block(at, stmt.body)
        self._carry(at, stmt)
        at.names = {name: replace(held, loop=None) for name, held in at.names.items()}
        self._block(at, stmt.orelse)

    def _carry(self, at: _Place, loop: ForStatement | ast.While) -> None:
        """A name that a pass reads before it binds it has what the pass before left there."""
        for name, held in at.names.items():
            if held.copies and _is_read_first(self.program, at.function, name, loop):
                self._use(held)

    def _try(self, at: _Place, stmt: TryStatement) -> None:
        self._block(at, stmt.body)
        for handler in stmt.handlers:
            self._at_times(at, handler.body)
        self._block(at, stmt.orelse)
        self._block(at, stmt.finalbody)

    def _at_times(self, at: _Place, body: list[ast.stmt]) -> None:
        """Interpret what only some steps come to."""
        always, before, under_way = at.always, dict(at.names), dict(self._under_way)
        at.always = False
        self._block(at, body)
        self._under_way = _in_all(under_way, [under_way, self._under_way])
        at.always, at.names = always, _merged([before, at.names])

    def _bind(self, at: _Place, target: ast.expr, held: Held) -> None:
        match target:
            case ast.Tuple() | ast.List():
                for position, part in enumerate(target.elts):
                    self._bind(at, part.value if isinstance(part, ast.Starred) else part, held.part(position))
            case ast.Subscript(value=base, slice=index):
                self._use(held, self._value(at, index))
                self._hand_on(at, target, held)
                if _is_slice(index):
                    self._look(at, target, held)
                name = dotted(base)
                if name is not None:
                    at.names[name] = joined([at.names.get(name, UNKNOWN), held])
            case _:
                name = dotted(target)
                if name is None or "." in name or name in at.captured:
                    self._use(held)
                if name is not None:
                    at.names[name] = held

    # --- tests -----------------------------------------------------------------------------

    def _test(self, at: _Place, test: ast.expr, decides: bool = True) -> None:
        """A test of a value that the device computes is a decision, and so is one of a number that was read."""
        held = self._value(at, test)
        self._use(held)
        self._look(at, test, held)
        if decides:
            self._need(at, held.reads)
            if held.place == "device" and at.always:
                self._add("decision", test, at)

    def _outcome(self, at: _Place, test: ast.expr) -> bool | None:
        """How a test comes out in every step, as far as is known."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                found = self._outcome(at, inner)
                return None if found is None else not found
            case ast.Call(func=ast.Name(id="isinstance" | "hasattr") | ast.Attribute(attr="is_tensor"), args=[of, *_]):
                return True if self._peek(at, of).place == "device" else None
            case _:
                return truth(self.program, test)

    def _peek(self, at: _Place, expr: ast.expr) -> Held:
        """What an expression without calls holds."""
        return self._value(at, expr) if dotted(expr) is not None else UNKNOWN

    def _is_usual(self, test: ast.expr, outcome: bool) -> bool:
        """Whether a test comes out so in nearly every step: unless a user asks for something else, or as it is of the
        rank, the first step is over (``step > 0``), or the batch has more than one sample, as in the ``else`` of
        ``x.shape[0] == 1``."""
        if by_default(self.program, test) is outcome:
            return True
        if ranks.chooses_rank(test) or (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.IsNot)):
            return True
        match test:
            case ast.Attribute(value=owner, attr=attr):
                return outcome and effects.has(self.program, owner, attr, "Usual")
            case ast.Compare(left=counter, ops=[ast.Gt() | ast.GtE()], comparators=[ast.Constant(value=0 | 1)]):
                return outcome and trip_counts.is_counter(self.program, counter)
            case ast.Compare(left=left, ops=[ast.Eq() | ast.Lt() | ast.LtE()], comparators=[ast.Constant(value=most)]):
                return not outcome and isinstance(most, int) and most <= RAREST and _is_shape(self.program, left)
            case _:
                return False

    # --- expressions -----------------------------------------------------------------------

    def _value(self, at: _Place, expr: ast.AST | None) -> Held:
        match expr:
            case None:
                return HOST
            case ast.Constant():
                return HOST
            case ast.Name():
                return self._name(at, expr)
            case ast.Attribute():
                return self._attribute(at, expr)
            case ast.Subscript():
                return self._subscript(at, expr)
            case ast.Call():
                return self._call(at, expr)
            case ast.Tuple() | ast.List():
                held = [self._value(at, one) for one in expr.elts]
                parts = () if any(isinstance(one, ast.Starred) for one in expr.elts) else tuple(enumerate(held))
                return replace(joined(held), form="container", parts=parts)
            case ast.Dict(keys=keys, values=values):
                held = [self._value(at, one) for one in values]
                named = [(key.value, one) for key, one in zip(keys, held, strict=True) if isinstance(key, ast.Constant)]
                return replace(joined(held), form="container", parts=tuple(named) if len(named) == len(held) else ())
            case ast.Compare(ops=[ast.Is() | ast.IsNot(), *_]):
                for one in children(expr):
                    self._value(at, one)
                return HOST
            case ast.BoolOp(values=[first, *others]):
                found = [self._value(at, first)]
                always, at.always = at.always, False
                found += [self._value(at, one) for one in others]
                at.always = always
                return joined(found)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._either(at, test, body, orelse)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(at, expr)
            case ast.NamedExpr(target=target, value=value):
                bound = self._value(at, value)
                self._bind(at, target, bound)
                return bound
            case ast.JoinedStr(values=parts):
                for part in parts:
                    self._formatted(at, expr, part)
                return HOST
            case ast.BinOp(left=ast.Constant(value=str()), right=right):
                self._use(self._value(at, right))
                return HOST
            case ast.BinOp(left=left, right=right):
                return self._computed(at, left, right)
            case ast.UnaryOp(operand=operand):
                return self._computed(at, operand)
            case ast.Compare(left=left, ops=ops, comparators=others):
                compared = self._computed(at, left, *others, sure=isinstance(ops[0], _ORDERS))
                return replace(compared, form="mask" if compared.is_tensor else "unknown")
            case ast.Lambda():
                return UNKNOWN
            case _:
                found = [self._value(at, one) for one in children(expr) if isinstance(one, ast.expr)]
                self._use(*found)
                return replace(joined(found), form="unknown", copies=frozenset())

    def _computed(self, at: _Place, *operands: ast.expr, sure: bool = False) -> Held:
        """What an operator gives: a tensor if one of its operands is one, or one on the device that has no other
        ``sure`` meaning for lists."""
        found = [self._value(at, one) for one in operands]
        self._use(*found)
        self._look(at, operands[0], *found)
        held = joined(found)
        is_tensor = any(one.is_tensor for one in found) or (sure and held.place == "device")
        form: Form = "mask" if held.form == "mask" else "tensor" if is_tensor else "unknown"
        return replace(held, form=form, copies=frozenset(), pending=frozenset())

    def _name(self, at: _Place, expr: ast.Name) -> Held:
        held = at.names.get(expr.id)
        return self._loss(at, expr.id, self._placed(expr) if held is None else held)

    def _placed(self, expr: ast.expr) -> Held:
        """Where the value of an expression lies as flow knows."""
        match loaders.placement(self.program, self.program.value(expr)):
            case "device":
                return DEVICE
            case "unknown":
                return UNKNOWN
            case _:
                return HOST

    def _loss(self, at: _Place, name: str, held: Held) -> Held:
        """What has a backward pass is a tensor, and of the device in a step that moves something there."""
        if name not in at.losses or held.place == "host":
            return held
        return DEVICE if self._moves or held.place == "device" else held

    def _attribute(self, at: _Place, expr: ast.Attribute) -> Held:
        name = dotted(expr)
        if name is not None and name in at.names:
            return self._loss(at, name, at.names[name])
        held = self._value(at, expr.value)
        if expr.attr in ("device", "is_cuda"):
            self._use(held)  # what else goes there is decided by it
        if held.pending and not self.program.models.has(f"torch.Tensor.{expr.attr}", "View"):
            return HOST
        if held.place == "device":
            if _is_metadata(self.program, expr.attr):
                return replace(HOST, loop=held.loop)
            is_tensor = held.certain and (
                not held.copies or bool(self.program.models.get(f"torch.Tensor.{expr.attr}").marks)
            )
            return replace(held, certain=is_tensor, parts=())  # what a batch has beside its tensors may be a text
        placed = self._placed(expr) if held.place == "unknown" and not isinstance(expr.value, ast.Call) else held
        return self._loss(at, name or "", placed if placed.place != "unknown" else replace(held, parts=()))

    def _subscript(self, at: _Place, expr: ast.Subscript) -> Held:
        base, index = self._value(at, expr.value), self._value(at, expr.slice)
        if base.place != "host":
            self._need(at, index.reads - base.reads)  # a key of a dict of numbers is none of them
        if isinstance(expr.slice, ast.Constant) and base.parts:
            return base.part(expr.slice.value)
        if base.place == "host" and index.place == "device" and index.certain:
            return self._read(expr, index, at)
        self._use(index)
        if index.form == "mask" and base.place == "device" and isinstance(expr.ctx, ast.Load):
            self._use(base)
            if at.always:
                self._add("decision", expr, at)
        form: Form = "unknown" if base.form == "container" else base.form
        if base.place == "device" and (index.form == "mask" or isinstance(expr.slice, ast.Tuple)):
            form = "tensor"
        loop = base.loop
        if index.loop is not None and base.is_tensor and index.loop.over == "numbers":
            is_made_before = not _binds(self.program, at.function, dotted(expr.value), index.loop.node)
            loop = Each(index.loop.node, "elements" if is_made_before and not base.may_be_back else "others")
        return replace(base, form=form, parts=(), loop=loop)

    def _either(self, at: _Place, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Held:
        outcome = self._outcome(at, test)
        self._test(at, test, decides=outcome is None)
        if outcome is not None:
            return self._value(at, body if outcome else orelse)
        always, found = at.always, []
        for arm, taken in ((body, True), (orelse, False)):
            at.always = always and self._is_usual(test, taken)
            found.append(self._value(at, arm))
        at.always = always
        return either(found)

    def _comprehension(self, at: _Place, expr: Comprehension) -> Held:
        outer = dict(at.names)
        for clause in expr.generators:
            over = self._value(at, clause.iter)
            self.begun[clause] = self._numbers
            self._bind(at, clause.target, self._element(at, clause.iter, over, clause))
            for test in clause.ifs:
                self._test(at, test, decides=self._outcome(at, test) is None)
        made = [expr.key, expr.value] if isinstance(expr, ast.DictComp) else [expr.elt]
        held = joined([self._value(at, one) for one in made])
        at.names = outer
        return replace(held, loop=None, form="container")

    def _formatted(self, at: _Place, text: ast.JoinedStr, part: ast.expr) -> None:
        """A tensor in an f-string is read to be written out; what comes of it is a text."""
        held = self._value(at, part.value) if isinstance(part, ast.FormattedValue) else HOST
        if held.place == "device" and held.certain:
            self._read(text, held, at)
        else:
            self._use(held)
            self._look(at, text, held)

    def _element(self, at: _Place, iterated: ast.expr, held: Held, loop: LoopNode | None) -> Held:
        """What a ``loop`` within a step takes in each of its passes, or that of the step itself."""
        if held.parts:
            return HOST if isinstance(held.parts[0][0], str) else joined(one for _, one in held.parts)
        if loop is not None and loops.twice_at_most(self.program, loop):
            return replace(held, loop=None)
        if isinstance(iterated, ast.Call):
            if effects.is_marked(self.program, iterated, "Weights"):
                each = replace(held, form="unknown", loop=Each(loop) if loop is not None else None)
                return replace(each, parts=((0, HOST), (1, each))) if called(iterated).startswith("named_") else each
            if isinstance(iterated.func, ast.Attribute) and iterated.func.attr == "items":
                return replace(held, parts=((0, HOST), (1, replace(held, parts=()))))
            if isinstance(iterated.func, ast.Attribute) and iterated.func.attr == "values":
                return held
            if dotted(iterated.func) == "range":
                return Held("host", loop=Each(loop, "numbers") if loop is not None else None)
            given = self._given.get(iterated) or [held]  # of the step's own loop
            inner = [self._element(at, node, one, loop) for node, one in zip(iterated.args, given, strict=False)]
            if inner and dotted(iterated.func) == "enumerate":
                return replace(inner[0], parts=((0, HOST), (1, inner[0])))
            if inner and dotted(iterated.func) == "zip":
                return replace(joined(inner), form="container", parts=tuple(enumerate(inner)))
        form: Form = "unknown" if held.form == "container" else held.form
        if loop is None or not (held.certain or held.is_tensor or held.place == "unknown"):
            return replace(held, form=form, loop=None)
        return replace(
            held, form=form, loop=Each(loop, "elements" if held.is_tensor and not held.may_be_back else "others")
        )

    # --- calls -----------------------------------------------------------------------------

    def _call(self, at: _Place, call: ast.Call) -> Held:
        func = call.func
        receiver = self._value(at, func.value) if isinstance(func, ast.Attribute) else UNKNOWN
        given: dict[ast.AST, Held] = {}
        for node in (*call.args, *call.keywords):
            inner = node.value if isinstance(node, ast.keyword | ast.Starred) else node
            given[node] = given[inner] = self._value(at, inner)
        held = list(given.values())
        if dotted(func) in ("enumerate", "zip"):
            self._given[call] = [given[node] for node in call.args]
            return replace(joined(held), form="container")
        if effects.is_backward(self.program, call):
            self._use(receiver, *held)
            self._backward(at, call, receiver, held)
            return HOST
        if takes_step(call):
            self._use(*held)
            self._add("launch", call, at)
            return HOST
        if called(call) == "synchronize":
            self._under_way.clear()
            self._add("synchronisation", call, at)
            return HOST
        if any(part in called(call).lower() for part in _WAITING):
            self._under_way.clear()
        if effects.is_marked(self.program, call, "Collective") and not receiver.pending:
            self._use(receiver, *held)
            self._add("launch", call, at)
            return joined(held)
        if effects.is_marked(self.program, call, "Weights"):
            return Held("device" if self._moves else receiver.place, certain=True)
        if isinstance(func, ast.Attribute):
            moved = self._moved(at, call, func, receiver)
            if moved is not None:
                return moved
        entered = call_graph.entered(self.program, call)
        if isinstance(func, ast.Attribute) and not entered:
            if joined(held).pending and func.attr in _ADDING:
                self._collect(at, func.value, joined(held))
            if receiver.pending:
                return self._method_of_copy(at, call, func.attr, receiver)
            if receiver.place == "unknown" and func.attr in _BLOCKING:
                self._under_way.clear()
        if not entered and receiver.place == "device" and isinstance(func, ast.Attribute):
            return self._method(at, call, func, receiver, held)
        if not entered and receiver.place == "host" and isinstance(func, ast.Attribute) and self._computes(func.attr):
            return replace(receiver, parts=())
        if entered and len(at.calls) < (self._deepest if at.always else self._deepest - 1):
            return self._enter(at, call, entered, given, receiver)
        return self._outside(at, call, receiver, held)

    def _collect(self, at: _Place, container: ast.expr, held: Held) -> None:
        """A list takes in copies that are under way."""
        name = dotted(container)
        if name is not None:
            at.names[name] = replace(joined([at.names.get(name, UNKNOWN), held]), form="container")

    def _method_of_copy(self, at: _Place, call: ast.Call, method: str, receiver: Held) -> Held:
        """A method of what is on its way to the host."""
        model = self.program.models.get(f"torch.Tensor.{method}")
        if receiver.form == "container":
            kept = method in _OF_CONTAINERS
            return replace(receiver, form="unknown" if method == "get" else "container") if kept else HOST
        if model.has("View") and receiver.form != "array":
            return replace(receiver, parts=())
        if model.has("Array") and receiver.form != "array":
            return replace(receiver, form="array", parts=())
        if receiver.form == "array" or model.has(*_LOOKING):
            self._look(at, call, receiver)
        return HOST

    def _backward(self, at: _Place, call: ast.Call, receiver: Held, held: list[Held]) -> None:
        """A loss that lies on the host makes the reads it comes of no less needless."""
        owner = alternatives(self.program.value(call.func.value)) if isinstance(call.func, ast.Attribute) else ()
        if call.args and not any(isinstance(one, External) for one in owner):
            self._moves = True  # ``accelerator.backward(loss)``
        self.needed -= joined([receiver, *held[:1]]).reads
        self._add("launch", call, at)

    def _moved(self, at: _Place, call: ast.Call, func: ast.Attribute, receiver: Held) -> Held | None:
        """The result of a copy between host and device; None for another method."""
        if func.attr == "type" and any(self._makes_on_device(arg) for arg in call.args):
            self._moves = True
            return Held("device", certain=True, loop=receiver.loop)
        if func.attr not in ("to", "cuda", "xpu", "npu", "cpu", "copy_"):
            return None
        move = copies.transfer(self.program, call, func)
        if move.method == "copy_":
            if move.asynchronous is True and copies.is_pinned(move) and copies.is_from_device(self.program, move):
                self._bind(at, func.value, self._sent(at, call))
            return None
        if move.destination == "device":
            self._moves = True
            self._need(at, receiver.reads)
            on_device = receiver.place == "device"
            brought = receiver.copies if on_device else frozenset({self._add("copy", call, at, receiver.loop)})
            form: Form = "tensor" if receiver.is_tensor or _is_part(move.receiver) else "unknown"
            return Held("device", certain=True, form=form, copies=brought, loop=receiver.loop)
        if move.destination != "cpu":
            self._use(receiver)
            return replace(receiver, copies=frozenset(), parts=())
        if receiver.place == "device" and move.asynchronous is not True:
            return self._read(call, receiver, at)
        self._use(receiver)
        if receiver.place != "host" and not copies.is_on_host(move.receiver):
            if move.asynchronous is True:
                return self._sent(at, call)
            self._under_way.clear()
        return Held("host", reads=receiver.reads, loop=receiver.loop)

    def _sent(self, at: _Place, call: ast.Call) -> Held:
        """What arrives on the host some time after a copy that does not wait."""
        number = self._add("return", call, at)
        self._under_way[number] = (call, at.function)
        return Held("host", pending=frozenset({number}))

    def _makes_on_device(self, expr: ast.expr) -> bool:
        """Whether an expression is one of the old types of tensors of the device: ``torch.cuda.FloatTensor``."""
        found = (one.name for one in alternatives(self.program.value(expr)) if isinstance(one, External))
        return any(name.startswith("torch.cuda.") and name.endswith("Tensor") for name in found)

    def _computes(self, method: str) -> bool:
        """Whether a method of a tensor gives one that lies where it does."""
        return self.program.models.has(f"torch.Tensor.{method}", "View", "Fresh", "Cast")

    def _method(self, at: _Place, call: ast.Call, func: ast.Attribute, receiver: Held, held: list[Held]) -> Held:
        """A method of a device tensor, or of a dict or list of such."""
        model = self.program.models.get(f"torch.Tensor.{func.attr}")
        self._use(*held)
        if model.has(*_TO_THE_HOST):
            return self._read(call, receiver, at)
        if _is_metadata(self.program, func.attr):
            return replace(HOST, loop=receiver.loop)
        if func.attr in ("items", "values", "copy", "get"):
            if func.attr == "get":
                return replace(receiver, form="unknown", parts=())
            return replace(receiver, form="container")
        if not model.has("View"):
            self._use(receiver)
        if not model.marks:  # ``vae.encode(images)``, of a model that is there
            self._add("work", call, at)
        if model.has("Sized") and at.always:
            self._add("decision", call, at)
        is_tensor = model.has(*_SINGLE) and not model.has("Several") and func.attr not in _OF_CONTAINERS
        is_mask = func.attr in _TESTS or (receiver.form == "mask" and model.has("View"))
        form: Form = "unknown" if not is_tensor else "mask" if is_mask else "tensor"
        kept = receiver.copies if model.has("View") else frozenset()
        return replace(receiver, form=form, copies=kept, parts=())

    def _outside(self, at: _Place, call: ast.Call, receiver: Held, held: list[Held]) -> Held:
        """A function that is not followed into, by what stubs say of it."""
        program, found = self.program, joined(held)
        values = alternatives(program.value(call.func))
        models = [program.models.get(one.name) for one in values if isinstance(one, External)]
        if found.pending:
            passed = self._given_copy(at, call, found, [one for one in values if isinstance(one, External)])
            if passed is not None:
                return passed
        elif self._may_wait(call, found):
            self._under_way.clear()
        if any(one.has("Read") for one in models) or effects.is_marked(program, call, "Read"):
            if found.place == "device" and found.certain:
                return self._read(call, found, at)
            self._use(found)
            return replace(found, place="host", copies=frozenset())
        if self._makes_on_device(call.func):
            self._moves = True
            return DEVICE
        if any(one.has("Metadata") for one in models) or dotted(call.func) in ("len", "isinstance", "hasattr", "type"):
            return HOST
        self._use(receiver, found)
        of_torch = bool(values) and all(isinstance(one, External) and one.name.startswith("torch.") for one in values)
        computes = of_torch or found.place == "device" or dotted(call.func) == "range"
        if computes and not isinstance(program.parent(call), ast.Expr):
            self._need(at, found.reads)
        every = joined([receiver, *held])
        if not values or NOT_KNOWN in values:
            self._add("work", call, at)
        if every.place != "device":
            place: Place = "unknown" if every.place == "unknown" or not of_torch else "host"
            return replace(every, place=place, form="unknown", copies=frozenset(), pending=frozenset())
        module = of_torch or any(_is_module(program, one) for one in values)
        name = dotted(call.func)
        if name is not None and name not in at.names and set(values) <= {NOT_KNOWN}:
            at.names[name] = Held("device")  # a model that is given what is on the device is there itself
        if not of_torch and not isinstance(program.parent(call), ast.Expr):
            self._add("forward", call, at)
        if any(one.has("Sized") for one in models) and at.always:
            self._add("decision", call, at)
        single = of_torch and all(one.has(*_SINGLE) and not one.has("Several") for one in models)
        return replace(
            every, place="device", certain=module and every.certain, form="tensor" if single else "unknown",
            reads=frozenset(), copies=frozenset(), pending=frozenset(), parts=()
        )  # fmt: skip

    def _given_copy(self, at: _Place, call: ast.Call, held: Held, functions: list[External]) -> Held | None:
        """What a function of a library gives of what is on its way to the host."""
        for one in functions:
            package, _, last = one.name.rpartition(".")
            model = self.program.models.get(one.name)
            if package == "builtins" and last in ("list", "tuple", "reversed", "iter", "dict"):
                return replace(held, form="container", parts=())
            if model.has("View") and held.form != "container":
                return replace(held, form="array" if package == "numpy" else held.form, parts=())
            if model.has(*_LOOKING) and not (package == "builtins" and held.form == "container"):
                self._look(at, call, *([replace(held, form="unknown")]))
            if model.marks or package == "builtins":
                return None
        self._hand_on(at, call, held)
        return None

    def _may_wait(self, call: ast.Call, given: Held) -> bool:
        """Whether a call may read something else from the device: ``float(loss)``, or a function of the project that is
        not followed does, or one that it calls."""
        if dotted(call.func) in ("float", "int", "bool"):
            return given.place != "host"
        functions = call_graph.reachable(self.program, *call_graph.entered(self.program, call))
        return any(called(one) in ("synchronize", *_BLOCKING) for scope in functions for one in scope.calls)

    def _enter(
        self, at: _Place, call: ast.Call, functions: Iterable[Scope], given: dict[ast.AST, Held], receiver: Held
    ) -> Held:
        """Interpret the functions of the project that a call enters; of several that it may, the one that reads most
        is what the step is taken to do."""
        runs: list[tuple[list[Event], list[Held]]] = []
        before = self.events
        for function in functions:
            if (
                self._entered >= MOST_ENTERED
                or function.yields
                or any(function in call_graph.entered(self.program, one) for one in at.calls)
            ):
                continue
            self._entered += 1
            self.events = []
            runs.append((self.events, self._inside(at, call, function, given)))
        self.events = before
        if not runs:
            return self._outside(at, call, receiver, list(given.values()))
        runs.sort(key=lambda run: sum(one.kind == "read" and one.always for one in run[0]), reverse=True)
        self.events += runs[0][0]
        for events, _ in runs[1:]:
            self.beside.setdefault(call, []).extend(one for one in events if one.kind == "read" and one.always)
        returned = [one for _, each in runs for one in each]
        if len(returned) == 1:
            return returned[0]
        shapes = {tuple(key for key, _ in one.parts) for one in returned}
        keys = shapes.pop() if len(shapes) == 1 else ()
        parts = tuple((key, either(one.part(key) for one in returned)) for key in keys)
        return replace(either(returned), parts=parts) if returned else HOST

    def _inside(self, at: _Place, call: ast.Call, function: Scope, given: dict[ast.AST, Held]) -> list[Held]:
        names = dict(at.names) if function.parent is at.function else {}
        for param in function.params:
            if param.name == function.receiver:
                continue
            names[param.name] = self._passed(call, function, param.name, param.kind, given)
        inner = _Place(
            function,
            names,
            (*at.calls, call),
            at.always,
            at.rarely,
            losses=_losses(self.program, function),
            captured=_captured(function),
        )
        match function.node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() as node:
                self._block(inner, node.body)
            case ast.Lambda(body=body):
                inner.returned.append(self._value(inner, body))
            case _:
                pass
        return inner.returned

    def _passed(self, call: ast.Call, function: Scope, name: str, kind: str, given: dict[ast.AST, Held]) -> Held:
        if kind in ("args", "kwargs"):
            return replace(joined(given.values()), form="container")
        node = arguments.passed(self.program, Frame(function, call), name).node
        if node is call:
            return HOST  # the default
        return given.get(node, UNKNOWN)


# --- what is asked of the program ------------------------------------------------------------


def _in_all(before: Copies, arms: list[Copies]) -> Copies:
    """The copies that are under way behind one of several arms: what one of them waits for may be there."""
    found = {number: copy for arm in arms for number, copy in arm.items()}
    return {
        number: copy for number, copy in found.items() if number not in before or all(number in arm for arm in arms)
    }


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether what comes behind a block is not reached from it."""
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def _merged(arms: list[dict[str, Held]]) -> dict[str, Held]:
    """What names hold behind one of several arms."""
    found = dict(arms[0])
    for arm in arms[1:]:
        for name, held in arm.items():
            found[name] = held if found.get(name, held) == held else either([found[name], held])
    return found


def _losses(program: Program, function: Scope) -> frozenset[str]:
    """The names of what has a backward pass in a function: what the method is called on, or given."""
    found = set()
    for scope in classes.with_inner(function):
        for call in scope.calls:
            if isinstance(call.func, ast.Attribute) and effects.is_backward(program, call):
                of = call.func.value
                if isinstance(of, ast.Call) and of.args:
                    of = of.args[0]  # ``scaler.scale(loss).backward()``
                given = next(map(dotted, call.args), None)  # ``accelerator.backward(loss)``
                found.add(given or dotted(of))
    return frozenset(name for name in found if name is not None)


def takes_step(call: ast.Call) -> bool:
    """Whether a call has an optimizer change the weights."""
    if called(call) != "step" or not isinstance(call.func, ast.Attribute):
        return False
    of = call.func.value
    name = (dotted(of.value if isinstance(of, ast.Subscript) else of) or "").lower()
    return any(part in name for part in _STEPPING)


def _is_module(program: Program, value: object) -> bool:
    """Whether a value is a module of torch: calling it gives tensors."""
    if isinstance(value, Tensor):
        return _is_module(program, value.source)
    if isinstance(value, Instance):
        return "torch.nn.Module" in classes.external_bases(program, value.cls)
    return isinstance(value, Made) and value.name.startswith("torch.nn.")


def _is_read_first(program: Program, function: Scope, name: str, loop: LoopNode) -> bool:
    """Whether the first thing that a loop does with a name is to read it."""
    loads = [node for node in function.loads.get(name, ()) if loop in enclosing.loops_around(program, node)]
    first = min((program.sites[node].order for node in loads), default=0)
    return bool(loads) and all(first < one.site.order for one in _binds(program, function, name, loop))


def _binds(program: Program, function: Scope, name: str | None, loop: LoopNode) -> list[Binding]:
    """Where a loop gives a name a value."""
    return [
        one
        for one in function.bindings.get(name or "", ())
        if one.node is loop or loop in enclosing.loops_around(program, one.node)
    ]


def _is_slice(index: ast.expr) -> bool:
    return isinstance(index, ast.Slice) or (isinstance(index, ast.Tuple) and any(map(_is_slice, index.elts)))


def _is_part(value: Value) -> bool:
    """Whether a value is a part of a batch: what of these goes to the device is a tensor, as lists do not."""
    found = alternatives(value)
    return bool(found) and all(isinstance(one, Batch) and not one.whole for one in found)


def _captured(function: Scope) -> frozenset[str]:
    """The names that functions and classes within a function read."""
    return frozenset(
        name for child in function.children for name in _loaded(child, within=child.kind != "comprehension")
    )


def _loaded(scope: Scope, within: bool) -> Iterator[str]:
    if within:
        yield from scope.loads
    for child in scope.children:
        yield from _loaded(child, within or child.kind != "comprehension")


def _is_shape(program: Program, expr: ast.expr) -> bool:
    """Whether an expression is a number of a shape: ``x.shape[0]``, ``x.size(0)``, ``len(x)``."""
    if isinstance(expr, ast.Call):
        return called(expr) == "len" or _is_metadata(program, called(expr))
    return (
        isinstance(expr, ast.Subscript)
        and isinstance(expr.value, ast.Attribute)
        and _is_metadata(program, expr.value.attr)
    )


def _is_metadata(program: Program, name: str) -> bool:
    """Whether an attribute or a method of a tensor is known without its values."""
    return name == "type" or program.models.has(f"torch.Tensor.{name}", "Metadata")
