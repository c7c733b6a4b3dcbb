"""Public training scripts, unmodified, under ``pytest-dataloader run``: do they end as without, and what is said?

    python benchmarks/public_scripts.py CHECKOUTS [--only mnist vae] [--csv benchmarks/public_scripts.csv]

CHECKOUTS holds a clone of each repository of the list below, in OWNER/NAME; nothing of theirs is kept here. Each script
gets a copy of its folder, with data in the format that it expects, made here (idx files, a folder of pictures, lines of
text), and is run twice: alone, and under ``run``. Hypothesis: its status, its output, and every file that it writes are
the same to the last bit, but for times and pids; a loader that is healthy fails no check. It needs a torchvision that
is built for the torch that is installed, and tensorboard for makemore.
"""

from __future__ import annotations

import argparse
import csv
import functools
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MNIST_ROWS = {"train": 512, "t10k": 128}


@dataclass(frozen=True)
class PublicScript:
    """A script of a public repository: where it is, its arguments, and what makes its data."""

    repository: str
    folder: str
    """That is copied; paths below are in it."""
    script: str
    arguments: str = ""
    data: Callable[[Path], None] = lambda _folder: None
    options: str = ""
    """Of ours."""


def mnist(folder: Path) -> None:
    """Pictures of 28 x 28 with a label each, as idx files."""
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for part, rows in MNIST_ROWS.items():
        labels = np.arange(rows, dtype=np.uint8) % 10
        pictures = rng.integers(0, 60, (rows, 28, 28), dtype=np.uint8)
        for row, label in enumerate(labels):  # a class is a bright bar
            pictures[row, :, 2 * label + 4 : 2 * label + 7] = 255
        header = struct.pack(">IIII", 2051, rows, 28, 28)
        (raw / f"{part}-images-idx3-ubyte").write_bytes(header + pictures.tobytes())
        (raw / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, rows) + labels.tobytes())


def pictures(folder: Path, count: int, size: int) -> None:
    """JPEG files of noise upon a gradient."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(count)
    for number in range(count):
        shade = np.linspace(0, 200, size)[:, None, None] + rng.integers(0, 50, (size, size, 3))
        Image.fromarray(shade.astype(np.uint8)).save(folder / f"{number:04}.jpg")


def classes(folder: Path) -> None:
    """A folder of pictures for each class, for training and validation."""
    for part, count in (("train", 8), ("val", 3)):
        for label in ("cat", "dog", "emu"):
            pictures(folder / part / label, count, 280)


def names(path: Path) -> None:
    """Words, a line each."""
    rng = random.Random(0)
    words = ("".join(rng.choices("abcdefghij", k=rng.randint(3, 9))) for _ in range(4000))
    path.write_text("\n".join(words))


def corpus(folder: Path) -> None:
    """Text in three parts, as word_language_model reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(0)
    for part, lines in (("train", 400), ("valid", 60), ("test", 60)):
        text = (" ".join(f"w{rng.randint(0, 300)}" for _ in range(12)) for _ in range(lines))
        (folder / f"{part}.txt").write_text("\n".join(text))


def results(folder: Path) -> None:
    """Pictures of digits, and a folder for what the script draws."""
    DATA(folder)
    (folder / "results").mkdir(exist_ok=True)


def halves(folder: Path) -> None:
    """Pictures to train and to test with, as super_resolution downloads them."""
    for part in ("train", "test"):
        pictures(folder / "dataset" / "BSDS300" / "images" / part, 12, 300)


def in_folder(make: Callable[[Path], None], *parts: str) -> Callable[[Path], None]:
    return lambda folder: make(folder.joinpath(*parts))


