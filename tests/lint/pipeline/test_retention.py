"""What a loop keeps of its batches, and whether that is their memory."""

from __future__ import annotations

import pytest
from dl_lint.pipeline import retention
from dl_lint.project import Project
from dl_lint.source.file import Source
from dl_lint.source.parser import parse

HEAD = """\
import collections, numpy, torch
from torch.utils.data import DataLoader

loader = DataLoader(range(10), num_workers=2)
kept, table, groups = [], {}, collections.defaultdict(list)
array = numpy.zeros(10)
recent = collections.deque(maxlen=3)
"""


def project_of(body: str, header: str = "for x, y in loader:") -> Project:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    code = (HEAD + header + "\n" + lines).encode()
    return Project.load(["a.py"], ".", lambda path: parse(Source.of(path, code)) if path == "a.py" else None)


def kept(project: Project) -> list[retention.Kept]:
    (loop,) = {loop.node: loop for loop in project.loader_loops()}.values()
    return list(retention.kept(project, loop))


@pytest.mark.parametrize(
    ("body", "containers"),
    [
        ("kept.append(x)", ["`kept`"]),
        ("kept.append((x, y))", ["`kept`", "`kept`"]),
        ("kept.insert(0, x)", ["`kept`"]),
        ("kept += [x]", ["`kept`"]),
        ("table[f(x)] = y", ["`table`"]),
        ("groups[f(x)].append(y)", ["`groups`"]),
        ("if x:\n    kept.append(x)", ["`kept`"]),
        ("for z in x:\n    kept.append(z)", ["`kept`"]),
        ("for i in range(3):\n    kept.append(x)\n    break", ["`kept`"]),
        ("table['last'] = x", []),
        ("array[f(x)] = x", []),
        ("recent.append(x)", []),
        ("last = x", []),
        ("group = []\ngroup.append(x)", []),
        ("kept.append(x)\nif f(x):\n    kept = []", []),
        ("kept.append(x)\nkept.clear()", []),
        ("kept.append(x)\nbreak", []),
        ("kept.append(x)\nraise f(x)", []),
    ],
)
def test_a_loop_keeps_what_goes_into_a_container_that_outlives_it(body: str, containers: list[str]) -> None:
    assert [one.name for one in kept(project_of(body))] == containers


def test_a_list_comprehension_is_its_own_container_and_a_generator_keeps_nothing() -> None:
    assert [one.name for one in kept(project_of("pass", "z = [y for x, y in loader]\nif z:"))] == ["this list"]
    assert kept(project_of("pass", "z = sum(y for x, y in loader)\nif z:")) == []


@pytest.mark.parametrize(
    ("expr", "shares"),
    [
        ("x", True),
        ("x.detach()", True),
        ("x[0].view(-1)", True),
        ("x.cpu()", True),
        ("x.cpu().numpy()", True),
        ("x.data", True),
        ("x.clone()", False),
        ("x.cuda().cpu()", False),
        ("x.to(device)", False),
        ("x.float()", False),
        ("x.numpy().copy()", False),
        ("x + 1", False),
        ("x.tolist()", False),
        ("torch.cat([x, x])", False),
        ("model(x)", False),
    ],
)
def test_views_share_the_memory_of_a_batch_and_copies_do_not(expr: str, shares: bool) -> None:
    project = project_of(f"kept.append({expr})")
    (one,) = kept(project)
    assert bool(retention.shares(project, one)) is shares


@pytest.mark.parametrize(("expr", "shares"), [("x.numpy()", False), ("x.cpu().numpy()", False), ("x", True)])
def test_the_elements_of_an_array_are_copies(expr: str, shares: bool) -> None:
    project = project_of(f"kept.extend({expr})")
    (one,) = kept(project)
    assert bool(retention.shares(project, one)) is shares


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("kept.append(x)", False),
        ("kept.append(x[0])", False),
        ("kept.append(x.detach())", True),
        ("kept.append(x.data)", True),
        ("kept.append(x)\nf(x.to(device))", True),
        ("kept.append(x)\nf(x.shape)", True),
        ("kept.append(x)\nf(x.split('.'), x.index(0))", False),
        ("kept.append(x)\ntorch.cat(kept)", True),
        ("kept.append(x)\nf(kept)", False),
    ],
)
def test_names_are_told_from_tensors_by_how_they_are_used(body: str, expected: bool) -> None:
    project = project_of(body)
    (one,) = kept(project)
    assert retention.is_of_tensors(project, one) is expected
