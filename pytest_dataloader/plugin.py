"""Hooks of the plugin: options, collection of targets, reports, summary. None of them raises but for misuse."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader.bench import BENCH, UNMEASURED, Bench
from pytest_dataloader.printable import printable
from pytest_dataloader.settings import options

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pytest_dataloader.collection import TargetsFile
    from pytest_dataloader.record import Record
    from pytest_dataloader.report.writers import Format

_SPARE = 8
_CALLED = {"json": "evidence", "html": "page", "trace": "timeline", "markdown": "summary"}

pytest_plugins = ["pytest_dataloader.fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    options.declare(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """List the declared loaders instead of running tests, where that is asked for."""
    if not options.asks_for_list(config):
        return None
    from pytest_dataloader import collection

    print("\n".join(collection.list_all_targets(config, options.read_options(config))))
    return 0


def pytest_configure(config: pytest.Config) -> None:
    config.stash[BENCH] = bench = Bench(options.read_options(config))
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Reports(config, bench), "dataloader_reports")
    watched = options.read_watch(config)
    if watched:
        from pytest_dataloader.suite_watch import SuiteWatch

        config.pluginmanager.register(SuiteWatch(watched), "dataloader_watch")
    if bench.options.measures:
        from pytest_dataloader import collection
        from pytest_dataloader.probe.host import interruption, sockets_folder

        collection.prepare(config)
        _read_baselines(bench)
        _join_ranks(config, bench)
        if bench.job is None:
            config.add_cleanup(interruption.raise_on_signals("SIGTERM ended the run"))
        config.add_cleanup(sockets_folder.share_with_workers())


def _read_baselines(bench: Bench) -> None:
    if bench.options.baseline is None:
        return
    from pytest_dataloader import baselines
    from pytest_dataloader.errors import BadBaseline

    try:
        bench.baselines = baselines.read_baselines(bench.options.baseline)
    except BadBaseline as error:
        raise pytest.UsageError(printable(f"--dataloader-baseline: {error}")) from None


def _join_ranks(config: pytest.Config, bench: Bench) -> None:
    from pytest_dataloader.distributed import job
    from pytest_dataloader.probe.host import interruption

    place = job.place_in(os.environ)
    if place is None or hasattr(config, "workerinput"):
        return
    from pytest_dataloader.distributed.hooks import Joint

    try:
        bench.job = job.Job.join(place, place.patience_seconds(bench.options.seconds))
    except Exception as error:
        raise pytest.UsageError(f"rank {place.rank} cannot reach the store of its launcher: {error}") from None
    config.pluginmanager.register(Joint(config, bench.job), "dataloader_ranks")
    interruption.raise_on_signals("the launcher ends this rank: another one failed or died")
    if place.rank:
        bench.options.json = bench.options.html = bench.options.markdown = config.option.xmlpath = None
        bench.options.update_baseline = False


def pytest_report_header(config: pytest.Config) -> str | None:
    if not _measures(config):
        return None
    from pytest_dataloader import collection

    return printable(collection.announce(config))


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    if _measures(session.config):
        from pytest_dataloader import collection

        collection.complete_arguments(session.config)
    elif any(argument.partition("::")[0].endswith("pyproject.toml") for argument in session.config.args):
        from pytest_dataloader import collection

        collection.refuse_unasked(session.config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> TargetsFile | None:
    if file_path.name != "pyproject.toml" or not _measures(parent.config):
        return None
    from pytest_dataloader import collection

    if file_path != parent.config.stash[collection.DECLARED].file:
        return None
    node: TargetsFile = collection.TargetsFile.from_parent(parent, path=file_path)
    return node


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if isinstance(collector, pytest.Session) and report.passed and _measures(collector.config):
        from pytest_dataloader import collection

        if collector.config.stash[BENCH].options.targets:
            report.result.append(collection.AdHocTargets.of(collector))
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if _measures(config) and config.pluginmanager.hasplugin("xdist"):
        from pytest_dataloader import collection

        collection.group_benches(items)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Put what is measured last where a worker of pytest-xdist is about to tell its controller what there is."""
    if _measures(session.config) and hasattr(session.config, "workerinput"):
        from pytest_dataloader import collection

        session.items.sort(key=lambda item: collection.is_measured(item.nodeid))


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config) -> Generator[None, Any, Any]:
    """Have one worker measure, whatever ``--dist`` says; a scheduler of the user's own is left alone."""
    scheduler = yield
    is_own = not type(scheduler).__module__.startswith("xdist.")
    if is_own or config.getoption("dist") == "each" or not _measures(config):
        return scheduler
    from pytest_dataloader import collection
    from pytest_dataloader.distributed.scheduling import TargetScheduling

    return TargetScheduling(scheduler, collection.is_measured)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Let a signal pass between the last test and the end of the session: pytest would end without any report."""
    done = yield
    if session.config.stash[BENCH].options.measures:
        from pytest_dataloader.probe.host import interruption

        interruption.pass_signals()
    return done


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """Let a SIGTERM pass, before other plugins do anything: from here on pytest has no answer to one."""
    if session.config.stash[BENCH].options.measures:
        from pytest_dataloader.probe.host import interruption

        interruption.pass_termination()
    yield


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    if not _measures(config):
        return []
    from pytest_dataloader import collection

    return [printable(line) for line in config.stash.get(collection.LEFT_OUT, [])]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.user_properties:  # only of an item that runs again
        from pytest_dataloader import outcome

        outcome.forget_outcome(item)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report a test as skipped where it passed without being measured, or asked for a figure that was not measured.

    The innermost wrapper, so that pytest's own one for xfail sees the skip.
    """
    reasons = item.stash.get(UNMEASURED, [])
    asked = _figure_asked_for(call)
    if asked:
        reasons = [asked]
        # A skip is no reason for --pdb to stop.
        call.excinfo = pytest.CallInfo.from_call(lambda: pytest.skip(asked), call.when).excinfo
    report = yield
    if asked or (reasons and report.when == "call" and report.passed):
        path, line, _ = item.reportinfo()
        report.outcome = "skipped"
        report.longrepr = (str(path), (line or 0) + 1, printable(f"Skipped: {'; '.join(dict.fromkeys(reasons))}"))
    return report


