"""``pytest-dataloader run SCRIPT [ARGS...]``: a user's training as it is, and the loaders that it iterates."""

from __future__ import annotations

import _thread
import contextlib
import copy
import io
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_dataloader import checks, loaders, progress
from pytest_dataloader.advice import training as sentences
from pytest_dataloader.diagnosis import output
from pytest_dataloader.diagnosis.arguments import (
    CommandParser,
    add_files,
    add_limits,
    add_measuring,
    limits_given,
)
from pytest_dataloader.diagnosis.forked import CheckPlan, LoaderToCheck, can_fork, examine_forked
from pytest_dataloader.diagnosis.report import Report, chosen_checks, limits_of_checks
from pytest_dataloader.diagnosis.runner import Subject
from pytest_dataloader.diagnosis.script import Program, split_command
from pytest_dataloader.distributed.job import place_in
from pytest_dataloader.errors import BadLimit, BadTarget
from pytest_dataloader.probe.host import interruption, process_tree
from pytest_dataloader.probe.timing.training_step import step_at
from pytest_dataloader.probe.training.discovery import Discovery
from pytest_dataloader.probe.training.meter import Totals
from pytest_dataloader.quantities import counted, figure
from pytest_dataloader.report import github

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import TextIO

    from pytest_dataloader.probe.training.discovery import LoaderInUse
    from pytest_dataloader.probe.training.meter import Meter
    from pytest_dataloader.record import Record

NAME = "run"
TRAINING = "training"
_BESIDE = tuple(name for name in checks.NAMES if name != "transfer")
"""Checks that need a copy of a loader. No device is left for one in a fork of a training that uses it."""
_CHECKS = (TRAINING, *_BESIDE)
_WATCH_SECONDS = 5.0
_EXAMPLES = (
    "run train.py --epochs 3 --lr 0.1",
    "run --max-input-wait 0.05 --json seen.json -m proj.train --config small.yaml",
    "run --after-steps 200 --stop --watch train.py",
)


def main(arguments: Sequence[str]) -> int:
    """Run what the arguments name, with its own arguments, and report on its loaders; the status to exit with.

    A KeyboardInterrupt that ends the script comes out, for Python to end as it would have.
    """
    parser = _parser()
    actions = parser._option_string_actions.items()
    ours, program = split_command(arguments, [word for word, action in actions if action.nargs is None])
    given = parser.parse(ours)
    if program is None:
        parser.error("expected SCRIPT or -m MODULE after the options")
    if given.stop and given.after_steps is None:
        parser.error("--stop needs --after-steps N: when to stop")
    try:
        run = TrainingRun(program, given)
        return run.execute()
    except (BadLimit, BadTarget) as error:
        output.say(f"{parser.prog}: {error}", sys.stderr)
        return output.EXIT_NOT_RUN


class _Stopped(SystemExit):
    """The checks are done, and the user asked for no more of the script."""


