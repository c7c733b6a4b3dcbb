"""Which torch a project is for: what requirements and READMEs say, what code says against it, what rules make of it."""

from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING

import pytest
from dl_lint.project import declarations

if TYPE_CHECKING:
    from tests.lint.conftest import Project

TRAIN = """\
from torch.utils.data import DataLoader


def train(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)
    for epoch in range(epochs):
        for batch in loader:
            model(batch)
"""
PINNED = TRAIN.replace("num_workers=4", "num_workers=4, pin_memory=True")

UNKNOWN = "pass `persistent_workers=True` (torch 1.7 or newer), so that the workers stay between epochs"
OPEN = (None, None)

Bounds = tuple[tuple[int, int] | None, tuple[int, int] | None]


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("torch==1.4.0", ((1, 4), (1, 4))),
        ("pytorch=1.4.0", ((1, 4), (1, 4))),
        ("torch==1.4.0+cu101", ((1, 4), (1, 4))),
        ("torch (==1.4)", ((1, 4), (1, 4))),
        ("torch[opt]==1.4  # as on the cluster", ((1, 4), (1, 4))),
        ("torch~=1.4.2", ((1, 4), (1, 4))),
        ("torch~=1.4", ((1, 4), (1, 99))),
        ("torch==1.*", ((1, 0), (1, 99))),
        ("torch<1.8", (None, (1, 7))),
        ("torch<1.7.1", (None, (1, 7))),
        ("torch<2.0.0", (None, (1, 99))),
        ("torch<=1.7.1", (None, (1, 7))),
        ("torch>=1.4,<2", ((1, 4), (1, 99))),
        ("  - pytorch=1.4.0=py3.7_cuda10_0", ((1, 4), (1, 4))),
        ("  - pytorch::pytorch=1.4", ((1, 4), (1, 4))),
        ("  - pytorch 1.4.*", ((1, 4), (1, 4))),
        ('  - "torch==1.4.0"', ((1, 4), (1, 4))),
        ("https://download.example/cu100/torch-1.0.0-cp36-cp36m-linux_x86_64.whl", ((1, 0), (1, 0))),
        ("torch @ https://download.example/torch-1.4.0%2Bcu92-cp36-cp36m-linux_x86_64.whl", ((1, 4), (1, 4))),
        ("install_requires = torch==1.2", ((1, 2), (1, 2))),
        ("torch", OPEN),
        ("torch>=1.3", ((1, 3), None)),
        ("torch>1.3  # not 1.2", ((1, 3), None)),
        ("torch!=1.5", OPEN),
        ("torch==1.4; python_version < '3.8'", OPEN),
    ],
)
def test_a_requirement_allows(line: str, allowed: Bounds) -> None:
    [said] = declarations.lines(line)
    assert (said.oldest, said.newest) == allowed


@pytest.mark.parametrize(
    "line",
    [
        "torchvision>=0.5",
        "torchvision",
        "torchaudio!=0.5",
        "pytorch-lightning==1.0",
        "torch-scatter==2.0",
        "# torch==1.4",
        "mytorch==1.0",
        "torch.py",
    ],
)
def test_what_is_no_requirement_of_torch_says_nothing(line: str) -> None:
    assert list(declarations.lines(line)) == []


@pytest.mark.parametrize(
    ("text", "newest"),
    [
        ('[project]\ndependencies = ["numpy", "torch==1.4"]', [(1, 4)]),
        ('[project]\ndependencies = ["torch>=1.4"]', [None]),
        ('[project.optional-dependencies]\ngpu = ["torch<1.8"]', [(1, 7)]),
        ('[tool.poetry.dependencies]\ntorch = "^1.4"', [(1, 99)]),
        ('[tool.poetry.dependencies]\ntorch = "^0.4"', [(0, 4)]),
        ('[tool.poetry.dependencies]\ntorch = "1.4.0"', [(1, 4)]),
        ('[tool.poetry.dependencies]\ntorch = {version = "~1.4", source = "cu"}', [(1, 4)]),
        ('[tool.poetry.dependencies]\ntorch = {version = "1.4", markers = "x"}', [None]),
        ('[tool.poetry.dependencies]\ntorch = "*"', [None]),
        ('[packages]\ntorch = "==1.4.0"', [(1, 4)]),
        ('[dependency-groups]\ndev = ["torch==1.4"]', []),
        ('[project]\ndependencies = "torch==1.4"', []),
        ("[project", []),
    ],
)
def test_a_toml_file_allows(text: str, newest: list[tuple[int, int] | None]) -> None:
    assert [said.newest for said in declarations.toml(text)] == newest


def test_a_setup_py_allows_what_its_texts_say() -> None:
    text = 'setup(\n    name="torch-tools",\n    install_requires=["torchvision==0.5", "torch==1.4"],\n)\n'
    found = [(said.newest, said.line, said.implied) for said in declarations.setup_py(text)]
    assert found == [((1, 4), 3, True), ((1, 4), 3, False)]


