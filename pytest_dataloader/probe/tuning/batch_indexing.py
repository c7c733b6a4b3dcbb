"""A TensorDataset that is indexed once for each batch, in place of once for each sample."""

from __future__ import annotations

from typing import Any

from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.tuning.batch_sizes import hindrance


def indexed_by_batch(loader: Any) -> tuple[str, Any] | None:
    """The change as code, and a shallow copy of a loader with it, whose batches are the same.

    None where they might be others: for a dataset that is no TensorDataset, nor a Subset of one, and where torch's
    batch sampler and collate function do not make the batches.
    """
    from torch.utils.data import default_collate, default_convert

    if hindrance(loader) or loader.collate_fn is not default_collate or not _is_of_tensors(loader.dataset):
        return None
    batches = loader.batch_sampler
    order = _as_code(batches.sampler)
    made = f"batch_size=None, sampler=BatchSampler({order}, {batches.batch_size}, {batches.drop_last})"
    changed = torch_private.shallow_copy(
        loader, batch_size=None, sampler=batches, batch_sampler=None, drop_last=False, collate_fn=default_convert
    )
    return f"one index for each batch, DataLoader(dataset, {made}),", changed


def _is_of_tensors(dataset: Any) -> bool:
    """Whether a list of indices gives what those samples hold, stacked."""
    from torch.utils.data import Subset, TensorDataset

    if type(dataset) is Subset:
        return _is_of_tensors(dataset.dataset)
    kind = type(dataset)
    return (
        isinstance(dataset, TensorDataset)
        and kind.__getitem__ is TensorDataset.__getitem__
        and not callable(getattr(dataset, "__getitems__", None))
    )


def _as_code(sampler: Any) -> str:
    from torch.utils.data import RandomSampler, SequentialSampler

    return f"{type(sampler).__name__}(dataset)" if type(sampler) in (RandomSampler, SequentialSampler) else "sampler"
