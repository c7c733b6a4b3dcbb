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


_NEIGHBOURS = 0.1
"""Share of a batch that recurs, from which batches are made of neighbours. Of 4,000 samples in batches of 32 it was
0.39 with a shuffle buffer of 16, 0.23 of 32, 0.12 of 64, 0.07 of 128 (benchmarks/reports/shallow_shuffle.py)."""


def describe_order_faults(evidence: Order) -> str:
    """Each fault with its source."""
    told = "; ".join(f"{fault.source}: {fault.detail}" for fault in evidence.faults)
    return f"{told}{coverage(evidence.partly)}"


def describe_order(evidence: Order) -> str:
    """What was seen of an order without faults."""
    samples = counted(evidence.samples[0], "sample")
    if evidence.iterable and evidence.partly:
        return f"{samples} of a stream: no two workers begin alike{coverage(evidence.partly)}"
    if evidence.unseen_batches:
        least = counted(evidence.unseen_batches, "batch")
        told = (
            f"{samples}, none doubled by the loader; its epoch ends {least} before its len() says, which were not seen"
        )
    else:
        told = f"{samples}, none missing, no duplicates"
    if evidence.passes > 1:
        told += f"; an epoch is {evidence.passes} passes"
    if evidence.repeated or evidence.left_out > evidence.dropped_last:
        told += f"; {evidence.sampler} repeats {evidence.repeated:,} and leaves out {evidence.left_out:,} of its own"
    if evidence.dropped_last:
        size = evidence.samples[0] if evidence.iterable else evidence.size
        told += f"; drop_last leaves out {evidence.dropped_last:,} of {size:,} in every epoch"
    told += {True: "; reshuffled", False: "; too few to see them reshuffled", None: ""}[evidence.reshuffled]
    if evidence.compared:
        told += f"; same content in a single process: {evidence.compared:,}"
    told += "".join(f"; {note}" for note in _notes(evidence))
    return told + coverage(evidence.partly)


def _notes(evidence: Order) -> Iterator[str]:
    """What a training loop should know of how much comes, and of the fields of batches."""
    if evidence.iterable and 0 < evidence.batches_told != evidence.batches:
        yield f"len() of the loader says {counted(evidence.batches_told, 'batch')}, and {evidence.batches:,} come"
    for each in evidence.fewer_workers:
        if each.samples != evidence.compared:
            yield f"with {counted(each.workers, 'worker')} {counted(each.samples, 'sample')} come"
    for field in evidence.fields:
        name = field.path or "a batch"
        if field.nan_samples:
            yield f"{field.nan_samples:,} of {counted(field.samples, 'sample')} hold NaN in {name}"
        if field.listed:
            yield f"{name}, a list of {field.listed} numbers, becomes a list of {field.listed} tensors"
    yield from (f"{field.path or 'a batch'} is float64, made of Python's floats" for field in _doubles(evidence))
    if evidence.recurring >= _NEIGHBOURS:
        yield f"{percent(evidence.recurring)} of the samples of a batch came in one batch in the epoch before, too"
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
        Advice("", f"return {field.path} as a tensor: default_collate makes one tensor for each place of a list")
        for field in evidence.fields
        if field.listed
    ]
    found += [
        Advice("", f"return {field.path or 'it'} as torch.tensor(value, dtype=torch.float32) if float64 is not meant")
        for field in _doubles(evidence)
    ]
    if evidence.recurring >= _NEIGHBOURS:
        found.append(Advice("", "in training, enlarge the shuffle buffer, or store samples shuffled"))
    if _lonely(evidence):
        found.append(
            Advice("", "give drop_last=True if the model has BatchNorm, which raises for 1 sample in training")
        )
    return tuple(found)


def advice(evidence: Order) -> tuple[Advice, ...]:
    """What to change, for each fault."""
    return fault_advice(evidence.faults, iterable=evidence.iterable)


def fault_advice(faults: tuple[OrderFault, ...], *, iterable: bool) -> tuple[Advice, ...]:
    """What to change about faults of a dataset that is iterated or indexed."""
    remedies = _REMEDIES | (_OF_STREAMS if iterable else {})
    return tuple(
        Advice("", _HAND_ON) if (fault.kind, fault.source) == ("lost", "the loader") else Advice(*remedies[fault.kind])
        for fault in faults
    )