@pytest.mark.parametrize(
    ("line", "torch"),
    [
        ("torchvision==0.1.9", (1, 0)),
        ("torchvision==0.2.1", (1, 1)),
        ("torchvision==0.4.2", (1, 3)),
        ("torchvision==0.5", (1, 4)),
        ("  - torchvision=0.8.2=py38_cu110", (1, 7)),
        ("torchvision==0.14.1+cu117", (1, 13)),
        ("torchvision==0.15.2", (2, 0)),
        ("torchvision==0.20", (2, 5)),
        ("torchaudio==0.7.2", (1, 7)),
        ("torchaudio==2.1.0", (2, 1)),
    ],
)
def test_a_package_built_for_one_torch_tells_which(line: str, torch: tuple[int, int]) -> None:
    [said] = declarations.lines(line)
    assert (said.oldest, said.newest, said.implied) == (torch, torch, True)


@pytest.mark.parametrize(
    ("line", "newest"),
    [
        ("Pytorch 1.2.0", (1, 2)),
        ("- Platform: Pytorch 0.4", (0, 4)),
        ("`conda install pytorch=1.4.0 torchvision -c pytorch`", (1, 4)),
        ("pip install torch==1.7.1+cu110 torchvision==0.8.2", (1, 7)),
        ("Python 3.6, PyTorch 1.2, CUDA 10.0", (1, 2)),
        ("| PyTorch | 1.2.0 |", (1, 2)),
        ("[PyTorch](https://pytorch.org) 1.4 is needed", (1, 4)),
        ("<b>PyTorch</b> 1.4", (1, 4)),
        ("PyTorch (tested with v1.4)", (1, 4)),
        ("FROM pytorch/pytorch:1.6.0-cuda10.1", (1, 6)),
        ("PyTorch 1.4, 1.5 and 1.7", (1, 7)),
        ("PyTorch (both v1.4.0 and v1.8.1 are supported)", (1, 8)),
        ("PyTorch 1.4-1.7", (1, 7)),
        ("PyTorch 1.1~1.10", (1, 10)),
        ("PyTorch <= 1.4", (1, 4)),
        ("* PyTorch install 1.7.1", (1, 7)),
        ("* Install PyTorch (1.7.1)", (1, 7)),
        ("pytorch v1.4", (1, 4)),
        ("* [PyTorch](https://pytorch.org) - We tested with v0.3.0", (0, 3)),
        ("PyTorch versions 1.4 and 1.5", (1, 5)),
        ("推荐torch==2.5.1", (2, 5)),
        ("PyTorch 1.10或以上", None),
        ("torch 1.10以上", None),
        ("PyTorch 1.0+", None),
        ("* pytorch 1.x", None),
        ("PyTorch >= 1.3", None),
        ("PyTorch ≥1.3", None),
        ("PyTorch 1.4 or newer", None),
        ("PyTorch 1.4 (or later)", None),
        ("PyTorch 1.4, 1.5 and above", None),
        ("at least PyTorch 1.4", None),
        ("PyTorch from 1.4", "nothing"),
        ("PyTorch install guide 1.7.1", "nothing"),
        ("PyTorch, install timm 0.3.2", "nothing"),
        ("PyTorch install torchvision 0.8.1", "nothing"),
        ("torch-geometric install 1.7.1", "nothing"),
        ("libtorch 1.8", "nothing"),
        ("![](https://img.shields.io/badge/PyTorch-1.10%2B-orange)", "nothing"),
        ("PyTorch, Python 3.6", "nothing"),
        ("torchvision 0.8.1", "nothing"),
        ("PyTorch Lightning 1.5", "nothing"),
        ("pytorch3d 0.7", "nothing"),
        ("nvcr.io/nvidia/pytorch:20.12-py3", "nothing"),
        ("see the branch for PyTorch 0.3", "nothing"),
        ("does not work with PyTorch before 1.4: PyTorch 1.3 lacks it", "nothing"),
        ("train torch on 2.5k images", "nothing"),
    ],
)
def test_a_readme_names(line: str, newest: tuple[int, int] | str | None) -> None:
    assert [said.newest for said in declarations.readme(line)] == ([] if newest == "nothing" else [newest])


# --- what rules make of it -------------------------------------------------------------


def found(project: Project, *options: str) -> list[tuple[str, str, str, str]]:
    """Severity, message behind its first clause, remedy and whether there is a fix, of each finding of DL204."""
    return [
        (one["severity"], one["message"].partition("every pass")[2], one["remedy"], "fix" if one["fix"] else "")
        for one in project.lint_json(*options).records
        if one["code"] == "DL204"
    ]


def test_where_nothing_is_said_the_remedy_says_from_which_torch_on(project: Project) -> None:
    project.write({"train.py": TRAIN})
    assert found(project) == [("slow", "", UNKNOWN, "fix")]
    project.write({"train.py": PINNED})
    assert found(project) == [("slow", "", UNKNOWN.replace("1.7", "1.8"), "fix")]


def test_a_pin_counts_beside_requirements_that_name_no_version(project: Project) -> None:
    project.write({
        "train.py": TRAIN,
        "requirements.txt": "torch\n",
        "environment.yml": "dependencies:\n  - pytorch==1.6.0\n",
    })  # fmt: skip
    assert found(project) == []
    [(severity, told, _, fix)] = found(project, "--pedantic")
    assert (severity, fix) == ("advice", "")
    assert "environment.yml:2 says `pytorch==1.6.0`" in told


