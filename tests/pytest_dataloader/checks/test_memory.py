"""The memory check: its judgement over made-up evidence, and real loaders: class, attribute, what it withholds."""

from __future__ import annotations

import functools
import importlib
import multiprocessing
import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    Subset,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from pytest_dataloader import checks
from pytest_dataloader.checks import Setting, memory
from pytest_dataloader.errors import NothingSeen
from pytest_dataloader.probe.loader.batch_retention import KEPT_BYTES, kept_bytes_per_batch
from pytest_dataloader.probe.memory import copy_on_access, pagemap, sampler_memory
from pytest_dataloader.probe.memory.copy_on_access import Sources
from pytest_dataloader.probe.memory.epoch import WorkerGrowth
from pytest_dataloader.probe.memory.growth import MATTERS, Attribute
from pytest_dataloader.probe.memory.kept_batches import DOUBTFUL, KeptBatches
from pytest_dataloader.probe.memory.reference_cycles import LARGE_CYCLES, ReferenceCycles
from pytest_dataloader.probe.memory.replacement import Replacement
from pytest_dataloader.probe.memory.sampler_memory import LARGE_SAMPLER, SamplerMemory
from tests.judgement import Judgement
from tests.variants import every, named, variants
from tests.zoo import evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.memory.evidence import Memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forked workers and /proc")
SIZE = 40_000
MB = 10**6
QUICK = Setting()
WHOLE = Setting(seconds=600.0, bench=True)
"""Ample for an epoch on a busy machine too: watching ends with it."""
RUNS_OF_TWO = [[at, at + 1] for at in range(0, SIZE - 1, 9)]

SEEN = evidence.MEMORY
PATHS = Attribute(
    path="dataset.rows", finest="dataset.rows", type="str", count=100_000, exposed_bytes=12 * MB, object_bytes=9 * MB,
    share_copied=0.9, share_at_least=0.8, sampled=400, written=False, copied=True, copied_bytes=10 * MB,
    growth_bytes=12 * MB, growth_if_copied_bytes=12 * MB,
)  # fmt: skip
COPYING = replace(
    SEEN, kind="copy_on_access", kinds=("copy_on_access",), attribute="dataset.rows", type="str", count=100_000,
    exposed_bytes=12 * MB, share_copied=0.9, growth_bytes_per_worker=12 * MB, predicted_total_bytes=24 * MB,
    attributes=(PATHS,),
)  # fmt: skip
WRITING = replace(COPYING, type="ndarray", written_in_place=True)
CACHING = replace(
    SEEN, kind="cache", kinds=("cache",), accumulating_attribute="dataset.cache", accumulated_bytes_per_sample=4096.0,
    growth_bytes_per_worker=40 * MB, predicted_total_bytes=80 * MB,
)  # fmt: skip
SMALL_CACHE = replace(CACHING, growth_bytes_per_worker=MATTERS - 1, predicted_total_bytes=2 * MATTERS - 2)
LEAKING = replace(CACHING, kind="leak", kinds=("leak",), accumulating_attribute="dataset.log")
KEEPING = replace(SEEN, kind="retained", kinds=("retained",), kept_bytes_per_batch=8192.0)
CYCLES = ReferenceCycles(350 * MB, 1e6, 350, 2 * MB, ("Container", "Track"))
CYCLIC = replace(
    SEEN, kind="reference_cycles", kinds=("reference_cycles",), reference_cycles=CYCLES,
    growth_bytes_per_worker=350 * MB, predicted_total_bytes=700 * MB,
)  # fmt: skip
SMALL_CYCLES = replace(CYCLIC, reference_cycles=replace(CYCLES, peak_bytes=LARGE_CYCLES - 1))
PERMUTATION = SamplerMemory("RandomSampler", 400 * MB, 10 * MB, 0.5, 2_600_000, 0.0015)
SAMPLING = replace(SEEN, kind="sampler_memory", kinds=("sampler_memory",), sampler=PERMUTATION)
SMALL_PERMUTATION = replace(PERMUTATION, object_bytes=40 * MB, samples=MB, blockwise_bytes=-1)
CYCLE = KeptBatches("an epoch", "itertools.cycle", 520, 250, 131_080.0, True, True, 64, 0)
AROUND = replace(KEEPING, kept_bytes_per_batch=0.0, kept_batches=CYCLE)
GATHERING = replace(CYCLE, extent="unknown", keeper="kept of Module", batches=100, batches_in_epoch=1000)
DUPLICATED = replace(
    SEEN, kind="duplicated", kinds=("duplicated",), attribute="dataset.rows", start_method="spawn",
    growth_bytes_per_worker=20 * MB, predicted_total_bytes=40 * MB,
)  # fmt: skip
RAISING = replace(SEEN, samples_read=0, reading_error="KeyError: 7")
BLIND = replace(SEEN, source="none", attributes=(replace(PATHS, copied=False),))
WATCHED = replace(
    RAISING, batches_watched=90, epoch_seen=0.75,
    worker_growth=(
        WorkerGrowth(0, 7, 10 * MB, 1 * MB, 0, 2 * MB, 0), WorkerGrowth(1, 8, 19 * MB, 9 * MB, 6 * MB, 2 * MB, 6 * MB),
    ),
)  # fmt: skip
GROWING = replace(WATCHED, kind="copy_on_access", kinds=("copy_on_access",), growth_bytes_per_worker=9 * MB)
PACKED = Replacement("one array of bytes", 4096, 60.0, 0.0, 1.25)


def without_workers(seen: Memory) -> Memory:
    return replace(seen, workers=0, predicted_total_bytes=0)


def per_worker(limit: int) -> dict[str, int]:
    return {"max_worker_growth": limit}


def in_all(limit: int) -> dict[str, int]:
    return {"max_total_memory": limit}


