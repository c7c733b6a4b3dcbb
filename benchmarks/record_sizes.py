"""What DL301 says that a record takes, held against what tracemalloc measures.

    python benchmarks/record_sizes.py [--only NAME] [--records 3000]

For each shape a dataset is written out whose constructor fills ``self.rows`` from generated files: names and paths of
images, a CSV file and a JSON file of numbers, labels and short captions, all of different lengths. dl-lint reads that
code; then the constructor runs under tracemalloc in a process of its own, and what is allocated once it has returned is
divided by the records. Prints a table of Markdown. "not said" is an answer where the code does not tell what a record
holds. Ends with status 1 where a figure is further off than ``ALLOWED``, or a figure with "at least" is too high.

Python 3.11.7 on x86-64, 3,000 records, bytes each:

    records                                     said  measured  ratio
    file names                                    73        74   0.99
    globbed paths                                101       109   0.93
    joined paths                                  89       109   0.82
    formatted paths                               82       102   0.81
    `Path` objects                               308       267   1.15
    lines of a file                               89       113   0.79
    stripped lines                                89       113   0.79
    column of a table                             89        74   1.20
    numbers                                       36        33   1.10
    tuples of path and number                    173       190   0.91
    tuples of fields of a line                   255       270   0.95
    lists of numbers                             172       161   1.07
    rows of csv.reader               at least    340       344   0.99
    rows of csv.DictReader           at least    436       440   0.99
    rows with names given                        436       440   0.99
    to_dict("records")                           375       358   1.05
    dicts of fields of JSON                      354       368   0.96
    dicts with shared texts                      313       293   1.07
    dicts in dicts                               513       525   0.98
    dataclasses                                  241       250   0.96
    slotted dataclasses                          201       210   0.96
    named tuples                                 209       226   0.93
    records of JSON as they are                    -       549
    lists of nobody knows how many                 -       306
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ALLOWED = 1.5

HEAD = """\
import csv
import glob
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from torch.utils.data import DataLoader, Dataset


@dataclass
class Photo:
    path: str
    label: int
    weight: float


@dataclass(slots=True)
class Slotted:
    path: str
    label: int
    weight: float


class Named(NamedTuple):
    path: str
    label: int
    weight: float


class Rows(Dataset):
    def __init__(self, folder, index, table):
"""

TAIL = """
    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        {read}


def make(folder, index, table):
    return DataLoader(Rows(folder, index, table), num_workers=2)
