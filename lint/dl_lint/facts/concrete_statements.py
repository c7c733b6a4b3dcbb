"""libcst's statements, each seen as the one of ``ast`` that Python's parser would make of it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import libcst as cst

from dl_lint.facts.blocks import COMPOUND, SIMPLE
from dl_lint.facts.concrete_expressions import arguments, items, kinds_of_libcst, parameters
from dl_lint.facts.cursor import Kinds, normalized
from dl_lint.facts.statements import type_alias

if TYPE_CHECKING:
    from dl_lint.facts import tree
    from dl_lint.facts.cursor import Cursor

_SIMPLE = Kinds()
_COMPOUND = Kinds()


def _lower_simple(c: Cursor, node: cst.CSTNode) -> list[tree.Stmt]:
    view = _SIMPLE[type(node)](node)
    lowered: list[tree.Stmt] = SIMPLE[type(view)](c, view)
    return lowered


def _lower_compound(c: Cursor, node: cst.CSTNode) -> tree.Stmt:
    view = _COMPOUND[type(node)](node)
    lowered: tree.Stmt = COMPOUND[type(view)](c, view)
    return lowered


def statements(nodes: Any) -> list[Any]:
    """Simple ones without the lines that they share."""
    found: list[Any] = []
    for node in nodes:
        if type(node) is cst.SimpleStatementLine:
            found += node.body
        else:
            found.append(node)
    return found


def _suite(node: Any) -> list[Any]:
    """Of a statement that has a body, or of an ``else`` that may be missing."""
    if node is None:
        return []
    body = node.body
    return statements(body.body) if isinstance(body, cst.IndentedBlock) else list(body.body)


# --- without a body --------------------------------------------------------------------


def _assign(node: Any) -> Any:
    return ast.Assign([target.target for target in node.targets], node.value)


def _annotated(node: Any) -> Any:
    return ast.AnnAssign(node.target, node.annotation.annotation, node.value, 0)


def _augmented(node: Any) -> Any:
    return ast.AugAssign(node.target, ast.Add(), node.value)  # the operator is read from the tokens


def _expression(node: Any) -> Any:
    return ast.Expr(node.value)


def _return(node: Any) -> Any:
    return ast.Return(node.value)


def _raise(node: Any) -> Any:
    return ast.Raise(node.exc, node.cause and node.cause.item)


def _assert(node: Any) -> Any:
    return ast.Assert(node.test, node.msg)


def _delete(node: Any) -> Any:
    target = node.target
    return ast.Delete(items(target) if type(target) is cst.Tuple and not target.lpar else [target])


def _pass(_node: Any) -> Any:
    return ast.Pass()


def _break(_node: Any) -> Any:
    return ast.Break()


def _continue(_node: Any) -> Any:
    return ast.Continue()


def _global(node: Any) -> Any:
    return ast.Global([normalized(item.name.value) for item in node.names])


def _nonlocal(node: Any) -> Any:
    return ast.Nonlocal([normalized(item.name.value) for item in node.names])


def _dotted(node: Any) -> str:
    parts = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    return normalized(".".join([node.value, *reversed(parts)]))


def _alias(node: cst.ImportAlias) -> ast.alias:
    return ast.alias(_dotted(node.name), _dotted(node.asname.name) if node.asname is not None else None)


def _import(node: Any) -> Any:
    return ast.Import([_alias(alias) for alias in node.names])


def _import_from(node: Any) -> Any:
    star = isinstance(node.names, cst.ImportStar)
    names = [ast.alias("*")] if star else [_alias(alias) for alias in node.names]
    return ast.ImportFrom(_dotted(node.module) if node.module is not None else None, names, len(node.relative))


_SIMPLE |= kinds_of_libcst(
    {
        "Assign": _assign,
        "AnnAssign": _annotated,
        "AugAssign": _augmented,
        "Expr": _expression,
        "Return": _return,
        "Raise": _raise,
        "Assert": _assert,
        "Del": _delete,
        "Pass": _pass,
        "Break": _break,
        "Continue": _continue,
        "Global": _global,
        "Nonlocal": _nonlocal,
        "Import": _import,
        "LazyImport": _import,
        "ImportFrom": _import_from,
        "LazyImportFrom": _import_from,
    }
)


# --- with a body -----------------------------------------------------------------------


def _if(node: Any) -> Any:
    """A chain of ``elif`` is followed without recursion."""
    arms: list[Any] = []
    rest: Any = node
    while isinstance(rest, cst.If):
        arms.append(rest)
        rest = rest.orelse
    orelse = _suite(rest)
    for arm in reversed(arms):
        orelse = [ast.If(arm.test, _suite(arm), orelse)]
    return orelse[0]


def _for(node: Any) -> Any:
    return ast.For(node.target, node.iter, _suite(node), _suite(node.orelse))


def _while(node: Any) -> Any:
    return ast.While(node.test, _suite(node), _suite(node.orelse))


def _with(node: Any) -> Any:
    found = [ast.withitem(one.item, one.asname and one.asname.name) for one in node.items]
    view: Any = ast.With(found, _suite(node))
    view.bracketed = type(node.lpar) is cst.LeftParen
    return view


def _try(node: Any) -> Any:
    handlers = [ast.ExceptHandler(one.type, one.name and _dotted(one.name.name), _suite(one)) for one in node.handlers]
    return ast.Try(_suite(node), handlers, _suite(node.orelse), _suite(node.finalbody))


def _match(node: Any) -> Any:
    return ast.Match(
        node.subject, [ast.match_case(_pattern(one.pattern), one.guard, _suite(one)) for one in node.cases]
    )


def _function(node: Any) -> Any:
    return ast.FunctionDef(
        name=normalized(node.name.value),
        args=parameters(node.params),
        body=_suite(node),
        decorator_list=[one.decorator for one in node.decorators],
        returns=node.returns and node.returns.annotation,
    )


def _class(node: Any) -> Any:
    bases, keywords = arguments((*node.bases, *node.keywords))
    decorators = [one.decorator for one in node.decorators]
    return ast.ClassDef(normalized(node.name.value), bases, keywords, _suite(node), decorators)


def _pattern(pattern: cst.MatchPattern) -> ast.pattern:
    """A pattern that binds the same names in the same order."""
    found: dict[str, None] = {}
    stack: list[cst.CSTNode | None] = [pattern]
    while stack:
        match stack.pop():
            case cst.MatchAs(pattern=inner, name=name):
                stack += [name, inner]
            case cst.Name(value=value):
                found[normalized(value)] = None
            case cst.MatchStar(name=name):
                stack.append(name)
            case cst.MatchSequence(patterns=items_):
                stack += [one if isinstance(one, cst.MatchStar) else one.value for one in reversed(items_)]
            case cst.MatchMapping(elements=elements, rest=rest):
                stack += [rest, *(element.pattern for element in reversed(elements))]
            case cst.MatchClass(patterns=items_, kwds=keywords):
                stack += [keyword.pattern for keyword in reversed(keywords)]
                stack += [item.value for item in reversed(items_)]
            case cst.MatchOr(patterns=alternatives):
                stack += [one.pattern for one in reversed(alternatives)]
    return ast.MatchSequence([ast.MatchAs(None, name) for name in found])


_COMPOUND |= kinds_of_libcst(
    {
        "If": _if,
        "For": _for,
        "While": _while,
        "With": _with,
        "Try": _try,
        "TryStar": _try,
        "Match": _match,
        "FunctionDef": _function,
        "ClassDef": _class,
    }
)
SIMPLE |= dict.fromkeys(_SIMPLE, _lower_simple)
SIMPLE |= kinds_of_libcst({"TypeAlias": type_alias})  # its fields have the names that ast gives them
COMPOUND |= dict.fromkeys(_COMPOUND, _lower_compound)