RAISED = "reading samples raised KeyError: 7"
VERDICTS = {
    "a clean loader": Judgement(
        SEEN, "passed", "no copy-on-write growth (800 samples read)"
    ),
    "batches made ahead": Judgement(
        replace(SEEN, batches_ahead=4, batch_bytes=10_000_000), "passed",
        "no copy-on-write growth (800 samples read)\n"
        "40.0 MB for prefetched batches: 4 batches of 10.0 MB", in_full=True,
    ),
    "small batches made ahead": Judgement(
        replace(SEEN, batches_ahead=4, batch_bytes=8_000_000), "passed",
        "no copy-on-write growth (800 samples read)", in_full=True,
    ),
    "a little is copied": Judgement(
        replace(SEEN, attributes=(replace(PATHS, copied_bytes=900_000),)), "passed",
        "900.0 kB of copy-on-write growth, threshold 1.0 MB (800 samples read)\n"
        "dataset.rows",
    ),
    "a warm-up": Judgement(
        replace(SEEN, kind="warm_up", kinds=("warm_up",), warm_up_bytes=60 * MB), "passed",
        "no growth after a warm-up of 60.0 MB per worker, for imports and buffers",
    ),
    "copies on access": Judgement(
        COPYING, "failed",
        "12.0 MB per worker per epoch: copy-on-write of dataset.rows\n"
        "100,000 str objects\neach read writes to a reference count, which copies the page\n"
        "24.0 MB in 2 workers\n  reading 800 samples copied 90 % of what was looked at, an idle worker "
        "copied none\n  dataset.rows: 100,000 str, 12.0 MB, 90 % copied, +12.0 MB per worker per epoch", ("DL301",),
    ),
    "copies on access, seen by totals": Judgement(
        replace(COPYING, source="smaps_rollup", withheld=("pagemap is withheld",)), "failed",
        "12.0 MB per worker per epoch: copy-on-write of dataset.rows\n"
        "100,000 str objects\neach read writes to a reference count, which copies the page\n"
        "24.0 MB in 2 workers\njudged by smaps_rollup, the totals of the reading process (pagemap is "
        "withheld)\n  reading 800 samples copied memory, an idle worker copied none", ("DL301",),
    ),
    "copies on access, by a worker alone": Judgement(
        replace(COPYING, workers=1, predicted_total_bytes=12 * MB), "failed",
        "12.0 MB per worker per epoch: copy-on-write of dataset.rows\n"
        "100,000 str objects\neach read writes to a reference count, which copies the page\n"
        "12.0 MB in 1 worker", ("DL301",),
    ),
    "copies on access of a part": Judgement(
        replace(COPYING, attribute="dataset.rows[*]['path']", attribute_filled_at="data.py:31",
                attributes=(replace(PATHS, finest="dataset.rows[*]['path']"),)), "failed",
        "12.0 MB per worker per epoch: copy-on-write of dataset.rows[*]['path']\n"
        "100,000 str objects\nfilled at data.py:31",
        ("DL301",),
    ),
    "copies on access, no workers": Judgement(
        without_workers(COPYING), "passed",
        "12.0 MB per worker per epoch: copy-on-write of dataset.rows\n"
        "100,000 str objects\neach read writes to a reference count, which copies the page\n"
        "num_workers=0 copies nothing: this is what workers would cost", ("DL301",),
    ),
    "copies on access, at the limit": Judgement(
        COPYING, "passed", "12.0 MB per worker per epoch: copy-on-write of dataset.rows",
        ("DL301",), per_worker(12 * MB)
    ),
    "copies on access, above the limit": Judgement(
        COPYING, "failed",
        "12.0 MB per worker per epoch: copy-on-write of dataset.rows, limit 11.0 MB per worker\n"
        "100,000 str objects",
        ("DL301",), per_worker(11 * MB),
    ),
    "copies on access, at the limit of all": Judgement(
        COPYING, "passed", "12.0 MB per worker per epoch: copy-on-write of dataset.rows", ("DL301",), in_all(24 * MB)
    ),
    "copies on access, above the limit of all": Judgement(
        COPYING, "failed",
        "12.0 MB per worker per epoch: copy-on-write of dataset.rows, limit 23.0 MB in all workers\n"
        "100,000 str objects",
        ("DL301",), in_all(23 * MB),
    ),
    "copies on access, no workers, under limits": Judgement(
        without_workers(COPYING), "passed", "12.0 MB per worker per epoch: copy-on-write",
        ("DL301",), {**per_worker(0), **in_all(0)}
    ),
    "more than is left": Judgement(
        replace(COPYING, available_bytes=23 * MB), "failed",
        "12.0 MB per worker per epoch: copy-on-write of dataset.rows\n"
        "100,000 str objects\neach read writes to a reference count, which copies the page\n"
        "24.0 MB in 2 workers\nonly 23.0 MB of memory is available here", ("DL301",),
    ),
    "arrays that are written to": Judgement(
        WRITING, "failed",
        "12.0 MB per worker per epoch: copy-on-write of dataset.rows, changed in place\n"
        "100,000 ndarray objects\nmaking a sample writes to them in place",
        ("",),
    ),
    "a cache": Judgement(
        CACHING, "failed",
        "cache: 4.1 kB per new sample in dataset.cache\n"
        "each worker fills its own\nabout 40.0 MB per worker per epoch, 80.0 MB in 2 workers", ("DL302",),
    ),
    "a cache of chunks": Judgement(
        replace(CACHING, accumulated_elements=200), "failed",
        "cache: 4.1 kB in each of 200 elements of dataset.cache\n"
        "each worker fills its own\nabout 40.0 MB per worker per epoch, 80.0 MB in 2 workers", ("DL302",), in_full=True,
    ),
    "a cache of nobody knows what": Judgement(
        replace(CACHING, accumulating_attribute=""), "failed",
        "cache: 4.1 kB per new sample in an unknown object", ("DL302",),
    ),
    "a cache within the limit": Judgement(
        CACHING, "passed", "cache: 4.1 kB per new sample in dataset.cache", ("DL302",), per_worker(40 * MB)
    ),
    "a cache too small to matter": Judgement(
        SMALL_CACHE, "passed",
        "cache: 4.1 kB per new sample in dataset.cache", ("DL302",),
    ),
    "a cache just large enough": Judgement(
        replace(SMALL_CACHE, growth_bytes_per_worker=MATTERS), "failed",
        "cache: 4.1 kB per new sample in dataset.cache", ("DL302",)
    ),
    "a small cache above the limit": Judgement(
        SMALL_CACHE, "failed",
        "cache: 4.1 kB per new sample in dataset.cache, limit 10.0 kB per worker", ("DL302",),
        per_worker(10_000),
    ),
    "a small cache beside copies": Judgement(
        replace(SMALL_CACHE, kind="copy_on_access", kinds=("copy_on_access", "cache"), attribute="dataset.rows"),
        "failed",
        "copy-on-write of dataset.rows\n0  objects\n"
        "each read writes to a reference count, which copies the page\n"
        "cache: 4.1 kB per new sample in dataset.cache\n"
        "each worker fills its own\ntogether about 1.0 MB per worker per epoch, 2.1 MB in 2 workers\n"
        "  reading 800 samples copied 0 % of what was looked at, an idle worker copied none",
        ("DL301", "DL302"),
    ),
    "a cache without workers": Judgement(
        without_workers(CACHING), "passed",
        "cache: 4.1 kB per new sample in dataset.cache", ("DL302",),
    ),
    "a cache without workers, under a limit": Judgement(
        without_workers(CACHING), "passed", "cache: 4.1 kB per new sample in dataset.cache",
        ("DL302",), per_worker(10**12)
    ),
    "a leak": Judgement(
        replace(LEAKING, accumulating_filled_at="data.py:40"), "failed",
        "leak: 4.1 kB per sample read in dataset.log\n"
        "filled at data.py:40\nit grows with samples that were read before, too\n"
        "about 40.0 MB per worker per epoch, 80.0 MB in 2 workers", ("DL302",),
    ),
    "a leak within every limit": Judgement(
        LEAKING, "failed",
        "leak: 4.1 kB per sample read in dataset.log", ("DL302",), per_worker(10**12),
    ),
    "a leak of which no epoch is known": Judgement(
        replace(LEAKING, accumulating_attribute="", growth_bytes_per_worker=0), "failed",
        "leak: 4.1 kB per sample read in a worker\nit grows with samples that were read before, too",
        ("DL302",), in_full=True,
    ),
    "batches that are kept": Judgement(
        KEEPING, "failed",
        "leak: 8.2 kB of each batch kept by the loader after the loop has dropped it", ("DL305",),
    ),
    "segments that are kept": Judgement(
        replace(KEEPING, kept_bytes_per_batch=0.0), "failed",
        "leak: shared memory of each batch kept by the loader after the loop has dropped it", ("DL305",),
    ),
    "batches that are kept without workers": Judgement(
        without_workers(KEEPING), "failed",
        "leak: 8.2 kB of each batch kept by the loader after the loop has dropped it", ("DL305",)
    ),
    "batches that are kept within every limit": Judgement(
        KEEPING, "failed",
        "leak: 8.2 kB of each batch kept by the loader after the loop has dropped it", ("DL305",), in_all(10**12)
    ),
    "a copy per worker": Judgement(
        DUPLICATED, "passed",
        "20.0 MB per worker: spawn pickles the dataset to each worker\n"
        "most of it dataset.rows\n40.0 MB in 2 workers", ("",),
    ),
    "a copy per worker, if there were any": Judgement(
        without_workers(DUPLICATED), "passed",
        "20.0 MB per worker: spawn pickles the dataset to each worker\n"
        "most of it dataset.rows\nnum_workers=0 copies nothing: this is what workers would cost", ("",),
    ),
    "a copy per worker above the limit": Judgement(
        DUPLICATED, "failed",
        "20.0 MB per worker: spawn pickles the dataset to each worker, limit 19.0 MB per worker",
        ("",), per_worker(19 * MB)
    ),
    "garbage in cycles": Judgement(
        CYCLIC, "failed",
        "350.0 MB of garbage in reference cycles at the peak in each worker\n"
        "1.0 MB per sample (Container, Track), until the garbage collector runs (every 350 samples)\n"
        "2.0 MB are in use\n700.0 MB in 2 workers",
        ("",), in_full=True,
    ),
    "garbage that is never collected": Judgement(
        replace(CYCLIC, reference_cycles=replace(CYCLES, samples_between_collections=0, types=())), "failed",
        "350.0 MB of garbage in reference cycles at the peak in each worker\n"
        "1.0 MB per sample, until the garbage collector runs (never in an epoch)\n"
        "2.0 MB are in use\n700.0 MB in 2 workers", ("",),
    ),
    "garbage, no workers": Judgement(
        without_workers(CYCLIC), "failed",
        "350.0 MB of garbage in reference cycles at the peak in the process that reads\n"
        "1.0 MB per sample (Container, Track), until the garbage collector runs (every 350 samples)\n"
        "2.0 MB are in use", ("",),
        in_full=True,
    ),
    "garbage within the limit": Judgement(
        CYCLIC, "passed",
        "350.0 MB of garbage in reference cycles at the peak in each worker", ("",), per_worker(350 * MB),
    ),
    "garbage above the limit": Judgement(
        CYCLIC, "failed",
        "350.0 MB of garbage in reference cycles at the peak in each worker, limit 349.0 MB per worker",
        ("",), per_worker(349 * MB),
    ),
    "a little garbage": Judgement(
        SMALL_CYCLES, "passed",
        "33.6 MB of garbage in reference cycles at the peak in each worker", ("",),
    ),
    "just enough garbage": Judgement(
        replace(CYCLIC, reference_cycles=replace(CYCLES, peak_bytes=LARGE_CYCLES)), "failed",
        "33.6 MB of garbage in reference cycles at the peak in each worker", ("",)
    ),
    "a permutation of numbers": Judgement(
        SAMPLING, "failed",
        "400.0 MB in the main process for RandomSampler\n"
        "40 B for each of 10,000,000 samples\n0.5 s of CPU time before the first batch of each epoch",
        ("",), in_full=True
    ),
    "a permutation, no workers, under limits": Judgement(
        without_workers(SAMPLING), "failed",
        "400.0 MB in the main process for RandomSampler\n"
        "40 B for each of 10,000,000 samples\n0.5 s of CPU time before the first batch of each epoch",
        ("",), {**per_worker(10**12), **in_all(10**12)}
    ),
    "a permutation beside copies": Judgement(
        replace(COPYING, kinds=("copy_on_access", "sampler_memory"), sampler=PERMUTATION), "failed",
        "12.0 MB per worker: copy-on-write of dataset.rows\n100,000 str objects\n"
        "each read writes to a reference count, which copies the page\n"
        "400.0 MB in the main process for RandomSampler\n"
        "40 B for each of 10,000,000 samples\n0.5 s of CPU time before the first batch of each epoch\n"
        "together about 12.0 MB per worker per epoch, 24.0 MB in 2 workers", ("DL301", ""),
    ),
    "a permutation of an ordinary size": Judgement(
        replace(SEEN, sampler=SMALL_PERMUTATION), "passed",
        "no copy-on-write growth (800 samples read)\n"
        "40.0 MB in the main process for RandomSampler\n"
        "40 B for each of 1,000,000 samples\n0.5 s of CPU time before the first batch of each epoch", in_full=True,
    ),
    "a permutation of nothing to read": Judgement(
        replace(RAISING, kinds=("sampler_memory",), sampler=PERMUTATION), "failed",
        "reading samples raised KeyError: 7\n400.0 MB in the main process for RandomSampler\n"
        "40 B for each of 10,000,000 samples\n0.5 s of CPU time before the first batch of each epoch", ("",)
    ),
    "itertools.cycle": Judgement(
        AROUND, "failed",
        "131.1 kB of each batch kept by itertools.cycle after the loop has dropped it\n"
        "32.8 MB in an epoch of 250 batches\neach later epoch gives the same batches again, although the "
        "loader shuffles\nseen in 520 batches", ("",), in_full=True,
    ),
    "a cache of what is not shuffled": Judgement(
        replace(SEEN, kept_batches=replace(CYCLE, shuffles=False, keeper="kept of Cached")), "passed",
        "131.1 kB of each batch kept by kept of Cached after the loop has dropped it\n"
        "32.8 MB in an epoch of 250 batches\neach later epoch gives the same batches again\n"
        "seen in 520 batches\nno copy-on-write growth (800 samples read)",
    ),
    "batches kept without end": Judgement(
        replace(AROUND, kept_batches=replace(CYCLE, extent="without end", given_again=False)), "failed",
        "131.1 kB of each batch kept by itertools.cycle after the loop has dropped it\n"
        "32.8 MB in an epoch of 250 batches, and as much again in the next\n"
        "seen in 520 batches", ("",), in_full=True,
    ),
    "batches kept as far as was seen": Judgement(
        replace(SEEN, kept_batches=GATHERING), "inconclusive",
        "131.1 kB of each batch kept by kept of Module after the loop has dropped it\n"
        "131.1 MB in an epoch of 1,000 batches, if it goes on\n"
        "seen in 100 batches, too few to distinguish a cache or a buffer from a leak\n"
        "no copy-on-write growth (800 samples read)",
    ),
    "labels kept as far as was seen": Judgement(
        replace(SEEN, kept_batches=replace(GATHERING, bytes_per_batch=DOUBTFUL / 1000 - 1)), "passed", "16.8 kB of each"
    ),
    "too few batches to see any kept": Judgement(
        replace(SEEN, kept_batches=KeptBatches("not seen", batches=3)), "passed",
        "no copy-on-write growth (800 samples read)\n"
        "whether something keeps its batches was not seen in 3 batches", in_full=True,
    ),
    "a dataset that raises": Judgement(RAISING, "not_measured", RAISED, vacuous=True),
    "a dataset that raises, held to a limit": Judgement(RAISING, "failed", RAISED, (), per_worker(MB)),
    "a dataset that raises at times": Judgement(
        replace(RAISING, samples_read=12), "not_measured", RAISED, vacuous=True
    ),
    "no sample": Judgement(
        replace(SEEN, samples_read=0), "not_measured", "no sample could be read", vacuous=True
    ),
    "no sample, held to a limit": Judgement(
        replace(SEEN, samples_read=0), "not_measured", "no sample could be read", (), per_worker(MB), vacuous=True
    ),
    "a dataset that raises, workers watched": Judgement(
        WATCHED, "not_measured",
        "+9.0 MB in a worker, 6.0 MB of it copied from the parent: clean\n"
        "seen over 75 % of an epoch\nthe direct test saw nothing: KeyError: 7", vacuous=True,
    ),
    "a dataset that raises, workers watched and held to a limit": Judgement(
        WATCHED, "not_measured",
        "+9.0 MB in a worker, 6.0 MB of it copied from the parent: clean", (), per_worker(MB), vacuous=True
    ),
    "no answer, workers watched": Judgement(
        replace(WATCHED, reading_error=""), "not_measured",
        "+9.0 MB in a worker, 6.0 MB of it copied from the parent: clean",
        vacuous=True,
    ),
    "a dataset that raises, workers grow": Judgement(
        GROWING, "failed",
        "+9.0 MB in a worker, 6.0 MB of it copied from the parent: copy on access\n"
        "seen over 75 % of an epoch\nthe direct test saw nothing: KeyError: 7",
        ("DL301",),
    ),
    "nothing shows a worker's memory": Judgement(
        BLIND, "not_measured",
        "12.0 MB of Python objects may be copied by each worker\n"
        "copies could not be measured\njudged from no source: the private memory of workers could not be "
        "read",
    ),
    "nothing shows a worker's memory, no fork": Judgement(
        replace(BLIND, start_method="spawn"), "passed",
        "12.0 MB of Python objects may be copied by each worker"
    ),
    "nothing shows a worker's memory, a leak": Judgement(
        replace(LEAKING, source="none"), "failed",
        "leak: 4.1 kB per sample read in dataset.log", ("DL302",)
    ),
    "too little to tell": Judgement(
        replace(SEEN, unclear="the walk came not to its end", partly=("12 attributes were looked at",)),
        "inconclusive",
        "no copy-on-write growth (800 samples read)\n12 attributes were looked "
        "at\nthe walk came not to its end",
    ),
    "a fault beside what is unclear": Judgement(
        replace(COPYING, unclear="the walk came not to its end"), "failed",
        "12.0 MB per worker per epoch: copy-on-write", ("DL301",)
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_follows_from_the_evidence(row: Judgement) -> None:
    assert row.of(memory.judge) == row


def test_every_attribute_and_worker_that_was_looked_at_has_a_line_of_its_own() -> None:
    attributes = [
        replace(PATHS, path=f"dataset.field{number}", finest=f"dataset.field{number}") for number in range(10)
    ]
    attributes[1] = replace(attributes[1], sampled=0, copied=False)
    attributes[2] = replace(attributes[2], finest="dataset.field2[*]", written=True)
    attributes[3] = replace(attributes[3], finest="dataset.field3[*].name")
    told = memory.judge(replace(COPYING, attributes=tuple(attributes), worker_growth=WATCHED.worker_growth,
                                epoch_seen=0.5)).reason.splitlines()  # fmt: skip
    assert told[5:9] == [
        "  dataset.field0: 100,000 str, 12.0 MB, 90 % copied, +12.0 MB per worker per epoch",
        "  dataset.field1: 100,000 str, 12.0 MB, not sampled, not copied by reading",
        "  dataset.field2: 100,000 str, 12.0 MB, 90 % copied, +12.0 MB per worker per epoch, written to in place",
        "  dataset.field3 (most of it dataset.field3[*].name): 100,000 str, 12.0 MB, 90 % copied, "
        "+12.0 MB per worker per epoch",
    ]
    assert told[12:] == [
        "  dataset.field7: 100,000 str, 12.0 MB, 90 % copied, +12.0 MB per worker per epoch",
        "  and 2 more",
        "  worker 1: private memory +9.0 MB, of it 6.0 MB copied from the parent, in 50 % of an epoch",
    ]


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        (replace(COPYING, container="list"), "\n    packed = [pickle.dumps(each) for each in self.rows]\n"),
        (replace(COPYING, attribute="", type="dict"), "keep the data in one array of numbers, or all its records in"),
        (replace(COPYING, replacement=PACKED), "workers share its pages\ntried with 4,096 of its records in "
         "one array of bytes: 0 % copied, 60 B per record, 1.2 us per read"),
    ],
    ids=["paths", "records", "tried on the spot"],
)  # fmt: skip
def test_what_to_keep_the_records_in_depends_on_their_type(seen: Memory, text: str) -> None:
    assert text in memory.judge(seen).advice[0].text


