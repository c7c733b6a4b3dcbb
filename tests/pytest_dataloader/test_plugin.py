"""Declared targets in real runs of pytest: verdicts, mistakes, reports; alone and under pytest-xdist."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import signal
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.checks import NAMES
from tests.pytest_dataloader.conftest import WITHOUT
from tests.variants import every, variants

if TYPE_CHECKING:
    from tests.pytest_dataloader.conftest import Project

ONLY = 'checks = ["throughput"]'
UNFIT = ("shards", "resume", "transfer")
"""Checks that a plain loader gives nothing to: it has no ranks and no state."""
MISTAKES = {
    "nowhere": "loader = \"proj.date:make\": proj (*proj?__init__.py) has no module 'date'; did you mean data[?]",
    "unnamed": "loader = \"proj.data:mke\": proj.data has no attribute 'mke'; did you mean make?",
    "raises": 'loader = "proj.data:raises": proj.data.raises() raised ValueError: no samples in data/train',
    "needs": 'loader = "proj.data:needs": proj.data.needs cannot be called without arguments*',
    "dataset": 'loader = "proj.data:dataset": expected * is proj.data.Zeros, which is a Dataset: wrap it*',
}
FAULTS = 'loader = "proj.data:make"\nmin_sample_per_second = 3\nmax_worker_growth = "32XB"\n' + ONLY


def declare_all(project: Project) -> None:
    project.declare(
        train='loader = "proj.data:make"\nmin_samples_per_second = 1\nmax_worker_growth = "32MB"',
        ready=f'loader = "proj.data:ready"\n{ONLY}',
        workers=f'loader = "proj.data:make_with_workers"\n{ONLY}\nmin_samples_per_second = 1',
        empty=f'loader = "proj.data:make_empty"\nmin_samples_per_second = 10\n{ONLY}',
        broken=f'loader = "proj.data:make_broken"\n{ONLY}',
        faults=FAULTS,
        **{name: f"{text.partition(':')[0]}:{text.split(':')[1]}\n{ONLY}" for name, text in MISTAKES.items()},
    )


@pytest.mark.parametrize(
    "mode", [pytest.param((), id="alone"), pytest.param(("-n2",), id="xdist", marks=pytest.mark.slow)]
)
def test_every_target_gets_its_verdict_and_a_mistake_hurts_no_other(project: Project, mode: tuple[str, ...]) -> None:
    declare_all(project)
    done = project.bench("-p", "no:cacheprovider", *mode)
    done.assert_outcomes(passed=len(NAMES) - len(UNFIT) + 2, skipped=len(UNFIT), failed=2, errors=len(MISTAKES) + 1)
    output = done.stdout.str()
    assert "INTERNALERROR" not in output + done.stderr.str()
    assert "\x1b" not in output + done.stderr.str()  # no progress where nobody watches
    assert "During handling" not in output

    at = "pyproject.toml: [[]tool.pytest-dataloader.targets."
    for name, text in MISTAKES.items():
        done.stdout.fnmatch_lines([f"_* ERROR at setup of {name}::throughput _*", f"{at}{name}] {text}"])
    done.stdout.fnmatch_lines([f"{at}faults] min_sample_per_second = 3: unknown key; did you mean min_samples_*"])
    done.stdout.fnmatch_lines([f'{at}faults] max_worker_growth = "32XB": expected a size*'])
    done.stdout.fnmatch_lines(["_* empty::throughput _*", "throughput: the loader gave no batch*"])
    done.stdout.fnmatch_lines(
        ["throughput: the loader raised KeyError: 'sample 0 is broken'", '  File "*data.py", line *__getitem__']
    )
    assert "pytest_dataloader/" not in output.replace(str(project.path), "")  # no frame of ours

    check_reports(project)


def check_reports(project: Project) -> None:
    loaders, cases = project.loaders, project.cases
    train = loaders["train"]
    assert (train["nodeid"], set(train["checks"])) == ("pyproject.toml::train", set(NAMES))
    assert train["description"] == "DataLoader(Zeros, batch_size=16, num_workers=0)"
    throughput = train["checks"]["throughput"]
    assert (throughput["verdict"], throughput["limits"]) == ("passed", {"min_samples_per_second": 1.0})
    low, high = throughput["evidence"]["interval"]
    assert {"cpu_ms_per_sample", "seconds_to_first_batch"} <= set(throughput["evidence"])
    assert low <= throughput["evidence"]["samples_per_second"] <= high
    assert train["checks"]["memory"]["limits"] == {"max_worker_growth": 32_000_000}
    assert loaders["empty"]["checks"]["throughput"]["verdict"] == "failed"
    for name in ("broken", "faults", *MISTAKES):
        assert loaders[name]["checks"]["throughput"]["verdict"] == "failed"

    failure = cases["pyproject.toml.empty::throughput"].find("failure")
    assert failure is not None
    assert "the loader gave no batch" in str(failure.get("message"))
    assert cases["pyproject.toml.raises::throughput"].find("error") is not None
    carried = cases["pyproject.toml.train::throughput"].find("properties/property[@name='dataloader.throughput']")
    assert carried is not None
    assert json.loads(str(carried.get("value")))["evidence"] == throughput["evidence"]


def test_the_summary_has_a_block_for_each_loader_and_only_where_something_was_measured(project: Project) -> None:
    project.declare(
        train='loader = "proj.data:make"\nmin_samples_per_second = 1',
        empty=f'loader = "proj.data:make_empty"\nmin_samples_per_second = 10\n{ONLY}',
    )
    done = project.bench("-k", "throughput", "-x")
    done.stdout.fnmatch_lines(
        [
            "=* dataloader =*",
            "empty  throughput failed",
            "train  throughput passed · * samples/s",
            "1 failed, 1 passed · -v shows all checks",
            f"-* dataloader evidence: {project.path}/seen.json -*",
        ]
    )
    quiet = project.bench("-k", "nothing", "-q")
    assert "dataloader" not in quiet.stdout.str()
    assert project.loaders == {}  # the report is of this run


@pytest.mark.parametrize(("encoding", "mark"), variants({"ascii": ("ascii", "-"), "utf-8": ("utf-8", "━")}, ["utf-8"]))
def test_a_floor_is_drawn_in_what_the_output_can_show_and_without_colour(
    project: Project, monkeypatch: pytest.MonkeyPatch, encoding: str, mark: str
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    monkeypatch.setenv("NO_COLOR", "1")
    project.declare(train=f'loader = "proj.data:make"\nmin_samples_per_second = 1\n{ONLY}')
    output = project.bench("--color=auto", "-v").stdout.str()
    [drawn] = [line.strip() for line in output.splitlines() if "1 samples/s" in line and "threshold" in line]
    assert drawn.endswith(10 * mark)
    assert drawn.isascii() == (encoding == "ascii")
    assert "\x1b" not in output


def test_what_makes_a_loader_finds_no_arguments_of_pytest(project: Project) -> None:
    with project.path.joinpath("proj", "data.py").open("a") as file:
        file.write("\ndef make_by_arguments():\n    import argparse\n    argparse.ArgumentParser().parse_args()\n")
        file.write("    return make()\n")
    project.declare(train='loader = "proj.data:make_by_arguments"\nchecks = ["fds"]')
    assert project.run("--dataloader-bench", "--dataloader-quick", "pyproject.toml").ret == 0


def test_checks_of_a_target_share_one_loader_which_goes_after_the_last(project: Project) -> None:
    project.path.joinpath("conftest.py").write_text(
        "import gc, weakref\nimport proj.data\nmade = []\n"
        "def make():\n    loader = proj.data.make()\n    made.append(weakref.ref(loader))\n    return loader\n"
        "proj.data.make_noted = make\n"
        "def pytest_runtest_logfinish(nodeid):\n    gc.collect()\n"
        "    print('after', nodeid, 'made', len(made), 'alive', sum(each() is not None for each in made))\n"
    )
    first, last = "workers", "resume"  # in this order, whichever is named first
    keys = f'loader = "proj.data:make_noted"\nchecks = ["{last}", "throughput", "{first}"]'
    project.declare(one=keys, two=keys)
    done = project.bench("-s", "--dataloader-seconds=0.1")
    done.assert_outcomes(passed=4, skipped=2)
    done.stdout.fnmatch_lines(
        [
            f"*after pyproject.toml::one::{first} made 1 alive 1",
            f"*after pyproject.toml::one::{last} made 1 alive 0",
            f"*after pyproject.toml::two::{first} made 2 alive 1",
            f"*after pyproject.toml::two::{last} made 2 alive 0",
        ]
    )


LOG = """
import os, time
from torch.utils.data import DataLoader
from proj.data import Zeros

