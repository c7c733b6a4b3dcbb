"""Containers that are read by the sample: where a dataset fills them, and by which index it reads them."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dl_lint.flow import call_graph, enclosing, guards
from dl_lint.flow.features import NOTHING_MORE, feature
from dl_lint.flow.interpreter import classes, names
from dl_lint.flow.interpreter.mutations import GROWING
from dl_lint.flow.reaching import visible_at_end
from dl_lint.flow.values import Collection, Derived, Function, Instance, Made, Table, Value, alternatives, union
from dl_lint.pipeline import containers, datasets, workers
from dl_lint.pipeline.costs import sizes
from dl_lint.pipeline.training import words
from dl_lint.source.positions import span
from dl_lint.source.syntax import Assignment, called, children, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Binding, Scope
    from dl_lint.flow.values import Class


Head = TypeVar("Head")

DEEPEST = 3
"""Containers in containers that are looked through: the lists of a dict of lists are two."""


@dataclass(frozen=True, slots=True)
class Container:
    """``self.attribute``, which ``filled`` fill and ``reads`` look samples up in, each of the ``size``."""

    attribute: str
    filled: list[ast.AST]
    reads: list[Indexed]
    samples: list[Value]
    size: sizes.Size
    is_sequence: bool
    """Whether nothing says that it is a dict or a table, so that indices lead to its items in order."""


def owners(program: Program) -> list[Class]:
    """The map-style datasets, and the classes of the objects that they keep and index in turn; bases before those that
    derive from them."""
    found: dict[Class, None] = {}
    for dataset in datasets.dataset_classes(program):
        if dataset.kind == "map":
            found.update(dict.fromkeys(workers.held(program, dataset.cls)))
    return sorted(found, key=lambda one: len(_lineage(program, one)))


def of_base(program: Program, cls: Class, read: ast.AST, told: Mapping[tuple[Value, ast.AST], Head]) -> Head | None:
    """What was ``told`` of a class that ``cls`` derives from, whose container is read at the same place."""
    return next((told[base, read] for base in _lineage(program, cls)[1:] if (base, read) in told), None)


def _lineage(program: Program, cls: Class) -> tuple[Value, ...]:
    return classes.lineage(program, cls)


def of_python_objects(program: Program, cls: Class, reads: dict[str, list[Indexed]]) -> list[Container]:
    """The attributes in ``reads`` that hold a Python object for each sample, without those that only hold the objects
    of one filled before, parts of them, or all of these and more."""
    of_originals: dict[str, list[Indexed]] = {}
    for attribute, indexed in reads.items():
        of_originals.setdefault(_meant(program, cls, attribute), []).extend(indexed)
    found = []
    for attribute, indexed in of_originals.items():
        places = python_objects_in(program, cls, attribute, telling(program, indexed))
        filled = [one for one in places if not guards.is_switched_off(program, one)]
        if filled:
            depth = min(one.depth for one in indexed)
            samples = [one.value for one in sizes.filling(program, cls, attribute, filled)]
            each = list(sizes.filling(program, cls, attribute, filled, depth))
            size = sizes.size_each(program, each, _fields(program, indexed))
            sequence = not _is_keyed(program, cls, attribute)
            found.append(Container(attribute, _made_here(program, filled), indexed, samples, size, sequence))
    return _originals(found)


def _is_keyed(program: Program, cls: Class, attribute: str) -> bool:
    """Whether an attribute may be a dict or a table."""
    values = (names.bound_value(program, binding) for binding in _last_assignments(program, cls, attribute))
    return any(
        isinstance(one, Table) or containers.is_table(program, one) for value in values for one in alternatives(value)
    )


def _meant(program: Program, cls: Class, attribute: str, links: int = 2) -> str:
    """The attribute that another is only a second name of: ``self.rows = self.annotation``, and nothing else."""
    of_class = classes.methods_binding(program, cls, attribute)
    bindings = [one for method, key in of_class for one in method.bindings.get(key, ())]
    if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].path or not links:
        return attribute
    other = _attribute(program, bindings[0].node)
    return attribute if other is None else _meant(program, cls, other, links - 1)


def _attribute(program: Program, stmt: ast.AST) -> str | None:
    """The attribute of self that a statement assigns as it is."""
    owner, _, name = ((dotted(stmt.value) if isinstance(stmt, Assignment) else None) or "").partition(".")
    method = enclosing.function_of(program, stmt)
    return name if owner and owner == method.receiver and name and "." not in name else None


def _made_here(program: Program, filled: list[ast.AST]) -> list[ast.AST]:
    """Of the places that fill an attribute, those that do not just name another that is filled elsewhere, if any."""
    return [one for one in filled if _attribute(program, one) is None] or filled


def _fields(program: Program, found: list[Indexed]) -> int:
    """How many fields of a row are read, by keys or numbers that the code writes out."""
    keys: set[object] = set()
    for read in found:
        above = program.parent(read.node)
        uses: list[ast.AST] = [read.node]
        if isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name):
            uses += program.site(above).scope.loads.get(above.targets[0].id, ())
        for use in uses:
            match program.parent(use):
                case ast.Subscript(value=value, slice=ast.Constant(value=key)) if value is use:
                    keys.add(key)
                case ast.Assign(targets=[ast.Tuple(elts=elts)]):
                    keys.update(range(len(elts)))
    numbers = [key for key in keys if isinstance(key, int)]
    return max(numbers) + 1 if numbers and min(numbers) >= 0 else len(keys)


def telling(program: Program, found: list[Indexed]) -> Indexed:
    """The read that tells most of what is read: one that leads to a file, if any."""
    return next((one for one in found if leads_to_file(program, one)), found[0])


def _originals(found: list[Container]) -> list[Container]:
    kept: dict[frozenset[Value], Container] = {}
    nothing_known: list[Container] = []
    for one in sorted(found, key=lambda one: min(span(node) for node in one.filled)):
        objects = frozenset(_objects(one))
        if not objects:
            nothing_known.append(one)
        elif not any(_are_of(objects, other) or other <= objects for other in kept):
            kept = {other: its for other, its in kept.items() if not _are_of(other, objects)}
            kept[objects] = one
    return [*kept.values(), *nothing_known]


def _are_of(objects: frozenset[Value], others: frozenset[Value]) -> bool:
    """Whether all of some objects are among others, or parts of these as they are."""
    return all(_is_of(one, others) for one in objects)


def _is_of(value: Value, others: frozenset[Value]) -> bool:
    while value not in others:
        if not isinstance(value, Derived) or value.step not in ("item", "iterate"):
            return False
        value = value.base
    return True


def _objects(container: Container) -> Iterator[Value]:
    """What the container holds for a sample, as far as it can be told from other things."""
    for value in container.samples:
        yield from _inside(value, DEEPEST)


def _inside(value: Value, depth: int) -> Iterator[Value]:
    for one in alternatives(value):
        if isinstance(one, Collection) and one.items is None and depth:
            yield from _inside(one.element, depth - 1)
        elif isinstance(one, Derived | Made | Instance | Table):
            yield one


def python_objects_in(program: Program, cls: Class, attribute: str, read: Indexed) -> list[ast.AST]:
    """The assignments that leave a Python object for each sample in ``self.attribute``; none if it ends as an array."""
    if _holds_images(program, cls) or _ends_as_array(program, cls, attribute):
        return []
    found = []
    additions = list(_additions(program, cls, attribute))
    counted = read.direct and _is_counted(program, cls, attribute)
    for binding in _last_assignments(program, cls, attribute):
        value = names.bound_value(program, binding)
        if (
            containers.of_python_objects(program, value)
            or (containers.is_table(program, value) and leads_to_file(program, read))
            or (
                _is_list(value)
                and any(containers.of_python_objects(program, one) for one in _earlier(program, binding))
            )
            or (_starts_empty(value) and any(_adds(program, one, read.depth) for one in additions))
            or (counted and _is_of_plain(program, value, additions))
        ):
            found.append(binding.node)
    return found


@feature("decoded images in memory")
def _holds_images(program: Program, cls: Class) -> bool:
    """Whether decoded images are kept in a list, so that there cannot be many samples."""
    for kept in datasets.kept(program, cls):
        if guards.is_switched_off(program, kept.node) or _is_by_setting(program, kept):
            continue
        if kept.change is not None and kept.change.kind in GROWING:
            added = program.value(kept.change.value)
        elif kept.binding is not None and kept.binding.kind == "assign" and not kept.binding.path:
            value = program.value(kept.binding.value)
            added = union(one.element for one in alternatives(value) if isinstance(one, Collection))
        else:
            continue
        if _are_images(program, added, containers.DEEPEST):
            return True
    return False


def _is_by_setting(program: Program, kept: datasets.Kept) -> bool:
    """Whether something is kept where a parameter or an attribute asks for it: ``if cache_images:``."""
    params = {one.name for one in kept.method.params}
    tests = (dotted(test) or "" for test, _ in enclosing.tests_around(program, kept.node))
    return any(test and test.partition(".")[0] in params for test in tests)


def _are_images(program: Program, value: Value, depth: int) -> bool:
    """Whether something is a decoded image, many of them, or a tuple with one."""
    return depth > 0 and any(_is_image(program, one, depth) for one in alternatives(value))


def _is_image(program: Program, value: Value, depth: int) -> bool:
    match value:
        case Collection():
            held = value.items if value.items is not None else (value.element,)
            return any(_are_images(program, one, depth - 1) for one in held)
        case Made(name="itertools.repeat" | "itertools.cycle"):
            return any(_are_images(program, program.value(one), depth - 1) for one in value.call.args[:1])
        case Made(name=name) if name.rpartition(".")[2][:1].isupper():
            return False  # a transform, not an image
        case _:
            return containers.is_one_array(value, containers.IMAGES)


@feature("lists that become arrays")
def _ends_as_array(program: Program, cls: Class, attribute: str) -> bool:
    """Whether some method leaves the attribute an array, of numbers or of strings."""
    for method, key in classes.methods_binding(program, cls, attribute):
        for binding in visible_at_end(method, key).bindings:
            value = names.bound_value(program, binding)
            if containers.is_array(value) and not containers.of_python_objects(program, value):
                return True
    return False


def _last_assignments(program: Program, cls: Class, attribute: str) -> Iterator[Binding]:
    """What each method of the class and of its bases last assigns and no later call overwrites, other than its own
    content sorted or filtered, be it what a base's method has filled it with."""
    own: list[Binding] = []
    found: list[Binding] = []
    is_replaced = False
    for method, key in classes.methods_binding(program, cls, attribute):
        if method.name == "__init__" and is_replaced and _leaves_empty(program, method, key):
            continue  # a placeholder, which the constructor of a class that derives from it replaces
        is_replaced |= method.name == "__init__" and any(one.kind == "assign" for one in method.bindings.get(key, ()))
        last = [binding for binding in visible_at_end(method, key).bindings if binding.kind == "assign"]
        filling = [binding for binding in last if not _reads(program, method, attribute, binding)]
        if filling or _is_filled_before(method, key, last):
            found += filling or last
        elif method.name == "__init__":
            own += last
    yield from found or own


