"""Which torch code needs at least: by the names that it uses in every run, not for an option, nor if there are any."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.index import index_file
from dl_lint.project.syntax import children, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.declarations import Version
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Parents, Sites

FIRST = {
    "torch.cuda.amp": (1, 6),
    "torch.optim.swa_utils": (1, 6),
    "torch.inference_mode": (1, 9),
    "torch.amp": (1, 10),
    "torch.autocast": (1, 10),
    "torch.backends.mps": (1, 12),
    "torch.set_float32_matmul_precision": (1, 12),
    "torch.compile": (2, 0),
    "torch.func": (2, 0),
    "torch._dynamo": (2, 0),
    "torch.nn.functional.scaled_dot_product_attention": (2, 0),
    "torch.export": (2, 1),
    "torch.distributed.tensor": (2, 5),
}
"""The torch that first had a name."""

PERSISTENT = (1, 7)
"""The torch that first had DataLoader(persistent_workers=…)."""

PERSISTENT_WITH_PINNING = (1, 8)
"""The torch in which that works where batches are pinned."""

_BUILDING = re.compile(rb"CUDAExtension\(|= ?CUDAExtension\b")

LAST = max(FIRST.values())

ASKING = frozenset({"hasattr", "getattr", "version", "__version__", "find_spec", "LooseVersion", "Version"})
"""Names in the tests of code that also runs with an older torch."""


def needed(project: Project, folder: str, least: Version) -> Version:
    """The oldest torch that has all that code below a folder uses; ``least`` where that is enough."""
    files = project.evaluator.files
    linted = {files.keys[file] for file in project.files}
    top = folder.rstrip("/") + "/"
    for path in sorted(linted.union(files.around.code)):
        data = files.around.code.get(path)
        if least < LAST and path.startswith(top) and (data is None or _may_use(data, least)):
            facts = files.read(os.path.relpath(path, files.root) if path.startswith(files.root) else path)
            if facts is not None:
                least = _used(facts.body, least)
    return least


def builds_for_cuda(project: Project) -> bool:
    """Whether a project builds CUDA code of its own, whose memory need not come from torch's allocator."""
    return any(map(_BUILDING.search, project.evaluator.files.around.code.values()))


def _may_use(data: bytes, least: Version) -> bool:
    """Whether code may use what torch ``least`` has not."""
    if b"torch" not in data:
        return False
    if least < PERSISTENT_WITH_PINNING and b"persistent_workers" in data:
        return True
    return any(
        first > least and all(part.encode() in data for part in name.split(".")[1:]) for name, first in FIRST.items()
    )


def _used(body: tuple[t.Stmt, ...], least: Version) -> Version:
    sites: Sites = {}
    parents: Parents = {}
    index_file("", body, False, sites, parents)
    for node in (*sites, *parents):
        first = max((_first_persistent(node, parents), *(FIRST.get(name, least) for name in _named(node))))
        if first > least and not _is_optional(node, parents):
            least = first
    return least


def _named(node: t.Node) -> Iterator[str]:
    """What of torch a node names, each part of a dotted name by itself."""
    match node:
        case t.Import(module=module):
            name: str | None = module
        case t.ImportFrom(level=0, module=module, attr=attr):
            name = f"{module}.{attr}"
        case t.Attribute():
            name = dotted(node)
        case _:
            return
    while name is not None and name.startswith("torch."):
        yield name
        name = name.rpartition(".")[0]


def _first_persistent(node: t.Node, parents: Parents) -> Version:
    """The torch that ``DataLoader(persistent_workers=…)`` needs; (0, 0) for anything else."""
    call = parents.get(node)
    if not isinstance(node, t.Keyword) or node.name != "persistent_workers" or not isinstance(call, t.Call):
        return 0, 0
    if not (dotted(call.func) or "").endswith("DataLoader"):
        return 0, 0
    pins = any(keyword.name == "pin_memory" for keyword in call.keywords)
    return PERSISTENT_WITH_PINNING if pins else PERSISTENT


def _is_optional(node: t.Node, parents: Parents) -> bool:
    """Whether some runs leave code out: it is tried, or under a test other than of a GPU or of being the script."""
    child, above = node, parents.get(node)
    while above is not None:
        if isinstance(above, t.Try) and above.handlers:
            return True
        if isinstance(above, t.If | t.Conditional):
            chosen = child is not above.test and not _is_usual(above.test)
            if chosen or _asks(above.test):
                return True
        child, above = above, parents.get(above)
    return False


def _is_usual(test: t.Expr) -> bool:
    """``__name__ == "__main__"``, ``torch.cuda.is_available()``: a test that holds in the runs that count."""
    match test:
        case t.Compare(left=t.Name(id="__name__")) | t.Call(func=t.Attribute(attr="is_available")):
            return True
        case _:
            return False


def _asks(test: t.Expr) -> bool:
    waiting: list[t.Node] = [test]
    while waiting:
        node = waiting.pop()
        if (isinstance(node, t.Name) and node.id in ASKING) or (isinstance(node, t.Attribute) and node.attr in ASKING):
            return True
        waiting.extend(children(node))
    return False
