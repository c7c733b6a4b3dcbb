"""Objects of which a container holds many references: the numbers of classes, the name of a folder for its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import attributes
from dl_lint.project.repetition import words
from dl_lint.project.syntax import children, dotted
from dl_lint.project.values import Class, Function

if TYPE_CHECKING:
    from dl_lint.project.model import Project

_KINDS = frozenset(
    {"class", "classes", "cls", "label", "labels", "category", "categories", "cat", "cats", "speaker", "speakers",
     "language", "languages", "species"}
)  # fmt: skip
_NUMBERS = frozenset({"to", "id", "ids", "idx", "index", "ix", "num", "number", "code", "codes", "name", "names"})
"""Words in the names of tables of kinds of things, which are few: ``class_to_idx``, ``label2id``, ``class_names``."""

_REPEATS = frozenset({"repeat", "repeats", "repetition", "repetitions", "loop", "loops", "times"})
"""Words in the names of how often a dataset goes over what it has."""

_UNIQUE = frozenset({"set", "frozenset", "unique", "Counter"})

_FARTHEST = 4
"""Assignments that a table is followed through."""


def is_added_again(project: Project, node: t.Node, added: t.Expr | None) -> bool:
    """Whether the same few objects are added at ``node`` again and again.

    In ``for label, folder in …: for file in …: labels.append(label)`` there are as many objects as folders, and reading
    one of many references to it copies nothing more. The same holds for ``labels.append(class_to_idx[name])``.
    """
    if added is not None and is_of_few(project, added):
        return True
    if not isinstance(added, t.Name):
        return False
    bindings = project.function_of(node).bindings.get(added.id, ())
    outer = list(project.loops_around(node))[1:]
    return len(bindings) == 1 and bindings[0].kind == "for" and bindings[0].node in outer


def is_of_few(project: Project, expr: t.Expr) -> bool:
    """Whether an expression looks something up in a table of kinds, and so gives one of a few objects."""
    if not isinstance(expr, t.Subscript) or isinstance(expr.index, t.Slice):
        return False
    named = words(dotted(expr.value) or "")
    if not _KINDS.isdisjoint(named) and not _NUMBERS.isdisjoint(named):
        return True
    return _is_made_of_unique(project, expr.value, _FARTHEST)


def holds_few(project: Project, node: t.Node | None) -> bool:
    """Whether a container made at ``node`` is a comprehension over lookups in a table of kinds, or one of the same
    object again and again: ``[effects for _ in paths]``."""
    if not isinstance(node, t.Comprehension) or node.key is not None:
        return False
    return is_of_few(project, node.element) or _is_one_object(node)


def _is_one_object(node: t.Comprehension) -> bool:
    """Whether the element of a comprehension is a name that none of its clauses binds, or a constant."""
    if isinstance(node.element, t.Constant):
        return True
    name = (dotted(node.element) or "").partition(".")[0]
    return bool(name) and all(name not in _bound(clause.target) for clause in node.generators)


def _bound(target: t.Node) -> set[str]:
    names = {target.id} if isinstance(target, t.Name) else set()
    return names.union(*(_bound(one) for one in children(target)))


def is_repeated(project: Project, cls: Class, attribute: str) -> bool:
    """Whether ``len(self.attribute) * self.repeat`` is the length of a dataset: few things, each of many samples."""
    method = attributes.of_class(project.evaluator, cls, "__len__")
    if not isinstance(method, Function) or not method.scope.params:
        return False
    kept = f"{method.scope.params[0].name}.{attribute}"
    for statement in method.scope.returns:
        factors = _factors(statement.value)
        counted = any(_counts(one, kept) for one in factors)
        if counted and any(not _REPEATS.isdisjoint(words(dotted(one) or "")) for one in factors):
            return True
    return False


def _factors(expr: t.Expr | None) -> list[t.Expr]:
    if isinstance(expr, t.BinOp) and expr.op == "*":
        return [*_factors(expr.left), *_factors(expr.right)]
    return [expr] if expr is not None else []


def _counts(expr: t.Expr, kept: str) -> bool:
    match expr:
        case t.Call(func=t.Name(id="len"), args=(counted,)):
            return dotted(counted) == kept
        case _:
            return False


def _is_made_of_unique(project: Project, expr: t.Expr, depth: int) -> bool:
    """Whether a table has an entry for each different thing: ``{name: i for i, name in enumerate(set(names))}``."""
    match expr:
        case t.Call(func=func, args=args):
            if (dotted(func) or "").rpartition(".")[2] in _UNIQUE:
                return True
            return any(_is_made_of_unique(project, one, depth) for one in args[:2] if isinstance(one, t.Expr))
        case t.Comprehension(generators=clauses):
            return any(_is_made_of_unique(project, clause.iter, depth) for clause in clauses)
        case t.Name(id=name) if depth:
            bindings = project.function_of(expr).bindings.get(name, ())
            return bool(bindings) and all(
                one.kind == "assign" and not one.path and one.value is not None
                and _is_made_of_unique(project, one.value, depth - 1)
                for one in bindings
            )  # fmt: skip
        case _:
            return False
