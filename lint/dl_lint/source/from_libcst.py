"""libcst's tree of a module as the tree that ``ast.parse`` gives for the same text, positions included.

libcst reads the syntax of newer Pythons than the running one. What this Python's ``ast`` has no node for becomes the
nearest that it has: ``type X = v`` an assignment, a template string an f-string; type parameters are dropped.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import Any, TypedDict
from unicodedata import normalize

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

_LOAD, _STORE, _DEL = ast.Load(), ast.Store(), ast.Del()
_NEWLINE = re.compile(r"\r\n?")
_NEWLINE_BYTES = re.compile(rb"\r\n?|\n")
_SINGLETONS = {"None": None, "True": True, "False": False}

# Operators that libcst and ast do not name alike.
_RENAMED = {
    "BitInvert": "Invert",
    "Divide": "Div",
    "Equal": "Eq",
    "FloorDivide": "FloorDiv",
    "GreaterThan": "Gt",
    "GreaterThanEqual": "GtE",
    "LeftShift": "LShift",
    "LessThan": "Lt",
    "LessThanEqual": "LtE",
    "MatrixMultiply": "MatMult",
    "Minus": "USub",
    "Modulo": "Mod",
    "Multiply": "Mult",
    "NotEqual": "NotEq",
    "Plus": "UAdd",
    "Power": "Pow",
    "RightShift": "RShift",
    "Subtract": "Sub",
}


def module(code: str, tree: cst.Module) -> ast.Module:
    """The tree that ``ast.parse`` gives for ``code``, of libcst's; raises SyntaxError for a literal that has no value.

    Of the 260 ms for 1,000 lines, libcst takes 230 to tell where its nodes stand (and 80 before, to parse them).
    """
    text = _Text(code, tree)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes that Python does not know
        return ast.Module(_suite(tree, text), type_ignores=[])


@singledispatch
def _expression(node: cst.CSTNode, text: _Text) -> ast.expr:  # noqa: ARG001
    raise TypeError(f"no expression: {type(node).__name__}")


@singledispatch
def _statement(node: cst.CSTNode, text: _Text) -> ast.stmt:  # noqa: ARG001
    raise TypeError(f"no statement: {type(node).__name__}")


@singledispatch
def _pattern(node: cst.CSTNode, text: _Text) -> ast.pattern:  # noqa: ARG001
    raise TypeError(f"no pattern: {type(node).__name__}")


def _optional(node: cst.CSTNode | None, text: _Text) -> ast.expr | None:
    return None if node is None else _expression(node, text)


def _annotation(node: cst.Annotation | None, text: _Text) -> ast.expr | None:
    return None if node is None else _expression(node.annotation, text)


def _target(node: cst.CSTNode, text: _Text, context: ast.expr_context = _STORE) -> Any:
    target = _expression(node, text)
    _bind(target, context)
    return target


def _bind(node: ast.expr, context: ast.expr_context) -> None:
    match node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            node.ctx = context
            for element in elements:
                _bind(element, context)
        case ast.Starred(value=value):
            node.ctx = context
            _bind(value, context)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            node.ctx = context


def _identifier(node: cst.Name | None) -> Any:
    """The name as Python knows it, None for none."""
    if node is None:
        return None
    return node.value if node.value.isascii() else normalize("NFKC", node.value)


def _dotted(node: cst.CSTNode | None) -> Any:
    """The dotted name, None for none."""
    if isinstance(node, cst.AsName):
        return _dotted(node.name)
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{_identifier(node.attr)}"
    assert node is None or isinstance(node, cst.Name)
    return _identifier(node)


def _like(node: cst.CSTNode) -> Any:
    """The class of ``ast`` that has the name of the node's."""
    return getattr(ast, type(node).__name__)


def _operator(node: cst.CSTNode) -> Any:
    name = type(node).__name__.removesuffix("Assign")
    return getattr(ast, _RENAMED.get(name, name))()


# --- positions -------------------------------------------------------------------------


