"""What an expression can stand for: a small algebra of frozen values, in which unknown stays unknown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import EllipsisType, NoneType
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable, Iterator

    from dl_lint.flow.scopes import FileIndex, Scope
    from dl_lint.source.syntax import Param


WIDEST = 8
"""Alternatives that a union keeps; a wider one is unknown. Real loaders differ in two or three ways."""


MOST_OBJECTS = 32
"""The same of objects, classes and functions: a table of a project's datasets has some twenty."""


class Value:
    """Anything that an expression can stand for."""

    __slots__ = ()

    def __repr__(self) -> str:
        values = (f"{name}={getattr(self, name)!r}" for name in self.__match_args__)  # type: ignore[attr-defined]
        return f"{type(self).__name__}({', '.join(values)})"

    def widened(self) -> Value:
        """This, or anything else."""
        return union((self, UNKNOWN))


_T = TypeVar("_T")


@dataclass_transform(frozen_default=True)
def _value(cls: type[_T]) -> type[_T]:
    """A slotted dataclass, frozen to type checkers only: at run time that would make each three times as dear."""
    return dataclass(slots=True, unsafe_hash=True, repr=False)(cls)


@_value
class Unknown(Value):
    """Nothing is known. Rules stay silent on it."""


@_value
class Absent(Value):
    """An argument or key that is not given."""


UNKNOWN = Unknown()
ABSENT = Absent()

Literal = int | float | str | bool | None


@_value
class Const(Value):
    """A literal. ``kind`` is int, float, str, bytes, bool, none, ellipsis or complex, so that 1 and True differ."""

    value: Literal
    kind: str


NONE = Const(None, "none")

_KINDS: dict[type[Any], str] = {NoneType: "none", EllipsisType: "ellipsis"}

TOO_LARGE = 10**1000
"""The interpreter writes no more than 4,300 digits, and nobody counts workers with a thousand."""


def literal(node: ast.Constant) -> Const:
    """A literal of the code; the value of one that need not be told from others of its kind is None."""
    value: Any = node.value
    kind = _KINDS.get(type(value)) or type(value).__name__
    if isinstance(value, float | bool) or (isinstance(value, int) and value < TOO_LARGE):
        return Const(value, kind)
    return Const(value if isinstance(value, str) and _is_unicode(value) else None, kind)


def _is_unicode(text: str) -> bool:
    """Whether a text can be written down; half of a surrogate pair cannot."""
    return text.isascii() or text == text.encode("utf-8", "ignore").decode()


@_value
class Option(Value):
    """The default of a command-line option, environment variable, parameter or field, declared at ``node``: a user may
    choose another."""

    default: Value
    source: str
    node: ast.AST


@_value
class Number(Value):
    """A number that is not known, but for its sign: positive, or any."""

    positive: bool = False


@_value
class CpuCount(Value):
    """The host's CPU count, called at ``call``; ``capped`` when a minimum was taken of it."""

    call: ast.Call
    capped: bool = False


@_value
class WhenAccelerated(Value):
    """A truth that holds where an accelerator is used: ``torch.cuda.is_available()``, ``device.type == "cuda"``."""


@_value
class External(Value):
    """A module, class or function from outside the project, by its canonical qualified name."""

    name: str


@_value
class Module(Value):
    """A module of the project."""

    file: FileIndex


@_value
class Package(Value):
    """A folder that modules may be imported from; ``name`` is what it was imported as, should it hold none."""

    path: str
    name: str


@_value
class Function(Value):
    """A def or a lambda of the project."""

    scope: Scope


@_value
class Bound(Value):
    """A function of the project with its first argument bound."""

    function: Function
    receiver: Value


@_value
class Class(Value):
    """A class of the project."""

    scope: Scope


@_value
class Partial(Value):
    """``functools.partial``: ``func`` with the arguments of ``call`` but the first."""

    func: Value
    call: ast.Call


@dataclass(frozen=True, slots=True)
class Frame:
    """One step of a call chain: ``scope`` was entered by ``call``. It says what the parameters of ``scope`` are."""

    scope: Scope
    call: ast.Call


Frames = tuple[Frame, ...]


@_value
class Instance(Value):
    """An object of a class of the project, made at ``call``, or just some object of it."""

    cls: Class
    call: ast.Call | None = None
    frames: Frames = ()


@_value
class Made(Value):
    """What calling ``name`` from outside the project returned, for instance ``h5py.File`` at ``call``.

    For an object of a project class that derives from ``name``, ``cls`` is that class.
    """

    name: str
    call: ast.Call
    cls: Class | None = None
    frames: Frames = ()


@_value
class Loader(Made):
    """A DataLoader, or an object of a class known to be one. Ask ``Project.argument`` and its kin about it."""

    prepared: bool = False
    """Wrapped by accelerate or the like: it moves its batches to the device and shards its sampler."""


@_value
class Sampler(Made):
    """A sampler or batch sampler of torch, or of a class that derives from one."""


@_value
class Batch(Value):
    """What iterating ``loader`` gives, or (not ``whole``) something taken out of it."""

    loader: Loader
    whole: bool = True


