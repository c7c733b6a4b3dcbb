"""The newest torch that files beside the code allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ..linked import Load

CODE = "probe(1)\n"

REQUIREMENTS = [
    ("torch==1.4.0", (1, 4)),
    ("torch == 1.4.*  # the last for CUDA 9", (1, 4)),
    ("torch<=1.8", (1, 8)),
    ("torch<1.9", (1, 8)),
    ("torch<1.9.1", (1, 9)),
    ("torch<2.0", (1, 99)),
    ("torch>=1.4,<1.9", (1, 8)),
    ("torch<1.9,!=1.7", (1, 8)),
    ("torch~=1.4", (1, 99)),
    ("torch~=1.4.0", (1, 4)),
    ("torch==1.4\ntorch==1.8", (1, 8)),
    ("torch\ntorch==1.4", (1, 4)),
    ("https://download.pytorch.org/whl/torch-1.8.1-cp38-cp38-linux_x86_64.whl", (1, 8)),
    ("torch", None),
    ("torch>=1.4", None),
    ("torch!=1.7", None),
    ("torch==1.4; python_version < '3.8'", None),
    ("torch==1.4\ntorch>=1.9", None),
    ("# torch==1.4", None),
    ("torchvision==0.5", None),
]


@pytest.mark.parametrize(("text", "newest"), REQUIREMENTS, ids=[text for text, _ in REQUIREMENTS])
def test_a_requirement_allows_so_new_a_torch(load: Load, text: str, newest: tuple[int, int] | None) -> None:
    assert found(load, {"requirements.txt": text}) == newest


FILES = [
    ("setup.py", "setup(install_requires=['numpy', 'torch>=1.4,<1.8'])", (1, 7)),
    ("setup.cfg", "[options]\ninstall_requires =\n    torch==1.4\n", (1, 4)),
    ("environment.yml", "dependencies:\n  - pytorch::pytorch=1.4=py3.7_cuda10.1_0\n", (1, 4)),
    ("pyproject.toml", "[project]\ndependencies = ['torch==1.4']\n", (1, 4)),
    ("pyproject.toml", "[project]\ndependencies = 'torch==1.4'\n", None),
    ("pyproject.toml", "[tool.poetry.dependencies]\ntorch = '^1.4'\n", (1, 99)),
    ("pyproject.toml", "[tool.poetry.dependencies]\ntorch = '^0.4'\n", (0, 4)),
    ("pyproject.toml", "[tool.poetry.dependencies]\ntorch = '1.4'\n", (1, 4)),
    ("pyproject.toml", "[tool.poetry.dependencies]\ntorch = '*'\n", None),
    ("pyproject.toml", "[tool.poetry.dependencies]\ntorch = {version = '1.4', platform = 'linux'}\n", None),
    ("Pipfile", "[packages]\ntorch = {version = '==1.4'}\n", (1, 4)),
    ("README.md", "torch==1.4\n", None),
    ("notes.txt", "torch==1.4\n", None),
]


@pytest.mark.parametrize(("name", "text", "newest"), FILES)
def test_each_kind_of_file_is_read_as_its_tool_reads_it(
    load: Load, name: str, text: str, newest: tuple[int, int] | None
) -> None:
    assert found(load, {name: text}) == newest


@pytest.mark.parametrize(
    ("files", "newest"),
    [
        ({"requirements.txt": "torch==1.8", "kit/requirements.txt": "torch==1.4"}, (1, 4)),
        ({"requirements.txt": "torch==1.8", "kit/requirements.txt": "torch>=1.4"}, None),
        ({"requirements.txt": "torch==1.8", "kit/requirements.txt": "numpy==1.4"}, (1, 8)),
        ({"requirements.txt": "torch==1.8", "other/requirements.txt": "torch==1.4"}, (1, 8)),
    ],
)
def test_the_nearest_folder_that_names_torch_decides(
    load: Load, files: dict[str, str], newest: tuple[int, int] | None
) -> None:
    assert found(load, files, code="kit/main.py") == newest


def found(load: Load, files: dict[str, str], code: str = "main.py") -> tuple[int, int] | None:
    project = load({code: CODE, **files}, unlinted=tuple(files))
    [call] = project.files[0].methods["probe"]
    return project.target(call).newest
