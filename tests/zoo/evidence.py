"""Made-up evidence of healthy loaders, for the checks that read memory, samples and resources: tables of verdicts
change one thing of it at a time.
"""

from __future__ import annotations

from pytest_dataloader.probe.memory.evidence import Memory
from pytest_dataloader.probe.resources.evidence import Fds, Shm
from pytest_dataloader.probe.resources.forecast import Shape
from pytest_dataloader.probe.samples.continuation import Resumption
from pytest_dataloader.probe.samples.evidence import Order, Randomness, Resume, Shards
from pytest_dataloader.probe.samples.overlap import Overlap
from pytest_dataloader.probe.samples.partition import World
from pytest_dataloader.probe.streams.evidence import Contents, Growth, Held, Processes

MEMORY = Memory(
    kind="clean", kinds=("clean",), attribute="", type="", count=0, exposed_bytes=0, share_copied=0.0,
    written_in_place=False, growth_bytes_per_worker=0, growth_low_bytes=0, growth_high_bytes=0, predicted_total_bytes=0,
    available_bytes=10**10, accumulating_attribute="", accumulated_bytes_per_sample=0.0, kept_bytes_per_batch=0.0,
    warm_up_bytes=0, attributes=(), replacement=None, workers=2, start_method="fork", source="pagemap", unclear="",
    withheld=(), partly=(), samples_read=800, reading_error="", worker_growth=(), parent_growth_bytes=0, epoch_seen=0.0,
    curve=(), seconds=1.0,
)  # fmt: skip
ORDER = Order(
    faults=(), iterable=False, sampler="RandomSampler", size=96, samples=(96, 96), repeated=0, left_out=0,
    dropped_last=0, reshuffled=True, compared=96, samples_per_worker=(48, 48), workers=2, persistent_workers=False,
    partly=(), seconds=1.0,
)  # fmt: skip
RANDOMNESS = Randomness(
    faults=(), drawn=("numpy.random",), alike={}, varies=True, workers=2, epochs=2, samples_read=32, ranks=1,
    start_method="fork", persistent_workers=False, partly=(), seconds=1.0,
)  # fmt: skip
WORLD = World(
    world_size=2, samples=(48, 48), batches=(6, 6), padding=0, padded=(), repeated=0, lost=0, dropped=0,
    unsharded=False, same_order=False, complete=True,
)  # fmt: skip
SHARDS = Shards(worlds=(WORLD,), how="sampler", size=96, iterable=False, shuffles=True, takes_epochs=True, workers=2)
OVERLAP = Overlap(
    ranks=(0, 1), silent=(), by="indices", sure=True, samples=(48, 48), batches=(6, 6), pairs=(), repeated=0, padding=0,
    lost=0, dropped=0, alike=False, whole=False, replaces=False, complete=True, iterable=False, shuffles=True, one_in=1,
    sampler="DistributedSampler", dataset="Rows",
)  # fmt: skip
RESUME = Resume(
    stops=(Resumption("after batch 1", "exact"), Resumption("after the last batch", "exact")), batches=24,
    overhead=None, workers=2, persistent_workers=False, partly=(), seconds=1.0,
)  # fmt: skip
SHAPE = Shape(before=20, storages=1, batch_bytes=8192, workers=2, prefetch_factor=2)
FDS = Fds(
    leaks=(), kept_by=(), unclear=(), shortage="", exhausted="", hung=False, unpredicted="", shape=SHAPE,
    batches_in_round=8, batches_in_epoch=200, epochs=4, batches=32, peak=50, limit=1000, leaked=0, before=20,
    main_peak=50, worker_peak=40, predicted_main_peak=60, predicted_worker_peak=45, storages_per_batch=1,
    handed_to_worker=0,
)  # fmt: skip
SHM = Shm(
    leaks=(), kept_by=(), unclear=(), shortage="", exhausted="", hung=False, unpredicted="", shape=SHAPE,
    batches_in_round=8, batches_in_epoch=200, epochs=4, batches=32, peak_bytes=40_960, capacity_bytes=8_000_000,
    leaked=0, leaked_bytes=0, names=(), left_early=False, peak_segments=5, predicted_peak_bytes=40_960,
    predicted_segments=5, storages_per_batch=1, batch_bytes=8192, handed_over=0,
)  # fmt: skip
CONTENTS = Contents(
    epochs=2, batches=80, samples=(640, 640), twice=0, common=640, complete=(True, True), same_order=False
)
HELD = Held(
    epochs=4, batches=160, left=(), stays=0, peak=20, limit=100, peak_bytes=8192, capacity_bytes=8_000_000
)  # fmt: skip
GROWTH = Growth(
    epochs=4, batches=400, private_bytes=(0, 30_000_000, 30_000_000, 30_100_000, 30_100_000),
    children_bytes=(0, 0, 0, 0, 0), batches_between=100, batch_bytes=8192,
)  # fmt: skip
PROCESSES = Processes(epochs=2, batches=80, children=0, outliving=(), seconds_to_first_batch=0.25, whole=True)
