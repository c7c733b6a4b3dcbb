"""What takes memory of a device past the caching allocator, in whose way cached blocks may stand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dl_lint.project import needs

if TYPE_CHECKING:
    from dl_lint.facts import tree as t
    from dl_lint.project.model import Project

_OTHERS = re.compile(
    r"#.*\b(?:nccl|(?:reduce|all|all_?)_?(?:scatter|gather|reduce)|vllm|other process(?:es)?)\b", re.IGNORECASE
)
"""Comments that name who else wants the memory."""

_NEAR = 2
"""Lines above a call in which a comment is on it."""


def stand_beside(project: Project, call: t.Call) -> bool:
    """Whether there are others besides the allocator: CUDA code of the project or of a package that allocates for
    itself and asks for emptied caches, a torch that lets the cache stand in the way, or whom a comment names."""
    allocates = needs.builds_for_cuda(project) or project.mentions(call, "MinkowskiEngine")
    return allocates or project.target(call).lacks((1, 2)) or _is_told(project, call)


def _is_told(project: Project, call: t.Call) -> bool:
    lines = project.evaluator.files.text(project.site(call).scope.file).splitlines()
    row = call.at[0] - 1
    return any(_OTHERS.search(line) for line in lines[max(0, row - _NEAR) : row + 1])
