"""Which bindings of a name can reach a place: on demand, newest first, within one scope.

Two arms of a branch exclude each other, a block that returns ends the way of its bindings, a binding that is
on every way ends the search, and a loop carries later bindings round to earlier uses.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.source.syntax import TryStatement, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.scopes import Binding, Block, FileIndex, Scope, Site


MOST = 64
"""Bindings of one name that are followed from one use; hand-written code has fewer than ten."""

END = 1 << 60
"""An order later than every statement: what a closure or another file sees."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The bindings that may be seen, newest first; ``certain`` if one of them always is."""

    bindings: tuple[Binding, ...]
    certain: bool


def reaching(scope: Scope, name: str, site: Site | None = None) -> Reach:
    """The bindings of ``name`` in ``scope`` that reach ``site``, or the end of the scope."""
    found = scope.bindings.get(name)
    if not found:
        return Reach((), False)
    block, order = (site.block, site.order) if site is not None else (scope.body, END)
    search = _Search(scope.file, block)
    kept: list[Binding] = []
    last: Binding | None = None
    before = bisect_right(found, order, key=_order)
    for at in range(before - 1, max(before - 1 - MOST, -1), -1):
        binding = found[at]
        if not search.passes(binding.site.block):
            continue
        kept.append(binding)
        if search.covers(binding.site.block):
            last = binding
            break
    if len(found) <= MOST:
        kept.extend(_carried(found, block, order, last, kept))
    gone = [b for b in kept if b.kind == "delete"]
    return Reach(tuple(b for b in kept if b not in gone) if gone else tuple(kept), last is not None)


def _order(binding: Binding) -> int:
    return binding.site.order


def visible_at_end(scope: Scope, name: str) -> Reach:
    """What a closure sees: the bindings that reach the scope's end, and those that inner functions make."""
    reach = reaching(scope, name)
    remote = scope.remote.get(name)
    if not remote:
        return reach
    return Reach((*reach.bindings, *(b for b in remote if b not in reach.bindings)), reach.certain)


class _Search:
    """The way from a binding to one block of use."""

    __slots__ = ("above", "file", "full", "known")

    def __init__(self, file: FileIndex, block: Block) -> None:
        self.file = file
        self.above: dict[Block, Block | None] = {}
        """The blocks around the use, each with the one inside it on the way to the use."""
        inner: Block | None = None
        outer: Block | None = block
        while outer is not None:
            self.above[outer] = inner
            inner, outer = outer, outer.parent
        self.full: set[Block] = set()
        self.known = {test: arm for around in self.above for test, arm in _decided(around)}
        """The outcomes that plain tests around the use have had."""

    def passes(self, block: Block) -> bool:
        """Whether control can go from ``block`` on to the use."""
        child: Block | None = None
        while block not in self.above:
            if self.known and any(self.known.get(test, arm) != arm for test, arm in _decided(block)):
                return False
            if block.exits in ("leave", "continue") or (block.exits == "break" and self._inside_same_loop(block)):
                return False
            if block.parent is None:
                return False
            child, block = block, block.parent
        inner = self.above[block]
        if child is None or inner is None or child.owner is not inner.owner or child is inner:
            return True
        return not _exclusive(child, inner)

    def _inside_same_loop(self, block: Block) -> bool:
        outer: Block | None = block
        while outer is not None and outer.kind not in ("for", "while"):
            outer = outer.parent
        return outer is None or outer in self.above

    def covers(self, block: Block) -> bool:
        """Whether a binding in ``block`` is made on every way to the use, given those found before it."""
        while block not in self.above:
            self.full.add(block)
            owner, parent = block.owner, block.parent
            if parent is None or owner is None or not self._all_arms(owner):
                return False
            block = parent.parent if block.kind == "try-else" and parent.parent is not None else parent
        return True

    def _all_arms(self, owner: ast.AST) -> bool:
        arms = self.file.arms.get(owner, [])
        if isinstance(owner, ast.While):
            return isinstance(owner.test, ast.Constant) and bool(owner.test.value)
        if isinstance(owner, ast.If):
            return len(arms) == 2 and all(arm in self.full or arm.exits for arm in arms)
        if isinstance(owner, TryStatement):
            tried = any(arm in self.full for arm in arms if arm.arm == 0)
            return tried and all(arm in self.full or arm.exits for arm in arms if arm.arm > 0)
        return False


def _decided(block: Block) -> Iterator[tuple[str, bool]]:
    """The outcome of a plain test (``flag``, ``not args.flag``) in an arm of an ``if``, unless the flag is bound anew.

    Two statements that test the same flag go the same way.
    """
    if not isinstance(block.owner, ast.If) or block.kind not in ("if", "else"):
        return
    test, outcome = block.owner.test, block.kind == "if"
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, outcome = test.operand, not outcome
    name = dotted(test)
    scope: Scope | None = block.scope
    if name is not None and scope is not None and len(scope.bindings.get(name, ())) <= 1:
        yield name, outcome


def _exclusive(one: Block, other: Block) -> bool:
    """Whether two arms of one statement are never both executed in one pass."""
    if isinstance(one.owner, ast.If | ast.Match):
        return one.arm != other.arm
    return isinstance(one.owner, TryStatement) and one.arm > 0 and other.arm > 0 and one.arm != other.arm


def _carried(
    found: list[Binding], block: Block, order: int, last: Binding | None, kept: list[Binding]
) -> list[Binding]:
    """The bindings that an enclosing loop brings round from the pass before."""
    carried: list[Binding] = []
    loop: Block | None = block
    while loop is not None:
        if loop.kind in ("for", "while"):
            if last is not None and _within(last.site.block, loop):
                break
            for binding in reversed(found):
                inside = binding.site.block
                if binding in kept or binding in carried or not _within(inside, loop) or _leaves(inside, loop):
                    continue
                if binding.site.order > order or inside is not block:
                    carried.append(binding)
                    if inside is loop:
                        break
        loop = loop.parent
    return carried


def _within(block: Block | None, outer: Block) -> bool:
    while block is not None:
        if block is outer:
            return True
        block = block.parent
    return False


def _leaves(block: Block | None, loop: Block) -> bool:
    while block is not None and block is not loop:
        if block.exits in ("leave", "break"):
            return True
        block = block.parent
    return False


def reached_by(change: Site, at: Site | None) -> str:
    """Whether what happens at ``change`` has happened at ``at`` (None: the end of its scope): always, maybe, never."""
    block, order = (at.block, at.order) if at is not None else (change.scope.body, END)
    if block.scope is not change.scope:
        return "maybe"
    if change.order >= order:
        loop: Block | None = block
        while loop is not None:
            if loop.kind in ("for", "while") and _within(change.block, loop):
                return "maybe"
            loop = loop.parent
        return "never"
    search = _Search(change.scope.file, block)
    if not search.passes(change.block):
        return "never"
    return "always" if search.covers(change.block) else "maybe"
