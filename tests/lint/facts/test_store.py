"""Facts survive being stored, and damaged records are refused."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from dl_lint.facts import FileFacts, read, store, tree
from dl_lint.source import Source
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLE = '''\
"""Doc."""
from __future__ import annotations
from ..a import b as c, d
import x.y as z, u.v
class A(B, metaclass=M):  # dl-lint: ignore[DL301] twelve
    x: int = 1; y: str
    @property
    async def f(self, a, /, b=1.5, *args: int, c=True, **kw) -> None:
        async for i, *j in g(**kw): await h(*i, k=-1j)
        else: pass
        with p as q, r: return [*s, {**t, "u": b"v"}, {1, 2}, ()]
        try: raise E from e
        except* (X, Y) as err: del a, b[1:2, ::3]
        finally: global G
        return lambda n, *m: (o := n if not o else yield_)
match v:  # noqa: DL302
    case [1, *rest] if rest: yield_ = (yield), (yield from v)
    case {"k": K(z=w), **more}: assert f"{v!r:>{w}} {x.y()}" "s", 'no'
if a: pass
while a and b or c < d <= e is not f: x += 1 @ 2 ** 3
x = [i async for j in k if l if m for i in j], {a: b for c in d}, {e for e in f}, ..., 1e999, "\\u00e9", "\\ud800"
type_ = None
nums = 1, 1.0, True, 0, 0.0, False, 123456789012345678901234567890, 0xFF
'''


def sample() -> FileFacts:
    return read(Source.of("a.py", SAMPLE.encode()))


def shown(node: Any) -> Any:
    """A node as nested tuples, types told apart."""
    if isinstance(node, tree.Node):
        return (type(node).__name__, *(shown(getattr(node, name)) for name in node.__match_args__))
    if isinstance(node, tuple):
        return tuple(map(shown, node))
    return type(node).__name__, repr(node)


def through_json(facts: FileFacts) -> FileFacts:
    return store.decode(json.loads(json.dumps(store.encode(facts))))


def test_facts_come_back_as_they_were() -> None:
    facts = sample()
    back = through_json(facts)
    assert shown(back.body) == shown(facts.body)
    assert back.suppressions == facts.suppressions
    assert back.ranges == facts.ranges
    assert len(facts.suppressions) == 2


def test_every_kind_of_node_is_in_the_sample() -> None:
    seen = set()
    stack: list[Any] = list(sample().body)
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack += node
        elif isinstance(node, tree.Node):
            seen.add(type(node))
            stack += [getattr(node, name) for name in node.__match_args__]
    kinds = {kind for kind in vars(tree).values() if isinstance(kind, type) and issubclass(kind, tree.Node)}
    assert kinds - {tree.Node, tree.Expr, tree.Stmt} == seen


@pytest.mark.slow
def test_real_files_come_back_as_they_were() -> None:
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.glob("*.py"))[::12]:
        facts = read(Source.read(str(path)))
        back = through_json(facts)
        assert shown(back.body) == shown(facts.body), path
        assert (back.suppressions, back.ranges) == (facts.suppressions, facts.ranges)


def test_an_empty_file_comes_back() -> None:
    assert through_json(read(Source.of("a.py", b""))) == FileFacts((), (), ())


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: None,
        lambda _: {},
        lambda _: "facts",
        lambda record: record[:-1],
        lambda record: [*record, []],
        lambda record: [record[0][:-1], *record[1:]],
        lambda record: [[*record[0], 1], *record[1:]],
        lambda record: [[-1, *record[0][1:]], *record[1:]],
        lambda record: [[float(n) for n in record[0]], *record[1:]],
        lambda record: [[True, *record[0][1:]], *record[1:]],
        lambda record: [[10**9, *record[0][1:]], *record[1:]],
        lambda record: [record[0], record[1][:-1], *record[2:]],
        lambda record: [record[0], record[1][:-4], *record[2:]],
        lambda record: [record[0], ["1", *record[1][1:]], *record[2:]],
        lambda record: [record[0], [*record[1], 1, 2, 3, 4], *record[2:]],
        lambda record: [*record[:2], record[2][:-1], *record[3:]],
        lambda record: [*record[:2], [1] * len(record[2]), *record[3:]],
        lambda record: [*record[:2], "x" * len(record[2]), *record[3:]],
        lambda record: [*record[:3], [[]] * len(record[3]), *record[4:]],
        lambda record: [*record[:3], record[3][:-1], *record[4:]],
        lambda record: [*record[:4], [["noqa", [1, 2, 3], [], ""]], record[5]],
        lambda record: [*record[:4], [["noqa", [1, 2, 3, 4], [1], ""]], record[5]],
        lambda record: [*record[:4], [["noqa"]], record[5]],
        lambda record: [*record[:5], [1]],
        lambda record: [*record[:5], [1, "2"]],
    ],
)
def test_a_damaged_record_is_refused(damage: Callable[[Any], Any]) -> None:
    record = json.loads(json.dumps(store.encode(sample())))
    with pytest.raises(store.StoreError):
        store.decode(damage(record))


def test_a_record_nested_too_deeply_is_refused() -> None:
    deep = store.encode(read(Source.of("a.py", b"-x\n")))
    unary = deep[0].index(next(number for number in deep[0][2:] if number))
    shape, spans = deep[0], deep[1]
    shape[unary:unary] = shape[unary : unary + 2] * 5_000
    spans += [0, 0, 0, 0] * 5_000
    with pytest.raises(store.StoreError):
        store.decode(deep)


RECORD = json.dumps(store.encode(sample()))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_change_of_a_record_is_read_or_refused(data: st.DataObject) -> None:
    record = json.loads(RECORD)
    column = record[data.draw(st.integers(0, len(record) - 1))]
    value = data.draw(
        st.one_of(st.integers(-3, 90), st.none(), st.text(max_size=2), st.floats(), st.just([]), st.booleans())
    )
    place = data.draw(st.integers(0, max(0, len(column) - 1)))
    if data.draw(st.booleans()) and column:
        column[place] = value
    else:
        column.insert(place, value)
    try:
        facts = store.decode(record)
    except store.StoreError:
        return
    assert isinstance(facts, FileFacts)
    store.encode(facts)