@_value
class Tensor(Value):
    """A tensor after an operation at ``node``.

    ``placement`` is pinned, pageable, device, cpu (copied there from a device or already there), host (``source``
    itself, which is there, or new, pageable memory: ``x.float()`` is ``x`` where that is of float32) or unknown.
    ``source`` is what it was computed from: of a batch of a loader, still that batch.
    """

    source: Value
    placement: str
    node: ast.AST


@_value
class Picked(Value):
    """Indices at ``node`` whose result need not lie in the memory of what they index as one piece.

    ``apart`` where it certainly does not, as with ``[:, :n]``; otherwise ``node`` may be a mask, or the key of a dict.
    """

    node: ast.AST
    apart: bool


@_value
class Wrapped(Value):
    """An iterable around others; ``kind`` is iter, enumerate, zip, cycle, chain, islice or progress."""

    kind: str
    inner: tuple[Value, ...]


@_value
class Generated(Value):
    """What a generator of the project gives: ``element`` each time, drawn from the iterables ``inner``."""

    element: Value
    inner: tuple[Value, ...]


@_value
class Collection(Value):
    """A list, tuple or set made at ``node``; ``items`` when each is known, else ``element`` is any of them.

    ``node`` is None for the tuples that no code displays, such as those of ``zip``. ``grown`` are the places that have
    added to it since.
    """

    kind: str
    items: tuple[Value, ...] | None
    element: Value
    node: ast.AST | None
    grown: tuple[ast.AST, ...] = ()


@_value
class Table(Value):
    """A dict; an item is ``ABSENT`` or a union with it where it may be missing. ``closed`` when there are no others,
    which else are ``rest``."""

    items: tuple[tuple[Literal, Value], ...]
    closed: bool
    node: ast.AST | None
    rest: Value = UNKNOWN

    def get(self, key: Literal) -> Value:
        for name, value in self.items:
            if name == key and type(name) is type(key):
                return value
        return ABSENT if self.closed else self.rest


@_value
class Namespace(Value):
    """The parsed command line of ``parser``; its attributes are options."""

    parser: Value


@_value
class Parameter(Value):
    """A parameter that is not bound yet; ``Project.value`` binds it from all calls of its function."""

    param: Param
    scope: Scope


@_value
class Derived(Value):
    """Something taken from a value by ``key``; step is attr, chosen (an attr by any name), share (a part, rounded
    up), prepared (by accelerate), item, slice, keyword
    (``**base``), laid (``{**base, **key}``), iterate, call or operand (what the function of torch ``key`` makes of
    it)."""

    base: Value
    step: str
    key: str | Value | ast.Call | None = None


@_value
class OneOf(Value):
    """Any of several values; never nested, never empty, never of one."""

    members: tuple[Value, ...]


@_value
class Nothing(Value):
    """The empty union: code that no value reaches, or a definition that only refers to itself."""


NOTHING = Nothing()


def union(values: Iterable[Value]) -> Value:
    """The values as one: duplicates dropped, unions flattened, too wide ones unknown."""
    members: dict[Value, None] = {}
    for value in values:
        if isinstance(value, OneOf):
            members.update(dict.fromkeys(value.members))
        elif not isinstance(value, Nothing):
            members[value] = None
    if not members:
        return NOTHING
    if _is_too_wide(members):
        members = dict.fromkeys(_widened(members))
    if _is_too_wide(members):
        kept = [m for m in members if not isinstance(m, Unknown)][: WIDEST - 1]
        return OneOf((*kept, UNKNOWN))
    found = tuple(members)
    return found[0] if len(found) == 1 else OneOf(found)


def _widened(values: Iterable[Value]) -> Iterator[Value]:
    """Objects without the calls that brought them here, so that those made at one place are one, and of the options
    with one default the first."""
    options: dict[tuple[Value, str], Option] = {}
    for value in values:
        match value:
            case Instance() | Made() if value.frames and not isinstance(value, Loader):
                yield replace(value, frames=())
            case Option():
                yield options.setdefault((value.default, value.source), value)
            case _:
                yield value


def _is_too_wide(members: dict[Value, None]) -> bool:
    return len(members) > WIDEST and (len(members) > MOST_OBJECTS or not all(map(_is_object, members)))


def _is_object(value: Value) -> bool:
    """Whether a value is one of those of which many are told apart; loaders, which rules follow into every loop that
    is given one of many, are not."""
    kinds = isinstance(value, Instance | Made | Class | Function | Bound) or value == NONE
    return kinds and not isinstance(value, Loader)


def alternatives(value: Value) -> tuple[Value, ...]:
    """What ``value`` may be; one member for all but a union."""
    if isinstance(value, OneOf):
        return value.members
    return () if isinstance(value, Nothing) else (value,)


def present(value: Value) -> tuple[Value, ...]:
    """What ``value`` may be where it is anything: without None, ``{}`` and other defaults that hold nothing."""
    return tuple(one for one in alternatives(value) if one != NONE and not _is_empty(one))


def known(value: Value) -> tuple[Value, ...]:
    """What ``value`` may be where it is anything, of what is known of it."""
    return tuple(one for one in present(value) if one != UNKNOWN)


def _is_empty(value: Value) -> bool:
    match value:
        case Table(items=(), closed=True) | Collection(items=()):
            return True
        case _:
            return False
