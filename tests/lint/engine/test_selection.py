"""Selectors: codes, prefixes, names, ALL; the more exact wins, the command line before the file."""

from __future__ import annotations

import pytest
from dl_lint.engine.catalogue import UNUSED_SUPPRESSION
from dl_lint.engine.report import Entry
from dl_lint.engine.selection import ConfigError, Selectors, advised, check, chosen, find

RULES = {
    entry.code: entry
    for entry in (
        UNUSED_SUPPRESSION,
        Entry("DL101", "manual-pin-memory", "slow", "a"),
        Entry("DL102", "blocking-copy", "slow", "b"),
        Entry("DL201", "iterator-rebuilt", "bug", "c"),
        Entry("DL207", "zero-workers", "advice", "d"),
    )
}
NOTHING = Selectors()


def codes(config: Selectors = NOTHING, command: Selectors = NOTHING, *, pedantic: bool = False) -> str:
    """The rules that run and of which findings are shown."""
    rules = chosen(RULES.values(), config, command)
    wanted = advised(rules, config, command, pedantic=pedantic)
    return " ".join(rule.code for rule in rules if rule.severity != "advice" or rule in wanted)


def test_advice_runs_to_be_counted_unless_others_are_selected_or_it_is_ignored() -> None:
    def ran(config: Selectors, command: Selectors) -> str:
        return " ".join(rule.code for rule in chosen(RULES.values(), config, command))

    assert ran(NOTHING, NOTHING) == "DL001 DL101 DL102 DL201 DL207"
    assert ran(Selectors(ignore=("DL207",)), NOTHING) == "DL001 DL101 DL102 DL201"
    assert ran(NOTHING, Selectors(select=("DL1",))) == "DL101 DL102"
    assert ran(Selectors(select=("DL1",)), NOTHING) == "DL101 DL102"


@pytest.mark.parametrize(
    ("config", "command", "expected"),
    [
        (NOTHING, NOTHING, "DL001 DL101 DL102 DL201"),
        (Selectors(select=("DL1",)), NOTHING, "DL101 DL102"),
        (Selectors(select=("ALL",)), NOTHING, "DL001 DL101 DL102 DL201 DL207"),
        (Selectors(select=("zero-workers",)), NOTHING, "DL207"),
        (Selectors(select=()), NOTHING, ""),
        (Selectors(extend=("DL207",)), NOTHING, "DL001 DL101 DL102 DL201 DL207"),
        (Selectors(ignore=("DL1", "DL001")), NOTHING, "DL201"),
        (Selectors(select=("DL1", "DL2"), ignore=("DL10",)), NOTHING, "DL201 DL207"),
        (Selectors(extend=("DL101",), ignore=("DL1",)), NOTHING, "DL001 DL101 DL201"),
        (Selectors(select=("DL101",), ignore=("manual-pin-memory",)), NOTHING, ""),
        (Selectors(select=("DL1",), ignore=("DL102",)), Selectors(select=("DL102",)), "DL102"),
        (Selectors(ignore=("DL1",)), Selectors(extend=("DL102",)), "DL001 DL102 DL201"),
        (Selectors(select=("DL1",)), Selectors(ignore=("DL101",)), "DL102"),
    ],
)
def test_the_most_exact_wish_wins_and_the_command_line_before_the_file(
    config: Selectors, command: Selectors, expected: str
) -> None:
    assert codes(config, command) == expected


def test_advice_runs_when_asked_for_but_not_against_an_ignore() -> None:
    assert codes(pedantic=True) == "DL001 DL101 DL102 DL201 DL207"
    assert codes(Selectors(ignore=("DL207",)), pedantic=True) == "DL001 DL101 DL102 DL201"
    assert codes(Selectors(select=("DL1",)), pedantic=True) == "DL101 DL102"


def test_findings_that_are_advice_are_wanted_of_rules_that_are_chosen_by_name_or_with_all_advice() -> None:
    def codes_of(config: Selectors, command: Selectors, *, pedantic: bool = False) -> str:
        rules = chosen(RULES.values(), config, command)
        return " ".join(sorted(rule.code for rule in advised(rules, config, command, pedantic=pedantic)))

    assert codes_of(NOTHING, NOTHING) == "DL001"
    assert codes_of(NOTHING, NOTHING, pedantic=True) == "DL001 DL101 DL102 DL201 DL207"
    assert codes_of(Selectors(extend=("DL101",)), NOTHING) == "DL001 DL101"
    assert codes_of(NOTHING, Selectors(select=("DL1",))) == "DL101 DL102"
    assert codes_of(Selectors(ignore=("DL1",)), NOTHING, pedantic=True) == "DL001 DL201 DL207"
    assert codes_of(Selectors(select=("DL1",)), Selectors(ignore=("DL101",))) == "DL102"


@pytest.mark.parametrize("selector", ["", "D", "DL9", "dl101", "all", "manual_pin_memory", "DL1010"])
def test_a_selector_that_fits_no_rule_is_an_error(selector: str) -> None:
    with pytest.raises(ConfigError, match=r'here: no rule ".*dl-lint --list-rules'):
        check(["DL101", selector], RULES, "here")


def test_a_rule_is_found_by_code_or_name_only() -> None:
    assert find("DL101", RULES) is find("manual-pin-memory", RULES)
    with pytest.raises(ConfigError, match="no rule"):
        find("DL1", RULES)