def _leaves_empty(program: Program, method: Scope, key: str) -> bool:
    bindings = visible_at_end(method, key).bindings
    return all(one.kind == "assign" and _starts_empty(names.bound_value(program, one)) for one in bindings)


def _is_filled_before(method: Scope, key: str, last: list[Binding]) -> bool:
    return any(one not in last for one in method.bindings.get(key, ()))


def _earlier(program: Program, last: Binding) -> Iterator[Value]:
    """What the method assigned to the same attribute before, and so a container of the same size."""
    for binding in last.site.scope.bindings[last.name]:
        if binding.kind == "assign" and binding.site.order < last.site.order:
            yield names.bound_value(program, binding)


def _is_list(value: Value) -> bool:
    """Whether something is a list of nobody knows how many Python objects."""
    found = alternatives(value)
    return bool(found) and all(
        isinstance(one, Collection) and one.items is None and one.node is not None and not containers.are_arrays(one)
        for one in found
    )


def _reads(program: Program, method: Scope, attribute: str, binding: Binding) -> bool:
    """Whether what is assigned is made of what the attribute held on entering the method."""
    owner = method.receiver or ""
    before = [one for one in method.bindings[f"{owner}.{attribute}"] if one.site.order < binding.site.order]
    for scope in classes.with_inner(method):
        for load in scope.loads.get(owner, ()):
            read = program.parent(load)
            if isinstance(read, ast.Attribute) and read.attr == attribute and not _is_target(program, read):
                if enclosing.statement_of(program, read) is binding.node:
                    return True
                if not before and program.site(read).order < binding.site.order:
                    return True
    return False


