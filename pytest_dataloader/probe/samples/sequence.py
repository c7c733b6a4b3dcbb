"""What traced epochs say about the order of samples: lost, repeated, unsharded, stale."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader import sampling
from pytest_dataloader.probe.loader.positions import length_of
from pytest_dataloader.probe.loader.recognition import is_of_library
from pytest_dataloader.probe.samples.generators import open_files
from pytest_dataloader.probe.samples.hash_order import find_hash_orders
from pytest_dataloader.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_dataloader.probe.samples.hash_order import HashOrder
    from pytest_dataloader.probe.samples.provenance import TracedEpoch
    from pytest_dataloader.probe.samples.reference import Reference
    from pytest_dataloader.probe.samples.side_effects import SideEffect

OrderFaultKind = Literal[
    "truncated", "lost", "duplicated", "unsharded", "starved", "not_reshuffled", "stale", "differs_with_workers",
    "uneven_sampler", "unlike", "same_order", "wrong_length", "whole", "overwritten",
    "left_out", "dropped_by_workers", "cut_by_len", "length_per_worker", "changed_in_place", "follows_readings",
    "type_changes", "field_missing", "not_a_number", "gradients", "misaligned", "few_weights", "shuffle_undone",
    "batches_lost", "reused", "process_changed", "shared_by_workers", "hash_order",
    "hash_order_divided", "shuffles_itself", "ends_by_worker",
]  # fmt: skip
UNSURE_ORDERS = frozenset({
    "uneven_sampler", "unlike", "same_order", "whole", "left_out", "dropped_by_workers", "follows_readings",
    "type_changes", "field_missing", "not_a_number", "gradients", "misaligned", "shuffle_undone",
    "reused", "process_changed", "shared_by_workers", "hash_order", "ends_by_worker",
})  # fmt: skip
"""Kinds that may be meant, or hide what was looked for: told as inconclusive."""

_TELLING = 8
"""Samples that must agree in order before two sequences count as one; shuffled by chance: 1 in 40,320."""
_APART = 5
"""Times as many samples in two workers as twice in one, from which they are not alike by nature. Of samples that are
drawn with replacement two workers share as many as come twice in one of them, both taken together."""
_ARRANGED = 0.75
"""Share of its steps at which an order that somebody arranged goes up; a shuffled one goes up at half of them, and of 8
samples at this share in 1 of 160 orders."""
_MATES = 8
"""Batches of samples that must have come in both epochs."""
_BY_CHANCE = 2.0
_FEW = 0.05
"""A sampler of the user's that leaves out or repeats more than this share means to."""


@dataclass(frozen=True, slots=True)
class OrderFault:
    """One fault: ``source`` is the function, sampler or attribute; ``count`` samples are concerned."""

    kind: OrderFaultKind
    source: str
    detail: str
    count: int = 0


@dataclass(frozen=True, slots=True)
class LoaderFacts:
    """What is known of a loader beside its epochs. ``given`` is what the sampler gives in a whole epoch."""

    dataset: str
    sampler: str
    size: int
    workers: int
    persistent: bool
    shuffles: bool
    expected: Sequence[int] | None
    given: Sequence[Any]
    given_all: bool
    drops_last: bool
    keeps_iterator: bool = False
    files: tuple[str, ...] = ()
    collate: str = ""
    written_down: bool = False
    """Whether the sampler is a list or its like: an order that is meant."""
    batch_size: int = 1
    ranks: int = 1
    batches: int = 0
    """What the loader's own len() says; 0 where it has none."""
    batched: bool = True
    """Whether the sampler that it asks gives batches."""
    hash_orders: tuple[HashOrder, ...] = ()
    divided: bool = False
    """Whether several ranks, of this job or by their sampler, divide what it reads."""
    of_library: bool = False
    """Whether the dataset's class is a library's."""
    weights: int = 0
    """How many samples the sampler has a weight for; 0 for one without weights."""

    @property
    def slack(self) -> int:
        """Samples of a stream by which filling the batches of its workers explains another length."""
        return self.batch_size * max(1, self.workers)


