"""Which modules are a library's: a project's own module may have the name of one."""

from __future__ import annotations

import importlib
import math
import sys
import types
from typing import TYPE_CHECKING, Any

import pytest
from torch.utils.data import DataLoader

from pytest_dataloader.checks import Setting, memory
from pytest_dataloader.probe.loader.referents import is_foreign, user_globals

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OWN = """
from torch.utils.data import Dataset

SEEN = []

class Rows(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, at):
        SEEN.append(bytes(4000))
        return at
"""


@pytest.fixture
def module_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Any]:
    """Imports a module called ``datasets`` from a folder."""

    def imported(folder: Path) -> Any:
        folder.mkdir()
        (folder / "datasets.py").write_text(OWN, encoding="utf-8")
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setitem(sys.modules, "datasets", None)  # what is there now comes back, or nothing
        del sys.modules["datasets"]
        return importlib.import_module("datasets")

    return imported


def test_a_library_is_foreign_where_it_is_installed(module_in: Callable[[Path], Any], tmp_path: Path) -> None:
    assert is_foreign("torch.utils.data")
    assert is_foreign("json.decoder")
    assert not is_foreign("__main__")
    module_in(tmp_path / "site-packages")
    assert is_foreign("datasets")
    assert is_foreign("datasets.table")
    module_in(tmp_path / "src")
    assert not is_foreign("datasets")
    assert not is_foreign("datasets.table")


@pytest.mark.skipif(sys.platform != "linux", reason="forked readers")
def test_a_projects_own_datasets_are_looked_into(module_in: Callable[[Path], Any], tmp_path: Path) -> None:
    own = module_in(tmp_path / "src")
    loader = DataLoader(own.Rows(), batch_size=16, num_workers=2, multiprocessing_context="fork")
    verdict = memory.judge(memory.measure(loader, setting=Setting()))
    assert verdict.outcome == "failed"
    assert "datasets.SEEN" in verdict.reason


def test_what_a_function_names_in_another_module_of_the_users_is_found() -> None:
    store = types.ModuleType("store_of_rows")
    exec("import functools, math\n@functools.lru_cache\ndef read(at): return at\nunnamed = []\n", vars(store))
    names: dict[str, Any] = {"store_of_rows": store, "math": math}
    exec("def get(at): return store_of_rows.read(at) + math.pi + other", names)
    names["other"] = 3
    names["get"].__module__ = "rows"
    assert dict(user_globals(names["get"])) == {"store_of_rows.read": store.read, "rows.other": 3}
