"""The project: what all files say together, asked by rules through `Project`.

Nodes are those of `ast`; each belongs to one file and one scope, so a query needs the node alone.

* Values: `value(expr)` is what an expression stands for (module `values`), through assignments, unpacking, calls,
  returns, attributes, containers and imports, with parameters bound from all known callers. A value that depends on the
  way taken is a `OneOf`: look at `alternatives(value)`. What cannot be followed is `Unknown`: rules stay silent on it.
  A default that the user may change (argparse, click, a dataclass field, a parameter nobody passes) is an `Option`.
* Loaders: `loaders()` and `samplers()` are all constructions; `argument(loader, "num_workers")` is an argument with its
  value (`Absent` if not given) and its node, through ``**kwargs``, partials and subclasses; `workers(loader)` and
  `pins(loader)` say what the arguments come to. `passed(call, name, *positions)` asks the same of any call.
* Loops: `loader_loops()` are the loops over batches, each with the loaders that it may iterate; `repeated_by(loop,
  loader)` is the epoch loop around it, in this function or in a caller. `loops_around(node)` is lexical,
  `repeating(node)` goes on through callers.
* Batches and transfers: `transfers()` are the copies between host and device, with receiver, destination and
  ``non_blocking``; `batches_in(value)` says which loaders a value comes from, `placement(value)` where it lives.
* Datasets: `dataset_classes()`; `kept(cls)` is what methods store on self, bases included; `fetching(cls)` the
  functions that run for a sample; `reads(cls)` the attributes of self that they read.
* Calls: `calls("torch.cuda.empty_cache")` by qualified name, `method_calls("set_epoch")`, `attribute_stores("epoch")`,
  `callers(function)`, `reachable(function)`, `mentions(node, "set_epoch")` for a word anywhere in the sub-project.
* Context: `place`, `site`, `parent`, `ancestors`, `statement_of`, `function_of`, `tests_around`, `in_handler`,
  `under_main_guard`, `changes_in(expr, loop)`.
* Fixes: module `edits`.

How it works: `index` walks each file once into scopes, blocks and bindings (`scopes`); `flow` says which bindings reach
a place; `evaluate` works out values on demand, each once (`solver`), first with parameters left open, then bound from
callers; `frameworks` holds what is known of torch and its neighbours.
"""

from __future__ import annotations

from dl_lint.project.datasets import DatasetClass, Kept, Read
from dl_lint.project.loaders import Argument
from dl_lint.project.loops import LoaderLoop
from dl_lint.project.model import Project
from dl_lint.project.transfers import Transfer
from dl_lint.project.values import alternatives

__all__ = [
    "Argument",
    "DatasetClass",
    "Kept",
    "LoaderLoop",
    "Project",
    "Read",
    "Transfer",
    "alternatives",
]
