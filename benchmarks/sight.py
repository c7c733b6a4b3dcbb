"""How much of the data loading of many checkouts dl-lint can follow, and for which reasons it loses the rest.

    python benchmarks/sight.py CHECKOUT... [--package FOLDER] [--reasons 10] [--json FILE] [--list REASON]

Sums what ``dl-lint --sight`` says. A loader counts as followed where its dataset, its workers and who iterates it are
known; what is open is left to the caller or the user by the program itself, and no fault of the linter's. Training
loops that need no loader are left out of their share. ``--package`` is a folder that holds another package
``dl_lint``, which must know ``--sight``. ``sight_checkouts.csv`` names checkouts of all styles: half of them were
looked at while the engine was built, the other half once, at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

STYLES = {
    "Hydra and YAML": (b"hydra", b"omegaconf", b"LightningCLI"),
    "Lightning": (b"LightningModule", b"pytorch_lightning"),
    "HF Trainer": (b"import Trainer", b"TrainingArguments"),
    "accelerate": (b"Accelerator(",),
    "registries": (b".register_module(", b".register()", b"@register"),
}
"""What the files of a checkout say of its style; one that says none of this is plain scripts."""

QUESTIONS = ("dataset", "workers", "use")


def style(checkout: Path) -> str:
    """The first of the styles of which a Python file of the checkout speaks in code that loads data."""
    texts = [path.read_bytes() for path in checkout.rglob("*.py") if path.is_file()]
    spoken = b"\n".join(text for text in texts if b"DataLoader" in text or b"rainer" in text or b"hydra" in text)
    return next((name for name, words in STYLES.items() if any(word in spoken for word in words)), "plain scripts")


def survey(checkout: Path, package: Path) -> dict[str, Any]:
    """What ``dl-lint --sight`` says of one checkout, as its JSON has it."""
    command = [sys.executable, "-m", "dl_lint", "--no-cache", "--exit-zero", "--sight", "--output-format", "json", "."]
    env = {**os.environ, "PYTHONPATH": str(package)}
    done = subprocess.run(command, cwd=checkout, env=env, capture_output=True, text=True)
    if not done.stdout.strip():
        raise SystemExit(f"{checkout}: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class Sum:
    """Counts over checkouts."""

    def __init__(self) -> None:
        self.loaders: Counter[str] = Counter()
        self.questions = {question: Counter[str]() for question in QUESTIONS}
        self.loops: Counter[str] = Counter()
        self.datasets: Counter[str] = Counter()
        self.attributes: Counter[str] = Counter()

    def add(self, seen: dict[str, Any]) -> None:
        for one in seen["loaders"]:
            self.loaders[one["state"]] += 1
            for question in QUESTIONS:
                self.questions[question][one[question]["state"]] += 1
        for one in seen["loops"]:
            fact = one["loader"]
            self.loops["none" if (fact["state"], fact["text"]) == ("known", "no loader") else fact["state"]] += 1
        for one in seen["datasets"]:
            self.datasets[one["state"]] += 1
            self.attributes.update(fact["state"] for key, fact in one.items() if key.startswith("self."))

    def lines(self) -> list[str]:
        rows = [("loaders", self.loaders), *((f"  {name}", counts) for name, counts in self.questions.items())]
        rows += [("training loops", self.loops), ("datasets", self.datasets), ("  attributes", self.attributes)]
        return [f"{name:18}{share(counts):>8}" + "".join(f"{counts[it]:8}" for it in ("known", "open", "lost", "none"))
                for name, counts in rows]  # fmt: skip


def share(counts: Counter[str]) -> str:
    asked = counts["known"] + counts["open"] + counts["lost"]
    return f"{counts['known'] / asked:.3f}" if asked else "-"


def reasons(seen: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What was lost: the question, the reason, and the place with what stands there."""
    found = []
    for kind in ("loaders", "loops", "datasets"):
        for one in seen[kind]:
            for key, fact in one.items():
                if isinstance(fact, dict) and fact.get("state") == "lost":
                    question = "attribute" if key.startswith("self.") else f"{kind[:-1]}: {key}"
                    place = fact["place"] or one
                    found.append((question, fact["reason"], f"{place['filename']}:{place['row']} {fact['text']}"))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--package", type=Path, default=ROOT / "lint")
    parser.add_argument("--reasons", type=int, default=10, metavar="N", help="rows of the table of reasons")
    parser.add_argument("--json", type=Path, help="keep what each checkout said")
    parser.add_argument("--list", metavar="REASON", help="name the places that were lost for a reason")
    options = parser.parse_args()
    total, styles, lost = Sum(), {}, Counter[tuple[str, str]]()
    where: dict[tuple[str, str], set[str]] = {}
    kept = {}
    for checkout in options.checkouts:
        seen = kept[checkout.name] = survey(checkout, options.package)
        total.add(seen)
        styles.setdefault(style(checkout), Sum()).add(seen)
        for question, reason, place in reasons(seen):
            lost[question, reason] += 1
            where.setdefault((question, reason), set()).add(checkout.name)
            if reason == options.list:
                print(f"{checkout.name}/{place} ({question})")
    print(f"{'':18}{'share':>8}{'known':>8}{'open':>8}{'lost':>8}{'none':>8}", *total.lines(), sep="\n")
    print(f"\n{'style':18}{'loaders':>8}{'known':>8}{'loops':>8}{'known':>8}")
    for name, one in sorted(styles.items()):
        print(f"{name:18}{one.loaders.total():8}{share(one.loaders):>8}{one.loops.total():8}{share(one.loops):>8}")
    print(f"\n{'lost':>6}{'checkouts':>11}  question, reason")
    for (question, reason), count in lost.most_common(options.reasons):
        print(f"{count:6}{len(where[question, reason]):11}  {question}, {reason}")
    if options.json is not None:
        options.json.write_text(json.dumps(kept))
    return 0


if __name__ == "__main__":
    sys.exit(main())