def name(at: int) -> str:
    return f"/data/images/train/class_{at % 1000:04d}/image_{at:09d}.jpg"


NAME_BYTES = -(-sys.getsizeof(name(0)) // 16) * 16
"""What a name takes, as Python allots in steps of 16: 112 under Python 3.11, 96 since 3.12 leaves 8 out."""


def names(count: int = SIZE) -> list[str]:
    return [name(at) for at in range(count)]


class Rows(Dataset[Any]):
    def __init__(self, get: Callable[[Any, int], Any], size: int = SIZE, **fields: Any) -> None:
        self.get = get
        self.size = size
        vars(self).update(fields)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, at: int) -> Any:
        return self.get(self, at)


class Whole(Rows):
    def __getitem__(self, at: int) -> Any:
        raise AssertionError("read by batches where the dataset can")

    def __getitems__(self, chosen: list[int]) -> list[Any]:
        return [self.get(self, at) for at in chosen]


class Stream(IterableDataset[Any]):
    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)

    def __iter__(self) -> Iterator[int]:
        info = torch.utils.data.get_worker_info()
        assert info is not None
        for row in self.rows[info.id :: info.num_workers]:  # type: ignore[attr-defined]
            yield len(row)


class Holder:
    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)


def length(self: Any, at: int) -> int:
    return len(self.rows[at])


