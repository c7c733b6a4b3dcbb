"""Attributes of objects, classes and modules, whichever method, subclass or caller sets them."""

from __future__ import annotations

import ast
import functools
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from dl_lint.flow import scopes
from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import (
    arguments,
    classes,
    configurations,
    functions,
    hyperparameters,
    names,
    operations,
    options,
)
from dl_lint.flow.program import operation
from dl_lint.flow.reaching import visible_at_end
from dl_lint.flow.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    Absent,
    Batch,
    Bound,
    Class,
    Collection,
    Const,
    Derived,
    External,
    Frame,
    Function,
    Instance,
    Loader,
    Made,
    Module,
    Namespace,
    Nothing,
    Number,
    OneOf,
    Option,
    Package,
    Parameter,
    Sampler,
    Table,
    Tensor,
    Unknown,
    Value,
    alternatives,
    union,
)
from dl_lint.source.syntax import Assignment, FunctionDefinition, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Binding, Scope


FIELDS: dict[str, tuple[str, ...]] = {
    "dataclasses.field": (),
    "attr.ib": ("default",),
    "attr.field": (),
    "attrs.field": (),
    "pydantic.Field": ("default",),
}
"""What declares a field of a record, with its positional arguments."""


@operation("attribute")
def attribute(program: Program, base: Value, name: str) -> Value:
    """``base.name``."""
    match base:
        case OneOf():
            return union(attribute(program, one, name) for one in base.members if one != NONE)
        case External():
            return External(program.models.canonical(f"{base.name}.{name}"))
        case Module():
            return _of_module(program, base, name)
        case Package():
            return program.modules.submodule(base, name) or External(program.models.canonical(f"{base.name}.{name}"))
        case Instance(cls=Class() as cls) | Made(cls=Class() as cls) if name == "__class__":
            return cls
        case Instance():
            return of_instance(program, base, name)
        case Class():
            return _of_class_object(program, base, name)
        case Batch():
            return Batch(base.loader, whole=False)
        case Tensor():
            return base if program.models.has(f"torch.Tensor.{name}", "View") else UNKNOWN
        case Made():
            return _of_made(program, base, name)
        case Namespace() if name == "__dict__":
            return options.mapping(program, base)
        case Made() if name == "__dict__" and configurations.is_configuration(program, base):
            return base
        case Namespace():
            return options.option(program, base, name)
        case Table(node=ast.Call()):  # types.SimpleNamespace(name=…); a method of a dict is no key of it
            found = base.get(name)
            return UNKNOWN if isinstance(found, Absent) else found
        case Parameter() | Derived():
            return operations.derived(base, "attr", name)
        case Option():
            return attribute(program, base.default, name)
        case Unknown() if name.isupper():
            return configurations.section(program, name)
        case _:
            return UNKNOWN


def _of_module(program: Program, module: Module, name: str) -> Value:
    scope = module.file.module
    if scope.bindings.get(name) or scope.remote.get(name):
        return program.solver.solve((scope, name), lambda: classes._at_end(program, scope, name))
    if name == "__dict__":
        return program.solver.solve((scope, name), lambda: _names_of(program, module))
    found = program.modules.submodule(module, name) or names.from_star(program, scope, name)
    return found if found is not None else UNKNOWN


@feature("modules as dicts of their names", UNKNOWN)
def _names_of(program: Program, module: Module) -> Value:
    """The classes and functions of the project that a module has by name: ``models.__dict__[args.arch]``."""
    scope = module.file.module
    stars = [names.source_of(program, scope, one.node) for one in scope.bindings.get("*", ())
             if isinstance(one.node, ast.ImportFrom)]  # fmt: skip
    found: dict[Any, Value] = {}
    for one in stars:
        table = attribute(program, one, "__dict__") if isinstance(one, Module) and one != module else UNKNOWN
        found.update(table.items if isinstance(table, Table) else ())
    for name in scope.bindings:
        value = attribute(program, module, name) if not name.startswith(("_", "*")) and "." not in name else UNKNOWN
        if any(isinstance(each, Class | Function) for each in alternatives(value)):
            found[name] = value
    return Table(tuple(found.items()), all(isinstance(one, Module) for one in stars), None)