def loader_facts(
    loader: Any, given: Sequence[Any], given_all: bool, keeps_iterator: bool, ranks: int = 1
) -> LoaderFacts:
    """What is known of a loader, beside what its sampler gave."""
    return LoaderFacts(
        dataset=type(loader.dataset).__name__,
        sampler=type(sampling.named_sampler(loader)).__name__,
        size=length_of(loader.dataset),
        workers=loader.num_workers,
        persistent=bool(loader.persistent_workers),
        shuffles=sampling.shuffles(loader),
        expected=sampling.expected_indices(loader),
        given=given,
        given_all=given_all,
        drops_last=bool(getattr(sampling.batching(loader), "drop_last", False)),
        keeps_iterator=keeps_iterator,
        collate=getattr(loader.collate_fn, "__qualname__", type(loader.collate_fn).__name__),
        files=open_files([("dataset", loader.dataset)]),
        written_down=hasattr(sampling.named_sampler(loader), "__getitem__"),
        batch_size=getattr(loader, "batch_size", None) or 1,
        ranks=ranks,
        batches=length_of(loader),
        batched=torch_private.reads_batches(loader),
        hash_orders=find_hash_orders([("dataset", loader.dataset), ("collate_fn", loader.collate_fn)]),
        divided=ranks > 1 or sampling.is_distributed(loader),
        of_library=is_of_library(loader.dataset),
        weights=length_of(getattr(sampling.inner_sampler(loader), "weights", None)),
    )


