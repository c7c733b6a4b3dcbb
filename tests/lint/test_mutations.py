"""Each operator of ``benchmarks/mutations.py`` turns a small idiom into its fault, which dl-lint finds there."""

from __future__ import annotations

import ast
import runpy
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.variants import named

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "mutations.py"

TRAINING = """
import argparse
import random
import sys

import cv2
import h5py
import numpy as np
import torch
import torchaudio
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, IterableDataset, SequentialSampler
from torch.utils.data.distributed import DistributedSampler

{head}

class Clips(Dataset):
    def __init__(self, path, names):
        self.path = path
        self.names = [name.strip() for name in names]
        {init}

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        {read}

    {more}


def main():
    dataset = Clips(sys.argv[1], open(sys.argv[2]).readlines())
    model = {model}
    optimizer = torch.optim.SGD(model.parameters())
    {before}
    loader = {loader}
    for epoch in range(10):
        {epoch}
        for step, (images, labels) in enumerate(loader):
            images = images.cuda({how})
            loss = model(images).mean()
            loss.backward()
            optimizer.step()
            {step}


if __name__ == "__main__":
    main()
"""
"""A script that trains; the pieces are filled in."""

USUAL = {
    "head": "",
    "init": "self.size = len(names)",
    "read": "image = cv2.imread(self.names[index])\nreturn torch.from_numpy(image), index",
    "more": "",
    "model": "nn.Linear(8, 1).cuda()",
    "before": "",
    "loader": "DataLoader(dataset, batch_size=8, shuffle=True, num_workers=4)",
    "epoch": "model.train()",
    "how": "",
    "step": "",
}

PERSISTENT = "DataLoader(dataset, batch_size=8, shuffle=True, num_workers=4, persistent_workers=True)"
PINNED = "DataLoader(dataset, batch_size=8, shuffle=True, num_workers=4, pin_memory=True)"
IDLE = "DataLoader(dataset, batch_size=8, shuffle=True)"
BY_OPTION = "DataLoader(dataset, batch_size=8, shuffle=True, num_workers=args.workers)"
BY_RANK = "DataLoader(dataset, batch_size=8, sampler=sampler, num_workers=4)"
DISTRIBUTED = "DistributedDataParallel(nn.Linear(8, 1).cuda())"
NUMPY = "image = np.load(self.names[index]) + np.random.rand()\nreturn torch.from_numpy(image), index"
OPTION = """parser = argparse.ArgumentParser()
parser.add_argument('--workers', type=int, default={})
args = parser.parse_args()"""
LAZY = """if self.file is None:
    self.file = h5py.File(self.path, 'r')
return torch.from_numpy(self.file[self.names[index]][:]), index"""
STREAM = """
class Lines(IterableDataset):
    def __init__(self, path):
        self.path = path

    def __iter__(self):
        {}
        lines = open(self.path).readlines()
        {}
        for line in lines:
            yield len(line)

def read(path):
    loader = DataLoader(Lines(path), batch_size=8{})
    for lengths in loader:
        print(lengths)
"""
EVALUATE = """
def evaluate(model, dataset):
    model.eval()
    test_loader = DataLoader(dataset, batch_size=8, num_workers=4)
    with torch.no_grad():
        for images, labels in test_loader:
            print(model(images.cuda()).sum())
"""
PREFETCHER = """
class Prefetcher:
    def __init__(self, loader):
        self.batches = iter(loader)
        self.stream = torch.cuda.Stream()
        self.preload()

    def preload(self):
        with torch.cuda.stream(self.stream):
            self.images = next(self.batches).cuda(non_blocking=True)

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        images = self.images
        self.preload()
        return images
"""
LIGHTNING = """
import lightning as L

class Data(L.LightningDataModule):
    def train_dataloader(self):
        return DataLoader(Clips("a", ["b"]), batch_size=8, shuffle=True, num_workers=4, persistent_workers=True)
"""

