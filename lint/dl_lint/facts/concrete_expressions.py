"""libcst's expressions, each seen as the one of ``ast`` that Python's parser would make of it."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING, Any

import libcst as cst

from dl_lint.facts.constants import TOO_LARGE
from dl_lint.facts.cursor import Kinds, normalized
from dl_lint.facts.expressions import LOWER
from dl_lint.source import NEWLINE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dl_lint.facts import tree
    from dl_lint.facts.cursor import Cursor

_VIEWS = Kinds()
_CONSTANTS: dict[str, bool | None] = {"None": None, "True": True, "False": False}
_NO_UNICODE = "\ud800"
"""What no text can be, for a string whose value is not known."""

_OPERATORS: dict[type[cst.CSTNode], type[ast.AST]] = {
    cst.Equal: ast.Eq,
    cst.NotEqual: ast.NotEq,
    cst.LessThan: ast.Lt,
    cst.LessThanEqual: ast.LtE,
    cst.GreaterThan: ast.Gt,
    cst.GreaterThanEqual: ast.GtE,
    cst.In: ast.In,
    cst.NotIn: ast.NotIn,
    cst.Is: ast.Is,
    cst.IsNot: ast.IsNot,
    cst.Subtract: ast.Sub,
    cst.Multiply: ast.Mult,
    cst.Divide: ast.Div,
    cst.FloorDivide: ast.FloorDiv,
    cst.Modulo: ast.Mod,
    cst.Power: ast.Pow,
    cst.LeftShift: ast.LShift,
    cst.RightShift: ast.RShift,
    cst.BitAnd: ast.BitAnd,
    cst.BitOr: ast.BitOr,
    cst.BitXor: ast.BitXor,
    cst.MatrixMultiply: ast.MatMult,
    cst.Add: ast.Add,
    cst.Minus: ast.USub,
    cst.Plus: ast.UAdd,
    cst.BitInvert: ast.Invert,
    cst.Not: ast.Not,
    cst.And: ast.And,
    cst.Or: ast.Or,
}


def kinds_of_libcst(names: Mapping[str, Any]) -> dict[type[cst.CSTNode], Any]:
    """The table by type of node; older versions of libcst lack the newest kinds."""
    return {getattr(cst, kind): view for kind, view in names.items() if hasattr(cst, kind)}


def _lower(c: Cursor, node: cst.CSTNode) -> tree.Expr:
    view = _VIEWS[type(node)](node)
    lowered: tree.Expr = LOWER[type(view)](c, view)
    return lowered


def _noted(view: Any, **notes: object) -> Any:
    """What ``ConcreteCursor`` asks for."""
    for name, value in notes.items():
        setattr(view, name, value)
    return view


def _operator(node: cst.CSTNode) -> Any:
    return _OPERATORS[type(node)]()


# --- literals --------------------------------------------------------------------------


def _name(node: Any) -> Any:
    if node.value in _CONSTANTS:
        return ast.Constant(_CONSTANTS[node.value])
    return ast.Name(normalized(node.value), ast.Load())


def _integer(node: Any) -> Any:
    try:
        return ast.Constant(int(node.value) if node.value.isdecimal() else int(node.value, 0))
    except ValueError:  # more digits than the interpreter converts
        return ast.Constant(TOO_LARGE)


def _float(node: Any) -> Any:
    return ast.Constant(float(node.value))


def _imaginary(_node: Any) -> Any:
    return ast.Constant(0j)


def _ellipsis(_node: Any) -> Any:
    return ast.Constant(...)


def _string(node: Any) -> Any:
    return _noted(ast.Constant(text_of(node.value)), strings=1)


def _fstring(node: Any) -> Any:
    return _noted(ast.JoinedStr(_fields(node.parts)), strings=1)


def _fields(parts: Any) -> list[ast.expr]:
    return [
        ast.FormattedValue(part.expression, -1, ast.JoinedStr(_fields(part.format_spec)) if part.format_spec else None)
        for part in parts
        if hasattr(part, "expression")
    ]


def _concatenated(node: Any) -> Any:
    """``"a" f"{b}" "c"``: one constant, or one f-string with the values of all its parts."""
    parts: list[Any] = []
    rest: Any = node
    while isinstance(rest, cst.ConcatenatedString):
        parts.append(rest.left)
        rest = rest.right
    parts.append(rest)
    if not all(isinstance(part, cst.SimpleString) for part in parts):
        values = [value for part in parts if not isinstance(part, cst.SimpleString) for value in _fields(part.parts)]
        return _noted(ast.JoinedStr(values), strings=len(parts))
    texts = [text_of(part.value) for part in parts]
    whole: Any = texts[0] if isinstance(texts[0], bytes) else "".join(map(_as_text, texts))
    return _noted(ast.Constant(whole), strings=len(parts))


def _as_text(text: str | bytes) -> str:
    return text if isinstance(text, str) else _NO_UNICODE


def text_of(literal: str) -> str | bytes:
    """The value of a string literal; that of bytes is not told, and a text that Python cannot read is no Unicode."""
    quote = min((literal.find(mark) for mark in "\"'" if mark in literal), default=0)
    prefix = literal[:quote].lower()
    if "b" in prefix:
        return b""
    width = 3 if literal[quote : quote + 3] in ('"""', "'''") and len(literal) >= quote + 6 else 1
    body = literal[quote + width : -width]
    if "r" in prefix or "\\" not in body:
        return NEWLINE.sub("\n", body) if "\r" in body else body
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return str(ast.literal_eval(literal))
    except (ValueError, SyntaxError):
        return _NO_UNICODE


