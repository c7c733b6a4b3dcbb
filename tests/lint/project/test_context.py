"""Where nodes stand, and edits worked out from it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest
from dl_lint.fixes import apply
from dl_lint.project import edits
from dl_lint.source.file import Source
from dl_lint.source.syntax import dotted

if TYPE_CHECKING:
    import ast

    from dl_lint.project import Project

    from .conftest import Load


def marked(project: Project) -> ast.Call:
    [call] = [call for file in project.files for call in file.methods["here"]]
    return call


LOOPS = {
    "none": ("here()", []),
    "for": ("for a in x:\n    here()", ["For"]),
    "its iterable": ("for a in here():\n    pass", []),
    "its else": ("for a in x:\n    pass\nelse:\n    here()", []),
    "the test of while": ("while here():\n    pass", ["While"]),
    "innermost first": ("while c:\n    for a in x:\n        here()", ["For", "While"]),
    "through a test and a with": ("for a in x:\n    if a:\n        with b:\n            here()", ["For"]),
    "a comprehension": ("[here() for a in x]", ["comprehension"]),
    "its first iterable": ("[a for a in here()]", []),
    "not through a function": ("for a in x:\n    def f():\n        here()", []),
    "not through a lambda": ("for a in x:\n    f = lambda: here()", []),
}


@pytest.mark.parametrize(("text", "expected"), LOOPS.values(), ids=LOOPS)
def test_loops_around(load: Load, text: str, expected: list[str]) -> None:
    project = load(text)
    assert [type(loop).__name__ for loop in project.loops_around(marked(project))] == expected


TESTS = {
    "if": ("if a:\n    here()", [("a", True)]),
    "else": ("if a:\n    pass\nelse:\n    here()", [("a", False)]),
    "elif": ("if a:\n    pass\nelif b:\n    here()", [("b", True), ("a", False)]),
    "the test itself": ("if here():\n    pass", []),
    "a conditional": ("x = here() if a else 0", [("a", True)]),
    "not through a function": ("if a:\n    def f():\n        here()", []),
}


@pytest.mark.parametrize(("text", "expected"), TESTS.values(), ids=TESTS)
def test_tests_around(load: Load, text: str, expected: list[tuple[str, bool]]) -> None:
    project = load(text)
    assert [(dotted(test), outcome) for test, outcome in project.tests_around(marked(project))] == expected


def test_handlers_and_the_main_guard(load: Load) -> None:
    project = load("if __name__ == '__main__':\n    try:\n        pass\n    except E:\n        here()")
    assert project.in_handler(marked(project))
    assert project.under_main_guard(marked(project))
    project = load("if __name__ != '__main__':\n    pass\ntry:\n    here()\nexcept E:\n    pass")
    assert not project.in_handler(marked(project))
    assert not project.under_main_guard(marked(project))


def test_callers_repeat_what_a_function_does(load: Load) -> None:
    project = load("def f():\n    here()\ndef g():\n    for a in x:\n        f()\nwhile c:\n    g()")
    assert [type(loop).__name__ for loop in project.repeating(marked(project))] == ["For", "While"]


CHANGES = [
    ("for a in x:\n    here(a)", True),
    ("for a in x:\n    here(b)", False),
    ("for a in x:\n    b = a\n    here(b)", True),
    ("for a in x:\n    b.append(a)\n    here(b)", True),
    ("for a in x:\n    s.b = a\n    here(s.b)", True),
    ("for a in x:\n    here(s.b)", False),
    ("for a in x:\n    b[a] = 1\n    here(b)", True),
    ("for a in x:\n    c = b\n    here(b)", False),
]


@pytest.mark.parametrize(("text", "expected"), CHANGES)
def test_what_changes_in_a_loop(load: Load, text: str, expected: bool) -> None:
    project = load(text)
    call = marked(project)
    [loop] = project.loops_around(call)
    assert project.changes_in(call.args[0], loop) is expected


EDITS = [
    ("here()", "here(k=1)"),
    ("here(a)", "here(a, k=1)"),
    ("here(a, b=2,)", "here(a, b=2, k=1,)"),
    ("here(\n    a,\n    # why\n    b=c(1),\n)", "here(\n    a,\n    # why\n    b=c(1), k=1,\n)"),
    ("here(*a, **b)", "here(*a, **b, k=1)"),
    ("x = (here())", "x = (here(k=1))"),
    ("here((a))", "here((a), k=1)"),
    ("here(  # (why)\n    ((a)  # so)\n    ),\n)", "here(  # (why)\n    ((a)  # so)\n    ), k=1,\n)"),
    ("é.here('ü')", "é.here('ü', k=1)"),
]


@pytest.mark.parametrize(("before", "after"), EDITS)
def test_an_argument_is_added_behind_the_last(load: Load, before: str, after: str) -> None:
    edit = (project := load(before)).with_argument(marked(project), "k=1")
    assert edit is not None
    assert apply(Source.of("main.py", before.encode()), [edit]).decode() == after


def test_a_bare_generator_takes_no_second_argument(load: Load) -> None:
    project = load("here(a for a in b)")
    assert project.with_argument(marked(project), "k=1") is None


REMOVALS = [
    ("here(k=1)", "here()"),
    ("here(a, k=1)", "here(a)"),
    ("here((a), k=1)", "here((a))"),
    ("here(k=1, b=2)", "here(b=2)"),
    ("here(a,\n     k=1,\n     b=2)", "here(a,\n     b=2)"),
]


@pytest.mark.parametrize(("before", "after"), REMOVALS)
def test_an_argument_is_taken_out_with_its_comma(load: Load, before: str, after: str) -> None:
    project = load(before)
    call = marked(project)
    [keyword] = [keyword for keyword in call.keywords if keyword.arg == "k"]
    edit = edits.removed(project, call, keyword)
    assert edit is not None
    assert apply(Source.of("main.py", before.encode()), [edit]).decode() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("for a in b:\n    here()\n", "for a in b:\n    if c:\n        d()\n    here()\n"),
        ("for a in b:\n\there()\n", "for a in b:\n\tif c:\n\t\td()\n\there()\n"),
        ("here()\n", "if c:\n    d()\nhere()\n"),
    ],
)
def test_a_statement_is_added_with_the_indentation_of_its_neighbour(load: Load, before: str, after: str) -> None:
    project = load(before)
    stmt = project.statement_of(marked(project))
    assert stmt is not None
    edit = project.statement_before(stmt, "if c:\n    d()")
    assert apply(Source.of("main.py", before.encode()), [edit]).decode() == after


def test_calls_are_found_by_what_they_call_not_by_what_they_are_called(load: Load) -> None:
    text = textwrap.dedent("""
        import torch
        import torch.cuda as cu
        from torch.cuda import empty_cache
        from torch.cuda import empty_cache as clean

        torch.cuda.empty_cache()
        cu.empty_cache()
        empty_cache()
        clean()
        other.empty_cache()

        def empty_cache():
            pass
    """)
    project = load(text)
    assert [call.lineno for call in project.calls("torch.cuda.empty_cache")] == [7, 8, 9, 10]