def test_code_of_old_beside_a_file_tells_that_it_is_old(project: Project) -> None:
    project.write({"train.py": TRAIN, "predict.py": "def predict(x):\n    return Variable(x, volatile=True)\n"})
    assert found(project) == []
    [(severity, told, _, _)] = found(project, "--pedantic")
    assert severity == "advice"
    assert "`volatile=True` (predict.py:2) is for torch 0.3 and older" in told
    project.write(
        {"train.py": TRAIN + "\n\ndef score(model, x):\n    with torch.no_grad():\n        return model(x)\n"}
    )
    assert [one[0] for one in found(project)] == ["slow"]


def test_where_the_torch_is_known_to_be_new_it_does_not(project: Project) -> None:
    project.write({"train.py": TRAIN, "requirements.txt": "torch>=1.10\n"})
    assert found(project) == [("slow", "", UNKNOWN.replace(" (torch 1.7 or newer)", ""), "fix")]


OLD = [
    ("requirements.txt", "numpy\ntorch==1.4.0\n", "requirements.txt:2 says `torch==1.4.0`"),
    ("requirements", "torch==1.2\n", "requirements:1 says `torch==1.2`"),
    ("requirements-train.txt", "pytorch=1.4.0\n", "requirements-train.txt:1 says `pytorch=1.4.0`"),
    ("environment.yml", "dependencies:\n  - pytorch=1.4\n", "environment.yml:2 says `pytorch=1.4`"),
    ("mae_env.yml", "dependencies:\n  - pytorch=1.4\n", "mae_env.yml:2 says `pytorch=1.4`"),
    ("constraints.txt", "torch==1.4.0\n", "constraints.txt:1 says `torch==1.4.0`"),
    ("Pipfile", '[packages]\ntorch = "==1.4.0"\n', "Pipfile:2 says `torch==1.4.0`"),
    ("setup.py", 'setup(install_requires=["torch<1.7"])\n', "setup.py:1 says `torch<1.7`"),
    ("setup.cfg", "[options]\ninstall_requires =\n    torch<1.7\n", "setup.cfg:3 says `torch<1.7`"),
    ("pyproject.toml", '[project]\ndependencies = ["torch~=1.4.0"]\n', "pyproject.toml:2 says `torch~=1.4.0`"),
    ("README.md", "# Faces\n\nPytorch 1.2.0\n", "README.md:3 says `PyTorch 1.2.0`"),
    ("readme.rst", "conda install pytorch==1.4\n", "readme.rst:1 says `PyTorch 1.4`"),
    ("INSTALL.md", "- Linux\n- PyTorch 1.4\n", "INSTALL.md:2 says `PyTorch 1.4`"),
    ("docs/get_started.md", "- PyTorch 1.3\n", "docs/get_started.md:1 says `PyTorch 1.3`"),
    (
        "docs/source/notes/build.rst",
        "Install PyTorch 1.4.0 first.\n",
        "docs/source/notes/build.rst:1 says `PyTorch 1.4.0`",
    ),
    ("requirements.txt", "torch\ntorchvision==0.5\n", "requirements.txt:2 says `torchvision==0.5` (for torch 1.4)"),
    ("Dockerfile", "FROM pytorch/pytorch:1.6.0-cuda10.1-cudnn7-runtime\n", "Dockerfile:1 says `PyTorch 1.6.0`"),
    (
        "Dockerfile",
        'ARG VERSION="1.6.0"\nARG CUDA\nFROM pytorch/pytorch:${VERSION}-cuda$CUDA\n',
        "Dockerfile:3 says `PyTorch 1.6.0`",
    ),
    ("readme/data.md", "# Data\n\npip install torch==1.4\n", "readme/data.md:3 says `PyTorch 1.4`"),
]


@pytest.mark.parametrize(("name", "text", "told"), OLD)
def test_for_an_older_torch_it_is_advice_without_a_fix(project: Project, name: str, text: str, told: str) -> None:
    project.write({"src/train.py": TRAIN, name: text})
    assert found(project) == []
    assert found(project, "--pedantic") == [("advice", f"; {told}, which has no persistent workers", UNKNOWN, "")]


@pytest.mark.parametrize(("name", "text"), [one[:2] for one in OLD])
def test_the_configuration_overrules_what_is_found(project: Project, name: str, text: str) -> None:
    project.write({"src/train.py": TRAIN, name: text})
    [one] = found(project, "--config", "target-torch = '1.9'")
    assert (one[0], one[3]) == ("slow", "fix")
    assert found(project, "--pedantic", "--config", "target-torch = '1.4'") == []