# --- operators -------------------------------------------------------------------------


def _binary(node: Any) -> Any:
    spine = [node]
    inner: Any = node.left
    while type(inner) is cst.BinaryOperation and not inner.lpar:
        spine.append(inner)
        inner = inner.left
    for step in reversed(spine):
        inner = ast.BinOp(inner, _operator(step.operator), step.right)
    return inner


def _boolean(node: Any) -> Any:
    values: list[Any] = [node.right]
    inner: Any = node.left
    while type(inner) is cst.BooleanOperation and type(inner.operator) is type(node.operator) and not inner.lpar:
        values.append(inner.right)
        inner = inner.left
    return ast.BoolOp(_operator(node.operator), [inner, *reversed(values)])


def _comparison(node: Any) -> Any:
    targets = node.comparisons
    return ast.Compare(node.left, [_operator(one.operator) for one in targets], [one.comparator for one in targets])


def _unary(node: Any) -> Any:
    return ast.UnaryOp(_operator(node.operator), node.expression)


def _conditional(node: Any) -> Any:
    return ast.IfExp(node.test, node.body, node.orelse)


def _walrus(node: Any) -> Any:
    return ast.NamedExpr(node.target, node.value)


def _await(node: Any) -> Any:
    return ast.Await(node.expression)


def _yield(node: Any) -> Any:
    value = node.value
    return ast.YieldFrom(node.value.item) if type(value) is cst.From else ast.Yield(value)


# --- calls -----------------------------------------------------------------------------


def _postfix(node: Any) -> Any:
    spine = [node]
    inner: Any = node.func if type(node) is cst.Call else node.value
    while (step := type(inner)) in (cst.Attribute, cst.Subscript, cst.Call) and not inner.lpar:
        spine.append(inner)
        inner = inner.func if step is cst.Call else inner.value
    for one in reversed(spine):
        if type(one) is cst.Call:
            inner = ast.Call(inner, *arguments(one.args))
        elif type(one) is cst.Attribute:
            inner = ast.Attribute(inner, normalized(one.attr.value), ast.Load())
        else:
            inner = ast.Subscript(inner, _index(one.slice), ast.Load())
    return inner


def _index(elements: Any) -> Any:
    first = elements[0].slice
    if len(elements) == 1 and not getattr(first, "star", None) and type(elements[0].comma) is not cst.Comma:
        return _indices(first)
    return _noted(ast.Tuple([_indices(element.slice) for element in elements], ast.Load()), enclosed=False)


def _indices(node: Any) -> Any:
    if type(node) is cst.Index:
        return ast.Starred(node.value, ast.Load()) if node.star else node.value  # type: ignore[arg-type]
    return ast.Slice(node.lower, node.upper, node.step)


