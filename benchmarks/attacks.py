"""What comes with a repository, tried on both commands: a table of what was done, the exit status and what was said.

    python benchmarks/attacks.py [--only WORD]

Each line makes its own folder with one fault in it and runs ``dl-lint`` or pytest there as a user would. At the end:
how CPU time grows over 1, 4 and 16 times the text. The same attacks are tests in ``tests/*/test_attacks.py``; here
they go through whole processes, and a person reads what is said.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dl_lint.engine.cache import tool_version
from dl_lint.source.disk import digest

from tests.lint import growing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LINT = [sys.executable, "-m", "dl_lint"]
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
LIMIT_SECONDS = 120
FAULTY = """\
from torch.utils.data import DataLoader


def make_loader(dataset):
    return DataLoader(dataset, num_workers=4, pin_memory=True, pin_memory_device="cuda")
"""
MENDED = FAULTY.replace(', pin_memory_device="cuda"', "")
HOSTILE = [b"\xff\xfe.py", b"a\x1b[31m.py", b"b\n::error::x.py", "c\u202egnp.py".encode(), b"d\xc2\x9b31m.py",
           b"e\r.py", b"f\x1b]0;owned\x07.py"]  # fmt: skip
OBEYED = {"\x1b", "\x9b", "\u202e", "\r", "\x07"}
ANSWER = "import torch\nfrom torch.utils.data import DataLoader\nloader = DataLoader(torch.arange(64), 8)\n"
TARGET = '[tool.dataloader.targets.train]\nfactory = "train:loader"\n'
BENCH = ["--dataloader-bench", "--dataloader-checks=order", "--dataloader-target=train=train:loader"]


def run(folder: Path, command: Sequence[str], cache: Path | None = None) -> tuple[int | str, str, str, float]:
    """Exit status (or that it did not end), output, errors, CPU seconds of a command."""
    env = {**os.environ, "DL_LINT_CACHE_DIR": str(cache or folder.parent / "cache"), "PYTHONPATH": _paths()}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return f"no end in {LIMIT_SECONDS} s", "", "", float(LIMIT_SECONDS)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (done.returncode, *(part.decode(errors="surrogateescape") for part in (done.stdout, done.stderr)), spent)


def _paths() -> str:
    root = Path(__file__).parents[1]
    return os.pathsep.join([str(root), str(root / "lint")])


def said(out: str, err: str) -> str:
    """The lines that tell what was made of it, as they are short enough for a table."""
    lines = [line for line in (*err.splitlines(), *out.splitlines()) if line.strip()]
    told = [line for line in lines if "error" in line.lower() or "left out" in line or "not read" in line]
    found = [f"{sum('DL209' in line for line in lines)} lines with DL209"] if "DL209" in out else []
    traceback = ["TRACEBACK"] if "Traceback" in out + err or "INTERNALERROR" in out + err else []
    return "; ".join([*traceback, *(line[:110] for line in told[:2]), *found]) or (lines[-1][:110] if lines else "")


def fault(folder: Path, **others: str | bytes) -> None:
    """The fault, and other files: ``__`` in their names stand for a dot."""
    (folder / "data.py").write_text(FAULTY)
    for name, content in others.items():
        data = content if isinstance(content, bytes) else content.encode(errors="surrogateescape")
        (folder / name.replace("__", ".")).write_bytes(data)


# --- what is done: each returns the command, having made its files ---------------------


def planted_report(folder: Path) -> list[str]:
    fault(folder)
    (folder / ".dl_lint_cache" / "runs").mkdir(parents=True)
    body = json.dumps({"report": {}, "outside": {}})
    record = folder / ".dl_lint_cache" / "runs" / f"{digest(tool_version())}.json"
    record.write_text(f"{digest(body)}\n{body}")
    return [*LINT, "--output-format", "concise"]


def forged_fix(folder: Path) -> list[str]:
    """Every record of the user's own cache says another fix."""
    fault(folder)
    run(folder, LINT)
    forged = 0
    for path in (folder.parent / "cache").rglob("*.json"):
        _, _, body = path.read_text().partition("\n")
        other = body.replace('""]', '"import os"]')
        forged += other != body
        path.write_text(f"{digest(other)}\n{other}")
    print(f"  ({forged} records forged)", file=sys.stderr)
    return [*LINT, "--fix"]


