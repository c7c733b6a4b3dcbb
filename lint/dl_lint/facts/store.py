"""Facts as plain lists for a cache, and back: lossless, compact, and never executed.

A file becomes columns: the shape of its tree (kinds, counts and numbers of texts, in source order), the spans, the
texts and the other constants. Columns are checked as a whole, in C; damage of any sort raises StoreError.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import accumulate, chain
from operator import add, sub
from typing import TYPE_CHECKING, Any

from dl_lint.facts import tree
from dl_lint.facts.model import FileFacts, Suppression

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class StoreError(ValueError):
    """A record that is not what ``encode`` makes."""


def encode(facts: FileFacts) -> list[Any]:
    """The facts as lists of numbers and strings."""
    writer = _Writer()
    writer.nodes(facts.body)
    suppressions = [[one.kind, list(one.at), list(one.codes), one.reason] for one in facts.suppressions]
    return [
        writer.shape,
        _packed(writer.spans),
        list(writer.texts),
        [value for _, value in writer.constants],
        suppressions,
        list(chain.from_iterable(facts.ranges)),
    ]


def decode(record: Any) -> FileFacts:
    """The facts that ``encode`` was given; raises StoreError for anything else."""
    try:
        shape, spans, texts, constants, suppressions, ranges = record
        _require(shape, int)
        _require(ranges, int)
        _require(texts, str)
        if min(shape, default=0) < 0 or not {int, float, str, bool, type(None)}.issuperset(map(type, constants)):
            raise StoreError("impossible numbers or constants")
        reader = _Reader(shape, _unpacked(spans), texts, constants)
        body = _statements(reader)
        reader.finish()
        kept = tuple(_suppression(*one) for one in suppressions)
        return FileFacts(body, kept, tuple(zip(ranges[::2], ranges[1::2], strict=True)))
    except StoreError:
        raise
    except (TypeError, ValueError, LookupError, StopIteration, RecursionError, OverflowError) as error:
        raise StoreError(f"not the facts of a file: {type(error).__name__}: {error}") from None


def _require(column: Any, kind: type) -> None:
    if type(column) is not list or not {kind}.issuperset(map(type, column)):
        raise StoreError(f"a column is not a list of {kind.__name__}")


def _packed(spans: list[tree.Span]) -> list[int]:
    """Each span as lines on from the last one, column, further lines, end column: small numbers are short."""
    first, columns, last, ends = zip(*spans, strict=True) if spans else ((), (), (), ())
    return list(
        chain.from_iterable(zip(map(sub, first, (0, *first)), columns, map(sub, last, first), ends, strict=False))
    )


def _unpacked(packed: Any) -> Iterable[tree.Span]:
    _require(packed, int)
    if len(packed) % 4:
        raise StoreError("the spans are not whole")
    first = list(accumulate(packed[::4]))
    return zip(first, packed[1::4], map(add, first, packed[2::4]), packed[3::4], strict=True)


def _suppression(kind: Any, at: Any, codes: Any, reason: Any) -> Suppression:
    _require(at, int)
    _require([kind, reason, *codes], str)
    if len(at) != 4:
        raise StoreError("a suppression has no place")
    return Suppression(kind, (at[0], at[1], at[2], at[3]), tuple(codes), reason)


# --- writing ---------------------------------------------------------------------------


class _Writer:
    __slots__ = ("constants", "put", "shape", "spans", "texts")

    def __init__(self) -> None:
        self.shape: list[int] = []
        self.put = self.shape.append
        self.spans: list[tree.Span] = []
        self.texts: dict[str, int] = {}
        self.constants: dict[tuple[type, Any], int] = {}

    def node(self, node: tree.Node | None) -> None:
        if node is None:
            self.put(0)
            return
        number, columns = _WRITERS[type(node)]
        self.put(number)
        self.spans.append(node.at)
        for name, write in columns:
            write(self, getattr(node, name))

    def nodes(self, nodes: tuple[tree.Node, ...]) -> None:
        self.put(len(nodes))
        for node in nodes:
            self.node(node)

    def pairs(self, pairs: tuple[tuple[tree.Node | None, tree.Node], ...]) -> None:
        self.put(len(pairs))
        for key, value in pairs:
            self.node(key)
            self.node(value)

    def text(self, text: str) -> None:
        self.put(self.texts.setdefault(text, len(self.texts)))

    def text_or_none(self, text: str | None) -> None:
        self.put(0 if text is None else 1 + self.texts.setdefault(text, len(self.texts)))

    def text_list(self, texts: tuple[str, ...]) -> None:
        self.put(len(texts))
        for text in texts:
            self.text(text)

    def constant(self, value: Any) -> None:
        self.put(self.constants.setdefault((type(value), value), len(self.constants)))  # 1, 1.0 and True are equal

    def number(self, value: int) -> None:
        self.put(int(value))


# --- reading ---------------------------------------------------------------------------


class _Reader:
    __slots__ = ("constants", "next", "span", "texts")

    def __init__(self, shape: list[int], spans: Iterable[tree.Span], texts: list[str], constants: list[Any]) -> None:
        self.next: Callable[[], int] = iter(shape).__next__
        self.span: Callable[[], tree.Span] = iter(spans).__next__
        self.texts = texts
        self.constants = constants

    def finish(self) -> None:
        for column in (self.next, self.span):
            try:
                column()
            except StopIteration:
                continue
            raise StoreError("more in the columns than in the tree")


def _expression(r: _Reader) -> Any:
    return _EXPRESSIONS[r.next()](r)


def _expression_or_none(r: _Reader) -> Any:
    number = r.next()
    return _EXPRESSIONS[number](r) if number else None


def _expressions(r: _Reader) -> tuple[Any, ...]:
    count = r.next()
    return tuple([_EXPRESSIONS[r.next()](r) for _ in range(count)]) if count else ()


def _statements(r: _Reader) -> tuple[Any, ...]:
    return tuple([_STATEMENTS[r.next()](r) for _ in range(r.next())])


def _pairs(r: _Reader) -> tuple[tuple[Any, Any], ...]:
    return tuple([(_expression_or_none(r), _expression(r)) for _ in range(r.next())])


def _text(r: _Reader) -> str:
    return r.texts[r.next()]


def _text_or_none(r: _Reader) -> str | None:
    number = r.next()
    return r.texts[number - 1] if number else None


def _text_list(r: _Reader) -> tuple[str, ...]:
    return tuple([r.texts[r.next()] for _ in range(r.next())])


def _constant(r: _Reader) -> Any:
    return r.constants[r.next()]


def _number(r: _Reader) -> int:
    return r.next()


def _truth(r: _Reader) -> bool:
    return bool(r.next())


def _parts(kind: type[tree.Node]) -> Callable[[_Reader], tuple[Any, ...]]:
    """Reads nodes of one kind, such as the keywords of a call."""
    table = {_NUMBERS[kind]: _reader(kind)}
    return lambda r: tuple([table[r.next()](r) for _ in range(r.next())])


def _reader(kind: type[Any]) -> Callable[[_Reader], Any]:
    reads = [_COLUMNS[str(field.type)][1] for field in fields(kind)[1:]]
    match reads:
        case [one]:
            return lambda r: kind(r.span(), one(r))
        case [one, two]:
            return lambda r: kind(r.span(), one(r), two(r))
        case [one, two, three]:
            return lambda r: kind(r.span(), one(r), two(r), three(r))
        case _:
            return lambda r: kind(r.span(), *[read(r) for read in reads])


_KINDS = [kind for kind in vars(tree).values() if isinstance(kind, type) and issubclass(kind, tree.Node)]
_NUMBERS = {kind: number for number, kind in enumerate(_KINDS, start=1)}

# By annotation of a field of a node: how it is written and how it is read.
_COLUMNS: dict[str, tuple[Callable[[_Writer, Any], None], Callable[[_Reader], Any]]] = {
    "Expr": (_Writer.node, _expression),
    "Expr | None": (_Writer.node, _expression_or_none),
    "tuple[Expr, ...]": (_Writer.nodes, _expressions),
    "tuple[Stmt, ...]": (_Writer.nodes, _statements),
    "tuple[tuple[Expr | None, Expr], ...]": (_Writer.pairs, _pairs),
    "str": (_Writer.text, _text),
    "str | None": (_Writer.text_or_none, _text_or_none),
    "tuple[str, ...]": (_Writer.text_list, _text_list),
    "int | float | str | bool | None": (_Writer.constant, _constant),
    "int": (_Writer.number, _number),
    "bool": (_Writer.number, _truth),
}
for _part in (tree.Keyword, tree.Generator, tree.Param, tree.WithItem, tree.Handler, tree.Case):
    _COLUMNS[f"tuple[{_part.__name__}, ...]"] = (_Writer.nodes, _parts(_part))

_WRITERS = {
    kind: (number, [(field.name, _COLUMNS[str(field.type)][0]) for field in fields(kind)[1:]])
    for kind, number in _NUMBERS.items()
}
_EXPRESSIONS = {
    _NUMBERS[kind]: _reader(kind) for kind in _KINDS if issubclass(kind, tree.Expr) and kind is not tree.Expr
}
_STATEMENTS = {
    _NUMBERS[kind]: _reader(kind) for kind in _KINDS if issubclass(kind, tree.Stmt) and kind is not tree.Stmt
}
