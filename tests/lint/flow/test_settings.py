"""Settings on their way: hyperparameters, fields of records, options by any name, merged and shared ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..describe import probes

if TYPE_CHECKING:
    from ..linked import Load

PARSED = """
import argparse
p = argparse.ArgumentParser()
p.add_argument('--workers', type=int, default=8)
args = p.parse_args()
"""

MODULE = """
from lightning import LightningDataModule
class Data(LightningDataModule):
    def __init__(self, workers=4, root='.'):
        {saving}
    def train_dataloader(self):
        probe(self.hparams.workers)
"""

CASES = {
    "hyperparameters that nobody gives": (
        MODULE.format(saving="self.save_hyperparameters()"),
        "parameter default 4",
    ),
    "hyperparameters of the one call": (
        MODULE.format(saving="self.save_hyperparameters(logger=False)") + "Data(workers=2)\n",
        "2",
    ),
    "some of them": (MODULE.format(saving="self.save_hyperparameters('root')"), "unknown"),
    "all but some": (MODULE.format(saving="self.save_hyperparameters(ignore=['workers'])"), "unknown"),
    "an object that is saved whole": (
        f"{PARSED}from lightning import LightningModule\nclass M(LightningModule):\n    def __init__(self, options):\n"
        "        self.save_hyperparameters(options)\n        probe(self.hparams.workers)\nM(args)\n",
        "command line default 8",
    ),
    "none saved": (MODULE.format(saving="pass"), "unknown"),
    "a field with a default": (
        "from dataclasses import dataclass, field\n@dataclass\nclass C:\n    n: int = field(default=3)\nprobe(C().n)",
        "field default 3",
    ),
    "a field that no caller sets": (
        "from dataclasses import dataclass, field\n@dataclass\nclass C:\n    n: int = field(default=None, init=False)\n"
        "    def setup(self):\n        self.n = 5\nprobe(C().n)",
        "5 | None",
    ),
    "an option by any name": (f"{PARSED}probe(getattr(args, name))", "command line default unknown"),
    "options in groups": (
        f"{PARSED}d = {{}}\nfor g in groups:\n    d[g] = {{a: getattr(args, a) for a in g}}\nd['own'] = 1\n"
        "probe(d['training']['workers'])",
        "command line default unknown",
    ),
    "other keys of a dict": ("d = {'a': 1}\nfor k in names:\n    d[k] = 2\nprobe(d['b'], )\nprobe(d['a'])", "2"),
    "shared among ranks, rounded up": (
        f"{PARSED}probe(int((args.workers + ranks - 1) / ranks))",
        "command line default positive number",
    ),
    "shared in a function": (
        f"{PARSED}def f(o):\n    probe((o.workers + (ranks - 1)) // ranks)\nf(args)",
        "command line default positive number",
    ),
    "divided by something else": (f"{PARSED}probe(int((args.workers + ranks - 1) / nodes))", "number"),
    "options of click in keywords": (
        "import click\n@click.command()\n@click.option('--num-workers', default=3)\ndef main(**kwargs):\n"
        "    probe(kwargs['num_workers'])\n",
        "command line default 3",
    ),
    "merged configurations": (
        "from omegaconf import OmegaConf\nc = OmegaConf.merge(OmegaConf.create({'n': 2}), OmegaConf.from_cli())\n"
        "probe(c.n)",
        "2",
    ),
    "merged again and again": (
        "from omegaconf import OmegaConf\nc = OmegaConf.create({'n': 2})\nfor p in ps:\n    c = OmegaConf.merge(c, p)"
        "\nprobe(c.n)",
        "2",
    ),
    "a sum of datasets": (
        "from torch.utils.data import Dataset\nclass A(Dataset): pass\nclass B(Dataset): pass\nprobe(A() + B())",
        "a A | a B",
    ),
    "an operator of the project's own": (
        "class A:\n    def __rmul__(self, times):\n        return 'more'\nprobe(3 * A())",
        "'more'",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_where_settings_come_from(load: Load, name: str) -> None:
    code, expected = CASES[name]
    assert probes(load(code))[0] == expected


def test_a_constructor_is_called_from_below_however_many_classes_call_their_own(load: Load) -> None:
    others = "".join(f"class C{n}(Other):\n    def __init__(self): super().__init__(0)\n" for n in range(400))
    code = (
        "class Base:\n    def __init__(self, n):\n        probe(n)\n"
        "class Below(Base):\n    def __init__(self): super().__init__(7)\n"
        f"from somewhere import Other\n{others}"
    )
    assert probes(load(code)) == ["7"]


def test_many_objects_are_told_apart(load: Load) -> None:
    classes = "".join(f"class C{n}: pass\n" for n in range(20))
    table = "{" + ", ".join(f"'{n}': C{n}" for n in range(20)) + "}"
    [found] = probes(load(f"{classes}probe({table}[x]())"))
    assert found.count("a C") == 20
    assert "unknown" not in found


def test_a_parameter_that_only_tests_give_is_left_to_the_caller(load: Load) -> None:
    files = {
        "data.py": "def build(workers=4):\n    probe(workers)\n",
        "tests/test_data.py": "from data import build\nbuild(workers=0)\n",
    }
    assert probes(load(files)) == ["parameter default 4"]
