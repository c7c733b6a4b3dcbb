"""Findings that are no more than advice, of a rule that is more: who sees them, and as what."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

DATA = """\
import json
import os

from torch.utils.data import Dataset


class Images(Dataset):
    '''100,000 images.'''

    def __init__(self, root, index):
        self.names = os.listdir(root)
        self.entries = json.load(open(index))

    def __getitem__(self, index):
        return self.names[index], [box for box in self.entries[index]["boxes"]]
"""
NAMES, ENTRIES = ("data.py", 11, "DL301"), ("data.py", 12, "DL301")


@pytest.fixture
def images(project: Project) -> Project:
    """A list of texts, which is advice, and one of records, which is not."""
    project.write({"data.py": DATA})
    return project


def test_advice_is_shown_where_it_is_asked_for_and_from_the_cache_as_well(images: Project) -> None:
    for _ in range(2):
        assert images.lint_json().places == [ENTRIES]
        assert images.lint_json("--pedantic").places == [NAMES, ENTRIES]
        assert images.lint_json("--select", "DL301").places == [NAMES, ENTRIES]
        assert images.lint_json("--extend-select", "DL3").places == [NAMES, ENTRIES]
        assert images.lint_json("--select", "DL2", "--pedantic").places == []


def test_code_that_was_copied_from_elsewhere_gets_no_more(project: Project) -> None:
    copies = (
        "third_party/images",
        "thirdparty",
        "vendor",
        "src/detector-master",
        "detector_master/data",
        "peft-main/src",
        "models/Decoder_main",
        "external/tools",
        "models/midas_repo",
        "legacy_plugins",
        "archived/batch",
    )
    project.write({f"{folder}/data.py": DATA for folder in (*copies, "vendors")})
    assert project.lint_json().places == [("vendors/data.py", 12, "DL301")]
    copied = [one["severity"] for one in project.lint_json("--pedantic").records if "vendors" not in one["filename"]]
    assert copied == ["advice", "advice"] * len(copies)


COPY = """\
import pytest
from torch.utils.data import DataLoader


def test_a_step(model, dataset):
    for images in DataLoader(dataset, num_workers=4, pin_memory=True):
        model(images.cuda()).backward()
"""


@pytest.mark.parametrize(
    ("path", "text", "severity"),
    [
        ("tests/test_step.py", COPY.replace("import pytest\n", ""), "advice"),
        ("tests/models/step_test.py", COPY.replace("import pytest\n", ""), "advice"),
        ("test_step.py", COPY, "slow"),
        ("test_step.py", COPY.replace("def test", "@pytest.mark.slow\ndef test"), "advice"),
        ("test/test_step.py", COPY.replace("import pytest\n", ""), "slow"),
        ("tests/step.py", COPY, "slow"),
        ("old/step.py", COPY, "advice"),
        ("older/step.py", COPY, "slow"),
    ],
)
def test_time_that_tests_and_old_code_take_gets_no_more(project: Project, path: str, text: str, severity: str) -> None:
    project.write({path: text})
    assert [one["severity"] for one in project.lint_json("--pedantic", "--select", "DL102").records] == [severity]


def test_a_wrong_test_is_wrong_all_the_same(project: Project) -> None:
    project.write({"tests/test_step.py": COPY.replace("pin_memory=True", "shuffle=True, sampler=[1, 0]")})
    assert [one["severity"] for one in project.lint_json("--select", "DL203").records] == ["bug"]


KEPT = """\
from torch.utils.data import DataLoader


def test_batches(dataset):
    kept = [labels.detach() for images, labels in DataLoader(dataset, num_workers=2)]
    assert len(kept) == 4
"""


def test_a_test_takes_too_few_batches_to_run_out_of_files(project: Project) -> None:
    project.write({"tests/test_batches.py": KEPT, "tests/batches.py": KEPT})
    severities = {one["filename"]: one["severity"] for one in project.lint_json("--pedantic").records}
    assert severities == {"tests/test_batches.py": "advice", "tests/batches.py": "bug"}


SEEDED = """\
import numpy as np
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __getitem__(self, index):
        return np.random.normal(index)


def seed_worker(worker):
    np.random.seed(worker)


def train(model, epochs):
    loader = DataLoader(Noisy(), num_workers=2, worker_init_fn=seed_worker)
    for epoch in range(epochs):
        for batch in loader:
            model(batch)
"""


@pytest.mark.parametrize(("name", "severity"), [("seed_worker", "bug"), ("debugging_worker_init", "advice")])
def test_what_helps_to_find_a_fault_gets_no_more(project: Project, name: str, severity: str) -> None:
    project.write({"data.py": SEEDED.replace("seed_worker", name)})
    assert [one["severity"] for one in project.lint_json("--pedantic", "--select", "DL404").records] == [severity]


UTILITIES = """from torch.utils.data import DataLoader


