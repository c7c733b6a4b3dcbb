"""Which loaders DL103 names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.lint.conftest import Project

TRAIN = """\
from torch.utils.data import DataLoader


def to_gpu(part):
    return part.cuda(non_blocking=True)


def validate(model, val_set):
    for images in DataLoader(val_set, num_workers=2):
        model(to_gpu(images))


def train(model, train_set):
    for images in DataLoader(train_set, num_workers=2):
        model(to_gpu(images))
"""


def test_all_loaders_whose_batches_are_copied_are_named_those_for_training_first(project: Project) -> None:
    project.write({"train.py": TRAIN})
    [record] = project.lint_json("--select", "DL103").records
    assert "as its loaders do not pin (train.py:14, train.py:9)" in record["message"]
    assert record["remedy"] == "give the loaders `pin_memory=True`, or leave `non_blocking` out"
    assert record["fix"] is None


def test_one_loader_is_mended(project: Project) -> None:
    project.write({"train.py": TRAIN.replace("model(to_gpu(images))\n\n\ndef train", "model(images)\n\n\ndef train")})
    [record] = project.lint_json("--select", "DL103").records
    assert "as its loader does not pin (train.py:14)" in record["message"]
    assert record["fix"] is not None


MOVING = """

def collate(samples):
    return default_collate(samples).to("cuda")


def preview(model, dataset):
    for images in DataLoader(dataset, collate_fn=collate):
        model(to_gpu(images))
"""


def test_loaders_that_move_their_batches_themselves_are_not_asked_to_pin(project: Project) -> None:
    project.write({"train.py": TRAIN + MOVING.replace("collate_fn=collate", "num_workers=2")})
    [record] = project.lint_json("--select", "DL103").records
    assert "(train.py:14, train.py:23, train.py:9)" in record["message"]
    project.write({"train.py": TRAIN + MOVING})
    assert project.lint_json("--select", "DL103").records == []


BESIDE = """

def preview(model, dataset):
    for images in DataLoader(dataset, num_workers=2):
        model(images)


def show(model, images):
    model(to_gpu(images))
"""


def test_loaders_of_the_same_script_that_do_not_feed_the_copy_are_not_named(project: Project) -> None:
    project.write({"train.py": TRAIN + BESIDE})
    [record] = project.lint_json("--select", "DL103").records
    assert "(train.py:14, train.py:9)" in record["message"]
    assert [one["location"]["row"] for one in record["related"]] == [14, 9]


REBOUND = """\
from torch.utils.data import DataLoader
from helpers import swapped


def stamps(dataset):
    return [stamp for stamp in DataLoader(dataset, batch_size=None)]


def train(model, train_set, device):
    for images, masks in DataLoader(train_set, num_workers=2):
        masks = swapped(masks) if model.swaps else masks
        model(images, [mask.to(device, non_blocking=True) for mask in masks])
"""


def test_a_batch_that_may_be_something_else_is_of_its_own_loader(project: Project) -> None:
    project.write({"train.py": REBOUND})
    [record] = project.lint_json("--select", "DL103").records
    assert "as its loader does not pin (train.py:10)" in record["message"]