def load(dataset: Any, **settings: Any) -> DataLoader[Any]:
    return DataLoader(dataset, **{"batch_size": 32, "num_workers": 2, "multiprocessing_context": "fork", **settings})


def measured(loader: DataLoader[Any], **others: Any) -> Memory:
    return memory.measure(loader, setting=QUICK, **others)


def leaks(self: Any, at: int) -> int:
    self.log.append(f"read {at} {name(at)}")
    return at


def caches(self: Any, at: int) -> Any:
    if at not in self.cache:
        self.cache[at] = np.full(64, at)
    return self.cache[at]


def imports(self: Any, at: int) -> Any:
    if not hasattr(self, "table"):
        self.table = names(300_000)
    return self.rows[at]


CLEAN: dict[str, Callable[[], DataLoader[Any]]] = {
    "numpy": lambda: load(Rows(lambda self, at: self.rows[at], rows=np.zeros((SIZE, 4)))),
    "tensor": lambda: load(Rows(lambda self, at: self.rows[at], rows=torch.zeros(SIZE, 4))),
    "fixed-width strings": lambda: load(Rows(length, rows=np.array(names()))),
    "few large arrays": lambda: load(Rows(lambda self, at: self.rows[at % 50][0], rows=[np.zeros(SIZE)] * 50)),
    "an unread list": lambda: load(Rows(lambda _self, at: at, rows=names())),
    "a small list": lambda: load(Rows(length, 4000, rows=names(4000))),
    "repeated strings": lambda: load(Rows(length, 36_000, rows=names(9) * 4000)),
    "a full cache": lambda: load(
        Rows(lambda self, at: self.f(at), f=functools.lru_cache(64)(lambda at: np.full(9, at)))
    ),
    "one sample": lambda: load(Rows(length, 1, rows=["only"])),
    "no batching": lambda: load(Rows(lambda self, at: self.rows[at], rows=np.zeros(SIZE)), batch_size=None),
}
COPIES: dict[str, tuple[str, Callable[[], DataLoader[Any]]]] = {
    "list": ("dataset.rows", lambda: load(Rows(length, rows=names()))),
    "2 MB": ("dataset.rows", lambda: load(Rows(length, 18_000, rows=names(18_000)))),
    "tuples": ("dataset.rows", lambda: load(Rows(length, rows=[(name(at), at) for at in range(SIZE)]))),
    "records": (
        "dataset.rows[*]['path']",
        lambda: load(Rows(lambda self, at: len(self.rows[at]["path"]), rows=[{"path": path} for path in names()])),
    ),
    "dict": ("dataset.rows", lambda: load(Rows(length, rows=dict(enumerate(names()))))),
    "object array": ("dataset.rows", lambda: load(Rows(length, rows=np.array(names(), dtype=object)))),
    "helper": (
        "dataset.index.rows",
        lambda: load(Rows(lambda self, at: len(self.index.rows[at]), index=Holder(rows=names()))),
    ),
    "subset": (
        "dataset.dataset.rows",
        lambda: load(Subset(Rows(length, rows=names()), random.Random(1).sample(range(SIZE), SIZE))),
    ),
    "concatenated": ("dataset.datasets[0].rows", lambda: load(ConcatDataset([Rows(length, rows=names())] * 2))),
    "permuted": (
        "dataset.rows",
        lambda: load(
            Rows(lambda self, at: len(self.rows[self.order[at]]), 200_000, rows=names(200_000),
                 order=np.random.default_rng(0).permutation(200_000))
        ),
    ),
    "whole batches": ("dataset.rows", lambda: load(Whole(length, rows=names()))),
    "no batching": ("dataset.rows", lambda: load(Rows(length, rows=names()), batch_size=None)),
    "batch sampler": (
        "dataset.rows",
        lambda: load(Rows(length, rows=names()), batch_size=1, batch_sampler=RUNS_OF_TWO),
    ),
    "iterable": ("dataset.rows", lambda: load(Stream(rows=names()))),
    "closure": ("dataset.get.closure['rows']", lambda: (lambda rows: load(Rows(lambda _, at: len(rows[at]))))(names())),
    "beside an unread one": ("dataset.rows", lambda: load(Rows(length, unread=names(), rows=names()))),
}  # fmt: skip


