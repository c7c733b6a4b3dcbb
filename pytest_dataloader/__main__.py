"""``python -m pytest_dataloader``."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    from pytest_dataloader.diagnosis.command import main

    sys.exit(main())
