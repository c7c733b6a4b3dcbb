"""On what system and with how new a Python a project says that it runs, and what rules about starting make of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from dl_lint.project import platforms

if TYPE_CHECKING:
    from tests.lint.conftest import Project

SCRIPT = """\
from torch.utils.data import DataLoader

loader = DataLoader(range(10), num_workers=2)
for batch in loader:
    print(batch)
"""
LAMBDA = """\
from torch.utils.data import DataLoader


def make(dataset):
    return DataLoader(dataset, num_workers=2, collate_fn=lambda samples: samples)
"""
MACS = "import sys\n\nMACS = sys.platform == 'darwin'\n"
CHOSEN = "import torch\n\nDEVICE = 'mps' if torch.backends.mps.is_available() else 'cpu'\n"
COMPILED = "import torch\n\nstep = torch.compile(print)\n"
LINUX = "# Faces\n\nTested on Ubuntu 18.04.\n"
OLD = "torch==1.4.0\n"


@pytest.mark.parametrize(
    ("text", "newest"),
    [
        ("  - python=3.8\n", [(3, 8)]),
        ("  - python=3.8.5=h7579374_1\n", [(3, 8)]),
        ("  - python>=3.8\n", [None]),
        ("  - 'python<3.12'\n", [(3, 11)]),
        ("  - conda-forge::python=3.10\n", [(3, 10)]),
        ("  - python 3.7\n", [(3, 7)]),
        ('requires-python = ">=3.8,<3.12"\n', [(3, 11)]),
        ('requires-python = ">=3.8"\n', [None]),
        ('setup(\n    python_requires=">=3.6, <4",\n)\n', [(3, 99)]),
        ('python = "^3.8"\n', [(3, 99)]),
        ('python = "~3.8"\n', [(3, 8)]),
        ("  - python\n", []),
        ("  - python-dateutil=2.8\n", []),
        ("  - ipython=7.1\n", []),
        ("python = python3.8\n", []),
    ],
)
def test_requirements_of_a_python_allow_at_most(text: str, newest: list[tuple[int, int] | None]) -> None:
    assert list(platforms.newest_pythons(text)) == newest


def severities(project: Project) -> list[tuple[str, str]]:
    return [(one["code"], one["severity"]) for one in project.lint_json("--select", "DL306,DL307").records]


@pytest.mark.parametrize(
    "files",
    [
        {"README.md": LINUX, "requirements.txt": OLD},
        {"README.md": LINUX, "requirements.txt": "torch<=2.8\n"},
        {"README.md": LINUX + "Weights: https://files.windows.net/weights\n", "requirements.txt": OLD},
        {"README.md": "Run `docker pull ann/detection:ubuntu18-cuda11-py3.7-torch1.9`.\n"},
        {"README.md": LINUX + "PyTorch 1.4 is needed.\n"},
        {"README.md": LINUX, "environment.yml": "dependencies:\n  - python=3.8\n"},
        {"README.md": LINUX, "setup.py": 'setup(python_requires=">=3.7,<3.11")\n'},
        {"README.md": LINUX, "../README.md": "Windows\n", "pyproject.toml": '[project]\nrequires-python = "<3.13"\n'},
        {"docs/install.md": "- Linux\n- PyTorch 1.4\n"},
        {"README.md": LINUX, "requirements.txt": OLD, "more.py": "import torch.distributed.tensor\n"},
        {"README.md": LINUX, "src/README.md": "# Code\n", "src/requirements.txt": OLD},
        {
            "README.md": LINUX + "    conda create -n faces python=3.8\n",
            "setup.py": 'setup(python_requires=">=3.7, <4")\n',
        },
        {"docs/INSTALL.md": "Run `conda create --name faces python=3.8 -y`.\n", "requirements.txt": "triton==1.0.0\n"},
        {"README.md": "| os | `ubuntu-20.04` |\n|---|---|\n| python | `3.9`, `3.10`, `3.12` |\n"},
        {"README.md": LINUX + "Python 3.8 or 3.9 is needed.\n"},
        {"environment.yaml": "dependencies:\n  - python=3.8.5\n  - pytorch-cuda=11.8\n"},
        {"requirements.txt": OLD, "README.md": "Run `sbatch train.sh`.\n"},
        {"requirements.txt": OLD, "README.md": "Run `torchrun --nproc_per_node 8 train.py`.\n"},
        {"requirements.txt": "torch==1.9.0+cu111\n"},
        {"Dockerfile": "FROM python:3.9-slim\nRUN pip install torch\n"},
        {"README.md": "conda create -n faces python=3.6\n"},
        {"README.md": "conda install pytorch torchvision cudatoolkit=10.2 -c pytorch\n"},
        {"environment.yml": "dependencies:\n  - python>=3.8\n  - cudatoolkit=11.3\n"},
        {"src/train_old.py": "target = target.cuda(async=True)\n"},
        {"src/test_old.py": "batch = Variable(batch, volatile=True)\n"},
        {"requirements.txt": OLD},
        {"README.md": "PyTorch 2.6\nRun `torchrun --nproc_per_node 8 train.py`.\n"},
        {"README.md": "PyTorch 2.0\nRun `torchrun train.py`.\n", "requirements.txt": "torch>=1.8\n"},
        {"requirements.txt": OLD, "README.md": "Run `python train.py`.\n"},
        {"README.md": "Python 3.8\n"},
        {"requirements.txt": "torch\nnumpy==1.23.5\n"},
        {"requirements.txt": "torch\npytorch-lightning==1.6.2\n"},
        {"README.md": "Run `pip install pytorch_lightning==1.6.0 opencv-python`.\n"},
        {"requirements.txt": OLD, "README.md": "# Vision by Shifted Windows\n"},
        {"requirements.txt": "torch\nnumpy >= 1.20, < 2\n"},
        {"pyproject.toml": '[project]\ndependencies = [\n    "torch",\n    "numpy<2.0",\n]\n'},
        {"environment.yml": "dependencies:\n  - numpy=1.21.2=py39\n  - pytorch\n"},
        {"README.md": "Run `git clone https://github.com/apple/faces`.\n", "requirements.txt": OLD},
        {"requirements.txt": OLD, "src/device.py": MACS},  # which nothing imports
        {
            "requirements.txt": OLD,
            "src/train.py": f"import device\n{SCRIPT}",
            "src/data.py": f"import device\n{LAMBDA}",
            "src/device.py": MACS,  # in passing
        },
        {"requirements.txt": OLD, "README.md": LINUX + "On macOS, set num_workers to 0.\n"},
        {"requirements.txt": OLD, "README.md": LINUX + "## Long Look-back Windows\nIt has sliding windows.\n"},
    ],
    ids=str,
)
def test_it_is_advice_where_workers_always_fork(project: Project, files: dict[str, str]) -> None:
    project.write({"src/train.py": SCRIPT, "src/data.py": LAMBDA, **files})
    assert severities(project) == [("DL306", "advice"), ("DL307", "advice")]
    assert project.lint_json("--ignore", "DL204").records == []


@pytest.mark.parametrize(
    "files",
    [
        {"README.md": LINUX},
        {"README.md": LINUX, "requirements.txt": "torch>=1.4\n"},
        {"README.md": LINUX, "requirements.txt": "torch==2.9\n"},
        {"README.md": "Run `docker pull ann/detection:ubuntu24-py3.14`.\n"},
        {"README.md": "Run `docker pull ann/detection:ubuntu18-py3.7`.\n", "environment.yml": "- python>=3.8\n"},
        {"README.md": LINUX + "As in ann/detection:py3.7\n"},
        {"README.md": LINUX, "environment.yml": "dependencies:\n  - python>=3.8\n"},
        {"README.md": LINUX + "Windows works as well.\n", "requirements.txt": OLD},
        {"requirements.txt": OLD, "src/train.py": f"{MACS}{SCRIPT}", "src/data.py": f"{MACS}{LAMBDA}"},
        {
            "requirements.txt": OLD,
            "src/train.py": f"import device\n{SCRIPT}",
            "src/data.py": f"import device\n{LAMBDA}",
            "src/device.py": CHOSEN,
        },
        {"README.md": LINUX + "So does macOS.\n", "requirements.txt": OLD},
        {"README.md": LINUX + "It runs on Apple silicon.\n", "requirements.txt": OLD},
        {"requirements.txt": "torch\nnumpy>=1.20\n"},
        {"requirements.txt": "torch\nlightning>=1.6\nlightning-bolts==1.2\n"},
        {"requirements.txt": "torch\nnumpy<2.3\nnumpydoc==1.5\n"},
        {"requirements.txt": "torch\nnumpy>=1.20,<3\n"},
        {"README.md": LINUX, "requirements.txt": OLD, "docs/start.md": "On Windows, set workers to 0.\n"},
        {"README.md": LINUX, "requirements.txt": OLD, "src/README.md": "For Windows and Linux\n"},
        {"README.md": LINUX, "other/requirements.txt": OLD},
        {"README.md": LINUX + "Python 3.8+ is needed.\n"},
        {"README.md": LINUX + "Python >= 3.8\n"},
        {"README.md": LINUX + "At least Python 3.8\n"},
        {"README.md": LINUX + "Python 3.8 or newer\n"},
        {"README.md": LINUX + "conda create -n faces python=3.14\n"},
        {"README.md": "conda create -n faces python=3.8\nbash train.sh\nIt runs on Windows, too.\n"},
        {"README.md": "conda create -n faces python=3.6\nIt runs on windows, too.\n"},
        {"README.md": "Run `torchrun --nproc_per_node 8 train.py`.\n"},
        {"README.md": LINUX + "Python >= 3.8\n", "README_de.md": "Python 3.8\n"},
        {"environment.yaml": "dependencies:\n  - python>=3.8\n  - pytorch-cuda=11.8\n"},
    ],
    ids=str,
)
def test_it_stands_where_workers_may_be_spawned(project: Project, files: dict[str, str]) -> None:
    project.write({"src/train.py": SCRIPT, "src/data.py": LAMBDA, **files})
    assert severities(project) == [("DL306", "bug"), ("DL307", "bug")]


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"requirements.txt": "torch<=0.3.1\n"}, "advice"),
        ({"requirements.txt": "torch==1.1\n", "README.md": LINUX}, "advice"),
        ({"README.md": "PyTorch 1.3\n"}, "advice"),
        ({"README.md": "PyTorch 1.3 on macOS or Linux\n"}, "advice"),
        ({"requirements.txt": "torch==1.4\n"}, "advice"),
        ({"requirements.txt": "torch==1.4\n", "README.md": "It runs on macOS.\n"}, "bug"),  # built for Python 3.8, too
        ({"requirements.txt": "torch>=1.1\n"}, "bug"),
        ({"requirements.txt": "torch==1.1\n", "README.md": "Windows works.\n"}, "bug"),
        ({"requirements.txt": "torch==1.1\n", "README.md": "macOS\n", "more.py": COMPILED}, "bug"),
    ],
    ids=str,
)
def test_a_torch_of_pythons_that_fork_on_macos_too_makes_it_advice(
    project: Project, files: dict[str, str], severity: str
) -> None:
    project.write({"src/data.py": LAMBDA, "src/train.py": SCRIPT, **files})
    assert severities(project) == [("DL306", severity), ("DL307", severity)]


def test_a_readme_may_be_of_two_bytes_a_character(project: Project) -> None:
    project.write({"src/train.py": SCRIPT, "requirements.txt": OLD})
    readme = project.root / "README.md"
    for encoding in ("utf-16", "utf-8-sig"):
        readme.write_bytes(LINUX.encode(encoding))
        assert severities(project) == [("DL307", "advice")]
    readme.write_bytes((LINUX + "Windows works as well.").encode("utf-16"))
    assert severities(project) == [("DL307", "bug")]


GALLERY = """\
r'''
.. _first-tutorial:

The first tutorial
==================

Words.
'''
"""


@pytest.mark.parametrize(
    ("before", "severity"),
    [
        (GALLERY, "advice"),
        ("# %%\n# Loading\n# %%\n", "advice"),
        ("import sotabencheval\n", "advice"),
        ('"""Trains.\n\nDescription\n-----------\nWords.\n"""\n', "advice"),
        ('"""Trains\n\nwith many words.\n"""\n', "bug"),
        ("# %%\n", "bug"),
    ],
    ids=str,
)
def test_a_script_that_is_shown_as_a_notebook_is_advice(project: Project, before: str, severity: str) -> None:
    project.write({"train.py": before + SCRIPT})
    assert severities(project) == [("DL307", severity)]


NESTED = """\
from data import register
from torch.utils.data import DataLoader