class Batches:
    def __init__(self, dataset):
        self.loader = DataLoader(dataset, num_workers=4, pin_memory=True)

    def __iter__(self):
        return (images.cuda() for images in self.loader)


def evaluate(model, dataset):
    for images in DataLoader(dataset, num_workers=4, pin_memory=True):
        model(images.cuda()).backward()
"""

SCRIPT = """import sys

from torch.utils.data import DataLoader
from utilities import *


class Batches:
    def __init__(self, dataset):
        self.loader = DataLoader(dataset, num_workers=2)

    def __iter__(self):
        return iter(self.loader)


def main(model, dataset):
    for images in Batches(dataset):
        model(images)


if __name__ == "__main__":
    main(*sys.argv[1:])
"""


def test_a_script_without_a_word_of_loaders_runs_what_it_names(project: Project) -> None:
    """Nothing links it, as it has nothing that any rule asks about."""
    (project.root / "pyproject.toml").unlink()
    project.write(
        {"utilities.py": UTILITIES, "train.py": SCRIPT, "check.py": "import utilities\n\nutilities.evaluate()\n"}
    )
    assert [one["severity"] for one in project.lint_json("--pedantic", "--select", "DL102").records] == [
        "advice",
        "slow",
    ]


@pytest.mark.parametrize(
    ("script", "severities"),
    [
        (SCRIPT, ["advice", "advice"]),
        (SCRIPT.replace("model(images)", "evaluate(model, images)"), ["advice", "slow"]),
        (SCRIPT.replace("class Batches:", "class Others:"), ["slow", "advice"]),
        (SCRIPT.replace("model(images)", "getattr(sys, 'evaluate')"), ["advice", "slow"]),
    ],
    ids=["neither", "the function", "the class", "by name"],
)
def test_code_that_no_script_runs_gets_no_more(project: Project, script: str, severities: list[str]) -> None:
    """The script has a class of the same name, which hides the one that it imports."""
    (project.root / "pyproject.toml").unlink()
    project.write({"utilities.py": UTILITIES, "train.py": script})
    assert [one["severity"] for one in project.lint_json("--pedantic", "--select", "DL102").records] == severities


RATIOS = """\
from torch.utils.data import DataLoader, Subset
from torchvision.datasets import CocoDetection


def slow_ratios(dataset):
    loader = DataLoader(dataset, num_workers=14, collate_fn=lambda samples: samples[0])
    return [image.shape[-1] / image.shape[-2] for image, _ in loader]


def ratios(dataset):
    if hasattr(dataset, "sizes"):
        return [width / height for width, height in dataset.sizes()]
    if isinstance(dataset, Subset):
        return [ratios(dataset.dataset)[index] for index in dataset.indices]
    return slow_ratios(dataset)
"""


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (RATIOS, "advice"),
        (RATIOS.replace("if isinstance(dataset, Subset)", "if dataset.is_subset"), "bug"),
        (RATIOS + "\n\ndef check(dataset):\n    return slow_ratios(dataset)\n", "bug"),
    ],
    ids=["two tests", "one test", "another call"],
)
def test_a_last_resort_gets_no_more(project: Project, text: str, severity: str) -> None:
    project.write({"ratios.py": text})
    assert [one["severity"] for one in project.lint_json("--pedantic", "--select", "DL306").records] == [severity]


def test_settings_ask_for_it_too(images: Project) -> None:
    for settings in ('extend-select = ["DL301"]', "pedantic = true", 'select = ["python-container-in-dataset"]'):
        images.write({"pyproject.toml": f"[tool.dl-lint]\n{settings}\n"})
        assert images.lint_json().places == [NAMES, ENTRIES]


def test_its_severity_is_advice_wherever_it_is_told(images: Project) -> None:
    assert [one["severity"] for one in images.lint_json("--pedantic").records] == ["advice", "slow"]
    [run] = json.loads(images.lint("--pedantic", "--output-format", "sarif").out)["runs"]
    assert [one["level"] for one in run["results"]] == ["note", "warning"]
    lines = images.lint("--pedantic", "--output-format", "github").out.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["::notice", "::warning"]
    issues = json.loads(images.lint("--pedantic", "--output-format", "gitlab").out)
    assert [one["severity"] for one in issues] == ["info", "major"]


def test_a_comment_that_accepts_it_is_in_use_whether_it_is_shown_or_not(images: Project) -> None:
    images.write({"data.py": DATA.replace("listdir(root)", "listdir(root)  # dl-lint: ignore[DL301] some hundred")})
    assert images.lint_json().places == [ENTRIES]
    assert images.lint_json("--pedantic").places == [ENTRIES]


def test_it_alone_is_no_reason_for_an_exit_status(project: Project) -> None:
    project.write({"data.py": DATA.replace("json.load(open(index))", "index")})
    assert project.lint().status == 0
    assert project.lint("--pedantic").status == 1


def test_a_baseline_that_accepts_it_serves_both_runs(images: Project) -> None:
    images.lint("--pedantic", "--baseline", "known.json", "--write-baseline")
    assert images.lint("--pedantic", "--baseline", "known.json").status == 0
    assert images.lint("--baseline", "known.json").status == 0


RECORDS = """\
import json

