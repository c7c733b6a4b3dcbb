"""Operators of DL301: what a dataset keeps of every sample."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import partial

from mutants.code import Code, behind_docstring, called, dotted, every, loaded, method, stored
from mutants.datasets import index_of, indexed, is_only_indexed, read_by_workers, waken
from mutants.edits import Edit, Pending, Unfit, after, replace
from mutants.flow import Flow
from mutants.mutant import Fault, operator

Making = Iterator[Fault | Callable[[], Fault]]
ARRAYS = {"numpy.array", "numpy.asarray", "torch.tensor", "torch.LongTensor", "torch.FloatTensor", "torch.as_tensor",
          "torch.Tensor", "torch.from_numpy", "pyarrow.array"}  # fmt: skip
LOADED = {"numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.concatenate", "numpy.vstack", "numpy.hstack",
          "torch.cat", "numpy.unique"}  # fmt: skip
COUNTED = {"numpy.arange", "torch.arange", "numpy.random.permutation", "torch.randperm"}
RECORDS = {"datasets.load_dataset", "datasets.load_from_disk", "datasets.Dataset.from_file"}
CHEAP = re.compile(r"^(os\.path|str|int|float|pathlib)\b")
