"""What the methods of a base store on self, as an object of a subclass has it: built by the methods that the subclass
defines anew, and from what its constructor hands up."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import attributes, calls, names
from dl_lint.project.flow import visible_at_end
from dl_lint.project.values import NOTHING, Bound, Class, Frame, Function, Instance, Value, alternatives, union
from dl_lint.source.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.evaluate import Evaluator
    from dl_lint.project.scopes import Binding, Scope


def stored(ev: Evaluator, cls: Class, base: Class, name: str) -> Iterator[Value]:
    """What each method of ``base``, a class above ``cls``, last stores to ``self.name`` of an object of ``cls``."""
    for method, key in ev.storing(base).get(name, ()):
        reach = visible_at_end(method, key)
        for binding, value in zip(reach.bindings, names.seen(ev, method, key, reach, None), strict=True):
            anew = _built_anew(ev, cls, base, method, binding)
            if anew is None:
                anew = _taken_over(ev, cls, method, binding)
            value = value if anew is None else anew
            yield handed_up(ev, cls, base, value) if method.name == "__init__" else value


def below(ev: Evaluator, cls: Class, name: str) -> Value:
    """What subclasses that define a builder of ``self.name`` anew store there; nothing if none does."""
    found = []
    for one in attributes.lineage(ev, cls):
        if not isinstance(one, Class):
            continue
        for method, key in ev.storing(one).get(name, ()):
            for binding in visible_at_end(method, key).bindings:
                if _builder(method, binding) is not None:
                    values = (_built_anew(ev, sub, one, method, binding) for sub in ev.callers.subclasses(cls))
                    found += [value for value in values if value is not None]
    return union(found) if found else NOTHING


def _builder(method: Scope, binding: Binding) -> ast.Call | None:
    """The call of another method of self that makes what is stored: ``self.train = self.build(…)``."""
    call = binding.value
    if binding.kind != "assign" or binding.path or not method.params or not isinstance(call, ast.Call):
        return None
    is_own = isinstance(call.func, ast.Attribute) and dotted(call.func.value) == method.params[0].name
    return call if is_own else None


def _taken_over(ev: Evaluator, cls: Class, method: Scope, binding: Binding) -> Value | None:
    """What another attribute of an object of ``cls`` is: ``self.valid = self.test``."""
    taken = binding.value
    if binding.kind != "assign" or binding.path or not isinstance(taken, ast.Attribute) or not method.params:
        return None
    is_own = dotted(taken.value) == method.params[0].name
    return attributes.of_instance(ev, Instance(cls), taken.attr) if is_own else None


def _built_anew(ev: Evaluator, cls: Class, base: Class, method: Scope, binding: Binding) -> Value | None:
    """What is stored where ``cls`` has another method by the name of the builder than ``base``; None if it has not."""
    call = _builder(method, binding)
    if call is None or not isinstance(call.func, ast.Attribute):
        return None
    own, new = (attributes.of_class(ev, one, call.func.attr) for one in (base, cls))
    if own == new or not isinstance(new, Function):
        return None
    return ev.solver.solve(
        ("built anew", cls, call),
        lambda: calls.of_value(ev, Bound(new, Instance(cls)) if new.scope.is_method else new, call),
    )


def handed_up(ev: Evaluator, cls: Class, base: Class, value: Value) -> Value:
    """``value`` with the parameters of the base's constructor bound by the ``super().__init__(…)`` of those below."""
    upper = attributes.of_class(ev, base, "__init__")
    line = attributes.lineage(ev, cls)
    for one in reversed(line[: line.index(base)]):
        lower = _constructor(ev, one)
        if lower is None or not isinstance(upper, Function):
            continue
        up = [call for call in lower.scope.calls if _is_super_init(call)]
        if len(up) != 1 or not _reaches(ev, up[0], upper):
            return value
        value, upper = ev.enter(value, Frame(upper.scope, up[0])), lower
    return value


def _constructor(ev: Evaluator, cls: Value) -> Function | None:
    own = cls.scope.bindings.get("__init__") if isinstance(cls, Class) else None
    found = attributes.of_class(ev, cls, "__init__") if own and isinstance(cls, Class) else None
    return found if isinstance(found, Function) else None


def _is_super_init(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(attr="__init__", value=ast.Call(func=ast.Name(id="super"))):
            return True
        case _:
            return False


def _reaches(ev: Evaluator, call: ast.Call, constructor: Function) -> bool:
    found = alternatives(ev.symbolic(call.func))
    return len(found) == 1 and isinstance(found[0], Bound) and found[0].function == constructor
