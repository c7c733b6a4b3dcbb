"""The shared memory check: its judgement over made-up evidence, and real loaders: what is left by whom, clean twins."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from multiprocessing import shared_memory
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.checks import Setting, shm
from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.host import process_tree, segments
from pytest_dataloader.probe.resources import usage
from pytest_dataloader.probe.resources.leaks import NAMED_SEGMENT, Leak
from pytest_dataloader.probe.resources.referrers import Referrer
from tests.judgement import Judgement
from tests.variants import variants
from tests.zoo import evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.resources.evidence import Shm

pytestmark = [
    pytest.mark.xdist_group("system"),
    pytest.mark.skipif(sys.platform != "linux", reason="forked workers and /dev/shm"),
]


SEEN = evidence.SHM
PEAK = "peak 41.0 kB of 8.0 MB"
UNSEEN = replace(SEEN, peak_bytes=0, peak_segments=0)
BATCHES = Leak("the main process", "shared-memory segment of torch", 40, "batch", 2.0, "/dev/shm/torch_7_1_1")
OF_TORCH = ("torch_7_1_1", "torch_7_1_2", "torch_8_1_1")
LEFT = replace(SEEN, names=OF_TORCH, leaked_bytes=12_288)
NO_SPACE = "RuntimeError: No space left on device"


def at_most(count: int) -> dict[str, int]:
    return {"max_shm": count}


VERDICTS = {
    "nothing is left": Judgement(
        SEEN, "passed",
        "peak 41.0 kB of 8.0 MB, nothing left behind\n"
        "seen in 4 epochs of the first 8 of 200 batches", in_full=True,
    ),
    "views of large storages": Judgement(
        replace(SEEN, batch_bytes=4_000_000, unshown_bytes=3_900_000), "passed",
        "peak 41.0 kB of 8.0 MB, nothing left behind\n"
        "a batch sends 4.0 MB, its tensors are views of 100.0 kB of it\n"
        "seen in 4 epochs of the first 8 of 200 batches", ("",),
        in_full=True,
    ),
    "views of most of their storages": Judgement(
        replace(SEEN, batch_bytes=4_000_000, unshown_bytes=1_900_000), "passed",
        "peak 41.0 kB of 8.0 MB, nothing left behind\n"
        "seen in 4 epochs of the first 8 of 200 batches"
    ),
    "views of small storages": Judgement(
        replace(SEEN, batch_bytes=999_000, unshown_bytes=990_000), "passed",
        "peak 41.0 kB of 8.0 MB, nothing left behind\n"
        "seen in 4 epochs of the first 8 of 200 batches"
    ),
    "no shared memory at all": Judgement(
        replace(UNSEEN, predicted_peak_bytes=0), "passed",
        "peak 0 B of 8.0 MB, nothing left behind\nseen in 4 epochs of the first 8 of 200 batches",
        in_full=True,
    ),
    "a thread that pins leaves none to see": Judgement(
        UNSEEN, "passed", "at most 41.0 kB of 8.0 MB, nothing left behind"
    ),
    "one epoch": Judgement(
        replace(SEEN, epochs=1), "inconclusive",
        "peak 41.0 kB of 8.0 MB, nothing left behind\n"
        "seen in 1 epoch of the first 8 of 200 batches",
    ),
    "no batch": Judgement(
        replace(SEEN, batches=0), "not_measured", "the loader gave no batch: its epoch is empty", vacuous=True
    ),
    "something else makes segments": Judgement(
        replace(SEEN, unclear=("something else makes segments",)), "inconclusive",
        "something else makes segments\npeak 41.0 kB of 8.0 MB"
    ),
    "batches name segments": Judgement(
        replace(SEEN, handed_over=1, unclear=("something else makes segments",)), "inconclusive",
        "batches name 1 segment: the loop must unlink them\n"
        "peak 41.0 kB of 8.0 MB", in_full=True,
    ),
    "something else ran out": Judgement(
        replace(SEEN, exhausted="OSError: Too many open files"), "inconclusive",
        "the loader did not finish: OSError: Too many open files\n"
        "peak 41.0 kB of 8.0 MB until then", ("",), in_full=True,
    ),
    "no batch came": Judgement(
        replace(SEEN, hung=True), "inconclusive",
        "the loader did not finish: no batch came for a minute\n"
        "peak 41.0 kB of 8.0 MB until then"
    ),
    "no space left": Judgement(
        replace(SEEN, exhausted=NO_SPACE), "failed",
        "/dev/shm is full (8.0 MB): RuntimeError: No space left on device", ("",), in_full=True
    ),
    "a worker killed for want of it": Judgement(
        replace(SEEN, exhausted="might be insufficient shared memory (shm)"), "failed",
        "/dev/shm is full (8.0 MB): might be insufficient shared memory (shm)",
        ("",)
    ),
    "cannot fit": Judgement(
        replace(SEEN, shortage="5 batches are 20.0 MB", exhausted=NO_SPACE, predicted_peak_bytes=20_000_000), "failed",
        "5 batches are 20.0 MB\nthe loader was not run", ("",), in_full=True,
    ),
    "uint8 would fit": Judgement(
        replace(SEEN, shortage="too much", predicted_peak_bytes=20_000_000, batch_bytes=4_000_000,
                uint8_saves_bytes=3_000_000),
        "failed", "too much\nthe loader was not run", ("", ""), in_full=True,
    ),
    "may not fit": Judgement(replace(SEEN, predicted_peak_bytes=8_000_001), "passed", PEAK, ("",)),
    "may just fit": Judgement(replace(SEEN, predicted_peak_bytes=8_000_000), "passed", PEAK),
    "the peak was higher than there is": Judgement(
        replace(SEEN, peak_bytes=8_000_001), "passed", "peak 8.0 MB of", ("",)
    ),
    "nobody says how much there is": Judgement(replace(SEEN, capacity_bytes=0), "passed", "peak 41.0 kB of 0 B"),
    "segments stay open": Judgement(
        replace(SEEN, leaks=(BATCHES,), kept_by=(Referrer("loader.kept[*]", "data.py:31", 40),)), "failed",
        "leaks 2 shared-memory segments of torch per batch, in the main process (40 seen)\n"
        "kept by loader.kept[*] (data.py:31)\npeak 41.0 kB of 8.0 MB", ("DL305",), in_full=True,
    ),
    "names stay": Judgement(
        LEFT, "failed",
        "3 segments (12.3 kB) left in /dev/shm by workers that have ended\n"
        "named torch_7_1_1, torch_7_1_2, ...\npeak 41.0 kB of 8.0 MB",
        ("",), in_full=True,
    ),
    "two names stay": Judgement(
        replace(LEFT, names=OF_TORCH[:2]), "failed",
        "2 segments (12.3 kB) left in /dev/shm by workers that have ended\n"
        "named torch_7_1_1, torch_7_1_2\npeak 41.0 kB of 8.0 MB",
        ("",),
        in_full=True,
    ),
    "names of epochs that are left early": Judgement(
        replace(LEFT, left_early=True), "failed",
        "3 segments (12.3 kB) left in /dev/shm by epochs that ended early",
        ("DL208", "")
    ),
    "names of others, left early": Judgement(
        replace(LEFT, left_early=True, names=("psm_1",)), "failed",
        "1 segment (12.3 kB) left in /dev/shm by epochs that ended early",
        ("",)
    ),
    "names stay, and segments open": Judgement(
        replace(LEFT, leaks=(BATCHES,)), "failed",
        "leaks 2 shared-memory segments of torch per batch, in the main process (40 seen)\n"
        "3 segments (12.3 kB) left in /dev/shm by workers that have ended",
        ("DL305", ""),
    ),
    "a peak at the limit": Judgement(SEEN, "passed", PEAK, (), at_most(40_960)),
    "a peak above the limit": Judgement(
        SEEN, "failed", "peak 41.0 kB of 8.0 MB, limit 40.9 kB", (), at_most(40_900), in_full=True
    ),
    "a limit of nothing": Judgement(SEEN, "failed", "peak 41.0 kB of 8.0 MB, limit 0 B", (), at_most(0), in_full=True),
    "none to see, and a limit of as much": Judgement(
        UNSEEN, "passed", "at most 41.0 kB of 8.0 MB", (), at_most(40_960)
    ),
    "none to see, and a limit below": Judgement(
        UNSEEN, "inconclusive", "at most 41.0 kB of 8.0 MB, limit 40.9 kB", (), at_most(40_900), in_full=True
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_follows_from_the_evidence(row: Judgement) -> None:
    assert row.of(shm.judge) == row


def test_what_stays_is_offered_for_removal_by_name_and_no_more_than_fifty() -> None:
    [few] = shm.judge(LEFT).advice
    assert few.text.endswith(": rm /dev/shm/torch_7_1_1 /dev/shm/torch_7_1_2 /dev/shm/torch_8_1_1")
    [fifty] = shm.judge(replace(LEFT, names=tuple(f"torch_7_1_{number}" for number in range(50)))).advice
    assert fifty.text.endswith("/dev/shm/torch_7_1_49")
    [many] = shm.judge(replace(LEFT, names=tuple(f"torch_7_1_{number}" for number in range(52)))).advice
    assert many.text.endswith("/dev/shm/torch_7_1_49 (and 2 more, in the evidence's names)")


def test_segments_of_torch_without_a_descriptor_are_told_from_others() -> None:
    named = replace(BATCHES, sort=NAMED_SEGMENT, where="/dev/shm", example="torch_7_1_1")
    [of_torch] = shm.judge(replace(SEEN, leaks=(named,))).advice
    [other] = shm.judge(replace(SEEN, leaks=(replace(named, example="psm_1"),))).advice
    assert of_torch.code == "DL305"
    assert other.text == "call close() and unlink() on each multiprocessing.shared_memory.SharedMemory"


class Rows(Dataset[Any]):
    def __init__(self, get: Callable[[Any, int], Any] | None = None, size: int = 4) -> None:
        self.get = get
        self.size = size
        self.kept: list[Any] = []

    def __len__(self) -> int:
        return 400

    def __getitem__(self, at: int) -> Any:
        return torch.full((self.size,), at) if self.get is None else self.get(self, at)


class KeepsInDict(DataLoader[Any]):
    def __iter__(self) -> Any:
        kept = vars(self).setdefault("kept", {})
        for batch in super().__iter__():
            kept[len(kept)] = batch
            yield batch


def load(dataset: Any = None, kind: type[DataLoader[Any]] = DataLoader, **settings: Any) -> DataLoader[Any]:
    given = {"batch_size": 2, "num_workers": 2, "multiprocessing_context": "fork", **settings}
    if not given["num_workers"]:
        given.pop("multiprocessing_context")
    return kind(Rows() if dataset is None else dataset, **given)


def measured(loader: DataLoader[Any]) -> Shm:
    """Measured through all rounds, however busy the machine is."""
    return shm.measure(loader, setting=Setting(seconds=60.0, bench=True))


@pytest.fixture
def by_file() -> Iterator[None]:
    untyped: Any = torch.multiprocessing
    before = untyped.get_sharing_strategy()
    untyped.set_sharing_strategy("file_system")
    yield
    untyped.set_sharing_strategy(before)


def piece() -> shared_memory.SharedMemory:
    return shared_memory.SharedMemory(create=True, size=100)


def unlinks(_self: Any, at: int) -> Any:
    held = piece()
    held.close()
    held.unlink()
    return torch.full((4,), at)


def forgets(_self: Any, at: int) -> Any:
    piece().close()
    return torch.full((4,), at)


def keeps_pieces(self: Any, at: int) -> Any:
    self.kept.append(piece())
    return torch.full((4,), at)


def keeps_tensors(self: Any, at: int) -> Any:
    rows: Any = torch.zeros(4)
    self.kept.append(rows.share_memory_())
    return torch.full((4,), at)


def hands_over(_self: Any, _at: int) -> Any:
    held = piece()
    held.close()
    return held.name


CLEAN: dict[str, Callable[[], DataLoader[Any]]] = {
    "no workers": lambda: load(num_workers=0),
    "workers": load,
    "persistent workers": lambda: load(persistent_workers=True),
    "segments that are unlinked": lambda: load(Rows(unlinks)),
    "arrays": lambda: load(Rows(lambda _self, _at: [1.0]), collate_fn=list),
}
LEAKS: dict[str, tuple[Callable[[], DataLoader[Any]], str]] = {
    "forgotten segments": (lambda: load(Rows(forgets)), "/dev/shm"),
    "forgotten segments, persistent workers": (lambda: load(Rows(forgets), persistent_workers=True), "/dev/shm"),
    "segments that are kept": (lambda: load(Rows(keeps_pieces)), "a worker"),
    "tensors that are kept": (lambda: load(Rows(keeps_tensors)), "a worker"),
    "tensors that are kept by persistent workers": (
        lambda: load(Rows(keeps_tensors), persistent_workers=True), "a worker",
    ),
    "batches that are kept": (lambda: load(kind=KeepsInDict), "the main process"),
}  # fmt: skip


@pytest.fixture
def left_by_another(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A segment that a killed process left behind, whose pid a worker has. No other names: workers of tests that run
    beside this one might have their pids."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        killed = process_tree.read_process(process.pid)
        process.kill()
    assert killed is not None

    def with_that_pid() -> process_tree.ProcessRegistry:
        process_registry = registry_of_now()
        process_registry.seen.append(killed)
        return process_registry

    registry_of_now = process_tree.ProcessRegistry
    monkeypatch.setattr(process_tree, "ProcessRegistry", with_that_pid)
    path = Path(f"/dev/shm/torch_{killed.pid}_1_1")
    path.write_bytes(b"x")
    yield
    path.unlink()


@pytest.mark.usefixtures("left_by_another")
@pytest.mark.parametrize(
    "make", variants({name: CLEAN[name] for name in ("workers", "persistent workers")}, ["workers"])
)
def test_what_killed_processes_left_is_not_put_down_to_a_worker_with_their_pid(
    make: Callable[[], DataLoader[Any]],
) -> None:
    seen = measured(make())
    assert (shm.judge(seen).outcome, seen.names) == ("passed", ())


@pytest.mark.parametrize("make", CLEAN.values(), ids=CLEAN)
def test_a_clean_loader_passes(make: Callable[[], DataLoader[Any]]) -> None:
    seen = measured(make())
    verdict = shm.judge(seen, max_shm=10**6)
    assert (verdict.outcome, seen.leaked, seen.names) == ("passed", 0, ()), verdict.reason
    assert seen.capacity_bytes > 0
    assert len(seen.open_after_epochs) == seen.epochs


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("make", "where"),
    variants(LEAKS, ["forgotten segments", "segments that are kept", "tensors that are kept"]),
)
def test_a_leak_is_found_where_it_is(make: Callable[[], DataLoader[Any]], where: str) -> None:
    seen = measured(make())
    verdict = shm.judge(seen)
    assert (verdict.outcome, {leak.where for leak in seen.leaks}) == ("failed", {where}), verdict.reason
    assert seen.leaked >= seen.leaks[0].count >= 3
    assert seen.leaks[0].per == "batch"


@pytest.mark.slow
def test_who_keeps_batches_is_named() -> None:
    seen = measured(load(kind=KeepsInDict))
    assert (seen.kept_by[0].name, seen.kept_by[0].line[:12]) == ("loader.kept[*]", "test_shm.py:")
    assert (shm.judge(seen).outcome, {leak.where for leak in seen.leaks}) == ("failed", {"the main process"})


@pytest.mark.usefixtures("by_file")
def test_an_epoch_left_early_leaves_files_under_the_file_system_strategy() -> None:
    seen = measured(load())
    verdict = shm.judge(seen)
    assert verdict.outcome == "failed"
    assert "left in /dev/shm by epochs that ended early" in verdict.reason
    assert "DL208" in {advice.code for advice in verdict.advice}
    offer = verdict.advice[-1].text
    assert all(f"/dev/shm/{name}" in offer for name in seen.names)
    assert all(Path("/dev/shm", name).exists() for name in seen.names), "nothing is removed unasked"


@pytest.mark.usefixtures("by_file")
def test_workers_that_persist_leave_nothing_under_the_file_system_strategy() -> None:
    seen = measured(load(persistent_workers=True))
    assert shm.judge(seen).outcome == "passed", shm.judge(seen).reason


def test_segments_that_batches_name_are_for_whoever_takes_them() -> None:
    seen = measured(load(Rows(hands_over), collate_fn=list))
    verdict = shm.judge(seen)
    assert (verdict.outcome, seen.leaked) == ("inconclusive", 0)
    assert "the loop must unlink them" in verdict.reason


def test_segments_of_others_are_not_counted() -> None:
    foreign = piece()
    other = Path(f"/dev/shm/torch_{2**22 - 1}_{os.getpid()}_1")
    other.write_bytes(bytes(4096))
    try:
        seen = measured(load())
    finally:
        other.unlink()
        foreign.close()
        foreign.unlink()
    assert (shm.judge(seen).outcome, seen.names) == ("passed", ())


@pytest.mark.parametrize(("workers", "prefetch"), variants({"2-4": (2, 4), "1-2": (1, 2), "2-2": (2, 2)}, ["2-4"]))
def test_the_peak_is_the_predicted_one_when_the_queue_is_full(
    workers: int, prefetch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "_FILL_SECONDS", 60.0)
    seen = measured(load(Rows(size=5000), num_workers=workers, prefetch_factor=prefetch))
    assert seen.batch_bytes == 81920  # two rows of 40,000 bytes, in whole pages
    assert seen.peak_segments == seen.predicted_segments == workers * prefetch + 1
    assert seen.peak_bytes == seen.predicted_peak_bytes == seen.batch_bytes * seen.predicted_segments


SMALL = textwrap.dedent(
    """
    import torch
    from torch.utils.data import DataLoader, Dataset
    from pytest_dataloader.checks import Setting, shm

    class Rows(Dataset):
        def __len__(self):
            return 200

        def __getitem__(self, at):
            return torch.zeros(SIZE if at >= LARGE_FROM else 4)

    if __name__ == "__main__":
        seen = shm.measure(DataLoader(Rows(), batch_size=2, num_workers=2), setting=Setting())
        verdict = shm.judge(seen)
        print(seen.epochs, verdict.outcome, verdict.reason)
    """
)


def with_small_shared_memory(tmp_path: Path, size: int, large_from: int) -> str:
    """The check in a mount namespace of its own, where /dev/shm holds 8 MiB."""
    script = tmp_path / "small.py"
    script.write_text(SMALL.replace("SIZE", str(size)).replace("LARGE_FROM", str(large_from)))
    mount = "mount -t tmpfs -o size=8m tmpfs /dev/shm && exec"
    shell = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'{mount} "$0" "$1"']
    done = subprocess.run(
        [*shell, sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no mount namespaces here: {done.stderr.splitlines()[0]}")
    return str(done.stdout).strip()


def test_batches_that_cannot_fit_are_told_before_they_are_made(tmp_path: Path) -> None:
    said = with_small_shared_memory(tmp_path, 500_000, 0)
    assert said.startswith(
        "0 failed 20.0 MB of prefetched batches do not fit into /dev/shm of 8.4 MB\n2 workers x prefetch_factor=2 + 1 "
    )
    assert said.endswith("the loader was not run")


@pytest.mark.slow
def test_batches_that_grow_until_nothing_fits_are_told_too(tmp_path: Path) -> None:
    said = with_small_shared_memory(tmp_path, 1_500_000, 8)
    assert "failed /dev/shm is full (8.4 MB)" in said
    assert "No space left on device" in said


def test_where_shared_memory_is_not_shown_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "why_no_segments", lambda: "there is no /dev/shm here")
    with pytest.raises(NotMeasured, match="no /dev/shm"):
        measured(load())
