"""A small project on disk, and the command run on it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from dl_lint.cli import main

from .linked import load  # noqa: F401  (a fixture)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

collect_ignore = ["cases"]
"""Code to lint, some of it named like tests."""

hypothesis.settings.register_profile("untimed", deadline=None)  # a busy machine takes longer for one example
hypothesis.settings.load_profile("untimed")

FAULTY = """\
from torch.utils.data import DataLoader


def make_loader(dataset):
    return DataLoader(dataset, num_workers=4, pin_memory=True, pin_memory_device="cuda")
"""

CLEAN = """\
from torch.utils.data import DataLoader


def make_loader(dataset):
    return DataLoader(dataset, num_workers=4, pin_memory=True)
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run of the command left: exit status, standard output, standard error."""

    status: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        found = json.loads(self.out)
        assert isinstance(found, list)
        return found

    @property
    def places(self) -> list[tuple[str, int, str]]:
        return [(record["filename"], record["location"]["row"], record["code"]) for record in self.records]


class Project:
    """A folder of files, current while a test runs."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def read(self, name: str) -> str:
        return (self.root / name).read_bytes().decode()

    def lint(self, *arguments: str) -> Ran:
        """In this process: fast, and real but for the process."""
        self._capsys.readouterr()
        status = main(arguments)
        out, err = self._capsys.readouterr()
        return Ran(status, out, err)

    def lint_json(self, *arguments: str) -> Ran:
        return self.lint(*arguments, "--output-format", "json")

    def unprivileged(self, *arguments: str) -> Ran:
        """As a user whom permissions bind, which they do not root."""
        if os.geteuid() != 0:
            return self.command(*arguments)
        if shutil.which("setpriv") is None:
            pytest.skip("permissions do not bind root, and there is no setpriv to give up its powers")
        return self._run(["setpriv", "--bounding-set=-all", "--inh-caps=-all"], arguments)

    def command(self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> Ran:
        """In a process of its own, as users run it."""
        return self._run([], arguments, stdin, environment)

    def _run(
        self,
        prefix: Sequence[str],
        arguments: Sequence[str],
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
    ) -> Ran:
        done = subprocess.run(
            [*prefix, sys.executable, "-m", "dl_lint", *arguments],
            cwd=self.root,
            input=stdin,
            capture_output=True,
            env={**os.environ, **(environment or {})},
            timeout=120,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where runs in the project keep their records."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def project(
    tmp_path: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Project:
    """An empty project: it has a pyproject.toml, so nothing above it is looked at."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DL_LINT_CACHE_DIR", str(cache_folder))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "sample"\n')
    return Project(tmp_path, capsys)


@pytest.fixture
def faulty() -> str:
    """A module that DL209 flags on line 5, and can mend."""
    return FAULTY


@pytest.fixture
def mended() -> str:
    """The same after its fix."""
    return CLEAN
