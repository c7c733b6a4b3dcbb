"""Libraries as data: stubs are read, kept, extended by users, and true of the libraries that are installed."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from dl_lint.flow import models
from dl_lint.flow.models import ANY, Mark, Models, StubError

if TYPE_CHECKING:
    from tests.lint.conftest import Project

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "models.md").read_text()
[STUB, CODE] = re.findall(r"^```python\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)
SETTINGS = '[tool.dl-lint]\nmodels = ["stubs/"]\n'


# --- the language --------------------------------------------------------------------------


def read(text: str, module: str = "acme") -> Models:
    return Models(models.read([(module, f"from dl_lint.models import *\n{text}")]))


def test_what_a_function_gives_stands_in_its_return_annotation() -> None:
    found = read("def track(items, label='') -> Iterates[items, OnDevice] | Reads: ...").get("acme.track")
    assert found.marks == (Mark("Iterates", ("items", "OnDevice")), Mark("Reads"))
    assert found.positions == ("items", "label")


def test_what_a_class_is_stands_among_its_bases_and_its_constructor_names_its_arguments() -> None:
    found = read("class Loader(TorchLoader, Other):\n  def __init__(self, data, workers: int = 0) -> None: ...")
    assert found.get("acme.Loader").marks == (Mark("TorchLoader"),)
    assert found.get("acme.Loader").positions == ("data", "workers")


def test_parameters_are_marked_with_their_defaults() -> None:
    found = read("class T:\n  def fit(self, model, data: Trains, *, epochs: Epochs = 10): ...").get("acme.T.fit")
    assert found.parameters == (("data", "Trains", ""), ("epochs", "Epochs", "10"))


def test_a_submodule_is_a_module_or_a_class_and_other_names_are_known() -> None:
    found = read("class io:\n  def read(path) -> Reads: ...\nfiles = acme.io\nfrom acme.io import read as load")
    assert found.has("acme.io.read", "Reads")
    assert found.canonical("acme.files.read") == "acme.io.read"
    assert found.canonical("acme.load") == "acme.io.read"
    assert [models.module_of(path) for path in ("acme/io.pyi", "acme.io.pyi", "acme/__init__.pyi")] == [
        "acme.io",
        "acme.io",
        "acme",
    ]


def test_a_module_may_speak_for_all_its_names() -> None:
    found = read("def __getattr__(name: str) -> Fresh: ...\ndef same(x) -> View[x]: ...")
    assert found.has("acme.anything", "Fresh")
    assert not found.has("acme.same", "Fresh")
    assert not found.has("other.anything", "Fresh")


def test_words_count_where_they_are_imported_and_no_other_annotation_does() -> None:
    text = (
        "from dl_lint.models import Reads as R\ndef a(p) -> R: ...\ndef b(p) -> Fresh: ...\ndef c(p) -> list[int]: ..."
    )
    found = Models(models.read([("acme", text)]))
    assert found.has("acme.a", "Reads")
    assert not found.get("acme.b").marks + found.get("acme.c").marks


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from dl_lint.models import Iterate\n", "line 1: dl_lint.models has no 'Iterate'"),
        ("def a(:\n", "line 1: invalid syntax"),
    ],
)
def test_a_stub_that_cannot_be_meant_is_an_error(project: Project, text: str, said: str) -> None:
    with pytest.raises(StubError, match=re.escape(said)):
        models.read([("acme", text)])
    project.write({"pyproject.toml": SETTINGS, "stubs/acme.pyi": text, "a.py": "x = 1\n"})
    ran = project.lint()
    assert (ran.status, ran.err) == (2, f"dl-lint: error: stubs/acme.pyi: {said}\n")


def test_a_folder_without_stubs_is_an_error(project: Project) -> None:
    project.write({"pyproject.toml": SETTINGS, "a.py": "x = 1\n"})
    ran = project.lint()
    assert (ran.status, ran.err) == (
        2,
        "dl-lint: error: pyproject.toml: [tool.dl-lint] models: stubs holds no stubs (files that end in .pyi)\n",
    )


# --- stubs of one's own --------------------------------------------------------------------


def told(project: Project) -> set[tuple[int, str]]:
    return {(row, code) for _, row, code in project.lint_json("--select", "DL104,DL204,DL312,DL403").places}


EXPECTED = {
    (row, found[1]) for row, line in enumerate(CODE.splitlines(), 1) if (found := re.search(r"# (DL\d+)", line))
}
EARLY = {(row - 1, "DL104") for row, line in enumerate(CODE.splitlines(), 1) if "# read too early" in line}


def test_a_company_s_progress_bar_prefetcher_mover_reader_seeder_and_trainer_are_known_by_a_stub(
    project: Project,
) -> None:
    project.write({"train.py": CODE})
    assert len([one for one in told(project) if one[1] == "DL204"]) == 1
    project.write({"pyproject.toml": SETTINGS, "stubs/acme.pyi": STUB})
    assert len(EXPECTED) == 7
    assert told(project) == EXPECTED | EARLY


def test_a_stub_wins_over_code_of_the_project_and_a_change_of_it_is_seen(project: Project) -> None:
    code = "import acme\nfrom torch.utils.data import DataLoader\n\n\ndef train(model, data):\n"
    code += "    loader = DataLoader(data, num_workers=4)\n    for epoch in range(9):\n"
    code += "        for batch in acme.ahead(loader):\n            model(batch).backward()\n"
    project.write({"train.py": code, "acme.py": "def ahead(loader):\n    return build(loader)\n"})
    assert told(project) == set()
    stub = "from dl_lint.models import Iterates\ndef ahead(loader) -> {}: ...\n"
    project.write({"pyproject.toml": SETTINGS, "stubs/acme.pyi": stub.format("Iterates[loader]")})
    assert told(project) == {(6, "DL204")}
    project.write({"stubs/acme.pyi": stub.format("list")})
    assert told(project) == set()


LOOP = """\
{}
from torch.utils.data import DataLoader