class _Location(TypedDict):
    lineno: int
    col_offset: int
    end_lineno: int
    end_col_offset: int


class _Text:
    """The text of a module, and where its nodes stand in it, in bytes of UTF-8."""

    def __init__(self, code: str, tree: cst.Module) -> None:
        self.code = tree.code.encode()
        self._lines = [0, *(end.end() for end in _NEWLINE_BYTES.finditer(self.code))]
        self._lost = _lost(code.removeprefix("\ufeff").encode(), self.code)
        self._spans = MetadataWrapper(tree, unsafe_skip_copy=True).resolve(ByteSpanPositionProvider)

    def start(self, node: cst.CSTNode) -> int:
        return self._spans[node].start

    def end(self, node: cst.CSTNode) -> int:
        span = self._spans[node]
        return span.start + span.length

    def outer_end(self, node: Any) -> int:
        """Where an expression ends with the parentheses around it."""
        return self.end(node.rpar[-1] if node.rpar else node)

    def between(self, start: int, end: int) -> _Location:
        first, last = bisect_right(self._lines, start), bisect_right(self._lines, end)
        return {
            "lineno": first,
            "col_offset": start - self._lines[first - 1] + self._lost.get(first, 0),
            "end_lineno": last,
            "end_col_offset": end - self._lines[last - 1] + self._lost.get(last, 0),
        }

    def at(self, node: cst.CSTNode) -> _Location:
        return self.between(*_span(node, self))


def _lost(code: bytes, kept: bytes) -> dict[int, int]:
    """How much of a line libcst loses, by its number: form feeds right before a statement (as of libcst 1.9)."""
    if code == kept:
        return {}
    both = zip(_NEWLINE_BYTES.split(code), _NEWLINE_BYTES.split(kept), strict=False)
    return {row: len(one) - len(other) for row, (one, other) in enumerate(both, 1) if one != other}


@singledispatch
def _span(node: cst.CSTNode, text: _Text) -> tuple[int, int]:
    """Where ``ast`` says that a node starts and ends: where libcst does, but for the kinds below."""
    return text.start(node), text.end(node)


@_span.register
def _bracketed_span(node: cst.Tuple | cst.GeneratorExp | cst.MatchTuple, text: _Text) -> tuple[int, int]:
    """The innermost parentheses around a tuple or a generator are its own."""
    if not node.lpar:
        return text.start(node), text.end(node)
    return text.start(node.lpar[-1]), text.end(node.rpar[0])


@_span.register
def _slice_span(node: cst.Slice, text: _Text) -> tuple[int, int]:
    """libcst counts blanks after a colon in."""
    for part in (node.step, node.second_colon, node.upper):
        if isinstance(part, cst.BaseExpression):
            return text.start(node), text.outer_end(part)
        if isinstance(part, cst.Colon):
            return text.start(node), text.end(part)
    return text.start(node), text.end(node.first_colon)


@_span.register
def _parameter_span(node: cst.Param, text: _Text) -> tuple[int, int]:
    return text.start(node.name), text.end(node.annotation or node.name)


@_span.register
def _star_span(node: cst.MatchStar, text: _Text) -> tuple[int, int]:
    """libcst counts the comma in."""
    end = text.end(node.whitespace_before_name) + len("_") if node.name is None else text.end(node.name)
    return text.start(node), end


@_span.register
def _compound_span(
    node: cst.BaseCompoundStatement | cst.ExceptHandler | cst.ExceptStarHandler, text: _Text
) -> tuple[int, int]:
    return text.start(node), _last_end(node, text)


def _last_end(node: Any, text: _Text) -> int:
    """Where a statement or clause ends; a semicolon after its last line is part of what is around that line."""
    if hasattr(node, "semicolon"):
        return text.end(node.semicolon if isinstance(node.semicolon, cst.Semicolon) else node)
    clauses = (getattr(node, clause, None) for clause in ("finalbody", "orelse", "handlers", "cases", "body"))
    last: Any = next(filter(None, clauses))
    return _last_end(last[-1] if isinstance(last, Sequence) else last, text)