SEEDED = {
    "head": "def seed_worker(worker_id):\n    np.random.seed(torch.initial_seed() % 2**32)\n",
    "loader": "DataLoader(dataset, batch_size=8, shuffle=True, num_workers=4, worker_init_fn=seed_worker)",
    "read": NUMPY,
}

IDIOMS: dict[str, dict[str, str]] = {
    "pin-by-hand": {},
    "block": {"loader": PINNED, "how": "non_blocking=True"},
    "pin-what-is-copied-blocking": {},
    "unpin": {"loader": PINNED, "how": "non_blocking=True"},
    "do-not-wait": {},
    "read-early": {"step": "scores = model(images)\nprint(scores.detach().cpu().numpy())"},
    "empty-the-cache": {},
    "copy-in-the-loop": {
        "head": textwrap.dedent("""
            def scale(model):
                loader = DataLoader(Clips("a", ["b"]), batch_size=8, num_workers=4)
                mean = torch.tensor([0.5, 0.5, 0.5]).cuda()
                for images, labels in loader:
                    model(images.cuda() - mean)
        """)
    },
    "copy-a-constant": {},
    "copy-what-stays": {},
    "build-on-the-host": {"step": "noise = torch.zeros(8, 1, device=images.device)"},
    "do-not-wait-for-the-stream": {"head": PREFETCHER},
    "print-every-step": {"step": "if step % 10 == 0:\n    print(loss.item())"},
    "read-twice": {},
    "read-once-more": {"step": "print(loss.item())"},
    "read-each": {},
    "bring-straight-back": {},
    "pin-nowhere": {"loader": PINNED},
    "iterator-anew": {},
    "no-workers-for-an-option": {"loader": PERSISTENT},
    "option-without-workers": {"loader": IDLE},
    "shuffle-beside-a-sampler": {"before": "sampler = SequentialSampler(dataset)", "loader": BY_RANK},
    "shuffle-an-iterable": {"head": STREAM.format("pass", "pass", "")},
    "size-beside-a-batch-sampler": {
        "before": "batches = torch.utils.data.BatchSampler(SequentialSampler(dataset), 4, False)",
        "loader": "DataLoader(dataset, batch_sampler=batches, num_workers=4)",
    },
    "drop-persistent-workers": {"loader": PERSISTENT},
    "give-workers": {"loader": IDLE},
    "give-workers-by-an-option": {"before": OPTION.format(0), "loader": BY_OPTION},
    "workers-for-lightning": {"head": LIGHTNING},
    "build-in-loop": {"epoch": ""},
    "count-cpus": {},
    "count-cpus-for-an-option": {"before": OPTION.format(4), "loader": BY_OPTION},
    "take-workers": {},
    "share-under-the-guard": {},
    "name-the-pin-device": {"loader": PINNED},
    "pin-without-workers": {"loader": PINNED},
    "set-later": {},
    "drop-the-last-batch": {"head": EVALUATE},
    "forget-to-shuffle": {},
    "keep-the-list": {
        "init": "self.labels = np.array([len(name) for name in names])",
        "read": "return torch.from_numpy(cv2.imread(self.path)), self.labels[index]",
    },
    "make-a-list-of-an-array": {
        "init": "self.labels = np.loadtxt(path)",
        "read": "return torch.from_numpy(cv2.imread(self.path)), self.labels[index]",
    },
    "keep-an-order": {
        "init": "self.size = len(self.names)",
        "read": "return torch.from_numpy(cv2.imread(f'{index:08d}.png')), index",
        "loader": "DataLoader(dataset, batch_size=8, num_workers=4)",
    },
    "write-out-for-all": {
        "read": "image = cv2.imread(f'{self.path}/{self.names[index]}')\nreturn torch.from_numpy(image), index"
    },
    "memoise": {},
    "memoise-the-reader": {
        "read": "return torch.from_numpy(self.load(index)), index",
        "more": "def load(self, index):\n    return np.load(self.names[index])",
    },
    "open-early": {"init": "self.file = None", "read": LAZY},
    "open-the-archive-once": {
        "read": "file = h5py.File(self.path, 'r')\nreturn torch.from_numpy(file[self.names[index]][:]), index"
    },
    "cuda-in-a-sample": {},
    "retain": {"how": ""},
    "retain-unpinned": {"loader": PINNED},
    "wrap-in-a-lambda": {
        "head": "def collate(samples):\n    return torch.utils.data.default_collate(samples)\n",
        "loader": "DataLoader(dataset, batch_size=8, shuffle=True, num_workers=4, collate_fn=collate)",
    },
    "keep-a-lambda": {
        "init": "self.scale = cv2.bilateralFilter",
        "read": "return self.scale(cv2.imread(self.path)), index",
    },
    "unguard": {},
    "change-what-workers-copied": {"init": "self.size = 16", "read": "return torch.ones(self.size), index"},
    "keep-the-workers": {
        "epoch": "dataset.set_epoch(epoch)",
        "init": "self.epoch = 0",
        "read": "return torch.ones(3) * self.epoch, index",
        "more": "def set_epoch(self, epoch):\n    self.epoch = epoch",
    },
    "exhaust": {},
    "read-the-whole-clip": {
        "read": "clip, rate = torchaudio.load(self.names[index], frame_offset=8, num_frames=16)\nreturn clip, rate"
    },
    "open-for-every-sample": {"init": "self.file = None", "read": LAZY},
    "swallow": {},
    "leave-opencv-its-threads": {
        "head": "cv2.setNumThreads(0)", "read": "return cv2.resize(cv2.imread(self.names[index]), (64, 64)), index",
    },
    "forget-the-epoch": {
        "before": "sampler = DistributedSampler(dataset)", "loader": BY_RANK, "epoch": "sampler.set_epoch(epoch)",
        "model": DISTRIBUTED,
    },
    "sample-by-rank": {"model": DISTRIBUTED},
    "freeze-the-generator": {"read": NUMPY},
    "constant-seed": SEEDED,
    "new-constant-seed": {"read": NUMPY},
    "repeating-seed": SEEDED,
    "new-repeating-seed": {"read": NUMPY},
    "state-of-numpy": {"read": NUMPY},
    "forget-the-worker": {
        "head": STREAM.format(
            "info = torch.utils.data.get_worker_info()",
            "lines = lines if info is None else lines[info.id :: info.num_workers]",
            ", num_workers=4",
        )
    },
    "stream-a-dataset": {},
    "several-workers": {"head": STREAM.format("pass", "pass", "")},
    "shuffle-on-every-rank": {
        "before": "sampler = DistributedSampler(dataset)", "loader": BY_RANK, "epoch": "sampler.set_epoch(epoch)",
        "model": DISTRIBUTED,
    },
    "reseed-for-every-sample": {"read": NUMPY},
    "reseed-with-a-constant": {"read": NUMPY},
    "oversize": SEEDED,
    "new-oversized-seed": {"read": NUMPY},
    "pad-the-evaluation": {"head": EVALUATE, "model": DISTRIBUTED},
    "ask-for-one-more": {
        "head": "def collate(samples):\n    return torch.utils.data.default_collate(samples)\n",
        "loader": "DataLoader(dataset, batch_size=8, shuffle=True, num_workers=4, collate_fn=collate)",
    },
    "leave-a-parameter-out": {
        "head": "def make(data, num_workers=0):\n    return DataLoader(data, batch_size=8, num_workers=num_workers)\n",
        "loader": "make(dataset, num_workers=4)",
    },
    "leave-an-option-out": {"before": OPTION.format(4), "loader": BY_OPTION},
}  # fmt: skip

