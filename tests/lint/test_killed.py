"""A run that is killed outright, at every moment at which it changes the disk, damages nothing."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from dl_lint.cli import main
from dl_lint.engine.cache import FOLDER, Cache

if TYPE_CHECKING:
    from tests.lint.conftest import Project

FILES = 3

# Audit events of what changes the disk; an open counts if it may write.
CHANGES = {"os.rename", "os.remove", "os.chmod", "os.chown", "os.mkdir", "os.truncate"}


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
def test_a_fix_killed_at_any_moment_leaves_whole_files_and_the_next_run_mends_them(
    project: Project, faulty: str, mended: str
) -> None:
    names = [f"data{number}.py" for number in range(FILES)]
    project.lint("--no-cache")  # so that the forks need no imports
    moment = kills = 0
    while True:
        moment += 1
        project.write(dict.fromkeys(names, faulty))
        (project.root / names[0]).chmod(0o640)
        if moment % 2:  # every other one starts without a cache, and is killed while it writes that
            for record in (project.root / FOLDER).rglob("*.json"):
                record.unlink()
        was_killed = killed_at(moment, "--fix", "--jobs", "1")
        assert {project.read(name) for name in names} <= {faulty, mended}
        if not was_killed:
            if moment % 2:
                break
            continue
        kills += 1
        ran = project.lint("--fix")
        assert (ran.status, ran.err) == (0, "")
        assert [project.read(name) for name in names] == [mended] * FILES
        assert (project.root / names[0]).stat().st_mode & 0o777 == 0o640
        assert not [path.name for path in project.root.iterdir() if path.name.startswith(".dl-lint-")]
    print(f"{kills} kills")
    assert kills >= 15


def test_what_a_killed_run_left_in_the_cache_is_swept_out_in_time(project: Project, faulty: str) -> None:
    project.write({"data.py": faulty})
    project.lint()
    stray, recent = (project.root / FOLDER / "runs" / f"{name}.json.1.tmp" for name in ("old", "new"))
    for path in (stray, recent):
        path.write_bytes(b"half")
    os.utime(stray, (time.time() - 3600,) * 2)
    project.write({"data.py": faulty + "\n"})
    project.lint()
    assert (stray.exists(), recent.exists()) == (False, True)


def test_the_file_of_a_run_that_is_still_writing_is_left_alone(project: Project, faulty: str, mended: str) -> None:
    import fcntl

    project.write({"data.py": faulty, ".dl-lint-abc": "theirs", ".dl-lint-old": "nobody's"})
    with (project.root / ".dl-lint-abc").open() as theirs:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        project.lint("--fix")
    assert project.read("data.py") == mended
    assert sorted(path.name for path in project.root.glob(".dl-lint-*")) == [".dl-lint-abc"]


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