# --- literals --------------------------------------------------------------------------


@_expression.register
def _name(node: cst.Name, text: _Text) -> ast.expr:
    if node.value in _SINGLETONS:
        return ast.Constant(_SINGLETONS[node.value], **text.at(node))
    return ast.Name(_identifier(node), _LOAD, **text.at(node))


@_expression.register
def _ellipsis(node: cst.Ellipsis, text: _Text) -> ast.expr:
    return ast.Constant(..., **text.at(node))


@_expression.register
def _number(node: cst.Integer | cst.Float | cst.Imaginary, text: _Text) -> ast.expr:
    return ast.Constant(_evaluated(node.value, node, text), **text.at(node))


def _evaluated(literal: str, node: cst.CSTNode, text: _Text) -> Any:
    try:
        return ast.literal_eval(literal)
    except (SyntaxError, ValueError) as error:
        where, message = text.at(node), error.msg if isinstance(error, SyntaxError) else str(error)
        raise SyntaxError(message, ("<unknown>", where["lineno"], where["col_offset"] + 1, None)) from None


@_expression.register
def _string(node: cst.SimpleString | cst.FormattedString | cst.ConcatenatedString, text: _Text) -> ast.expr:
    literals = list(_literals(node))
    if all(isinstance(literal, cst.SimpleString) for literal in literals):
        return _plain_string(node, literals, text)
    pieces = _merged(piece for literal in literals for piece in _pieces(literal, text))
    if sys.version_info >= (3, 14) and all(_is_template(literal) for literal in literals):
        return ast.TemplateStr(pieces, **text.at(node))
    return ast.JoinedStr(pieces, **text.at(node))


def _literals(node: Any) -> Iterator[Any]:
    while isinstance(node, cst.ConcatenatedString):
        yield node.left
        node = node.right
    yield node


def _plain_string(node: cst.CSTNode, literals: list[cst.SimpleString], text: _Text) -> ast.expr:
    values = [_evaluated(literal.value, literal, text) for literal in literals]
    kind = "u" if literals[0].value.startswith("u") else None
    return ast.Constant(values[0][:0].join(values), kind, **text.at(node))


def _is_template(literal: Any) -> bool:
    return not isinstance(literal, cst.SimpleString | cst.FormattedString)


def _pieces(literal: Any, text: _Text) -> Iterator[ast.expr]:
    """What a literal adds to the values of an f-string."""
    if isinstance(literal, cst.SimpleString):
        yield _plain_string(literal, [literal], text)
    else:
        yield from _parts(literal.parts, literal, text)


def _parts(parts: Sequence[Any], literal: Any, text: _Text) -> Iterator[ast.expr]:
    for part in parts:
        if not hasattr(part, "expression"):
            yield ast.Constant(_decoded(part, literal, text), **text.at(part))
            continue
        if part.equal is not None:
            start, end = text.start(part) + len("{"), text.end(part.whitespace_after_expression)
            yield ast.Constant(_NEWLINE.sub("\n", text.code[start:end].decode()), **text.between(start, end))
        yield _field(part, literal, text)


def _decoded(part: Any, literal: Any, text: _Text) -> str:
    """The value of a stretch of an f-string's text."""
    value: str = _NEWLINE.sub("\n", part.value.replace("{{", "{").replace("}}", "}"))
    if "\\" in value and "r" not in literal.prefix:
        # The space keeps a quote or a backslash at the end away from the closing quotes.
        value = _evaluated(f"{literal.end}{value} {literal.end}", part, text)[:-1]
    return value


