"""``python -m dl_lint`` is the command dl-lint."""

from __future__ import annotations

from dl_lint.cli import run

if __name__ == "__main__":
    run()
