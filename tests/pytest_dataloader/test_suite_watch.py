"""Watched blocks and watched suites: what is left behind fails the right test, and nobody else's things do."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

WITHOUT = ("-p", "no:hypothesispytest", "-p", "no:memray", "-p", "no:anyio")
pytestmark = [
    pytest.mark.xdist_group("system"),
    pytest.mark.skipif(sys.platform != "linux", reason="forked workers and /dev/shm"),
]

DATA = """
import os
import time
import torch
from multiprocessing import shared_memory
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    first_takes = 0

    def __len__(self):
        return 40

    def __getitem__(self, at):
        time.sleep(self.first_takes if at == 0 else 0)
        return {"row": torch.full((4,), at), "label": torch.tensor(at)}

class LateRows(Rows):
    first_takes = 0.5

def load(rows=Rows, **settings):
    return DataLoader(rows(), **{"batch_size": 2, "num_workers": 2, **settings})

KEPT = []
"""

SUITE = """
import os
import pytest
import torch
from data import KEPT, load, shared_memory

LOADER = load(persistent_workers=True)

@pytest.fixture(scope="module")
def module_loader():
    return load(persistent_workers=True)

@pytest.fixture(scope="module")
def box():
    class Box: pass
    return Box()

@pytest.fixture
def own_loader():
    return load(persistent_workers=True)

def test_clean_epoch():
    for _ in load(): pass

def test_clean_break():
    for _ in load(): break

def test_clean_module_fixture(module_loader):
    for _ in module_loader: pass

def test_clean_loader_of_the_module():
    for _ in LOADER: pass

def test_clean_loader_kept_by_a_fixture(box):
    box.loader = load(persistent_workers=True)
    box.first = next(iter(box.loader))

def test_clean_own_fixture(own_loader):
    assert len(list(own_loader)) == 20

def test_leaks_workers():
    KEPT.append(iter(load()))

def test_clean_after_workers():
    for _ in load(): pass

def test_leaks_batches():
    for batch in load():
        KEPT.append(batch)

def test_leaks_a_file():
    KEPT.append(os.open(__file__, os.O_RDONLY))

def test_leaks_a_segment():
    shared_memory.SharedMemory(create=True, size=100).close()

def test_fails_with_an_iterator():
    batches = iter(load())
    next(batches)
    raise KeyError

def test_clean_at_the_end(module_loader, box):
    for _ in module_loader: pass
"""

FIXTURE = """
import pytest
from data import KEPT, load

@pytest.fixture(scope="module")
def careless():
    loader = load(persistent_workers=True)
    next(iter(loader))
    KEPT.append(loader)
    return loader

def test_one(careless): pass
def test_two(careless): pass
"""

LEAKING_NEIGHBOUR = """
import multiprocessing, os, sys, time
from multiprocessing import shared_memory
kept = []
while True:
    kept.append(os.open(os.devnull, os.O_RDONLY))
    kept.append(shared_memory.SharedMemory(create=True, size=100))
    name = f"/dev/shm/torch_{os.getpid()}_{len(kept)}_1"
    open(name, "w").write("x")
    print(name, flush=True)
    time.sleep(0.02)
    if len(kept) > 400:
        for piece in kept[1::2]: piece.unlink()
        for number in kept[::2]: os.close(number)
        kept.clear()
