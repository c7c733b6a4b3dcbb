"""Reading what torch makes of a worker's exception."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import torch
from torch._utils import ExceptionWrapper

from pytest_dataloader.probe.internals import worker_errors


class Needy(Exception):
    def __init__(self, code: int, place: str) -> None:
        super().__init__(f"code {code} at {place}")


def carried(error: Exception) -> BaseException:
    """An exception as torch raises it here, after a worker's."""
    try:
        try:
            raise error
        except Exception:
            ExceptionWrapper(where="in DataLoader worker process 3").reraise()  # type: ignore[no-untyped-call]
    except BaseException as again:
        return again
    raise AssertionError


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("bad"), "ValueError: bad"),
        (ValueError("bad\nin two lines"), "ValueError: bad"),
        (KeyError("bad\nkey"), "KeyError: 'bad\\nkey'"),
        (Needy(7, "x"), f"{__name__}.Needy: code 7 at x"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"), "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff"),
        (StopIteration(), "StopIteration"),
        (RuntimeError("Caught ValueError in DataLoader worker process 1.\nOriginal x"), "RuntimeError: Caught"),
        (OSError(28, "No space left on device"), "OSError: [Errno 28] No space left on device"),
    ],
)
def test_every_shape_of_a_workers_exception_is_read(error: Exception, told: str) -> None:
    found = worker_errors.caught(carried(error))
    assert found is not None
    worker, exception, frames = found
    assert worker == 3
    assert exception.startswith(told)
    assert any("test_worker_errors.py" in frame for frame in frames)


def test_an_exception_of_this_process_is_none_of_a_workers() -> None:
    assert worker_errors.caught(RuntimeError("DataLoader worker (pid 7) is killed by signal: Killed.")) is None
    assert worker_errors.caught(ConnectionResetError(104, "Connection reset by peer")) is None


def test_a_stack_begins_below_torchs_own_loop() -> None:
    torch_data = Path(torch.utils.data.__file__).parent
    written = (
        f'File "{threading.__file__}", line 320 in wait',
        'File "/proj/multiprocessing/pytest_dataloader/data.py", line 7 in collate',
        f'File "{torch_data}/_utils/fetch.py", line 55 in fetch',
        f'File "{torch_data}/_utils/worker.py", line 349 in _worker_loop',
        'File "/proj/train.py", line 3 in <module>',
    )
    assert worker_errors.stack_of(written) == (
        'File "/proj/multiprocessing/pytest_dataloader/data.py", line 7 in collate',
    )
    assert worker_errors.stack_of(()) == ()
