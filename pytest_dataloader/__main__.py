"""``python -m pytest_dataloader``."""

from __future__ import annotations

if __name__ == "__main__":
    from pytest_dataloader.diagnosis.command import run

    run()
