"""Which torch code needs at least: by the names that it uses, but for those behind a test of what there is."""

from __future__ import annotations

import os
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

FIRST_PERSISTENT = (1, 7)
"""The torch that first had DataLoader(persistent_workers=…)."""

LAST = max(FIRST.values())

ASKING = frozenset({"hasattr", "getattr", "version", "__version__", "find_spec", "LooseVersion", "Version"})
"""Names in the tests of code that also runs with an older torch."""


def newer(project: Project, folder: str, than: Version) -> bool:
    """Whether code below a folder uses what no torch up to ``than`` has."""
    names = {name for name, first in FIRST.items() if first > than}
    files = project.evaluator.files
    linted = {files.keys[file] for file in project.files}
    top = folder.rstrip("/") + "/"
    for path in sorted(linted.union(files.around.code)) if than < LAST else ():
        data = files.around.code.get(path)
        if path.startswith(top) and (data is None or _may_use(data, names, than)):
            facts = files.read(os.path.relpath(path, files.root) if path.startswith(files.root) else path)
            if facts is not None and _uses(facts.body, names, than):
                return True
    return False


def _may_use(data: bytes, names: set[str], than: Version) -> bool:
    if b"torch" not in data:
        return False
    if than < FIRST_PERSISTENT and b"persistent_workers" in data:
        return True
    return any(all(part.encode() in data for part in name.split(".")[1:]) for name in names)


def _uses(body: tuple[t.Stmt, ...], names: set[str], than: Version) -> bool:
    sites: Sites = {}
    parents: Parents = {}
    index_file("", body, False, sites, parents)
    return any(
        (not names.isdisjoint(_named(node)) or (than < FIRST_PERSISTENT and _is_persistent(node, parents)))
        and not _is_guarded(node, parents)
        for node in (*sites, *parents)
    )


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


def _is_persistent(node: t.Node, parents: Parents) -> bool:
    call = parents.get(node)
    if not isinstance(node, t.Keyword) or node.name != "persistent_workers" or not isinstance(call, t.Call):
        return False
    return (dotted(call.func) or "").endswith("DataLoader")


def _is_guarded(node: t.Node, parents: Parents) -> bool:
    """Whether code is for the case that there is what it uses: tried, or under a test of that."""
    above: t.Node | None = node
    while above is not None:
        if isinstance(above, t.Try) and above.handlers:
            return True
        if isinstance(above, t.If | t.Conditional) and _asks(above.test):
            return True
        above = parents.get(above)
    return False


def _asks(test: t.Expr) -> bool:
    waiting: list[t.Node] = [test]
    while waiting:
        node = waiting.pop()
        if (isinstance(node, t.Name) and node.id in ASKING) or (isinstance(node, t.Attribute) and node.attr in ASKING):
            return True
        waiting.extend(children(node))
    return False