def _is_target(program: Program, read: ast.Attribute) -> bool:
    above = program.parent(read)
    return isinstance(above, Assignment) and read is not above.value


@feature("records added one by one", NOTHING_MORE)
def _additions(program: Program, cls: Class, attribute: str) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    """Where methods add to ``self.attribute`` in place, with what they add."""
    for method, key in classes.methods_binding(program, cls, attribute):
        yield from ((one.node, one.value) for one in method.changes.get(key, ()) if one.kind in GROWING - {"inner"})
        yield from ((one.node, one.value) for one in method.bindings.get(key, ()) if one.kind == "augment")


@feature("records counted by __len__")
def _is_counted(program: Program, cls: Class, attribute: str) -> bool:
    """Whether ``__len__`` gives the length of an attribute, which so holds something for each sample."""
    method = classes.of_class(program, cls, "__len__")
    if not isinstance(method, Function):
        return False
    counted = f"{method.scope.receiver}.{attribute}"
    returned = [one.value for one in method.scope.returns]
    return bool(returned) and all(
        isinstance(one, ast.Call) and called(one) == "len" and [dotted(arg) for arg in one.args] == [counted]
        for one in returned
    )


def _is_of_plain(program: Program, value: Value, additions: list[tuple[ast.AST, ast.expr | None]]) -> bool:
    """Whether a container is comprehended of plain objects, lists keys, or is filled with plain objects in a loop."""
    for one in alternatives(value):
        match one:
            case Collection(items=None, node=ast.ListComp(generators=clauses) | ast.DictComp(generators=clauses)) if (
                containers.is_plain(one.element)
            ):
                return not all(containers.is_short(program, clause.iter) for clause in clauses)
            case Collection(items=None, node=ast.Call(), element=element) if containers.is_key(element):
                return True
            case Collection(items=None, grown=grown, element=element) if containers.is_plain(element):
                return any(_is_repeated(program, node) for node in grown)
    return _starts_empty(value) and any(
        _is_repeated(program, node) and containers.is_plain(program.value(added))
        for node, added in additions
        if added is not None and not _is_of_outer_loop(program, node, added)
    )


