"""Code that the scripts of a project do without: functions that nobody calls, copied from elsewhere or left behind."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import scripts
from dl_lint.project.values import Class, Function, Module, Package, Unknown, alternatives

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import FileIndex, Scope


def is_unused_function(project: Project, function: Scope) -> bool:
    """The same of a function, or of a module, which is none."""
    if function.node is None or not has_scripts(project, function.file):
        return False
    return _is_unused(project, function, frozenset()) and not project.is_installable(function.node)


def is_unused_class(project: Project, cls: Class) -> bool:
    """Whether nothing reads the name of a class, in a project as above that cannot look it up by its name; or in one
    that can be installed, where the package of the class passes on what is in its other files."""
    node = cls.scope.node
    if not isinstance(node, t.ClassDef) or node.decorators or not has_scripts(project, cls.scope.file):
        return False
    named = (one for one in loads(project, node.name) if not _is_its_own(project, one, node))
    if any(_may_be(project, one, cls.scope) for one in named) or _is_named_otherwise(project, node.name):
        return False
    alone = not scripts.is_imported(project, cls.scope.file)
    functions = _IMPORTING if alone and not _looks_up_here(cls.scope.file) else _BY_NAME
    looks_up = any(_looks_up(project, name, node.name) for name in functions)
    mentioned = looks_up or project.mentions_unlinted(node, node.name, passed_on=False)
    return not mentioned and (not project.is_installable(node) or (alone and _is_left_out(project, cls.scope.file)))


def _may_be(project: Project, load: t.Name, wanted: Scope) -> bool:
    """Whether a name may stand for ``wanted``, and not for another function or class of the same name."""
    found = alternatives(project.value(load))
    return not found or any(not isinstance(one, Class | Function) or one.scope is wanted for one in found)


def _is_its_own(project: Project, load: t.Name, cls: t.ClassDef) -> bool:
    """Whether a class names itself, as in ``super(Records, self)``."""
    return cls in project.ancestors(load)


def _is_left_out(project: Project, file: FileIndex) -> bool:
    """Whether the ``__init__.py`` beside a file imports from other files of its package."""
    folder = PurePosixPath(file.path).parent
    return any(
        PurePosixPath(other.path) == folder / "__init__.py"
        and any(
            isinstance(one, Module) and one.file is not other and PurePosixPath(one.file.path).is_relative_to(folder)
            for one in scripts.imported(project, other)
        )
        for other in project.files
    )


_BUILTINS = frozenset({"getattr", "globals", "vars", "locals", "eval", "__import__"})
"""Builtin functions that find things by name; methods of these names, as ``model.eval()``, do not."""

_IMPORTING = (
    "__import__",
    "import_module",
    "locate",
    "instantiate",
    "exec_module",
    "load_source",
    "run_path",
    "exec",
    "LightningCLI",
)
"""Functions that find what is in files which nothing else imports."""

_BY_NAME = tuple(_BUILTINS.union(_IMPORTING))


def _looks_up_here(file: FileIndex) -> bool:
    """Whether a file itself finds things by name, which may be its own."""
    names = (call.func.id for scope in file.scopes for call in scope.calls if isinstance(call.func, t.Name))
    return any(name in _BUILTINS for name in names)


def _looks_up(project: Project, function: str, wanted: str) -> bool:
    """Whether what ``function`` is called for may be the class ``wanted``."""
    for call in project.evaluator.files.calls.get(function, ()):
        if function in _BUILTINS and not isinstance(call.func, t.Name):
            continue
        first = alternatives(project.value(call.args[0])) if function == "getattr" and call.args else ()
        if not first or any(
            isinstance(one, Package | Unknown) or (isinstance(one, Module) and _may_bind(one.file, wanted))
            for one in first
        ):
            return True
    return False


def _may_bind(file: FileIndex, name: str) -> bool:
    """Whether a module may have an attribute ``name``."""
    return not file.module.bindings.keys().isdisjoint((name, "*"))


def has_scripts(project: Project, file: FileIndex) -> bool:
    """Whether a project has a script besides a file."""
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
    if function.is_method and function.parent is not None:
        return is_unused_class(project, Class(function.parent))
    if not isinstance(node, t.FunctionDef) or node.decorators:
        return False
    name = node.name
    if project.evaluator.callers.of(function) is None or _is_named_otherwise(project, name):
        return False
    if project.mentions_unlinted(node, name, passed_on=False):
        return False
    callers = [project.function_of(one) for one in loads(project, name) if _may_be(project, one, function)]
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
    word = re.compile(rf"\b{re.escape(name)}\b")
    return name in named or any(name in text and word.search(text) for text in named if len(text) > len(name))


def _other_names(project: Project) -> frozenset[str]:
    found: set[str] = set()
    for node in project.evaluator.parents:
        if isinstance(node, t.Attribute):
            found.add(node.attr)
        elif isinstance(node, t.Constant) and isinstance(node.value, str) and not _names_nothing(project, node):
            found.add(node.value)
    for file in project.files:
        found.update(file.renamed)
    return frozenset(found)


def _names_nothing(project: Project, text: t.Constant) -> bool:
    """Whether a text is a docstring, or a name in an ``__all__``, which says what may be used and uses nothing."""
    listed = project.parent(text)
    if isinstance(listed, t.ExprStmt):
        return True
    around = project.parent(listed) if listed is not None else None
    targets = around.targets if isinstance(around, t.Assign) else ()
    return any(isinstance(one, t.Name) and one.id == "__all__" for one in targets)
