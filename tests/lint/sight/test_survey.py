"""What is known of loaders, loops and datasets, what is left open, and why the rest was lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from dl_lint.sight import facts
from dl_lint.sight.survey import survey

if TYPE_CHECKING:
    from dl_lint.sight.facts import Fact, Sight

    from ..conftest import Project
    from ..linked import Load

START = """
import sys, argparse, getpass
import torch, yaml, somewhere
from torch.utils.data import DataLoader, Dataset, TensorDataset

class Images(Dataset):
    def __init__(self, paths):
        self.paths = paths
    def __getitem__(self, index):
        return self.paths[index]
    def __len__(self):
        return len(self.paths)

"""


def told(fact: Fact) -> str:
    return fact.text if fact.state == "known" else f"{fact.state}: {fact.reason}: {fact.text}"


def seen(load: Load, code: str) -> Sight:
    return survey(load({"main.py": f"{START}{code}"}))


DATASETS = {
    "an object of the project": ("data = Images(['a'])", "Images"),
    "one of two": (
        "data = Images([]) if somewhere.ready() else TensorDataset(1)",
        "Images or torch.utils.data.TensorDataset",
    ),
    "what a function returns": ("def build(n):\n    return Images(n)\ndata = build(3)", "Images"),
    "a class from a dict": ("data = {'a': Images}['a']([])", "Images"),
    "found by a name that may be anything": (
        "data = getattr(somewhere, getpass.getuser())()",
        "lost: chosen at run time: `getattr(somewhere, getpass.getuser())`",
    ),
    "a name that nothing binds": ("data = nowhere", "lost: a name that nothing binds: `nowhere`"),
    "what is computed": ("data = ~sys.argv", "lost: computed: `~sys.argv`"),
}


@pytest.mark.parametrize("name", DATASETS)
def test_the_dataset_of_a_loader(load: Load, name: str) -> None:
    code, expected = DATASETS[name]
    [loader] = seen(load, f"{code}\nfor batch in DataLoader(data): pass\n").loaders
    assert told(loader.dataset) == expected


WORKERS = {
    "none given": ("", "0"),
    "a number": ("num_workers=4", "4"),
    "one of two": ("num_workers=4 if somewhere.ready() else 0", "4 or 0"),
    "an option": ("num_workers=args.workers", "2 by default"),
    "an option without a default": (
        "num_workers=args.needed",
        "open: left to the user: the command line gives no default",
    ),
    "an option that nothing declares": (
        "num_workers=args.other",
        "lost: a setting without a known origin: no option `other` is declared",
    ),
}


@pytest.mark.parametrize("name", WORKERS)
def test_the_workers_of_a_loader(load: Load, name: str) -> None:
    given, expected = WORKERS[name]
    options = (
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--workers', type=int, default=2)\n"
        "parser.add_argument('--needed', type=int, required=True)\n"
        "args = parser.parse_args()\n"
    )
    [loader] = seen(load, f"{options}for batch in DataLoader(Images([]), {given}): pass\n").loaders
    assert told(loader.workers) == expected


USES = {
    "a loop that trains": ("for batch in loader: loss(batch).backward()", "training, in a loop"),
    "a loop that does not": ("for batch in loader: print(batch)", "no training, in a loop"),
    "one batch": ("batch = next(iter(loader))", "batches drawn by hand"),
    "nobody": ("print(len(loader))", "open: left to the caller: nothing here iterates it"),
    "a library": ("somewhere.train(loader)", "lost: what a library does: `somewhere.train` is given it"),
    "the function of another file": ("def run(data):\n    somewhere.fit(data)\nrun(loader)",
                                     "lost: what a library does: `somewhere.fit` is given it"),
    "something chosen at run time": ("getattr(somewhere, sys.argv[1])(loader)",
                                     "lost: chosen at run time: `getattr(somewhere, sys.argv[1])` is given it"),
}  # fmt: skip


@pytest.mark.parametrize("name", USES)
def test_who_iterates_a_loader(load: Load, name: str) -> None:
    code, expected = USES[name]
    [loader] = seen(load, f"loader = DataLoader(Images([]))\n{code}\n").loaders
    assert told(loader.use) == expected


def test_what_a_function_offers_that_nobody_calls_is_left_to_the_caller(load: Load) -> None:
    code = "def build(dataset, workers):\n    return DataLoader(dataset, num_workers=workers)\n"
    [loader] = seen(load, code).loaders
    left = "open: left to the caller: nothing here calls `build`"
    assert [told(fact) for _, fact in loader.facts] == [left, left, left]
    assert loader.state == "open"
    assert loader.dataset.at == loader.workers.at == loader.use.at == facts.At("main.py", 14)


def test_a_loader_of_a_class_that_nobody_knows_is_lost(load: Load) -> None:
    code = "from .missing import OurDataLoader\nfor batch in OurDataLoader(1): pass\nOurDataLoader()\n"
    [loader] = seen(load, code).loaders
    assert (loader.name, loader.state, loader.at.row) == ("OurDataLoader", "lost", 15)
    assert told(loader.dataset) == "lost: an import that is not found: `missing.OurDataLoader`"


def test_a_wrapper_of_the_project_is_no_loader_but_what_it_makes_is(load: Load) -> None:
    code = """
