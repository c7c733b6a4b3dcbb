"""The JSON Schemas agree with what the plugin and the linter read, and with the reports that they write."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

import dl_lint.schema
import pytest
import torch
import validate_pyproject.api
import validate_pyproject.errors
from dl_lint import config
from dl_lint.engine import catalogue
from dl_lint.engine.selection import ConfigError
from jsonschema import Draft7Validator, Draft202012Validator
from torch.utils.data import DataLoader, Dataset

import pytest_dataloader
from docs import schemas
from pytest_dataloader.record import figures
from pytest_dataloader.settings import targets
from tests.zoo import evidence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TARGETS = [
    'loader = "proj.data:make"',
    'loader = "proj.data:Loaders.train"\nchecks = ["memory", "order"]',
    'loader = "p:m"\nchecks = "memory"\nskip = []',
    'loader = "p:m"\nmin_samples_per_second = 200\nmax_cpu_ms_per_sample = 1.5',
    'loader = "p:m"\nmax_worker_growth = "32MB"\nmax_total_memory = "1.5 GiB"',
    'loader = "p:m"\nmax_worker_growth = 33554432\nmax_shm = 0',
    'loader = "p:m"\nmax_worker_growth = "64000"',
    'loader = "p:m"\nstep = "train:step"\nmax_stall = 0',
    'loader = "p:m"\nworld_size = 4\nstart_methods = ["fork", "spawn"]',
    'loader = "p:m"\nstart_methods = "spawn"\nstate = "sampler.state_dict"',
]
NO_TARGETS = [
    "",
    'loader = "proj.data"',
    "loader = 3",
    'loader = "p:m"\nchecks = ["speed"]',
    'loader = "p:m"\nskip = 3',
    'loader = "p:m"\nmin_samples_per_second = "200"',
    'loader = "p:m"\nmin_samples_per_second = 0',
    'loader = "p:m"\nmin_samples_per_second = true',
    'loader = "p:m"\nmax_worker_growth = 32',
    'loader = "p:m"\nmax_worker_growth = "32"',
    'loader = "p:m"\nmax_worker_growth = "32 apples"',
    'loader = "p:m"\nmax_stall = 5',
    'loader = "p:m"\nworld_size = 2.5',
    'loader = "p:m"\nstart_methods = []',
    'loader = "p:m"\nstep = "train step"',
    'loader = "p:m"\nmin_sample_per_second = 200',
]
LINTERS = [
    "",
    'select = ["ALL"]\nignore = ["DL3", "DL306", "copy-on-access"]',
    'extend-select = ["DL207"]\npedantic = true',
    'exclude = ["third_party/"]\nbaseline = "accepted.json"',
    'dataloader-classes = ["shop.data.FastLoader", "Loader"]\ntrainer-calls-set-epoch = false',
    'start-method = "spawn"\ntarget-torch = "2.4"',
    'target-torch = "2.4.1"',
    'per-file-ignores = {"tests/**" = ["DL2"]}',
]
NO_LINTERS = [
    'selekt = ["ALL"]',
    'select = ["DL999"]',
    'select = "ALL"',
    "ignore = [3]",
    'pedantic = "yes"',
    "baseline = 3",
    'dataset-classes = ["no name"]',
    'start-method = "thread"',
    "target-torch = 2.4",
    'per-file-ignores = ["DL2"]',
    'per-file-ignores = {"tests/**" = "DL2"}',
]

EVIDENCE = [name for name in vars(evidence) if name.isupper() and name not in ("WORLD", "SHAPE", "OVERLAP")]


def judged(right: list[str], wrong: list[str]) -> list[tuple[str, bool]]:
    return [*((text, True) for text in right), *((text, False) for text in wrong)]


@pytest.fixture(scope="module")
def pyproject() -> Draft7Validator:
    schema = schemas.pyproject()
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    schema = schemas.report()
    Draft202012Validator.check_schema(schema)
    return schema


@pytest.mark.parametrize(("text", "is_right"), judged(TARGETS, NO_TARGETS))
def test_the_schema_takes_the_targets_that_the_plugin_takes(
    tmp_path: Path, pyproject: Draft7Validator, text: str, is_right: bool
) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(f"[tool.pytest-dataloader.targets.train]\n{text}\n")
    (read,) = targets.read_file(file, file.name)
    assert (read.faults == ()) is is_right
    assert pyproject.is_valid(tomllib.loads(file.read_text())) is is_right


@pytest.mark.parametrize("name", ["a target", "", "train::order", "train-2.x", "entraînement"])
def test_the_schema_takes_the_names_that_the_plugin_takes(
    tmp_path: Path, pyproject: Draft7Validator, name: str
) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(f'[tool.pytest-dataloader.targets."{name}"]\nloader = "p:m"\n')
    (read,) = targets.read_file(file, file.name)
    assert pyproject.is_valid(tomllib.loads(file.read_text())) is (read.faults == ())


@pytest.mark.parametrize(("text", "is_right"), judged(LINTERS, NO_LINTERS))
def test_the_schema_takes_the_settings_that_the_linter_takes(
    tmp_path: Path, pyproject: Draft7Validator, text: str, is_right: bool
) -> None:
    text = text.replace("copy-on-access", catalogue.entries()["DL301"].name)
    file = tmp_path / "pyproject.toml"
    file.write_text(f"[tool.dl-lint]\n{text}\n")
    assert pyproject.is_valid(tomllib.loads(file.read_text())) is is_right
    if is_right:
        config.read(str(file), str(tmp_path), catalogue.entries())
    else:
        with pytest.raises(ConfigError):
            config.read(str(file), str(tmp_path), catalogue.entries())


def test_every_key_has_a_schema() -> None:
    properties = dl_lint.schema.settings()["properties"]
    assert set(properties) == set(config.KEYS)
    assert all(each["description"] for each in properties.values())


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ("dataloader_seconds = 2.5\ndataloader_quick = true", True),
        ('dataloader_watch = ["workers", "shm"]', True),
        ('dataloader_target = ["train=p:m"]\naddopts = ["-q"]', True),
        ('dataloader_seconds = "many"', False),
        ('dataloader_watch = ["memory"]', False),
    ],
)
def test_options_of_pytest_have_a_schema(pyproject: Draft7Validator, text: str, is_right: bool) -> None:
    assert pyproject.is_valid(tomllib.loads(f"[tool.pytest.ini_options]\n{text}")) is is_right


@pytest.mark.parametrize(
    ("table", "accused"),
    [
        ('[tool.dl-lint]\nselect = ["DL3"]\n[tool.pytest-dataloader.targets.train]\nloader = "p:m"', ""),
        ('[tool.dl-lint]\nstart-method = "thread"', "tool.dl-lint.start-method"),
        ('[tool.pytest-dataloader.targets.train]\nloader = "p:m"\nmax_stall = 5', "max_stall"),
    ],
)
def test_validate_pyproject_finds_the_schemas(table: str, accused: str) -> None:
    validate = validate_pyproject.api.Validator()
    written = tomllib.loads(f'[project]\nname = "proj"\nversion = "1"\n{table}')
    if not accused:
        validate(written)
        return
    with pytest.raises(validate_pyproject.errors.ValidationError, match=re.escape(accused)):
        validate(written)


class Words(Dataset[torch.Tensor]):
    """Copies in each worker: a list of strings."""

    def __init__(self, size: int) -> None:
        self.words = [f"word {index}" for index in range(size)]

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor([len(self.words[index])])


@pytest.mark.parametrize(
    "make", [lambda: DataLoader(Words(20_000), 32, num_workers=2), lambda: [torch.zeros(8, 2)] * 9]
)
def test_a_report_keeps_to_its_schema(report: dict[str, Any], make: Callable[[], Any]) -> None:
    document = pytest_dataloader.diagnose(make(), seconds=0.3).document()
    assert len(document["loaders"][0]["checks"]) >= 5
    assert [f"{error.json_path}: {error.message}" for error in Draft202012Validator(report).iter_errors(document)] == []


@pytest.mark.parametrize("name", EVIDENCE)
def test_evidence_keeps_to_its_schema(report: dict[str, Any], name: str) -> None:
    seen = getattr(evidence, name)
    schema = {"$ref": f"#/$defs/{type(seen).__name__}", "$defs": report["$defs"]}
    assert list(Draft202012Validator(schema).iter_errors(figures(seen))) == []
