"""What to say of the memory of a loader, and what to change; pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_dataloader.probe.memory.growth import MATTERS
from pytest_dataloader.quantities import counted, figure, percent, size
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.probe.memory.evidence import Memory
    from pytest_dataloader.probe.memory.growth import Attribute
    from pytest_dataloader.probe.memory.kept_batches import KeptBatches

_CLOSURE = re.compile(r"(?P<function>[\w.]+)\.closure\['(?P<name>\w+)'\](?P<rest>.*)")
_WORTH_TELLING = 32 << 20
"""Bytes of batches made ahead from which somebody who looks for memory would want to know."""
SOURCES = {
    "pagemap": "by /proc/PID/pagemap",
    "smaps_rollup": "by smaps_rollup, the totals of the reading process",
    "none": "from no source: the private memory of workers could not be read",
}


def describe_memory(seen: Memory, allowed: str = "") -> str:
    """What was seen, behind it what was ``allowed``, then how sure that is: a fact a line."""
    if seen.batches_watched and (seen.reading_error or not seen.samples_read or seen.source == "none"):
        text = _watched(seen)
    elif seen.reading_error:
        text = f"reading samples raised {seen.reading_error}"
    elif seen.samples_read == 0:
        text = "no sample could be read"
    else:
        text = "\n".join(_SENTENCES[kind](seen) for kind in seen.kinds)
        if len(seen.kinds) > 1 and not _COSTLY.isdisjoint(seen.kinds):
            text += f"\ntogether {_cost(seen)}"
    if seen.kept_batches.keeper and (kept := kept_sentence(seen.kept_batches)) not in text:
        text = f"{kept}\n{text}"
    if seen.sampler.is_worth_telling and (held := _sampler_memory(seen)) not in text:
        text += f"\n{held}"
    if seen.bytes_ahead >= _WORTH_TELLING:
        ahead = f"{counted(seen.batches_ahead, 'batch')} of {size(seen.batch_bytes)}"
        text += f"\n{size(seen.bytes_ahead)} for prefetched batches: {ahead}"
    headline, *facts = text.splitlines()
    return "\n".join([headline + allowed, *facts, *_notes(seen)])


def screen(seen: Memory, allowed: str = "") -> str:
    """The sentence with what was allowed; below it what proves it, and a line for each attribute and worker watched."""
    lines = [describe_memory(seen, allowed), *_proof(seen)]
    for line in seen.attributes[:8]:
        share = f"{percent(line.share_copied)} copied" if line.sampled else "not sampled"
        verdict = f"+{size(line.growth_bytes)} per worker per epoch" if line.copied else "not copied by reading"
        verdict += ", written to in place" if line.written else ""
        lines.append(f"  {_place(line)}: {line.count:,} {line.type}, {size(line.exposed_bytes)}, {share}, {verdict}")
    if len(seen.attributes) > 8:
        lines.append(f"  and {len(seen.attributes) - 8} more")
    lines += [
        f"  worker {worker.worker}: private memory +{size(worker.private_growth_bytes)}, of it "
        f"{size(worker.copied_bytes)} copied from the parent, in {percent(seen.epoch_seen)} of an epoch"
        for worker in seen.worker_growth[:8]
        if worker.private_growth_bytes >= MATTERS
    ]
    return "\n".join(lines)


def _place(line: Attribute) -> str:
    """The attribute, and the part of its objects that most of its bytes lie in."""
    return line.path if line.finest in (line.path, f"{line.path}[*]") else f"{line.path} (most of it {line.finest})"


def _watched(seen: Memory) -> str:
    """What totals over an epoch say, where the direct test saw nothing."""
    worst = max(seen.worker_growth, key=lambda worker: worker.private_growth_bytes)
    return (
        f"+{size(worst.private_growth_bytes)} in a worker, {size(worst.copied_bytes)} of it copied from the parent: "
        f"{seen.kind.replace('_', ' ')}\nseen over {percent(seen.epoch_seen)} of an epoch\n"
        f"the direct test saw nothing: {seen.reading_error or 'no answer, or no source'}"
    )


def _notes(seen: Memory) -> list[str]:
    notes = [note for note in (*seen.partly, seen.unclear) if note]
    if seen.kept_batches.extent == "not seen":
        came = counted(seen.kept_batches.batches, "batch")
        notes.append(f"whether something keeps its batches was not seen in {came}")
    if seen.source != "pagemap" and seen.start_method == "fork":
        why = f" ({', '.join(seen.withheld)})" if seen.withheld else ""
        notes.append(f"judged {SOURCES[seen.source]}{why}")
    if seen.workers and seen.predicted_total_bytes > seen.available_bytes:
        notes.append(f"only {size(seen.available_bytes)} of memory is available here")
    return notes


def _alone(seen: Memory) -> str:
    """What the only fault costs, in a line of its own; several costs are said once, and 0 of no known epoch never."""
    return f"\n{_cost(seen)}" if len(seen.kinds) == 1 and seen.growth_bytes_per_worker else ""


def _cost(seen: Memory) -> str:
    per_worker = f"about {size(seen.growth_bytes_per_worker)} per worker per epoch"
    if not seen.workers:
        return f"{per_worker} with workers, none with num_workers=0"
    return f"{per_worker}, {size(seen.predicted_total_bytes)} in {counted(seen.workers, 'worker')}"


def _clean(seen: Memory) -> str:
    text = "no copy-on-write growth"
    read = f"({counted(seen.samples_read, 'sample')} read)"
    small = [line for line in seen.attributes if line.copied]
    if small:
        line = small[0]
        return f"{size(line.copied_bytes)} of copy-on-write growth, threshold {size(MATTERS)} {read}\n{line.finest}"
    if seen.source == "none":
        exposed = sum(line.exposed_bytes for line in seen.attributes)
        return f"{size(exposed)} of Python objects may be copied by each worker\ncopies could not be measured"
    return f"{text} {read}"


def _warm_up(seen: Memory) -> str:
    return f"no growth after a warm-up of {size(seen.warm_up_bytes)} per worker, for imports and buffers"


def _copy_on_access(seen: Memory) -> str:
    objects = f"{seen.count:,} {seen.type} objects"
    alone = len(seen.kinds) == 1 and seen.growth_bytes_per_worker
    of_it = next((line.growth_bytes for line in seen.attributes if seen.attribute in (line.path, line.finest)), 0)
    growth = seen.growth_bytes_per_worker if alone else of_it
    each = f"{size(growth)} per worker{' per epoch' if alone else ''}: " if growth else ""
    written = ", changed in place" if seen.written_in_place else ""
    lines = [f"{each}copy-on-write of {_spoken(seen.attribute)}{written}", objects]
    if seen.attribute_filled_at and not seen.written_in_place:
        lines.append(f"filled at {seen.attribute_filled_at}")
    if seen.written_in_place:
        lines.append("making a sample writes to them in place")
    else:
        lines.append("each read writes to a reference count, which copies the page")
    if alone and seen.workers:
        lines.append(f"{size(seen.predicted_total_bytes)} in {counted(seen.workers, 'worker')}")
    elif alone:
        lines.append("num_workers=0 copies nothing: this is what workers would cost")
    return "\n".join(lines)


def _proof(seen: Memory) -> Iterator[str]:
    """What says that reading copies, for those who ask."""
    if "copy_on_access" in seen.kinds:
        samples = counted(seen.samples_read, "sample")
        looked_at = f"{percent(seen.share_copied)} of what was looked at"
        what = looked_at if seen.source == "pagemap" or seen.written_in_place else "memory"
        yield f"  reading {samples} copied {what}, an idle worker copied none"


def _spoken(path: str) -> str:
    """The path of an attribute, with a variable of a closure as people call it.

    >>> _spoken("dataset.get.closure['rows'][*]")
    'closure variable rows[*] of dataset.get'
    """
    return _CLOSURE.sub(r"closure variable \g<name>\g<rest> of \g<function>", path)


def _filled(seen: Memory) -> str:
    """Where what accumulates is filled, in a line of its own."""
    return f"\nfilled at {seen.accumulating_filled_at}" if seen.accumulating_filled_at else ""


def _cache(seen: Memory) -> str:
    name = _spoken(seen.accumulating_attribute) or "an unknown object"
    bytes_each = size(seen.accumulated_bytes_per_sample)
    if seen.accumulated_elements:
        headline = f"cache: {bytes_each} in each of {seen.accumulated_elements:,} elements of {name}"
    else:
        headline = f"cache: {bytes_each} per new sample in {name}"
    return f"{headline}{_filled(seen)}\neach worker fills its own{_alone(seen)}"


def _leak(seen: Memory) -> str:
    what = _spoken(seen.accumulating_attribute) or "a worker"
    headline = f"leak: {size(seen.accumulated_bytes_per_sample)} per sample read in {what}"
    return f"{headline}{_filled(seen)}\nit grows with samples that were read before, too{_alone(seen)}"


def kept_sentence(kept: KeptBatches) -> str:
    """What an iterable keeps of its batches."""
    facts = [f"{size(kept.bytes_per_batch)} of each batch kept by {kept.keeper} after the loop has dropped it"]
    epoch = f"{size(kept.bytes_per_epoch)} in an epoch of {counted(kept.batches_in_epoch, 'batch')}"
    looked = f"seen in {counted(kept.batches, 'batch')}"
    match kept.extent:
        case "without end":
            facts.append(f"{epoch}, and as much again in the next")
        case "an epoch":
            facts += [epoch] if kept.batches_in_epoch else []
            lost = ", although the loader shuffles" if kept.shuffles else ""
            facts += [f"each later epoch gives the same batches again{lost}"] if kept.given_again else []
        case _:
            facts += [f"{epoch}, if it goes on"] if kept.batches_in_epoch else []
            looked += ", too few to distinguish a cache or a buffer from a leak"
    return "\n".join([*facts, looked])


def _retained(seen: Memory) -> str:
    if seen.kept_batches.keeper:
        return kept_sentence(seen.kept_batches)
    kept = size(seen.kept_bytes_per_batch) if seen.kept_bytes_per_batch else "shared memory"
    return f"leak: {kept} of each batch kept by the loader after the loop has dropped it"


def _reference_cycles(seen: Memory) -> str:
    found = seen.reference_cycles
    where = "each worker" if seen.workers else "the process that reads"
    kinds = f" ({', '.join(found.types)})" if found.types else ""
    between = found.samples_between_collections
    runs = f"every {counted(between, 'sample')}" if between else "never in an epoch"
    facts = [
        f"{size(found.peak_bytes)} of garbage in reference cycles at the peak in {where}",
        f"{size(found.bytes_per_sample)} per sample{kinds}, until the garbage collector runs ({runs})",
        f"{size(found.reachable_bytes)} are in use",
    ]
    if seen.workers:
        facts.append(f"{size(seen.workers * found.peak_bytes)} in {counted(seen.workers, 'worker')}")
    return "\n".join(facts)


def _sampler_memory(seen: Memory) -> str:
    held = seen.sampler
    each = f"{size(held.bytes_per_sample)} for each of {counted(held.samples, 'sample')}"
    waits = f"{figure(held.cpu_seconds_to_first_batch)} s of CPU time before the first batch of each epoch"
    return f"{size(held.object_bytes)} in the main process for {held.sampler}\n{each}\n{waits}"


def _duplicated(seen: Memory) -> str:
    copy = f"{size(seen.growth_bytes_per_worker)} per worker: {seen.start_method} pickles the dataset to each worker"
    facts = [copy, *([f"most of it {seen.attribute}"] if seen.attribute else [])]
    if seen.workers == 0:
        facts.append("num_workers=0 copies nothing: this is what workers would cost")
    else:
        facts.append(f"{size(seen.predicted_total_bytes)} in {counted(seen.workers, 'worker')}")
    return "\n".join(facts)


_COSTLY = frozenset({"copy_on_access", "cache", "leak", "reference_cycles"})
_SENTENCES = {
    "clean": _clean,
    "warm_up": _warm_up,
    "copy_on_access": _copy_on_access,
    "cache": _cache,
    "leak": _leak,
    "retained": _retained,
    "reference_cycles": _reference_cycles,
    "sampler_memory": _sampler_memory,
    "duplicated": _duplicated,
}


def advice(seen: Memory) -> tuple[Advice, ...]:
    """What to change, for each kind found."""
    found = []
    if "copy_on_access" in seen.kinds:
        found.append(Advice("", _COPY_FIRST) if seen.written_in_place else Advice("DL301", _instead(seen)))
    if "cache" in seen.kinds:
        text = "bound the cache (functools.lru_cache(maxsize=...)), share it (numpy.memmap), or remove it"
        found.append(Advice("DL302", text))
    if "leak" in seen.kinds:
        text = "do not store what a sample makes on the dataset, in globals or in closures: return it with the sample"
        found.append(Advice("DL302", text))
    if "retained" in seen.kinds:
        text = "in the loader's own __iter__, keep no batch after it is yielded: a kept batch keeps its shared memory"
        around = seen.kept_batches
        found.append(Advice("", let_go(around)) if around.keeper else Advice("DL305", text))
    if "reference_cycles" in seen.kinds:
        found.append(Advice("", _BREAK_CYCLES))
    if "sampler_memory" in seen.kinds:
        found.append(Advice("", _in_pieces(seen)))
    if "duplicated" in seen.kinds:
        text = "keep the data in torch tensors, which workers share, or open it in the worker (numpy.memmap, pyarrow)"
        found.append(Advice("", text))
    return tuple(found)


_BREAK_CYCLES = (
    "break the cycle at the end of __getitem__: close what was read, set a reference to None, or use weakref.ref"
)
_COPY_FIRST = (
    "change a copy: x = x - mean, not x -= mean. If it is a cache that workers fill, make it a tensor and call "
    "share_memory_() on it before they start"
)


def let_go(kept: KeptBatches) -> str:
    """What to do in place of keeping batches, and what came of trying it."""
    if not kept.given_again:
        text = "drop each batch once it is given, or keep numbers of it (.item())"
    else:
        text = "while True: yield from loader"
    if not kept.tried_batches:
        return text
    stayed = f"{size(kept.tried_bytes)} of its batches stayed" if kept.tried_bytes else "none of its batches stayed"
    return f"{text}. Tried with {counted(kept.tried_batches, 'batch')}: {stayed}"


def _in_pieces(seen: Memory) -> str:
    held = seen.sampler
    if held.sampler == "WeightedRandomSampler":
        return "call torch.multinomial for some 65,536 samples at a time, in a sampler of your own"
    if held.blockwise_bytes < 0:
        return "keep indices in an array (8 B each), or yield them one by one, not in a list of Python integers"
    return (
        "shuffle in blocks: a sampler that takes blocks of indices in random order and shuffles each. Tried with "
        f"65,536: {size(held.blockwise_bytes)}, {figure(held.blockwise_cpu_seconds)} s to the first batch"
    )


_SEQUENCES = ("list", "tuple")
_NUMBERS = ("bool", "float", "int")
_ARRAYS = ("Tensor", "ndarray")
_OF_DATASET = re.compile(r"dataset\.(?P<name>\w+(?:\['\w+'\])?)(?P<records>(?:\[\*\].*)?)")
"""An attribute of the dataset, or a value of a dict there, and the path to what a record of it holds."""


def _instead(seen: Memory) -> str:
    """What holds the same without an object for each sample: code to paste, where what holds it now is known."""
    held = _OF_DATASET.fullmatch(seen.attribute)
    if held and seen.container in _SEQUENCES and seen.type not in _ARRAYS:
        flat = seen.type in _NUMBERS and not held["records"]
        text = in_one_array(held["name"]) if flat else packed_records(held["name"])
    else:
        shape = (
            "one stacked tensor or array, or a flat one with an array of offsets"
            if seen.type in _ARRAYS
            else "one array of numbers, or all its records in one array of bytes with an array of offsets"
        )
        text = f"keep {seen.attribute or 'the data'} in {shape}: workers share its pages"
    if seen.replacement is not None:
        tried = seen.replacement
        text += (
            f"\ntried with {tried.records:,} of its records in {tried.form}: {percent(tried.share_copied)} copied, "
            f"{size(tried.bytes_per_record)} per record, {tried.microseconds_per_read:.1f} us per read"
        )
    return text


def in_one_array(name: str) -> str:
    """Code that keeps a list of numbers without a Python object for each; dl-lint's DL301 says the same."""
    return f"keep numbers in one array, which workers share:\n    self.{name} = np.array(self.{name})"


def packed_records(name: str) -> str:
    """Code that keeps a list of any records without a Python object for each; dl-lint's DL301 says the same."""
    return f"""keep records in one array, which workers share:
    packed = [pickle.dumps(each) for each in self.{name}]
    self.ends = np.cumsum([len(each) for each in packed])
    self.{name} = np.frombuffer(b"".join(packed), np.uint8)
    # return len(self.ends) from __len__, and in __getitem__:
    start = self.ends[index - 1] if index else 0
    record = pickle.loads(self.{name}[start : self.ends[index]])"""