class ImageDataLoader:
    def __init__(self, paths):
        self.inner = DataLoader(Images(paths), num_workers=2)
    def __iter__(self):
        return iter(self.inner)
for batch in ImageDataLoader([]):
    loss(batch).backward()
"""
    [loader] = seen(load, code).loaders
    assert [told(fact) for _, fact in loader.facts] == ["Images", "2", "training, in a loop"]


LOOPS = {
    "over a loader": ("for batch in DataLoader(Images([])): loss(batch).backward()", ["the loader made there"]),
    "in a function that a loop calls": (
        "def step(batch): loss(batch).backward()\nfor batch in DataLoader(Images([])): step(batch)",
        ["the loader made there"],
    ),
    "around the pieces of a batch": (
        "for batch in DataLoader(Images([])):\n    for piece in range(4): loss(batch).backward()",
        ["the loader made there"],
    ),
    "over a loader's batches, each changed by a generator": (
        "for batch in (torch.flip(one, [0]) for one in DataLoader(Images([]))): loss(batch).backward()",
        ["the loader made there"],
    ),
    "over the pieces of a batch that its function draws by hand": (
        "def pieces(batch):\n    for at in range(4): yield batch[at]\n"
        "def step(stream):\n    for piece in pieces(next(stream)): loss(piece).backward()\n"
        "stream = iter(DataLoader(Images([])))\nfor number in range(9):\n    step(stream)\n    optimizer.step()",
        ["the loader made there"],
    ),
    "over nothing but steps": (
        "for step in range(100):\n    loss(step).backward()\n    optimizer.step()",
        ["no loader"],
    ),
    "over what a generator makes": (
        "def noise():\n    for step in range(9): yield torch.rand(step)\n"
        "for x in noise():\n    loss(x).backward()\n    optimizer.step()",
        ["no loader"],
    ),
    "over what a generator makes of what nobody knows": (
        "for batch in (torch.flip(one, [0]) for one in somewhere):\n    loss(batch).backward()\n    optimizer.step()",
        ["lost: iterated in its own way: `(torch.flip(one, [0]) for one in somewhere)`"],
    ),
    "no optimizer steps: a gradient is looked at": ("for x in somewhere: loss(x).backward()", []),
    "over what nobody knows": (
        "for batch in somewhere:\n    loss(batch).backward()\n    optimizer.step()",
        ["lost: iterated in its own way: `somewhere`"],
    ),
    "that draws by hand": (
        "stream = somewhere.batches()\nwhile True:\n    loss(next(stream)).backward()\n    optimizer.step()",
        ["lost: iterated in its own way: `stream`"],
    ),
    "of a function that nobody calls": (
        "def train(batches):\n    for batch in batches:\n        loss(batch).backward()\n        optimizer.step()",
        ["open: left to the caller: nothing here calls `train`"],
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_what_feeds_a_training_loop(load: Load, name: str) -> None:
    code, expected = LOOPS[name]
    assert [told(one.loader) for one in seen(load, code).loops] == expected


TRAINERS = {
    "a method that a base has": (
        """
class Base(L.LightningModule):
    def __init__(self, loader): self.loader = loader
    def train_dataloader(self): return self.loader
""",
        "L.Trainer().fit(Mine(DataLoader(Images([]))))",
    ),
    "a data module that is made beside it": (
        """
class Data(L.LightningDataModule):
    def train_dataloader(self): return DataLoader(Images([]))
class Base(L.LightningModule): pass
""",
        "L.Trainer().fit(Mine(), datamodule=Data())",
    ),
}


@pytest.mark.parametrize("name", TRAINERS)
def test_a_step_is_fed_by_a_project_that_it_builds_on(load: Load, name: str) -> None:
    base, end = TRAINERS[name]
    program = load(
        {
            "core/pyproject.toml": "[project]",
            "core/base.py": f"import lightning as L\n{START}{base}",
            "recipe/pyproject.toml": "[project]",
            "recipe/train.py": "import lightning as L\nfrom core.base import *\nclass Mine(Base):\n"
            f"    def training_step(self, batch, index): return batch.sum()\n{end}",
        }
    )
    assert [told(one.loader) for one in survey(program).loops] == ["the loader made there"]


def test_a_loader_of_a_graph_has_no_dataset(load: Load) -> None:
    code = "from torch_geometric.loader import NeighborLoader\nfor batch in NeighborLoader(sys.argv, [10]): pass"
    [loader] = seen(load, code).loaders
    assert told(loader.dataset) == "no dataset"


def test_datasets_and_what_fetching_reads(load: Load) -> None:
    code = """