from torch.utils.data import Dataset


class Records(Dataset):
    '''400,000 records.'''

    def __init__(self, index):
        self.entries = json.load(open(index))

    def __getitem__(self, index):
        return [box for box in self.entries[index]["boxes"]]
"""

MAIN = """\
import sys

from torch.utils.data import DataLoader


def main(model, dataset):
    model.eval()
    for batch in DataLoader(dataset, num_workers=2):
        model(batch)


if __name__ == "__main__":
    main(*sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("faces/__init__.py", "from .records import Records\n", []),
        ("faces/__init__.py", "from .records import (\n    Records,\n)\n\n__all__ = ['Records']\n", []),
        ("faces/__init__.py", "from .records import Records as Faces\n", [("faces/records.py", 10, "DL301")]),
        (
            "faces/__init__.py",
            "from .records import Records\n\nALL = Records('a')\n",
            [("faces/records.py", 10, "DL301")],
        ),
        ("count.py", "from faces.records import Records\n", [("faces/records.py", 10, "DL301")]),
    ],
    ids=["imported", "exported", "renamed", "used", "elsewhere"],
)
def test_a_package_that_only_passes_a_class_on_does_not_make_one(
    project: Project, path: str, text: str, expected: list[tuple[str, int, str]]
) -> None:
    """None of these files would be read for any rule. Where there is a pyproject.toml, anybody may import the class."""
    (project.root / "pyproject.toml").unlink()
    project.write({"main.py": MAIN, "faces/records.py": RECORDS, path: text})
    assert project.lint_json().places == expected


IN_BRANCHES = """\
from torch.utils.data import DataLoader


def load(dataset, in_order=False):
    if in_order:
        loader = DataLoader(dataset, num_workers=4)
    else:
        loader = DataLoader(dataset, shuffle=True, num_workers=4)
    while True:
        yield from loader


def train(model, dataset, steps):
    data = load(dataset)
    step = 0
    while step < steps:
        model(next(data))
        step += 1
"""


def test_loaders_that_one_name_gets_in_two_branches_are_in_the_same_doubt(project: Project) -> None:
    for text, severity in ((IN_BRANCHES, "advice"), (IN_BRANCHES.replace("step < steps", "True"), "slow")):
        project.write({"train.py": text})
        found = project.lint_json("--select", "DL204").records
        assert [(record["location"]["row"], record["severity"]) for record in found] == [(6, severity), (8, severity)]


@pytest.mark.parametrize(
    ("files", "places"),
    [
        ({"LICENSE": "Ann's terms", "engine/kit/LICENSE": "Bob's", "engine/kit/setup.py": "setup()"}, []),
        ({"LICENSE.txt": "Ann's terms", "engine/kit/COPYING": "Bob's", "engine/kit/setup.py": "setup()"}, []),
        ({"LICENSE": "Ann's  terms", "engine/kit/LICENSE": "Ann's terms\n", "engine/kit/setup.py": "setup()"}, [1]),
        ({"LICENSE": "Ann's terms", "engine/kit/LICENSE": "Bob's"}, [1]),
        ({"LICENSE": "Ann's terms", "engine/kit/setup.py": "setup()"}, [1]),
        ({"engine/kit/LICENSE": "Bob's", "engine/kit/setup.py": "setup()"}, [1]),
        ({"LICENSE": "Ann's terms", "setup.py": "setup()", "engine/LICENSE": "Bob's"}, [1]),
    ],
    ids=str,
)
def test_a_package_under_other_terms_gets_no_more(project: Project, files: dict[str, str], places: list[int]) -> None:
    project.write({"engine/kit/kit/data.py": DATA, **files})
    assert len(project.lint_json().places) == len(places)
    assert len(project.lint_json("--pedantic").places) == 2


@pytest.mark.parametrize(
    ("around", "found"),
    [
        ("with pytest.raises(ValueError):", []),
        ("with case.assertRaises(ValueError):", []),
        ("with torch.no_grad():", ["bug"]),
        ("with pytest.raises(ValueError):\n        print(sampler)\n    if sampler:", ["bug"]),
    ],
    ids=str,
)
def test_what_a_test_expects_to_fail_may(project: Project, around: str, found: list[str]) -> None:
    code = f"""\
import pytest
import torch
from torch.utils.data import DataLoader, SequentialSampler


def test_of_both(case, dataset):
    sampler = SequentialSampler(dataset)
    {around}
        DataLoader(dataset, sampler=sampler, shuffle=True)
"""
    project.write({"tests/test_loader.py": code})
    assert [one["severity"] for one in project.lint_json("--select", "DL203").records] == found
