"""Every file of both packages is one that each Python at hand can read: pytest loads the plugin in every run."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

from tests.pythons import interpreters
from tests.variants import variants

ROOT = Path(__file__).parents[1]
FILES = sorted(path for package in ("pytest_dataloader", "lint") for path in (ROOT / package).rglob("*.py"))
COMPILE = """\
import sys, warnings
warnings.simplefilter("error")
for name in sys.stdin.read().splitlines():
    with open(name, "rb") as file:
        source = file.read()
    try:
        compile(source, name, "exec")
    except (SyntaxError, SyntaxWarning, UnicodeError) as error:
        print(name, error)
"""


HERE = interpreters()


@pytest.mark.parametrize(("version", "command"), variants({name: (name, HERE[name]) for name in HERE}, [max(HERE)]))
def test_each_file_compiles_without_a_warning(version: str, command: str) -> None:
    names = "\n".join(map(str, FILES))
    done = subprocess.run([command, "-c", COMPILE], input=names, capture_output=True, text=True, check=True)
    assert (version, done.stdout) == (version, "")


def test_docstrings_can_be_encoded() -> None:
    """Since Python 3.13 the compiler encodes them: a lone surrogate, as from an escape, keeps it from importing."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    strays = [
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"
        for path in FILES
        if re.search(rb"\\[uU]", source := path.read_bytes())
        for node in ast.walk(ast.parse(source))
        if isinstance(node, documented) and not _encodable(ast.get_docstring(node, clean=False) or "")
    ]
    assert strays == []


def _encodable(text: str) -> bool:
    return text.encode("utf-8", "replace").decode() == text
