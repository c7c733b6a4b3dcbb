"""Settings that come out of files and configuration objects reach the loaders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

SETTINGS = """\
data:
  num_workers: 4
  pin_memory: true
loader: {batch_size: 8, num_workers: 2, pin_memory: yes}
"""

TRAIN = """\
import argparse
import json

import hydra
import yaml
from omegaconf import OmegaConf
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--config", default="conf/train.yaml")
parser.add_argument("--other")
args = parser.parse_args()


def settings(path):
    with open(path) as file:
        return yaml.safe_load(file)


def train(model, dataset):
    {read}
    for images in DataLoader(dataset, {given}):
        model(images.to("cuda")).backward()
"""

KEYWORDS = 'num_workers=config["data"]["num_workers"], pin_memory=config["data"]["pin_memory"]'


def flagged(project: Project, read: str, given: str, settings: str = SETTINGS) -> list[str]:
    project.write({"tools/train.py": TRAIN.format(read=read, given=given), "conf/train.yaml": settings})
    return [record["code"] for record in project.lint_json().records]


@pytest.mark.parametrize(
    ("read", "given"),
    [
        ('config = yaml.safe_load(open("conf/train.yaml"))', KEYWORDS),
        ('config = yaml.load(open("../conf/train.yaml"), Loader=yaml.SafeLoader)', KEYWORDS),
        ("config = settings(args.config)", KEYWORDS),
        ('config = settings("conf/train.yaml")', '**config["loader"]'),
        ('config = OmegaConf.load("conf/train.yaml")', "**config.loader"),
        ("config = OmegaConf.load(args.config)", "num_workers=4, pin_memory=config.data.get('pin_memory', False)"),
    ],
    ids=["literal path", "from the folder of the script", "default of an option", "by keywords", "attributes", "get"],
)
def test_a_file_that_is_read_tells_of_the_loader(project: Project, read: str, given: str) -> None:
    assert flagged(project, read, given) == ["DL102"]


@pytest.mark.parametrize(
    ("read", "given", "settings"),
    [
        ("config = settings(args.other)", KEYWORDS, SETTINGS),
        ('config = settings("conf/absent.yaml")', KEYWORDS, SETTINGS),
        ('config = settings("conf/train.txt")', KEYWORDS, SETTINGS),
        ('config = settings("../../../conf/train.yaml")', KEYWORDS, SETTINGS),
        ('config = settings("conf/train\\0.yaml")', KEYWORDS, SETTINGS),
        ('config = settings("conf/\\ud800.yaml")', KEYWORDS, SETTINGS),
        ('config = settings("conf/train.yaml")', KEYWORDS, SETTINGS.replace("pin_memory", "pinned")),
        ('config = settings("conf/train.yaml")', KEYWORDS, "data: [unbalanced"),
        ('config = settings("conf/train.yaml")', KEYWORDS, "data: !python/object:os.system {}"),
        ('config = settings("conf/train.yaml")', KEYWORDS, "- data"),
        ('config = settings("conf/train.yaml")', KEYWORDS, "data: {num_workers: .nan, pin_memory: [true]}"),
        ('config = settings("conf/train.yaml")', KEYWORDS, "data: &data {data: *data, pin_memory: true}"),
    ],
    ids=[
        "not named",
        "absent",
        "of another format",
        "outside",
        "no name",
        "half a pair",
        "other keys",
        "broken",
        "objects",
        "list",
        "odd",
        "cycle",
    ],
)
def test_what_no_file_says_is_unknown(project: Project, read: str, given: str, settings: str) -> None:
    assert flagged(project, read, given, settings) == []


def test_aliases_of_aliases_are_not_followed_for_ever(project: Project) -> None:
    inside = [", ".join(f"k{key}: *l{level}" for key in range(9)) for level in range(8)]
    lines = [f"l{level}: &l{level} {{{one}}}" for level, one in enumerate(inside, 1)]
    bomb = "\n".join(["l0: &l0 {num_workers: 1}", *lines, SETTINGS])
    assert flagged(project, 'config = settings("conf/train.yaml")', KEYWORDS, bomb) == []


def test_hydra_composes_groups(project: Project) -> None:
    project.write(
        {
            "train.py": """\
import hydra
from torch.utils.data import DataLoader


@hydra.main(config_path="conf", config_name="config")
def main(cfg):
    for images in DataLoader(make(cfg), num_workers=cfg.data.num_workers, pin_memory=cfg.data.pin_memory):
        model(images.to("cuda")).backward()


if __name__ == "__main__":
    main()
""",
            "conf/config.yaml": "defaults:\n  - data: small\n  - _self_\ndata:\n  pin_memory: true\n",
            "conf/data/small.yaml": "num_workers: 2\npin_memory: false\n",
        }
    )
    assert [record["code"] for record in project.lint_json().records] == ["DL102"]
    project.write({"conf/config.yaml": "defaults:\n  - data: small\n"})
    assert [record["code"] for record in project.lint_json().records] == []


def test_another_setting_renews_the_answer(project: Project) -> None:
    read = 'config = settings("conf/train.yaml")'
    assert flagged(project, read, KEYWORDS) == ["DL102"]
    assert flagged(project, read, KEYWORDS, SETTINGS.replace("true", "false")) == []
    assert flagged(project, read, KEYWORDS) == ["DL102"]
    (project.root / "conf/train.yaml").unlink()
    assert project.lint_json().records == []
    assert flagged(project, read, KEYWORDS) == ["DL102"]


def test_a_large_file_is_data(project: Project) -> None:
    read = 'config = settings("conf/train.yaml")'
    assert flagged(project, read, KEYWORDS, SETTINGS + "# " + "." * 200_000) == []
