"""``diagnose`` in a script, in a real notebook, and in a training that must not notice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

import pytest_dataloader
from pytest_dataloader import BadLimit, NotMeasured, checks
from pytest_dataloader.errors import BadTarget
from tests.variants import variants

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest_dataloader.preloaded import Server

QUICK = ("throughput", "workers")

TRAINING = """
import random
import sys

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

class Noise(Dataset):
    def __len__(self):
        return 256
    def __getitem__(self, index):
        return torch.rand(2) + index

def main():
    torch.manual_seed(0), random.seed(0), np.random.seed(0)
    loader = DataLoader(Noise(), batch_size=16, shuffle=True, num_workers=2, persistent_workers=True)
    model = torch.nn.Linear(2, 1)
    for epoch in range(2):
        for number, batch in enumerate(loader):
            model(torch.nn.functional.dropout(batch)).sum().backward()
            with torch.no_grad():  # an optimizer of torch imports its compiler, for a second
                for parameter in model.parameters():
                    parameter -= 0.01 * parameter.grad
                    parameter.grad = None
            print(epoch, number, batch.sum().item(), random.random(), np.random.rand(), file=sys.stderr)
            if (epoch, number) == (0, 3) and "diagnose" in sys.argv:
                import pytest_dataloader
                report = pytest_dataloader.diagnose(loader, quick=True, seconds=0.1)
                assert report.passed, str(report)
    print([parameter.tolist() for parameter in model.parameters()], file=sys.stderr)

if __name__ == "__main__":
    main()
