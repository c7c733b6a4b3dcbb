"""Dataset classes whose objects never leave the code that makes them, so that no worker can have one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import attributes, reach, workers
from dl_lint.project.callers import is_test
from dl_lint.project.repetition import words
from dl_lint.project.syntax import dotted
from dl_lint.project.values import Class, Function, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project

_PASSING = frozenset({"enumerate", "tqdm", "tqdm.tqdm", "zip", "reversed"})
"""Functions whose result is iterated in place of what they are given."""

_TRIALS = frozenset({"test", "demo", "debug", "example", "check", "visualize", "visualise", "show", "preview"})
"""Words in the names of functions that only try a class out, for which others have a use."""


def is_read_directly(project: Project, cls: Class) -> bool:
    """Whether all objects of ``cls`` are made by linted code that only iterates and indexes them on the spot.

    Objects that a test, a trial or the main guard of the class's own file makes do not count: such a class is made for
    others to use.
    """
    return project.evaluator.once(("read directly", cls), lambda: _is_read_directly(project, cls))


def _is_read_directly(project: Project, cls: Class) -> bool:
    node, home = cls.scope.node, cls.scope.parent
    if not isinstance(node, t.ClassDef) or home is None or home.kind != "module" or node.decorators:
        return False
    makes = project.evaluator.files.calls.get(node.name, ())
    if all(_is_trial(project, cls, call) for call in makes) or not all(_stays(project, cls, call) for call in makes):
        return False
    return (
        all(call in makes for call in _uses(project, cls, node.name))
        and not workers.users(project, cls)
        and not _is_named_otherwise(project, node.name)
        and not project.mentions_unlinted(node, node.name)
        and not _gives_itself_away(project, cls)
    )


def _uses(project: Project, cls: Class, name: str) -> Iterator[t.Call | None]:
    """The calls of a class by its name or an alias; None for any other use of it."""
    for file in project.files:
        names = {name}
        for scope in file.scopes:
            for alias, bindings in scope.bindings.items():
                if any(isinstance(one.node, t.ImportFrom) and one.node.attr == name for one in bindings):
                    names.add(alias)
                    if file.path.endswith("__init__.py"):
                        yield None
        for load in (load for scope in file.scopes for alias in names for load in scope.loads.get(alias, ())):
            found = alternatives(project.value(load))
            if cls in found or not all(isinstance(one, Class) for one in found):
                call = project.parent(load)
                if not _is_super(call):
                    yield call if isinstance(call, t.Call) and call.func is load else None


def _is_super(node: t.Node | None) -> bool:
    return isinstance(node, t.Call) and dotted(node.func) == "super"


def _is_named_otherwise(project: Project, name: str) -> bool:
    """Whether the class may be reached as an attribute of a module, or by a text that holds its name."""
    return any(
        (isinstance(node, t.Attribute) and node.attr == name)
        or (isinstance(node, t.Constant) and isinstance(node.value, str) and name in node.value)
        for node in project.evaluator.parents
    )


def _is_trial(project: Project, cls: Class, call: t.Call) -> bool:
    if is_test(project.path(call)) or _TRIALS.intersection(words(project.function_of(call).name)):
        return True
    return project.site(call).scope.file is cls.scope.file and project.under_main_guard(call)


def _stays(project: Project, cls: Class, call: t.Call) -> bool:
    """Whether the object that ``call`` makes is read on the spot, itself or by the one name that it is given."""
    if _is_read(project, cls, call):
        return True
    above, function = project.parent(call), project.function_of(call)
    match above:
        case t.Assign(targets=(t.Name(id=name),)) if function.kind == "function" and name not in function.outer:
            loads = [load for scope in reach.with_inner(function) for load in scope.loads.get(name, ())]
            return all(project.function_of(load) is function and _is_read(project, cls, load) for load in loads)
        case _:
            return False


def _is_read(project: Project, cls: Class, expr: t.Expr) -> bool:
    match project.parent(expr):
        case t.For(iter=over) | t.Generator(iter=over) | t.Subscript(value=over):
            return over is expr
        case t.Call(func=func) as call if func is not expr:
            return dotted(func) == "len" or (dotted(func) in _PASSING and _is_read(project, cls, call))
        case t.Attribute(attr=attr) as member:
            above = project.parent(member)
            called = isinstance(above, t.Call) and above.func is member
            return called or not isinstance(attributes.of_class(project.evaluator, cls, attr), Function)
        case _:
            return False


def _gives_itself_away(project: Project, cls: Class) -> bool:
    """Whether a method hands on ``self`` itself, say to a loader; not ``__iter__`` to a loop."""
    return any(
        not isinstance(above := project.parent(load), t.Attribute | t.Subscript)
        and not (isinstance(above, t.Call) and dotted(above.func) in ("len", "super"))
        and not (isinstance(above, t.Return) and method.name == "__iter__")
        for one in attributes.lineage(project.evaluator, cls)
        if isinstance(one, Class)
        for method in attributes.methods(one)
        if method.params
        for scope in reach.with_inner(method)
        for load in scope.loads.get(method.params[0].name, ())
    )
