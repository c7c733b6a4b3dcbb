"""Lowers expressions: libcst nodes to ``tree`` nodes, in source order, along the tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from dl_lint.facts import tree
from dl_lint.facts.cursor import Cursor, Misaligned
from dl_lint.facts.literals import integer, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

# A longer chain of binary operators is not nested to the left but halved again and again: nothing reads its value.
LONGEST_CHAIN = 50

_COMPARISONS: dict[type[cst.CSTNode], str] = {
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
    cst.In: "in",
    cst.NotIn: "not in",
    cst.Is: "is",
    cst.IsNot: "is not",
}
_BINARY: dict[type[cst.CSTNode], str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.Power: "**",
    cst.LeftShift: "<<",
    cst.RightShift: ">>",
    cst.BitAnd: "&",
    cst.BitOr: "|",
    cst.BitXor: "^",
    cst.MatrixMultiply: "@",
}
_UNARY: dict[type[cst.CSTNode], str] = {cst.Not: "not", cst.Minus: "-", cst.Plus: "+", cst.BitInvert: "~"}
_CONSTANTS: dict[str, tuple[bool | None, str]] = {
    "None": (None, "none"),
    "True": (True, "bool"),
    "False": (False, "bool"),
}


def expression(c: Cursor, node: Any) -> tree.Expr:
    """Any expression; its own parentheses belong to its span."""
    kind = type(node)
    if kind is cst.Name and not node.lpar:
        return name(c, node)
    c.deeper()
    if node.lpar:
        first = c.at
        c.at += len(node.lpar)
        inner = _LOWER[kind](c, node)
        c.at += len(node.rpar)
        lowered: tree.Expr = replace(inner, at=c.span(first))
    else:
        lowered = _LOWER[kind](c, node)
    c.depth -= 1
    return lowered


def name(c: Cursor, node: cst.Name) -> tree.Expr:
    at, value = c.at, node.value
    if c.texts[at] != value:
        raise Misaligned
    c.at = at + 1
    if value in _CONSTANTS:
        return tree.Constant(c.spans[at], *_CONSTANTS[value])
    return tree.Name(c.spans[at], value)


# --- literals --------------------------------------------------------------------------


def _integer(c: Cursor, node: cst.Integer) -> tree.Expr:
    c.expect(node.value)
    return tree.Constant(c.spans[c.at - 1], integer(node.value), "int")


def _float(c: Cursor, node: cst.Float) -> tree.Expr:
    c.expect(node.value)
    return tree.Constant(c.spans[c.at - 1], float(node.value), "float")


def _imaginary(c: Cursor, node: cst.Imaginary) -> tree.Expr:
    c.expect(node.value)
    return tree.Constant(c.spans[c.at - 1], None, "complex")


def _ellipsis(c: Cursor, _node: cst.Ellipsis) -> tree.Expr:
    c.expect("...")
    return tree.Constant(c.spans[c.at - 1], None, "ellipsis")


def _string(c: Cursor, node: cst.SimpleString) -> tree.Expr:
    c.expect(node.value)
    return tree.Constant(c.spans[c.at - 1], *text_of(node.value))


def _fstring(c: Cursor, node: cst.FormattedString | cst.TemplatedString) -> tree.Expr:
    first = c.at
    inner = c.fstring(node)
    return tree.FString(c.span(first), tuple(_fields(inner, node.parts)))


def _fields(c: Cursor, parts: Any) -> list[tree.Expr]:
    values = []
    for part in parts:
        if hasattr(part, "expression"):
            values.append(expression(c, part.expression))
            values += _fields(c, part.format_spec or ())
    return values


def _concatenated(c: Cursor, node: cst.ConcatenatedString) -> tree.Expr:
    """``"a" f"{b}" "c"``: one constant, or one f-string with the values of all its parts."""
    first = c.at
    parts, rest = [], node
    while isinstance(rest, cst.ConcatenatedString):
        parts.append(expression(c, rest.left))
        rest = rest.right  # type: ignore[assignment]  # the last one is no concatenation
    parts.append(expression(c, rest))
    if any(isinstance(part, tree.FString) for part in parts):
        values = tuple(value for part in parts if isinstance(part, tree.FString) for value in part.values)
        return tree.FString(c.span(first), values)
    texts = [part.value for part in parts if isinstance(part, tree.Constant) and isinstance(part.value, str)]
    kind = parts[0].kind if isinstance(parts[0], tree.Constant) else "str"
    return tree.Constant(c.span(first), "".join(texts) if len(texts) == len(parts) else None, kind)


# --- names, calls, indices -------------------------------------------------------------


def _postfix(c: Cursor, node: Any) -> tree.Expr:
    """``a.b(c)[d].e``: down to the first value without recursion, then up again."""
    first, base = c.at, c.depth
    spine = [node]
    inner: Any = node.func if type(node) is cst.Call else node.value
    while (step := type(inner)) in _STEPS and not inner.lpar:
        spine.append(inner)
        inner = inner.func if step is cst.Call else inner.value
    c.deeper(len(spine) - 1)
    lowered = expression(c, inner)
    for step_node in reversed(spine):
        lowered = _STEPS[type(step_node)](c, step_node, lowered, first)
        c.depth -= 1
    c.depth = base
    return lowered


def _attribute(c: Cursor, node: cst.Attribute, value: tree.Expr, first: int) -> tree.Expr:
    attr = node.attr.value
    if c.texts[c.at + 1] != attr:
        raise Misaligned
    c.at += 2
    return tree.Attribute(c.span(first), value, attr)


def _subscript(c: Cursor, node: cst.Subscript, value: tree.Expr, first: int) -> tree.Expr:
    c.at += 1
    start = c.at
    items = []
    for element in node.slice:
        items.append(_index(c, element.slice))
        if type(element.comma) is cst.Comma:
            c.at += 1
    alone = len(items) == 1 and type(node.slice[0].comma) is not cst.Comma
    index = items[0] if alone else tree.Sequence(c.span(start), "tuple", tuple(items))
    c.expect("]")
    return tree.Subscript(c.span(first), value, index)


def _index(c: Cursor, node: Any) -> tree.Expr:
    first = c.at
    if type(node) is cst.Index:
        if not node.star:
            return expression(c, node.value)
        c.at += 1
        value = expression(c, node.value)
        return tree.Starred(c.span(first), value)
    lower = expression(c, node.lower) if node.lower else None
    c.expect(":")
    upper = expression(c, node.upper) if node.upper else None
    if type(node.second_colon) is cst.Colon:
        c.at += 1
    step = expression(c, node.step) if node.step else None
    return tree.Slice(c.span(first), lower, upper, step)


def _call(c: Cursor, node: cst.Call, func: tree.Expr, first: int) -> tree.Expr:
    c.expect("(")
    args, keywords = arguments(c, node.args)
    c.expect(")")
    return tree.Call(c.span(first), func, args, keywords)


def arguments(c: Cursor, nodes: Any) -> tuple[tuple[tree.Expr, ...], tuple[tree.Keyword, ...]]:
    """Arguments of a call or a class."""
    args: list[tree.Expr] = []
    keywords: list[tree.Keyword] = []
    for arg in nodes:
        first = c.at
        if arg.keyword is not None:
            c.expect(arg.keyword.value)
            c.at += 1
            value = expression(c, arg.value)
            keywords.append(tree.Keyword(c.span(first), arg.keyword.value, value))
        elif not arg.star:
            args.append(expression(c, arg.value))
        else:
            c.at += 1
            value = expression(c, arg.value)
            if arg.star == "*":
                args.append(tree.Starred(c.span(first), value))
            else:
                keywords.append(tree.Keyword(c.span(first), None, value))
        if type(arg.comma) is cst.Comma:
            c.at += 1
    return tuple(args), tuple(keywords)


_STEPS: dict[type[cst.CSTNode], Callable[[Cursor, Any, tree.Expr, int], tree.Expr]] = {
    cst.Attribute: _attribute,
    cst.Subscript: _subscript,
    cst.Call: _call,
}


# --- operators -------------------------------------------------------------------------


def _binary(c: Cursor, node: cst.BinaryOperation) -> tree.Expr:
    first, base = c.at, c.depth
    spine = [node]
    inner: Any = node.left
    while type(inner) is cst.BinaryOperation and not inner.lpar:
        spine.append(inner)
        inner = inner.left
    spine.reverse()
    c.deeper(min(len(spine), LONGEST_CHAIN) - 1)
    lowered = expression(c, inner)
    if len(spine) > LONGEST_CHAIN:
        lowered = _long_chain(c, lowered, spine)
    else:
        for step in spine:
            c.at += 1
            right = expression(c, step.right)
            lowered = tree.BinOp(c.span(first), lowered, _BINARY[type(step.operator)], right)
            c.depth -= 1
    c.depth = base
    return lowered


def _long_chain(c: Cursor, left: tree.Expr, spine: list[cst.BinaryOperation]) -> tree.Expr:
    terms, ops = [left], []
    for step in spine:
        c.at += 1
        terms.append(expression(c, step.right))
        ops.append(_BINARY[type(step.operator)])
    while len(terms) > 1:
        pairs = zip(terms[::2], ops[::2], terms[1::2], strict=False)
        rest = terms[-1:] if len(terms) % 2 else []
        terms = [tree.BinOp((*a.at[:2], *b.at[2:]), a, op, b) for a, op, b in pairs] + rest
        ops = ops[1::2]
    return terms[0]


def _boolean(c: Cursor, node: cst.BooleanOperation) -> tree.Expr:
    first, op = c.at, type(node.operator)
    rights = [node.right]
    inner: Any = node.left
    while type(inner) is cst.BooleanOperation and type(inner.operator) is op and not inner.lpar:
        rights.append(inner.right)
        inner = inner.left
    values = [expression(c, inner)]
    for right in reversed(rights):
        c.at += 1
        values.append(expression(c, right))
    return tree.BoolOp(c.span(first), "and" if op is cst.And else "or", tuple(values))


def _comparison(c: Cursor, node: cst.Comparison) -> tree.Expr:
    first = c.at
    left = expression(c, node.left)
    ops, comparators = [], []
    for target in node.comparisons:
        op = _COMPARISONS[type(target.operator)]
        c.at += 2 if op in ("not in", "is not") else 1
        ops.append(op)
        comparators.append(expression(c, target.comparator))
    return tree.Compare(c.span(first), left, tuple(ops), tuple(comparators))


def _unary(c: Cursor, node: cst.UnaryOperation) -> tree.Expr:
    first = c.at
    op = _UNARY[type(node.operator)]
    c.expect(op)
    operand = expression(c, node.expression)
    return tree.UnaryOp(c.span(first), op, operand)


def _conditional(c: Cursor, node: cst.IfExp) -> tree.Expr:
    first = c.at
    body = expression(c, node.body)
    c.expect("if")
    test = expression(c, node.test)
    c.expect("else")
    orelse = expression(c, node.orelse)
    return tree.Conditional(c.span(first), test, body, orelse)


def _walrus(c: Cursor, node: cst.NamedExpr) -> tree.Expr:
    first = c.at
    target = expression(c, node.target)
    c.expect(":=")
    value = expression(c, node.value)
    return tree.Walrus(c.span(first), target, value)


def _await(c: Cursor, node: cst.Await) -> tree.Expr:
    first = c.at
    c.expect("await")
    value = expression(c, node.expression)
    return tree.Await(c.span(first), value)


def _yield(c: Cursor, node: cst.Yield) -> tree.Expr:
    first = c.at
    c.expect("yield")
    if node.value is None:
        return tree.Yield(c.span(first), None, False)
    if isinstance(node.value, cst.From):
        c.expect("from")
        value = expression(c, node.value.item)
        return tree.Yield(c.span(first), value, True)
    value = expression(c, node.value)
    return tree.Yield(c.span(first), value, False)


# --- displays and comprehensions -------------------------------------------------------


def items(c: Cursor, elements: Any) -> tuple[tree.Expr, ...]:
    """The elements of a display with the commas between them."""
    lowered = []
    for element in elements:
        starred = type(element) is cst.StarredElement
        lowered.append(expression(c, element if starred else element.value))
        if type(element.comma) is cst.Comma:
            c.at += 1
    return tuple(lowered)


def _tuple(c: Cursor, node: cst.Tuple) -> tree.Expr:
    first = c.at
    elements = items(c, node.elements)
    return tree.Sequence(c.span(first) if elements else c.spans[first - 1], "tuple", elements)


def _list(c: Cursor, node: cst.List) -> tree.Expr:
    first = c.at
    c.expect("[")
    elements = items(c, node.elements)
    c.expect("]")
    return tree.Sequence(c.span(first), "list", elements)


def _set(c: Cursor, node: cst.Set) -> tree.Expr:
    first = c.at
    c.expect("{")
    elements = items(c, node.elements)
    c.expect("}")
    return tree.Sequence(c.span(first), "set", elements)


def _starred(c: Cursor, node: cst.StarredElement) -> tree.Expr:
    first = c.at
    c.expect("*")
    value = expression(c, node.value)
    return tree.Starred(c.span(first), value)


def _dict(c: Cursor, node: cst.Dict) -> tree.Expr:
    first = c.at
    c.expect("{")
    pairs: list[tuple[tree.Expr | None, tree.Expr]] = []
    for element in node.elements:
        if isinstance(element, cst.DictElement):
            key = expression(c, element.key)
            c.expect(":")
        else:
            key = None
            c.expect("**")
        pairs.append((key, expression(c, element.value)))
        if type(element.comma) is cst.Comma:
            c.at += 1
    c.expect("}")
    return tree.Mapping(c.span(first), tuple(pairs))


def _generators(c: Cursor, node: cst.CompFor | None) -> tuple[tree.Generator, ...]:
    generators = []
    while node is not None:
        first = c.at
        c.at += 1 if node.asynchronous is None else 2
        target = expression(c, node.target)
        c.expect("in")
        iterated = expression(c, node.iter)
        ifs = []
        for condition in node.ifs:
            c.expect("if")
            ifs.append(expression(c, condition.test))
        generators.append(tree.Generator(c.span(first), target, iterated, tuple(ifs)))
        node = node.inner_for_in
    return tuple(generators)


_COMPREHENSIONS: dict[type[cst.CSTNode], str] = {
    cst.ListComp: "list",
    cst.SetComp: "set",
    cst.GeneratorExp: "generator",
}


def _comprehension(c: Cursor, node: Any) -> tree.Expr:
    kind = _COMPREHENSIONS[type(node)]
    first = c.at
    if kind != "generator":
        c.at += 1
    element = expression(c, node.elt)
    generators = _generators(c, node.for_in)
    if kind != "generator":
        c.at += 1
    return tree.Comprehension(c.span(first), kind, None, element, generators)


def _dict_comprehension(c: Cursor, node: Any) -> tree.Expr:
    """``{k: v for …}``, or ``{**v for …}`` without a key (PEP 798)."""
    first = c.at
    c.expect("{")
    key = None
    if isinstance(node, cst.DictComp):
        key = expression(c, node.key)
        c.expect(":")
    else:
        c.expect("**")
    element = expression(c, node.value)
    generators = _generators(c, node.for_in)
    c.expect("}")
    return tree.Comprehension(c.span(first), "dict", key, element, generators)


# --- parameters ------------------------------------------------------------------------


def parameters(c: Cursor, node: cst.Parameters) -> tuple[tree.Param, ...]:
    """The parameters of a function or lambda, with the marks and commas between them."""
    lowered = [_parameter(c, param, "positional") for param in node.posonly_params]
    if lowered:
        c.expect("/")
        c.passes(",")
    lowered += [_parameter(c, param, "plain") for param in node.params]
    if isinstance(node.star_arg, cst.ParamStar):
        c.expect("*")
        c.expect(",")
    elif isinstance(node.star_arg, cst.Param):
        lowered.append(_parameter(c, node.star_arg, "args"))
    lowered += [_parameter(c, param, "keyword") for param in node.kwonly_params]
    if node.star_kwarg is not None:
        lowered.append(_parameter(c, node.star_kwarg, "kwargs"))
    return tuple(lowered)


def _parameter(c: Cursor, node: cst.Param, kind: str) -> tree.Param:
    first = c.at
    if kind in ("args", "kwargs"):
        c.at += 1
    c.expect(node.name.value)
    annotation = default = None
    if node.annotation is not None:
        c.expect(":")
        annotation = expression(c, node.annotation.annotation)
    if node.default is not None:
        c.expect("=")
        default = expression(c, node.default)
    lowered = tree.Param(c.span(first), node.name.value, kind, default, annotation)
    if type(node.comma) is cst.Comma:
        c.at += 1
    return lowered


def _lambda(c: Cursor, node: cst.Lambda) -> tree.Expr:
    first = c.at
    c.expect("lambda")
    params = parameters(c, node.params)
    c.expect(":")
    body = expression(c, node.body)
    return tree.Lambda(c.span(first), params, body)


def _handlers() -> dict[type[cst.CSTNode], Callable[[Cursor, Any], tree.Expr]]:
    """By type of node; the newest kinds of nodes are absent from older versions of libcst."""
    by_name: dict[str, Callable[[Cursor, Any], tree.Expr]] = {
        "Name": name,
        "Integer": _integer,
        "Float": _float,
        "Imaginary": _imaginary,
        "Ellipsis": _ellipsis,
        "SimpleString": _string,
        "FormattedString": _fstring,
        "TemplatedString": _fstring,
        "ConcatenatedString": _concatenated,
        "Attribute": _postfix,
        "Subscript": _postfix,
        "Call": _postfix,
        "BinaryOperation": _binary,
        "BooleanOperation": _boolean,
        "Comparison": _comparison,
        "UnaryOperation": _unary,
        "IfExp": _conditional,
        "NamedExpr": _walrus,
        "Await": _await,
        "Yield": _yield,
        "Tuple": _tuple,
        "List": _list,
        "Set": _set,
        "StarredElement": _starred,
        "Dict": _dict,
        "ListComp": _comprehension,
        "SetComp": _comprehension,
        "GeneratorExp": _comprehension,
        "DictComp": _dict_comprehension,
        "StarredDictComp": _dict_comprehension,
        "Lambda": _lambda,
    }
    return {getattr(cst, kind): lower for kind, lower in by_name.items() if hasattr(cst, kind)}


_LOWER = _handlers()
