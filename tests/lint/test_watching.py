"""``--watch``: a run after every change, until Ctrl-C."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from tests.lint.conftest import Project

PATIENCE_SECONDS = 90


class Watcher:
    """The command in a process of its own, read as it writes."""

    def __init__(self, project: Project, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dl_lint", "--watch", "--output-format", "concise", *arguments],
            cwd=project.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def next_run(self) -> str:
        assert self.process.stdout is not None
        seen = b""
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not seen.endswith(b"Ctrl-C ends it.\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, give_up - time.monotonic()))
            chunk = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            assert chunk, f"no run: {seen.decode()}"
            seen += chunk
        return seen.decode()

    def stop(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGINT)
        rest, _ = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, rest.decode()


def test_every_change_is_linted_and_ctrl_c_ends_it_quietly(project: Project, faulty: str, mended: str) -> None:
    project.write({"pkg/data.py": mended})
    watcher = Watcher(project)
    try:
        assert watcher.next_run().startswith("No findings in 1 file.\n")
        project.write({"pkg/data.py": faulty})
        assert "pkg/data.py:5:64: DL209 [*]" in watcher.next_run()
        project.write({"pyproject.toml": "[tool.dl-lint]\nslect = ['DL209']\n"})
        assert 'has no key "slect"' in watcher.next_run()
        project.write({"pyproject.toml": "[tool.dl-lint]\nignore = ['DL209']\n"})
        assert watcher.next_run().startswith("No findings")
        project.write({"requirements.txt": "torch==1.4\n"})
        assert watcher.next_run().startswith("No findings")
        project.write({"notes.txt": "x", "node_modules/x.py": "x"})  # none of a run's
        assert watcher.stop() == (130, "")
    finally:
        watcher.process.kill()
        watcher.process.wait()
        assert watcher.process.stdout is not None
        watcher.process.stdout.close()


def test_watching_mends_and_does_not_chase_its_own_writes(project: Project, faulty: str, mended: str) -> None:
    project.write({"data.py": faulty})
    watcher = Watcher(project, "--fix")
    try:
        assert "Fixed 1 finding; 0 left." in watcher.next_run()
        assert "Fixed 0 findings; 0 left." in watcher.next_run()
        assert project.read("data.py") == mended
        assert watcher.stop() == (130, "")
    finally:
        watcher.process.kill()
        watcher.process.wait()
        assert watcher.process.stdout is not None
        watcher.process.stdout.close()


def test_watching_says_what_it_needs_and_what_it_cannot_go_with(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "--watch follows files" in project.lint("--watch", "-").err
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    monkeypatch.delitem(sys.modules, "dl_lint.watching", raising=False)
    ran = project.lint("--watch")
    assert ran.err == "dl-lint: error: --watch needs watchfiles: pip install 'dl-lint[watch]'\n"
    assert ran.status == 2
