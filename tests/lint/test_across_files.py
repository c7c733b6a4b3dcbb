"""A package whose dataset, sampler, loaders and training loop are four modules: what rules see only from all of them.

A line marked ``at DL204`` must be flagged, one marked ``with DL204`` named as the other place of that finding, and
nothing else may be said.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

DATA = """
import os

import torch
from torch.utils.data import Dataset, IterableDataset


class Photos(Dataset):
    def __init__(self, root):
        self.root = root
        self.decode = lambda *at: open(*at)  # at DL306

    def start(self, epoch):
        self.epoch = epoch

    def __getitem__(self, index):
        return self.decode(self.root, index, self.epoch)  # with DL308


class Clips(Dataset):
    def __init__(self, frames):
        self.frames = frames

    def __getitem__(self, index):
        return self.frames[index]


class Shards(IterableDataset):  # at DL405
    def __init__(self, names):
        self.names = sorted(names)

    def __iter__(self):
        yield from self.names


def seeded(worker):
    torch.manual_seed(7)  # at DL403


def workers():
    return os.cpu_count()  # at DL206
"""

SAMPLING = """
from torch.utils.data import DistributedSampler


def spread(dataset, rank, ranks):
    return DistributedSampler(dataset, num_replicas=ranks, rank=rank)  # at DL401


def spread_test(testset, rank, ranks):
    return DistributedSampler(testset, num_replicas=ranks, rank=rank, shuffle=False)  # at DL409
"""

LOADERS = """
from torch.utils.data import DataLoader

from .data import Clips, Photos, Shards, seeded, workers
from .sampling import spread, spread_test


def photo_loader(root, rank, ranks):
    photos = Photos(root)
    sampler = spread(photos, rank, ranks)
    return DataLoader(  # with DL306 DL308
        photos,
        sampler=sampler,
        num_workers=4,
        pin_memory=True,  # with DL102
        persistent_workers=True,
    )


def clip_loader(frames):
    return DataLoader(Clips(frames), num_workers=2, worker_init_fn=seeded)  # at DL204 with DL103 DL305 DL403


def shard_loader(names):
    return DataLoader(Shards(names), num_workers=workers())  # with DL206 DL405


def trial_loader(testset, rank, ranks):
    return DataLoader(testset, sampler=spread_test(testset, rank, ranks), num_workers=2)  # with DL409
"""

TRAIN = """
from .loaders import clip_loader, photo_loader, shard_loader, trial_loader


def one_epoch(model, loader, device):
    for photos in loader:  # with DL401
        model(photos.to(device)).backward()  # at DL102


def train(model, root, rank, ranks, device, epochs):
    loader = photo_loader(root, rank, ranks)
    for epoch in range(epochs):  # with DL401
        loader.dataset.start(epoch)  # at DL308
        one_epoch(model, loader, device)


def validate(model, frames, device, epochs):
    clips = clip_loader(frames)
    kept = []
    for _ in range(epochs):  # with DL204
        for clip in clips:
            kept.append(clip)  # at DL305
            model(clip.to(device, non_blocking=True))  # at DL103
    return kept


def finish(model, names, testset, rank, ranks):
    for shard in shard_loader(names):
        model.load(shard)
    for item in trial_loader(testset, rank, ranks):
        model(item)
"""


MODULES = {"__init__": "", "data": DATA, "sampling": SAMPLING, "loaders": LOADERS, "train": TRAIN}

FILES = {f"shop/{name}.py": text for name, text in MODULES.items()}

SPEAKS_BEFORE = {"DL409"}
"""The sampler's own name says that it is for evaluation; its loader is named where one is found."""

Site = tuple[str, str, int]
"""Code, file and line."""


def marked(word: str) -> set[Site]:
    return {
        (code, path, number)
        for path, text in FILES.items()
        for number, line in enumerate(text.splitlines(), 1)
        for codes in re.findall(rf"\b{word} ((?:DL\d+ ?)+)", line)
        for code in codes.split()
    }


@pytest.fixture
def shop(project: Project) -> Project:
    project.write(FILES)
    return project


def test_every_finding_names_its_place_and_the_other_one_in_json(shop: Project) -> None:
    records = shop.lint_json("--pedantic").records
    flagged = Counter((one["code"], one["filename"], one["location"]["row"]) for one in records)
    named = {(one["code"], other["filename"], other["location"]["row"]) for one in records for other in one["related"]}
    assert flagged == Counter(marked("at"))
    assert named == marked("with")
    assert all({other["filename"] for other in one["related"]} - {one["filename"]} for one in records)


def test_every_finding_names_its_place_and_the_other_one_in_sarif(shop: Project) -> None:
    [run] = json.loads(shop.lint("--pedantic", "--output-format", "sarif").out)["runs"]
    flagged = {(one["ruleId"], *_place(one["locations"][0])) for one in run["results"]}
    named = {(one["ruleId"], *_place(other)) for one in run["results"] for other in one["relatedLocations"]}
    assert flagged == marked("at")
    assert named == marked("with")


def _place(location: dict[str, Any]) -> tuple[str, int]:
    physical = location["physicalLocation"]
    return physical["artifactLocation"]["uri"], physical["region"]["startLine"]


@pytest.mark.parametrize("missing", sorted(MODULES.keys() - {"__init__"}))
def test_a_rule_that_names_a_module_is_silent_without_it(project: Project, missing: str) -> None:
    gone = f"shop/{missing}.py"
    project.write({path: text for path, text in FILES.items() if path != gone})
    found = {one["code"] for one in project.lint_json("--pedantic").records}
    resting = {code for code, path, _ in marked("at") | marked("with") if path == gone}
    assert resting
    assert found.isdisjoint(resting - SPEAKS_BEFORE)


PIXELS = """
import cv2


def load(path):
    return cv2.resize(cv2.imread(path), (64, 64))
"""

PICTURES = """
from torch.utils.data import DataLoader, Dataset

from .pixels import load


class Pictures(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __getitem__(self, index):
        return load(self.paths[index])


def make_loader(paths):
    return DataLoader(Pictures(paths), num_workers=4)
"""


def test_a_finding_in_a_module_without_a_word_of_loaders_is_told_where_that_is_asked_about(project: Project) -> None:
    project.write({"shop/__init__.py": "", "shop/pixels.py": PIXELS, "shop/pictures.py": PICTURES})
    found = [(one["code"], one["filename"], one["location"]["row"]) for one in project.lint_json(".").records]
    assert found == [("DL313", "shop/pixels.py", 6)]
    assert not project.lint_json("shop/pictures.py").records