QUICK = ("give-workers", "keep-the-list", "retain", "open-early", "freeze-the-generator", "unpin", "wrap-in-a-lambda")
ONLY_ADVICE = {"take-workers", "pad-the-evaluation", "print-every-step", "pin-nowhere"}


@pytest.fixture(scope="module")
def mutations() -> dict[str, Any]:
    found = runpy.run_path(str(SCRIPT))
    found["load"]()
    return found


def script(pieces: dict[str, str]) -> str:
    """The training script with these pieces, each as deep as its place."""
    lines = []
    for line in TRAINING.split("\n"):
        inner = line.strip()
        if inner.startswith("{") and inner.endswith("}"):
            lines.append(textwrap.indent(pieces[inner[1:-1]], line[: len(line) - len(line.lstrip())]))
        else:
            lines.append(line.format(**pieces) if "{" in line else line)
    text = "\n".join(lines)
    ast.parse(text)
    return text


def mutants(mutations: dict[str, Any], root: Path, operator: str, pieces: dict[str, str]) -> list[Any]:
    (root / "train.py").write_text(script(USUAL | {"step": "print(step)"} | pieces))
    rule = next(it.rule for it in mutations["OPERATORS"] if it.name == operator)
    found = mutations["benchmark"](root, [rule], 9, 10**7, 0)
    return [it for it in found if it.operator == operator]