@pytest.mark.parametrize(
    "files",
    [
        {"requirements.txt": "torch>=1.8\n"},
        {"requirements.txt": "torch\n"},
        {"src/README.md": "PyTorch 1.0+ is needed\n", "requirements.txt": "torch>=1.8\n"},
        {"src/README.md": "PyTorch 1.13\n", "requirements.txt": "torch>=1.3\n"},
        {"requirements.txt": "torch>=1.3\n", "setup.py": 'setup(install_requires=["torch>=2.0"])\n'},
        {"setup.py": 'setup(install_requires=["torch>=1.8"])\n'},
        {"setup.py": 'setup(install_requires=["torch>=1.4"])\n', "requirements.txt": "torch>=1.9\n"},
        {"requirements.txt": "torch==1.4; sys_platform == 'darwin'\ntorch\n"},
        {"requirements.txt": "torch==1.4\n", "requirements-new.txt": "torch==2.4\n"},
        {"requirements.txt": "torch>=1.9\n", "README.md": "Pytorch 1.4\n"},
        {"requirements.txt": "torch>=1.8\ntorchvision==0.5\n"},
        {"README.md": "PyTorch 1.0+ is needed\n", "eval.py": "import torch\n\nstep = torch.compile(print)\n"},
        {"README.md": "PyTorch 1.8+ is needed\n"},
        {"README.md": "PyTorch 1.3+ (with torchvision, tested with 1.13)\n"},
        {"README.md": "PyTorch 1.3+\n\npip install torch==2.1\n"},
        {"README.md": "PyTorch 1.3+\n", "INSTALL.md": "PyTorch >= 1.9\n"},
        {"README.md": "tested with PyTorch 1.4 and PyTorch 2.1\n"},
        {"README.md": "tested with PyTorch 2.1\n", "Dockerfile": "FROM pytorch/pytorch:1.4-cuda10.1\n"},
        {"Dockerfile": "FROM nvcr.io/nvidia/pytorch:20.12-py3\n"},
        {"Dockerfile": "FROM pytorch/pytorch:${TORCH}-cuda10.1\n"},
        {"README.md": "Pytorch 1.4\n", "src/README.md": "Pytorch 2.0\n"},
        {"requirements.txt": "torch==1.4\n", "src/requirements.txt": "torch\n"},
        {"other/requirements.txt": "torch==1.4\n"},
        {"src/data/requirements.txt": "torch==1.4\n"},
        {"../requirements.txt": "torch==1.4\n"},
        {"requirements.in": "torch==1.4\n"},
        {"README.md": "PyTorch 1.4\n", "docs/install.md": "Install PyTorch 2.1\n"},
        {"docs/data.md": "Trained with PyTorch 1.4\n"},
        {"docs/changelog.md": "install PyTorch 1.4\n"},
        {"docs/a/b/c/install.md": "install PyTorch 1.4\n"},
        {"other/docs/install.md": "Install PyTorch 1.4\n"},
        {"setup.cfg": "install_requires = torch>=1.4\n", "amp.py": "from torch import autocast\n"},
        {"requirements.txt": "torch==1.4\n", "src/amp.py": "import torch\n\nstep = torch.compile(print)\n"},
        {"README.md": "Pytorch 1.4\n", "eval.py": "import torch\n\n@torch.inference_mode()\ndef run():\n    pass\n"},
        {"README.md": "Pytorch 1.4\n", "more.py": TRAIN.replace("=4", "=4, persistent_workers=True")},
    ],
    ids=str,
)
def test_it_stands_where_the_torch_may_be_new_enough(project: Project, files: dict[str, str]) -> None:
    project.write({"src/train.py": TRAIN, **files})
    assert [one[0] for one in found(project)] == ["slow"]


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    from torch.cuda.amp import autocast\nexcept ImportError:\n    autocast = None\n",
        "import torch\n\nif hasattr(torch, 'compile'):\n    print(torch.compile)\n",
        "import torch\n\nstep = torch.compile(print) if torch.__version__ >= '2' else print\n",
        "def run(fp16):\n    if fp16:\n        from torch.amp import autocast\n",
        "import torch\n\n\ndef run(model, fast):\n    return torch.compile(model) if fast else model\n",
        "def run(x, plain):\n    if plain:\n        return x\n    else:\n        import torch.func\n",
        "from torch.cuda.amp import autocast\n",  # which came before persistent workers did
        "import torch\n\nprint(torch.cuda.amplitude, torch.export_all)\n",
        "from mine.torch.cuda.amp import autocast\n",
        "import torch\n\n# torch.compile(model)\n",
        "def make(Loader, dataset):\n    return Loader(dataset, persistent_workers=True)\n",
        "",
    ],
)
def test_code_for_either_torch_does_not_make_a_pin_stale(project: Project, code: str) -> None:
    project.write({"src/train.py": TRAIN, "requirements.txt": "torch==1.4\n", "more.py": code})
    assert [one[0] for one in found(project, "--pedantic")] == ["advice"]


@pytest.mark.parametrize(
    "code",
    [
        "import torch\n\nif __name__ == '__main__':\n    torch.compile(print)\n",
        "import torch\n\nif torch.cuda.is_available():\n    torch.set_float32_matmul_precision('high')\n",
        "from torch.cuda.amp import autocast\nfrom torch.func import vmap\n",
        "import torch\n\n\ndef run(fp16):\n    with torch.autocast('cuda', enabled=fp16):\n        pass\n",
    ],
)
def test_code_that_every_run_has_makes_an_older_pin_stale(project: Project, code: str) -> None:
    project.write({"src/train.py": TRAIN, "requirements.txt": "torch==1.4\n", "more.py": code})
    assert found(project) == [("slow", "", UNKNOWN.replace(" (torch 1.7 or newer)", ""), "fix")]


