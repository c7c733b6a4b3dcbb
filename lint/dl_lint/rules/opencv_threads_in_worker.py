"""OpenCV starts as many threads as there are CPUs in each worker.

## What it does

Finds datasets of loaders with workers that resize, convert, warp or filter images with OpenCV for each sample, in
projects where neither `cv2.setNumThreads` nor `OPENCV_FOR_THREADS_NUM` stands anywhere, launch scripts included.

## Why is this bad?

Workers are there to use all CPUs, and torch limits each to one thread, which OpenCV does not look at: four workers on
16 CPUs had 72 threads, and 12 with `cv2.setNumThreads(0)`. They take turns on the same CPUs.

## Example

```python
import cv2
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __getitem__(self, index):
        return cv2.resize(cv2.imread(self.paths[index]), (224, 224))


def make_loader(paths):
    return DataLoader(Photos(paths), batch_size=32, num_workers=8)
```

## Use instead

```python
import cv2
from torch.utils.data import DataLoader, Dataset

cv2.setNumThreads(0)


class Photos(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __getitem__(self, index):
        return cv2.resize(cv2.imread(self.paths[index]), (224, 224))


def make_loader(paths):
    return DataLoader(Photos(paths), batch_size=32, num_workers=8)
```

Spawned workers import the module again, so that it holds for them too; where the main process needs OpenCV's threads,
call it in `worker_init_fn` instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.flow import guards
from dl_lint.pipeline import datasets, workers
from dl_lint.pipeline.fetching import threads
from dl_lint.rule import Finding, Needs, Related, rule
from dl_lint.source.positions import span

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.pipeline.datasets import DatasetClass
    from dl_lint.project import Project
    from dl_lint.source.positions import Span


@rule("DL313", severity="slow")
def opencv_threads_in_worker(project: Project) -> Iterator[Finding]:
    seen = set()
    for dataset in project.dataset_classes():
        calls = (one for one in threads.opencv_calls(project, dataset) if _is_run(project, dataset, one[0]))
        found = sorted(calls, key=lambda one: _order(project, one[0]))
        for call, name in found[:1]:
            if call not in seen:
                seen.add(call)
                holding = datasets.holding(project, call, dataset)
                loader = workers.fetching_for(project, dataset.cls)
                related = [Related(project.place(dataset.node), "the dataset whose samples need it")]
                if loader is not None:
                    related.append(Related(project.place(loader[0].call), f"the loader, with {loader[1]}"))
                yield Finding(
                    project.place(call),
                    f"`{name}`, with which `{holding}` fetches samples, starts a thread for each CPU in each "
                    "worker: they take the CPUs from one another",
                    "call `cv2.setNumThreads(0)` at the top of the dataset's module, or in `worker_init_fn`",
                    tuple(related),
                    needs=Needs(workers.of_product(project, dataset.cls), dataset.cls, call),
                )


def _is_run(project: Project, dataset: DatasetClass, call: ast.Call) -> bool:
    """Whether more than the main process comes to a call."""
    return workers.coming_to(project, dataset.cls, call) != "main"


def _order(project: Project, call: ast.Call) -> tuple[bool, str, Span]:
    """What is called for every sample first."""
    return guards.is_conditional(project, call), project.path(call), span(call)