EXAMPLES, GANS, TUTORIAL = "pytorch/examples", "eriklindernoren/PyTorch-GAN", "yunjey/pytorch-tutorial"
DATA = in_folder(mnist, "..", "data")
GAN_DATA = in_folder(mnist, "..", "..", "data", "mnist")
TUTORIAL_DATA = in_folder(mnist, "..", "..", "data")
SCRIPTS = {
    "mnist": PublicScript(EXAMPLES, "mnist", "main.py", "--epochs 1 --save-model", DATA),
    "mnist_rnn": PublicScript(EXAMPLES, "mnist_rnn", "main.py", "--epochs 1 --save-model", DATA),
    "mnist_hogwild": PublicScript(EXAMPLES, "mnist_hogwild", "main.py", "--epochs 1 --num-processes 1", DATA),
    "mnist_forward_forward": PublicScript(
        EXAMPLES, "mnist_forward_forward", "main.py", "--epochs 20 --train_size 500 --test_size 100",
        in_folder(mnist, "data"),
    ),
    "vae": PublicScript(EXAMPLES, "vae", "main.py", "--epochs 2", results),
    "siamese_network": PublicScript(
        EXAMPLES, "siamese_network", "main.py", "--epochs 1 --batch-size 128 --test-batch-size 64 --save-model", DATA
    ),
    "super_resolution": PublicScript(
        EXAMPLES, "super_resolution", "main.py", "--upscale_factor 3 --nEpochs 1 --batchSize 4 --threads 2", halves
    ),
    "dcgan": PublicScript(
        EXAMPLES, "dcgan", "main.py", "--dataset folder --dataroot images --niter 1 --imageSize 64 --batchSize 8 "
        "--manualSeed 3 --ngf 16 --ndf 16", lambda f: pictures(f / "images" / "all", 64, 96),
    ),
    "imagenet": PublicScript(
        EXAMPLES, "imagenet", "main.py", "-a resnet18 -b 8 -j 2 --epochs 1 --seed 1 images",
        in_folder(classes, "images"),
    ),
    "word_language_model": PublicScript(
        EXAMPLES, "word_language_model", "main.py", "--epochs 1 --emsize 32 --nhid 32",
        in_folder(corpus, "data/wikitext-2"),
    ),
    "regression": PublicScript(EXAMPLES, "regression", "main.py"),
    "makemore": PublicScript(
        "karpathy/makemore", ".", "makemore.py", "--max-steps 520 --n-layer 1 --num-workers 2",
        in_folder(names, "names.txt"),
    ),
    "makemore, stopped": PublicScript(
        "karpathy/makemore", ".", "makemore.py", "--n-layer 1 --num-workers 2", in_folder(names, "names.txt"),
        "--after-steps 100 --stop",
    ),
    "minGPT adder": PublicScript(
        "karpathy/minGPT", ".", "projects/adder/adder.py", "--trainer.max_iters=20 --trainer.num_workers=2"
    ),
    "GAN": PublicScript(GANS, "implementations/gan", "gan.py", "--n_epochs 2", GAN_DATA),
    "WGAN-GP": PublicScript(GANS, "implementations/wgan_gp", "wgan_gp.py", "--n_epochs 2", GAN_DATA),
    "tutorial: CNN": PublicScript(
        TUTORIAL, "tutorials/02-intermediate/convolutional_neural_network", "main.py", "", TUTORIAL_DATA
    ),
    "tutorial: VAE": PublicScript(
        TUTORIAL, "tutorials/03-advanced/variational_autoencoder", "main.py", "", TUTORIAL_DATA
    ),
}  # fmt: skip
_VARIES = re.compile(
    r"\d+(\.\d+)?\s*(ms|s)\b|(Time|Data|ms/batch|time)\s+[\d.]+(\s*\(\s*[\d.]+\))?|\biter_dt [\d.]+|^\d+(?=\tTrain)",
    re.MULTILINE,
)
"""Times and pids in a script's output."""


@dataclass(frozen=True)
class Outcome:
    """How a script ended: its status and output, times left out, and what it wrote, by path."""

    status: int
    output: str
    errors: str
    files: dict[str, bytes]
    seconds: float


def prepare(script: PublicScript, checkouts: Path, root: Path) -> Path:
    """A copy of the script's folder with its data; the folder to run it in."""
    folder = root.joinpath("one", "two", "three", "work")  # some look for their data above
    shutil.copytree(checkouts / script.repository / script.folder, folder, ignore=shutil.ignore_patterns(".git"))
    script.data(folder)
    return folder


