"""Declared targets as pytest sees them: a file, a target, and one test item for each check."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader import loaders, outcome
from pytest_dataloader.bench import BENCH
from pytest_dataloader.checks import NAMES, applies, call_for
from pytest_dataloader.diagnosis.runner import Subject
from pytest_dataloader.errors import BadTarget, DataLoaderCheckError
from pytest_dataloader.printable import printable
from pytest_dataloader.probe.host import interruption
from pytest_dataloader.probe.loader.state_restoration import global_random_states
from pytest_dataloader.settings import targets
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from pytest_dataloader.settings.options import Options
    from pytest_dataloader.settings.targets import Target

AD_HOC = "dataloader-target"
"""Stands for a file in the node ids of ad hoc targets: ``dataloader-target::NAME::throughput``."""

XDIST_GROUP = "dataloader"
"""Under ``--dist loadgroup`` tests with our fixtures are measured by the worker that measures targets."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What a run knows of declared targets: the pyproject.toml, and the ad hoc ids that were given as arguments."""

    file: Path | None
    chosen: tuple[tuple[str, ...], ...] = ()


DECLARED = pytest.StashKey[Declared]()
LEFT_OUT = pytest.StashKey[list[str]]()
"""What a run says of targets of which nothing is left to measure."""


class TargetsFile(pytest.File):
    """A pyproject.toml with declared targets."""

    def collect(self) -> Iterator[TargetNode]:
        for target in targets.read_file(self.path, self.nodeid):
            yield TargetNode.of(self, target)


class AdHocTargets(pytest.Collector):
    """The targets of ``--dataloader-target``. No file, so that they exist in a project without pyproject.toml."""

    @classmethod
    def of(cls, session: pytest.Session) -> AdHocTargets:
        node: AdHocTargets = cls.from_parent(session, name=AD_HOC, nodeid=AD_HOC)
        return node

    def collect(self) -> Iterator[TargetNode]:
        config = self.config
        known = config.stash[DECLARED]
        taken = [] if known.file is None else [target.name for target in targets.read_file(known.file, known.file.name)]
        roots = targets.import_roots(config.invocation_params.dir, config.rootpath)
        for given in config.stash[BENCH].options.targets:
            parts = [chosen[1:] for chosen in known.chosen if chosen[0] == given.name]
            if parts or not known.chosen:
                only = None if () in parts or not parts else frozenset(names[0] for names in parts)
                yield TargetNode.of(self, targets.ad_hoc(given, taken, roots), only)


