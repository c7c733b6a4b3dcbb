"""The names that a match pattern binds."""

from __future__ import annotations

import ast


def bound_names(pattern: ast.pattern) -> tuple[str, ...]:
    """In source order; alternatives of ``|`` bind the same names, so each counts once."""
    found: dict[str, None] = {}
    stack: list[ast.pattern | str | None] = [pattern]
    while stack:
        match stack.pop():
            case str(name):
                found[name] = None
            case ast.MatchAs(pattern=inner, name=name):
                stack += [name, inner]
            case ast.MatchStar(name=name):
                stack.append(name)
            case ast.MatchSequence(patterns=inners) | ast.MatchOr(patterns=inners):
                stack += reversed(inners)
            case ast.MatchMapping(patterns=inners, rest=name):
                stack += [name, *reversed(inners)]
            case ast.MatchClass(patterns=inners, kwd_patterns=named):
                stack += [*reversed(named), *reversed(inners)]
    return tuple(found)
