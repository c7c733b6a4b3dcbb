"""Which rules run: selectors are codes, code prefixes, names or ALL, and the more exact one wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dl_lint.engine.catalogue import UNUSED_SUPPRESSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dl_lint.engine.report import Entry


class ConfigError(Exception):
    """Something the user wrote, on the command line or in a file, that cannot be meant. The message names the place."""


class Selectors(NamedTuple):
    """One layer of wishes: the configuration file's, or the command line's. ``select`` is None where nobody said."""

    select: tuple[str, ...] | None = None
    extend: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def verdict(self, rule: Entry) -> bool | None:
        """Selected, ignored or not mentioned: by the most exact selector that fits; between equals, ignore wins."""
        chosen = max((exactness(selector, rule) for selector in (*(self.select or ()), *self.extend)), default=0)
        ignored = max((exactness(selector, rule) for selector in self.ignore), default=0)
        if not chosen and not ignored:
            return None
        return chosen > ignored


def exactness(selector: str, rule: Entry) -> int:
    """How exactly a selector names a rule: 0 not at all, 1 ALL, more by length of a prefix, a name like a code."""
    if selector == "ALL":
        return 1
    if selector == rule.name:
        return len(rule.code)
    return len(selector) if selector.startswith("DL") and rule.code.startswith(selector) else 0


def chosen(rules: Iterable[Entry], config: Selectors, command: Selectors) -> tuple[Entry, ...]:
    """The rules to run: those that are advice too, whose findings are counted where they are not wanted.

    The command line decides where it speaks; its ``--select`` sets the file's wishes aside.
    """
    return tuple(rule for rule in rules if _is_on(rule, config, command, pedantic=True))


def advised(rules: Iterable[Entry], config: Selectors, command: Selectors, *, pedantic: bool) -> frozenset[Entry]:
    """Of the rules that run, those whose findings are wanted also where they are no more than advice."""
    return frozenset(rule for rule in rules if _is_on(rule._replace(severity="advice"), config, command, pedantic))


def _is_on(rule: Entry, config: Selectors, command: Selectors, pedantic: bool) -> bool:
    said = command.verdict(rule)
    if said is not None:
        return said
    if command.select is not None:
        return False
    said = config.verdict(rule)
    if said is not None:
        return said
    return config.select is None and (pedantic or rule.severity != "advice" or rule == UNUSED_SUPPRESSION)


def check(selectors: Iterable[str], rules: Mapping[str, Entry], where: str) -> None:
    """Raise ConfigError for a selector that fits no rule, with the likeliest one meant."""
    for selector in selectors:
        if not any(exactness(selector, rule) for rule in rules.values()):
            raise ConfigError(f'{where}: no rule "{selector}"{near(selector, rules)}; dl-lint --list-rules shows all')


def find(wanted: str, rules: Mapping[str, Entry]) -> Entry:
    """The one rule with this code or name. Raises ConfigError."""
    for rule in rules.values():
        if wanted in (rule.code, rule.name):
            return rule
    raise ConfigError(f'no rule "{wanted}"{near(wanted, rules)}; dl-lint --list-rules shows all')


def near(written: str, rules: Mapping[str, Entry]) -> str:
    return did_you_mean(written, ["ALL", *rules, *(rule.name for rule in rules.values())])


def did_you_mean(written: str, known: Iterable[str]) -> str:
    """`` (did you mean "x"?)``, or nothing where no known name is near."""
    from difflib import get_close_matches

    names = list(known)
    found = get_close_matches(written, names, 1) or get_close_matches(written.upper(), names, 1)
    return f' (did you mean "{found[0]}"?)' if found else ""
