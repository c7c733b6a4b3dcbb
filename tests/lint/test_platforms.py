"""On what system and with how new a Python a project says that it runs, and what rules about starting make of it."""

from __future__ import annotations

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
        {"requirements.txt": OLD},
        {"README.md": LINUX, "requirements.txt": "torch>=1.4\n"},
        {"README.md": LINUX, "requirements.txt": "torch==2.9\n"},
        {"README.md": "Run `docker pull ann/detection:ubuntu24-py3.14`.\n"},
        {"README.md": "Run `docker pull ann/detection:ubuntu18-py3.7`.\n", "environment.yml": "- python>=3.8\n"},
        {"README.md": LINUX + "As in ann/detection:py3.7\n"},
        {"README.md": LINUX, "environment.yml": "dependencies:\n  - python>=3.8\n"},
        {"README.md": LINUX + "Windows works as well.\n", "requirements.txt": OLD},
        {"README.md": LINUX + "So does macOS.\n", "requirements.txt": OLD},
        {"README.md": LINUX, "requirements.txt": OLD, "docs/start.md": "On Windows, set workers to 0.\n"},
        {"README.md": LINUX, "requirements.txt": OLD, "src/README.md": "For Windows and Linux\n"},
        {"README.md": LINUX, "other/requirements.txt": OLD},
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
        ({"requirements.txt": "torch==1.4\n"}, "bug"),  # built for Python 3.8 as well
        ({"requirements.txt": "torch>=1.1\n"}, "bug"),
        ({"requirements.txt": "torch==1.1\n", "README.md": "Windows works.\n"}, "bug"),
        ({"requirements.txt": "torch==1.1\n", "more.py": "import torch\n\nstep = torch.compile(print)\n"}, "bug"),
    ],
    ids=str,
)
def test_a_torch_of_pythons_that_fork_on_macos_too_makes_it_advice(
    project: Project, files: dict[str, str], severity: str
) -> None:
    project.write({"src/data.py": LAMBDA, "src/train.py": SCRIPT, **files})
    assert severities(project) == [("DL306", severity), ("DL307", severity)]


def test_a_script_that_asks_for_spawned_workers_gets_them(project: Project) -> None:
    script = SCRIPT.replace("num_workers=2", "num_workers=2, multiprocessing_context='spawn'")
    project.write({"train.py": script, "README.md": LINUX, "requirements.txt": OLD})
    assert severities(project) == [("DL307", "bug")]


def test_where_only_linux_is_not_said_the_message_leaves_forkserver_out(project: Project) -> None:
    project.write({"train.py": SCRIPT, "requirements.txt": OLD})
    [one] = project.lint_json("--select", "DL307").records
    assert "under spawn (macOS, Windows) each worker" in one["message"]
    project.write({"requirements.txt": "torch\n"})
    [one] = project.lint_json("--select", "DL307").records
    assert "Linux from Python 3.14" in one["message"]
