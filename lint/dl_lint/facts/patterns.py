"""The names that a match pattern binds."""

from __future__ import annotations

import libcst as cst

from dl_lint.facts.cursor import normalized


def bound_names(pattern: cst.MatchPattern) -> tuple[str, ...]:
    """In source order; alternatives of ``|`` bind the same names, so each counts once."""
    found: dict[str, None] = {}
    stack: list[cst.CSTNode | None] = [pattern]
    while stack:
        node = stack.pop()
        match node:
            case cst.MatchAs(pattern=inner, name=name):
                stack += [name, inner]
            case cst.Name(value=name):
                found[normalized(name)] = None
            case cst.MatchStar(name=name):
                stack.append(name)
            case cst.MatchSequence():
                stack += [item if isinstance(item, cst.MatchStar) else item.value for item in reversed(node.patterns)]
            case cst.MatchMapping(elements=elements, rest=rest):
                stack += [rest, *(element.pattern for element in reversed(elements))]
            case cst.MatchClass(patterns=patterns, kwds=keywords):
                stack += [keyword.pattern for keyword in reversed(keywords)]
                stack += [item.value for item in reversed(patterns)]
            case cst.MatchOr(patterns=patterns):
                stack += [item.pattern for item in reversed(patterns)]
    return tuple(found)