def make(data):
    def read(path):
        return open(path).read()

    {put}
    return DataLoader(data, num_workers=2, collate_fn=lambda samples: samples)
"""


@pytest.mark.parametrize(
    ("put", "severity"),
    [
        ("register.add_dynamic_item([data], read)", "advice"),
        ("data.add_item('text', read)", "advice"),
        ("data = data['train'].with_transform(read)", "advice"),
        ("data.add_item('text', open)", "bug"),
        ("register.add_argument('--data', read)", "bug"),
        ("print(data, read)", "bug"),
    ],
)
def test_a_part_of_the_obstacles_is_advice(project: Project, put: str, severity: str) -> None:
    project.write({"train.py": NESTED.format(put=put)})
    assert severities(project) == [("DL306", severity)]


READERS = """\
from torch.utils.data import DataLoader, Dataset


def reader(backend):
    def read(path):
        return backend, path

    return read


class Videos(Dataset):
    def __init__(self):
        self.read = reader("av")

    def __getitem__(self, index):
        return self.read(index)


class Clips(Dataset):
    def __init__(self):
        self.read = reader("cv")

    def __getitem__(self, index):
        return self.read(index)


def make(clips):
    return DataLoader(Clips() if clips else Videos(), num_workers=2)
"""


def test_a_long_line_of_comment_at_its_head_takes_no_time(project: Project) -> None:
    project.write({"train.py": f"{'#' * 5_000}\n# Training\n{SCRIPT}", "data.py": LAMBDA})
    assert ("DL307", "bug") in severities(project)


def test_one_cause_is_told_once(project: Project) -> None:
    project.write({"train.py": READERS})
    assert sorted(severities(project)) == [("DL306", "advice"), ("DL306", "bug")]


def test_a_function_of_a_cell_is_no_better_in_a_notebook(project: Project) -> None:
    cell: dict[str, object] = {
        "cell_type": "code",
        "source": LAMBDA,
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }
    project.write({"train.ipynb": json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})})
    assert severities(project) == [("DL306", "advice")]


def test_a_script_that_asks_for_spawned_workers_gets_them(project: Project) -> None:
    script = SCRIPT.replace("num_workers=2", "num_workers=2, multiprocessing_context='spawn'")
    project.write({"train.py": script, "README.md": LINUX, "requirements.txt": OLD})
    assert severities(project) == [("DL307", "bug")]


def test_for_an_older_python_the_message_leaves_forkserver_out(project: Project) -> None:
    project.write({"train.py": SCRIPT, "requirements.txt": OLD, "README.md": "macOS\n"})
    [one] = project.lint_json("--select", "DL307").records
    assert "under spawn (macOS, Windows) each worker" in one["message"]
    project.write({"requirements.txt": "torch\n"})
    [one] = project.lint_json("--select", "DL307").records
    assert "Linux from Python 3.14" in one["message"]


COUNTED = """\
import os

from torch.utils.data import DataLoader


def load(dataset):
    return DataLoader(dataset, num_workers=os.cpu_count())
"""


@pytest.mark.parametrize(
    ("other", "fixes"),
    [
        ("import os\n\nLINKS = os.name != 'nt'\n", [None]),
        ("import sys\n\nLINKS = sys.platform == 'linux'\n", [None]),
        ("import os\n\nLINKS = os.path.exists('a')\n", ["unsafe"]),
    ],
)
def test_a_count_that_only_linux_has_is_no_fix_for_code_that_asks_for_its_system(
    project: Project, other: str, fixes: list[str | None]
) -> None:
    project.write({"load.py": COUNTED, "links.py": other})
    found = project.lint_json("--select", "DL206").records
    assert [one["fix"] and one["fix"]["applicability"] for one in found] == fixes