class Logged(Zeros):
    def __getitem__(self, index):
        with open("log.txt", "a") as file:
            file.write(f"{os.getpid()}\\n")
        time.sleep(0.001)
        return super().__getitem__(index)

def make(): return DataLoader(Logged(), batch_size=16)
"""


@pytest.mark.slow
def test_workers_of_xdist_measure_one_after_the_other(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(project.path))
    project.path.joinpath("proj", "logged.py").write_text(LOG)
    keys = f'loader = "proj.logged:make"\n{ONLY}\nmin_samples_per_second = 1000000'
    project.declare(one=keys, two=keys)
    # Each of the two processes measures both targets.
    done = project.bench("--dist=each", "--tx=2*popen")
    assert "INTERNALERROR" not in done.stdout.str()
    writers = project.path.joinpath("log.txt").read_text().split()
    turns = 1 + sum(one != other for one, other in itertools.pairwise(writers))
    assert len(set(writers)) == 2
    assert turns <= 4
    assert not list(project.path.glob("pytest-dataloader-*.lock"))


INTERRUPTED = """
import time
from pathlib import Path
from proj.data import make
def test_first(dataloader_throughput):
    dataloader_throughput(make())
def test_second(dataloader_throughput):
    dataloader_throughput(make())
    Path("reached").touch()
    time.sleep(120)
