"""The loader that pins what is copied, and where it says so."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project.values import Batch, Tensor, alternatives

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.transfers import Transfer
    from dl_lint.project.values import Loader


def source(project: Project, transfer: Transfer) -> Loader | None:
    """A loader that pins and whose batch may be what is copied, one with workers if any; None where one that does not
    pin may have it too, or where some caller has it on the device already."""
    found = alternatives(transfer.receiver)
    loaders = [one.loader for one in found if isinstance(one, Batch)]
    moved = any(isinstance(one, Tensor) and one.placement == "device" for one in found)
    if moved or any(project.pins(loader) == "no" for loader in loaders):
        return None
    pinning = [one for one in loaders if not one.prepared and project.pins(one) == "yes"]
    return min(pinning, key=lambda one: project.workers(one) == "none", default=None)


def said(project: Project, loader: Loader) -> ast.AST:
    """Where it says so: the keyword, or the call that is handed it in a dict or through a subclass."""
    keyword = next((one for one in loader.call.keywords if one.arg == "pin_memory"), None)
    if keyword is not None:
        return keyword
    said = project.argument(loader, "pin_memory").node
    return said if isinstance(said, ast.keyword) and said.arg is not None else loader.call
