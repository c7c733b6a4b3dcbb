"""Batches that are unpacked into more names than there are things in them, so that what follows is never reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import apply, calls, names, workers
from dl_lint.project.values import NONE, Absent, Batch, Const, External, Tensor, alternatives

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Binding
    from dl_lint.project.values import Loader, Value


def is_out_of_reach(project: Project, batch: t.Expr) -> bool:
    """Whether a name stands for one of several things unpacked of a batch that, as far as is known, is one tensor.

    ``x, y = batch`` fails for a tensor of any number of samples but two.
    """
    if not isinstance(batch, t.Name):
        return False
    bindings = project.function_of(batch).bindings.get(batch.id, ())
    unpacked = [one for one in bindings if one.path and one.kind in ("assign", "for")]
    return bool(unpacked) and all(_fails(project, one) for one in unpacked)


def _fails(project: Project, binding: Binding) -> bool:
    ev = project.evaluator
    value = project.value(binding.value)
    whole = names.unpack(ev, value if binding.kind == "assign" else apply.iterate(ev, value), binding.path[:-1])
    loaders = [one.loader for one in alternatives(whole) if isinstance(one, Batch) and one.whole]
    count = _names(binding)
    return bool(loaders) and all(_gives_one_tensor(project, one) and _of(project, one) != count for one in loaders)


def _names(binding: Binding) -> int:
    """The number of names that a batch is unpacked into."""
    beside = binding.site.scope.bindings.values()
    return len({one.path for found in beside for one in found if one.node is binding.node and one.path})


def _of(project: Project, loader: Loader) -> object:
    """The number of samples in a batch, if the code says so."""
    size = project.argument(loader, "batch_size").value
    return size.value if isinstance(size, Const) else 1 if isinstance(size, Absent) else None


def _gives_one_tensor(project: Project, loader: Loader) -> bool:
    """Whether all samples that are known of are tensors, which torch's own collate function stacks."""
    collate = project.argument(loader, "collate_fn").value
    datasets = list(workers.given(project, loader))
    samples = [project.evaluator.resolve(calls.iterated(project.evaluator, one)) for one in datasets]
    plain = isinstance(collate, Absent) or collate == NONE
    return plain and bool(samples) and all(_is_tensor(project, one) for one in samples)


def _is_tensor(project: Project, sample: Value) -> bool:
    """Whether a sample is what a function of torch made; of the results of methods nobody knows."""
    found = alternatives(sample)
    made = [one.node.func for one in found if isinstance(one, Tensor) and isinstance(one.node, t.Call)]
    callees = [callee for func in made for callee in alternatives(project.value(func))]
    return len(made) == len(found) > 0 and all(
        isinstance(one, External) and one.name.startswith("torch.") for one in callees
    )