def _field(part: Any, literal: Any, text: _Text) -> ast.expr:
    value = _expression(part.expression, text)
    conversion, specification = -1, None
    colon = text.end(part.whitespace_after_expression)
    if part.conversion is not None:
        conversion = ord(part.conversion)
        colon += len("!") + len(part.conversion)
    elif part.equal is not None and part.format_spec is None:
        conversion = ord("r")
    if part.format_spec is not None:
        where = text.between(colon, text.end(part) - len("}"))
        specification = ast.JoinedStr(_merged(_parts(part.format_spec, literal, text)), **where)
    if sys.version_info >= (3, 14) and _is_template(literal):
        source = text.code[text.start(part) + len("{") : text.outer_end(part.expression)].decode()
        return ast.Interpolation(value, source, conversion, specification, **text.at(part))
    return ast.FormattedValue(value, conversion, specification, **text.at(part))


def _merged(pieces: Iterator[ast.expr]) -> list[ast.expr]:
    """The values of an f-string: neighbouring texts are one constant, and empty text is none."""
    values: list[ast.expr] = []
    for piece in pieces:
        last = values[-1] if values else None
        if isinstance(last, ast.Constant) and isinstance(piece, ast.Constant):
            last.value += piece.value  # type: ignore[operator]  # both are str
            last.end_lineno, last.end_col_offset = piece.end_lineno, piece.end_col_offset
        else:
            values.append(piece)
    return [value for value in values if not isinstance(value, ast.Constant) or value.value]


# --- operators -------------------------------------------------------------------------


@_expression.register
def _binary(node: cst.BinaryOperation, text: _Text) -> ast.expr:
    left, right = _expression(node.left, text), _expression(node.right, text)
    return ast.BinOp(left, _operator(node.operator), right, **text.at(node))


@_expression.register
def _boolean(node: cst.BooleanOperation, text: _Text) -> ast.expr:
    values = [_expression(node.right, text)]
    left = node.left
    while isinstance(left, cst.BooleanOperation) and type(left.operator) is type(node.operator) and not left.lpar:
        values.append(_expression(left.right, text))
        left = left.left
    values.append(_expression(left, text))
    return ast.BoolOp(_operator(node.operator), values[::-1], **text.at(node))


@_expression.register
def _comparison(node: cst.Comparison, text: _Text) -> ast.expr:
    operators = [_operator(one.operator) for one in node.comparisons]
    comparators = [_expression(one.comparator, text) for one in node.comparisons]
    return ast.Compare(_expression(node.left, text), operators, comparators, **text.at(node))


@_expression.register
def _unary(node: cst.UnaryOperation, text: _Text) -> ast.expr:
    return ast.UnaryOp(_operator(node.operator), _expression(node.expression, text), **text.at(node))


@_expression.register
def _conditional(node: cst.IfExp, text: _Text) -> ast.expr:
    test, body, orelse = (_expression(one, text) for one in (node.test, node.body, node.orelse))
    return ast.IfExp(test, body, orelse, **text.at(node))


@_expression.register
def _walrus(node: cst.NamedExpr, text: _Text) -> ast.expr:
    return ast.NamedExpr(_target(node.target, text), _expression(node.value, text), **text.at(node))


@_expression.register
def _await(node: cst.Await, text: _Text) -> ast.expr:
    return ast.Await(_expression(node.expression, text), **text.at(node))


@_expression.register
def _yield(node: cst.Yield, text: _Text) -> ast.expr:
    if isinstance(node.value, cst.From):
        return ast.YieldFrom(_expression(node.value.item, text), **text.at(node))
    return ast.Yield(_optional(node.value, text), **text.at(node))


# --- calls, subscripts, lambdas --------------------------------------------------------


@_expression.register
def _attribute(node: cst.Attribute, text: _Text) -> ast.expr:
    return ast.Attribute(_expression(node.value, text), _identifier(node.attr), _LOAD, **text.at(node))


@_expression.register
def _call(node: cst.Call, text: _Text) -> ast.expr:
    args, keywords = _arguments(node.args, text)
    if node.args and isinstance(node.args[0].value, cst.GeneratorExp) and not node.args[0].value.lpar:
        # The parentheses of the call are those of its only argument.
        where = text.between(text.start(node.whitespace_before_args) - len("("), text.end(node))
        args = [_comprehension(node.args[0].value, where, text)]
    return ast.Call(_expression(node.func, text), args, keywords, **text.at(node))