@pytest.mark.parametrize("build", CLEAN.values(), ids=CLEAN)
def test_clean_loaders_are_not_accused(build: Callable[[], DataLoader[Any]]) -> None:
    seen = measured(build())
    verdict = memory.judge(seen)
    assert (seen.kind, verdict.outcome) == ("clean", "passed"), verdict.reason
    assert seen.attribute == ""
    assert not verdict.advice
    assert memory.judge(seen, max_worker_growth=MB).outcome == "passed"


FURTHER = {"2 MB", "permuted", "concatenated", "object array", "no batching", "batch sampler"}


@pytest.mark.parametrize(("path", "build"), variants(COPIES, COPIES.keys() - FURTHER))
def test_copies_are_found_and_named(path: str, build: Callable[[], DataLoader[Any]]) -> None:
    seen = measured(build())
    assert (seen.kinds, seen.attribute, seen.source) == (("copy_on_access",), path, "pagemap"), seen.attributes
    assert seen.predicted_total_bytes == 2 * seen.growth_bytes_per_worker > 0
    failed = memory.judge(seen)
    assert failed.outcome == "failed"
    assert path in failed.reason
    assert [advice.code for advice in failed.advice] == ["DL301"]
    assert memory.judge(seen, max_worker_growth=MB).outcome == "failed"
    assert memory.judge(seen, max_worker_growth=500 * MB).outcome == "passed"
    assert memory.judge(seen, max_total_memory=MB).outcome == "failed"
    limits = {"max_worker_growth": 500 * MB, "max_total_memory": MB}
    assert checks.missed_limits("memory", seen, limits) == ("max_total_memory",)


def centred(points: Any) -> Any:
    points -= points.mean()
    return points


WRITES: dict[str, Callable[[], DataLoader[Any]]] = {
    "list": lambda: load(
        Rows(lambda self, at: centred(self.rows[at]), 1000, rows=[np.full((40, 64), at + 0.5) for at in range(1000)])
    ),
    "one array": lambda: load(Rows(lambda self, at: centred(self.rows[at]), 4000, rows=np.ones((4000, 256)))),
    "one tensor": lambda: load(Rows(lambda self, at: self.rows[at].div_(2), 4000, rows=torch.ones(4000, 256))),
    "filled by workers": lambda: load(Rows(lambda self, at: fill(self.rows, at), 2000, rows=np.zeros((2000, 512)))),
}


def fill(rows: Any, at: int) -> Any:
    rows[at] = at
    return rows[at, :4]


@pytest.mark.parametrize("build", variants(WRITES, {"list", "one array"}))
def test_arrays_that_samples_write_to_are_copied_whole(build: Callable[[], DataLoader[Any]]) -> None:
    loader = build()
    rows: Any = loader.dataset.rows  # type: ignore[attr-defined]
    taken = sum(row.nbytes for row in rows)
    seen = measured(loader)
    assert (seen.kinds, seen.attribute, seen.written_in_place) == (("copy_on_access",), "dataset.rows", True)
    assert seen.exposed_bytes == pytest.approx(taken, rel=0.05)
    verdict = memory.judge(seen)
    assert verdict.outcome == "failed"
    assert "writes to them" in verdict.reason
    assert [advice.code for advice in verdict.advice] == [""]
    assert "change a copy" in verdict.advice[0].text


def test_workers_that_persist_come_to_write_to_every_array() -> None:
    def taken(**settings: Any) -> int:
        rows = [np.full((40, 64), at + 0.5) for at in range(1000)]
        loader = load(Rows(lambda self, at: centred(self.rows[at]), 1000, rows=rows), shuffle=True, **settings)
        return measured(loader).growth_bytes_per_worker

    assert taken(persistent_workers=True) == pytest.approx(2 * taken(), rel=0.05)


def shared() -> Any:
    rows: Any = torch.ones(4000, 256)
    return rows.share_memory_()


BUFFERS: dict[str, Callable[[], DataLoader[Any]]] = {
    "buffer": lambda: load(
        Rows(lambda self, at: fill(self.buffer, at % 4), buffer=np.zeros((4, 100_000)), rows=np.ones((SIZE, 16)))
    ),
    "copy": lambda: load(Rows(lambda self, at: centred(self.rows[at].copy()), 4000, rows=np.ones((4000, 256)))),
    "shared tensor": lambda: load(Rows(lambda self, at: self.rows[at].div_(2), 4000, rows=shared())),
}


@pytest.mark.parametrize("build", variants(BUFFERS, {"buffer"}))
def test_buffers_and_copies_are_no_growth(build: Callable[[], DataLoader[Any]]) -> None:
    seen = measured(build())
    assert set(seen.kinds) <= {"clean", "warm_up"}, seen.attributes
    assert memory.judge(seen).outcome == "passed"


def test_where_pagemap_is_withheld_what_was_written_to_is_not_passed() -> None:
    seen = measured(WRITES["list"](), sources=Sources(pages=None))
    assert memory.judge(seen).outcome == "inconclusive"


def picture(at: int) -> Any:
    return np.full(500, at)


def fills_a_dict_made_in_the_worker(self: Any, at: int) -> Any:
    if not hasattr(self, "kept"):
        self.kept = {}
    return self.kept.setdefault(at, picture(at))


def fills_a_list_made_in_the_worker(self: Any, at: int) -> Any:
    if not hasattr(self, "kept"):
        self.kept = [None] * SIZE
    if self.kept[at] is None:
        self.kept[at] = picture(at)
    return self.kept[at]


def fills_records(self: Any, at: int) -> Any:
    record = self.rows[at]
    if not hasattr(record, "picture"):
        record.picture = picture(at)
    return record.picture


class Transform:
    @functools.lru_cache(None)  # noqa: B019  # that it keeps what it is called with is the fault
    def __call__(self, at: int) -> Any:
        return picture(at)


class Methods(Rows):
    @functools.cache  # noqa: B019  # as above
    def picture(self, at: int) -> Any:
        return picture(at)


HOLDERS: dict[str, tuple[str, Callable[[], DataLoader[Any]]]] = {
    "dict of the worker's": ("dataset.kept", lambda: load(Rows(fills_a_dict_made_in_the_worker))),
    "list of the worker's": ("dataset.kept", lambda: load(Rows(fills_a_list_made_in_the_worker))),
    "records": (
        "dataset.rows[*].picture", lambda: load(Rows(fills_records, 4000, rows=[Holder() for _ in range(4000)]))
    ),
    "cached method": ("dataset.picture", lambda: load(Methods(lambda self, at: self.picture(at)))),
    "cached transform": ("dataset.t.__call__", lambda: load(Rows(lambda self, at: self.t(at), t=Transform()))),
}  # fmt: skip


@pytest.mark.parametrize(("path", "build"), variants(HOLDERS, {"list of the worker's", "records", "cached transform"}))
def test_what_holds_a_cache_is_named(path: str, build: Callable[[], DataLoader[Any]]) -> None:
    seen = measured(build(), sources=Sources(rollup=None))
    assert ("cache" in seen.kinds, seen.accumulating_attribute) == (True, path), seen