def arguments(nodes: Any) -> tuple[list[ast.expr], list[ast.keyword]]:
    """Arguments of a call or a class."""
    args: list[Any] = []
    keywords: list[ast.keyword] = []
    for node in nodes:
        if node.keyword is not None:
            keywords.append(ast.keyword(normalized(node.keyword.value), node.value))
        elif node.star == "**":
            keywords.append(ast.keyword(None, node.value))
        else:
            args.append(ast.Starred(node.value, ast.Load()) if node.star else node.value)
    return args, keywords


def parameters(node: Any) -> ast.arguments:
    """The parameters of a function or lambda."""
    star = node.star_arg
    return ast.arguments(
        posonlyargs=[_parameter(param) for param in node.posonly_params],
        args=[_parameter(param) for param in node.params],
        vararg=_parameter(star) if isinstance(star, cst.Param) else None,
        kwonlyargs=[_parameter(param) for param in node.kwonly_params],
        kw_defaults=[param.default for param in node.kwonly_params],
        kwarg=_parameter(node.star_kwarg) if node.star_kwarg is not None else None,
        defaults=[param.default for param in (*node.posonly_params, *node.params) if param.default is not None],
    )


def _parameter(node: Any) -> ast.arg:
    return ast.arg(normalized(node.name.value), node.annotation and node.annotation.annotation)


def _lambda(node: Any) -> Any:
    return ast.Lambda(parameters(node.params), node.body)


# --- displays --------------------------------------------------------------------------


def items(node: Any) -> list[Any]:
    """The elements of a display."""
    return [element if type(element) is cst.StarredElement else element.value for element in node.elements]


def _tuple(node: Any) -> Any:
    return _noted(ast.Tuple(items(node), ast.Load()), enclosed=bool(node.lpar))


def _list(node: Any) -> Any:
    return ast.List(items(node), ast.Load())


def _set(node: Any) -> Any:
    return ast.Set(items(node))


def _starred(node: Any) -> Any:
    return ast.Starred(node.value, ast.Load())


def _dict(node: Any) -> Any:
    return ast.Dict([getattr(one, "key", None) for one in node.elements], [one.value for one in node.elements])


def _generators(node: Any) -> list[ast.comprehension]:
    found = []
    while node is not None:
        ifs = [condition.test for condition in node.ifs]
        found.append(ast.comprehension(node.target, node.iter, ifs, int(node.asynchronous is not None)))
        node = node.inner_for_in
    return found


def _list_comprehension(node: Any) -> Any:
    return ast.ListComp(node.elt, _generators(node.for_in))


def _set_comprehension(node: Any) -> Any:
    return ast.SetComp(node.elt, _generators(node.for_in))


def _generator(node: Any) -> Any:
    return _noted(ast.GeneratorExp(node.elt, _generators(node.for_in)), enclosed=bool(node.lpar))


def _dict_comprehension(node: Any) -> Any:
    key: Any = getattr(node, "key", None)
    return ast.DictComp(key, node.value, _generators(node.for_in))


_VIEWS |= kinds_of_libcst(
    {
        "Name": _name,
        "Integer": _integer,
        "Float": _float,
        "Imaginary": _imaginary,
        "Ellipsis": _ellipsis,
        "SimpleString": _string,
        "FormattedString": _fstring,
        "TemplatedString": _fstring,
        "ConcatenatedString": _concatenated,
        "BinaryOperation": _binary,
        "BooleanOperation": _boolean,
        "Comparison": _comparison,
        "UnaryOperation": _unary,
        "IfExp": _conditional,
        "NamedExpr": _walrus,
        "Await": _await,
        "Yield": _yield,
        "Attribute": _postfix,
        "Subscript": _postfix,
        "Call": _postfix,
        "Lambda": _lambda,
        "Tuple": _tuple,
        "List": _list,
        "Set": _set,
        "StarredElement": _starred,
        "Dict": _dict,
        "ListComp": _list_comprehension,
        "SetComp": _set_comprehension,
        "GeneratorExp": _generator,
        "DictComp": _dict_comprehension,
        "StarredDictComp": _dict_comprehension,
    }
)
LOWER |= dict.fromkeys(_VIEWS, _lower)
