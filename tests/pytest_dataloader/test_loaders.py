"""Loaders by name: what is imported from where, what counts as one, and what is said of anything else."""

from __future__ import annotations

import re
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torchdata.stateful_dataloader import StatefulDataLoader  # type: ignore[import-untyped]  # torchdata ships no types

from pytest_dataloader import checks, loaders
from pytest_dataloader.checks import order
from pytest_dataloader.errors import BadTarget
from pytest_dataloader.probe.loader.recognition import is_dataloader

if TYPE_CHECKING:
    from collections.abc import Iterator

MODULE = """
from torch.utils.data import DataLoader, TensorDataset
import torch

class Data:
    @staticmethod
    def train():
        return DataLoader(TensorDataset(torch.zeros(8)), batch_size=4)
    def train_dataloader(self):
        return self.train()

ready = Data.train()
numbers = [1, 2]
dataset = ready.dataset

def fails():
    raise ValueError("no samples")
def stops():
    raise SystemExit(3)
def wants(root, *, size=3):
    return ready
def lists():
    return [ready]
def missing():
    import surely_not_installed
"""


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A folder with the module ``looked_up``, importable for as long as the test runs."""
    tmp_path.joinpath("looked_up.py").write_text(MODULE)
    tmp_path.joinpath("looked_up_broken.py").write_text("import surely_not_installed\n")
    tmp_path.joinpath("looked_up_wrong.py").write_text("1 +\n")
    with loaders.importable([tmp_path]):
        yield tmp_path
    for name in [name for name in sys.modules if name.startswith("looked_up")]:
        del sys.modules[name]


@pytest.mark.parametrize("reference", ["looked_up:ready", "looked_up:Data.train"])
def test_a_loader_or_what_returns_one_is_built(root: Path, reference: str) -> None:
    assert isinstance(loaders.build(reference, [root]).loader, DataLoader)


@pytest.mark.parametrize(
    ("reference", "fault"),
    [
        ("looked_up", "expected MODULE:ATTR, such as proj.data:make_train_loader, got 'looked_up'"),
        ("looked_op:ready", "there is no module 'looked_op': it was looked for in {root}, then on sys.path; install"),
        ("looked_up.deeper:ready", "looked_up ({root}/looked_up.py) has no module 'deeper'"),
        ("logging.handler:ready", "has no module 'handler'; did you mean handlers?"),
        ("looked_up:redy", "looked_up has no attribute 'redy'; did you mean ready?"),
        ("looked_up:Data.tarin", "looked_up.Data has no attribute 'tarin'; did you mean train?"),
        (
            "looked_up:numbers",
            "expected a torch.utils.data.DataLoader or a callable, looked_up.numbers is list, whose items are no b",
        ),
        ("looked_up:dataset", "TensorDataset, which is a Dataset: wrap it in a DataLoader"),
        ("looked_up:lists", "looked_up.lists() returned list, whose items are no batches"),
        ("looked_up:Data", "looked_up.Data: name its loader, ATTR.train_dataloader"),
        ("looked_up:wants", "looked_up.wants cannot be called without arguments (missing a required argument: 'root')"),
        ("looked_up:fails", "looked_up.fails() raised ValueError: no samples\n"),
        ("looked_up:stops", "looked_up.stops() raised SystemExit: 3\n"),
        ("looked_up:missing", "looked_up.missing() raised ModuleNotFoundError: No module named 'surely_not_installed'"),
        (
            "looked_up_broken:ready",
            "importing looked_up_broken raised ModuleNotFoundError: No module named 'surely",
        ),
        ("looked_up_wrong:ready", "importing looked_up_wrong raised"),
    ],
)
def test_what_cannot_be_built_says_why(root: Path, reference: str, fault: str) -> None:
    with pytest.raises(BadTarget) as caught:
        loaders.build(reference, [root])
    assert fault.format(root=root) in str(caught.value)


@pytest.mark.parametrize("kind", [list, tuple])
def test_ready_batches_are_an_iterable_of_batches(kind: type) -> None:
    found = loaders.measurable(kind({"x": torch.zeros(4, 2), "y": torch.zeros(4)} for _ in range(3)))
    seen = checks.measure("order", found, setting=checks.Setting(), limits={})
    assert (type(found).__name__, seen.samples, seen.complete) == ("Stream", (12, 12), (True, True))


def test_an_error_of_the_users_code_comes_with_their_frames_and_no_others(root: Path) -> None:
    with pytest.raises(BadTarget) as caught:
        loaders.build("looked_up:fails", [root])
    frames = [line for line in str(caught.value).splitlines() if line.lstrip().startswith("File ")]
    assert len(frames) == 1
    assert str(root / "looked_up.py") in frames[0]


def test_a_syntax_error_comes_with_its_line_and_no_frames(root: Path) -> None:
    root.joinpath("looked_up_torn.py").write_text("first = 1\ndef broken(:\n")
    with pytest.raises(BadTarget) as caught:
        loaders.build("looked_up_torn:ready", [root])
    first, place, *rest = str(caught.value).splitlines()
    assert first.startswith("importing looked_up_torn raised SyntaxError: ")
    assert place == f'  File "{root}/looked_up_torn.py", line 2'
    assert not any(" in " in line for line in rest)


def test_an_error_of_this_package_is_told_in_a_line_as_its_own_fault() -> None:
    with pytest.raises(AttributeError) as caught:
        list(loaders._settings(None))
    assert loaders.is_ours(caught.value)
    told = loaders.own_fault(caught.value)
    assert re.fullmatch(
        r"a fault of pytest-dataloader, not of the loader: AttributeError: .* \(loaders.py, line \d+\)", told
    )


class Ragged(Dataset[Any]):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> Any:
        return torch.zeros(1 + index % 7)


class Keyed(Ragged):
    def __getitem__(self, index: int) -> Any:
        return {"a": 1}[str(index)]


class Ours(Ragged):
    def __getitem__(self, index: int) -> Any:
        return loaders._settings(None).__next__()


def error_of_order(dataset: Any, workers: int) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011  # whatever the dataset raises
        order.measure(DataLoader(dataset, batch_size=8, num_workers=workers), setting=checks.Setting())
    return caught.value


def test_an_error_of_a_worker_is_one_line_with_the_frames_of_its_code_alone() -> None:
    told = loaders.explain(error_of_order(Keyed(), 2))
    first, place, source = told.splitlines()
    assert first == "KeyError: '0' (in worker 0)"
    assert place.startswith(f'  File "{__file__}", line ')
    assert source.strip() == 'return {"a": 1}[str(index)]'
    assert loaders.explain(error_of_order(Ragged(), 2)).startswith(
        "RuntimeError: stack expects each tensor to be equal"
    )


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_that_is_passed_on_holds_no_frame_of_ours(workers: int) -> None:
    error = error_of_order(Ragged(), workers)
    assert not loaders.is_ours(error)
    before = "".join(traceback.format_exception(error))
    loaders.hide_our_frames(error)
    told = "".join(traceback.format_exception(error))
    assert "probe/samples/tracing.py" in before
    assert "/pytest_dataloader/" not in told.replace(__file__, "")
    assert "collate_tensor_fn" in told


@pytest.mark.parametrize("workers", [0, 1])
def test_what_a_function_in_c_raises_is_not_ours(workers: int) -> None:
    loader: Any = DataLoader(Ragged(), batch_size=8, num_workers=workers, collate_fn=torch.stack)
    with pytest.raises(RuntimeError, match="stack expects each tensor") as caught:
        order.measure(loader, setting=checks.Setting())
    assert not loaders.is_ours(caught.value)


def test_an_error_out_of_this_package_in_a_worker_is_known_as_such() -> None:
    assert loaders.is_ours(error_of_order(Ours(), 1))


def test_the_death_of_a_worker_comes_without_the_place_where_its_signal_came() -> None:
    with pytest.raises(RuntimeError) as caught:
        raise RuntimeError("DataLoader worker (pid 77) is killed by signal: Killed. ")
    told = loaders.explain(caught.value)
    assert told.splitlines() == [told]
    assert "a worker ended before its time: the workers check tells at which sample" in told


class Loud:
    @property
    def dataset(self) -> None:
        raise KeyError("theirs")


def test_our_frames_are_cut_from_the_traceback_of_a_users_error() -> None:
    with pytest.raises(KeyError) as caught:
        list(loaders._settings(Loud()))
    loaders.hide_our_frames(caught.value)
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames == ["test_our_frames_are_cut_from_the_traceback_of_a_users_error", "dataset"]


def test_a_batch_sampler_is_described_by_its_name() -> None:
    data = TensorDataset(torch.zeros(8))
    batches = torch.utils.data.BatchSampler(range(8), 4, drop_last=False)
    told = loaders.describe(DataLoader(data, batch_sampler=batches))
    assert told == "DataLoader(TensorDataset, batch_sampler=BatchSampler, num_workers=0)"
    assert "batch_size=None" in loaders.describe(DataLoader(data, batch_size=None))


def test_sys_path_is_as_it_was_afterwards(tmp_path: Path) -> None:
    before = list(sys.path)
    with loaders.importable([tmp_path, Path(before[-1])]):
        assert sys.path == [str(tmp_path), *before]
    assert sys.path == before


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # torchdata 0.11 calls it
def test_subclasses_count_and_other_iterables_do_not() -> None:
    class Mine(DataLoader[int]):
        pass

    data = TensorDataset(torch.zeros(4))
    assert is_dataloader(Mine(data))  # type: ignore[arg-type]  # the type of the samples does not matter here
    assert is_dataloader(StatefulDataLoader(data))
    assert not is_dataloader(iter(DataLoader(data)))
    assert not is_dataloader(data)
    assert not is_dataloader(None)


def test_a_description_names_what_shapes_the_speed() -> None:
    data = TensorDataset(torch.zeros(4))
    assert loaders.describe(DataLoader(data)) == "DataLoader(TensorDataset, batch_size=1, num_workers=0)"
    full = DataLoader(
        data,
        batch_size=None,
        num_workers=2,
        persistent_workers=True,
        prefetch_factor=7,
        multiprocessing_context="spawn",
    )
    assert loaders.describe(full) == (
        "DataLoader(TensorDataset, batch_size=None, num_workers=2, persistent_workers=True, prefetch_factor=7, "
        "start_method=spawn)"
    )


def test_a_loader_that_cannot_be_described_has_a_name() -> None:
    assert loaders.describe(Loud()) == "Loud"
