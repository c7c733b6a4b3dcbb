"""Run both tools on both examples, as ``make demo`` does: the faulty one is linted and measured, then the other one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent
BIN = Path(sys.executable).parent


def run(title: str, command: list[str], folder: Path, expected: int) -> bool:
    """Run a command as a user would in ``folder``; True if it ended with the expected status."""
    print(f"\n\033[1m{title}\033[0m" if sys.stdout.isatty() else f"\n{title}")
    print(f"$ cd {folder.relative_to(EXAMPLES.parent)} && {' '.join(command)}", flush=True)
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
    status = subprocess.run([str(BIN / command[0]), *command[1:]], cwd=folder, env=environment, check=False).returncode
    if status != expected:
        print(f"unexpected: exit status {status}, expected {expected}")
    return status == expected


def main() -> int:
    print("making the example's JPEG files ...", flush=True)
    subprocess.run([sys.executable, str(EXAMPLES / "make_images.py")], check=True)
    healthy, faulty = EXAMPLES / "jpeg", EXAMPLES / "jpeg_with_faults"
    bench = ["pytest", "--no-header", "-q", "--disable-warnings", "--dataloader-bench", "--dataloader-quick"]
    as_expected = [
        run("1. A pipeline with faults, linted: each fault by its line.", ["dl-lint", "."], faulty, 1),
        run("2. The same, measured for a few seconds: what the faults cost.", bench, faulty, 1),
        run("3. The repaired pipeline, linted: clean.", ["dl-lint", "."], healthy, 0),
        run("4. The same, measured: it passes.", bench, healthy, 0),
    ]
    print("\nThe examples are examples/jpeg_with_faults and examples/jpeg. Edit them and run this again.")
    return 0 if all(as_expected) else 1


if __name__ == "__main__":
    sys.exit(main())
