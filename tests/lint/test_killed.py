"""A run that is killed outright, at every moment at which it changes the disk, damages nothing."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from dl_lint.cli import main
from dl_lint.engine.cache import Cache
from dl_lint.source.disk import digest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lint.conftest import Project

FILES = 3

# Audit events of what changes the disk; an open counts if it may write. The exchange of two names is looked up first.
CHANGES = {"os.rename", "os.remove", "os.chmod", "os.chown", "os.mkdir", "os.truncate", "ctypes.dlsym"}


def killed_at(moment: int, *arguments: str) -> bool:
    """Run the command in a fork that kills itself before its change number ``moment``; whether it came to that."""
    pid = os.fork()
    if pid == 0:
        left = [moment]

        def hook(event: str, details: tuple[Any, ...]) -> None:
            if event in CHANGES or (event == "open" and isinstance(details[2], int) and details[2] & 3):
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.addaudithook(hook)
        os._exit(main(arguments))
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


@pytest.mark.slow
@pytest.mark.parametrize(("options", "fewest"), [(["--fix"], 15), (["--exit-zero"], 3)], ids=["fix", "cache"])
def test_a_run_killed_at_any_moment_leaves_whole_files_and_the_next_one_mends_them(
    project: Project, cache_folder: Path, faulty: str, mended: str, options: list[str], fewest: int
) -> None:
    names = [f"data{number}.py" for number in range(FILES)]
    project.lint("--no-cache")  # so that the forks need no imports
    moment = 0
    while True:
        moment += 1
        project.write(dict.fromkeys(names, faulty))
        (project.root / names[0]).chmod(0o640)
        for record in cache_folder.rglob("*.json"):
            record.unlink()
        if not killed_at(moment, *options):
            break
        assert {project.read(name) for name in names} <= {faulty, mended}
        ran = project.lint("--fix")
        assert (ran.status, ran.err) == (0, "")
        assert [project.read(name) for name in names] == [mended] * FILES
        assert (project.root / names[0]).stat().st_mode & 0o777 == 0o640
        assert not [path.name for path in project.root.iterdir() if path.name.startswith(".dl-lint-")]
    assert moment > fewest


def test_what_a_killed_run_left_in_the_cache_is_swept_out_in_time(
    project: Project, cache_folder: Path, faulty: str
) -> None:
    project.write({"data.py": faulty})
    project.lint()
    stray, recent = (cache_folder / "runs" / f"{name}.json.1.tmp" for name in ("old", "new"))
    for path in (stray, recent):
        path.write_bytes(b"half")
    os.utime(stray, (time.time() - 3600,) * 2)
    project.write({"data.py": faulty + "\n"})
    project.lint()
    assert (stray.exists(), recent.exists()) == (False, True)


def test_only_what_a_killed_run_left_of_this_fix_is_swept_out(project: Project, faulty: str, mended: str) -> None:
    import fcntl

    target = project.root / "data.py"
    project.write({"data.py": faulty, ".dl-lint-notes.md": "theirs", ".dl-lint-baseline.json": "theirs"})
    prefix = f".dl-lint-{digest(str(target), faulty.encode())}-"
    project.write({f"{prefix}1.tmp": "half", f"{prefix}2.tmp": "at work"})
    with (project.root / f"{prefix}2.tmp").open() as at_work:
        fcntl.flock(at_work, fcntl.LOCK_EX)
        project.lint("--fix")
    assert project.read("data.py") == mended
    left = [".dl-lint-baseline.json", f"{prefix}2.tmp", ".dl-lint-notes.md"]
    assert sorted(path.name for path in project.root.glob(".dl-lint-*")) == sorted(left)


@pytest.mark.slow
@pytest.mark.parametrize("size_bytes", [100_000_000])
def test_a_hundred_megabytes_of_generated_code_take_bounded_time_and_memory(
    project: Project, faulty: str, size_bytes: int
) -> None:
    line = b"loader = DataLoader(torch.zeros(1), num_workers=2)\n"
    project.write({"generated.py": line * (size_bytes // len(line)), "data.py": faulty})
    code = (
        "import resource, sys; from dl_lint.cli import main; status = main(['--output-format', 'concise']);"
        "used = resource.getrusage(resource.RUSAGE_SELF);"
        # ru_maxrss would count what the process that started this one held.
        "peak = next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM'));"
        "print(peak // 1024, used.ru_utime + used.ru_stime); sys.exit(status)"
    )
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], cwd=project.root, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr == "dl-lint: generated.py: not analysed: more than 8 MB\n"
    assert "data.py:5:64: DL209" in done.stdout
    megabytes, seconds = done.stdout.splitlines()[-1].split()
    assert int(megabytes) < 400  # the file, and what any run takes
    assert float(seconds) < 20


def test_the_cache_survives_a_kill_between_its_two_steps(project: Project) -> None:
    pid = os.fork()
    if pid == 0:
        os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        Cache(str(project.root)).write("runs", "key", {"value": 1})
        os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    cache = Cache(str(project.root))
    assert cache.read("runs", "key") is None
    cache.write("runs", "key", {"value": 2})
    assert cache.read("runs", "key") == {"value": 2}
