"""Addresses of the rules that advice names."""

from __future__ import annotations

import re
from pathlib import Path

from dl_lint.engine import catalogue

import pytest_dataloader
from pytest_dataloader.report.page.rules import explanation_of


def test_every_rule_that_advice_names_has_the_address_that_dl_lint_gives_it() -> None:
    package = Path(pytest_dataloader.__file__).parent
    texts = [path.read_text() for room in ("advice", "checks") for path in (package / room).glob("*.py")]
    named = set(re.findall(r"\bDL\d{3}\b", "".join(texts)))
    assert len(named) > 15
    known = {entry.code: catalogue.url(entry) for entry in catalogue.entries().values()}
    assert {code: explanation_of(code) for code in named} == {code: known[code] for code in named}


def test_what_is_no_rule_has_no_address() -> None:
    assert explanation_of("") == explanation_of("DL30") == explanation_of("<b>") == ""