def test_a_cache_in_another_module_of_the_project_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "decoding_of_pictures.py").write_text(
        "import numpy\nknown = {}\n\ndef decode(at):\n    return known.setdefault(at, numpy.full(500, at))\n"
    )
    (tmp_path / "pictures_of_a_project.py").write_text(
        "import decoding_of_pictures\n\ndef get(self, at):\n    return decoding_of_pictures.decode(at)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    seen = measured(load(Rows(importlib.import_module("pictures_of_a_project").get)))
    assert (seen.kinds, seen.accumulating_attribute) == (("cache",), "decoding_of_pictures.known")


def test_the_growth_of_a_list_is_its_strings() -> None:
    seen = measured(load(Rows(length, rows=names()), shuffle=True))
    assert seen.growth_bytes_per_worker == pytest.approx(SIZE * NAME_BYTES, rel=0.05)
    assert seen.type == "str"
    assert seen.count == pytest.approx(SIZE, rel=0.03)
    assert seen.replacement is not None
    assert seen.replacement.share_copied == 0


@pytest.mark.parametrize(
    ("kinds", "path", "get", "fields"),
    [
        (("leak",), "dataset.log", leaks, {"log": []}),
        (("cache",), "dataset.cache", caches, {"cache": {}}),
        (("copy_on_access", "leak"), "dataset.rows", lambda self, at: leaks(self, at) and length(self, at),
         {"log": [], "rows": True}),
        (("copy_on_access", "cache"), "dataset.rows", lambda self, at: caches(self, at) + length(self, at),
         {"cache": {}, "rows": True}),
    ],
)  # fmt: skip
def test_leaks_and_caches_are_told_apart(
    kinds: tuple[str, ...], path: str, get: Callable[[Any, int], Any], fields: dict[str, Any]
) -> None:
    # A fresh container each time: another run's entries are not this one's.
    fields = {key: type(value)() if not isinstance(value, bool) else names() for key, value in fields.items()}
    seen = measured(load(Rows(get, **fields)))
    assert seen.kinds == kinds
    assert seen.attribute == path
    assert seen.accumulating_attribute in ("dataset.log", "dataset.cache")
    assert memory.judge(seen).outcome == "failed"
    generous = memory.judge(seen, max_worker_growth=10_000 * MB).outcome
    assert generous == ("failed" if "leak" in kinds else "passed")
    said = [line for line in memory.judge(seen).reason.splitlines() if not line.startswith(" ")]
    assert sum("per worker per epoch" in line for line in said) == 1
    assert any(line.startswith("together about") for line in said) is (len(kinds) > 1)


def test_a_loader_that_keeps_its_batches_is_found() -> None:
    class Keeping(DataLoader[Any]):
        def __iter__(self) -> Any:
            for batch in super().__iter__():
                self.__dict__.setdefault("kept", []).append(batch)
                yield batch

    loader = Keeping(Rows(lambda self, at: self.rows[at], rows=torch.zeros(SIZE, 4)), batch_size=8, num_workers=2)
    seen = measured(loader)
    assert seen.kind == "retained"
    assert memory.judge(seen, max_worker_growth=500 * MB).outcome == "failed"
    assert not hasattr(loader, "kept")


class Container:
    """What a film is read from: it and its track refer to each other."""

    def __init__(self, at: int, size: int = 200_000) -> None:
        self.frames = np.full(size, at % 251, dtype=np.uint8)
        self.track = Track(self)


class Track:
    def __init__(self, container: Container) -> None:
        self.container: Container | None = container


def thumbnail(_self: Any, at: int) -> Any:
    return torch.from_numpy(Container(at).frames[:64].copy())


def closed(_self: Any, at: int) -> Any:
    container = Container(at)
    container.track.container = None
    return torch.from_numpy(container.frames[:64].copy())


def small(_self: Any, at: int) -> Any:
    return torch.from_numpy(Container(at, 2000).frames[:64].copy())


def slow(_self: Any, at: int) -> Any:
    time.sleep(0.01)
    return thumbnail(_self, at)


@pytest.mark.parametrize(("get", "workers"), variants({"fast": (thumbnail, 2), "in this process": (thumbnail, 0),
                                                       "slow": (slow, 2)}, {"fast"}))  # fmt: skip
def test_what_reference_cycles_alone_hold_is_told_with_its_types(get: Any, workers: int) -> None:
    settings = {"num_workers": 0, "multiprocessing_context": None} if not workers else {}
    seen = measured(load(Rows(get, 4000), **settings))
    verdict = memory.judge(seen)
    assert (seen.kinds, verdict.outcome) == (("reference_cycles",), "failed"), verdict.reason
    found = seen.reference_cycles
    assert found.types == ("Container", "Track")
    assert found.bytes_per_sample == pytest.approx(200_000, rel=0.1)
    assert found.peak_bytes == pytest.approx(found.bytes_per_sample * found.samples_between_collections, rel=0.25)
    assert found.reachable_bytes < 20 * MB < found.peak_bytes == seen.growth_bytes_per_worker


@pytest.mark.parametrize("get", variants({"closed": closed, "small": small}, {"closed", "small"}))
def test_what_is_freed_at_once_or_small_is_no_garbage_that_matters(get: Any) -> None:
    seen = measured(load(Rows(get, 4000)))
    assert (seen.kinds, memory.judge(seen).outcome) == (("clean",), "passed"), seen.reference_cycles


class Ordered(Sampler[int]):
    def __init__(self, order: Any) -> None:
        self.order = order

    def __len__(self) -> int:
        return len(self.order)

    def __iter__(self) -> Iterator[int]:
        return iter(self.order)


MILLION = 1_000_000


class Numbers(Dataset[Any]):
    def __init__(self, size: int = MILLION) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, at: int) -> int:
        return at


def blocks() -> Iterator[int]:
    for first in range(0, MILLION, 50_000):
        yield from (torch.randperm(50_000) + first).tolist()


class Blocks(Ordered):
    def __iter__(self) -> Iterator[int]:
        return blocks()


