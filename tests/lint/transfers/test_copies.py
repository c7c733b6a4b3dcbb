"""What counts as an accelerator, caller by caller."""

from __future__ import annotations

import ast

import pytest
from dl_lint.project import Project
from dl_lint.source.file import Source
from dl_lint.source.parser import parse
from dl_lint.transfers import copies


def is_accelerator(text: str) -> bool:
    """Whether what is given to ``here()`` is one."""
    code = ("import torch\n" + text).encode()
    project = Project.load(["a.py"], ".", lambda path: parse(Source.of(path, code)) if path == "a.py" else None)
    ((argument,),) = [call.args for call in project.files[0].methods["here"]]
    assert isinstance(argument, ast.expr)
    return copies.is_accelerator(project, argument)


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("'cuda'", True),
        ("'cuda:1'", True),
        ("'xpu'", True),
        ("torch.device('cuda')", True),
        ("torch.device('cuda' if torch.cuda.is_available() else 'cpu')", True),
        ("'cpu'", False),
        ("torch.device('cpu')", False),
        ("torch.float32", False),
        ("config.device", False),
        ("None", False),
    ],
)
def test_a_device_is_known_by_its_name(device: str, expected: bool) -> None:
    assert is_accelerator(f"here({device})\n") is expected


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("f('cuda')", True),
        ("f('cuda'), f('cuda:0')", True),
        ("f('cuda' if torch.cuda.is_available() else 'cpu')", True),
        ("f('cuda'), f('cpu')", False),
        ("f('cuda'), f(config.device)", False),
        ("f('cpu')", False),
        ("f(unknown)", False),
    ],
)
def test_a_parameter_is_one_if_it_is_for_every_caller(calls: str, expected: bool) -> None:
    assert is_accelerator(f"def f(device):\n    here(device)\n{calls}\n") is expected


@pytest.mark.parametrize(("default", "expected"), [("'cuda'", True), ("'cpu'", False), ("None", False)])
def test_a_parameter_that_nobody_passes_is_its_default(default: str, expected: bool) -> None:
    assert is_accelerator(f"def f(device={default}):\n    here(device)\n") is expected
