"""What names stand for: the bindings that reach them, and the changes made in place since."""

from __future__ import annotations

import ast
import builtins
from functools import partial
from typing import TYPE_CHECKING

from dl_lint.flow import scopes
from dl_lint.flow.interpreter import functions, operations
from dl_lint.flow.interpreter.mutations import changed
from dl_lint.flow.reaching import Reach, reaching, visible_at_end
from dl_lint.flow.scopes import Binding, Path, Scope, Site
from dl_lint.flow.values import (
    NOTHING,
    UNKNOWN,
    Bound,
    Class,
    Collection,
    Const,
    External,
    Function,
    Generated,
    Instance,
    Module,
    Nothing,
    Parameter,
    Value,
    alternatives,
    union,
)
from dl_lint.source.syntax import Assignment, Display, ForStatement, Param, dotted, targets

if TYPE_CHECKING:
    from dl_lint.flow.program import Program


BUILTINS = frozenset(dir(builtins))

MOST_GROWN = 16
"""Places that add to one container, of which more are kept for none."""


def name(program: Program, expr: ast.Name) -> Value:
    return lookup(program, expr.id, program.site(expr))


def lookup(program: Program, wanted: str, site: Site) -> Value:
    """What the name ``wanted`` stands for at ``site``."""
    found: list[Value] = []
    for scope, at in enclosing_scopes(site):
        reach = reaching(scope, wanted, at) if at is not None else visible_at_end(scope, wanted)
        found.extend(seen(program, scope, wanted, reach, at))
        if reach.certain or (wanted in scope.bindings and wanted not in scope.outer and scope.kind != "class"):
            return union(found) if found else UNKNOWN
    if found:
        return union(found)
    starred = from_star(program, site.scope.file.module, wanted)
    if starred is not None:
        return starred
    return (
        External(f"builtins.{wanted}")
        if wanted in BUILTINS
        else _from_outside_star(program, site.scope.file.module, wanted)
    )


def _from_outside_star(program: Program, module: Scope, wanted: str) -> Value:
    """A name that nothing binds: of the one outside module that is imported with a star, if there is just one."""
    stars = [one.node for one in module.bindings.get("*", ()) if isinstance(one.node, ast.ImportFrom)]
    sources = [source_of(program, module, node) for node in stars]
    if len(sources) == 1 and isinstance(sources[0], External):
        return External(program.models.canonical(f"{sources[0].name}.{wanted}"))
    return UNKNOWN


def enclosing_scopes(site: Site) -> list[tuple[Scope, Site | None]]:
    """The scopes that a name is looked up in, with the site there, or None for what a closure sees."""
    scope: Scope | None = site.scope
    at: Site | None = site
    found: list[tuple[Scope, Site | None]] = []
    while scope is not None:
        if scope.kind != "class" or at is not None:
            found.append((scope, at))
        immediate = scope.kind in ("comprehension", "class", "lambda") and at is not None
        at = scope.site if immediate else None
        scope = scope.parent
    return found


def seen(program: Program, scope: Scope, wanted: str, reach: Reach, at: Site | None) -> list[Value]:
    changes = scope.changes.get(wanted)
    values = []
    for binding in reach.bindings:
        value = of_binding(program, binding)
        values.append(changed(program, value, binding, changes, at) if changes else value)
    return values


def stored(program: Program, expr: ast.Attribute) -> Value | None:
    """What was last stored to ``a.b`` in the same function, if on every way to here."""
    wanted = dotted(expr)
    if wanted is None:
        return None
    found: list[Value] = []
    for scope, at in enclosing_scopes(program.site(expr)):
        if wanted in scope.bindings and at is not None:
            reach = reaching(scope, wanted, at)
            found.extend(seen(program, scope, wanted, reach, at))
            if reach.certain:
                return union(found)
        if scope.kind in ("function", "module"):
            break
    if not found:
        return None
    return union((*found, program.attribute(program.symbolic(expr.value), expr.attr)))


def of_binding(program: Program, binding: Binding) -> Value:
    """What a binding gives its name."""
    return program.solver.solve(binding, lambda: _of_binding(program, binding))


def _of_binding(program: Program, binding: Binding) -> Value:
    match binding.kind, binding.node:
        case "assign", _:
            return unpack(program, program.symbolic(binding.value), binding.path, _target(binding.node))
        case "for", _:
            return unpack(
                program,
                operations.iterate(program, program.symbolic(binding.value)),
                binding.path,
                _target(binding.node),
            )
        case "with", _:
            return unpack(program, _entered(program, program.symbolic(binding.value)), binding.path)
        case "param", ast.arg() as node:
            scope = binding.site.scope
            return parameter(next(one for one in scope.params if one.node is node), scope)
        case "def", ast.FunctionDef() | ast.AsyncFunctionDef() as node:
            return Function(program.scope_of(node))
        case "class", ast.ClassDef() as node:
            return Class(program.scope_of(node))
        case "import" | "from", _:
            return _imported(program, binding)
        case "augment", _:
            return _augmented(program, binding)
        case _:
            return UNKNOWN