def _of_class_object(program: Program, cls: Class, name: str) -> Value:
    found = classes.of_class(program, cls, name)
    if isinstance(found, Function) and "classmethod" in scopes.decorators(found.scope):
        return Bound(found, cls)
    return UNKNOWN if isinstance(found, Nothing) else found


# --- objects -----------------------------------------------------------------------------


def of_instance(program: Program, base: Instance, name: str) -> Value:
    """An attribute of an object: what its class's methods store, else what its class binds."""
    given = _given_field(program, base, name)
    given = set_by_name(program, base, name) if given is None else given
    if given is not None:
        return given
    inside = program.solver.solve(("attribute", base.cls, name), lambda: _in_lineage(program, base.cls, name))
    if base.call is None and all(_is_abstract(one) for one in alternatives(inside)):
        below = program.solver.solve(("overridden", base.cls, name), lambda: _in_subclasses(program, base.cls, name))
        inside = inside if isinstance(below, Nothing) else below
    elif base.call is None:
        built = program.solver.solve(("built below", base.cls, name), lambda: stored_below(program, base.cls, name))
        inside = inside if isinstance(built, Nothing) else union((inside, built))
        if any(isinstance(one, Const) for one in alternatives(inside)) and may_be_given_below(program, base.cls):
            inside = union((inside, UNKNOWN))
    if isinstance(inside, Nothing):
        return UNKNOWN
    return union(_seen_from(program, base, one) for one in alternatives(inside))


def _seen_from(program: Program, base: Instance, value: Value) -> Value:
    """A value stored inside a class, as the owner of one object of it sees it."""
    if isinstance(value, Function) and value.scope.is_method:
        kinds = scopes.decorators(value.scope)
        if kinds & {"property", "cached_property", "lazy_property", "LazyProperty"}:
            return of_function(program, value, None, base)
        return value if "staticmethod" in kinds else Bound(value, base)
    return as_built(program, base, value)


def _given_field(program: Program, base: Instance, name: str) -> Value | None:
    """The field of a dataclass, if the call that built ``base`` sets it."""
    if base.call is None or name not in base.cls.scope.bindings or not classes.is_record(program, base.cls):
        return None
    given = arguments.given(program, base.call, classes.fields(base.cls), name)
    if isinstance(given.symbolic, Absent):
        return None
    # A function that builds a record from a field of a record that it built goes round for ever.
    return program.solver.solve(("given", base, name), lambda: program.through(given.symbolic, base.frames))


def of_function(program: Program, function: Function, expr: ast.Call | None, receiver: Value | None) -> Value:
    """What a function returns to one caller; without a call, to the reader of a property."""
    value = functions.returned(program, function.scope)
    if expr is not None:  # methods that return what each other's methods return may come round to the same call
        frame, inside = Frame(function.scope, expr), value
        value = program.solver.solve(("entered", frame), lambda: program.enter(inside, frame))
    if isinstance(receiver, Instance):
        value = as_built(program, receiver, value)
    return value


def as_built(program: Program, base: Instance, value: Value) -> Value:
    """``value`` with the parameters of the constructor bound by the call that built ``base``."""
    if base.call is None:
        return value
    # A wrapper built around what builds it (a repeated dataset of a config) asks for itself: the solver ends that.
    return program.solver.solve(("as built", base, value), partial(_as_built, program, base, base.call, value))


def _as_built(program: Program, base: Instance, call: ast.Call, value: Value) -> Value:
    init = classes.of_class(program, base.cls, "__init__")
    if isinstance(init, Function):
        value = program.enter(value, Frame(init.scope, call))
    return program.through(value, base.frames)


def _is_abstract(value: Value) -> bool:
    """Whether a function only says that a subclass has to define it."""
    node = value.scope.node if isinstance(value, Function) else None
    if not isinstance(node, FunctionDefinition):
        return False
    raises = isinstance(node.body[-1], ast.Raise)
    return all(
        isinstance(stmt, ast.Raise | ast.Pass)
        or (isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant))
        or (isinstance(stmt, Assignment) and raises)  # the message
        for stmt in node.body
    )