def planted_ignored(folder: Path) -> list[str]:
    fault(folder)
    run(folder, LINT)
    for path in (folder.parent / "cache").rglob("*.json"):
        if "ignored" in str(path):
            body = '{"data.py": "yes"}'
            path.write_text(f"{digest(body)}\n{body}")
    return [*LINT, "--output-format", "concise"]


def like_ours(folder: Path) -> list[str]:
    fault(folder, **{"__dl-lint-baseline__json": "{}", "__dl-lint-notes__md": "mine"})
    return [*LINT, "--fix"]


def no_file(name: str, kind: str, *options: str) -> Callable[[Path], list[str]]:
    def make(folder: Path) -> list[str]:
        fault(folder)
        if kind == "pipe":
            os.mkfifo(folder / name)
        else:
            (folder / name).symlink_to("/dev/zero")
        return [*LINT, "--output-format", "concise", *options]

    return make


def records_no_file(kind: str) -> Callable[[Path], list[str]]:
    def make(folder: Path) -> list[str]:
        fault(folder)
        run(folder, LINT)
        for path in list((folder.parent / "cache").rglob("*.json")):
            path.unlink()
            if kind == "pipe":
                os.mkfifo(path)
            elif kind == "device":
                path.symlink_to("/dev/zero")
            else:
                path.write_text(f"{digest('[[1, null]]')}\n[[1, null]]")
        return [*LINT, "--output-format", "concise"]

    return make


def file_of(name: str, text: str, *options: str) -> Callable[[Path], list[str]]:
    def make(folder: Path) -> list[str]:
        fault(folder, **{name: text})
        return [*LINT, "--output-format", "concise", *options]

    return make


def hostile(*options: str) -> Callable[[Path], list[str]]:
    def make(folder: Path) -> list[str]:
        for name in HOSTILE:
            (folder / os.fsdecode(name)).write_text(FAULTY)
        return [*LINT, "--no-cache", *options]

    return make


def bench(name: str = "", content: str = "", *options: str) -> Callable[[Path], list[str]]:
    """The plugin beside a file, or with a pipe (``|``) in its place."""

    def make(folder: Path) -> list[str]:
        (folder / "train.py").write_text(ANSWER)
        if content == "|":
            os.mkfifo(folder / name)
        elif name:
            (folder / name).write_text(content)
        return [*PYTEST, *BENCH, *options]

    return make


