"""The places of names, attributes, calls and keywords against those that libcst computes, 40 times slower."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import libcst as cst
import pytest
from dl_lint.facts import read, tree
from dl_lint.source import Source
from libcst.metadata import MetadataWrapper, PositionProvider, WhitespaceInclusivePositionProvider

from tests.lint.facts.corpus import corpus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Seen = tuple[str, str, tree.Span]

# What the tree leaves out, and names that are not expressions. An f-string is one place for all that is in it.
LEFT_OUT: dict[type[Any], tuple[str, ...]] = {
    cst.FormattedString: ("parts",),
    cst.Attribute: ("attr", "dot"),
    cst.Arg: ("keyword",),
    cst.Param: ("name",),
    cst.FunctionDef: ("name", "type_parameters"),
    cst.ClassDef: ("name", "type_parameters"),
    cst.TypeAlias: ("type_parameters",),
    cst.ImportAlias: ("name", "asname"),
    cst.ImportFrom: ("module",),
    cst.ExceptHandler: ("name",),
    cst.ExceptStarHandler: ("name",),
    cst.NameItem: ("name",),
    cst.MatchCase: ("pattern",),
    cst.Assert: ("msg",),
    cst.Raise: ("cause",),
}
CONSTANTS = {"True", "False", "None"}


def lowered(body: tuple[tree.Stmt, ...]) -> Iterator[Seen]:
    """What the tree holds outside of f-strings."""
    stack: list[Any] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack += node
            continue
        match node:
            case tree.Name(at=at, id=label):
                yield "name", label, at
            case tree.Attribute(at=at, attr=label):
                yield "attribute", label, at
            case tree.Call(at=at, args=args, keywords=keywords):
                yield "call", str(len(args) + len(keywords)), at
            case tree.Keyword(at=at, name=str(label)):
                yield "keyword", label, at
        if isinstance(node, tree.Node) and not isinstance(node, tree.FString):
            stack += [getattr(node, field.name) for field in fields(node)]


def provided(text: str) -> Iterator[Seen]:
    """The same by libcst; a node in brackets takes them from the provider that includes them."""
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    inner = wrapper.resolve(PositionProvider)
    outer = wrapper.resolve(WhitespaceInclusivePositionProvider)
    stack: list[Any] = [wrapper.module]
    while stack:
        node = stack.pop()
        if isinstance(node, list | tuple):
            stack += node
            continue
        if not isinstance(node, cst.CSTNode):
            continue
        found: Any = (outer if getattr(node, "lpar", None) else inner)[node]
        at = (found.start.line, found.start.column, found.end.line, found.end.column)
        match node:
            case cst.Name(value=label) if label not in CONSTANTS:
                yield "name", label, at
            case cst.Attribute(attr=cst.Name(value=label)):
                yield "attribute", label, at
            case cst.Call(args=args):
                yield "call", str(len(args)), at
            case cst.Arg(keyword=cst.Name(value=label)):
                yield "keyword", label, at
        hidden = LEFT_OUT.get(type(node), ())
        stack += [getattr(node, field.name) for field in fields(node) if field.name not in hidden]


@pytest.mark.parametrize("path", corpus(151, 20_000), ids=lambda path: "/".join(path.parts[-2:]))
def test_places_are_those_that_libcst_computes(path: Path) -> None:
    source = Source.read(str(path))
    ours, theirs = Counter(lowered(read(source).body)), Counter(provided(source.text))
    assert ours - theirs == Counter()
    assert theirs - ours == Counter()