def _is_repeated(program: Program, node: ast.AST) -> bool:
    """Whether loops come to a node more than a few times, as far as is known."""
    loops = list(enclosing.loops_around(program, node))
    return any(isinstance(one, ast.While) or not containers.is_short(program, one.iter) for one in loops)


def _adds(program: Program, addition: tuple[ast.AST, ast.expr | None], depth: int) -> bool:
    """Whether ``depth`` subscripts below what is added there is an object for each of many samples."""
    node, added = addition
    value = program.value(added)
    if depth > 1 and containers.of_python_objects(program, value):
        return True
    if containers.are_arrays(value) or _is_dict_of_arrays(value):
        return False
    if _is_of_outer_loop(program, node, added):
        return False
    return containers.grows_with_data(program, node)


def _is_of_outer_loop(program: Program, node: ast.AST, added: ast.expr | None) -> bool:
    """Whether one object is added again and again: ``for label, folder in …: for file in …: labels.append(label)``."""
    if isinstance(added, ast.Constant):
        return True
    bindings = enclosing.function_of(program, node).bindings.get(added.id, ()) if isinstance(added, ast.Name) else ()
    outer = list(enclosing.loops_around(program, node))[1:]
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
        case Collection(items=()) | Collection(node=ast.BinOp(op=ast.Mult())):
            return True  # also room for what comes, ``[None] * count``
        case Table(items=()):
            return True
        case Made(name="collections.deque"):
            return True
        case _:
            return False


