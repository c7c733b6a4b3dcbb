"""How much memory one sample of a container takes, as far as the code tells what it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import containers, regrouped, repeated
from dl_lint.project.frameworks import JSON
from dl_lint.project.handling import Handling
from dl_lint.project.values import Collection, Const, Derived, Instance, Made, Number, Table, Value, alternatives

if TYPE_CHECKING:
    from dl_lint.project.model import Project

# Bytes that an epoch in random order adds to a worker, for each: docs/memory.md, 100,000 samples (10,000 to 100,000 for
# texts of 2 kB). A record has 16 more for each thing that it refers to.
TEXT, NUMBER, ARRAY, RECORD = 112, 32, 96, 34
REFERENCE = 16


FLAT, UNTOLD, NESTED = 600, 1_200, 2_000
"""Bytes for a record of a parsed file. Measured, for each of 2,000 that ``json.load`` made of one list: 470 to 590 for
three to five texts, 1,130 for eight; 1,340 to 4,250 with lists or records in it; 70 to 260 more where each line is
parsed for itself, as keys are shared no longer. Between them lies a record of which nobody knows what is in it."""

FIXED = 4
"""Things in a list that is as long for each sample, where the code does not say how long."""

DEEPEST = 6

_PICKLES = ("pickle.", "joblib.", "cloudpickle.", "dill.", "yaml.", "marshal.")


@dataclass(frozen=True, slots=True)
class Heft:
    """``bytes`` for one sample in each worker; ``unbounded`` if a sample has as many objects as the data gives it."""

    bytes: int
    unbounded: bool = False

    def __add__(self, other: Heft) -> Heft:
        return Heft(self.bytes + REFERENCE + other.bytes, self.unbounded or other.unbounded)


_PARSED = {
    Handling.FIELDS: FLAT,
    Handling.UNTOLD: UNTOLD,
    Handling.SEVERAL: UNTOLD,
    Handling.RECORD: NESTED,
}


class Scale:
    """Weighs what a container holds for one sample; ``handled`` says what is done with it."""

    def __init__(self, project: Project, handled: Handling) -> None:
        self._project = project
        self._handled = handled

    def sample(self, value: Value) -> Heft:
        """The sample itself, which ``handled`` is about."""
        match value:
            case Collection(items=None) if self._handled is Handling.COLUMNS:
                return Heft(RECORD) + self.part(value.element) + self.part(value.element)
            case Derived() if _is_split(value):
                columns = self._handled is Handling.COLUMNS or _has_separator(value)
                return Heft(RECORD + 2 * (REFERENCE + TEXT), not columns)
            case Derived() | Made() if _is_parsed(value):
                handled = self._handled
                return Heft(_PARSED.get(handled, TEXT), handled is Handling.RECORD)
            case _:
                return self.part(value)

    def part(self, value: Value, depth: int = DEEPEST) -> Heft:
        """A thing that a sample holds, or one that nothing more is known of."""
        found = [self._one(one, depth) for one in alternatives(value)]
        return max(found, key=lambda one: (one.unbounded, one.bytes), default=Heft(TEXT))

    def _one(self, value: Value, depth: int) -> Heft:
        if not depth:
            return Heft(TEXT)
        match value:
            case Const(kind="str" | "bytes"):
                return Heft(TEXT)
            case Const() | Number() | Derived(base=Made(name="builtins.range"), step="iterate"):
                return Heft(NUMBER)
            case Collection(items=tuple() as items, node=node) if items:
                written = node.items if isinstance(node, t.Sequence) and len(node.items) == len(items) else ()
                numbers = [is_number(self._project, one) for one in written] or [False] * len(items)
                return self._record(
                    [_NUMBER if known else one for known, one in zip(numbers, items, strict=True)], depth
                )
            case Collection() if (length := repeated.length(self._project, value)) is not None:
                part = self.part(value.element, depth - 1)
                return Heft(RECORD + (length or FIXED) * (REFERENCE + part.bytes), part.unbounded)
            case Collection() if regrouped.is_regrouped(self._project, value):
                return Heft(RECORD + REFERENCE) + self.part(value.element, depth - 1)
            case Collection():
                return Heft(RECORD, unbounded=True)
            case Table(node=node):
                keyed = node.items if isinstance(node, t.Mapping) else ()
                named = {getattr(key, "value", None) for key, one in keyed if is_number(self._project, one)}
                return self._record([_NUMBER if key in named else one for key, one in value.items], depth)
            case Instance() if value.call is not None:
                given = [*value.call.args, *(one.value for one in value.call.keywords)]
                return self._record([self._project.value(one) for one in given], depth)
            case Derived() if _is_split(value):
                return Heft(RECORD + 2 * (REFERENCE + TEXT), not _has_separator(value))
            case Made() if containers.of_python_objects(self._project, value):
                return Heft(RECORD, unbounded=True)
            case _ if containers.is_array(value):
                return Heft(ARRAY)
            case _:
                return Heft(TEXT)

    def _record(self, items: list[Value], depth: int) -> Heft:
        heft = Heft(RECORD)
        for item in items:
            heft += self.part(item, depth - 1)
        return heft


_NUMBER = Number()


def is_number(project: Project, expr: t.Expr) -> bool:
    """Whether something is made a number where it is put into a record, or under a name before."""
    match expr:
        case t.Call(func=t.Name(id="int" | "float" | "len" | "round" | "bool" | "abs")):
            return True
        case t.BinOp(left=t.Constant() as left, right=right) | t.BinOp(left=right, right=t.Constant() as left):
            return left.kind in ("int", "float") and is_number(project, right)  # len(self.numbers) + 1
        case t.Name(id=name):
            bindings = project.function_of(expr).bindings.get(name, ())
            return bool(bindings) and all(
                one.kind == "assign"
                and not one.path
                and isinstance(one.value, t.Call)
                and is_number(project, one.value)
                for one in bindings
            )
        case _:
            return False


def _called(value: Derived) -> Derived | None:
    """The method that a value is the result of."""
    method = value.base if value.step == "call" else None
    return method if isinstance(method, Derived) and method.step == "attr" else None


def _is_split(value: Derived) -> bool:
    method = _called(value)
    return method is not None and method.key in ("split", "rsplit")


def _has_separator(value: Derived) -> bool:
    """Whether a line was split where a column ends, rather than at its words."""
    call = value.key
    given = call.args[:1] if isinstance(call, t.Call) else ()
    return any(not (isinstance(one, t.Constant) and str(one.value).isspace() and one.value != "\t") for one in given)


def _is_parsed(value: Value) -> bool:
    """Whether something is a part of a file that was parsed, or unpickled, into whatever objects it holds."""
    while isinstance(value, Derived):
        value = value.base
    return isinstance(value, Made) and (
        value.name.partition(".")[0] in JSON or value.name.startswith((*_PICKLES, "pycocotools."))
    )
