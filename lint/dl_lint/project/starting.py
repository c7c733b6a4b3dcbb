"""What seeds the global generators of workers when these start, and where their samples then draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.project import context, reach, seeding, workers
from dl_lint.project.values import Instance, alternatives

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope
    from dl_lint.project.seeding import Seeding
    from dl_lint.project.values import Loader

DRAWING = ("albumentations", "audiomentations", "detectron2", "imgaug", "mmcv", "mmdet", "mmseg", "monai")
"""Libraries whose transforms draw from the generators of numpy and Python."""

_DRAWS = ("rand", "uniform", "normal", "choice", "shuffle", "permutation", "sample", "beta", "gauss")
"""How the names of the functions that draw begin."""


def seedings(project: Project) -> Iterator[tuple[Seeding, Loader, ast.Call | None]]:
    """Each seeding with a loader whose workers run it, and a call there that draws; None if none is seen to."""
    yield from _when_started(project)
    yield from _at_first_sample(project)


def _when_started(project: Project) -> Iterator[tuple[Seeding, Loader, ast.Call | None]]:
    """What ``worker_init_fn`` seeds, and where the samples of that loader draw."""
    for start in seeding.worker_starts(project):
        for seeded in seeding.seedings(project, start.function, start):
            yield seeded, start.loader, _drawing(project, start.loader, seeded.seeder)


def _at_first_sample(project: Project) -> Iterator[tuple[Seeding, Loader, ast.Call | None]]:
    """What datasets seed once in a worker, under a condition."""
    for dataset in project.dataset_classes():
        functions = project.fetching(dataset.cls)
        for function in functions:
            for seeded in seeding.seedings(project, function):
                if any(project.tests_around(seeded.call)):
                    drawing = seeding.draws(project, functions, seeded.seeder)
                    for loader in workers.users(project, dataset.cls):
                        yield seeded, loader, drawing


def _drawing(project: Project, loader: Loader, seeder: str) -> ast.Call | None:
    """Where the samples of a loader draw from the generator that is seeded; None if they are not seen to."""
    for one in alternatives(project.argument(loader, "dataset").value):
        if isinstance(one, Instance):
            found = seeding.draws(project, project.fetching(one.cls), seeder)
            if found is not None:
                return found
    return None


def may_draw(project: Project, seeded: Seeding) -> bool:
    """Whether anything in the sub-project of a seeding, other than what loads and loops in the main process, draws from
    the generator that it seeds, or has a library do so. Of torch's generator draws torchvision, so that it always may.
    """
    near, module = seeded.call, seeded.seeder.rpartition(".")[0]
    if module.startswith("torch") or any(project.mentions(near, name) for name in DRAWING):
        return True
    functions = (
        scope
        for file in project.files
        for scope in file.scopes
        if scope.kind in ("function", "lambda") and scope.calls and project.are_near(near, scope.calls[0])
    )
    drawing = tuple(one for one in functions if not _is_of_main_process(project, one))
    if seeding.draws(project, drawing, seeded.seeder) is not None:
        return True
    named = ("np.random", module) if module == "numpy.random" else (module,)
    return any(project.mentions_unlinted(near, f"{of}.{draw}") for of in named for draw in _DRAWS)


def _is_of_main_process(project: Project, function: Scope) -> bool:
    """Whether a function makes a loader or goes over one, as workers never do."""
    inside = tuple(reach.with_inner(function))
    return any(context.function_of(project.evaluator, one.call) in inside for one in project.loaders()) or any(
        loop.function in inside for loop in project.loader_loops()
    )


def repeats(project: Project, seeded: Seeding, loader: Loader) -> bool:
    """Whether a seed is fixed but for the worker's id, in workers that do not outlive an epoch."""
    if "id" not in seeded.origins or not seeded.origins <= {"id", "constant"}:
        return False
    return not project.argument(loader, "persistent_workers").given