class Cropped(Dataset):
    def __init__(self, inner, size):
        self.inner, self.size = inner, size
    def __getitem__(self, index):
        return self.inner[index], self.size, self.gone
for batch in DataLoader(Cropped(Images(['a']), 3)): pass

class Alone(Dataset):
    def __getitem__(self, index): return index
"""
    images, cropped, alone = seen(load, code).datasets
    assert [told(one.loader) for one in (images, cropped, alone)] == [
        "the loader made there",
        "the loader made there",
        "open: left to the caller: nothing here makes a `Alone`",
    ]
    assert [(name, told(fact)) for name, fact in images.attributes] == [("paths", "collection")]
    assert [(name, told(fact)) for name, fact in cropped.attributes] == [
        ("gone", "lost: an attribute that nothing sets: no method of `Cropped` stores `gone`"),
        ("inner", "instance"),
        ("size", "const"),
    ]


def test_a_survey_comes_back_from_json(load: Load) -> None:
    code = "def build(d):\n    return DataLoader(d)\nfor batch in DataLoader(Images([])): loss(batch).backward()\n"
    found = seen(load, code)
    assert found.loaders
    assert found.loops
    assert found.datasets
    assert facts.decode(json.loads(json.dumps(found))) == found


# --- the command -----------------------------------------------------------------------

LOST = f"{START}for batch in DataLoader(nowhere): pass\nfor batch in DataLoader(Images([]), 8, True): pass\n"


def test_no_findings_is_not_said_of_what_could_not_be_followed(project: Project) -> None:
    project.write({"main.py": LOST, "pkg/a.py": "x = 1\n"})
    for _ in ("read", "from the cache"):
        ran = project.lint("--select", "DL401", ".")
        closing = "No findings in 2 files; 1 of 2 loaders could not be followed (--sight says why).\n"
        assert (ran.status, ran.out) == (0, closing)
    ran = project.lint("--select", "DL401", "pkg")
    assert ran.out == "No findings in 1 file.\n"


def test_sight_says_what_was_lost_and_where(project: Project) -> None:
    project.write({"main.py": LOST})
    ran = project.lint("--select", "DL401", "--sight", ".")
    table, _, lost = ran.out.partition("\n\nLoaders\n")
    assert table.splitlines()[:2] == [
        "                                known   open   lost",
        "loaders                             1      0      1",
    ]
    assert lost.splitlines()[:2] == [
        "main.py:14: DataLoader",
        "    dataset lost: a name that nothing binds: `nowhere`, at main.py:14",
    ]
    assert "main.py:15" not in lost


CHOSEN = {
    "train.py": """
from torch.utils.data import DataLoader
from trainers.choice import get_trainer
def main(name):
    get_trainer(name)(DataLoader([1, 2], num_workers=2)).train()
""",
    "trainers/choice.py": """
from . import plain, fast
def get_trainer(name):
    Trainer = plain.Trainer if name == 'plain' else fast.Trainer
    return Trainer
""",
    "trainers/plain.py": """
class Trainer:
    def __init__(self, loader):
        self.loader = loader
    def train(self):
        for batch in self.loader:
            self.loss(batch).backward()
            self.optimizer.step()
""",
}


def test_a_class_is_called_by_what_a_function_of_a_file_without_any_loader_gives(project: Project) -> None:
    project.write(CHOSEN | {"trainers/fast.py": CHOSEN["trainers/plain.py"], "trainers/__init__.py": ""})
    lines = project.lint("--sight", ".").out.splitlines()
    assert "training loops: their loader        2      0      0" in lines


def test_sight_is_there_for_programs(project: Project) -> None:
    project.write({"main.py": LOST})
    found = json.loads(project.lint("--sight", "--output-format", "json", ".").out)
    assert found["summary"]["loaders"] == {"known": 1, "open": 0, "lost": 1}
    assert [(one["row"], one["state"], one["dataset"]["reason"]) for one in found["loaders"]] == [
        (14, "lost", "a name that nothing binds"),
        (15, "known", None),
    ]
    assert project.lint("--sight", "--output-format", "sarif", ".").status == 2


def test_statistics_end_with_it(project: Project) -> None:
    project.write({"main.py": LOST})
    assert "loaders                             1      0      1\n" in project.lint("--statistics", ".").out
    project.write({"main.py": "x = 1\n"})
    assert project.lint("--statistics", ".").out == "No findings in 1 file.\n"
