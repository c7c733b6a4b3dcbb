"""The environment in reports."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys

import pytest
import torch

from pytest_dataloader.environment import environment, read_cpu_model


def test_the_environment_names_what_figures_depend_on() -> None:
    seen = environment()
    assert seen["python"] == sys.version.split()[0]
    assert seen["torch"] == torch.__version__
    assert seen["cpus"] == os.cpu_count()
    assert 0 < float(str(seen["cpus_allowed"])) <= float(str(seen["cpus"]))
    assert seen["start_method"] == multiprocessing.get_start_method()
    assert json.loads(json.dumps(seen)) == seen


def test_asking_imports_no_torch_and_fixes_no_start_method() -> None:
    script = (
        "import sys, multiprocessing\nfrom pytest_dataloader.environment import environment\nseen = environment()\n"
        "multiprocessing.set_start_method('spawn')\n"  # raises where the method was fixed before
        "print(seen['torch'], 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    version, loaded = done.stdout.split()
    assert version.partition("+")[0] == torch.__version__.partition("+")[0]  # wheels need not name their build
    assert loaded == "False"


@pytest.mark.parametrize(
    ("cpuinfo", "expected"),
    [
        (
            "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC: 7B13\nmodel name\t: other",
            "AMD EPYC: 7B13",
        ),
        ("processor\t: 0\nBogoMIPS\t: 243.75\n", None),
        ("", None),
    ],
)
def test_the_cpu_is_the_first_one_named(cpuinfo: str, expected: str | None) -> None:
    assert read_cpu_model(cpuinfo) == expected
