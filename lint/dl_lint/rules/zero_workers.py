"""A training loader without workers reads and decodes every sample on the thread that trains.

## What it does

Finds loaders that a training loop (one that calls `backward()`) or a Trainer goes over, with `num_workers` absent or 0,
whose dataset opens, reads or decodes a file for every sample. Advice: off unless selected.

## Why is this bad?

Without workers `next()` reads, decodes, transforms and collates the batch while the model waits. Workers do it beside
the model. They do not speed up every loader: a batch of tiny samples costs 0.06 ms in the main process and 0.8 ms
through a worker, so datasets that are in memory are not flagged. `dataloader_throughput` says which it is.

## Example

```python
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, paths, transform):
        self.paths = paths
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(Image.open(self.paths[index]))


def train(model, paths, transform):
    for images in DataLoader(Photos(paths, transform), batch_size=32, shuffle=True):
        model(images).mean().backward()
```

## Use instead

```python
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, paths, transform):
        self.paths = paths
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(Image.open(self.paths[index]))


def train(model, paths, transform):
    for images in DataLoader(Photos(paths, transform), batch_size=32, shuffle=True, num_workers=4):
        model(images).mean().backward()
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.flow.values import Class, Const, External, Instance, Made, Value, alternatives
from dl_lint.pipeline import trainers, training
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.values import Loader
    from dl_lint.pipeline.loops import LoaderLoop
    from dl_lint.project import Project

TRUE = Const(True, "bool")


@rule("DL207", severity="advice")
def zero_workers(project: Project) -> Iterator[Finding]:
    seen: set[ast.Call] = set()
    for loader, loop, waiting in _training(project):
        if loader.call in seen or not _has_none(project, loader):
            continue
        reading = _reading(project, project.argument(loader, "dataset").value)
        if reading is None:
            continue
        seen.add(loader.call)
        place = project.place(loop)
        yield Finding(
            project.place(loader.call),
            f"no workers: the {waiting} at {project.told(place)} waits while each sample is read and decoded "
            f"({reading})",
            "try `num_workers=4`, and measure it with `dataloader_throughput`",
            (Related(place, f"the {waiting} that waits"),),
        )


def _training(project: Project) -> Iterator[tuple[Loader, ast.AST, str]]:
    """The loaders that are trained on, each with the loop, or what gives it to a Trainer, and what to call that."""
    for loop in project.loader_loops():
        for loader in loop.loaders:
            if _trains(project, loop, loader):
                yield loader, loop.node, "training loop"
    for fit in trainers.fits(project):
        if fit.trains and training.purpose(project, fit.loader) != "evaluation":
            yield fit.loader, fit.node, "Trainer's loop"


def _has_none(project: Project, loader: Loader) -> bool:
    """Whether a loader has no workers, and not because of a condition that somebody thought of."""
    if not project.models.has(loader.name, "TorchLoader") or project.workers(loader) != "none":
        return False
    size = project.argument(loader, "batch_size").value
    if any(isinstance(one, Const) and one.kind == "none" for one in alternatives(size)):
        return False  # the dataset yields ready batches
    return not project.argument(loader, "num_workers").given or not any(project.tests_around(loader.call))


def _trains(project: Project, loop: LoaderLoop, loader: Loader) -> bool:
    """Whether the loop takes training steps; where no ``backward`` says so (JAX), the loader's name and order may."""
    if training.is_trained_on(project, loop):
        return True
    if training.purpose(project, loader) != "training" or project.argument(loader, "shuffle").value != TRUE:
        return False
    return any(loop.node in project.loops_around(call) for call in loop.function.calls)


def _reading(project: Project, dataset: Value) -> str | None:
    """What a dataset does for every sample that a worker had better do; None where nothing is known of."""
    for one in alternatives(dataset):
        if isinstance(one, Instance) or (isinstance(one, Made) and one.cls is not None):
            found = _reader(project, one.cls) if one.cls is not None else None
        elif isinstance(one, Made) and _reads_files(project, one.name):
            found = one.name.rpartition(".")[2]
        else:
            found = None
        if found is None:
            return None
    return found if alternatives(dataset) else None


def _reader(project: Project, cls: Class) -> str | None:
    for function in project.fetching(cls):
        for call in function.calls:
            for one in alternatives(project.value(call.func)):
                if isinstance(one, External) and project.models.has(one.name, "Reads"):
                    return one.name
    return None


def _reads_files(project: Project, name: str) -> bool:
    """Whether a class is a dataset of torchvision's or torchaudio's whose samples do not lie in memory."""
    is_dataset = name.startswith(("torchvision.datasets.", "torchaudio.datasets."))
    return is_dataset and not project.models.has(name, "InMemory")
