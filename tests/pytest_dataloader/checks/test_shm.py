"""The shared memory check on real loaders: what is left behind and by whom, what fits, and clean twins."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import textwrap
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
from tests.variants import variants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.resources.evidence import Shm

pytestmark = [
    pytest.mark.xdist_group("system"),
    pytest.mark.skipif(sys.platform != "linux", reason="forked workers and /dev/shm"),
]


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
        killed = process_tree.read(process.pid)
        process.kill()
    assert killed is not None

    def with_that_pid() -> process_tree.Roster:
        roster = roster_of_now()
        roster.seen.append(killed)
        return roster

    roster_of_now = process_tree.Roster
    monkeypatch.setattr(process_tree, "Roster", with_that_pid)
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
    assert "epochs that are left early leave" in verdict.reason
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
    assert "whoever takes them must unlink" in verdict.reason


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


def test_a_peak_above_the_limit_fails() -> None:
    verdict = shm.judge(measured(load(Rows(size=5000))), max_shm=81920 * 4)
    assert verdict.outcome == "failed"
    assert "peak 409.6 kB of" in verdict.reason
    assert verdict.reason.endswith("allowed: 327.7 kB")


def test_where_a_thread_that_pins_leaves_nothing_to_see_what_may_be_there_is_told() -> None:
    seen = dataclasses.replace(measured(load(Rows(size=5000))), peak_bytes=0, peak_segments=0)  # as beside a real GPU
    assert shm.judge(seen).outcome == "passed"
    assert shm.judge(seen).reason.startswith("at most 409.6 kB of ")
    assert shm.judge(seen, max_shm=409_600).outcome == "passed"
    assert shm.judge(seen, max_shm=81_920).outcome == "inconclusive"


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
    assert said.startswith("0 failed 2 workers x prefetch_factor 2 + 1 batches of 4.0 MB are 20.0 MB")
    assert said.endswith("/dev/shm holds 8.4 MB: not run")


@pytest.mark.slow
def test_batches_that_grow_until_nothing_fits_are_told_too(tmp_path: Path) -> None:
    said = with_small_shared_memory(tmp_path, 1_500_000, 8)
    assert "failed /dev/shm ran out (8.4 MB)" in said
    assert "No space left on device" in said


def test_where_shared_memory_is_not_shown_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "why_not", lambda: "there is no /dev/shm here")
    with pytest.raises(NotMeasured, match="no /dev/shm"):
        measured(load())