"""


def test_a_run_interrupted_before_it_begins_writes_that_it_saw_nothing(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def pytest_report_header():\n    raise KeyboardInterrupt")
    done = pytester.runpytest_subprocess(*WITHOUT, "--dataloader-bench", "--dataloader-json=seen.json")
    assert done.ret == pytest.ExitCode.INTERRUPTED
    assert json.loads((pytester.path / "seen.json").read_text())["loaders"] == []


ENDED_AS_IT_ENDS = """
import os, signal, pytest

@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish():
    os.kill(os.getpid(), signal.SIGTERM)
    return (yield)
"""
ENDED_AFTER_ITS_TESTS = """
import os, signal, pytest

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop():
    done = yield
    os.kill(os.getpid(), signal.SIGINT)
    return done
"""


@pytest.mark.parametrize("conftest", [ENDED_AS_IT_ENDS, ENDED_AFTER_ITS_TESTS])
def test_a_signal_that_comes_as_the_run_ends_changes_nothing(pytester: pytest.Pytester, conftest: str) -> None:
    pytester.makeconftest(conftest)
    pytester.makepyfile("def test_it(): pass")
    done = pytester.runpytest_subprocess(*WITHOUT, "--dataloader-bench", "--dataloader-json=seen.json")
    assert done.ret == pytest.ExitCode.OK
    assert json.loads((pytester.path / "seen.json").read_text())["loaders"] == []


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_writes_what_it_has_seen(project: Project, by: signal.Signals) -> None:
    project.path.joinpath("test_it.py").write_text(INTERRUPTED)
    status, output = project.interrupt(
        "reached",
        "--dataloader-bench",
        "--dataloader-seconds=0.1",
        "--dataloader-json=deep/er/seen.json",
        "--dataloader-markdown=page.md",
        by=by,
    )
    assert status == pytest.ExitCode.INTERRUPTED
    assert ("SIGTERM ended the run" in output) == (by == signal.SIGTERM)
    assert "dataloader evidence" in output
    seen = json.loads(project.path.joinpath("deep", "er", "seen.json").read_text())
    assert [loader["id"] for loader in seen["loaders"]] == ["test_it.py::test_first", "test_it.py::test_second"]
    assert seen["loaders"][1]["checks"]["throughput"]["verdict"] == "passed"
    assert "<b>test_it.py::test_second</b>" in project.path.joinpath("page.md").read_text()
    assert seen["environment"]["torch"]


STAGES = 'checks = ["stages", "order"]'


@pytest.mark.parametrize(
    "mode", [pytest.param((), id="alone"), pytest.param(("-n2",), id="xdist", marks=pytest.mark.slow)]
)
def test_the_timelines_of_all_loaders_are_one_trace(project: Project, mode: tuple[str, ...]) -> None:
    project.declare(
        train=f'loader = "proj.data:make_with_workers"\n{STAGES}',
        val=f'loader = "proj.data:make"\n{STAGES}\nstep_ms = 1',
        empty=f'loader = "proj.data:make_empty"\n{STAGES}',
    )
    done = project.bench("--dataloader-trace=deep/er/ours.json.gz", "-p", "no:cacheprovider", "-v", *mode)
    names = "[tv]*, [tv]*" if mode else "train, val"  # by when they were measured
    done.stdout.fnmatch_lines([f"-* dataloader timeline of {names}: {project.path}/deep/er/ours.json.gz -*"])
    assert "index_ms" not in done.stdout.str()
    content = gzip.decompress(project.path.joinpath("deep", "er", "ours.json.gz").read_bytes())
    events = json.loads(content)["traceEvents"]
    processes = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert processes.count("main process") in (1, 1 + len(mode))
    assert {"train: worker 0", "train: worker 1"} <= set(processes)
    assert {event["name"] for event in events if event["ph"] == "X"} >= {"load", "send", "receive", "wait", "step"}
    held = {name: seen["checks"]["stages"]["evidence"] for name, seen in project.loaders.items()}
    assert len(held["val"]["timeline"]["batches"]) >= min(100, held["val"]["batches"]) > 0
    assert held["empty"].get("timeline") is None


@pytest.mark.parametrize("mode", variants({"alone": ((),), "xdist": (("-n2",),)}, ["alone"]))
def test_a_run_writes_its_page_with_a_timeline_of_each_loader(project: Project, mode: tuple[str, ...]) -> None:
    project.declare(train=f'loader = "proj.data:make_with_workers"\n{STAGES}', val='loader = "proj.data:make"\n' + ONLY)
    done = project.bench("--dataloader-html=deep/page.html", "-p", "no:cacheprovider", *mode)
    done.stdout.fnmatch_lines([f"-* dataloader page: {project.path}/deep/page.html -*"])
    text = project.path.joinpath("deep", "page.html").read_text()
    assert text.count('<details class="loader"') == 2
    packed = text.partition('id="evidence">')[2].partition("<")[0]
    told = gzip.decompress(base64.b64decode(packed)).decode()
    assert json.loads(told) == json.loads(project.path.joinpath("seen.json").read_text())


def test_a_page_needs_no_measuring_and_an_interrupted_run_writes_it(project: Project) -> None:
    project.path.joinpath("test_it.py").write_text(INTERRUPTED)
    status, output = project.interrupt(
        "reached", "--dataloader-bench", "--dataloader-seconds=0.1", "--dataloader-html=page.html"
    )
    assert (status, "dataloader page: " in output) == (pytest.ExitCode.INTERRUPTED, True)
    assert "test_it.py::test_second" in project.path.joinpath("page.html").read_text()


def test_a_trace_without_a_loader_is_empty_and_says_so(project: Project) -> None:
    project.declare(train=f'loader = "proj.data:make"\n{ONLY}')
    project.path.joinpath("ours.json").write_text("the last one")
    done = project.bench("--dataloader-trace=ours.json")
    done.stdout.fnmatch_lines(["-* dataloader timeline is empty: the stages check saw no batch: * -*"])
    assert json.loads(project.path.joinpath("ours.json").read_text())["traceEvents"] == []


def test_an_interrupted_run_writes_the_timelines_that_it_has(project: Project) -> None:
    project.path.joinpath("test_it.py").write_text(INTERRUPTED.replace("dataloader_throughput", "dataloader_stages"))
    status, output = project.interrupt(
        "reached", "--dataloader-bench", "--dataloader-seconds=0.1", "--dataloader-trace=ours.json"
    )
    assert status == pytest.ExitCode.INTERRUPTED
    assert "dataloader timeline of test_it.py::test_first, test_it.py::test_second" in output
    events = json.loads(project.path.joinpath("ours.json").read_text())["traceEvents"]
    assert {event["name"] for event in events if event["ph"] == "X"} == {"load", "collate", "wait"}


def test_a_trace_needs_measuring_on_the_command_line_and_is_left_alone_without(pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_subprocess(*WITHOUT, "--dataloader-trace=ours.json")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: --dataloader-trace needs --dataloader-bench*"])
    pytester.path.joinpath("ours.json").write_text("the last one")
    pytester.makeini("[pytest]\ndataloader_trace = ours.json\n")
    pytester.makepyfile("def test_it(): pass")
    pytester.runpytest_subprocess(*WITHOUT).assert_outcomes(passed=1)
    assert pytester.path.joinpath("ours.json").read_text() == "the last one"


def test_a_report_that_cannot_be_written_is_one_line_and_the_run_is_not_green(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("from pathlib import Path\ndef test_it(): Path('taken').touch()")
    done = pytester.runpytest_subprocess(
        *WITHOUT,
        "--dataloader-bench",
        *(f"--dataloader-{name}=taken/{name}" for name in ("json", "html", "trace", "markdown")),
    )
    for name in ("json", "html", "trace", "markdown"):
        done.stdout.fnmatch_lines([f"--dataloader-{name}: cannot write */{name}: *"])
    done.assert_outcomes(passed=1)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "Traceback" not in done.stdout.str() + done.stderr.str()


def test_collecting_only_leaves_the_last_report_alone(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("seen.json").write_text("the last one")
    pytester.runpytest_subprocess(*WITHOUT, "--collect-only", "--dataloader-json=seen.json")
    assert pytester.path.joinpath("seen.json").read_text() == "the last one"


@pytest.mark.parametrize("plugins", every([("-p", "no:terminal"), ("-p", "no:capture"), ("-p", "no:junitxml")], step=3))
def test_it_runs_without_parts_of_pytest(pytester: pytest.Pytester, plugins: tuple[str, ...]) -> None:
    pytester.makepyfile("def test_it(): pass")
    done = pytester.runpytest_subprocess(*WITHOUT, "--dataloader-bench", "--dataloader-json=seen.json", *plugins)
    assert done.ret == pytest.ExitCode.OK
    assert json.loads(pytester.path.joinpath("seen.json").read_text())["loaders"] == []


def test_a_loader_that_hangs_is_named_at_once_and_waited_for_once(project: Project) -> None:
    with project.path.joinpath("proj", "data.py").open("a") as file:
        file.write(
            "\nimport time\n"
            "class Hangs(Zeros):\n"
            "    def __getitem__(self, index):\n"
            "        return time.sleep(10**6) if index == 50 else super().__getitem__(index)\n"
            "def make_hanging():\n"
            "    return DataLoader(Hangs(), batch_size=16, num_workers=1)\n"
        )
    project.declare(train='loader = "proj.data:make_hanging"')
    project.bench()
    found = project.loaders["train"]["checks"]
    assert {name: check["verdict"] for name, check in found.items()} == {
        name: "failed" if name == "workers" else "not_measured" for name in NAMES
    }
    assert (found["workers"]["evidence"]["fault"], 50 in found["workers"]["evidence"]["sample_indices"]) == (
        "hang",
        True,
    )
    assert {check["reason"] for name, check in found.items() if name != "workers"} == {"the loader hangs: see workers"}


RAGGED = """
class Ragged(Zeros):
    def __getitem__(self, index):
        return torch.zeros(1 + index % 7)
