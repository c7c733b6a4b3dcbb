"""The rules of dl-lint in a table: lines of their cases, kinds of fixes, findings in corpora.

    python benchmarks/rule_table.py [FINDINGS.json...]

FINDINGS are outputs of ``dl-lint --pedantic --output-format json``, one a repository; the last column counts findings
and the repositories that have any.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.lint import test_rules as cases

if TYPE_CHECKING:
    from dl_lint.rule import Rule


def silent(texts: cases.Texts, rule: Rule) -> int:
    """Lines of code that the rule must not flag."""
    lines = [line.strip() for text in texts.values() for line in text.splitlines()]
    code = sum(bool(line) and not line.startswith("#") for line in lines)
    return code - len(cases.expected(texts, rule))


def fixes(texts: cases.Texts, rule: Rule) -> set[str]:
    with tempfile.TemporaryDirectory() as folder:
        found = cases.check(rule, texts, cases.written(texts, Path(folder)))
    return {"safe" if one.fix.safe else "unsafe" for one in found if one.fix is not None}


def main(outputs: list[str]) -> None:
    flagged: collections.Counter[str] = collections.Counter()
    unflagged: collections.Counter[str] = collections.Counter()
    kinds: dict[str, set[str]] = collections.defaultdict(set)
    for path in cases.PROJECTS:
        rule, texts = cases.rule_of(path), cases.texts(path)
        flagged[rule.code] += len(cases.expected(texts, rule))
        unflagged[rule.code] += silent(texts, rule)
        kinds[rule.code] |= fixes(texts, rule)
    hits: collections.Counter[str] = collections.Counter()
    homes: collections.Counter[str] = collections.Counter()
    for output in outputs:
        found = [record["code"] for record in json.loads(Path(output).read_text() or "[]")]
        hits.update(found)
        homes.update(set(found))
    print("| code | rule | severity | flagged lines | silent lines | fix | findings (repositories) |")
    print("|---|---|---|---|---|---|---|")
    for code, rule in sorted(cases.RULES.items()):
        fix = " and ".join(sorted(kinds[code])) or "none"
        print(
            f"| {code} | {rule.name} | {rule.severity} | {flagged[code]} | {unflagged[code]} | {fix} | "
            f"{hits[code]} ({homes[code]}) |"
        )
    print(f"\n{len(cases.RULES)} rules, {flagged.total()} flagged lines, {unflagged.total()} silent lines.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("findings", nargs="*", help="outputs of `dl-lint --pedantic --output-format json`")
    main(parser.parse_args().findings)