"""


@dataclass(frozen=True)
class Shape:
    """Statements that fill ``self.rows``, and how a sample is read. ``said`` is False where no figure can be known."""

    code: str
    read: str = "return self.rows[i]"
    said: bool = True


BY_NAME = 'row = self.rows[i]\n        return row["path"], row["label"], row["caption"], row["score"]'
BY_PLACE = "row = self.rows[i]\n        return row[0], row[1], row[3]"

SHAPES = {
    "file names": Shape("self.rows = sorted(os.listdir(folder))"),
    "globbed paths": Shape('self.rows = glob.glob(f"{folder}/*.png")'),
    "joined paths": Shape("self.rows = [os.path.join(folder, name) for name in os.listdir(folder)]"),
    "formatted paths": Shape('self.rows = [f"{folder}/{i:06d}.png" for i in range(len(os.listdir(folder)))]'),
    "`Path` objects": Shape('self.rows = sorted(Path(folder).glob("*.png"))'),
    "lines of a file": Shape("self.rows = open(table).read().splitlines()"),
    "stripped lines": Shape("self.rows = [line.strip() for line in open(table)]"),
    "column of a table": Shape('self.rows = pd.read_csv(table)["path"].tolist()'),
    "numbers": Shape("self.rows = [float(row['score']) for row in json.load(open(index))]"),
    "tuples of path and number": Shape(
        "self.rows = [(os.path.join(folder, name), i) for i, name in enumerate(os.listdir(folder))]"
    ),
    "tuples of fields of a line": Shape(
        'self.rows = []\nfor line in open(table):\n    fields = line.split(",")\n'
        "    self.rows.append((fields[0], fields[2], fields[3]))"
    ),
    "lists of numbers": Shape(
        "self.rows = [[float(row['score']), float(row['x']), float(row['y'])] for row in json.load(open(index))]"
    ),
    "rows of csv.reader": Shape("self.rows = list(csv.reader(open(table)))", BY_PLACE),
    "rows of csv.DictReader": Shape("self.rows = list(csv.DictReader(open(table)))", BY_NAME),
    "rows with names given": Shape(
        'names = ["path", "label", "caption", "score"]\n'
        "self.rows = [row for row in csv.DictReader(open(table), fieldnames=names)]",
    ),
    'to_dict("records")': Shape(
        'columns = ["path", "label", "caption"]\nself.rows = pd.read_csv(table, usecols=columns).to_dict("records")'
    ),
    "dicts of fields of JSON": Shape(
        'self.rows = [{"path": row["path"], "caption": row["caption"]} for row in json.load(open(index))]'
    ),
    "dicts with shared texts": Shape(
        "self.rows = []\nfor folder_, paths in [(folder, os.listdir(folder))]:\n    for name in paths:\n"
        '        self.rows.append({"folder": folder_, "kind": "train", "path": folder_ + "/" + name, "n": len(name)})'
    ),
    "dicts in dicts": Shape(
        'self.rows = [{"path": row["path"], "box": {"x": float(row["x"]), "y": float(row["y"])}}\n'
        "    for row in json.load(open(index))]"
    ),
    "dataclasses": Shape(
        "self.rows = []\nfor row in json.load(open(index)):\n"
        '    self.rows.append(Photo(row["path"], int(row["label"]), float(row["score"])))'
    ),
    "slotted dataclasses": Shape(
        'self.rows = [Slotted(row["path"], int(row["label"]), float(row["score"])) for row in json.load(open(index))]'
    ),
    "named tuples": Shape(
        'self.rows = [Named(row["path"], int(row["label"]), float(row["score"])) for row in json.load(open(index))]'
    ),
    "records of JSON as they are": Shape("self.rows = json.load(open(index))", said=False),
    "lists of nobody knows how many": Shape(
        'self.rows = [[ord(one) for one in line.split(",")[2]] for line in open(table)]', said=False
    ),
}

MEASURE = """\
import gc, sys, tracemalloc
sys.path.insert(0, sys.argv[1])
import data
data.Rows(*sys.argv[2:])
gc.collect()
tracemalloc.start()
before = tracemalloc.get_traced_memory()[0]
rows = data.Rows(*sys.argv[2:])
gc.collect()
print((tracemalloc.get_traced_memory()[0] - before) / len(rows))
"""


def source(shape: Shape) -> str:
    body = "".join(f"        {line}\n" for line in shape.code.splitlines())
    return HEAD + body + TAIL.replace("{read}", shape.read)


def generate(folder: Path, records: int) -> list[str]:
    """The files that constructors read: a folder of images, JSON records, and the same as CSV."""
    draw = random.Random(0)
    words = ["a", "small", "brown", "dog", "runs", "over", "wet", "grass", "beside", "the", "red", "house", "near"]
    images = folder / "images" / "train2017"
    images.mkdir(parents=True)
    rows = []
    for i in range(records):
        path = images / f"{draw.choice(words)}_{i:0{draw.randint(4, 12)}d}.png"
        path.touch()
        caption = " ".join(draw.choices(words, k=draw.randint(2, 9)))
        row = {"path": str(path), "label": draw.randrange(1_000), "caption": caption, "score": draw.random()}
        rows.append(row | {"x": draw.random(), "y": draw.random()})
    index, table = folder / "index.json", folder / "table.csv"
    index.write_text(json.dumps(rows))
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["path", "label", "caption", "score"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows({**row, "path": Path(row["path"]).name, "score": round(row["score"], 4)} for row in rows)
    return [str(images), str(index), str(table)]


def said(folder: Path) -> tuple[int | None, bool, str]:
    """The figure of DL301, if it gives one; whether it is "at least"; and what it calls a record."""
    command = [sys.executable, "-m", "dl_lint", "--no-cache", "--select", "DL301", "--output-format", "json", "data.py"]
    findings = json.loads(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout)
    if len(findings) != 1:
        raise SystemExit(f"{folder / 'data.py'}: {len(findings)} findings of DL301 in place of one")
    found = re.search(r"(about|at least) ([\d,]+) bytes for (.*?)(?:,|$)", findings[0]["message"])
    return (int(found[2].replace(",", "")), found[1] == "at least", found[3]) if found else (None, False, "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME")
    parser.add_argument("--records", type=int, default=3_000)
    options = parser.parse_args()
    wrong = 0
    print("| records | said | measured | said / measured |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        files = generate(Path(temporary), options.records)
        for name, shape in SHAPES.items():
            if options.only not in (None, name):
                continue
            folder = Path(tempfile.mkdtemp(dir=temporary))
            (folder / "data.py").write_text(source(shape))
            figure, least, called = said(folder)
            done = [sys.executable, "-c", MEASURE, str(folder), *files]
            measured = float(subprocess.run(done, capture_output=True, text=True, check=True).stdout)
            if figure is None:
                wrong += shape.said
                print(f"| {name} | {'**not said**' if shape.said else 'not said'} | {measured:,.0f} | |")
                continue
            ratio = figure / measured
            off = ratio > ALLOWED or (ratio < 1 / ALLOWED and not least) or not shape.said
            wrong += off
            shown = f"**{ratio:.2f}**" if off else f"{ratio:.2f}"
            print(f"| {name} | {'at least ' if least else ''}{figure:,} ({called}) | {measured:,.0f} | {shown} |")
    print(f"\n{wrong} of {len(SHAPES)} further off than {ALLOWED}.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