def _arguments(nodes: Sequence[cst.Arg], text: _Text) -> tuple[list[ast.expr], list[ast.keyword]]:
    args: list[ast.expr] = []
    keywords: list[ast.keyword] = []
    for node in nodes:
        value = _expression(node.value, text)
        if node.keyword is not None or node.star == "**":
            keywords.append(ast.keyword(_identifier(node.keyword), value, **text.at(node)))
        else:
            args.append(ast.Starred(value, _LOAD, **text.at(node)) if node.star else value)
    return args, keywords


@_expression.register
def _subscript(node: cst.Subscript, text: _Text) -> ast.expr:
    items = [_index(element.slice, text) for element in node.slice]
    first, last = node.slice[0].slice, node.slice[-1]
    if len(items) > 1 or isinstance(last.comma, cst.Comma) or isinstance(items[0], ast.Starred):
        end = text.end(last.comma) if isinstance(last.comma, cst.Comma) else _span(last.slice, text)[1]
        items = [ast.Tuple(items, _LOAD, **text.between(text.start(first), end))]
    return ast.Subscript(_expression(node.value, text), items[0], _LOAD, **text.at(node))


def _index(node: cst.BaseSlice, text: _Text) -> ast.expr:
    if isinstance(node, cst.Slice):
        lower, upper, step = (_optional(one, text) for one in (node.lower, node.upper, node.step))
        return ast.Slice(lower, upper, step, **text.at(node))
    assert isinstance(node, cst.Index)
    value = _expression(node.value, text)
    return ast.Starred(value, _LOAD, **text.at(node)) if node.star else value


@_expression.register
def _lambda(node: cst.Lambda, text: _Text) -> ast.expr:
    return ast.Lambda(_parameters(node.params, text), _expression(node.body, text), **text.at(node))


def _parameters(node: cst.Parameters, text: _Text) -> ast.arguments:
    star, positional = node.star_arg, (*node.posonly_params, *node.params)
    return ast.arguments(
        posonlyargs=[_parameter(one, text) for one in node.posonly_params],
        args=[_parameter(one, text) for one in node.params],
        vararg=_parameter(star, text) if isinstance(star, cst.Param) else None,
        kwonlyargs=[_parameter(one, text) for one in node.kwonly_params],
        kw_defaults=[_optional(one.default, text) for one in node.kwonly_params],
        kwarg=None if node.star_kwarg is None else _parameter(node.star_kwarg, text),
        defaults=[_expression(one.default, text) for one in positional if one.default is not None],
    )


def _parameter(node: cst.Param, text: _Text) -> ast.arg:
    return ast.arg(_identifier(node.name), _annotation(node.annotation, text), **text.at(node))


# --- displays --------------------------------------------------------------------------


@_expression.register
def _sequence(node: cst.Tuple | cst.List, text: _Text) -> ast.expr:
    display: ast.expr = _like(node)(_elements(node.elements, text), _LOAD, **text.at(node))
    return display


@_expression.register
def _set(node: cst.Set, text: _Text) -> ast.expr:
    return ast.Set(_elements(node.elements, text), **text.at(node))


def _elements(nodes: Sequence[cst.BaseElement], text: _Text) -> list[ast.expr]:
    return [_expression(node if isinstance(node, cst.StarredElement) else node.value, text) for node in nodes]


@_expression.register
def _starred(node: cst.StarredElement, text: _Text) -> ast.expr:
    return ast.Starred(_expression(node.value, text), _LOAD, **text.at(node))


@_expression.register
def _dict(node: cst.Dict, text: _Text) -> ast.expr:
    keys = [_expression(one.key, text) if isinstance(one, cst.DictElement) else None for one in node.elements]
    return ast.Dict(keys, [_expression(one.value, text) for one in node.elements], **text.at(node))


