"""Code that the scripts of a project do without: functions that nobody calls, copied from elsewhere or left behind."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.values import Class, Module, Package, Unknown, alternatives

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import FileIndex, Scope


def is_unused(project: Project, node: t.Node) -> bool:
    """Whether ``node`` stands in a function that nothing calls, itself or through others, while the project around it
    has scripts and cannot be installed, so that nobody else calls it either."""
    file = project.site(node).scope.file
    if not _has_scripts(project, file):
        return False
    return _is_unused(project, project.function_of(node), frozenset()) and not project.is_installable(node)


def is_unused_class(project: Project, cls: Class) -> bool:
    """Whether nothing reads the name of a class, in a project as above that looks no class up by its name."""
    node = cls.scope.node
    if not isinstance(node, t.ClassDef) or node.decorators or not _has_scripts(project, cls.scope.file):
        return False
    if loads(project, node.name) or _is_named_otherwise(project, node.name):
        return False
    looks_up = project.evaluator.once("looks up", lambda: any(_looks_up(project, name) for name in _BY_NAME))
    mentioned = looks_up or project.mentions_unlinted(node, node.name, passed_on=False)
    return not mentioned and not project.is_installable(node)


_BUILTINS = frozenset({"getattr", "globals", "vars", "locals", "eval", "__import__"})
"""Builtin functions that find things by name; methods of these names, as ``model.eval()``, do not."""

_BY_NAME = (*_BUILTINS, "import_module", "locate", "instantiate")


def _looks_up(project: Project, function: str) -> bool:
    """Whether what ``function`` is called for may be a class by its name."""
    for call in project.evaluator.files.calls.get(function, ()):
        if function in _BUILTINS and not isinstance(call.func, t.Name):
            continue
        first = alternatives(project.value(call.args[0])) if function == "getattr" and call.args else ()
        if not first or any(isinstance(one, Module | Package | Unknown) for one in first):
            return True
    return False


def _has_scripts(project: Project, file: FileIndex) -> bool:
    return any(is_script(project, other) and other is not file for other in project.files)


def is_script(project: Project, file: FileIndex) -> bool:
    """Whether running a file does something with loaders."""
    if file.module.loads.get("__name__"):
        return True
    made = (project.function_of(loader.call) for loader in project.loaders())
    return any(scope.kind == "module" and scope.file is file for scope in made)


def _is_unused(project: Project, inner: Scope, above: frozenset[Scope]) -> bool:
    function = _outermost(inner)
    node = function.node
    if function in above:
        return True
    if not isinstance(node, t.FunctionDef) or function.is_method or node.decorators:
        return False
    name = node.name
    if project.evaluator.callers.of(function) is None or _is_named_otherwise(project, name):
        return False
    callers = [project.function_of(load) for load in loads(project, name)]
    return all(_is_unused(project, one, above | {function}) for one in callers)


def _outermost(scope: Scope) -> Scope:
    """The function of the module that a nested one is made in."""
    while scope.parent is not None and scope.parent.kind != "module" and not scope.is_method:
        scope = scope.parent
    return scope


def loads(project: Project, name: str) -> Sequence[t.Name]:
    """Where any file of the project reads ``name``."""
    return project.evaluator.read_off("loads", lambda: _all_loads(project)).get(name, ())


def _all_loads(project: Project) -> Mapping[str, Sequence[t.Name]]:
    found: defaultdict[str, list[t.Name]] = defaultdict(list)
    for file in project.files:
        for scope in file.scopes:
            for name, places in scope.loads.items():
                found[name] += places
    return found


def _is_named_otherwise(project: Project, name: str) -> bool:
    """Whether the name may be reached as an attribute, by a text that holds it, or under another name."""
    named = project.evaluator.read_off("named otherwise", lambda: _other_names(project))
    return name in named or any(name in text for text in named if len(text) > len(name))


def _other_names(project: Project) -> frozenset[str]:
    found: set[str] = set()
    for node in project.evaluator.parents:
        if isinstance(node, t.Attribute):
            found.add(node.attr)
        elif isinstance(node, t.Constant) and isinstance(node.value, str) and not _is_export(project, node):
            found.add(node.value)
    for file in project.files:
        found.update(file.renamed)
    return frozenset(found)


def _is_export(project: Project, text: t.Constant) -> bool:
    """Whether a text is a name in an ``__all__``, which says what may be used and uses nothing."""
    listed = project.parent(text)
    around = project.parent(listed) if listed is not None else None
    targets = around.targets if isinstance(around, t.Assign) else ()
    return any(isinstance(one, t.Name) and one.id == "__all__" for one in targets)