LEAST = [
    (TRAIN, "torch>=1.3", "in the oldest of which there are none"),
    (TRAIN, "torch>=1.6,<2", "in the oldest of which there are none"),
    (PINNED, "torch>=1.3", "in the oldest of which there are none"),
    (PINNED, "torch>=1.7", "in the oldest of which persistent workers fail with pinned batches"),
]


@pytest.mark.parametrize(("code", "least", "short"), LEAST)
def test_for_a_package_that_can_be_installed_with_an_older_torch_it_is_advice(
    project: Project, code: str, least: str, short: str
) -> None:
    project.write({"train.py": code, "setup.cfg": f"install_requires =\n    {least}\n"})
    assert found(project) == []
    [one] = found(project, "--pedantic")
    assert one[:2] == ("advice", f"; setup.cfg:2 says `{least}`, {short}")


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"README.md": "PyTorch >= 1.2\n"}, "README.md:1 says `PyTorch 1.2`"),
        ({"README.md": "* PyTorch \u2265 1.4\n"}, "README.md:1 says `PyTorch 1.4`"),
        (
            {"README.md": "PyTorch (both v1.4.0 and v1.8.1 are supported)\n"},
            "README.md:1 says `PyTorch v1.4.0 and v1.8.1`",
        ),
        ({"INSTALL.md": "PyTorch 1.4 or newer\n"}, "INSTALL.md:1 says `PyTorch 1.4`"),
        ({"README.md": "Pytorch 1.0 or Pytorch 0.4+\n"}, "README.md:1 says `PyTorch 0.4`"),
        ({"README.md": "PyTorch 1.3+ (tested with 1.5)\n"}, "README.md:1 says `PyTorch 1.3`"),
        ({"README.md": "PyTorch (1.6.0+)\n\nNew weights (torch 1.8.1).\n"}, "README.md:1 says `PyTorch 1.6.0`"),
        ({"README.md": "PyTorch 1.3+\n", "requirements.txt": "torchvision\n"}, "README.md:1 says `PyTorch 1.3`"),
        ({"README.md": "PyTorch 1.3+\n", "requirements.txt": "torch\n"}, "README.md:1 says `PyTorch 1.3`"),
        ({"README.md": "PyTorch 1.3+\n", "environment.yml": "- pytorch\n"}, "README.md:1 says `PyTorch 1.3`"),
        ({"src/README.md": "PyTorch 1.3+\n", "requirements.txt": "torch\n"}, "src/README.md:1 says `PyTorch 1.3`"),
        ({"requirements.txt": "torch>=1.3\n"}, "requirements.txt:1 says `torch>=1.3`"),
        ({"requirements.txt": "torch\n", "setup.cfg": "torch>=1.3\n"}, "setup.cfg:1 says `torch>=1.3`"),
        (
            {"src/README.md": "PyTorch 1.0+ is needed\n", "requirements.txt": "torch>=1.3\n"},
            "requirements.txt:1 says `torch>=1.3`",
        ),
        ({"environment.yml": "- pytorch>=1.5\n"}, "environment.yml:1 says `pytorch>=1.5`"),
        (
            {
                "README.md": "PyTorch 1.3+\n",
                "more.py": "import torch\n\nif hasattr(torch, 'compile'):\n    torch.compile\n",
            },
            "README.md:1 says `PyTorch 1.3`",
        ),
    ],
    ids=str,
)
def test_what_starts_with_an_older_torch_makes_it_advice(project: Project, files: dict[str, str], told: str) -> None:
    project.write({"src/train.py": TRAIN, **files})
    assert found(project) == []
    [one] = found(project, "--pedantic")
    assert one == ("advice", f"; {told}, in the oldest of which there are none", UNKNOWN, "")


def test_persistent_workers_elsewhere_tell_that_they_work(project: Project) -> None:
    elsewhere = "from torch.utils.data import DataLoader\n\nloader = DataLoader([], persistent_workers=True)\n"
    project.write({"train.py": PINNED, "README.md": "PyTorch 1.4\n", "more.py": elsewhere})
    assert found(project) == []
    project.write({"more.py": elsewhere.replace("[],", "[], pin_memory=True,")})
    assert [one[0] for one in found(project)] == ["slow"]


def test_code_beside_the_folder_of_a_pin_says_nothing_of_it(project: Project) -> None:
    amp = "from torch.cuda.amp import autocast\n"
    project.write({"a/train.py": TRAIN, "a/requirements.txt": "torch==1.4\n", "b/amp.py": amp})
    assert [one[0] for one in found(project, "--pedantic")] == ["advice"]


def test_pinned_batches_need_one_version_more(project: Project) -> None:
    project.write({"train.py": PINNED, "requirements.txt": "torch==1.7.1\n"})
    said = "; requirements.txt:1 says `torch==1.7.1`, where persistent workers fail with pinned batches"
    assert found(project, "--pedantic") == [("advice", said, UNKNOWN.replace("1.7", "1.8"), "")]
    assert found(project, "--pedantic", "--config", "target-torch = '1.7'") == []
    project.write({"train.py": TRAIN})
    assert [one[0] for one in found(project)] == ["slow"]
    project.write({"train.py": PINNED, "requirements.txt": "torch==1.8\n"})
    assert [one[0] for one in found(project)] == ["slow"]