def test_every_operator_has_an_idiom(mutations: dict[str, Any]) -> None:
    assert [it.name for it in mutations["OPERATORS"] if it.name not in IDIOMS] == []


@pytest.mark.parametrize("operator", named(IDIOMS, QUICK))
def test_an_idiom_becomes_a_fault_that_is_found(mutations: dict[str, Any], tmp_path: Path, operator: str) -> None:
    found = mutants(mutations, tmp_path, operator, IDIOMS[operator])
    wanted = "silenced" if operator in ONLY_ADVICE else "found"
    assert found, "no mutant"
    assert {it.result for it in found} <= {wanted, "unknown"}, found


def test_a_fault_that_the_rule_is_blind_to_is_missed(mutations: dict[str, Any], tmp_path: Path) -> None:
    found = mutants(mutations, tmp_path, "iterator-anew", {"head": "# dl-lint: ignore-file[DL201]\n"})
    assert [it.result for it in found] == ["missed"]


def test_the_lines_outside_a_mutant_stay_as_they_are(mutations: dict[str, Any], tmp_path: Path) -> None:
    (one,) = mutants(mutations, tmp_path, "give-workers", IDIOMS["give-workers"])
    changed = [line for line in one.difference.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert [line[1:].strip() for line in changed] == [
        "loader = DataLoader(dataset, batch_size=8, shuffle=True)",
        "loader = DataLoader(dataset, batch_size=8, shuffle=True, num_workers=4)",
    ]


def test_a_loader_that_moves_into_the_epoch_loop_takes_its_workers_along(
    mutations: dict[str, Any], tmp_path: Path
) -> None:
    loader = "DataLoader(\n        dataset,\n        num_workers=0,\n        batch_size=8,\n    )"
    (one,) = mutants(mutations, tmp_path, "build-in-loop", {"epoch": "", "loader": loader})
    assert one.result == "found"
    assert "+            num_workers=4," in one.difference.splitlines()


def test_what_is_split_at_random_is_in_no_stored_order(mutations: dict[str, Any], tmp_path: Path) -> None:
    split = "dataset, held_out = torch.utils.data.random_split(dataset, [0.9, 0.1])"
    assert mutants(mutations, tmp_path, "forget-to-shuffle", {})
    assert mutants(mutations, tmp_path, "forget-to-shuffle", {"before": split}) == []


def test_a_step_by_a_scaler_reads_the_device_anyway(mutations: dict[str, Any], tmp_path: Path) -> None:
    scaler = {"before": "scaler = torch.amp.GradScaler()", "step": "scaler.update()"}
    assert mutants(mutations, tmp_path, "read-twice", {})
    assert mutants(mutations, tmp_path, "read-twice", scaler) == []
