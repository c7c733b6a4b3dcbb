"""What each feature of dl-lint does: switched off one at a time over checkouts.

    python benchmarks/ablation.py CHECKOUT... [--only "early returns as guards"] [--list]

A feature is what functions under one ``@feature`` answer (``dl_lint.flow.features``). The table has, for each, the
checkouts in which it acts, and the findings that go and come where it is off: as users run it, and with ``--pedantic``.
One that acts in fewer than two checkouts, of a hundred, is a guess, and does not stay.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import traceback
from collections import defaultdict
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, NamedTuple

from dl_lint.engine import catalogue
from dl_lint.flow.features import FEATURES, NOTHING_MORE, Switch
from dl_lint.session import Session, Wishes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RULES = catalogue.entries()
_ = [*catalogue.load(RULES.values())]  # so that all features are registered

Finding = tuple[str, str, int, bool]
"""The rule, the path, the line, and whether it is advice."""


class Effect(NamedTuple):
    """What switching a feature off does to one checkout: findings that go and come, by default and with advice."""

    went: int
    came: int
    went_pedantic: int
    came_pedantic: int


def answering(neutral: object) -> CodeType:
    """Code that gives ``neutral`` whatever it is called with."""

    def constant(*_given: object, **_named: object) -> object:
        return "neutral"

    def nothing(*_given: object, **_named: object) -> Iterator[object]:
        yield from ()

    if neutral is NOTHING_MORE:
        return nothing.__code__
    code = constant.__code__
    return code.replace(co_consts=tuple(neutral if one == "neutral" else one for one in code.co_consts))


def switch_off(switches: list[Switch]) -> None:
    """Whoever has imported the functions gets their neutral answers from now on."""
    for function, neutral in switches:
        assert isinstance(function, FunctionType)
        function.__code__ = answering(neutral)


def findings(before: dict[str, tuple[bytes, object]]) -> set[Finding]:
    """Of the current folder, advice too."""
    report = Session(Wishes(pedantic=True, cache=False), RULES, before).lint().report  # type: ignore[arg-type]
    broken = [str(one) for one in report.failures if "broke down" in str(one)]
    if broken:
        raise RuntimeError(broken[0])
    return {
        (one.rule.code, one.path, one.finding.place.span[0], one.severity == "advice")
        for one in report.findings
        if one.rule.code != "DL001"
    }


def in_fork(work: Callable[[], object]) -> object:
    """What ``work`` gives, in a process of its own, as JSON keeps it; None if it broke down."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.close(reader)
            with open(writer, "w") as pipe:  # noqa: PTH123
                json.dump(work(), pipe)
            status = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    with open(reader) as pipe:  # noqa: PTH123
        said = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(said) if said else None


def effects(checkout: Path, features: dict[str, list[Switch]]) -> dict[str, Effect | None]:
    """Of the features that act on one checkout; None where the linter breaks down without one.

    Groups are switched off together, and halved where something changes: most features change nothing.
    """
    os.chdir(checkout)
    before: dict[str, tuple[bytes, object]] = {}
    usual = findings(before)

    def without(names: list[str]) -> Effect:
        for name in names:
            switch_off(features[name])
        found = findings(before)
        loud, loud_before = ({one for one in each if not one[3]} for each in (found, usual))
        return Effect(len(loud_before - loud), len(loud - loud_before), len(usual - found), len(found - usual))

    results: dict[str, Effect | None] = {}
    waiting = [[*features]]
    while waiting:
        group = waiting.pop()
        said = in_fork(lambda group=group: without(group))  # type: ignore[misc]
        if said is not None and not any(said):  # type: ignore[call-overload]
            continue
        if len(group) == 1:
            results[group[0]] = Effect(*said) if isinstance(said, list) else None
        else:
            waiting += [group[: len(group) // 2], group[len(group) // 2 :]]
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", type=Path)
    parser.add_argument("--only", action="append", metavar="FEATURE", help="this feature, and no others")
    parser.add_argument("--list", action="store_true", help="name the checkouts in which each acts")
    options = parser.parse_args()
    features = {name: FEATURES[name] for name in options.only or sorted(FEATURES)}
    acted: defaultdict[str, dict[str, Effect]] = defaultdict(dict)
    broken: defaultdict[str, list[str]] = defaultdict(list)
    gc.disable()
    here = Path.cwd()
    for checkout in options.checkouts:
        os.chdir(here)
        found = in_fork(lambda checkout=checkout: effects(checkout, features))  # type: ignore[misc]
        print(f"{checkout.name}: {'BROKE DOWN' if found is None else f'{len(found)} act'}", file=sys.stderr, flush=True)
        for name, effect in (found or {}).items():  # type: ignore[attr-defined]
            if effect is None:
                broken[name].append(checkout.name)
            elif any(effect):
                acted[name][checkout.name] = Effect(*effect)
    print("| feature | functions | acts in | by default - / + | with advice - / + |\n|---|---|---|---|---|")
    for name in sorted(features, key=lambda name: (len(acted[name]), name)):
        went, came, went_pedantic, came_pedantic = map(sum, zip(*acted[name].values(), (0, 0, 0, 0), strict=True))
        where = f" ({', '.join(sorted(acted[name]))})" if options.list and acted[name] else ""
        lost = f"; breaks down in {len(broken[name])}" if broken[name] else ""
        print(
            f"| {name} | {len(features[name])} | {len(acted[name])}{where}{lost} "
            f"| -{went} / +{came} | -{went_pedantic} / +{came_pedantic} |"
        )
    few = sum(len(acted[name]) < 2 for name in features)
    print(f"\n{len(features)} features over {len(options.checkouts)} checkouts; {few} act in fewer than two.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