def _in_lineage(program: Program, cls: Class, name: str) -> Value:
    for one in classes.lineage(program, cls):
        if isinstance(one, Class):
            values = _stored(program, one, name) if one == cls else stored_by_base(program, cls, one, name)
            found = [value for value in values if not isinstance(value, Nothing)]
            if one.scope.bindings.get(name):
                body = program.solver.solve((one.scope, name), partial(classes._at_end, program, one.scope, name))
                if not found or not isinstance(body, Function):
                    found.append(_field(program, one, name, body))
            if found:
                return union(found)
        elif isinstance(one, External) and program.models.has(f"{one.name}.{name}", "ListsFiles"):
            return _listed(program, f"{one.name}.{name}")
    return hyperparameters.saved(program, cls) if name in ("hparams", "_hparams") else NOTHING


def before_stored(program: Program, base: Value, expr: ast.Attribute) -> Value | None:
    """What an outside base has left in an attribute that the same function stores later."""
    if isinstance(base, Instance) and dotted(expr) in program.site(expr).scope.function.bindings:
        for one in classes.external_bases(program, base.cls):
            if program.models.has(f"{one}.{expr.attr}", "ListsFiles"):
                return _listed(program, f"{one}.{expr.attr}")
    return None


def _listed(program: Program, name: str) -> Value:
    """The list that an outside dataset keeps of the files or records that it has found."""
    [listing, *others] = program.models.get(name).marks[0].of
    found = operations.derived(operations.derived(UNKNOWN, "attr", listing), "iterate")
    element = operations.pair(found, *(Number() for _ in others)) if others else found
    return Collection("list", None, element, None)


def _stored(program: Program, cls: Class, name: str) -> Iterator[Value]:
    """What each method of a class last stores to ``self.name``."""
    for method, key in classes.storing(program, cls).get(name, ()):
        yield from names.seen(program, method, key, visible_at_end(method, key), None)


def _field(program: Program, cls: Class, name: str, default: Value) -> Value:
    """A class attribute; of a dataclass, the field that a caller may set."""
    binding: Binding = cls.scope.bindings[name][-1]
    if not isinstance(binding.node, ast.AnnAssign) or not classes.is_record(program, cls):
        return default
    declared = default if isinstance(default, Made) and default.name in FIELDS else None
    value = default if declared is None else _declared(program, declared)
    if declared is not None and arguments.given(program, declared.call, (), "init").symbolic == Const(False, "bool"):
        return value
    return Option(value, "field", binding.node)


def _declared(program: Program, field: Made) -> Value:
    """The default of a field that is declared by a call: ``field(default=0)``, ``field(default_factory=list)``."""
    given = arguments.given(program, field.call, FIELDS[field.name], "default").symbolic
    if not isinstance(given, Absent):
        return given
    factory = arguments.given(program, field.call, (), "default_factory").symbolic
    return UNKNOWN if isinstance(factory, Absent) else program.called(factory, field.call)


@feature("attributes stored by subclasses", NOTHING)
def _in_subclasses(program: Program, cls: Class, name: str) -> Value:
    return union(_in_lineage_below(program, sub, cls, name) for sub in classes.subclasses(program, cls))


def _in_lineage_below(program: Program, sub: Class, stop: Class, name: str) -> Value:
    return (
        NOTHING
        if sub == stop
        else program.solver.solve(("attribute", sub, name), lambda: _in_lineage(program, sub, name))
    )


# --- what comes from outside --------------------------------------------------------------


def _of_made(program: Program, base: Made, name: str) -> Value:
    if base.cls is not None:
        found = of_instance(program, Instance(base.cls, base.call, base.frames), name)
        if found != UNKNOWN:
            return found
    setting = configurations.field(program, base, name)
    if setting is not None:
        return setting
    if isinstance(base, Loader | Sampler):
        # A loader made of what another has, which may be of the same kind, asks for itself: the solver ends that.
        return program.solver.solve(("given", base, name), partial(_given, program, base, name))
    if program.models.has(f"{base.name}.{name}", "ListsFiles"):
        return _listed(program, f"{base.name}.{name}")
    return operations.derived(base, "attr", name)


def _given(program: Program, base: Made, name: str) -> Value:
    given = arguments.argument(program, base, name)
    return UNKNOWN if given is None or isinstance(given.symbolic, Absent) else given.symbolic