@_expression.register
def _simple_comprehension(node: cst.ListComp | cst.SetComp | cst.GeneratorExp, text: _Text) -> ast.expr:
    return _comprehension(node, text.at(node), text)


def _comprehension(node: cst.BaseSimpleComp, where: _Location, text: _Text) -> ast.expr:
    display: ast.expr = _like(node)(_expression(node.elt, text), _clauses(node.for_in, text), **where)
    return display


@_expression.register
def _dict_comprehension(node: cst.DictComp, text: _Text) -> ast.expr:
    """Older Pythons have no node for ``{**d for d in ds}``: it becomes a dictionary from the mappings to themselves."""
    key, value = _expression(getattr(node, "key", node.value), text), _expression(node.value, text)
    return ast.DictComp(key, value, _clauses(node.for_in, text), **text.at(node))


def _clauses(node: cst.CompFor | None, text: _Text) -> list[ast.comprehension]:
    found = []
    while node is not None:
        ifs = [_expression(one.test, text) for one in node.ifs]
        target, source = _target(node.target, text), _expression(node.iter, text)
        found.append(ast.comprehension(target, source, ifs, int(node.asynchronous is not None)))
        node = node.inner_for_in
    return found


# --- simple statements -----------------------------------------------------------------


@_statement.register
def _expression_statement(node: cst.Expr, text: _Text) -> ast.stmt:
    return ast.Expr(_expression(node.value, text), **text.at(node))


@_statement.register
def _assign(node: cst.Assign, text: _Text) -> ast.stmt:
    targets = [_target(one.target, text) for one in node.targets]
    return ast.Assign(targets, _expression(node.value, text), **text.at(node))


@_statement.register
def _annotated_assign(node: cst.AnnAssign, text: _Text) -> ast.stmt:
    target, annotation = _target(node.target, text), _expression(node.annotation.annotation, text)
    simple = int(isinstance(node.target, cst.Name) and not node.target.lpar)
    return ast.AnnAssign(target, annotation, _optional(node.value, text), simple, **text.at(node))


@_statement.register
def _augmented_assign(node: cst.AugAssign, text: _Text) -> ast.stmt:
    target, value = _target(node.target, text), _expression(node.value, text)
    return ast.AugAssign(target, _operator(node.operator), value, **text.at(node))


@_statement.register
def _delete(node: cst.Del, text: _Text) -> ast.stmt:
    target = _target(node.target, text, _DEL)
    bare = isinstance(node.target, cst.Tuple) and not node.target.lpar
    return ast.Delete(target.elts if bare else [target], **text.at(node))


@_statement.register
def _return(node: cst.Return, text: _Text) -> ast.stmt:
    return ast.Return(_optional(node.value, text), **text.at(node))


@_statement.register
def _raise(node: cst.Raise, text: _Text) -> ast.stmt:
    cause = None if node.cause is None else _expression(node.cause.item, text)
    return ast.Raise(_optional(node.exc, text), cause, **text.at(node))


@_statement.register
def _assert(node: cst.Assert, text: _Text) -> ast.stmt:
    return ast.Assert(_expression(node.test, text), _optional(node.msg, text), **text.at(node))


@_statement.register
def _keyword(node: cst.Pass | cst.Break | cst.Continue, text: _Text) -> ast.stmt:
    statement: ast.stmt = _like(node)(**text.at(node))
    return statement


@_statement.register
def _declaration(node: cst.Global | cst.Nonlocal, text: _Text) -> ast.stmt:
    statement: ast.stmt = _like(node)([_identifier(one.name) for one in node.names], **text.at(node))
    return statement


@_statement.register
def _import(node: cst.Import, text: _Text) -> ast.stmt:
    return ast.Import([_alias(one, text) for one in node.names], **text.at(node))


@_statement.register
def _import_from(node: cst.ImportFrom, text: _Text) -> ast.stmt:
    if isinstance(node.names, cst.ImportStar):
        names = [ast.alias("*", None, **text.at(node.names))]
    else:
        names = [_alias(one, text) for one in node.names]
    return ast.ImportFrom(_dotted(node.module), names, len(node.relative), **text.at(node))