STARS = "*a" * 30 + "b\n"
CLASSES = "[a-z]*" * 25 + "!\n"
ATTACKS: dict[str, Callable[[Path], list[str]]] = {
    "a cache in the tree, its report forged": planted_report,
    "records of the own cache with a forged fix, --fix": forged_fix,
    "a planted record of ignored files": planted_ignored,
    "--fix beside files named .dl-lint-*": like_ours,
    ".gitignore is a FIFO": no_file(".gitignore", "pipe"),
    ".gitignore is /dev/zero": no_file(".gitignore", "device"),
    "baseline is a FIFO": no_file("accepted.json", "pipe", "--baseline", "accepted.json"),
    "baseline is /dev/zero": no_file("accepted.json", "device", "--baseline", "accepted.json"),
    "records are FIFOs": records_no_file("pipe"),
    "records are /dev/zero": records_no_file("device"),
    "records of a wrong type": records_no_file("type"),
    "stars in .gitignore": file_of("__gitignore", STARS),
    "classes in .gitignore": file_of("__gitignore", CLASSES),
    "20 MB in a line of .gitignore": file_of("__gitignore", "x" * 20_000_000),
    "stars in exclude": file_of("pyproject__toml", f"[tool.dl-lint]\nexclude = [{json.dumps(STARS.strip())}]\n"),
    **{f"hostile names, {kind}": hostile("--output-format", kind)
       for kind in ("full", "concise", "json", "github", "gitlab", "sarif")},
    "hostile names, --diff": hostile("--diff"),
    "settings nested 5,000 deep": file_of("pyproject__toml", f"[tool.dl-lint]\nselect = {'[' * 5000}{']' * 5000}\n"),
    "a setting of a wrong type": file_of("pyproject__toml", "[tool.dl-lint]\ntarget = [1979-05-27]\n"),
    "a setting that is NaN": file_of("pyproject__toml", "[tool.dl-lint]\nselect = nan\n"),
    "a baseline 200,000 deep": file_of("b__json", "[" * 200_000, "--baseline", "b.json"),
    "a baseline with 1e400": file_of(
        "b__json", '{"schema": 1, "findings": [{"path": 1, "count": 1e400}]}', "--baseline", "b.json"
    ),
    "a source of 700,000 lines": file_of("long__py", "x = 1\n" * 700_000 + FAULTY),
    "plugin: baseline is a FIFO": bench("base.json", "|", "--dataloader-baseline=base.json"),
    "plugin: baseline 200,000 deep": bench("base.json", "[" * 200_000, "--dataloader-baseline=base.json"),
    "plugin: baseline with 1e400": bench(
        "base.json", '{"schema": 1, "loaders": {"train": [{"cpu_ms_per_sample": 1e400}]}}',
        "--dataloader-baseline=base.json",
    ),
    "plugin: --dataloader-json /dev/full": bench("", "", "--dataloader-json=/dev/full"),
    "plugin: --dataloader-json into a FIFO": bench("seen.json", "|", "--dataloader-json=seen.json"),
    "plugin: a target with hostile characters": bench("", "", "--dataloader-target=a\x1b[31m\u202e=train:nothing"),
}  # fmt: skip


def after(folder: Path, title: str) -> str:
    """What became of the files, where that is the point."""
    if title == "--fix beside files named .dl-lint-*":
        return f"; {len(list(folder.glob('.dl-lint-*')))} of 2 files kept"
    if "--fix" in title:
        return "; mended as found" if (folder / "data.py").read_text() == MENDED else "; NOT AS MENDED"
    return ""


def injected(out: str) -> str:
    raw = sum(out.count(each) for each in OBEYED)
    commands = sum(line.startswith("::error::") for line in out.splitlines())
    return f"; raw control characters {raw}, injected lines {commands}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="attacks whose title holds this word")
    options = parser.parse_args()
    print("| what was done | status | CPU s | what was said |\n|---|---|---|---|")
    failed = 0
    for title, make in ATTACKS.items():
        if options.only not in title:
            continue
        with tempfile.TemporaryDirectory() as outer:
            folder = Path(outer, "repository")
            folder.mkdir()
            status, out, err, spent = run(folder, make(folder))
            told = said(out, err) + (injected(out + err) if "hostile" in title else "") + after(folder, title)
        told = "".join(each if each.isprintable() else "?" for each in told).replace("|", "\\|")
        failed += isinstance(status, str) or "TRACEBACK" in told
        print(f"| {title} | {status} | {spent:.1f} | {told} |", flush=True)
    if not options.only:
        print("\n| CPU seconds above an empty run | 1x | 4x | 16x |\n|---|---|---|---|")
        for kind in growing.KINDS:
            print(f"| {kind} | {' | '.join(f'{each:.2f}' for each in spent_on(kind))} |", flush=True)
    return failed


def spent_on(kind: growing.Kind) -> list[float]:
    """CPU seconds above those of the fault alone, over 1, 4 and 16 times the text; the least of three runs each."""
    least = []
    for text in (FAULTY, *(growing.text(kind, FAULTY, times) for times in (1, 4, 16))):
        with tempfile.TemporaryDirectory() as outer:
            folder = Path(outer, "repository")
            folder.mkdir()
            (folder / "data.py").write_text(text)
            least.append(min(run(folder, [*LINT, "--no-cache"])[3] for _ in range(3)))
            time.sleep(0.1)
    return [each - least[0] for each in least[1:]]


if __name__ == "__main__":
    sys.exit(main())