PLACED = """\
from torch.utils.data import DataLoader


def train(model, dataset, device):
    for images in DataLoader(dataset, num_workers=4, pin_memory=True):
        model(images.to(device))
"""


@pytest.mark.parametrize(
    ("said", "severity"), [("0.3.1", "advice"), ("0.4.0", "advice"), ("0.4.1", "slow"), ("0.4", "slow")]
)
def test_to_takes_non_blocking_from_one_patch_later_on(project: Project, said: str, severity: str) -> None:
    project.write({"train.py": PLACED, "requirements.txt": f"torch=={said}\n"})
    [record] = project.lint_json("--pedantic", "--select", "DL102").records
    assert record["severity"] == severity
    project.write({"train.py": PLACED.replace("to(device)", "cuda()")})
    [record] = project.lint_json("--pedantic", "--select", "DL102").records
    assert record["severity"] == ("advice" if said == "0.3.1" else "slow")


@pytest.mark.parametrize(
    ("said", "factor", "found"),
    [("torch==1.13.0", 2, []), ("torch==1.13.0", 4, ["bug"]), ("torch==2.0.0", 2, ["bug"]), ("torch", 2, ["bug"])],
)
def test_two_batches_are_prefetched_by_default_before_torch_2(
    project: Project, said: str, factor: int, found: list[str]
) -> None:
    loader = f"loader = DataLoader([1], num_workers=0, prefetch_factor={factor})\n"
    project.write({"train.py": f"from torch.utils.data import DataLoader\n\n{loader}", "requirements.txt": said})
    assert [one["severity"] for one in project.lint_json("--select", "DL202").records] == found


COMMANDS = """\
Pretrain:

    python -m torch.distributed.launch --nproc_per_node=8 \\
    train.py --epochs=50 --readers={} --lr 1e-4

Then:

    python tune.py --readers=8
"""

OPTIONAL = """\
import argparse

from torch.utils.data import DataLoader


def train(model, dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--readers", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=9)
    args = parser.parse_args()
    loader = DataLoader(dataset, num_workers=args.readers)
    for epoch in range(args.epochs):
        for images in loader:
            model(images.cuda(non_blocking=True))
"""


@pytest.mark.parametrize(
    ("readme", "severity"),
    [
        (COMMANDS.format(0), "advice"),
        (COMMANDS.format(8), "slow"),
        (COMMANDS.format(0) + "\n    python train.py --readers 4\n", "slow"),
        (COMMANDS.format(0) + "\n    python train.py --epochs 4\n", "slow"),
        (COMMANDS.format(0).replace("train.py", "pretrain.py"), "slow"),
        ("", "slow"),
    ],
)
def test_commands_that_ask_for_no_workers_make_what_is_of_workers_advice(
    project: Project, readme: str, severity: str
) -> None:
    project.write({"train.py": OPTIONAL, "README.md": readme})
    records = project.lint_json("--pedantic", "--select", "DL204,DL103").records
    assert {one["code"]: one["severity"] for one in records} == {"DL204": severity, "DL103": severity}


OTHERS = [
    (
        "DL102",
        "0.3.1",
        "0.4.1",
        """\
        from torch.utils.data import DataLoader

        def train(model, dataset):
            for images in DataLoader(dataset, num_workers=4, pin_memory=True):
                model(images.cuda())
        """,
    ),
    (
        "DL209",
        "2.7",
        "2.8",
        """\
        from torch.utils.data import DataLoader

        def make(dataset):
            return DataLoader(dataset, pin_memory=True, pin_memory_device="cuda")
        """,
    ),
    (
        "DL404",
        "1.8",
        "1.9",
        """\
        import numpy as np
        from torch.utils.data import DataLoader

        def shift(sound):
            return np.roll(sound, np.random.randint(len(sound)))

        def seed(worker_id):
            np.random.seed(np.random.get_state()[1][0] + worker_id)

        def make(dataset):
            return DataLoader(dataset, num_workers=4, worker_init_fn=seed)
        """,
    ),
]


@pytest.mark.parametrize(("code", "old", "new", "text"), OTHERS)
def test_other_rules_about_newer_torch_ask_the_same(project: Project, code: str, old: str, new: str, text: str) -> None:
    project.write({"train.py": textwrap.dedent(text), "requirements.txt": f"torch=={old}\n"})
    assert project.lint_json("--ignore", "DL204").records == []
    [one] = project.lint_json("--select", code, "--pedantic").records
    assert (one["severity"], one["fix"], f"requirements.txt:1 says `torch=={old}`" in one["message"]) == (
        "advice",
        None,
        True,
    )
    project.write({"requirements.txt": f"torch=={new}\n"})
    [one] = project.lint_json("--select", code).records
    assert (one["severity"] == "advice", "requirements.txt" in one["message"]) == (False, False)