class TrainingRun:
    """A script that runs, the loaders that were found in it, and their report. Raises BadLimit."""

    def __init__(self, program: Program, given: argparse.Namespace) -> None:
        self._program, self._given = program, given
        chosen = chosen_checks(given.checks, _CHECKS)
        limits = limits_given(given, _CHECKS)
        read = limits_of_checks(limits, chosen, _CHECKS)
        step_at(limits.get("step"))  # a wrong one is told at once
        self._limits = read[TRAINING]
        beside = tuple(name for name in chosen if name != TRAINING)
        held = {name for check in beside for name in read[check]}
        self._place = place_in(os.environ)
        self._plan = CheckPlan(
            checks=beside if can_fork() else (),
            limits={name: value for name, value in limits.items() if name in held},
            seconds=given.seconds,
            quick=given.seconds is None,
            chosen=given.checks is not None,
            place=self._place,
        )
        self._discovery = Discovery(found=self._watch, keeps_copies=True)
        self._records: list[Record] = []
        self._checked: set[int] = set()
        """By the id of each loader in use, those that were checked while the script ran."""
        self._line = _WatchLine()
        self._processes = process_tree.ProcessRegistry()
        self._pid, self._began = os.getpid(), time.monotonic()
        self._checking_seconds = 0.0
        self._stream = _stderr()
        self._stopping = False

    def execute(self) -> int:
        """Run the script and report; the status to exit with. Raises BadTarget where there is no such script."""
        leave_termination = self._report_on_termination()
        self._discovery.start()
        error: BaseException | None = None
        status = output.EXIT_PASSED
        try:
            with process_tree.keep_process_registry() as self._processes:
                self._program.execute()
        except BadTarget:
            raise
        except _Stopped:
            pass
        except SystemExit as ending:
            status = _status_of_exit(ending)
        except BaseException as raised:
            error, status = raised, output.EXIT_FAILED
        if self._stopping:
            error, status = None, output.EXIT_PASSED
        if error is not None:
            for found in self._discovery.loaders:
                found.meter.blame(error)
            loaders.hide_our_frames(error)
            sys.excepthook(type(error), error, error.__traceback__)
        if os.getpid() != self._pid:  # a child that the script has forked, and that came to its end
            return status
        self._discovery.stop()
        shown = self._conclude(status, error)
        leave_termination()
        if isinstance(error, KeyboardInterrupt):
            sys.excepthook = lambda *_error: None  # it was shown
            raise error
        return status or shown

    def _conclude(self, status: int, error: BaseException | None) -> int:
        """Check what was not checked yet, unless the script broke, and report; the status that the report calls for."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        try:
            if error is None:
                self._check()
        except KeyboardInterrupt:
            output.say("pytest-dataloader run: interrupted: not all checks were made", self._stream)
        with interruption.finishing():
            return self._report(_ending(status, error, stopped=self._stopping), alone=error is not None)

    def _watch(self, found: LoaderInUse) -> None:
        if self._given.after_steps is not None:
            found.meter.step_hooks.append(self._check_in_time)
        if self._given.watch:
            found.meter.step_hooks.append(lambda meter: self._line.show(found, meter, self._stream))

    def _check_in_time(self, meter: Meter) -> None:
        if meter.totals.batches < self._given.after_steps or self._checked or os.getpid() != self._pid:
            return
        self._checked |= {id(each) for each in self._discovery.loaders}
        self._check(self._discovery.loaders)
        if self._given.stop:
            self._stopping = True
            if threading.current_thread() is not threading.main_thread():
                _thread.interrupt_main()
            raise _Stopped

    def _check(self, found: Sequence[LoaderInUse] | None = None) -> None:
        """Examine copies of loaders in a forked child, and keep their records: of ``found``, or of those left."""
        if found is None:
            found = [each for each in self._discovery.loaders if id(each) not in self._checked]
        if not found or not (self._plan.checks or self._place):
            return
        line = progress.StandaloneLine(sys.stderr)
        todo = [self._to_check(each) for each in found]
        began = time.monotonic()
        try:
            wrong = examine_forked(todo, self._plan, progress=line.show, done=self._records.append)
        finally:
            self._checking_seconds += time.monotonic() - began
            line.clear()
        if wrong:
            output.say(f"pytest-dataloader run: {wrong}", self._stream)

    def _to_check(self, found: LoaderInUse) -> LoaderToCheck:
        return LoaderToCheck(self._subject(found), self._training_record(found), found.meter.evidence().step_ms)

    def _subject(self, found: LoaderInUse) -> Subject:
        """A loader as reports call it: its variable and where it was made, and a number where others are called so."""
        names = [_name(each) for each in self._discovery.loaders]
        at = self._discovery.loaders.index(found)
        before = names[:at].count(names[at])
        name = f"{names[at]} #{before + 1}" if before else names[at]
        return Subject(name, name, found.copy)

    def _training_record(self, found: LoaderInUse) -> Record:
        places = (str(next(iter(found.made_at), "")), str(found.iterated_at or ""))
        evidence = found.meter.evidence(*places)
        verdict = checks.judge(TRAINING, evidence, limits=self._limits)
        return self._subject(found).record(TRAINING, self._limits, evidence, verdict)

    def _report(self, ending: str, *, alone: bool) -> int:
        """Print the report and write its files; the status that it calls for.

        Of the ranks of a job the first speaks for all, and every one that ends alone for itself.
        """
        records = self._complete()
        report = Report(tuple(records), {})
        if self._place is not None and self._place.rank and not alone:
            return output.status_of(report, strict=self._given.strict)
        rank = f"rank {self._place.rank} of {self._place.world_size}: " if self._place is not None else ""
        took = figure(time.monotonic() - self._began - self._checking_seconds)
        count = len(self._discovery.loaders)
        told = (
            f"{counted(count, 'loader')} {'was' if count == 1 else 'were'} iterated"
            if count
            else "no DataLoader was iterated"
        )
        workers = {pid for each in self._discovery.loaders for pid in each.meter.worker_pids}
        others = len(self._processes.pids - workers)
        if others and not alone:  # where it broke, some are workers of an epoch that did not begin
            told += f"; {counted(others, 'process')} that it started: not looked into"
        told = (self._discovery.unsupported and f"unsupported torch: {self._discovery.unsupported}") or told
        if alone and self._plan.checks and count:
            told += f"; {'its' if count == 1 else 'their'} checks were left out"
        elif self._checking_seconds:
            told += f"; checks took {figure(self._checking_seconds)} s"
        output.say(f"\npytest-dataloader run: {rank}{self._program.name} {ending} after {took} s; {told}", self._stream)
        shown = output.show_report(report, self._files(alone), self._stream)
        made = [each.made_at[0] for each in self._discovery.loaders if each.made_at]
        place = (
            github.location_of(Path(made[0].file), made[0].line, os.environ) if made else github.AnnotationLocation()
        )
        output.tell_github(report, self._given, place, self._stream)
        return shown or output.status_of(report, strict=self._given.strict)

    def _files(self, alone: bool) -> argparse.Namespace:
        """What was given, with files of its own for a rank that ends alone: the first writes those that were named."""
        if self._place is None or not self._place.rank or not alone:
            return self._given
        given = copy.copy(self._given)
        for name in ("json", "html", "markdown"):
            if (path := getattr(given, name)) is not None:
                setattr(given, name, path.with_stem(f"{path.stem}.rank{self._place.rank}"))
        return given

    def _complete(self) -> list[Record]:
        """The records, by loader, with what was seen in the training up to now where no check has told of it."""
        found: list[Record] = []
        for each in self._discovery.loaders:
            name = self._subject(each).id
            own = [record for record in self._records if record.id == name]
            joint = next((record for record in own if record.check == TRAINING and record.ranks), None)
            found.append(joint or self._training_record(each))
            found += [record for record in own if record.check != TRAINING]
        return found

    def _report_on_termination(self) -> Any:
        """Have SIGTERM report what is known before it ends this process, as it would have; what puts that back."""

        def terminated(number: int, _frame: object) -> NoReturn:
            with contextlib.suppress(Exception):
                if os.getpid() == self._pid and not (self._place is not None and self._place.rank):
                    self._report("was ended by SIGTERM", alone=True)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            raise SystemExit(128 + number)  # it was blocked

        def put_back() -> None:
            if signal.getsignal(signal.SIGTERM) is terminated:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)

        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, terminated)
            if hasattr(os, "register_at_fork"):  # workers end by it without Python's help
                os.register_at_fork(after_in_child=put_back)
        return put_back


class _WatchLine:
    """One line every few seconds on the loader that is iterated."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _WATCH_SECONDS
        self._before: dict[int, Totals] = {}

    def show(self, found: LoaderInUse, meter: Meter, stream: TextIO) -> None:
        """Print the line where it is due: figures since the one before, of this loader."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _WATCH_SECONDS
        rates = meter.totals.since(self._before.get(id(meter), Totals()))
        self._before[id(meter)] = replace(meter.totals)
        text = sentences.watch_line(meter.evidence(), rates)
        output.say(f"{_name(found)}  {text}", stream)


def _name(found: LoaderInUse) -> str:
    name, place = found.called
    return f"{name} ({place})" if place is not None else name


def _ending(status: int, error: BaseException | None, *, stopped: bool) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "was interrupted"
    if error is not None:
        return f"raised {type(error).__name__}"
    return "was stopped" if stopped else f"ended with status {status}"


def _status_of_exit(ending: SystemExit) -> int:
    """What Python would exit with; a text is printed, as Python does."""
    if ending.code is None or isinstance(ending.code, int):
        return ending.code or 0
    print(ending.code, file=sys.stderr)
    return output.EXIT_FAILED


def _stderr() -> TextIO:
    """Standard error by a stream of our own: a signal handler may write while the script is just writing to its own."""
    with contextlib.suppress(OSError):
        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        return io.TextIOWrapper(
            io.FileIO(2, "w", closefd=False), encoding, errors="backslashreplace", line_buffering=True
        )
    return sys.stderr


def _steps(text: str) -> int:
    import argparse

    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def _parser() -> CommandParser:
    parser = CommandParser(
        NAME,
        "Run a training script as it is, and measure every loader that it iterates: on its way, and by checks of a\n"
        "copy in a process beside it. The script's results stay the same to the last bit.",
        _EXAMPLES,
        "the script's own where it is not 0, else 0 where no check failed, 1 where one did, 2 where no loader was seen",
        "[options] SCRIPT [ARGS...]\n       pytest-dataloader run [options] -m MODULE [ARGS...]",
    )
    add_measuring(parser, _CHECKS, budget="0.5 in its shortest useful form; with a number that long")
    parser.add_argument(
        "--after-steps", type=_steps, metavar="N", help="check once a loader has given so many batches, not at the end"
    )
    parser.add_argument("--stop", action="store_true", help="with --after-steps: end the script then")
    parser.add_argument(
        "--watch", action="store_true", help="print a line every 5 s: rate, waiting, memory, descriptors"
    )
    add_files(parser)
    add_limits(parser, _CHECKS)
    return parser