def _alias(node: cst.ImportAlias, text: _Text) -> ast.alias:
    return ast.alias(_dotted(node.name), _dotted(node.asname), **text.at(node))


@_statement.register
def _type_alias(node: cst.TypeAlias, text: _Text) -> ast.stmt:
    name, value = _target(node.name, text), _expression(node.value, text)
    if sys.version_info >= (3, 12):
        return ast.TypeAlias(name=name, value=value, **_type_parameters(node.type_parameters, text), **text.at(node))
    return ast.Assign([name], value, **text.at(node))


# --- compound statements ---------------------------------------------------------------


def _suite(node: Any, text: _Text) -> list[ast.stmt]:
    """The statements of a module, a block or a line."""
    found: list[ast.stmt] = []
    for one in node.body:
        if isinstance(one, cst.SimpleStatementLine):
            found += _suite(one, text)
        else:
            found.append(_statement(one, text))
    return found


def _orelse(node: cst.If | cst.Else | cst.Finally | None, text: _Text) -> list[ast.stmt]:
    if node is None:
        return []
    return [_statement(node, text)] if isinstance(node, cst.If) else _suite(node.body, text)


@_statement.register
def _function(node: cst.FunctionDef, text: _Text) -> ast.stmt:
    kind = ast.FunctionDef if node.asynchronous is None else ast.AsyncFunctionDef
    return kind(
        name=_identifier(node.name),
        args=_parameters(node.params, text),
        body=_suite(node.body, text),
        decorator_list=[_expression(one.decorator, text) for one in node.decorators],
        returns=_annotation(node.returns, text),
        **_type_parameters(node.type_parameters, text),
        **text.at(node),
    )


@_statement.register
def _class(node: cst.ClassDef, text: _Text) -> ast.stmt:
    bases, keywords = _arguments((*node.bases, *node.keywords), text)
    return ast.ClassDef(
        name=_identifier(node.name),
        bases=bases,
        keywords=keywords,
        body=_suite(node.body, text),
        decorator_list=[_expression(one.decorator, text) for one in node.decorators],
        **_type_parameters(node.type_parameters, text),
        **text.at(node),
    )


def _type_parameters(node: cst.TypeParameters | None, text: _Text) -> dict[str, Any]:
    """The field of a definition that Pythons before 3.12 lack."""
    if sys.version_info < (3, 12):
        return {}
    return {"type_params": [] if node is None else [_type_parameter(one, text) for one in node.params]}


def _type_parameter(node: cst.TypeParam, text: _Text) -> Any:
    default, end = _optional(node.default, text), text.end(node.param)
    if default is not None:
        end = text.outer_end(node.default)
        if node.star:
            star = text.start(node.whitespace_after_star) - len(node.star)
            default = ast.Starred(default, _LOAD, **text.between(star, end))
    fields: dict[str, Any] = {"name": _identifier(node.param.name), **text.between(text.start(node.param), end)}
    if isinstance(node.param, cst.TypeVar):
        fields["bound"] = _optional(node.param.bound, text)
    if sys.version_info >= (3, 13):
        fields["default_value"] = default
    return _like(node.param)(**fields)


@_statement.register
def _conditional_block(node: cst.If | cst.While, text: _Text) -> ast.stmt:
    test, body, orelse = _expression(node.test, text), _suite(node.body, text), _orelse(node.orelse, text)
    statement: ast.stmt = _like(node)(test, body, orelse, **text.at(node))
    return statement


@_statement.register
def _for(node: cst.For, text: _Text) -> ast.stmt:
    kind = ast.For if node.asynchronous is None else ast.AsyncFor
    target, source = _target(node.target, text), _expression(node.iter, text)
    return kind(target, source, _suite(node.body, text), _orelse(node.orelse, text), **text.at(node))