def parameter(param: Param, scope: Scope) -> Value:
    """A parameter as its function sees it; ``self`` and ``cls`` are known."""
    if scope.is_method and scope.params and scope.params[0] is param and scope.parent is not None:
        kinds = scopes.decorators(scope)
        if "classmethod" in kinds or scope.name in ("__new__", "__init_subclass__"):
            return Class(scope.parent)
        if "staticmethod" not in kinds:
            return Instance(Class(scope.parent))
    return Parameter(param, scope)


def unpack(program: Program, value: Value, path: Path, target: ast.expr | None = None) -> Value:
    """What of ``value`` comes to one name of ``target``; without a target, of any that have a name there."""
    for index in path:
        if isinstance(target, Display) and not any(isinstance(one, ast.Starred) for one in target.elts):
            value = _of_length(value, len(target.elts))
            target = target.elts[index] if index is not None else None
        else:
            target = None
        value = (
            operations.rest(program, value) if index is None else operations.item(program, value, Const(index, "int"))
        )
    return value


def _target(node: ast.AST) -> ast.expr | None:
    """What a statement unpacks its value into, if it is one target."""
    if isinstance(node, Assignment):
        found = targets(node)
        return found[0] if len(found) == 1 else None
    return node.target if isinstance(node, ForStatement | ast.comprehension) else None


def _of_length(value: Value, count: int) -> Value:
    """The alternatives that can be unpacked into so many names, if any can: with the others nothing goes on."""
    fitting = [one for one in alternatives(value) if not _is_of_another_length(one, count)]
    return union(fitting) if fitting else value


def _is_of_another_length(value: Value, count: int) -> bool:
    match value:
        case Collection(kind="tuple" | "list", items=tuple() as items, grown=()):
            return len(items) != count
        case _:
            return False


def _entered(program: Program, value: Value) -> Value:
    """What ``with value as`` binds."""
    if isinstance(value, Generated):
        return value.element
    if isinstance(value, Instance):
        enter = program.attribute(value, "__enter__")
        if isinstance(enter, Bound):
            returned = functions.returned(program, enter.function.scope)
            return value if returned == Instance(value.cls) else returned
    return value


def _augmented(program: Program, binding: Binding) -> Value:
    before = lookup(program, binding.name, Site(binding.site.scope, binding.site.block, binding.site.order - 1))
    added = program.symbolic(binding.value)
    return union(_added(program, one, added, binding) for one in alternatives(before))


def _added(program: Program, before: Value, added: Value, binding: Binding) -> Value:
    if not isinstance(before, Collection):
        return operations.arithmetic(before, added, binding.node)
    element = union((operations.held(program, before), operations.iterate(program, added)))
    return Collection(before.kind, None, element, before.node, (*before.grown, binding.node)[-MOST_GROWN:])


# --- imports -------------------------------------------------------------------------------


def _imported(program: Program, binding: Binding) -> Value:
    scope, alias = binding.site.scope, binding.alias
    assert alias is not None
    if not isinstance(binding.node, ast.ImportFrom):
        return program.modules.absolute(scope.file, alias.name if alias.asname else alias.name.partition(".")[0])
    if alias.name == "*":
        return NOTHING
    module = source_of(program, scope, binding.node, alias.name)
    if module is None:
        return UNKNOWN
    if isinstance(module, External):
        return External(program.models.canonical(f"{module.name}.{alias.name}"))
    if module == Module(scope.file):  # ``from . import data`` in a package, which binds the name by that alone
        return program.modules.submodule(module, alias.name) or UNKNOWN
    return program.attribute(module, alias.name)


def source_of(program: Program, scope: Scope, node: ast.ImportFrom, wanted: str = "") -> Value | None:
    """The module that a ``from`` import reads ``wanted`` from; of one that says nothing about that, its mere name."""
    module = node.module or ""
    if node.level:
        return program.modules.relative(scope.file, node.level, module, wanted)
    return program.modules.absolute(scope.file, module, wanted)


def from_star(program: Program, module: Scope, wanted: str) -> Value | None:
    """``wanted`` from the modules that ``module`` imports with a star, if one of them has it."""
    for binding in reversed(module.bindings.get("*", ())):
        if isinstance(binding.node, ast.ImportFrom):
            source = source_of(program, binding.site.scope, binding.node, wanted)
            if isinstance(source, Module):
                found = program.solver.solve(("star", source, wanted), partial(_exported, program, source, wanted))
                if not isinstance(found, Nothing):
                    return found
    return None


def _exported(program: Program, source: Module, wanted: str) -> Value:
    if source.file.module.bindings.get(wanted):
        return program.attribute(source, wanted)
    return from_star(program, source.file.module, wanted) or NOTHING


def bound_value(program: Program, binding: Binding) -> Value:
    """What a binding gives its name over all known callers, without the changes made in place later."""
    return program.resolve(of_binding(program, binding))