def _figure_asked_for(call: pytest.CallInfo[None]) -> str:
    """What a test was told that asked for a figure that was not measured; empty for any other outcome."""
    errors = sys.modules.get("pytest_dataloader.errors")
    if errors is None or call.excinfo is None or not isinstance(call.excinfo.value, errors.NotMeasured):
        return ""
    return str(call.excinfo.value)


def _measures(config: pytest.Config) -> bool:
    bench = config.stash.get(BENCH, None)
    return bench is not None and bench.options.measures


def _tells_something(record: Record, *, bench: bool) -> bool:
    """Whether a summary has something to say of a loader: in a run that measures, also why nothing was measured."""
    return (record.description != "" and (bench or record.verdict != "not_measured")) or (
        record.check == "tune" and bool(record.evidence)
    )


def _is_worth_a_summary(record: Record) -> bool:
    return record.verdict != "not_measured" or (record.check == "tune" and bool(record.evidence))


class Reports:
    """Gathers the records of a run from its test reports, xdist workers' too, and hands them out at the end."""

    def __init__(self, config: pytest.Config, bench: Bench) -> None:
        self._config = config
        self._bench = bench
        self._written: list[str] = []
        self._unwritten: list[str] = []
        self._warnings: list[str] = []
        self._locations: dict[str, tuple[str, int]] = {}
        self._locks: set[Path] = set()
        self._failed: set[str] = set()
        self._begun = False
        # A loader that leaks descriptors leaves none for the report about it.
        asked = bench.options
        files = (asked.json, asked.html, asked.trace, asked.markdown, os.environ.get("GITHUB_STEP_SUMMARY"))
        spare = _SPARE if any(files) else 0
        self._spare = [os.open(os.devnull, os.O_RDONLY) for _ in range(spare)]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.user_properties and hasattr(report, "node"):  # of a worker of pytest-xdist
            from pytest_dataloader.record import records_in

            if found := list(records_in(report.user_properties)):
                self._bench.ledger[report.nodeid] = found
        if report.failed:
            self._failed.add(report.nodeid)
        if report.nodeid in self._bench.ledger:
            file, line, _ = report.location
            self._locations[report.nodeid] = (file, line or 0)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        from pytest_dataloader.locking import path_of_run

        self._locks.add(path_of_run(node.workerinput["testrunuid"]))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        self._begun = True

    def pytest_keyboard_interrupt(self) -> None:
        """A session that has not begun is not finished either: what is known, which is little, is written here."""
        if not self._begun:
            self._write()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._write()
        if self._unwritten and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def _write(self) -> None:
        while self._spare:
            os.close(self._spare.pop())
        if not self._config.getoption("collectonly"):
            with self._finishing():
                self._write_reports()
                self._tell_github()
                self._write_baselines()

    def _finishing(self) -> AbstractContextManager[None]:
        if not self._bench.options.measures:  # no handler of ours is there, and nothing more is to be imported
            return contextlib.nullcontext()
        from pytest_dataloader.probe.host import interruption

        return interruption.finishing()

    def _write_reports(self) -> None:
        options, job = self._bench.options, self._bench.job
        traced = options.bench and (job is None or not job.place.rank)
        asked: dict[Format, Path | None] = {
            "json": options.json,
            "html": options.html,
            "trace": options.trace if traced else None,
            "markdown": options.markdown,
        }
        for form, path in asked.items():
            if path is not None:
                from pytest_dataloader.report import writers

                wrong = writers.write_report(form, path, self._records(), quick=options.quick)
                if wrong:
                    self._unwritten.append(f"--dataloader-{form}: {wrong}")
                else:
                    self._written.append(f"dataloader {_CALLED[form]}{self._timelines(form)}: {path}")

    def _timelines(self, form: Format) -> str:
        """Which loaders have a timeline in a trace."""
        if form != "trace":
            return ""
        from pytest_dataloader.report import trace

        names = [name for name, _ in trace.timelines(self._records())]
        return f" of {', '.join(names)}" if names else " is empty: the stages check saw no batch"

    def _tell_github(self) -> None:
        """The summary of a GitHub job, where something was measured."""
        path, records = self._bench.options.markdown, self._records()
        if not self._speaks or not any(map(_is_worth_a_summary, records)):
            return
        from pytest_dataloader.environment import environment
        from pytest_dataloader.report import github, markdown

        if not github.is_summary(path, os.environ):
            wrong = github.try_summary(os.environ, lambda room: markdown.report_document(records, environment(), room))
            self._warnings += filter(None, [wrong])

    def _write_baselines(self) -> None:
        """Record what was costed. Here and not in the tests, because under pytest-xdist these run in many processes."""
        path = self._bench.options.baseline
        costed = [record for record in self._records() if record.check == "baseline" and record.evidence["recorded"]]
        if path is None or not costed:
            return
        from pytest_dataloader import baselines
        from pytest_dataloader.errors import BadBaseline

        try:
            baselines.update(path, {record.id: baselines.entry_of(record.evidence) for record in costed})
            self._written.append(f"dataloader baselines of {len(costed)} loaders: {path}")
        except BadBaseline as error:
            self._unwritten.append(f"--dataloader-baseline: {error}; it was left as it is")
        except OSError as error:
            self._unwritten.append(f"--dataloader-baseline: cannot write {path}: {error.strerror or error}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        verbosity = self._config.get_verbosity()
        records = self._records()
        bench = self._bench.options.bench
        if verbosity > -2 and any(_tells_something(record, bench=bench) for record in records):
            from rich.console import Group

            from pytest_dataloader.report import terminal
            from pytest_dataloader.report.console import PLAIN_COLUMNS, rendered

            terminalreporter.section("dataloader")
            asked = terminalreporter.isatty or "COLUMNS" in os.environ
            # What failed stands above with its reason, but under --tb=no.
            above = self._failed if self._config.option.tbstyle != "no" else set[str]()
            reported = {(each.id, each.check) for nodeid in above for each in self._bench.ledger.get(nodeid, ())}
            shown = Group(
                terminal.report_summary(records, verbosity, reported), terminal.closing(records, verbosity=verbosity)
            )
            drawn = rendered(
                shown,
                self._config.get_terminal_writer().fullwidth if asked else PLAIN_COLUMNS,
                colours=terminalreporter.hasmarkup,
                # Not sys.stdout, which may be what pytest captures into.
                encoding=getattr(sys.__stdout__, "encoding", None),
            )
            terminalreporter.write(drawn)
        if verbosity >= 0:
            for text in self._written:
                terminalreporter.write_sep("-", printable(text))
        for text in self._unwritten:
            terminalreporter.write_line(printable(text), red=True)
        for text in self._warnings:
            terminalreporter.write_line(printable(text), yellow=True)
        for command in self._annotations() if self._speaks else ():
            terminalreporter.write_line(command)

    def _annotations(self) -> Iterator[str]:
        """What GitHub shows on the lines of a target, of its limit, or of a test."""
        if not self._bench.ledger:
            return
        from pytest_dataloader.report import github
        from pytest_dataloader.settings import targets

        if not github.is_asked(os.environ):
            return
        found = []
        for nodeid, records in self._bench.ledger.items():
            name, line = self._locations.get(nodeid, (nodeid.partition("::")[0], 0))
            file = self._config.rootpath / name
            for record in records:
                is_limit = file.name == "pyproject.toml" and record.missed
                at = targets.line_of_limit(file, line, record.missed) if is_limit else line
                found.append((record, github.location_of(file, at + 1, os.environ)))
        yield from github.commands(found, strict=self._bench.options.strict)

    @property
    def _speaks(self) -> bool:
        """Whether this process reports: of the ranks of a job, the first one does."""
        job = self._bench.job
        return job is None or job.place.rank == 0

    def pytest_unconfigure(self) -> None:
        for path in self._locks:
            with contextlib.suppress(OSError):
                path.unlink()

    def _records(self) -> list[Record]:
        return [record for records in self._bench.ledger.values() for record in records]
