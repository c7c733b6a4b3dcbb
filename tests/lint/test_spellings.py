"""One fault in many spellings: what reads a tensor, computes a new one or goes over a loader is known from stubs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

COPIED_BACK = """\
import numpy as np
import torch
import torch.nn.functional as F


def report(model, batch):
    scores = model(batch.cuda())
    host = scores.to("cpu", non_blocking=True)
    {}
"""

READS = (
    "return host.item()",
    "return host.tolist()",
    "return host.sum()",
    "return host.clamp(0, 1)",
    "return host.std()",
    "return host.pow(2)",
    "return host.topk(3)",
    "return host.sigmoid()",
    "return host.relu()",
    "return host.quantile(0.5)",
    "return host.logsumexp(0)",
    "return host.bincount()",
    "return host.unique()",
    "return host.gather(0, batch)",
    "return host.allclose(batch)",
    "return host.float()",
    "return host.add_(1)",
    "return host.numpy().mean()",
    "return host.t().diagonal().sum()",
    "return host.mT.max()",
    "return host + 1",
    "return host[0] > 0.5",
    "return f'{host}'",
    "return float(host)",
    "print(host)",
    "return torch.cat([host, host])",
    "return torch.linalg.norm(host)",
    "return F.softmax(host, dim=0)",
    "return np.median(host)",
    "return torch.atleast_1d(host).cumsum(0)",
)


@pytest.mark.parametrize("read", READS)
def test_a_copy_is_read_before_it_is_done_however_that_is_spelled(project: Project, read: str) -> None:
    project.write({"train.py": COPIED_BACK.format(read)})
    assert [(row, code) for _, row, code in project.lint_json("--select", "DL104").places] == [(8, "DL104")]


UNREAD = (
    "return host",
    "return host.shape",
    "return host.size(0)",
    "return host.numel(), host.dim(), host.is_contiguous()",
    "return torch.empty_like(host)",
    "return host.new_zeros(3)",
    "host.requires_grad_()",
    "return host.view(-1)",
    "return torch.is_tensor(host)",
    "return len(host)",
)


@pytest.mark.parametrize("use", UNREAD)
def test_what_reads_no_value_needs_not_wait(project: Project, use: str) -> None:
    project.write({"train.py": COPIED_BACK.format(use)})
    assert project.lint_json("--select", "DL104").places == []


COMPUTED = """\
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader


def train(model, dataset):
    for images, other in DataLoader(dataset, num_workers=4, pin_memory=True):
        moved = {}.cuda(non_blocking=True)
        model(moved)
"""

MADE = (
    "images.clone()",
    "images.clamp(0, 1)",
    "images.pow(2)",
    "images.norm()",
    "images.flip(0)",
    "images.div(255)",
    "images.logical_not()",
    "images.type(torch.FloatTensor)",
    "(images * 2)",
    "(images / 255 - 0.5)",
    "torch.cat([images, other])",
    "torch.stack([images, other])",
    "torch.sqrt(images)",
    "torch.rot90(images)",
    "F.one_hot(images)",
)


@pytest.mark.parametrize("made", MADE)
def test_what_is_computed_on_the_host_is_pageable_however_it_is_computed(project: Project, made: str) -> None:
    project.write({"train.py": COMPUTED.format(made)})
    assert [(row, code) for _, row, code in project.lint_json("--select", "DL103").places] == [(8, "DL103")]


@pytest.mark.parametrize("same", ["images", "images.view(-1)", "images.flatten()", "images.mT", "images[0]"])
def test_what_is_only_looked_at_is_as_the_loader_made_it(project: Project, same: str) -> None:
    project.write({"train.py": COMPUTED.format(same)})
    assert project.lint_json("--select", "DL103").places == []
