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
        model(images)


def show(model, images):
    model(to_gpu(images))
"""


def test_loaders_that_move_their_batches_themselves_are_not_named_among_those_that_might_pin(project: Project) -> None:
    known = TRAIN + MOVING.replace("collate_fn=collate", "num_workers=2")
    for text, told in (
        (known, "(train.py:14, train.py:23, train.py:9)"),
        (TRAIN + MOVING, "(train.py:14, train.py:9)"),
    ):
        project.write({"train.py": text})
        [record] = project.lint_json("--select", "DL103").records
        assert told in record["message"]


ELSEWHERE = """\
from torch.utils.data import DataLoader


def make_loader(dataset):
    return DataLoader(dataset, num_workers=2)
"""


def test_loaders_that_no_script_has_beside_the_copy_are_not_named_among_those_that_might_pin(project: Project) -> None:
    shown = TRAIN + "\n\ndef show(model, images):\n    model(to_gpu(images))\n"
    for start, told in (
        ("", "(train.py:14, train.py:9)"),
        ("from elsewhere import make_loader\n", "(train.py:15, elsewhere.py:5, train.py:10)"),
    ):
        project.write({"train.py": start + shown, "elsewhere.py": ELSEWHERE})
        [record] = project.lint_json("--select", "DL103").records
        assert told in record["message"]