EMPTYING = """\
import torch
from torch.utils.data import DataLoader


def train(model, dataset):
    for batch in DataLoader(dataset, num_workers=4):
        model(batch).backward()
        torch.cuda.empty_cache()
"""


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"requirements.txt": "torch==1.1\n"}, "advice"),
        ({"ops/setup.py": "setup(ext_modules=[CUDAExtension('ops', ['ops.cu'])])\n"}, "advice"),
        ({"requirements.txt": "torch==1.2\n"}, "slow"),
        ({"requirements.txt": "torch>=1.0\n"}, "slow"),
        ({"ops/setup.py": "setup(ext_modules=[CppExtension('ops', ['ops.cpp'])])\n"}, "slow"),
        ({"ops.py": "from torch.utils.cpp_extension import CUDAExtension\n"}, "slow"),
        ({"ops/setup.py": "extension = CppExtension\nif CUDA_HOME:\n    extension = CUDAExtension\n"}, "advice"),
    ],
    ids=str,
)
def test_an_emptied_cache_has_a_reason_beside_an_old_torch_or_cuda_code(
    project: Project, files: dict[str, str], severity: str
) -> None:
    project.write({"train.py": EMPTYING})
    assert [one["severity"] for one in project.lint_json("--select", "DL105").records] == ["slow"]
    project.write(files)
    for path in (".", "train.py"):
        [one] = project.lint_json("--select", "DL105", "--pedantic", path).records
        assert one["severity"] == severity


def test_a_page_is_no_list_of_requirements(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"docs/src/train.py": TRAIN, "docs/notes.md": "torch==1.4\n", "docs/setup.cfg": "torch<1.7\n"})
    monkeypatch.chdir(project.root / "docs")
    [one] = project.lint_json("--select", "DL204", "--pedantic", ".").records
    assert "; setup.cfg:1 says" in one["message"]
    project.write({"docs/setup.cfg": "[metadata]\n"})
    assert [one["severity"] for one in project.lint_json("--select", "DL204", ".").records] == ["slow"]


# --- the cache -------------------------------------------------------------------------


def test_a_change_in_what_is_said_of_torch_renews_a_warm_answer(project: Project) -> None:
    project.write({"src/train.py": TRAIN})
    for files, severities in (
        ({"x.txt": "torch==1.4\n"}, ["slow"]),
        ({"requirements.txt": "torch==1.4\n"}, []),
        ({"requirements.txt": "torch==1.4.0\n"}, []),
        ({"requirements.txt": "torch==2.4\n"}, ["slow"]),
        ({"src/README.md": "PyTorch 1.4\n"}, []),
        ({"src/README.md": "PyTorch 1.4+\n"}, ["slow"]),
        ({"src/setup.cfg": "install_requires =\n  torch==1.4\n"}, []),
        ({"src/setup.cfg": "[metadata]\n", "src/README.md": "None.\n", "src/docs/start.md": "install torch 1.4\n"}, []),
        ({"src/docs/start.md": "install torch 2.4\n"}, ["slow"]),
        ({"src/docs/more/install.md": "torch 1.4\n", "src/docs/start.md": "None.\n"}, []),
    ):
        project.write(files)
        for _ in range(2):
            assert [one[0] for one in found(project)] == severities
    (project.root / "src" / "docs" / "more" / "install.md").unlink()
    assert [one[0] for one in found(project)] == ["slow"]


def test_a_run_that_finds_nothing_to_ask_about_looks_for_no_requirements(project: Project) -> None:
    project.write({"train.py": TRAIN.replace("=4", "=0"), "requirements.txt": "torch==1.4\n"})
    project.lint_json()
    project.write({"requirements.txt": "torch==2.4\n"})
    kept = len(list((project.root / ".dl_lint_cache" / "runs").iterdir()))
    project.lint_json()
    [run] = (project.root / ".dl_lint_cache" / "runs").iterdir()
    assert (kept, "requirements" in run.read_text()) == (1, False)


def test_a_setup_py_put_beside_renews_what_rests_on_its_absence(project: Project) -> None:
    left_over = "from torch.utils.data import DataLoader\n\n\ndef spare(dataset):\n"
    left_over += "    return DataLoader(dataset, num_workers=4, collate_fn=lambda samples: samples)\n"
    script = "from torch.utils.data import DataLoader\n\nif __name__ == '__main__':\n    print(DataLoader([1]))\n"
    (project.root / "pyproject.toml").unlink()
    (project.root / ".git").mkdir()
    project.write({"data.py": left_over, "train.py": script})
    for _ in range(2):
        assert project.lint_json().records == []
    project.write({"setup.cfg": "[metadata]\nname = sample\n"})
    assert [one["code"] for one in project.lint_json().records] == ["DL306"]


def test_files_are_named_as_seen_from_where_the_command_runs(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"src/train.py": TRAIN, "src/README.md": "PyTorch 1.4\n", "README.md": "PyTorch 1.4\n"})
    for folder, argument, train, readme in (
        (".", ".", "src/train.py", "src/README.md"),
        (".", "src/train.py", "src/train.py", "src/README.md"),
        ("src", ".", "train.py", "README.md"),
        ("src", "../src", "../src/train.py", "README.md"),
    ):
        monkeypatch.chdir(project.root / folder)
        [one] = project.lint_json("--select", "DL204", "--pedantic", argument).records
        assert one["filename"] == train
        assert one["message"].startswith(f"the loop at {train}:6 ")
        assert f"; {readme}:1 says" in one["message"]