def flat(batches: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The indices of an epoch in order."""
    return list(itertools.chain.from_iterable(batches))


def indexed_faults(
    epochs: Sequence[TracedEpoch], about: LoaderFacts, alone: Reference | None, effect: SideEffect | None = None
) -> Iterator[OrderFault]:
    """Faults of a loader whose dataset is indexed; ``effect`` is what reading changes in it."""
    yield from _of_batches(epochs[0], about)
    yield from _of_hash_order(about)
    if effect is not None and effect.is_of_samples:
        yield _changed_by_reading(effect)
    yield from _not_delivered(epochs, about)
    whole = [entry for epoch in epochs for entry in epoch.entries if entry.kind == "whole"]
    if whole:
        detail = "__getitems__ returns whole batches, in which samples cannot be matched to indices"
        yield OrderFault("whole", about.dataset, detail, sum(len(entry.indices) for entry in whole))
    yield from _of_sampler(about)
    yield from _length_of_sampler(epochs[-1], about)
    orders = [flat(epoch.given.indices) for epoch in epochs]
    length = min(map(len, orders))
    if length >= _TELLING and orders[0][:length] == orders[1][:length] and not is_endless(epochs[0], about):
        if about.shuffles:
            yield OrderFault("not_reshuffled", about.sampler, "same order in both epochs, despite shuffling", length)
        elif about.written_down:
            pass
        elif _is_arranged(orders[0][:length]):
            if all(epoch.given.drew for epoch in epochs) and len(set(orders[0][:length])) >= _TELLING:
                detail = "draws random numbers, but gives the stored order in both epochs"
                yield OrderFault("shuffle_undone", about.sampler, detail, length)
        else:
            detail = "same order in both epochs\nright in evaluation, wrong in training"
            yield OrderFault("same_order", about.sampler, detail, length)
    if alone is not None and not whole:
        yield from _unlike_alone(epochs, about, alone)
        yield from _shuffled_in_workers(epochs, about, alone)


def is_endless(epoch: TracedEpoch, about: LoaderFacts) -> bool:
    """Whether a sampler without a length goes on after as many indices as there are samples: it is iterated once."""
    return not (epoch.given.lengths or about.given_all) and 0 < about.size < len(about.given)


def _changed_by_reading(effect: SideEffect) -> OrderFault:
    others = f"{effect.changed} of {effect.read} samples differ when read again"
    if effect.held:
        detail = f"changed in place by reading\n{others}, unless it is restored"
        return OrderFault("changed_in_place", effect.attribute, detail, effect.changed)
    detail = f"changed by reading, and samples depend on it\n{others}, unless it is restored"
    return OrderFault("follows_readings", effect.attribute, detail, effect.changed)


def _of_hash_order(about: LoaderFacts) -> Iterator[OrderFault]:
    """Data in the order of a set, where another process has another one."""
    for each in about.hash_orders:
        order = f"the order of its {each.count:,} strings is that of a set, which differs between processes"
        if each.labels:
            means = "labels get other numbers in every run"
            yield OrderFault("hash_order_divided", each.path, f"{order}\n{means}", each.count)
        elif about.divided:
            means = "each rank divides another list"
            yield OrderFault("hash_order_divided", each.path, f"{order}\n{means}", each.count)
        else:
            means = "an index is another sample in every run"
            yield OrderFault("hash_order", each.path, f"{order}\n{means}", each.count)


def _is_arranged(order: Sequence[Any]) -> bool:
    """Whether an order mostly goes up, as one in turn does, by ranks or with repeats."""
    try:
        up = sum(bool(one <= other) for one, other in itertools.pairwise(order))
    except TypeError:  # indices that have no order: who gives them has arranged them
        return True
    return up >= _ARRANGED * (len(order) - 1)


def _of_batches(epoch: TracedEpoch, about: LoaderFacts) -> Iterator[OrderFault]:
    """Samples that were read well and did not come into their batch."""
    overwritten, left_out = (
        sum(len(entry.digests) for entry in epoch.entries if entry.kind == kind) for kind in ("overwritten", "left out")
    )
    of = counted(sum(len(entry.digests) for entry in epoch.samples), "sample")
    if overwritten:
        detail = f"{overwritten:,} of {of} are overwritten before they are batched\nsamples of a batch share memory"
        yield OrderFault("overwritten", about.dataset, detail, overwritten)
    if left_out:
        detail = f"drops {left_out:,} of {of}"
        yield OrderFault("left_out", about.collate, detail, left_out)


def _not_delivered(epochs: Sequence[TracedEpoch], about: LoaderFacts) -> Iterator[OrderFault]:
    """What the sampler gave and the loader did not make of it."""
    for epoch in epochs:
        stops = [entry for entry in epoch.entries if entry.kind == "stop"]
        if stops:
            at = f" at index {stops[0].indices[0]!r}" if stops[0].indices else " while collating"
            seen = f"StopIteration{at} ended the epoch after {counted(epoch.batches, 'batch')}"
            yield OrderFault("truncated", about.dataset, seen, sum(len(stop.indices) for stop in stops))
            return
        if about.keeps_iterator:
            continue
        given = Counter(flat(epoch.given.indices))
        made = Counter(index for entry in epoch.samples for index in entry.indices)
        lost, more = given - made, made - given
        short = len(epoch.given.indices) - epoch.batches
        if wrong := [entry for entry in epoch.samples if len(entry.indices) != len(entry.digests)]:
            returned, asked = len(wrong[0].digests), len(wrong[0].indices)
            detail = f"__getitems__ returns {counted(returned, 'sample')} for {asked} indices"
            in_all = f"so in {counted(len(wrong), 'batch')}" if len(wrong) > 1 else ""
            yield OrderFault("lost", about.dataset, f"{detail}\n{in_all}".strip(), len(wrong))
        elif made and (lost or short > 0) and epoch.given.exhausted:
            missing = [(max(0, short), "batch"), (lost.total(), "sample")]
            never = " and ".join(counted(number, what) for number, what in missing if number)
            at_the_end = short > 0 and lost == Counter(flat(epoch.given.indices[-short:]))
            detail = f"drops {never} that the sampler gave{', at the end' if at_the_end else ''}"
            yield OrderFault("lost", "the loader", detail, max(lost.total(), short))
        elif unasked := more - _given_again(epoch):
            detail = f"reads {counted(unasked.total(), 'sample')} more often than the sampler gives them"
            yield OrderFault("duplicated", "the loader", detail, unasked.total())
        elif more and epoch.batches > about.batches > 0:
            passes = f"its __iter__ goes through the sampler {len(epoch.passes)} times"
            detail = f"len() is {counted(about.batches, 'batch')}, but an epoch gives {epoch.batches:,}: {passes}"
            yield OrderFault("duplicated", "the loader", detail, more.total())
        else:
            continue
        return


def _given_again(epoch: TracedEpoch) -> Counter[Any]:
    """What the sampler gave in the other passes of an epoch that has several."""
    return Counter(index for given in epoch.passes if given is not epoch.given for index in flat(given.indices))


def passes_in(epoch: TracedEpoch, about: LoaderFacts) -> int:
    """How often an epoch that was read to its end goes through all that there is; 1 where it does not, or once."""
    ends = Counter(entry.worker for entry in epoch.entries if entry.kind == "end")
    if ends:
        return min(ends.values())
    once = len(flat(epoch.given.indices))
    return 1 if about.keeps_iterator or not once else max(1, sum(len(e.indices) for e in epoch.samples) // once)


def _of_sampler(about: LoaderFacts) -> Iterator[OrderFault]:
    if not about.given_all or not about.size:
        return
    given = Counter(about.given)
    if 0 < about.weights < about.size and all(isinstance(index, int) and index < about.weights for index in given):
        detail = (
            f"{counted(about.weights, 'weight')} for {counted(about.size, 'sample')}\n"
            f"only the first {counted(about.weights, 'sample')} are ever drawn"
        )
        yield OrderFault("few_weights", about.sampler, detail, about.size - about.weights)
        return
    if about.expected is not None:
        yield from _unexpected(given, Counter(about.expected), about)
        return
    if not all(isinstance(index, int) for index in given):
        return
    left_out = about.size - len(given)
    repeated = given.total() - len(given)
    if (left_out or repeated) and max(left_out, repeated) <= _FEW * about.size and not about.drops_last:
        missing = list(itertools.islice((index for index in range(about.size) if index not in given), 3))
        named = f" ({', '.join(map(str, missing))}{', ...' if left_out > len(missing) else ''})" if missing else ""
        detail = f"leaves out {left_out:,} of {counted(about.size, 'sample')}{named} and repeats {repeated:,}"
        yield OrderFault("uneven_sampler", about.sampler, detail, left_out + repeated)


def _length_of_sampler(epoch: TracedEpoch, about: LoaderFacts) -> Iterator[OrderFault]:
    """A sampler whose len() is far from what it gives in a whole epoch; one that estimates it comes near."""
    gives = len(epoch.given.indices)
    told = min(epoch.given.lengths, key=lambda length: abs(length - gives), default=0)
    if epoch.given.exhausted and told and not about.keeps_iterator and abs(told - gives) > max(1, _FEW * told):
        what = "batch" if about.batched else "sample"
        detail = f"len() is {counted(told, what)}, but an epoch has {gives:,}"
        yield OrderFault("wrong_length", about.sampler, detail, abs(told - gives))


def _unexpected(given: Counter[Any], expected: Counter[Any], about: LoaderFacts) -> Iterator[OrderFault]:
    if more := given - expected:
        yield OrderFault(
            "duplicated", about.sampler, f"gives {counted(more.total(), 'sample')} more than once", more.total()
        )
    lost = (expected - given).total()
    if lost and not about.drops_last:
        yield OrderFault("lost", about.sampler, f"leaves out {lost:,} of {counted(about.size, 'sample')}", lost)


def _unlike_alone(epochs: Sequence[TracedEpoch], about: LoaderFacts, alone: Reference) -> Iterator[OrderFault]:
    """Samples that workers make otherwise than one process does, where seeds change nothing."""
    if not alone.steady or not about.workers:
        return
    contents = [_contents(epoch) for epoch in epochs]
    indices = list(dict.fromkeys(flat(epochs[0].given.indices)))
    first = {index: seen for index, seen in zip(indices, alone.first, strict=False) if index not in alone.random}
    if alone.follows_epoch:
        told = {index: seen for index, seen in zip(indices, alone.next_epoch, strict=False) if index in first}
        old = [index for index, content in told.items() if contents[1].get(index) == {first[index]} != {content}]
        if old:
            yield _stale(about)
        contents = contents[:1]
    compared = [(made[index], content) for index, content in first.items() for made in contents if index in made]
    unlike = sum(found != {content} for found, content in compared)
    if unlike and (about.files or unlike <= len(compared) / 2):
        where = about.files[0] if about.files else about.dataset
        detail = f"{unlike:,} of {len(compared):,} samples differ from what num_workers=0 gives"
        yield OrderFault("differs_with_workers", where, detail, unlike)
    elif unlike:
        detail = f"{unlike:,} of {len(compared):,} samples differ between workers and one process"
        yield OrderFault("unlike", about.dataset, detail, unlike)


def indices_unlike_alone(epochs: Sequence[TracedEpoch], alone: Reference) -> list[Any]:
    """The indices at which workers made other samples than one process does, where seeds seem to change nothing."""
    made = [_contents(epoch) for epoch in (epochs[:1] if alone.follows_epoch else epochs)]
    indices = dict.fromkeys(flat(epochs[0].given.indices))
    read = zip(indices, alone.first, strict=False) if alone.steady else ()
    return [index for index, content in read if any(each.get(index, {content}) != {content} for each in made)]


def _shuffled_in_workers(epochs: Sequence[TracedEpoch], about: LoaderFacts, alone: Reference) -> Iterator[OrderFault]:
    """A dataset that gives its samples at other indices when read again, and shuffles in each worker for itself."""
    known = set(alone.first)
    once = len(known) == len(alone.first) == about.size >= _TELLING
    if not once or alone.steady or not about.workers or not known.issuperset(alone.again):
        return
    for epoch in epochs:
        made = Counter(content for entry in epoch.samples for content in entry.digests)
        if epoch.given.exhausted and made.total() == about.size and known.issuperset(made) and len(made) < about.size:
            lost = about.size - len(made)
            detail = (
                f"shuffles its samples itself, differently in each of {about.workers} workers\n"
                f"{lost:,} of {about.size:,} samples never come in an epoch, others repeat"
            )
            yield OrderFault("shuffles_itself", about.dataset, detail, lost)
            return


def _contents(epoch: TracedEpoch) -> dict[Any, set[str]]:
    found: dict[Any, set[str]] = {}
    for entry in epoch.samples:
        aligned = len(entry.indices) == len(entry.digests)
        for index, content in zip(entry.indices, entry.digests, strict=True) if aligned else ():
            found.setdefault(index, set()).add(content)
    return found


def _stale(about: LoaderFacts) -> OrderFault:
    kept = "persistent workers keep the copy of the first epoch" if about.persistent else "workers do not see it"
    return OrderFault("stale", f"{about.dataset}.set_epoch", f"changes nothing in the workers\n{kept}")


def recurring_share(epochs: Sequence[TracedEpoch], batch_size: int) -> float:
    """Of the samples that come with one in a batch of a stream, the share that had come with it in the epoch before.

    0 where that is as chance has it, within twenty times, where the order is the same, or too few came in both.
    """
    batches: list[dict[str, frozenset[str]]] = []
    orders: list[list[str]] = []
    for epoch in epochs[:2]:
        made = by_worker(epoch)
        orders.append(list(itertools.chain.from_iterable(made[worker] for worker in sorted(made))))
        groups = [
            frozenset(contents[start : start + batch_size])
            for contents in made.values()
            for start in range(0, len(contents), batch_size)
        ]
        batches.append({content: group for group in groups for content in group})
    first, second = batches
    common = first.keys() & second.keys()
    length = min(map(len, orders))
    if batch_size < 2 or len(common) < _MATES * batch_size or orders[0][:length] == orders[1][:length]:
        return 0.0
    pairs = sum(len(first[content]) - 1 for content in common)
    again = sum(len(first[content] & second[content]) - 1 for content in common)
    share = again / max(1, pairs)
    return share if share >= _BY_CHANCE * batch_size / len(common) else 0.0


def by_worker(epoch: TracedEpoch) -> dict[int, list[str]]:
    """The contents that each worker made, in order; workers that made none have an empty list."""
    found: dict[int, list[str]] = {entry.worker: [] for entry in epoch.entries}
    for entry in epoch.samples:
        found[entry.worker] += entry.digests
    return found


def iterable_faults(epochs: Sequence[TracedEpoch], about: LoaderFacts, alone: Reference | None) -> Iterator[OrderFault]:
    """Faults of a loader whose dataset is iterated."""
    yield from _of_batches(epochs[0], about)
    yield from _of_hash_order(about)
    made = by_worker(epochs[0])
    total = sum(map(len, made.values()))
    passes = passes_in(epochs[0], about)
    ended = _ended(epochs[0])
    whole = is_whole(epochs[0])
    alike = [
        (one, other)
        for one, other in itertools.combinations(sorted(made), 2)
        if _same_beginning(made[one], made[other])
    ]
    held = whole and alone is not None and alone.complete
    if alike and (alone is None or not _repeats(made, made[alike[0][0]], alone, passes if held else 0)):
        detail = f"workers {alike[0][0]} and {alike[0][1]} give the same samples"
        yield OrderFault("unsharded", about.dataset, f"{detail}, so each comes {about.workers} times", total)
    elif alone is not None and held and about.workers:
        uneven = list(_uneven_stream(made, about, alone, passes))
        by_each = [] if any(fault.kind == "unsharded" for fault in uneven) else list(_length_per_worker(made, about))
        yield from by_each or uneven or _wrong_length(total // passes, about)
    elif alike:
        detail = "workers start with the same samples, which repeat in a single process, too"
        yield OrderFault("unlike", about.dataset, detail, total)
    elif whole:
        yield from _wrong_length(total // passes, about)
    elif shared := _shared(made):
        detail = f"{counted(shared, 'sample')} of {total:,} read came from two workers"
        yield OrderFault("shared_by_workers", about.dataset, detail, shared)
    if whole and passes == 1:
        yield from _dropped_by_workers(epochs[0], about, total)
    idle = [worker for worker, contents in made.items() if not contents and worker in ended]
    if idle and about.workers > 1 and total >= 2 * about.workers:
        detail = f"{len(idle)} of {about.workers} workers get no sample\nfewer shards than workers"
        yield OrderFault("starved", about.dataset, detail, len(idle))
    if alone is not None and alone.follows_epoch and about.workers:
        later = by_worker(epochs[1])
        pairs = [(contents, later[worker]) for worker, contents in made.items() if contents and later.get(worker)]
        if pairs and all(_same_beginning(one, other) for one, other in pairs):
            yield _stale(about)


def _shared(made: dict[int, list[str]]) -> int:
    """Samples that two workers gave; 0 where so many come again in one worker too, or where they are few.

    No proof in a part of an epoch: workers that draw shards with replacement may have drawn the same one.
    """
    counts = [Counter(contents) for contents in made.values()]
    within = sum(count.total() - len(count) for count in counts)
    shared = sum((one & other).total() for one, other in itertools.combinations(counts, 2))
    return shared if shared >= max(_TELLING, _APART * within) else 0


def dropped_of_stream(epoch: TracedEpoch, about: LoaderFacts) -> int:
    """Samples of a whole epoch that ``drop_last`` leaves out: of each worker those that fill no batch."""
    if not about.drops_last or not is_whole(epoch):
        return 0
    passes = passes_in(epoch, about)
    return sum(passes * (len(made) // passes % about.batch_size) for made in by_worker(epoch).values())


def _dropped_by_workers(epoch: TracedEpoch, about: LoaderFacts, total: int) -> Iterator[OrderFault]:
    """A stream of which each worker drops a last batch of its own, where len(loader) counts on one for all of them."""
    dropped = dropped_of_stream(epoch, about)
    if total == about.size and epoch.batches < about.batches and dropped > total % about.batch_size:
        detail = (
            f"len(loader) is {about.batches:,}, but an epoch has {counted(epoch.batches, 'batch')}\n"
            f"drop_last drops {dropped:,} of {total:,} samples, a partial batch of each of {about.workers} workers"
        )
        yield OrderFault("dropped_by_workers", about.dataset, detail, dropped)


def is_whole(epoch: TracedEpoch) -> bool:
    """Whether every worker read its part of a stream to the end: a loader may give a few batches of it on purpose.

    Not where the time was over: an epoch of several passes may have ended after the first.
    """
    return not epoch.cut and by_worker(epoch).keys() <= _ended(epoch)


def _ended(epoch: TracedEpoch) -> set[int]:
    return {entry.worker for entry in epoch.entries if entry.kind == "end"}


def _wrong_length(total: int, about: LoaderFacts) -> Iterator[OrderFault]:
    """A stream that is much longer or shorter than it says; a length may be that of all ranks together."""
    if about.size and all(abs(about.size - times * total) > about.slack for times in {1, about.ranks}):
        detail = f"len() is {counted(about.size, 'sample')}, but an epoch has {total:,}"
        yield OrderFault("wrong_length", about.dataset, detail, abs(about.size - total))


def _length_per_worker(made: dict[int, list[str]], about: LoaderFacts) -> Iterator[OrderFault]:
    """A stream of which each worker gives as many samples as its len() says of all workers together."""
    if about.workers > 1 and about.size and {len(each) for each in made.values()} == {about.size}:
        total = about.workers * about.size
        detail = (
            f"len() is {counted(about.size, 'sample')}, but an epoch has {total:,}\n"
            f"each of {about.workers} workers gives as many as its len()"
        )
        yield OrderFault("length_per_worker", about.dataset, detail, total - about.size)


def _same_beginning(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two sequences are one, as far as both go; not for samples that are all alike."""
    length = min(len(one), len(other))
    return list(one[:length]) == list(other[:length]) and len(set(one[:length])) >= min(_TELLING, max(2, len(one)))


def _repeats(made: dict[int, list[str]], begun: Sequence[str], alone: Reference, passes: int) -> bool:
    """Whether workers that begin alike may each have samples of their own: one process reads such ones several times.

    An epoch of whole ``passes`` that has what one process reads is proof. Of a part, not where one process begins like
    them, too: a worker that had only its share would be further on.
    """
    times = Counter(alone.first)
    if passes and Counter(itertools.chain.from_iterable(made.values())) == _times(alone, passes):
        return True
    again = [times[content] > 1 for content in begun if content in times]
    return alone.steady and not _same_beginning(begun, alone.first) and 2 * sum(again) > len(again)


def _times(alone: Reference, passes: int) -> Counter[str]:
    return Counter({content: passes * times for content, times in Counter(alone.first).items()})


def _uneven_stream(
    made: dict[int, list[str]], about: LoaderFacts, alone: Reference, passes: int
) -> Iterator[OrderFault]:
    contents = Counter(itertools.chain.from_iterable(made.values()))
    expected = _times(alone, passes)
    times = contents.total() / max(1, expected.total())
    if contents == expected:
        return
    many = Counter({content: expected[content] * about.workers for content in expected})
    if about.workers > 1 and contents == many:
        yield OrderFault("unsharded", about.dataset, f"each sample comes {about.workers} times", contents.total())
        return
    strange = sum(content not in expected for content in contents)
    if not alone.steady and strange:
        if about.workers > 1 and times == about.workers:
            detail = f"each worker gives as many samples as one process alone ({contents.total():,} together)"
            yield OrderFault("unlike", about.dataset, detail, contents.total())
        return
    if strange:
        detail = f"{strange:,} of {contents.total():,} samples differ between workers and one process"
        yield OrderFault("unlike", about.dataset, detail, strange)
        return
    if more := contents - expected:
        detail = f"{counted(more.total(), 'sample')} more with workers than with num_workers=0"
        yield OrderFault("duplicated", about.dataset, detail, more.total())
    if lost := expected - contents:
        if about.of_library and not more and lost.total() <= about.workers:
            of = counted(expected.total(), "sample")
            detail = f"leaves out {lost.total()} of {of} that num_workers=0 gives"
            yield OrderFault("ends_by_worker", about.dataset, f"{detail}\neach worker ends its own part", lost.total())
            return
        detail = f"leaves out {counted(lost.total(), 'sample')} that num_workers=0 gives"
        yield OrderFault("lost", about.dataset, detail, lost.total())