"""


def load(rows: int = 640, **settings: Any) -> DataLoader[Any]:
    return DataLoader(TensorDataset(torch.zeros(rows, 4)), batch_size=16, **settings)


def test_a_report_has_verdicts_evidence_a_document_and_text(capsys: pytest.CaptureFixture[str]) -> None:
    report = pytest_dataloader.diagnose(load(), checks=QUICK, quick=True, min_samples_per_second=1)
    assert report.passed
    assert list(report.verdicts) == [name for name in checks.NAMES if name in QUICK]
    assert report.verdicts["throughput"].outcome == "passed"
    assert report["throughput"].samples_per_second > 1
    with pytest.raises(NotMeasured, match="memory was not measured: it was not run"):
        _ = report["memory"]
    (loader,) = report.document()["loaders"]
    assert loader["checks"]["throughput"]["limits"] == {"min_samples_per_second": 1.0}
    printed = capsys.readouterr().out
    assert printed.startswith("loader  2 passed · ")
    assert "limit: at least 1" in " ".join(str(report).split())
    assert repr(report) == "<Report of DataLoader(TensorDataset, batch_size=16, num_workers=0): 2 passed>"
    assert "<script" not in report._repr_html_()


def test_a_loader_that_fails_is_told_and_its_error_stays_inside() -> None:
    def broken(_samples: Any) -> Any:
        raise ValueError("<no> batch")

    report = pytest_dataloader.diagnose(load(collate_fn=broken), checks=QUICK, quick=True)
    assert not report.passed
    assert {name: each.outcome for name, each in report.verdicts.items()} == {
        "workers": "failed",
        "throughput": "not_measured",
    }
    assert "&lt;no&gt; batch" in report._repr_html_()


def test_what_makes_a_loader_is_taken_too_and_told_its_rank() -> None:
    def make(rank: int, world_size: int) -> DataLoader[Any]:
        return DataLoader(torch.arange(64)[rank::world_size])  # type: ignore[arg-type]  # torch takes any sequence

    report = pytest_dataloader.diagnose(make, checks="shards", quick=True)
    assert report.verdicts["shards"].outcome == "passed"


def test_misuse_is_said_before_anything_is_measured() -> None:
    with pytest.raises(BadTarget, match="which is a Dataset: wrap it in a DataLoader"):
        pytest_dataloader.diagnose(TensorDataset(torch.zeros(3)))
    with pytest.raises(BadLimit, match="there is no check 'tune'"):
        pytest_dataloader.diagnose(load(), checks=["tune"])
    with pytest.raises(BadLimit, match=r"^max_stal = 0\.1: unknown key; did you mean max_stall"):
        pytest_dataloader.diagnose(load(), max_stal=0.1)  # type: ignore[call-arg]  # the mistake
    with pytest.raises(BadLimit, match=r"^max_stall needs step_ms"):
        pytest_dataloader.diagnose(load(), max_stall=0.1)


def test_a_running_training_does_not_notice(tmp_path: Path, preloaded: Server) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAINING)
    alone, watched = (preloaded.run(str(script), *more, folder=tmp_path) for more in ([], ["diagnose"]))
    assert alone.returncode == watched.returncode == 0, watched.stderr
    assert len(alone.stderr.splitlines()) == 33
    assert watched.stderr == alone.stderr
    assert watched.stdout.startswith("loader  ")


def test_a_script_without_a_guard_is_not_diagnosed_again_by_its_workers(tmp_path: Path, preloaded: Server) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(
        "import torch, pytest_dataloader\n"
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "loader = DataLoader(TensorDataset(torch.zeros(64, 4)), batch_size=16, num_workers=1)\n"
        "pytest_dataloader.diagnose(loader, checks='portability', start_methods=['fork', 'spawn'])\n"
    )
    done = preloaded.run(str(script), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("portability failed: no batch under spawn: the worker exited with code 1") == 1
    assert "start training under if __name__" in " ".join(done.stdout.split())  # wherever the line is broken


@pytest.mark.parametrize("named", variants({"two": "checks=['workers', 'fds'], ", "all": ""}, ["two"]))
def test_a_notebook_shows_a_report_as_a_table(tmp_path: Path, named: str) -> None:
    pytest.importorskip("ipykernel", reason="a kernel is needed")
    nbclient = pytest.importorskip("nbclient", reason="what runs a notebook is needed")
    nbformat = pytest.importorskip("nbformat")
    cells = [
        "import torch, pytest_dataloader\n"
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "loader = DataLoader(TensorDataset(torch.zeros(640, 4)), batch_size=16, num_workers=2)",
        f"pytest_dataloader.diagnose(loader, {named}quick=True)",
        "sum(len(batch[0]) for batch in loader)",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    *progress, shown = book.cells[1].outputs
    assert [each.output_type for each in progress] == ["display_data"]  # and nothing on stderr
    assert shown.output_type == "execute_result"
    assert shown.data["text/html"].count("<tr>") == (2 if named else len(checks.NAMES) - 3)
    assert "<b>failed</b>" not in shown.data["text/html"]
    assert book.cells[2].outputs[0].data["text/plain"] == "640"


EMPTY = (load(rows=0, num_workers=1), load(rows=3, drop_last=True, num_workers=1))


@pytest.mark.parametrize(
    "first", [check for check in checks.NAMES if check not in ("shards", "resume", "portability", "transfer")]
)
def test_the_first_check_of_a_loader_that_gives_nothing_says_so_for_the_others(first: str) -> None:
    for loader in EMPTY:
        told, later = pytest_dataloader.diagnose(loader, checks=[first, "portability"], quick=True).records
        assert told.vacuous or told.verdict == "failed"
        assert "the epoch is empty" in told.reason or "its epoch is empty" in told.reason
        assert (later.reason, later.vacuous) == (f"the loader gives nothing: see {first}", False)


def test_no_further_worker_is_started_where_one_had_nothing_to_give() -> None:
    report = pytest_dataloader.diagnose(EMPTY[0], checks=["portability"])
    assert [start.method for start in report["portability"].starts] == ["fork"]


class Normalised(Dataset[torch.Tensor]):
    """Changes its rows in place by reading them, until they are 0."""

    def __init__(self) -> None:
        self.rows = [torch.arange(1.0, 9.0) + number for number in range(64)]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> torch.Tensor:
        row = self.rows[index]
        row /= 512
        return row.clone()


def test_samples_are_looked_at_before_rates_are_measured() -> None:
    """Without workers measuring a rate reads here, so often that a change by reading has worn off."""
    loader = DataLoader(Normalised(), batch_size=8, shuffle=True)
    report = pytest_dataloader.diagnose(loader, checks=["throughput", "order"], seconds=0.5)
    assert report.verdicts["order"].outcome == "failed"
    assert "changed in place by reading" in report.verdicts["order"].reason