"""


@pytest.fixture
def neighbour() -> Iterator[None]:
    """Another process of this user that leaves descriptors and segments behind all the time."""
    with subprocess.Popen([sys.executable, "-c", LEAKING_NEIGHBOUR], stdout=subprocess.PIPE, text=True) as process:
        yield
        process.terminate()
        names = process.communicate()[0].split()
    for name in names:
        subprocess.run(["rm", "-f", name], check=False)


def run(pytester: pytest.Pytester, *arguments: str) -> dict[str, str]:
    """Run pytest in a process of its own; the outcome of each test, errors of its teardown as ``left``."""
    pytester.makepyfile(data=DATA)
    result = pytester.runpytest_subprocess(*WITHOUT, "-rA", *arguments)
    text = "\n".join(result.outlines)
    outcomes = {name: word.lower() for word, name in re.findall(r"^(PASSED|FAILED) \S+?::(\w+)", text, re.M)}
    for name, told in re.findall(r"^ERROR \S+?::(\w+) - Failed: (.*)", text, re.M):
        outcomes[name] = "left" if " behind" in text and told else "error"
    outcomes["output"] = text
    return outcomes


def test_a_watched_suite_blames_the_test_that_leaves_something(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ndataloader_watch = workers shm fds\n")
    pytester.makepyfile(test_suite=SUITE)
    outcomes = run(pytester)
    text = outcomes.pop("output")
    expected = {
        name: "left" if "_leaks_" in name else "failed" if "_fails_" in name else "passed"
        for name in re.findall(r"^def (test_\w+)", SUITE, re.M)
    }
    assert outcomes == expected, text
    assert re.search(r"test_leaks_workers: left behind: 2 workers of a DataLoader still running \(pid \d+, \d+\)", text)
    assert re.search(r"test_leaks_batches: left behind: 40 open descriptors, shared-memory segment of torch", text)
    assert re.search(r"batches are kept by \w+\.KEPT\[\*\]", text)
    assert re.search(r"test_leaks_a_file: left behind: 1 open descriptor, file: \S+test_suite.py", text)
    assert re.search(r"test_leaks_a_segment: left behind: 1 segment in /dev/shm, .* rm /dev/shm/psm_\w+", text)


def test_what_a_fixture_leaves_is_told_where_it_is_torn_down(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ndataloader_watch = workers\n")
    pytester.makepyfile(test_suite=FIXTURE)
    outcomes = run(pytester)
    assert (outcomes["test_one"], outcomes["test_two"]) == ("passed", "left")
    assert "the module fixture 'careless', torn down after this test, left behind: 2 workers" in outcomes["output"]


@pytest.mark.slow
def test_only_what_is_named_is_watched(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ndataloader_watch = workers\n")
    pytester.makepyfile(test_suite=SUITE)
    outcomes = run(pytester, "-k", "leaks")
    assert {name for name, outcome in outcomes.items() if outcome == "left"} == {"test_leaks_workers"}


def test_what_cannot_be_watched_is_told_by_name(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ndataloader_watch = workers sockets\n")
    result = pytester.runpytest_subprocess(*WITHOUT)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*tox.ini: dataloader_watch: expected some of workers, shm, fds, got 'sockets'*"])


@pytest.mark.usefixtures("neighbour")
@pytest.mark.parametrize(
    "mode", [pytest.param((), id="alone"), pytest.param(("-n2",), id="xdist", marks=pytest.mark.slow)]
)
def test_neighbours_are_never_blamed(pytester: pytest.Pytester, mode: tuple[str, ...]) -> None:
    pytester.makeini("[pytest]\ndataloader_watch = workers shm fds\n")
    pytester.makepyfile(
        test_suite="""
        import pytest
        from data import load

        @pytest.mark.parametrize("number", range(6))
        def test_clean(number, dataloader_shm, dataloader_fds):
            if number == 0:
                dataloader_shm(load())
            elif number == 1:
                dataloader_fds(load())
            with dataloader_shm.watch(), dataloader_fds.watch():
                for _ in load(): pass
        """
    )
    pytester.makepyfile(data=DATA)
    pytester.runpytest_subprocess(*WITHOUT, *mode).assert_outcomes(passed=6)


BLOCKS = """
import os
import time
import pytest
import torch
from data import KEPT, LateRows, load, shared_memory

@pytest.fixture(params=["shm", "fds"])
def check(request):
    return request.getfixturevalue(f"dataloader_{request.param}")

@pytest.fixture
def by_file():
    torch.multiprocessing.set_sharing_strategy("file_system")
    yield
    torch.multiprocessing.set_sharing_strategy("file_descriptor")

def test_clean_epoch(check):
    with check.watch():
        for batch in load(): pass

def test_clean_persistent(check):
    loader = load(persistent_workers=True)
    with check.watch():
        for batch in loader: break

def test_clean_iterator_in_use(check):
    with check.watch():
        batches = iter(load())
        first = next(batches)

def test_clean_iterator_that_holds_early_batches(check):
    with check.watch():
        batches = iter(load(LateRows))
        first = next(batches)

def test_clean_by_file(check, by_file):
    with check.watch():
        for batch in load(): pass

def test_clean_more_may_be_kept(check):
    with check.watch(keep=20):
        batches = list(load())

def test_raises_its_own(check):
    with pytest.raises(KeyError), check.watch():
        kept = os.open(__file__, os.O_RDONLY)
        raise KeyError
    os.close(kept)

def test_bad_list(check):
    with check.watch():
        arrays = []
        for batch in load():
            arrays.append(batch["row"].numpy())

def test_bad_break_by_file(dataloader_shm, by_file):
    loader = load()
    with dataloader_shm.watch():
        batches = iter(loader)
        next(batches)
        early = sum(len(task) > 1 for task in batches._task_info.values())
        while early + batches._worker_result_queue.qsize() < 4:  # as many as are fetched ahead
            time.sleep(0.01)
        del batches

def test_bad_file(dataloader_fds):
    with dataloader_fds.watch():
        KEPT.append(os.open(__file__, os.O_RDONLY))

def test_bad_segment(dataloader_shm):
    with dataloader_shm.watch():
        shared_memory.SharedMemory(create=True, size=100).close()
"""


@pytest.mark.slow
def test_a_watched_block_may_leave_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_blocks=BLOCKS, data=DATA)
    result = pytester.runpytest_subprocess(*WITHOUT, "-rA")
    text = "\n".join(result.outlines)
    failed = set(re.findall(r"^FAILED \S+?::(\w+)", text, re.M))
    assert failed == {"test_bad_list", "test_bad_break_by_file", "test_bad_file", "test_bad_segment"}, text
    assert re.search(r"batches are kept by arrays\[\*\] in test_bad_list \(test_blocks.py:\d+\)", text)
    assert re.search(r"1 open descriptor, file: \S+test_blocks.py", text)
    assert len(re.findall(r"rm /dev/shm/torch_\d+_\d+_\d+", text)) >= 1
