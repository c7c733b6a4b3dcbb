"""A dataset seeds the worker's generator anew for every sample.

## What it does

Finds code that runs for every sample and seeds `random`, numpy or torch with a constant, or from the worker's seed or
id, with nothing that depends on the sample.

## Why is this bad?

The seed of a worker does not change within an epoch, so every sample that the worker fetches starts from the same state
and draws the same numbers: the augmentation is one and the same for all of them. A constant gives the same numbers to
all workers and in all epochs, too. Where that is meant, as for the noise of an evaluation, draw from a generator of its
own: `np.random.default_rng(0)` leaves the others alone.

## Example

```python
import random

from torch.utils.data import Dataset, get_worker_info


class Clips(Dataset):
    def __getitem__(self, index):
        random.seed(get_worker_info().seed)
        return index, random.random()
```

## Use instead

```python
import random

from torch.utils.data import Dataset


class Clips(Dataset):
    def __getitem__(self, index):
        return index, random.random()
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.pipeline import seeding
from dl_lint.rule import Finding, rule

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.scopes import Scope
    from dl_lint.project import Project


@rule("DL407", severity="bug")
def reseeding_per_sample(project: Project) -> Iterator[Finding]:
    seen: set[ast.Call] = set()
    for dataset in project.dataset_classes():
        if dataset.kind != "map":
            continue  # __iter__ runs once an epoch, so seeding there is as good as in worker_init_fn
        fetching = project.fetching(dataset.cls)
        for function in fetching:
            for seeded in seeding.seedings(project, function):
                if seeded.call in seen or not _is_the_same(seeded) or _is_conditional(project, seeded.call, fetching):
                    continue
                if seeding.is_restored(project, seeded) or seeding.only_orders(project, fetching, seeded.seeder):
                    continue
                seen.add(seeded.call)
                all_of = "all samples" if seeded.origins == {"constant"} else "all samples of a worker"
                yield Finding(
                    project.place(seeded.call),
                    f"`{seeded.seeder}` runs for every sample of `{dataset.name}` with a seed that is the same for "
                    f"{all_of}, so all of them draw the same numbers",
                    "remove it, as torch seeds each worker once, or seed from the index",
                )


def _is_the_same(seeded: seeding.Seeding) -> bool:
    """Whether nothing that a seed is worked out from depends on the sample."""
    return bool(seeded.origins) and "other" not in seeded.origins


def _is_conditional(project: Project, node: ast.AST, fetching: tuple[Scope, ...]) -> bool:
    """Whether the seeding depends on something that the first sample may change, such as a flag on self, where it
    stands or where each of its functions is called."""
    if any(not seeding.asks_for_worker(project, test) for test, _ in project.tests_around(node)):
        return True
    function = project.function_of(node)
    calls = [one.call for one in project.callers(function) if project.function_of(one.call) in fetching]
    within = tuple(one for one in fetching if one is not function)
    return bool(calls) and all(_is_conditional(project, call, within) for call in calls)