_SORT = "sort it, sorted(set(names)): Python hashes text otherwise in every process, unless PYTHONHASHSEED is set"
_HAND_ON = "hand on every batch that the sampler asks for: what iterates the loader leaves some out"
_OF_STREAMS = {
    "lost": ("", "give each sample to one of the workers: itertools.islice(samples, worker, None, workers) does"),
}
_REMEDIES = {
    "truncated": ("DL309", "give next() a default, or raise another error: StopIteration ends the epoch silently"),
    "lost": ("", "make one sample for each index that is asked for"),
    "duplicated": ("", "let each worker, and each index, give its own samples once"),
    "unsharded": ("DL405", "split the dataset by torch.utils.data.get_worker_info()"),
    "starved": ("", "use no more workers than shards, or split finer"),
    "not_reshuffled": ("", "do not seed torch, or the loader's generator, anew in every epoch"),
    "stale": ("DL308", "leave persistent_workers out, or share the epoch with the workers (a shared tensor)"),
    "differs_with_workers": ("DL303", "open files in the worker, on first use: forked workers share their position"),
    "uneven_sampler": ("", "if the sampler means it, leave order out of this loader's checks"),
    "overwritten": (
        "",
        "return a copy: a tensor or array that the dataset fills anew is the same memory in every sample of a batch",
    ),
    "left_out": ("", "if the function means to leave samples out, nothing is wrong; else hand on all of them"),
    "whole": ("", "a list of samples, or columns that all have a row for each index, can be looked at"),
    "same_order": (
        "",
        "in training, draw the order anew: from the epoch that set_epoch is told, or a generator that goes on",
    ),
    "wrong_length": ("", "count what __iter__ gives, or leave __len__ out: schedules and progress go by len(loader)"),
    "length_per_worker": (
        "",
        "end the epoch in each worker after its part, length // get_worker_info().num_workers, or in the main process "
        "after as many batches (webdataset: WebLoader(...).with_epoch(batches))",
    ),
    "changed_in_place": (
        "",
        "change a copy (array.copy(), tensor.clone(), x = x / 255 in place of x /= 255): every epoch changes what the "
        "one before has left, in each worker for itself",
    ),
    "follows_readings": (
        "",
        "if samples are meant to follow how often they were read, count in the sampler: each worker counts for itself, "
        "and forgets it when it ends",
    ),
    "hash_order": ("", _SORT),
    "hash_order_divided": ("", _SORT),
    "shuffles_itself": (
        "",
        "leave the order to the sampler (shuffle=True), or shuffle in set_epoch from the epoch: workers have copies",
    ),
    "cut_by_len": (
        "",
        "iterate the DataLoader to its end: len() of a stream counts its batches as if it had no workers",
    ),
    "dropped_by_workers": (
        "",
        "give each worker whole batches of rows: row // batch_size % workers == worker",
    ),
    "shuffle_undone": ("", "keep what was shuffled in a list or a dict: a set, or sorted(), puts it in order again"),
    "batches_lost": ("", "hand on the last batch, too: what looks ahead still holds one when the loader inside ends"),
    "reused": ("", "make a new batch each time, or copy one that is kept, or still on its way to a device"),
    "process_changed": (
        "",
        "if the loop means it, nothing is wrong; else leave torch.no_grad() and its like before a yield",
    ),
    "few_weights": ("", "give a weight for each sample: weights_of_classes[labels], where they are those of classes"),
    "type_changes": ("", "give the field one type in every sample: a batch takes that of its first"),
    "field_missing": ("", "give every sample the same fields, or fill in what is missing when collating"),
    "not_a_number": ("", "if NaN marks what is missing, nothing is wrong; else look for a division by 0"),
    "gradients": ("", "call .detach(), or make samples under torch.no_grad(): batches carry their graph"),
    "misaligned": ("", "if the fields are mixed on purpose, nothing is wrong; else sort whole samples"),
    "shared_by_workers": (
        "DL405",
        "unless workers draw with replacement, split the dataset by torch.utils.data.get_worker_info()",
    ),
    "unlike": ("", "if content may depend on the worker, nothing is wrong; else compare num_workers=0 by hand"),
}
