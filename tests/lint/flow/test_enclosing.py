"""Where nodes stand, and edits worked out from it."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from dl_lint import edits
from dl_lint.fixes import apply
from dl_lint.project import Project
from dl_lint.rule import Edit, Finding, Fix
from dl_lint.source.file import Source
from dl_lint.source.positions import KNOWS_FIELDS
from dl_lint.source.syntax import dotted
from dl_lint.texts import Texts

if TYPE_CHECKING:
    from ..linked import Load


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
    "its second iterable": ("[b for a in x for b in here()]", ["comprehension"]),
    "its second iterable, of three": ("[c for a in x for b in here() for c in b]", ["comprehension"]),
    "the test of its first clause": ("[b for a in x if here() for b in a]", ["comprehension"]),
    "the second iterable of an inner one": (
        "for y in z:\n    [[b for a in x for b in here()] for c in y]",
        ["comprehension", "comprehension", "For"],
    ),
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


Make = Callable[[Project, ast.Call], Edit | None]


def an_argument(project: Project, call: ast.Call) -> Edit | None:
    return edits.with_argument(project, call, "k=1")


def no_argument(project: Project, call: ast.Call) -> Edit | None:
    return edits.without_argument(project, call, "k")


def a_statement(project: Project, call: ast.Call) -> Edit | None:
    loop = next(project.loops_around(call))
    assert isinstance(loop, ast.For)
    return edits.with_first_statement(project, loop, "if c:\n    d()")


def an_operator(project: Project, call: ast.Call) -> Edit | None:
    return edits.with_operator(project, call, "% 2")


EDITS: list[tuple[Make, str, str]] = [
    (an_argument, "here()", "here(k=1)"),
    (an_argument, "x = (here())", "x = (here(k=1))"),
    (an_argument, "'ü', é.here('ü'), 'ü'", "'ü', é.here('ü', k=1), 'ü'"),
    (
        an_argument,
        "def f():\r\n    '\f\u2028', here(\r\n        a,  # why\r\n    )",
        "def f():\r\n    '\f\u2028', here(\r\n        a,  # why\r\n        k=1,\r\n    )",
    ),
    (an_argument, "if a:\n\tb, here(\n\t\ta,\n\t\tb)\n", "if a:\n\tb, here(\n\t\ta,\n\t\tb,\n\t\tk=1)\n"),
    (no_argument, "here(a, k=1)", "here(a)"),
    (no_argument, "f(x, here(a,\n       k=1,\n       b=2), y)", "f(x, here(a,\n       b=2), y)"),
    (an_operator, "f(here(), a)", "f(here() % 2, a)"),
    (a_statement, "for a in b:\n    here()\n", "for a in b:\n    if c:\n        d()\n    here()\n"),
    (a_statement, "for a in b:\n\there()\n", "for a in b:\n\tif c:\n\t\td()\n\there()\n"),
    (
        a_statement,
        "if x:\n  for a in b:  # y\n     # z\n     here()\n  else: pass",
        "if x:\n  for a in b:  # y\n     if c:\n        d()\n     # z\n     here()\n  else: pass",
    ),
    (
        a_statement,
        "if x:\r\n    for a in b: here(); here\r\n",
        "if x:\r\n    for a in b:\r\n        if c:\r\n            d()\r\n        here(); here\r\n",
    ),
]


@pytest.mark.parametrize(("make", "before", "after"), EDITS)
def test_an_edit_changes_what_stands_at_a_node_and_nothing_else(
    load: Load, make: Make, before: str, after: str
) -> None:
    edit = make(project := load({"main.py": before}), marked(project))
    assert changed(before, edit) == after


def changed(before: str, edit: Edit | None) -> str | None:
    """The file after an edit, as ``--fix`` makes it; None where libcst cannot."""
    assert edit is not None
    data = before.encode()
    finding = Finding(edit.place, "wrong", "right", fix=Fix("mend", (edit,)))
    fix = edits.spelled_out(finding, Texts({"main.py": data}).lines).fix
    return None if fix is None else apply(Source.of("main.py", data), fix.edits).decode()


def test_a_call_in_an_f_string_is_edited_where_python_tells_its_place(load: Load) -> None:
    before = "f'{here(a)}'"
    project = load(before)
    edit = edits.with_argument(project, marked(project), "k=1")
    if KNOWS_FIELDS:
        assert changed(before, edit) == "f'{here(a, k=1)}'"
    else:
        assert edit is None


def test_an_argument_that_is_not_named_in_a_call_is_not_taken_out(load: Load) -> None:
    project = load("here(a, True, **k)")
    assert edits.without_argument(project, marked(project), "k") is None


def test_what_has_become_of_a_file_in_the_meantime_is_not_edited(load: Load) -> None:
    project = load({"main.py": "here(a)"})
    edit = edits.with_argument(project, marked(project), "k=1")
    assert changed("", edit) is None
    assert changed("there\n", edit) is None


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