Source = Literal["none", "keywords", "anything"]
"""Where the names come from: nowhere, the keywords of the constructor, or something that is not known."""


@feature("attributes set by name", None)
def set_by_name(program: Program, base: Instance, name: str) -> Value | None:
    """What sets ``name`` of an object over the default of its class; None where nothing does."""
    source = program.once(("set by name", base.cls), lambda: _source(program, base.cls))
    if source == "none" or isinstance(classes.of_class(program, base.cls, name), Function):
        return None
    if base.call is not None and source == "keywords":
        passed = arguments.given(program, base.call, (), name).symbolic
        return None if isinstance(passed, Absent) else program.through(passed, base.frames)
    has_default = any(
        isinstance(one, Class) and name in one.scope.bindings for one in classes.lineage(program, base.cls)
    )
    return UNKNOWN if has_default else None


def may_be_given_below(program: Program, cls: Class) -> bool:
    """Whether a subclass sets attributes by names that nobody knows: ``for k in cfg: self.__dict__[k] = cfg[k]``."""
    return program.once(
        ("set by name below", cls),
        lambda: any("anything" in _of(program, one) for one in classes.subclasses(program, cls)),
    )


def _source(program: Program, cls: Class) -> Source:
    found: set[Source] = set()
    for one in classes.lineage(program, cls):
        if isinstance(one, Class):
            found |= _of(program, one)
    return "anything" if "anything" in found else "keywords" if "keywords" in found else "none"


def _of(program: Program, cls: Class) -> frozenset[Source]:
    return program.read_off(("set by name in", cls), functools.partial(_of_body, cls))


def _of_body(cls: Class) -> frozenset[Source]:
    return frozenset(map(_of_method, classes.methods(cls)))


def gives_keywords(program: Program, cls: Class) -> bool:
    """Whether an object has the keywords of its constructor as attributes, out of a dict that it keeps them in:
    ``__getattr__`` with ``return self.data[key]``."""
    getter, init = (classes.of_class(program, cls, name) for name in ("__getattr__", "__init__"))
    if not isinstance(getter, Function) or not isinstance(init, Function) or len(getter.scope.params) != 2:
        return False
    owner, key = (param.name for param in getter.scope.params)
    read = [dotted(one.value.value) or "" for one in getter.scope.returns
            if isinstance(one.value, ast.Subscript) and dotted(one.value.slice) == key]  # fmt: skip
    held = [attribute for name, _, attribute in (one.partition(".") for one in read) if name == owner]
    return any(_of_method(init.scope, attribute) == "keywords" for attribute in held)


def _of_method(method: Scope, held: str = "__dict__") -> Source:
    sources = list(_sets(method, held))
    if not sources:
        return "none"
    keywords = {param.name for param in method.params if param.kind == "kwargs"}
    return "keywords" if method.name == "__init__" and keywords.issuperset(sources) else "anything"


def _sets(method: Scope, held: str) -> Iterator[str | None]:
    """What ``setattr(self, name, …)`` with a variable name, ``self.__dict__[name] = …``, ``self.__dict__.update(…)``
    and ``self.__dict__ = kwargs`` take their names from; or the like of another dict that is ``held``."""
    owner = method.receiver or ""
    keywords = {param.name for param in method.params if param.kind == "kwargs"}
    for binding in method.bindings.get(f"{owner}.{held}", ()):
        yield from keywords & {dotted(binding.value)}
    for change in method.changes.get(f"{owner}.{held}", ()):
        if change.kind == "item" and isinstance(change.key, ast.Name):
            yield _items_of(method, change.key.id)
    for call in method.calls:
        match call.func:
            case ast.Name(id="setattr"):
                match call.args:
                    case (ast.Name(id=set_on), ast.Name(id=name), _) if set_on == owner:
                        yield _items_of(method, name)
            case ast.Attribute(attr="update", value=holder) if len(call.args) == 1:
                if dotted(holder) == f"{owner}.{held}":
                    yield dotted(call.args[0])
            case _:
                continue


def _items_of(method: Scope, name: str) -> str | None:
    """``kwargs``, of a name that a loop over ``kwargs`` or ``kwargs.items()`` binds."""
    for binding in method.bindings.get(name, ()):
        over = binding.value if binding.kind == "for" else None
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in ("items", "keys"):
            over = over.func.value
        return dotted(over)
    return None