def make_ragged():
    return DataLoader(Ragged(), batch_size=16, num_workers=2)
def make_nothing():
    return DataLoader(Zeros(0), batch_size=16, num_workers=2)
"""


@pytest.mark.parametrize(("loader", "why"), [("make_ragged", "raises"), ("make_nothing", "gives nothing")])
def test_one_cause_is_one_failure(project: Project, loader: str, why: str) -> None:
    with project.path.joinpath("proj", "data.py").open("a") as file:
        file.write(RAGGED)
    project.declare(train=f'loader = "proj.data:{loader}"\nmax_worker_growth = "1MB"\nmin_samples_per_second = 1')
    done = project.bench("--dataloader-strict")
    done.assert_outcomes(failed=1, skipped=len(NAMES) - 1)
    found = project.loaders["train"]["checks"]
    assert {check["reason"] for name, check in found.items() if name != "workers"} == {f"the loader {why}: see workers"}
    others = ", ".join(name for name in NAMES if name != "workers")
    assert f"not measured: {others}: the loader {why}: see workers" in " ".join(done.stdout.str().split())
    assert "pytest_dataloader/" not in done.stdout.str().replace(str(project.path), "")


def test_what_was_not_seen_fails_when_strict_and_a_check_that_does_not_apply_does_not(project: Project) -> None:
    keys = 'checks = ["memory", "fds", "order", "resume"]'
    project.declare(train=f'loader = "proj.data:make_empty"\n{keys}')
    project.bench().assert_outcomes(skipped=4)
    assert {check["verdict"] for check in project.loaders["train"]["checks"].values()} == {"not_measured"}
    done = project.bench("--dataloader-strict")
    done.assert_outcomes(failed=1, skipped=3)
    done.stdout.fnmatch_lines(
        ["fds: not measured: the loader gave no batch*", "(--dataloader-strict: what was not seen fails)"]
    )


def test_a_target_of_which_nothing_was_measured_has_a_block_with_the_reasons(project: Project) -> None:
    project.declare(
        train='loader = "proj.data:make_empty"\nchecks = ["memory", "fds"]',
        ranks='loader = "proj.data:make"\nchecks = ["shards", "resume"]',
    )
    done = project.bench()
    done.assert_outcomes(skipped=4)
    done.stdout.fnmatch_lines(
        [
            "train  2 not measured",
            "  fds not measured: the loader gave no batch: its epoch is empty",
            "  not measured: memory: the loader gives nothing: see fds",
            "ranks  2 not measured",
            "  not measured: shards: no sharding by rank*",
            "  not measured: resume: not resumable: DataLoader has no state_dict *",
        ],
        consecutive=False,
    )
    done = project.bench("--dataloader-quick", "pyproject.toml::ranks")
    assert done.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    done.stdout.fnmatch_lines(["dataloader: ranks: --dataloader-quick leaves out shards, resume, as nothing in *"])
    project.bench("--dataloader-quick", "--dataloader-checks=shards").assert_outcomes(skipped=1)  # as it was asked for


def test_a_fault_of_ours_is_one_line_and_no_failure_of_the_loader(project: Project) -> None:
    project.path.joinpath("conftest.py").write_text(
        "from pytest_dataloader.probe.samples import provenance\n"
        "provenance._WAIT_SECONDS = None\n"  # as if we had got it wrong
    )
    project.declare(train='loader = "proj.data:make"\nchecks = ["order"]')
    done = project.bench()
    done.assert_outcomes(skipped=1)
    reason = project.loaders["train"]["checks"]["order"]["reason"]
    assert reason.startswith("a fault of pytest-dataloader, not of the loader: TypeError: ")
    assert "Traceback" not in done.stdout.str()
    project.bench("--dataloader-strict").assert_outcomes(failed=1)


def test_long_reasons_are_wrapped_where_columns_are_asked_for(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.declare(train=f'loader = "proj.data:make"\n{ONLY}')
    monkeypatch.setenv("COLUMNS", "60")
    lines = project.bench("-v").outlines
    below = lines[next(at for at, line in enumerate(lines) if line.startswith("train ")) + 1 :]
    block = list(itertools.takewhile(lambda line: line.startswith(" "), below))
    assert len(block) > 2
    assert all(len(line) <= 60 for line in block)


def test_the_report_is_written_though_a_loader_has_used_up_all_descriptors(project: Project) -> None:
    with project.path.joinpath("proj", "data.py").open("a") as file:
        file.write(
            "\nimport os, resource\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))\n"
            "class Leaks(Zeros):\n"
            "    def __getitem__(self, index):\n"
            "        os.open(os.devnull, os.O_RDONLY)\n"
            "        return super().__getitem__(index)\n"
            "def make_leaking():\n"
            "    return DataLoader(Leaks(), batch_size=4)\n"
        )
    project.declare(train='loader = "proj.data:make_leaking"\nchecks = ["throughput"]')
    project.bench()
    assert "Too many open files" in project.loaders["train"]["checks"]["throughput"]["reason"]


def test_a_quick_run_collects_what_applies_and_starts_workers_by_one_method(project: Project) -> None:
    data = project.path.joinpath("proj", "data.py")
    data.write_text(
        data.read_text()
        + "\ndef of_rank(rank=0, world_size=1):\n"
        + "    ranks = torch.utils.data.distributed.DistributedSampler(dataset, world_size, rank)\n"
        + "    return DataLoader(dataset, batch_size=16, sampler=ranks)\n"
        + "\ndef unpicklable():\n"
        + "    return DataLoader(dataset, batch_size=16, num_workers=1, collate_fn=lambda samples: samples)\n"
    )
    project.declare(
        plain='loader = "proj.data:make_with_workers"',
        ranks='loader = "proj.data:of_rank"\nchecks = ["shards", "resume"]',
        asked='loader = "proj.data:make"\nchecks = ["shards"]\nworld_size = 2',
        fixed='loader = "proj.data:unpicklable"\nchecks = ["portability"]',
        raises='loader = "proj.data:raises"\nchecks = ["resume"]',
    )
    done = project.bench("--dataloader-quick", "-p", "no:cacheprovider")
    loaders = project.loaders
    assert set(loaders["plain"]["checks"]) == set(NAMES) - set(UNFIT)
    timed = ("throughput", "stages")  # of which half a second on a busy machine may say nothing
    verdicts = {name: each["verdict"] for name, each in loaders["plain"]["checks"].items()}
    assert {name for name, verdict in verdicts.items() if verdict != "passed"} <= set(timed), verdicts
    assert "failed" not in verdicts.values()
    portability = loaders["plain"]["checks"]["portability"]
    assert [start["method"] for start in portability["evidence"]["starts"]] == ["fork"]
    assert "picklable for forkserver and spawn" in portability["reason"]

    assert set(loaders["ranks"]["checks"]) == {"shards"}
    assert [world["world_size"] for world in loaders["ranks"]["checks"]["shards"]["evidence"]["worlds"]] == [2]
    assert loaders["asked"]["checks"]["shards"]["verdict"] == "failed"

    portability = loaders["fixed"]["checks"]["portability"]
    assert portability["verdict"] == "failed"
    assert portability["reason"].startswith("no batch under forkserver: collate_fn is a lambda, which does not pickle")
    done.stdout.fnmatch_lines(["_* ERROR at setup of raises::resume _*"])