@_statement.register
def _with(node: cst.With, text: _Text) -> ast.stmt:
    kind = ast.With if node.asynchronous is None else ast.AsyncWith
    items = []
    for one in node.items:
        name = None if one.asname is None else _target(one.asname.name, text)
        items.append(ast.withitem(_expression(one.item, text), name))
    return kind(items, _suite(node.body, text), **text.at(node))


@_statement.register
def _try(node: cst.Try | cst.TryStar, text: _Text) -> ast.stmt:
    body, handlers = _suite(node.body, text), [_handler(one, text) for one in node.handlers]
    orelse, last = _orelse(node.orelse, text), _orelse(node.finalbody, text)
    statement: ast.stmt = _like(node)(body, handlers, orelse, last, **text.at(node))
    return statement


def _handler(node: cst.ExceptHandler | cst.ExceptStarHandler, text: _Text) -> ast.ExceptHandler:
    kind, body = _optional(node.type, text), _suite(node.body, text)
    return ast.ExceptHandler(kind, _dotted(node.name), body, **text.at(node))


@_statement.register
def _match(node: cst.Match, text: _Text) -> ast.stmt:
    cases = []
    for one in node.cases:
        pattern, guard = _pattern(one.pattern, text), _optional(one.guard, text)
        cases.append(ast.match_case(pattern, guard, _suite(one.body, text)))
    return ast.Match(_expression(node.subject, text), cases, **text.at(node))


# --- patterns --------------------------------------------------------------------------


@_pattern.register
def _match_value(node: cst.MatchValue, text: _Text) -> ast.pattern:
    return ast.MatchValue(_expression(node.value, text), **text.at(node.value))


@_pattern.register
def _match_singleton(node: cst.MatchSingleton, text: _Text) -> ast.pattern:
    return ast.MatchSingleton(_SINGLETONS[node.value.value], **text.at(node.value))


@_pattern.register
def _match_sequence(node: cst.MatchList | cst.MatchTuple, text: _Text) -> ast.pattern:
    return ast.MatchSequence(_patterns(node.patterns, text), **text.at(node))


def _patterns(nodes: Sequence[cst.MatchSequenceElement | cst.MatchStar], text: _Text) -> list[ast.pattern]:
    return [_pattern(node if isinstance(node, cst.MatchStar) else node.value, text) for node in nodes]


@_pattern.register
def _match_star(node: cst.MatchStar, text: _Text) -> ast.pattern:
    return ast.MatchStar(_identifier(node.name), **text.at(node))


@_pattern.register
def _match_mapping(node: cst.MatchMapping, text: _Text) -> ast.pattern:
    keys = [_expression(one.key, text) for one in node.elements]
    patterns = [_pattern(one.pattern, text) for one in node.elements]
    return ast.MatchMapping(keys, patterns, _identifier(node.rest), **text.at(node))


@_pattern.register
def _match_class(node: cst.MatchClass, text: _Text) -> ast.pattern:
    names, patterns = [_identifier(one.key) for one in node.kwds], [_pattern(one.pattern, text) for one in node.kwds]
    return ast.MatchClass(_expression(node.cls, text), _patterns(node.patterns, text), names, patterns, **text.at(node))


@_pattern.register
def _match_as(node: cst.MatchAs, text: _Text) -> ast.pattern:
    pattern = None if node.pattern is None else _pattern(node.pattern, text)
    return ast.MatchAs(pattern, _identifier(node.name), **text.at(node))


@_pattern.register
def _match_or(node: cst.MatchOr, text: _Text) -> ast.pattern:
    return ast.MatchOr([_pattern(one.pattern, text) for one in node.patterns], **text.at(node))


# --- kinds that older versions of libcst lack ------------------------------------------


if hasattr(cst, "TemplatedString"):
    _expression.register(cst.TemplatedString, _string)
if hasattr(cst, "StarredDictComp"):
    _expression.register(cst.StarredDictComp, _dict_comprehension)
if hasattr(cst, "LazyImport"):
    _statement.register(cst.LazyImport, _import)
    _statement.register(cst.LazyImportFrom, _import_from)
