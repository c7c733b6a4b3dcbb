"""Code that never gets as far as a place: a name is read on the way there that nothing binds, an attribute of the
object that nothing sets, or its file imports what is not where it looks for it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import attributes, names
from dl_lint.project.context import goes_on_early
from dl_lint.project.names import BUILTINS
from dl_lint.project.syntax import spans
from dl_lint.project.values import Class, External, Module

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Binding, Block, FileIndex, Scope, Store
    from dl_lint.project.values import Value

_OF_MODULES = frozenset(
    {
        "__file__",
        "__path__",
        "__class__",
        "__annotations__",
        "__builtins__",
        "__conditional_annotations__",
        "reveal_type",
    }
)
"""Names that modules and methods have besides those of builtins."""

_BINDING = frozenset({"exec", "globals", "locals", "vars", "setattr", "update_wrapper"})
"""Functions that bind names which are written nowhere."""

_BASES = frozenset(
    {"builtins.object", "abc.ABC", "torch.nn.Module", "torch.nn.modules.module.Module", "torch.utils.data.Dataset",
     "torch.utils.data.dataset.Dataset", "torch.utils.data.IterableDataset"}
)  # fmt: skip
"""Classes from outside of which all attributes are known."""

_OF_BASES = frozenset({"training", "call_super_init", "dump_patches", "T_destination"})

_SETTING = ("setattr", "__dict__", "__getattr__", "__getattribute__", "__slots__", "register_", "add_module")
"""Words of code that sets attributes by their names."""


def is_out_of_reach(project: Project, file: FileIndex, around: Scope | None, line: int) -> bool:
    """Whether running into an error on the way keeps ``line``, in the function ``around``, from ever being run."""
    if file.path.endswith(".ipynb"):
        return False  # what magics and other cells bind is not known
    once = project.evaluator.once
    if once(("broken import", file), lambda: any(_is_missing(project, file, one) for one in _imports(file))):
        return True
    return around is not None and (_reads_unbound(project, around, line) or _reads_unset(project, around, line))


# --- imports -------------------------------------------------------------------------------


def _imports(file: FileIndex) -> Iterator[Binding]:
    for bindings in file.module.bindings.values():
        yield from (
            one for one in bindings if isinstance(one.node, t.ImportFrom) and one.site.block is file.module.body
        )


def _is_missing(project: Project, file: FileIndex, binding: Binding) -> bool:
    """Whether ``from data import Photos`` finds the file and no such name in it."""
    node = binding.node
    if not isinstance(node, t.ImportFrom) or node.attr == "*":
        return False
    source = names.source_of(project.evaluator, file.module, node, node.attr)
    if not isinstance(source, Module) or source.file is file:
        return False
    module = source.file.module
    if not module.bindings.keys().isdisjoint((node.attr, "*", "__getattr__")) or node.attr in module.remote:
        return False
    # A package has its modules as attributes, and may be spread over folders.
    return not _binds_by_name(source.file) and not source.file.path.endswith("__init__.py")


def _binds_by_name(file: FileIndex) -> bool:
    return not file.methods.keys().isdisjoint(_BINDING)


# --- names ---------------------------------------------------------------------------------


def _reads_unbound(project: Project, around: Scope, line: int) -> bool:
    file = around.file
    if _binds_by_name(file) or "*" in file.module.bindings:
        return False
    return any(
        _is_on_the_way(project, one, around, line)
        for name, loads in around.loads.items()
        if not _is_bound(around, name)
        for one in loads
    )


def _is_bound(scope: Scope | None, name: str) -> bool:
    if name in BUILTINS or name in _OF_MODULES:
        return True
    while scope is not None:
        if name in scope.bindings or name in scope.remote or name in scope.outer:
            return True
        scope = scope.parent
    return False


def _is_on_the_way(project: Project, node: t.Expr, around: Scope, line: int) -> bool:
    """Whether a node is evaluated on every way to a line of its function, or on every way on from there."""
    site = project.site(node)
    if site.scope is not around or any(project.tests_around(node)):
        return False
    if node.at[0] > line and (around.yields or any(one.at[0] < node.at[0] for one in around.returns)):
        return False
    return _is_certain(site.block, line) and not any(_may_be_skipped(project, node))


def _is_certain(block: Block | None, line: int) -> bool:
    """Whether a block is the body of its function, or a loop around the line."""
    while block is not None and block.kind != "body":
        owner = block.owner
        if block.kind not in ("for", "while") or not isinstance(owner, t.For | t.While):
            return False
        if not spans(owner.body, line) or goes_on_early(owner):
            return False
        block = block.parent
    return block is not None


def _may_be_skipped(project: Project, node: t.Node) -> Iterator[bool]:
    """What stands between a node and its statement that may leave it out, or never evaluates it."""
    child = node
    for above in project.ancestors(node):
        match above:
            case t.FunctionDef() | t.ClassDef():
                return
            case t.Lambda() | t.Comprehension() | t.Param() | t.Conditional() | t.Try():
                yield True
            case t.BoolOp(values=(first, *_)):
                yield child is not first
            case t.Assign(annotation=told):
                yield child is told
            case _:
                pass
        child = above


# --- attributes ----------------------------------------------------------------------------


def _reads_unset(project: Project, around: Scope, line: int) -> bool:
    """Whether a method reads an attribute of its object that no code of the project ever sets."""
    if not around.is_method or around.parent is None or not around.params or not isinstance(around.node, t.FunctionDef):
        return False
    cls = Class(around.parent)
    lineage = attributes.lineage(project.evaluator, cls)
    if not all(_is_known(project, one) for one in lineage):
        return False
    own = around.params[0].name
    read = [project.parent(one) for one in around.loads.get(own, ())]
    unset = [one for one in read if isinstance(one, t.Attribute) and not _is_set(project, cls, one.attr)]
    return any(_is_on_the_way(project, one, around, line) for one in unset)


def _is_known(project: Project, cls: Value) -> bool:
    """Whether all attributes that objects of a class may have are written down."""
    if not isinstance(cls, Class):
        return isinstance(cls, External) and cls.name in _BASES
    node = cls.scope.node
    text = project.evaluator.files.text(cls.scope.file)
    return isinstance(node, t.ClassDef) and not node.decorators and not any(word in text for word in _SETTING)


def _is_set(project: Project, cls: Class, name: str) -> bool:
    """Whether objects of a class may have an attribute: by its lineage, by a class that derives from it, by a store to
    something that is not the own object of another class, or by whatever a file does that is not linted."""
    if name in _OF_BASES or name.startswith("__"):
        return True
    related = {*attributes.lineage(project.evaluator, cls), *project.evaluator.callers.subclasses(cls)}
    if any(isinstance(one, Class) and _sets(one.scope, name) for one in related):
        return True
    others = project.evaluator.read_off("attribute setters", lambda: _setters(project)).get(name, frozenset())
    node = cls.scope.node
    return None in others or node is None or project.mentions_unlinted(node, name)


def _sets(scope: Scope, name: str) -> bool:
    """Whether the body of a class binds a name, or one of its methods stores to such an attribute of anything."""
    if name in scope.bindings:
        return True
    inner = [store.target for one in _below(scope) for store in one.stores]
    return any(isinstance(target, t.Attribute) and target.attr == name for target in inner)


def _below(scope: Scope) -> Iterator[Scope]:
    for child in scope.children:
        yield child
        yield from _below(child)


def _setters(project: Project) -> Mapping[str, Collection[Scope | None]]:
    """By attribute, the classes of linted files that set it on their own objects; None for other stores."""
    found: defaultdict[str, set[Scope | None]] = defaultdict(set)
    for file in project.files:
        for name, stores in file.stores.items():
            found[name].update(_owner(store) for store in stores)
    return found


def _owner(store: Store) -> Scope | None:
    """The class whose method stores to ``self``; None for any other store."""
    method = store.site.scope.function
    own = method.params[0].name if method.is_method and method.params else None
    value = store.target.value
    return method.parent if isinstance(value, t.Name) and value.id == own else None