ROUNDS = 3
"""Assignments and calls that an index is followed through."""

_ROWS = frozenset({"iloc", "loc", "iat", "at", "values"})
"""Attributes of a pandas table that are indexed in its place."""

_RANDOM = frozenset({"randrange", "randint", "choice", "random_sample", "sample"})

_MEASURES = frozenset({"shape", "size", "dtype", "device", "ndim"})

FEW = frozenset(
    {"class", "classes", "category", "categories", "cat", "cats", "label", "labels", "name", "names", "vocab",
     "vocabulary", "transform", "transforms", "split", "splits", "idx2", "id2", "to", "speakers", "languages"}
)  # fmt: skip
"""Words of the names of tables that a sample's class or the like is looked up in, which are short."""


_OF_WORDS = re.compile(
    r"(?:word|token|char|ans|answer|class|label|cat|category|phone)s?_?(?:2|to)_?(?:idx|index|id|ix|i)"
)
"""What numbers the words of a vocabulary, or classes: ``word2idx``."""

_CLASS = re.compile(r"(?:\w*_)?(?:class|category|cat|label|speaker|language|split|synset)(?:_?(?:id|idx|index|name))?")
"""What a key is called that names the class of a sample, and not the sample: ``category``, ``speaker_id``."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """``self.attribute[…]`` in code that fetches a sample.

    ``direct`` if the index is worked out from the one that is asked for; else it was looked up by that one. ``depth``
    counts the subscripts: 2 where a key leads to a list that has the samples, ``self.files[folder][index]``.
    """

    attribute: str
    node: ast.expr
    direct: bool
    function: Scope
    depth: int = 1


@dataclass(frozen=True, slots=True)
class _Named:
    """The names that an expression computes with, those by which it looks something up, and whether it draws."""

    plain: frozenset[str]
    inside: frozenset[str]
    draws: bool


@dataclass(frozen=True, slots=True)
class _Given:
    """``expr``, in ``function``, gives ``name``, in ``target``, its value."""

    target: Scope
    name: str
    function: Scope
    expr: ast.expr


class Indices:
    """The names in each function that hold the index asked for (direct), or what was looked up by it (found)."""

    def __init__(self, program: Program, functions: tuple[Scope, ...]) -> None:
        self.program = program
        self.functions = functions
        self.direct: dict[Scope, set[str]] = {one: set() for one in functions}
        self.found: dict[Scope, set[str]] = {one: set() for one in functions}
        for one in functions:
            if one.name == "__getitem__" and len(one.params) > 1:
                self.direct[one].add(one.params[1].name)
        given = [one for function in functions for one in (*self._assigned(function), *self._passed(function))]
        for _ in range(ROUNDS):
            for way in given:
                kind = self.kind(way.function, way.expr)
                if kind is not None:
                    (self.direct if kind else self.found)[way.target].add(way.name)

    def _assigned(self, function: Scope) -> Iterator[_Given]:
        for scope in classes.with_inner(function):
            for name, bindings in scope.bindings.items():
                for binding in bindings:
                    bound = binding.kind in ("assign", "augment", "for") and not _is_field(binding)
                    if binding.value is not None and bound:
                        yield _Given(function, name, function, binding.value)

    def _passed(self, function: Scope) -> Iterator[_Given]:
        for scope in classes.with_inner(function):
            for call in scope.calls:
                for target in call_graph.entered(self.program, call):
                    if target in self.direct:
                        for name, argument in zip(target.positions, call.args, strict=False):
                            yield _Given(target, name, function, argument)

    def kind(self, function: Scope, expr: ast.AST) -> bool | None:
        """True for an index worked out from the one asked for, False for one looked up by it, None for others."""
        read = self.program.read_off(("named", expr), lambda: _named(expr))
        direct, found = self.direct[function], self.found[function]
        if read.draws or not direct.isdisjoint(read.plain):
            return True
        return False if not (direct.isdisjoint(read.inside) and found.isdisjoint(read.plain | read.inside)) else None


def _named(expr: ast.AST) -> _Named:
    plain: set[str] = set()
    inside: set[str] = set()
    waiting: list[tuple[ast.AST, bool]] = [(expr, False)]
    while waiting:
        node, below = waiting.pop()
        if isinstance(node, ast.Name):
            (inside if below else plain).add(node.id)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", None) in _RANDOM:
            return _Named(frozenset(), frozenset(), draws=True)
        if not _measures(node):
            deeper = below or isinstance(node, ast.Subscript) or _fetches(node)
            waiting.extend((child, deeper) for child in children(node))
    return _Named(frozenset(plain), frozenset(inside), draws=False)


def _fetches(node: ast.AST) -> bool:
    """Whether a call looks something up, rather than computing with a number."""
    if not isinstance(node, ast.Call):
        return False
    name = dotted(node.func) or ""
    return name not in ("int", "divmod", "min", "max", "abs", "str", "bisect.bisect_right", "torch.is_tensor")


def _is_field(binding: Binding) -> bool:
    """Whether a name is that of one field of a sample after the other: ``for key, value in row.items()``."""
    over = called(binding.value) if binding.kind == "for" and binding.value is not None else ""
    return over == "keys" or (over == "items" and binding.path[:1] == (0,))


def _measures(node: ast.AST) -> bool:
    """Whether something is a size or a type, of which samples have few: ``image.shape``, ``len(words)``."""
    return (isinstance(node, ast.Attribute) and node.attr in _MEASURES) or (
        isinstance(node, ast.Call) and dotted(node.func) == "len"
    )


def indexed(program: Program, functions: tuple[Scope, ...]) -> Iterator[Indexed]:
    """The attributes of self that ``functions``, which fetch a sample, index by it."""
    indices = Indices(program, functions)
    for function in functions:
        own = function.receiver
        if own is None:
            continue
        for scope in classes.with_inner(function):
            for attribute, node in _attributes(program, scope, own):
                yield from _of(program, indices, function, attribute, node)


def _attributes(program: Program, scope: Scope, owner: str) -> Iterator[tuple[str, ast.AST]]:
    """Each ``self.x``, and each local name that only stands for one."""
    for load in scope.loads.get(owner, ()):
        above = program.parent(load)
        if isinstance(above, ast.Attribute):
            yield above.attr, above
    for name, bindings in scope.bindings.items():
        for binding in bindings:
            source = binding.value
            stands_for = isinstance(source, ast.Attribute) and binding.kind == "assign" and not binding.path
            if isinstance(source, ast.Attribute) and stands_for and dotted(source) == f"{owner}.{source.attr}":
                yield from ((source.attr, load) for load in scope.loads.get(name, ()))


def _of(program: Program, indices: Indices, function: Scope, attribute: str, node: ast.AST) -> Iterator[Indexed]:
    above, depth = program.parent(node), 0
    found: Indexed | None = None
    if isinstance(above, ast.Attribute) and _looks_up(program, node, above.attr):
        asked = program.parent(above)
        if isinstance(asked, ast.Call) and asked.func is above:
            kinds = {indices.kind(function, one) for one in (*asked.args, *(one.value for one in asked.keywords))}
            if kinds != {None}:
                yield Indexed(attribute, asked, True in kinds, function, 1)
            return
        node, above = above, asked
    while (isinstance(above, ast.Subscript) and above.value is node) or (
        isinstance(above, ast.Attribute) and above.attr in _ROWS
    ):
        if isinstance(above, ast.Subscript):
            depth += 1
            kind = indices.kind(function, above.slice)
            if found is None and kind is not None:
                found = Indexed(attribute, above, kind, function, depth)
                if kind:
                    break
            elif found is not None:  # a sample of the list that a key, itself looked up, leads to
                if kind is not None and not isinstance(above.slice, ast.Slice) and not _counts(program, above):
                    found = Indexed(attribute, above, found.direct, function, depth)
                break
        node, above = above, program.parent(above)
    if found is not None:
        yield found


@feature("records looked up by a method")
def _looks_up(program: Program, node: ast.AST, name: str) -> bool:
    """Whether an object of a library is asked for some of the records that it holds: ``self.coco.loadAnns(ids)``."""
    return any(
        isinstance(one, Made) and name in (members := program.models.members(one.name)) and members[name].has("Record")
        for one in (alternatives(program.value(node)) if isinstance(node, ast.expr) else ())
    )


def _counts(program: Program, read: ast.Subscript) -> bool:
    """Whether a loop goes over what is read, by a number: ``for n in range(len(words)): words[n]``."""
    loops = enclosing.loops_around(program, read)
    return any(enclosing.changes_in(program, read.slice, one) for one in loops if not isinstance(one, ast.While))


FILES = frozenset({"join", "open", "imread", "read_image", "load", "imdecode", "read", "joinpath", "Path"})
"""Functions that are given paths."""


@feature("records that lead to a file")
def leads_to_file(program: Program, read: Indexed) -> bool:
    """Whether what a read gives becomes a path, and so is text."""
    waiting: list[ast.AST] = [read.node]
    seen: set[ast.AST] = set()
    while waiting and len(seen) < 64:
        node = waiting.pop()
        above = program.parent(node)
        if above is None or node in seen:
            continue
        seen.add(node)
        match above:
            case ast.Call(func=func) if func is not node:
                if (dotted(func) or str(getattr(func, "attr", ""))).rpartition(".")[2] in FILES:
                    return True
                if dotted(func) == "str":
                    waiting.append(above)
            case ast.Subscript() | ast.Attribute() | ast.BinOp() | ast.JoinedStr():
                waiting.append(above)
            case ast.Assign(targets=(ast.Name(id=name),)):
                waiting.extend(program.site(node).scope.loads.get(name, ()))
            case _:
                continue
    return False


@feature("short tables by name")
def is_short(read: Indexed) -> bool:
    """Whether an attribute is called a short table, or the class of a sample or a word of a vocabulary is looked up in
    it: ``self.info[row["category"]]``, ``self.tokens[self.word2idx(answer)]``, ``for label in
    record["labels"].split(","): self.index[label]``."""
    index = read.node.slice if isinstance(read.node, ast.Subscript) else None
    asked = index.func if isinstance(index, ast.Call) else index.value if isinstance(index, ast.Subscript) else None
    name = (dotted(asked) or "").rpartition(".")[2]
    if isinstance(index, ast.Name) and any(map(_is_of_split_text, read.function.bindings.get(index.id, ()))):
        return True
    if not FEW.isdisjoint(words(read.attribute)) or _OF_WORDS.fullmatch(name):
        return True
    return index is not None and _CLASS.fullmatch(_called(index)) is not None


def _called(key: ast.expr) -> str:
    """What a key is called: the last part of its name, or the field of a record that it is."""
    match key:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str() as name)):
            return name
        case ast.Call(func=ast.Name(id="int" | "str"), args=[inner]):
            return _called(inner)
        case _:
            return ""


def _is_of_split_text(binding: Binding) -> bool:
    """Whether a name goes over the words of a text."""
    over = binding.value if binding.kind == "for" else None
    return isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr == "split"
