"""Classes: their bases, what their bodies define, and which methods an object of them has."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

from dl_lint.flow import scopes
from dl_lint.flow.interpreter import names
from dl_lint.flow.reaching import visible_at_end
from dl_lint.flow.values import NOTHING, UNKNOWN, Class, External, Value, alternatives, union
from dl_lint.source.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope


def _at_end(program: Program, scope: Scope, name: str) -> Value:
    reach = visible_at_end(scope, name)
    return union(names.seen(program, scope, name, reach, None)) if reach.bindings else UNKNOWN


# --- classes -----------------------------------------------------------------------------


def bases(program: Program, cls: Class) -> tuple[Value, ...]:
    """The values of a class's bases, in order."""
    node = cls.scope.node
    if not isinstance(node, ast.ClassDef):
        return ()
    found: list[Value] = []
    for base in node.bases:
        found.extend(alternatives(program.symbolic(base.value if isinstance(base, ast.Subscript) else base)))
    return tuple(found)


def lineage(program: Program, cls: Class) -> tuple[Value, ...]:
    """The class and all its bases, nearest first: classes of the project, outside ones, unknown ones."""
    return program.once(("lineage", cls), lambda: _lineage(program, cls))


def _lineage(program: Program, cls: Class) -> tuple[Value, ...]:
    found: dict[Value, None] = {}
    waiting: list[Value] = [cls]
    while waiting and len(found) < 64:
        one = waiting.pop(0)
        if one in found:
            continue
        found[one] = None
        if isinstance(one, Class):
            waiting[:0] = bases(program, one)
    return tuple(found)


def external_bases(program: Program, cls: Class) -> tuple[str, ...]:
    return tuple(one.name for one in lineage(program, cls) if isinstance(one, External))


def of_class(program: Program, cls: Class, name: str) -> Value:
    """What the class body of ``cls`` or of a base binds to ``name``; nothing if none does."""
    for one in lineage(program, cls):
        if isinstance(one, Class) and one.scope.bindings.get(name):
            return program.solver.solve((one.scope, name), partial(_at_end, program, one.scope, name))
    return NOTHING


def fields(cls: Class) -> tuple[str, ...]:
    """The annotated names of a class body, in order."""
    found: dict[str, None] = {}
    for name, bindings in cls.scope.bindings.items():
        if any(isinstance(b.node, ast.AnnAssign) for b in bindings):
            found[name] = None
    return tuple(found)


def storing(program: Program, cls: Class) -> dict[str, list[tuple[Scope, str]]]:
    """The methods of a class that store each attribute of self, the constructor first, with the name bound there."""
    return program.read_off(("storing", cls), partial(_storing, cls))


def _storing(cls: Class) -> dict[str, list[tuple[Scope, str]]]:
    found: dict[str, list[tuple[Scope, str]]] = {}
    for method in methods(cls):
        prefix = f"{method.receiver or ''}."
        for key in method.bindings:
            if key.startswith(prefix):
                found.setdefault(key[len(prefix) :], []).append((method, key))
    return found


def methods(cls: Class) -> Iterator[Scope]:
    """The functions defined in a class body, the constructor first."""
    found = [scope for scope in cls.scope.children if scope.kind == "function"]
    yield from sorted(found, key=lambda scope: scope.name != "__init__")


def is_record(program: Program, cls: Class) -> bool:
    """Whether the constructor takes the annotated fields of the class body: dataclass, NamedTuple, attrs, pydantic."""
    if scopes.decorators(cls.scope) & {"dataclass", "define", "frozen", "attrs", "s"}:
        return True
    return any(
        name.rpartition(".")[2] in ("NamedTuple", "BaseModel", "BaseSettings") for name in external_bases(program, cls)
    )


def is_attribute_dict(program: Program, cls: Class) -> bool:
    """Whether a class is a dict whose items are attributes as well, and nothing more: EasyDict, written anew."""
    return program.once(("attribute dict", cls), lambda: _is_attribute_dict(program, cls))


def _is_attribute_dict(program: Program, cls: Class) -> bool:
    if "builtins.dict" not in external_bases(program, cls):
        return False
    own = [method for one in lineage(program, cls) if isinstance(one, Class) for method in methods(one)]
    names = {method.name for method in own}
    aliased = any(cls.scope.bindings.get(name) for name in ("__getattr__", "__getattribute__"))
    aliased = aliased or "__getattr__" in names or any(map(_is_its_own_dict, own))
    return aliased and all(_is_private(name) or name.startswith("__") for name in names)


def _is_its_own_dict(method: Scope) -> bool:
    """``self.__dict__ = self``."""
    owner = method.receiver
    return any(dotted(one.value) == owner for one in method.bindings.get(f"{owner}.__dict__", ()))


def methods_binding(program: Program, cls: Class, attribute: str) -> Iterator[tuple[Scope, str]]:
    """The methods that an object of a class has, each with the name by which it binds ``self.attribute``."""
    for method in methods_in_effect(program, cls):
        if method.receiver is not None:
            yield method, f"{method.receiver}.{attribute}"


def methods_in_effect(program: Program, cls: Class) -> tuple[Scope, ...]:
    """The methods of a class, and those of its bases that it does not define anew or that it calls all the same."""
    return program.once(("in effect", cls), partial(_methods_in_effect, program, cls))


def _methods_in_effect(program: Program, cls: Class) -> tuple[Scope, ...]:
    found: list[Scope] = []
    for one in lineage(program, cls):
        if isinstance(one, Class):
            defined = {method.name for method in found if not _is_private(method.name)}
            called = {name for method in found for name in _called_above(method)}
            new = methods(one)
            found += [method for method in new if method.name not in defined or method.name in called]
    return tuple(found)


def _is_private(name: str) -> bool:
    """Whether a method goes by another name in each class, and so is never defined anew."""
    return name.startswith("__") and not name.endswith("__")


def _called_above(method: Scope) -> Iterator[str]:
    """The methods that one calls as a base has them: ``super().load()``, ``Base.load(self)``."""
    owner = method.receiver
    for scope in with_inner(method):
        for call in scope.calls:
            if isinstance(call.func, ast.Attribute) and (
                _is_super(call.func.value) or (call.args and dotted(call.args[0]) == owner is not None)
            ):
                yield call.func.attr


def _is_super(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Call) and dotted(expr.func) == "super"


def with_inner(scope: Scope) -> Iterator[Scope]:
    """A function and the scopes inside it: comprehensions, lambdas, nested functions."""
    waiting = [scope]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(one.children)


def qualified(scope: Scope) -> str:
    """The name of a class or function of the project, behind the path of its file."""
    parts = [scope.name]
    above = scope.parent
    while above is not None and above.kind != "module":
        parts.append(above.name)
        above = above.parent
    path = scope.file.path.removesuffix(".py").removesuffix("/__init__").strip("/")
    return ".".join([*path.split("/"), *reversed(parts)])


def subclasses(program: Program, cls: Class) -> tuple[Class, ...]:
    """The classes of the linted files that derive from ``cls``, at any depth."""
    return tuple(program.read_off("subclasses", lambda: _subclasses(program)).get(cls, ()))


def _subclasses(program: Program) -> dict[Class, list[Class]]:
    below: defaultdict[Class, list[Class]] = defaultdict(list)
    for file in program.files:
        for scope in file.scopes:
            if scope.kind == "class":
                one = Class(scope)
                for base in lineage(program, one)[1:]:
                    if isinstance(base, Class):
                        below[base].append(one)
    return below
