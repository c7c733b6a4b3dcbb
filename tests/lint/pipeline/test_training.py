"""What loops repeat for, by value where it is known and by name where it is not; what a node depends on in a pass."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest
from dl_lint.flow.call_graph import Pass, passes
from dl_lint.pipeline.training import repetition, usual, words
from dl_lint.project import Project
from dl_lint.source.file import Source
from dl_lint.source.parser import parse

if TYPE_CHECKING:
    from dl_lint.flow.enclosing import LoopNode


def project_of(text: str) -> Project:
    return Project.load(["a.py"], ".", lambda path: parse(Source.of(path, text.encode())) if path == "a.py" else None)


def loop_of(project: Project) -> LoopNode:
    return next(loop.node for scope in project.files[0].scopes for loop in scope.loops)


def passes_of(text: str) -> list[Pass]:
    """The passes of the call of ``here()``."""
    project = project_of(text)
    (call,) = project.files[0].methods["here"]
    return list(passes(project, call))


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("for images, labels in val_loader", "step"),
        ("for i, batch in enumerate(tqdm(self.train_loader, desc='x'))", "step"),
        ("for path in image_paths", "step"),
        ("for sample in self.samples", "step"),
        ("for b in range(outputs.shape[0])", "step"),
        ("for b in range(x.size(0))", "step"),
        ("for i in range(1, max_len + 1)", "step"),
        ("for step in range(args.train_steps)", "step"),
        ("for i, t in enumerate(scheduler.timesteps)", "step"),
        ("while step < total", "step"),
        ("for epoch in range(args.steps)", "few"),
        ("for attempt in range(3)", "few"),
        ("for name, loader in loaders.items()", "few"),
        ("for model in models", "few"),
        ("while batch_size >= 1", "few"),
        ("for x in range(0, n, chunk)", "other"),
        ("for c in range(x.shape[1])", "other"),
        ("for piece in pieces", "other"),
        ("while True", "other"),
    ],
)
def test_a_loop_over_unknown_things_goes_by_its_names(header: str, expected: str) -> None:
    project = project_of(f"{header}:\n    f()\n")
    assert repetition(project, loop_of(project)) == expected


def test_a_loop_over_a_loader_goes_by_what_it_is() -> None:
    project = project_of(
        "from torch.utils.data import DataLoader\nfor models in DataLoader(d):\n    f(models)\n",
    )
    assert repetition(project, loop_of(project)) == "step"


def test_loops_in_a_function_that_measures_are_few() -> None:
    project = project_of("def benchmark_step(f, batches):\n    for batch in batches:\n        f(batch)\n")
    assert repetition(project, loop_of(project)) == "few"


def test_a_loop_around_loops_over_a_loader_is_no_step() -> None:
    project = project_of(
        "from torch.utils.data import DataLoader\n"
        "for _ in range(num_iters):\n"
        "    for batch in DataLoader(d):\n"
        "        f(batch)\n",
    )
    assert repetition(project, loop_of(project)) == "other"


@pytest.mark.parametrize(
    ("test", "outcome", "expected"),
    [
        ("torch.cuda.is_available()", True, True),
        ("torch.cuda.is_available()", False, False),
        ("args.use_cuda", True, True),
        ("device.type == 'cuda'", True, True),
        ("'cuda' in args.device and torch.cuda.is_available()", True, True),
        ("count == 0", False, True),
        ("count == 0", True, False),
        ("len(boxes) > 0", True, True),
        ("batch is None", False, True),
        ("training", True, True),
        ("training", False, False),
        ("step % 10 == 0", False, False),
        ("step % 10 == 0", True, False),
        ("args.clear_cache", True, False),
        ("args.empty_cache_freq > 0", True, False),
        ("torch.cuda.memory_reserved() > most", True, False),
        ("failed", True, False),
    ],
)
def test_a_test_is_usual_if_it_comes_out_so_in_nearly_every_pass(test: str, outcome: bool, expected: bool) -> None:
    project = project_of(f"import torch\n\ndef f(args, step):\n    if {test}:\n        pass\n")
    node = next(owner for owner in project.files[0].arms if isinstance(owner, ast.If))
    assert usual(project, node.test, outcome) is expected


def test_a_node_depends_on_the_tests_around_it_and_on_those_that_jump_over_it() -> None:
    (inner, outer) = passes_of(
        "for a in b:\n"
        "    if skip:\n"
        "        continue\n"
        "    for c in d:\n"
        "        if e:\n"
        "            f() if g else here()\n",
    )
    assert [(guard.id, outcome) for guard, outcome in inner.guards] == [("g", False), ("e", True)]  # type: ignore[attr-defined]  # all are names
    assert [(guard.id, outcome) for guard, outcome in outer.guards[2:]] == [("skip", False)]  # type: ignore[attr-defined]


def test_a_return_matters_to_the_callers_loop_only() -> None:
    (own, function, outer) = passes_of(
        "def f(xs):\n    if done:\n        return\n    for x in xs:\n        here()\n\n\nfor y in ys:\n    f(y)\n",
    )
    assert own.guards == ()
    assert isinstance(function.loop, ast.FunctionDef)
    assert [outcome for _, outcome in outer.guards] == [False]
    assert len(outer.through) == 1


def test_a_handler_ends_the_search() -> None:
    assert not passes_of("for a in b:\n    try:\n        f()\n    except RuntimeError:\n        here()\n")


def test_the_else_of_a_loop_is_not_in_the_loop() -> None:
    assert not passes_of("for a in b:\n    f()\nelse:\n    here()\n")


@pytest.mark.parametrize(
    ("name", "parts"),
    [("self.valDataLoader_2", ["val", "data", "loader"]), ("maxlen", ["maxlen"]), ("use_CUDA", ["use", "cuda"])],
)
def test_names_are_taken_apart_into_words(name: str, parts: list[str]) -> None:
    assert words(name) == parts