SAMPLERS: dict[str, tuple[Callable[[], dict[str, Any]], float, str]] = {
    "shuffle": (lambda: {"shuffle": True}, 40, "RandomSampler"),
    "replacement": (lambda: {"sampler": RandomSampler(Numbers(), replacement=True)}, 0, "RandomSampler"),
    "distributed": (lambda: {"sampler": DistributedSampler(Numbers(), 8, 0)}, 33, "DistributedSampler"),
    "subset": (lambda: {"sampler": SubsetRandomSampler(range(MILLION))}, 40, "SubsetRandomSampler"),
    "weighted": (
        lambda: {"sampler": WeightedRandomSampler(torch.ones(MILLION).tolist(), MILLION)}, 56, "WeightedRandomSampler"
    ),
    "in order": (dict, 0, "SequentialSampler"),
    "a list": (lambda: {"sampler": Ordered(list(range(MILLION)))}, 40, "Ordered"),
    "an array": (lambda: {"sampler": Ordered(np.arange(MILLION))}, 8, "Ordered"),
    "blocks": (lambda: {"sampler": Blocks(range(MILLION))}, 2, "Blocks"),
    "batches": (lambda: {"batch_sampler": Ordered([[at] for at in range(MILLION // 2)])}, 52, "Ordered"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "bytes_per_sample", "name"), variants(SAMPLERS, {"shuffle", "in order", "a list", "blocks"})
)
def test_what_a_sampler_holds_is_measured_and_ordinary_sizes_pass(
    settings: Callable[[], dict[str, Any]], bytes_per_sample: float, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = settings()
    loader = DataLoader(Numbers(), **({"batch_size": 64} | given if "batch_sampler" not in given else given))
    seen = measured(loader)
    assert seen.sampler.sampler == name
    assert all("in time" in part for part in seen.partly)  # on a busy machine it takes longer to draw a million
    assert seen.sampler.bytes_per_sample == pytest.approx(bytes_per_sample, abs=6)
    assert (seen.kind, memory.judge(seen).outcome) == ("clean", "passed"), memory.judge(seen).reason
    # The same at a size that stands for a large one.
    monkeypatch.setattr(sampler_memory, "LARGE_SAMPLER", LARGE_SAMPLER // 20)
    outcome = "failed" if bytes_per_sample > 16 else "passed"
    assert memory.judge(measured(loader)).outcome == outcome


def test_what_a_sampler_holds_is_the_same_where_much_was_freed_before() -> None:
    loader = DataLoader(Numbers(), batch_size=64, sampler=DistributedSampler(Numbers(), 8, 0))
    held = [sampler_memory.sampler_memory(loader)]
    freed = [float(at) for at in range(2 * MILLION)]
    kept = freed[::500]  # so that Python cannot give back the memory in between
    del freed
    held.append(sampler_memory.sampler_memory(loader))
    assert [each.bytes_per_sample for each in held if each] == pytest.approx([33, 33], abs=3)
    del kept


def test_a_large_permutation_is_named_and_blocks_were_tried() -> None:
    seen = measured(DataLoader(Numbers(8 * MILLION), batch_size=256, shuffle=True))
    verdict = memory.judge(seen)
    assert (seen.kinds, verdict.outcome) == (("sampler_memory",), "failed")
    assert "MB in the main process for RandomSampler\n40 B for each of 8,000,000 samples" in verdict.reason
    assert seen.sampler.blockwise_bytes < 10 * MB
    assert "Tried with 65,536" in verdict.advice[0].text


def test_a_sampler_that_raises_is_told_as_not_known() -> None:
    class Torn(Ordered):
        def __iter__(self) -> Iterator[int]:
            raise OSError("no index")

    verdict = memory.judge(measured(load(Rows(length, rows=np.array(names())), sampler=Torn(range(SIZE)))))
    assert "what the sampler holds is not known" in verdict.reason


class KeepsTheLastTwenty(DataLoader[Any]):
    def __iter__(self) -> Any:
        kept: list[Any] = []
        for batch in super().__iter__():
            kept = [*kept[-19:], batch]
            yield batch


class KeepsOneNumberOfEach(DataLoader[Any]):
    def __iter__(self) -> Any:
        self.kept = vars(self).get("kept", [])
        for batch in super().__iter__():
            self.kept.append(batch[0, 0].clone())
            yield batch


def test_what_stays_of_batches_must_go_on_to_stay() -> None:
    def kept(kind: type[DataLoader[Any]]) -> float:
        rows = Rows(lambda self, at: self.rows[at], 4000, rows=torch.zeros(4000, 512))
        return kept_bytes_per_batch(kind(rows, batch_size=8, num_workers=2)) or 0.0

    assert kept(KeepsTheLastTwenty) < KEPT_BYTES < kept(KeepsOneNumberOfEach)


class GathersForTenEpochs(IterableDataset[Any]):
    """Keeps what it has made in each iteration, but that of the last ten alone."""

    def __init__(self) -> None:
        self.made: list[list[str]] = []

    def __iter__(self) -> Iterator[int]:
        self.made = [*self.made[-9:], []]
        for at in range(1000):
            self.made[-1].append(name(at))
            yield at


def test_what_is_bounded_after_ten_epochs_is_no_leak() -> None:
    seen = measured(load(GathersForTenEpochs()))
    assert "leak" not in seen.kinds
    assert memory.judge(seen).outcome == "passed"


@pytest.mark.parametrize("start_method", named(["spawn", "forkserver"], ["forkserver"]))
@pytest.mark.parametrize("rows", variants({"list": names(), "numpy": np.zeros((SIZE, 16))}, ["list"]))
def test_a_copy_per_worker_is_told_and_held_to_limits(start_method: str, rows: Any) -> None:
    seen = measured(load(Rows(length, rows=rows), multiprocessing_context=start_method))
    assert (seen.kind, seen.attribute) == ("duplicated", "dataset.rows")
    size = rows.nbytes if isinstance(rows, np.ndarray) else sys.getsizeof(rows) + SIZE * NAME_BYTES
    assert seen.growth_bytes_per_worker == pytest.approx(size, rel=0.05)
    assert memory.judge(seen).outcome == "passed"
    assert memory.judge(seen, max_worker_growth=MB).outcome == "failed"


@pytest.mark.parametrize("start_method", named(["spawn", "forkserver"], ["forkserver"]))
def test_tensors_travel_by_shared_memory_where_workers_are_not_forked(start_method: str) -> None:
    seen = measured(load(Rows(length, rows=torch.zeros(SIZE, 16)), multiprocessing_context=start_method))
    assert seen.kind == "clean"


@pytest.mark.parametrize("by_default", ["fork", "forkserver"])
def test_without_workers_nothing_fails_and_the_price_is_told(by_default: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda **_: by_default)
    seen = measured(DataLoader(Rows(length, rows=names()), batch_size=32))
    verdict = memory.judge(seen, max_worker_growth=1, max_total_memory=1)
    assert verdict.outcome == memory.judge(seen).outcome == "passed"
    assert (seen.attribute, seen.predicted_total_bytes) == ("dataset.rows", 0)
    assert "num_workers=0" in verdict.reason


@pytest.mark.parametrize(
    "build", every([COPIES[key][1] for key in ("list", "2 MB", "subset", "beside an unread one")], step=2)
)
def test_without_pagemap_the_totals_still_name_the_attribute(build: Callable[[], DataLoader[Any]]) -> None:
    seen = measured(build(), sources=Sources(pages=None))
    reason = memory.judge(seen).reason
    assert (seen.kind, seen.source) == ("copy_on_access", "smaps_rollup"), (reason, seen.attributes)
    assert seen.attribute.endswith("rows"), (reason, seen.attributes)
    assert "pagemap is withheld" in reason


def test_totals_still_name_the_attribute_where_the_heap_is_full_of_holes() -> None:
    full: list[tuple[int, ...]] = [(at, at, at) for at in range(400_000, 1_600_000)]
    for at in range(0, len(full), 120):
        full[at] = ()  # a hole on every second page: what is made next lies in these
    seen = measured(COPIES["beside an unread one"][1](), sources=Sources(pages=None))
    assert (seen.kind, seen.attribute) == ("copy_on_access", "dataset.rows"), seen.attributes


def test_without_any_source_nothing_is_claimed_but_leaks_are_still_seen() -> None:
    blind = Sources(None, None)
    seen = measured(COPIES["list"][1](), sources=blind)
    assert (seen.source, memory.judge(seen).outcome) == ("none", "not_measured")
    assert f"{SIZE * NAME_BYTES / MB:.1f} MB of Python objects" in memory.judge(seen).reason
    leaking = measured(load(Rows(leaks, log=[])), sources=blind)
    assert (leaking.kind, memory.judge(leaking).outcome) == ("leak", "failed")


def test_what_totals_cannot_resolve_is_inconclusive() -> None:
    def slow(self: Any, at: int) -> int:
        time.sleep(0.02)
        return length(self, at)

    seen = measured(load(Rows(slow, rows=names())), sources=Sources(pages=None))
    assert memory.judge(seen).outcome == "inconclusive"


def test_datasets_that_raise_or_hang_end_the_check_in_time() -> None:
    def raises(_self: Any, at: int) -> int:
        raise KeyError(f"sample {at}")

    verdict = memory.judge(measured(load(Rows(raises))))
    assert (verdict.outcome, verdict.vacuous) == ("not_measured", True)
    assert "KeyError: 'sample" in verdict.reason

    def sometimes(self: Any, at: int) -> int:
        if at % 50 == 0:
            raise KeyError(at)
        return length(self, at)

    assert measured(load(Rows(sometimes, rows=names()))).kind == "copy_on_access"


def test_a_dataset_that_hangs_ends_the_check_in_time_and_no_process_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy_on_access, "FIRST_ANSWER_SECONDS", 0.5)
    before = {entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()}

    def hangs(_self: Any, _at: int) -> int:
        time.sleep(600)
        return 0

    with pytest.raises(NothingSeen, match="the process that reads samples gave no answer"):
        measured(load(Rows(hangs)))
    mine = {entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()} - before
    assert not [pid for pid in mine if _parent(pid) == os.getpid()]


def _parent(pid: str) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def test_a_dataset_that_starts_processes_is_judged_by_totals() -> None:
    def forks(self: Any, at: int) -> int:
        if not hasattr(self, "pid"):
            self.pid = os.fork()
            if self.pid == 0:
                time.sleep(3)
                os._exit(0)
        return length(self, at)

    seen = measured(load(Rows(forks, rows=names())))
    assert seen.source != "pagemap"
    assert any("starts processes" in why for why in seen.withheld)


def test_the_loader_its_dataset_random_states_and_batches_are_as_without_the_check() -> None:
    def build() -> DataLoader[Any]:
        generator = torch.Generator().manual_seed(7)
        dataset = Rows(lambda self, at: torch.rand(1) + len(self.rows[at]) + at, rows=names(2000), size=2000, log=[])
        return load(dataset, shuffle=True, generator=generator)

    def states() -> list[Any]:
        return [random.getstate(), torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()]  # type: ignore[index]

    torch.manual_seed(1)
    untouched = build()
    plain = [batch.tolist() for _ in range(2) for batch in untouched]
    end = states()

    torch.manual_seed(1)
    loader = build()
    before = states(), dict(vars(loader)), dict(vars(loader.dataset)), loader.generator.get_state().tolist()
    threads_before = threads()  # those of earlier loaders among them, which end in their own time
    for setting in (QUICK, Setting(seconds=1.0, bench=True)):
        memory.measure(loader, setting=setting)
    after = states(), dict(vars(loader)), dict(vars(loader.dataset)), loader.generator.get_state().tolist()
    assert after == before
    deadline = time.monotonic() + 10  # the feeder threads of a closed queue end in their own time
    while threads() - threads_before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not threads() - threads_before
    assert [batch.tolist() for _ in range(2) for batch in loader] == plain
    assert states() == end


def threads() -> set[str]:
    return {entry.name for entry in Path("/proc/self/task").iterdir()}


def test_reading_is_as_in_a_worker() -> None:
    seen: list[Any] = []

    def start(worker: int) -> None:
        info = torch.utils.data.get_worker_info()
        assert info is not None
        assert (info.id, info.num_workers) == (worker, 2)
        info.dataset.ready = torch.initial_seed() == info.seed  # type: ignore[attr-defined]

    def get(self: Any, at: int) -> int:
        assert self.ready
        assert torch.get_num_threads() == 1
        return length(self, at)

    def collate(batch: list[int]) -> int:
        return sum(batch)

    loader = load(Rows(get, rows=names()), num_workers=2, worker_init_fn=start, collate_fn=collate)
    result = measured(loader)
    assert (result.reading_error, result.kind) == ("", "copy_on_access")
    assert not seen
    assert not hasattr(loader.dataset, "ready")


def raises(_self: Any, at: int) -> Any:
    raise ValueError(f"row {at} is torn")


def test_a_loader_of_which_nothing_was_seen_is_not_passed() -> None:
    seen = memory.measure(load(Rows(raises)), setting=Setting(seconds=2.0, bench=True))
    verdict = memory.judge(seen)
    assert (verdict.outcome, verdict.vacuous, seen.batches_watched) == ("not_measured", True, 0)
    assert verdict.reason.startswith("reading samples raised ValueError: row")
    assert "ValueError: ValueError" not in verdict.reason
    assert "()" not in verdict.reason


class Lent(IterableDataset[Any]):
    """Gives samples to the workers that are named."""

    def __init__(self, *workers: int) -> None:
        self.workers = workers

    def __iter__(self) -> Iterator[int]:
        info = torch.utils.data.get_worker_info()
        assert info is not None
        return iter(range(1000) if info.id in self.workers else ())


def test_a_stream_that_gives_nothing_is_not_passed() -> None:
    with pytest.raises(NothingSeen, match="the loader gave no batch: its epoch is empty"):
        measured(load(Lent()))


def test_a_stream_whose_first_worker_has_no_share_gives_something() -> None:
    verdict = memory.judge(measured(load(Lent(1))))
    assert (verdict.outcome, verdict.vacuous) == ("not_measured", True)
    assert "no sample could be read" in verdict.reason
    assert measured(load(Lent(0))).samples_read > 0


def test_bench_watches_every_worker_and_agrees_with_the_prediction() -> None:
    loader = load(Rows(length, rows=names(100_000), size=100_000), shuffle=True)
    seen = memory.measure(loader, setting=WHOLE)
    assert {worker.worker for worker in seen.worker_growth} == {0, 1}
    assert seen.epoch_seen == 1.0
    assert {point.worker for point in seen.curve} == {-1, 0, 1}
    for worker in seen.worker_growth:
        # What the first batches copied came before the first look.
        assert worker.copied_bytes == pytest.approx(seen.growth_bytes_per_worker, rel=0.3)
    assert "worker 0: private memory +" in memory.judge(seen).reason


@pytest.mark.slow
def test_bench_watches_workers_that_start_with_the_first_batch() -> None:
    class OwnLoop(DataLoader[Any]):
        def __iter__(self) -> Any:
            yield from super().__iter__()

    loader = OwnLoop(Rows(length, rows=names()), batch_size=8, num_workers=2, multiprocessing_context="fork")
    seen = memory.measure(loader, setting=WHOLE)
    assert {worker.worker for worker in seen.worker_growth} == {0, 1}
    assert seen.epoch_seen == 1.0


@pytest.mark.slow
def test_where_the_direct_test_sees_nothing_growth_of_workers_fails_and_none_is_not_passed() -> None:
    def in_workers_only(self: Any, at: int) -> int:
        if multiprocessing.parent_process() is None:
            raise RuntimeError("this is no child of multiprocessing")
        return length(self, at)

    def judged(get: Callable[[Any, int], Any], rows: Any) -> tuple[str, str]:
        loader = load(Rows(get, size=120_000, rows=rows), shuffle=True)
        assert memory.judge(measured(loader)).outcome == "not_measured"
        seen = memory.measure(loader, setting=WHOLE)
        assert seen.source == "smaps_rollup"
        return seen.kind, memory.judge(seen).outcome

    assert judged(in_workers_only, names(120_000)) == ("copy_on_access", "failed")
    assert judged(in_workers_only, np.array(names(120_000))) == ("clean", "not_measured")


def test_limits_are_sizes() -> None:
    limits = checks.read_limits("memory", {"max_worker_growth": "32MB", "max_total_memory": "1GiB"})
    assert limits == {"max_worker_growth": 32 * MB, "max_total_memory": 1 << 30}


UNPRIVILEGED = """
import ctypes, os, sys
sys.path[:0] = {path!r}
from torch.utils.data import DataLoader, Dataset
from pytest_dataloader.checks import Setting, memory
from pytest_dataloader.probe.memory import pagemap
class Rows(Dataset):
    def __init__(self): self.rows = [f"/data/images/train/{{at:020d}}.jpg" for at in range(40_000)]
    def __len__(self): return len(self.rows)
    def __getitem__(self, at): return len(self.rows[at])
loader = DataLoader(Rows(), num_workers=2, multiprocessing_context="fork")
memory.measure(loader, setting=Setting(seconds=1, bench=True))  # imports all that somebody else could not read
pagemap.why_no_pagemap.cache_clear()
os.setgroups([]); os.setgid(65534); os.setuid(65534)
ctypes.CDLL(None).prctl(4, {dumpable})  # becoming somebody else clears PR_SET_DUMPABLE, and with it all of /proc/self
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
seen = memory.measure(loader, setting=Setting())
status = "" if not {dumpable} else open("/proc/self/status").read().split("CapEff:")[1].split()[0]
print(os.getuid(), status or "0" * 16, seen.kind, seen.attribute or "-", seen.source, memory.judge(seen).outcome)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize(
    ("dumpable", "verdict"),
    variants(
        {
            "unprivileged": (1, "copy_on_access dataset.rows pagemap failed"),
            "all of /proc/PID withheld": (0, "clean - none not_measured"),
        },
        [],
    ),
)
def test_somebody_without_privileges_gets_the_same_verdict_or_none(dumpable: int, verdict: str) -> None:
    script = UNPRIVILEGED.format(path=sys.path, dumpable=dumpable)
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == f"65534 {'0' * 16} {verdict}", done.stderr


def test_pagemap_refused_by_the_kernel_falls_back_with_the_reason() -> None:
    def refused(_pid: int, _pages: Any) -> pagemap.Pages:
        raise PermissionError(13, "Permission denied")

    seen = measured(COPIES["list"][1](), sources=Sources(refused))
    assert seen.source == "smaps_rollup"
    assert "pagemap is withheld: Permission denied" in memory.judge(seen).reason


def test_a_walk_cut_short_is_inconclusive_and_not_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy_on_access, "WALK_SECONDS", -1.0)
    seen = measured(load(Rows(length, rows=names())))
    assert memory.judge(seen).outcome == "inconclusive"
    assert "not to their end" in memory.judge(seen).reason
