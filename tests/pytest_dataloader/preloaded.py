"""Runs of Python in processes of their own that find torch imported: a server imports it once and forks for each run.

Starting Python with pytest and torch takes 2 s of CPU, more than most of these runs take for themselves. A fork is a
process like any other: it has its own standard streams, folder, environment, ``__main__`` and exit. What a test starts
to see how Python begins or what is imported when has a Python of its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest_dataloader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MODULES = ("torch.utils.data", "numpy", "psutil", "pytest", "_pytest.pytester", "_pytest.junitxml")
"""No other plugin of pytest, whose asserts are rewritten as it is imported."""


class Run:
    """A process that the server started, as ``subprocess.Popen`` has one."""

    stdin = None

    def __init__(self, answers: socket.socket) -> None:
        self._answers = answers
        self.pid = int(answers.recv(100))

    def wait(self, timeout: float | None = None) -> int:
        self._answers.settimeout(timeout)
        try:
            return int(self._answers.recv(100))
        except TimeoutError as error:
            raise subprocess.TimeoutExpired("python", timeout or 0) from error
        finally:
            self._answers.settimeout(None)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


class Server:
    """Starts with the first run and takes one run at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._environ = _settings_of_python()

    def popen(self, command: Sequence[str], **streams: Any) -> Any:
        """What ``Pytester.popen`` returns for ``python -mpytest ...``; any other command has a process of its own."""
        if list(command[:2]) != [sys.executable, "-mpytest"] or _settings_of_python() != self._environ:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=streams["stdout"], stderr=streams["stderr"]
            )
        return self.fork("-m", "pytest", *command[2:], stdout=streams["stdout"], stderr=streams["stderr"])

    def fork(
        self,
        *arguments: str,
        stdout: Any,
        stderr: Any,
        folder: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Run:
        """Start ``python SCRIPT ...`` or ``python -m MODULE ...`` and return while it runs."""
        assert _settings_of_python() == self._environ, "Python reads these once, as it starts"
        if self._process is None:
            self._start()
        request = {"arguments": arguments, "folder": str(folder or Path.cwd()), "environ": dict(env or os.environ)}
        socket.send_fds(self._socket, [json.dumps(request).encode()], [stdout.fileno(), stderr.fileno()])
        return Run(self._socket)

    def run(
        self, *arguments: str, folder: Path | None = None, env: Mapping[str, str] | None = None, timeout: float = 300
    ) -> subprocess.CompletedProcess[str]:
        """What ``subprocess.run`` returns for ``python SCRIPT ...`` or ``python -m MODULE ...``; output is captured."""
        with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            process = self.fork(*arguments, stdout=stdout, stderr=stderr, folder=folder, env=env)
            try:
                status = process.wait(timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise
            for stream in (stdout, stderr):
                stream.seek(0)
            return subprocess.CompletedProcess(arguments, status, stdout.read().decode(), stderr.read().decode())

    def _start(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, __file__, str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )

    def close(self) -> None:
        if self._process is not None:
            self._socket.shutdown(socket.SHUT_RDWR)  # workers that a test left to garbage have it open
            self._socket.close()
            self._process.wait(60)


def _settings_of_python() -> dict[str, str]:
    """What of the environment Python reads once, as it starts, and no fork is given anew."""
    given = ("PYTHONPATH", "PYTHONIOENCODING")
    return {key: value for key, value in os.environ.items() if key.startswith("PYTHON") and key not in given}


def serve(requests: socket.socket) -> dict[str, Any]:
    """Returns a request in the process that is to do it, and never in the server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        message, files, _, _ = socket.recv_fds(requests, 1 << 20, 2)
        if not message:
            sys.exit()
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for number, file in enumerate(files, 1):
                os.dup2(file, number)
                os.close(file)
            requests.close()
            return dict(json.loads(message))
        for file in files:
            os.close(file)
        with contextlib.suppress(BrokenPipeError):
            requests.send(str(pid).encode())
            requests.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())


def _ours() -> Iterator[str]:
    """All modules of the plugin: they are executed once and not for each run."""
    for module in pkgutil.walk_packages(pytest_dataloader.__path__, "pytest_dataloader."):
        if not module.name.endswith("__main__") and ".integrations." not in module.name:  # which import their trainers
            yield module.name


def _leave_libraries_alone() -> None:
    """Python ends as always, and then the process, without the destructors of libtorch.

    They write to most pages of its tables, which a fork has to copy for that: half of what a short run takes.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):
        libc.on_exit(ctypes.cast(libc._exit, ctypes.c_void_p), None)


def main() -> None:
    del sys.path[0]  # this folder
    for name in MODULES:
        importlib.import_module(name)
    for name in ("pytest_dataloader", *_ours()):
        module = importlib.import_module(name)
        module.__doc__ = f"{module.__doc__} PYTEST_DONT_REWRITE"  # pytest would warn that it cannot any more
    gc.freeze()  # no collection of a run looks at what was imported here
    request = serve(socket.socket(fileno=int(sys.argv[1])))
    _leave_libraries_alone()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environ"])
    first, *arguments = request["arguments"]
    is_module = first == "-m"
    home = request["folder"] if is_module else str(Path(first).resolve().parent)
    sys.path[:] = dict.fromkeys([home, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *sys.path])
    for stream in (sys.stdout, sys.stderr):
        assert isinstance(stream, io.TextIOWrapper)
        stream.reconfigure(encoding=os.environ.get("PYTHONIOENCODING", "utf-8"))
    if is_module:
        name, *sys.argv[1:] = arguments
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = [first, *arguments]
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    main()
