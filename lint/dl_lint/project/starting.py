"""What seeds the global generators of workers when these start, and where their samples then draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.project import seeding, workers
from dl_lint.project.values import Instance, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.facts import tree as t
    from dl_lint.project.model import Project
    from dl_lint.project.seeding import Seeding
    from dl_lint.project.values import Loader


def seedings(project: Project) -> Iterator[tuple[Seeding, Loader, t.Call | None]]:
    """Each seeding with a loader whose workers run it, and a call there that draws; None if none is seen to."""
    yield from _when_started(project)
    yield from _at_first_sample(project)


def _when_started(project: Project) -> Iterator[tuple[Seeding, Loader, t.Call | None]]:
    """What ``worker_init_fn`` seeds, and where the samples of that loader draw."""
    for start in seeding.worker_starts(project):
        for seeded in seeding.seedings(project, start.function, start):
            yield seeded, start.loader, _drawing(project, start.loader, seeded.seeder)


def _at_first_sample(project: Project) -> Iterator[tuple[Seeding, Loader, t.Call | None]]:
    """What datasets seed once in a worker, under a condition."""
    for dataset in project.dataset_classes():
        functions = project.fetching(dataset.cls)
        for function in functions:
            for seeded in seeding.seedings(project, function):
                if any(project.tests_around(seeded.call)):
                    drawing = seeding.draws(project, functions, seeded.seeder)
                    for loader in workers.users(project, dataset.cls):
                        yield seeded, loader, drawing


def _drawing(project: Project, loader: Loader, seeder: str) -> t.Call | None:
    """Where the samples of a loader draw from the generator that is seeded; None if they are not seen to."""
    for one in alternatives(project.argument(loader, "dataset").value):
        if isinstance(one, Instance):
            found = seeding.draws(project, project.fetching(one.cls), seeder)
            if found is not None:
                return found
    return None