def execute(command: Sequence[str], folder: Path) -> Outcome:
    before = {path for path in folder.rglob("*") if path.is_file()}
    began = time.monotonic()
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        env=dict(_environment(), PYTHONPATH=str(folder)),
    )  # fmt: skip
    took = time.monotonic() - began
    written = [path for path in folder.rglob("*") if path.is_file() and path not in before]
    kept = [
        path for path in written if "__pycache__" not in path.parts and not path.name.startswith(("events.", "seen."))
    ]
    output = _VARIES.sub("", done.stdout)
    return Outcome(
        done.returncode, output, done.stderr, {str(each.relative_to(folder)): each.read_bytes() for each in kept}, took
    )


@functools.cache
def _environment() -> dict[str, str]:
    return dict(os.environ, OMP_NUM_THREADS="1", PYTHONHASHSEED="0")


def compare(name: str, script: PublicScript, checkouts: Path) -> dict[str, Any]:
    """A row: how the script ended alone and under ``run``, and what was said of its loaders."""
    words = [script.script, *script.arguments.split()]
    stopped = "--stop" in script.options
    outcomes, seen, said = [], {}, ""
    for ours in [True] if stopped else [False, True]:
        with tempfile.TemporaryDirectory() as root:
            folder = prepare(script, checkouts, Path(root))
            under = ["-m", "pytest_dataloader", "run", "--json", "seen.json", *script.options.split()] if ours else []
            outcomes.append(execute([sys.executable, *under, *words], folder))
            if ours and (folder / "seen.json").exists():
                seen = json.loads((folder / "seen.json").read_text())
        if ours:
            said = outcomes[-1].errors[outcomes[-1].errors.rfind("pytest-dataloader run:") :]
    alone, under_run = outcomes[0], outcomes[-1]
    again = alone
    if (alone.output, alone.files) != (under_run.output, under_run.files) and not stopped:
        with tempfile.TemporaryDirectory() as root:  # does it give the same without us?
            again = execute([sys.executable, *words], prepare(script, checkouts, Path(root)))
    print(f"\n== {name}\n{said}", flush=True)
    if alone.status:
        print(alone.errors[-2000:])
    verdicts = [
        f"{each['id'].split()[0]} {check}" + (f": {got['reason']}" if got["verdict"] == "failed" else "")
        for each in seen.get("loaders", ())
        for check, got in each["checks"].items()
        if got["verdict"] in ("failed", "inconclusive")
    ]
    checks = [got["verdict"] for each in seen.get("loaders", ()) for got in each["checks"].values()]
    ended = re.search(r"ended with status (\d+) after ([\d.]+) s", said)
    return {
        "script": name,
        "repository": script.repository,
        "arguments": script.arguments,
        "status alone": "" if stopped else alone.status,
        "status under run": ended[1] if ended else ("stopped" if "was stopped" in said else under_run.status),
        "output": "" if stopped else _equal(alone.output, under_run.output, again.output),
        "files": "" if stopped else f"{_equal(alone.files, under_run.files, again.files)} ({len(alone.files)})",
        "seconds alone": "" if stopped else f"{alone.seconds:.0f}",
        "seconds under run, checks included": f"{under_run.seconds:.0f}",
        "loaders": len(seen.get("loaders", ())),
        "passed": checks.count("passed"),
        "not measured": checks.count("not_measured"),
        "failed or inconclusive": "; ".join(verdicts),
    }  # fmt: skip


def _equal(alone: object, under_run: object, again: object) -> str:
    if alone == under_run:
        return "equal"
    return "DIFFERENT" if alone == again else "varies without run too"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--only", nargs="*", choices=SCRIPTS, default=list(SCRIPTS))
    parser.add_argument("--csv", type=Path)
    given = parser.parse_args()
    rows = []
    for name in given.only:
        rows.append(compare(name, SCRIPTS[name], given.checkouts.resolve()))
        print("; ".join(f"{key}: {value}" for key, value in rows[-1].items()), flush=True)
        if given.csv:
            with given.csv.open("w", newline="") as file:
                writer = csv.DictWriter(file, rows[0])
                writer.writeheader()
                writer.writerows(rows)


if __name__ == "__main__":
    main()
