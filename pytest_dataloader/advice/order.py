"""What to say of the order of samples, and what to change; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.advice.coverage import coverage
from pytest_dataloader.quantities import counted, percent
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.probe.samples.evidence import Order
    from pytest_dataloader.probe.samples.fields import Field
    from pytest_dataloader.probe.samples.sequence import OrderFault


_SHALLOW = 0.1
"""Share of a batch that recurs, from which a shuffle buffer is too small. Of 4,000 samples in batches of 32 it was
0.39 with a shuffle buffer of 16, 0.23 of 32, 0.12 of 64, 0.07 of 128 (benchmarks/reports/shallow_shuffle.py)."""


def describe_order_faults(evidence: Order) -> str:
    """Each fault with its source, in lines of its own."""
    faults = "\n".join(f"{fault.source}: {fault.detail}" for fault in evidence.faults)
    return f"{faults}{coverage(evidence.partly)}"


def describe_order(evidence: Order) -> str:
    """What was seen of an order without faults."""
    samples = counted(evidence.samples[0], "sample")
    chosen = evidence.repeated > 0 or evidence.left_out > evidence.dropped_last
    if evidence.endless:
        headline, facts = f"{samples}, as {evidence.sampler} gives them without end", []
        facts += ["iterated anew, it gives the same order"] if evidence.reshuffled is False else []
        return "\n".join([headline, *facts, *_notes(evidence)]) + coverage(evidence.partly)
    if evidence.iterable and evidence.partly:
        return f"{samples} of a stream: no two workers start with the same samples{coverage(evidence.partly)}"
    if evidence.unseen_batches:
        least = counted(evidence.unseen_batches, "batch")
        headline = f"{samples}: no duplicates"
        facts = [f"the epoch ended {least} before its len(): these were not seen"]
    else:
        came = f"as often as {evidence.sampler} gives each" if chosen else "no duplicates, none missing"
        headline, facts = f"{samples}: {came}", []
    if evidence.reshuffled:
        headline += ", reshuffled each epoch"
    if evidence.passes > 1:
        facts.append(f"an epoch is {evidence.passes} passes over the data")
    if chosen:
        left_out = f"leaves out {evidence.left_out:,} of {evidence.size:,}"
        always = ", the last ones in every epoch" if evidence.never_read else ""
        facts.append(f"it repeats {evidence.repeated:,} and {left_out}{always}")
    if evidence.dropped_last:
        size = evidence.samples[0] if evidence.iterable else evidence.size
        facts.append(f"drop_last drops {evidence.dropped_last:,} of {size:,} samples in every epoch")
    if evidence.reshuffled is False:
        facts.append("too few samples to see them reshuffled")
    if evidence.compared:
        facts.append(f"same content in a single process ({evidence.compared:,} compared)")
    return "\n".join([headline, *facts, *_notes(evidence)]) + coverage(evidence.partly)


def _notes(evidence: Order) -> Iterator[str]:
    """What a training loop should know of how much comes, and of the fields of batches."""
    if evidence.iterable and 0 < evidence.batches_told != evidence.batches:
        yield f"len(loader) is {evidence.batches_told:,}, and an epoch has {counted(evidence.batches, 'batch')}"
    for each in evidence.fewer_workers:
        if each.samples != evidence.compared:
            yield f"{counted(each.samples, 'sample')} with {counted(each.workers, 'worker')}"
    for field in evidence.fields:
        name = field.path or "a batch"
        if field.nan_samples:
            yield f"NaN in {name} of {field.nan_samples:,} of {counted(field.samples, 'sample')}"
        if field.listed:
            yield f"{name}: a list of {field.listed} numbers becomes a list of {field.listed} tensors"
    yield from (f"{field.path or 'a batch'} is float64, made of Python floats" for field in _doubles(evidence))
    if evidence.recurring >= _SHALLOW:
        yield f"{percent(evidence.recurring)} of the samples of a batch shared a batch in the epoch before, too"
    if _lonely(evidence):
        yield "the last batch of an epoch has 1 sample"


def _doubles(evidence: Order) -> list[Field]:
    """Fields of Python's own floats beside others of less precision."""
    single = any({"float32", "float16", "bfloat16"} & field.kinds.keys() for field in evidence.fields)
    return [field for field in evidence.fields if field.floats and "float64" in field.kinds and single]


def _lonely(evidence: Order) -> bool:
    """Whether an epoch of training ends with a batch of one sample."""
    return evidence.shuffles and evidence.last_batch == 1 < evidence.batch_size


def field_advice(evidence: Order) -> tuple[Advice, ...]:
    """What to change in the fields of batches that are right as they are."""
    found = [
        Advice("", f"return {field.path} as torch.tensor(values): default_collate makes one tensor per list element")
        for field in evidence.fields
        if field.listed
    ]
    found += [
        Advice(
            "", f"return {field.path or 'it'} as torch.tensor(value, dtype=torch.float32) unless float64 is intended"
        )
        for field in _doubles(evidence)
    ]
    if evidence.never_read:
        found.append(Advice("", "shuffle all indices, then cut them to whole batches: the last are never read"))
    if evidence.recurring >= _SHALLOW:
        found.append(Advice("", "in training, enlarge the shuffle buffer, or store samples shuffled"))
    if _lonely(evidence):
        found.append(
            Advice(
                "", "DataLoader(..., drop_last=True) if the model has BatchNorm, which raises for 1 sample in training"
            )
        )
    return tuple(found)