def stored_by_base(program: Program, cls: Class, base: Class, name: str) -> Iterator[Value]:
    """What each method of ``base``, a class above ``cls``, last stores to ``self.name`` of an object of ``cls``."""
    for method, key in classes.storing(program, base).get(name, ()):
        reach = visible_at_end(method, key)
        for binding, value in zip(reach.bindings, names.seen(program, method, key, reach, None), strict=True):
            anew = _built_anew(program, cls, base, method, binding)
            if anew is None:
                anew = _taken_over(program, cls, method, binding)
            value = value if anew is None else anew
            yield handed_up(program, cls, base, value) if method.name == "__init__" else value


@feature("attributes stored by subclasses", NOTHING)
def stored_below(program: Program, cls: Class, name: str) -> Value:
    """What subclasses that define a builder of ``self.name`` anew store there; nothing if none does."""
    found = []
    for one in classes.lineage(program, cls):
        if not isinstance(one, Class):
            continue
        for method, key in classes.storing(program, one).get(name, ()):
            for binding in visible_at_end(method, key).bindings:
                if _builder(method, binding) is not None:
                    values = (
                        _built_anew(program, sub, one, method, binding) for sub in classes.subclasses(program, cls)
                    )
                    found += [value for value in values if value is not None]
    return union(found) if found else NOTHING


def _builder(method: Scope, binding: Binding) -> ast.Call | None:
    """The call of another method of self that makes what is stored: ``self.train = self.build(…)``."""
    call = binding.value
    if binding.kind != "assign" or binding.path or not method.params or not isinstance(call, ast.Call):
        return None
    is_own = isinstance(call.func, ast.Attribute) and dotted(call.func.value) == method.params[0].name
    return call if is_own else None


def _taken_over(program: Program, cls: Class, method: Scope, binding: Binding) -> Value | None:
    """What another attribute of an object of ``cls`` is: ``self.valid = self.test``."""
    taken = binding.value
    if binding.kind != "assign" or binding.path or not isinstance(taken, ast.Attribute) or not method.params:
        return None
    is_own = dotted(taken.value) == method.params[0].name
    return of_instance(program, Instance(cls), taken.attr) if is_own else None


def _built_anew(program: Program, cls: Class, base: Class, method: Scope, binding: Binding) -> Value | None:
    """What is stored where ``cls`` has another method by the name of the builder than ``base``; None if it has not."""
    call = _builder(method, binding)
    if call is None or not isinstance(call.func, ast.Attribute):
        return None
    own, new = (classes.of_class(program, one, call.func.attr) for one in (base, cls))
    if own == new or not isinstance(new, Function):
        return None
    return program.solver.solve(
        ("built anew", cls, call),
        lambda: program.called(Bound(new, Instance(cls)) if new.scope.is_method else new, call),
    )


def handed_up(program: Program, cls: Class, base: Class, value: Value) -> Value:
    """``value`` with the parameters of the base's constructor bound by the ``super().__init__(…)`` of those below."""
    upper = classes.of_class(program, base, "__init__")
    line = classes.lineage(program, cls)
    for one in reversed(line[: line.index(base)]):
        lower = _constructor(program, one)
        if lower is None or not isinstance(upper, Function):
            continue
        up = [call for call in lower.scope.calls if _is_super_init(call)]
        if len(up) != 1 or not _reaches(program, up[0], upper):
            return value
        value, upper = program.enter(value, Frame(upper.scope, up[0])), lower
    return value


def _constructor(program: Program, cls: Value) -> Function | None:
    own = cls.scope.bindings.get("__init__") if isinstance(cls, Class) else None
    found = classes.of_class(program, cls, "__init__") if own and isinstance(cls, Class) else None
    return found if isinstance(found, Function) else None


def _is_super_init(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(attr="__init__", value=ast.Call(func=ast.Name(id="super"))):
            return True
        case _:
            return False


def _reaches(program: Program, call: ast.Call, constructor: Function) -> bool:
    found = alternatives(program.symbolic(call.func))
    return len(found) == 1 and isinstance(found[0], Bound) and found[0].function == constructor
