"""Steps taken from what is not known yet: a chain of them is followed so far, and no further."""

from __future__ import annotations

from dl_lint.flow.interpreter import operations
from dl_lint.flow.values import Derived, External, Value, union

FROM = Derived(External("yaml.safe_load"), "attr", "data")


def test_a_short_chain_is_kept() -> None:
    assert operations.derived(FROM, "iterate") == Derived(FROM, "iterate")


def test_a_key_that_is_computed_of_the_same_thing_again_and_again_comes_to_an_end() -> None:
    key: Value = FROM
    for _ in range(30):  # each would double it
        key = union((FROM, operations.derived(key, "item", key)))
    assert len(str(key)) < 200 * operations.MOST_PARTS
