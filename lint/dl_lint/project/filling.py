"""What the methods of a class fill an attribute with: whether it is left with one Python object for each sample."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import containers, indexing, inherited, reach
from dl_lint.project.changes import GROWING
from dl_lint.project.flow import visible_at_end
from dl_lint.project.values import Collection, Made, Table, Value, alternatives, union
from dl_lint.source.syntax import Assignment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.indexing import Indexed
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Binding, Scope
    from dl_lint.project.values import Class


def python_objects_in(project: Project, cls: Class, attribute: str, read: Indexed) -> list[ast.AST]:
    """The assignments that leave a Python object for each sample in ``self.attribute``; none if it ends as an array."""
    if _holds_images(project, cls) or _ends_as_array(project, cls, attribute):
        return []
    found = []
    for binding in _last_assignments(project, cls, attribute):
        value = project.bound_value(binding)
        if (
            containers.of_python_objects(project, value)
            or (containers.is_table(value) and indexing.leads_to_file(project, read))
            or (
                _is_list(value)
                and any(containers.of_python_objects(project, one) for one in _earlier(project, binding))
            )
            or (_starts_empty(value) and any(_adds(project, one) for one in _additions(project, cls, attribute)))
        ):
            found.append(binding.node)
    return found


def _holds_images(project: Project, cls: Class) -> bool:
    """Whether decoded images are kept in a list, so that there cannot be many samples."""
    for kept in project.kept(cls):
        if kept.change is not None and kept.change.kind in GROWING:
            added = project.value(kept.change.value)
        elif kept.binding is not None and kept.binding.kind == "assign" and not kept.binding.path:
            value = project.value(kept.binding.value)
            added = union(one.element for one in alternatives(value) if isinstance(one, Collection))
        else:
            continue
        if _are_images(project, added, containers.DEEPEST):
            return True
    return False


def _are_images(project: Project, value: Value, depth: int) -> bool:
    """Whether something is a decoded image, many of them, or a tuple with one."""
    return depth > 0 and any(_is_image(project, one, depth) for one in alternatives(value))


def _is_image(project: Project, value: Value, depth: int) -> bool:
    match value:
        case Collection():
            held = value.items if value.items is not None else (value.element,)
            return any(_are_images(project, one, depth - 1) for one in held)
        case Made(name="itertools.repeat" | "itertools.cycle" | "builtins.list" | "builtins.sorted"):
            return any(_are_images(project, project.value(one), depth - 1) for one in value.call.args[:1])
        case Made(name=name) if name.rpartition(".")[2][:1].isupper():
            return False  # a transform, not an image
        case _:
            return containers.is_one_array(value, containers.IMAGES)


def _ends_as_array(project: Project, cls: Class, attribute: str) -> bool:
    """Whether some method leaves the attribute an array, of numbers or of strings."""
    for method, key in inherited.methods(project, cls, attribute):
        for binding in visible_at_end(method, key).bindings:
            value = project.bound_value(binding)
            if containers.is_array(value) and not containers.of_python_objects(project, value):
                return True
    return False


def _last_assignments(project: Project, cls: Class, attribute: str) -> Iterator[Binding]:
    """What each method of the class and of its bases last assigns and no later call overwrites, other than its own
    content sorted or filtered, be it what a base's method has filled it with."""
    own: list[Binding] = []
    found: list[Binding] = []
    for method, key in inherited.methods(project, cls, attribute):
        last = [binding for binding in visible_at_end(method, key).bindings if binding.kind == "assign"]
        filling = [binding for binding in last if not _reads(project, method, attribute, binding)]
        if filling or _is_filled_before(method, key, last):
            found += filling or last
        elif method.name == "__init__":
            own += last
    yield from found or own


def _is_filled_before(method: Scope, key: str, last: list[Binding]) -> bool:
    return any(one not in last for one in method.bindings.get(key, ()))


def _earlier(project: Project, last: Binding) -> Iterator[Value]:
    """What the method assigned to the same attribute before, and so a container of the same size."""
    for binding in last.site.scope.bindings[last.name]:
        if binding.kind == "assign" and binding.site.order < last.site.order:
            yield project.bound_value(binding)


def _is_list(value: Value) -> bool:
    """Whether something is a list of nobody knows how many Python objects."""
    found = alternatives(value)
    return bool(found) and all(
        isinstance(one, Collection)
        and one.items is None
        and one.node is not None
        and not containers.is_array(containers.innermost(one))
        for one in found
    )


def _reads(project: Project, method: Scope, attribute: str, binding: Binding) -> bool:
    """Whether what is assigned is made of what the attribute held on entering the method."""
    owner = method.params[0].name
    before = [one for one in method.bindings[f"{owner}.{attribute}"] if one.site.order < binding.site.order]
    for scope in reach.with_inner(method):
        for load in scope.loads.get(owner, ()):
            read = project.parent(load)
            if isinstance(read, ast.Attribute) and read.attr == attribute and not _is_target(project, read):
                if project.statement_of(read) is binding.node:
                    return True
                if not before and project.site(read).order < binding.site.order:
                    return True
    return False


def _is_target(project: Project, read: ast.Attribute) -> bool:
    above = project.parent(read)
    return isinstance(above, Assignment) and read is not above.value


def _additions(project: Project, cls: Class, attribute: str) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    """Where methods add to ``self.attribute`` in place, with what they add."""
    for method, key in inherited.methods(project, cls, attribute):
        yield from ((one.node, one.value) for one in method.changes.get(key, ()) if one.kind in GROWING - {"inner"})
        yield from ((one.node, one.value) for one in method.bindings.get(key, ()) if one.kind == "augment")


def _adds(project: Project, addition: tuple[ast.AST, ast.expr | None]) -> bool:
    node, added = addition
    value = project.value(added)
    if containers.is_array(containers.innermost(value)) or _is_dict_of_arrays(value):
        return False
    if _is_of_outer_loop(project, node, added):
        return False
    return containers.grows_with_data(project, node)


def _is_of_outer_loop(project: Project, node: ast.AST, added: ast.expr | None) -> bool:
    """Whether one object is added again and again: ``for label, folder in …: for file in …: labels.append(label)``."""
    if isinstance(added, ast.Constant):
        return True
    bindings = project.function_of(node).bindings.get(added.id, ()) if isinstance(added, ast.Name) else ()
    outer = list(project.loops_around(node))[1:]
    return len(bindings) == 1 and bindings[0].kind == "for" and bindings[0].node in outer


def _is_dict_of_arrays(value: Value) -> bool:
    """``{"images": …, "labels": …}``, which is as good as one array."""
    found = alternatives(value)
    return bool(found) and all(
        isinstance(one, Table) and one.items and all(containers.is_array(item) for _, item in one.items)
        for one in found
    )


def _starts_empty(value: Value) -> bool:
    found = alternatives(value)
    return any(_is_empty(one) for one in found)


def _is_empty(value: Value) -> bool:
    match value:
        case Collection(items=()):
            return True
        case Table(items=()):
            return True
        case Made(name="collections.deque"):
            return True
        case _:
            return False
