"""Hooks of a run that is one rank of a job: rank 0 speaks for all, and all end with the same status."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader.printable import printable
from pytest_dataloader.probe.host.interruption import ignore_termination

if TYPE_CHECKING:
    from pytest_dataloader.distributed.job import Job

_LONGEST_TEXT = 4000
_HURRIED_SECONDS = 5.0
"""How long the others are waited for by a run that was interrupted."""


_IN_ORDER = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


class Joint:
    """One rank's part in the run of all."""

    def __init__(self, config: pytest.Config, job: Job) -> None:
        self._config = config
        self._job = job
        self._failures: dict[str, str] = {}
        self._elsewhere: list[str] = []

    @property
    def speaks(self) -> bool:
        """Whether this is the rank that reports."""
        return self._job.place.rank == 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        reporter: Any = self._config.pluginmanager.getplugin("terminalreporter")
        if not self.speaks and reporter is not None:
            from _pytest.config import create_terminal_writer

            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  # as long as the run lasts
            reporter._tw = create_terminal_writer(self._config, nowhere)

    def pytest_report_header(self) -> str:
        place = self._job.place
        return f"dataloader: {place.world_size} ranks; those of one machine are measured one after the other"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failures[report.nodeid] = report.longreprtext[-_LONGEST_TEXT:]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._failures[report.nodeid] = report.longreprtext[-_LONGEST_TEXT:]

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._job.finish(nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Give all ranks the worst status of any, and rank 0 what failed elsewhere."""
        hurried = session.exitstatus not in _IN_ORDER
        said = json.dumps({"status": int(session.exitstatus), "failures": self._failures})
        heard, missing = self._job.close(said, _HURRIED_SECONDS if hurried else None)
        ignore_termination()
        ends = {rank: json.loads(text) for rank, text in heard.items()}
        statuses = {end["status"] for end in ends.values()}
        session.exitstatus = _worst(statuses | ({int(pytest.ExitCode.TESTS_FAILED)} if missing else set()))
        for rank, end in sorted(ends.items()):
            new = {nodeid: text for nodeid, text in end["failures"].items() if nodeid not in self._failures}
            self._elsewhere += [f"rank {rank}: {nodeid}\n{text}" for nodeid, text in new.items()]
        self._elsewhere += [f"rank {rank}: {reason}" for rank, reason in sorted(missing.items())]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._elsewhere:
            terminalreporter.section("failed on other ranks only", red=True, bold=True)
            for text in self._elsewhere:
                terminalreporter.write_line(printable(text))


def _worst(statuses: set[int]) -> int:
    """The status of the job: that nothing was collected counts only where it is true of all ranks."""
    nothing = int(pytest.ExitCode.NO_TESTS_COLLECTED)
    return max((status for status in statuses if status != nothing), default=nothing)