def advice(evidence: Order) -> tuple[Advice, ...]:
    """What to change, for each fault."""
    return fault_advice(evidence.faults, iterable=evidence.iterable)


def fault_advice(faults: tuple[OrderFault, ...], *, iterable: bool) -> tuple[Advice, ...]:
    """What to change about faults of a dataset that is iterated or indexed."""
    remedies = _REMEDIES | (_OF_STREAMS if iterable else {})
    return tuple(
        Advice("", _OF_LOADERS[fault.kind])
        if fault.source == "the loader" and fault.kind in _OF_LOADERS
        else Advice(*remedies[fault.kind])
        for fault in faults
    )


_SORT = "sorted(set(names)): the order of a set of strings differs between processes, unless PYTHONHASHSEED is set"
_OF_LOADERS = {
    "lost": "yield every batch that super().__iter__() gives: the loader's own __iter__, or what wraps it, drops some",
    "duplicated": "go through the sampler once in the loader's own __iter__, or return the number of all batches from "
    "__len__",
}
_DIVIDE = (
    "",
    "give each sample to one worker: itertools.islice(samples, info.id, None, info.num_workers), with info = "
    "torch.utils.data.get_worker_info()",
)
_OF_STREAMS = {"lost": _DIVIDE, "duplicated": _DIVIDE}
_REMEDIES = {
    "truncated": ("DL309", "next(iterator, None), or raise another error: StopIteration ends the epoch silently"),
    "lost": ("", "return one sample for each index from __getitems__"),
    "duplicated": ("", "read each sample once per epoch"),
    "unsharded": (
        "DL405",
        "samples[info.id :: info.num_workers] before any shuffle, with info = torch.utils.data.get_worker_info()",
    ),
    "starved": ("", "use at most as many workers as shards, or make more shards"),
    "not_reshuffled": ("", "seed torch and the loader's generator once, not in every epoch"),
    "stale": (
        "DL308",
        "persistent_workers=False, or keep the epoch in a shared tensor: torch.zeros((), dtype=int).share_memory_()",
    ),
    "differs_with_workers": (
        "DL303",
        "open files in the worker, at the first read: forked workers share one file position",
    ),
    "uneven_sampler": ("", "if this is intended, leave order out of this loader's checks"),
    "overwritten": (
        "",
        "return a copy, buffer.clone(): the dataset fills the same memory again for every sample",
    ),
    "left_out": ("", "nothing to do if the function drops samples on purpose"),
    "whole": ("", "return a list of samples, or columns with one row for each index, to have them compared"),
    "same_order": (
        "",
        "in training, derive the order from the epoch of set_epoch, or from a generator that is seeded once",
    ),
    "wrong_length": (
        "",
        "return from __len__ what __iter__ gives, or remove __len__: learning-rate schedules use len(loader)",
    ),
    "length_per_worker": (
        "",
        "end the epoch of each worker after length // get_worker_info().num_workers samples (webdataset: "
        "WebLoader(...).with_epoch(batches))",
    ),
    "changed_in_place": (
        "",
        "change a copy: x = x / 255, not x /= 255. Each epoch reads what the one before has changed",
    ),
    "follows_readings": (
        "",
        "count reads in the sampler, not in the dataset: each worker has a count of its own, which ends with it",
    ),
    "hash_order": ("", _SORT),
    "hash_order_divided": ("", _SORT),
    "ends_by_worker": ("", "read with num_workers=0 where each sample counts, as in a metric"),
    "shuffles_itself": (
        "",
        "DataLoader(..., shuffle=True): a dataset that shuffles itself does so in each worker's copy",
    ),
    "cut_by_len": (
        "",
        "iterate the DataLoader to its end: its len() does not know of the partial batches of workers",
    ),
    "dropped_by_workers": (
        "",
        "give each worker whole batches: row // batch_size % workers == worker",
    ),
    "shuffle_undone": ("", "keep shuffled indices in a list: a set or sorted() restores the stored order"),
    "batches_lost": ("", "yield the last batch, too: a prefetcher still has one when the DataLoader inside ends"),
    "reused": ("", "make a new batch each time, or keep batch.clone()"),
    "process_changed": (
        "",
        "leave torch.no_grad() and its like before each yield, unless the loop relies on it",
    ),
    "few_weights": ("", "one weight for each sample: WeightedRandomSampler(weights_of_classes[labels], len(labels))"),
    "type_changes": ("", "return one dtype in every sample: a batch takes that of its first sample"),
    "field_missing": ("", "return the same fields in every sample, or fill in missing ones in collate_fn"),
    "not_a_number": ("", "look for a division by 0, unless NaN marks a missing value"),
    "gradients": ("", "return tensor.detach(): batches with gradients carry their autograd graph"),
    "misaligned": ("", "sort whole samples in collate_fn, unless fields are mixed on purpose (mixup)"),
    "shared_by_workers": (
        "DL405",
        "split the samples by torch.utils.data.get_worker_info(), unless workers draw with replacement",
    ),
    "unlike": ("", "compare with num_workers=0, unless content depends on the worker on purpose"),
}