def train(model, dataset, device):
    loader = DataLoader(dataset, num_workers=4)
    for epoch in range(10):
        for batch in {}:
            model(batch).backward()
"""
AROUND = {
    "loader": "import torch",
    "tqdm(loader)": "from tqdm.auto import tqdm",
    "acme.progress(loader)": "import acme",
    "acme.progress(items=loader, label='x')": "import acme",
    "acme.Prefetcher(loader, device)": "import acme",
    "enumerate(acme.progress(loader))": "import acme",
}


@pytest.mark.parametrize("over", AROUND)
def test_a_loop_is_one_over_a_loader_whatever_is_around_it(project: Project, over: str) -> None:
    batch = LOOP.replace("for batch in", "for _, batch in") if over.startswith("enumerate") else LOOP
    project.write({"pyproject.toml": SETTINGS, "stubs/acme.pyi": STUB, "train.py": batch.format(AROUND[over], over)})
    assert told(project) == {(6, "DL204")}


STEPPING = """\
import acme
from torch.utils.data import DataLoader


def train(dataset):
    engine = acme.Engine()
    for batch in DataLoader(dataset):
        engine.{}(batch)
"""


@pytest.mark.parametrize(("method", "found"), [("train_batch", [(7, "DL207")]), ("score", [])])
def test_a_step_of_a_company_s_engine_makes_a_loop_one_that_trains(
    project: Project, method: str, found: list[tuple[int, str]]
) -> None:
    stub = "from dl_lint.models import Backward\nclass Engine:\n    def train_batch(self, batch) -> Backward: ...\n"
    data = (
        "\n\nclass Images(Dataset):\n    def __getitem__(self, index):\n        return Image.open(self.paths[index])\n"
    )
    code = f"from PIL import Image\nfrom torch.utils.data import Dataset\n{STEPPING.format(method)}{data}"
    code = code.replace("DataLoader(dataset)", "DataLoader(Images())")
    project.write({"pyproject.toml": SETTINGS, "stubs/acme.pyi": stub, "train.py": code})
    places = project.lint_json("--select", "DL207").places
    assert [(row - 2, code) for _, row, code in places] == found


# --- our own -------------------------------------------------------------------------------


def test_stubs_are_compiled_once_and_anew_where_one_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub = tmp_path / "libraries" / "acme.pyi"
    stub.parent.mkdir()
    stub.write_text("from dl_lint.models import *\ndef a() -> Reads: ...\n")
    monkeypatch.setattr(models, "_OWN", str(tmp_path))
    monkeypatch.setattr(models, "_ROOTS", (str(stub.parent),))
    first = models._library_table()
    with monkeypatch.context() as patch:
        patch.setattr(models, "read", lambda _: pytest.fail("read again"))
        assert models._library_table() == first
    stub.write_text("from dl_lint.models import *\ndef other() -> Lists: ...\n")
    assert "acme.other" in models._library_table().models
    [kept] = (tmp_path / "__pycache__").iterdir()
    kept.write_bytes(b"\xe3 not what was written")
    assert "acme.other" in models._library_table().models


STUBS = sorted((ROOT / "lint" / "dl_lint" / "models").rglob("*.pyi"))


@pytest.mark.parametrize("path", STUBS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_word_of_our_stubs_is_one_and_no_name_stands_twice(path: Path) -> None:
    tree = ast.parse(path.read_text())
    used = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    owners: list[ast.Module | ast.ClassDef] = [tree, *(one for one in used if isinstance(one, ast.ClassDef))]
    known = models.words() | {one.name for one in used} | {"None", "str", "by_name"}
    bases = [ast.unparse(base) for one in used if isinstance(one, ast.ClassDef) for base in one.bases]
    given = [part for one in used if isinstance(one, ast.FunctionDef) and one.returns for part in heads(one.returns)]
    assert {one for one in (*bases, *given) if one not in known} == set()
    for owner in owners:
        names = [one.name for one in owner.body if isinstance(one, ast.FunctionDef | ast.ClassDef)]
        assert len(names) == len(set(names))


def heads(annotation: ast.expr) -> list[str]:
    if isinstance(annotation, ast.BinOp):
        return [*heads(annotation.left), *heads(annotation.right)]
    return [ast.unparse(annotation).partition("[")[0]]


def test_what_is_made_of_installed_libraries_is_what_these_say() -> None:
    script = runpy.run_path(str(ROOT / "benchmarks" / "model_stubs.py"))
    stubs: dict[Path, str] = script["stubs"]()
    stale = []
    for path, text in stubs.items():
        made_of = path.read_text().splitlines()[0]
        if made_of != text.splitlines()[0]:
            pytest.skip(f"another release is installed than {made_of}")
        stale += [path.name] if path.read_text() != text else []
    assert stale == []


WRITTEN = {path.stem: path for path in STUBS if path.parent.name == "libraries"}

OF_OTHER_RELEASES = frozenset({"torch.npu.is_available", "torchdata.datapipes.iter.IterDataPipe"})
"""Entries that what is installed here has no more, or in another build."""


@pytest.mark.parametrize("library", WRITTEN)
def test_every_entry_is_there_in_the_installed_library(library: str) -> None:
    """What is marked must exist, and the first parameters of a class must be those of its constructor."""
    try:
        importlib.import_module(library)
    except ImportError as error:
        pytest.skip(f"not installed: {error}")
    table = models.read([(library, WRITTEN[library].read_text())])
    absent, wrong = [], []
    for name, (marks, positions, _) in table.models.items():
        if not marks or name.endswith(f".{ANY}"):
            continue
        found = resolved(name)
        if found is None:
            absent.append(name)
        elif inspect.isclass(found) and positions and not takes(found, positions):
            wrong.append(f"{name}{inspect.signature(found)} takes not {positions}")
    assert wrong == []
    assert [name for name in absent if name not in OF_OTHER_RELEASES] == []


def resolved(name: str) -> Any:
    """The thing of this name; None where there is none."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            declared = getattr(found, "__annotations__", {})
            found = getattr(found, part, declared.get(part))
        return found
    return None


def takes(cls: type, positions: tuple[str, ...]) -> bool:
    try:
        given = inspect.signature(cls).parameters.values()
    except ValueError:
        return True
    is_open = any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in given)
    return is_open or [one.name for one in given][: len(positions)] == list(positions)