AGED = """\
from torch.utils.data import DataLoader


def train(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for epoch in range(epochs):
        for images in loader:
            images = images.cuda()
            loss = model(images)
            loss.backward()
            {shown}
"""


@pytest.mark.parametrize(
    ("shown", "old"),
    [
        ("print(loss.data[0])", True),
        ("total = epoch + loss.data[0]", True),
        ("print(loss.data[1])", False),
        ("print(loss.data[0], loss.item())", False),
        ("print(images.data[0])", False),
        ("print(loss.data)", False),
        ("print(loss.data[0] if loss.dim() else loss)", False),
        ("step_loss = loss.sum()\n            print(step_loss.data[0])", True),
        ("images.backward(loss.data[0])\n            images.data[0].sum()", True),
    ],
)
def test_what_no_newer_torch_runs_tells_that_the_code_is_old(project: Project, shown: str, old: bool) -> None:
    """A loss without dimensions was indexed up to torch 0.4; ``item`` and ``non_blocking`` came with that."""
    project.write({"train.py": AGED.format(shown=shown)})
    records = {one["code"]: one for one in project.lint_json("--pedantic").records}
    assert {code: records[code]["severity"] for code in ("DL102", "DL204")} == dict.fromkeys(
        ("DL102", "DL204"), "advice" if old else "slow"
    )
    said = "loss.data[0]` (train.py:"
    assert [said in records[code]["message"] for code in ("DL102", "DL204")] == [old, old]


ACCURACY = """\
def accuracy(output, target, topk=(1,)):
    _, pred = output.topk(max(topk), 1, True, True)
    pred = pred.t()
    correct = pred.eq(target.view(1, -1).expand_as(pred))
    return [correct[:k].view(-1).float().sum(0) for k in topk]
"""


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"utils/eval.py": ACCURACY, "test.py": "top1, top5 = accuracy(output, target, topk=(1, 5))\n"}, True),
        ({"metrics.py": ACCURACY, "test.py": "top1, top5 = accuracy(output, target, (1, 5))\n"}, True),
        ({"metrics.py": ACCURACY.replace("(1,)", "(1, 5)")}, True),
        ({"metrics.py": ACCURACY, "test.py": "top1, = accuracy(output, target, topk=(1,))\n"}, False),
        ({"metrics.py": ACCURACY.replace("view", "reshape").replace("(1,)", "(1, 5)")}, False),
        ({"metrics.py": ACCURACY.replace("(1,)", "(1, 5)"), "requirements.txt": "torch>=2.0\n"}, False),
        ({"metrics.py": ACCURACY.replace("(1,)", "(1, 5)"), "more.py": "import torch\n\ntorch.compile\n"}, False),
        ({"../other/metrics.py": ACCURACY.replace("(1,)", "(1, 5)")}, False),
    ],
    ids=str,
)
def test_rows_that_no_newer_torch_views_as_one_tell_that_the_code_is_old(
    project: Project, files: dict[str, str], told: bool
) -> None:
    project.write({"src/train.py": TRAIN, **{os.path.normpath(f"src/{name}"): text for name, text in files.items()}})
    [record] = project.lint_json("--pedantic", "--select", "DL204").records
    assert record["severity"] == ("advice" if told else "slow")
    assert ("is for torch 1.6 and older, which has no persistent workers" in record["message"]) is told


ABSTRACT = "from torch._six import container_abcs, string_classes\n"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"models/attention.py": ABSTRACT}, True),
        ({"models/attention.py": ABSTRACT.replace("container_abcs, ", "")}, False),
        ({"models/attention.py": f"try:\n    {ABSTRACT}except ImportError:\n    container_abcs = None\n"}, False),
        ({"models/attention.py": ABSTRACT, "requirements.txt": "torch>=1.8\n"}, False),
        ({"models/attention.py": ABSTRACT, "more.py": "import torch\n\ntorch.inference_mode()\n"}, False),
    ],
    ids=str,
)
def test_what_torch_had_until_1_8_tells_that_the_code_is_old(
    project: Project, files: dict[str, str], told: bool
) -> None:
    project.write({"train.py": TRAIN, **files})
    [record] = project.lint_json("--pedantic", "--select", "DL204").records
    assert record["severity"] == ("advice" if told else "slow")
    assert ("(models/attention.py:1) is for torch 1.8 and older" in record["message"]) is told


def test_a_torch_that_has_non_blocking_is_no_reason_to_do_without(project: Project) -> None:
    code = AGED.format(shown="print(loss.data[0])") + "\n\ndef place(model, device):\n    return model.to(device)\n"
    project.write({"train.py": code})
    found = {one["code"]: one["severity"] for one in project.lint_json("--pedantic").records}
    assert (found["DL102"], found["DL204"]) == ("slow", "advice")


def test_what_all_code_needs_overrules_a_line_that_is_old(project: Project) -> None:
    newer = "import torch\n\nscaler = torch.cuda.amp.GradScaler()\n"
    project.write({"train.py": AGED.format(shown="print(loss.data[0])"), "scaling.py": newer})
    found = {one["code"]: one["severity"] for one in project.lint_json("--pedantic").records}
    assert (found["DL102"], found["DL204"]) == ("slow", "slow")