class TargetNode(pytest.Collector):
    """A target: its loader is built once, for the first of its checks that runs, and released after the last.

    A seed that is set while it is built holds for the checks of this target, and for nothing else of the run.
    """

    target: Target
    only: frozenset[str] | None
    loader: Any = None
    build_function: Any = None
    failed_by: str | None = None
    _seeds_of_run: Callable[[], None] | None = None
    _seeds_of_target: Callable[[], None] | None = None

    @classmethod
    def of(cls, parent: pytest.Collector, target: Target, only: frozenset[str] | None = None) -> TargetNode:
        node: TargetNode = cls.from_parent(parent, name=target.name)
        node.target, node.only = target, only
        return node

    def collect(self) -> Iterator[CheckItem]:
        options = self.config.stash[BENCH].options
        checks = self.target.checks if options.bench or self.target.checks == targets.DECLARATION else ()
        tune = ("tune",) if options.tune and self.target.checks != targets.DECLARATION else ()
        if self.target.checks != targets.DECLARATION:
            checks = tuple(check for check in checks if check in options.checks)
        if options.quick:
            applicable = self._applicable(checks)
            if checks and not applicable:
                told = f"--dataloader-quick leaves out {', '.join(checks)}, as nothing in its loader calls for it"
                self.config.stash.setdefault(LEFT_OUT, []).append(f"dataloader: {self.name}: {told}")
            checks = applicable
        for check in (*checks, *tune):
            if self.only is None or check in self.only:
                yield CheckItem.from_parent(self, name=check)

    def _applicable(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The checks that have something to measure in the loader, which is built for it; all where it cannot be.

        Those stay that a limit, ``--dataloader-checks`` or a job of several ranks calls for.
        """
        bench = self.config.stash[BENCH]
        if bench.options.checks != NAMES:
            return names
        wanted = [name for name in names if call_for(self.target.limits.get(name, {}))]
        wanted += ["shards"] if bench.job is not None else []
        with loaders.importable(self.target.roots):
            if set(names) - set(wanted) and self.build() is None:
                names = tuple(
                    name for name in names if name in wanted or applies(name, self.loader, self.build_function)
                )
                self._seeds_of_target = global_random_states()
                self._leave_seeds()
        return names

    def _leave_seeds(self) -> None:
        if self._seeds_of_run is not None:
            self._seeds_of_run()
            self._seeds_of_run = None

    def take_seeds(self) -> None:
        """Go on with the random states that building the loader at collection has left."""
        if self._seeds_of_target is not None:
            self._seeds_of_run = global_random_states()
            self._seeds_of_target()
            self._seeds_of_target = None

    def setup(self) -> None:
        imports = contextlib.ExitStack()
        imports.enter_context(loaders.importable(self.target.roots))
        self.addfinalizer(imports.close)

    def teardown(self) -> None:
        self.loader = self.build_function = None
        self._leave_seeds()

    def build(self) -> str | None:
        """Have the loader built; what is wrong with the declaration if it cannot be, naming the key."""
        if self.target.faults:
            return "\n".join(self.target.faults)
        try:
            if self.loader is None:
                self._seeds_of_run = global_random_states()
                with loaders.arguments_of(self.target.loader, (), self.target.roots):
                    self.loader, self.build_function = loaders.build(self.target.loader, self.target.roots)
        except BadTarget as error:
            return f"{self.target.loader_at}: {error}"
        return None


class CheckItem(pytest.Item):
    """One check of one target, ``<file>::<target>::<check>``."""

    def reportinfo(self) -> tuple[Path, int, str]:
        node = self._node
        path = self.path if isinstance(node.parent, TargetsFile) else self.path / AD_HOC
        return path, node.target.line, f"{node.target.name}::{self.name}"

    @property
    def _node(self) -> TargetNode:
        node = self.parent
        assert isinstance(node, TargetNode)
        return node

    def setup(self) -> None:
        node = self._node
        if node.failed_by not in (None, self.name):
            pytest.skip(
                f"the loader of {node.target.name} was not built: see the error of {node.name}::{node.failed_by}"
            )
        interruption.forget_signals()
        node.take_seeds()
        fault = node.build()
        node.failed_by = None if fault is None else self.name
        if fault is not None:
            outcome.note(self, self._subject(), self.name, {}, None, Verdict("failed", fault))
            pytest.fail(printable(fault), pytrace=False)

    def runtest(self) -> None:
        # Failing outside the except clauses keeps the fault alone in the report, without "During handling of...".
        fault = self._examine()
        if fault is not None:
            pytest.fail(printable(fault), pytrace=False)

    def _examine(self) -> str | None:
        target = self._node.target
        try:
            outcome.examine(self, self._subject(), self.name, target.limits_of(self.name))
        except DataLoaderCheckError as error:
            return f"{target.where}: {self.name}: {error}"
        except (Exception, SystemExit) as error:
            return f"{self.name}: the loader raised {loaders.explain(error)}"
        return None

    def _subject(self) -> Subject:
        node = self._node
        return Subject(node.target.name, node.nodeid, node.loader, node.build_function)


def prepare(config: pytest.Config) -> None:
    """Find the pyproject.toml of a run that measures."""
    config.stash[DECLARED] = Declared(targets.find_file(config.invocation_params.dir, config.rootpath))


def list_all_targets(config: pytest.Config, options: Options) -> list[str]:
    """The declared targets and the ad hoc ones in lines of text: what a run would measure, and nothing is imported."""
    file = targets.find_file(config.invocation_params.dir, config.rootpath)
    declared = [] if file is None else targets.read_file(file, file.name)
    roots = targets.import_roots(config.invocation_params.dir, config.rootpath)
    ad_hoc = [targets.ad_hoc(given, [target.name for target in declared], roots) for given in options.targets]
    none = f"no loaders are declared: no pyproject.toml with [{targets.TABLE}.targets] up to {config.rootpath}"
    misnamed = "" if file is not None else targets.misnamed_table(config.rootpath / "pyproject.toml")
    told = list(targets.list_targets([*declared, *ad_hoc], options.checks)) or [none]
    return [*told, misnamed] if misnamed else told


def refuse_unasked(config: pytest.Config) -> None:
    """Say what is missing where targets are named in a run that measures nothing; pytest would say "not found"."""
    file = targets.find_file(config.invocation_params.dir, config.rootpath)
    for argument in config.args:
        if file is not None and config.invocation_params.dir / argument.partition("::")[0] == file:
            told = f"{argument}: the loaders declared there are measured with --dataloader-bench"
            raise pytest.UsageError(printable(told))


def selects_targets(config: pytest.Config) -> bool:
    """True where the arguments of the run do not leave the declared targets out.

    They are left out where paths are named and none of them is, or contains, the file.
    """
    file = config.stash[DECLARED].file
    return file is not None and (config.args_source is not pytest.Config.ArgsSource.ARGS or _covers(config, file))


def _covers(config: pytest.Config, file: Path) -> bool:
    names = [argument.partition("::")[0] for argument in config.args]
    # Not Path.resolve: pytest names files by the path they were given by, symbolic links included.
    return any(file.is_relative_to(os.path.normpath(config.invocation_params.dir / name)) for name in names)


def complete_arguments(config: pytest.Config) -> None:
    """Add the declared targets where no path is named (``testpaths`` leaves them out), take ad hoc node ids away."""
    known = config.stash[DECLARED]
    if known.file is not None and selects_targets(config) and not _covers(config, known.file):
        config.args.append(str(known.file))
    names = {target.name for target in config.stash[BENCH].options.targets}
    chosen = {
        argument: tuple(parts[1:])
        for argument in config.args
        if (parts := argument.split("::"))[0] == AD_HOC and parts[1:2] and parts[1] in names
    }
    config.args[:] = [argument for argument in config.args if argument not in chosen]
    config.stash[DECLARED] = Declared(known.file, tuple(chosen.values()))


def announce(config: pytest.Config) -> str:
    """The header line of a run that measures: how long, and what."""
    options, file = config.stash[BENCH].options, config.stash[DECLARED].file
    names = [target.name for target in options.targets]
    if file is None:
        declared = config.rootpath / "pyproject.toml"
        misnamed = targets.misnamed_table(declared)
        none = f"no targets declared in {declared}" if declared.exists() else f"no pyproject.toml in {config.rootpath}"
        note = f"{none}: {misnamed}" if misnamed else "" if names else none
    elif selects_targets(config):
        names = [target.name for target in targets.read_file(file, file.name)] + names
        note = "" if names else f"no targets declared in {file}"
    else:
        note = f"the paths given leave {file.name} out"
    parts = (
        f"measuring, {options.seconds:g} s per check" if options.bench else f"tuning, {options.seconds:g} s per target",
        "inconclusive fails" if options.strict else "",
        f"targets: {', '.join(names)}" if names else "",
        _baselines(options),
        note,
    )
    return f"dataloader: {'; '.join(part for part in parts if part)}"


def _baselines(options: Options) -> str:
    path = options.baseline
    if path is None:
        return ""
    if options.update_baseline:
        return f"baselines: updating {path.name}"
    missing = "" if path.exists() else ", which does not exist: --dataloader-update-baseline makes it"
    return f"baselines: {path.name}{missing}"


def group_benches(items: Iterable[pytest.Item]) -> None:
    """Put tests that measure into one group for ``--dist loadgroup``, but for those that name a group."""
    fixtures = {f"dataloader_{check}" for check in NAMES}
    for item in items:
        if fixtures & set(getattr(item, "fixturenames", ())) and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(XDIST_GROUP))


def is_measured(nodeid: str) -> bool:
    """Whether a node id, as workers of pytest-xdist tell it, is of a target or ends with our group.

    A target that somebody gave another group to has its name at the end, and is left to that.
    """
    file, _, name = nodeid.partition("::")
    is_target = file == AD_HOC or file.rpartition("/")[2] == "pyproject.toml"
    return nodeid.endswith(f"@{XDIST_GROUP}") or (is_target and "@" not in name)
