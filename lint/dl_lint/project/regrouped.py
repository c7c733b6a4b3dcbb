"""Lists that hold parts of one list that was there before: batches of its entries, which are no more than it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.values import Collection


def is_regrouped(project: Project, value: Collection) -> bool:
    """Whether a list, made anew in each pass of a loop, is filled with entries of one that the loop goes along once.

    That is ``part.append(entries[end])``, where ``end`` is counted on through all passes.
    """
    loops = tuple(project.loops_around(value.node)) if value.node is not None else ()
    return bool(loops and value.grown) and all(_takes_next(project, one, loops[-1]) for one in value.grown)


def _takes_next(project: Project, change: t.Node, loop: t.Node) -> bool:
    added = change.args[0] if isinstance(change, t.Call) and len(change.args) == 1 else None
    match added:
        case t.Subscript(value=t.Name(id=source), index=t.Name(id=place)):
            bindings = project.function_of(added).bindings
            outside = all(loop not in tuple(project.loops_around(one.node)) for one in bindings.get(source, ()))
            counted = [one for one in bindings.get(place, ()) if one.kind == "augment"]
            started = [one for one in bindings.get(place, ()) if one.kind != "augment"]
            return outside and bool(bindings.get(source) and counted) and not any(map(_restarts, started))
        case _:
            return False


def _restarts(binding: object) -> bool:
    """Whether a count is set back to a number, rather than to another count."""
    return isinstance(getattr(binding, "value", None), t.Constant)
