"""What pytest-dataloader needs: the linter of this checkout where it is installed from one, else the one of PyPI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Dependencies(MetadataHookInterface):
    """Adds dl-lint. With DL_LINT_BY_NAME set, by its name: in what is published, and beside an editable linter."""

    def update(self, metadata: dict[str, Any]) -> None:
        lint = Path(self.root) / "lint"
        in_checkout = (lint / "pyproject.toml").exists() and "DL_LINT_BY_NAME" not in os.environ
        linter = f"dl-lint @ {lint.as_uri()}" if in_checkout else "dl-lint>=0.1.0"
        metadata["dependencies"] = [linter, "psutil>=5.9", "pytest>=8.1", "rich>=13"]
