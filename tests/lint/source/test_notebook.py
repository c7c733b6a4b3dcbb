"""Notebooks: cells linted as one module, findings by cell and row, fixes that change nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from dl_lint.fixes import apply
from dl_lint.rule import Edit
from dl_lint.source import ipython, notebook
from dl_lint.source.file import Source
from dl_lint.source.parser import VERSION, parse
from dl_lint.source.positions import Place
from dl_lint.source.text import SourceError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from tests.lint.conftest import Project

IMPORT = "from torch.utils.data import DataLoader"
FAULTY = 'loader = DataLoader(data, num_workers=4, pin_memory=True, pin_memory_device="cuda")'
MENDED = "loader = DataLoader(data, num_workers=4, pin_memory=True)"


def code(source: str | list[str], **more: Any) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source, **more}


def document(*cells: Any, **metadata: Any) -> str:
    found = [code(cell) if isinstance(cell, str | list) else cell for cell in cells]
    return json.dumps({"cells": found, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


MARKDOWN = {"cell_type": "markdown", "metadata": {}, "source": ["# DataLoader"]}
TWO_CELLS = document(MARKDOWN, [f"{IMPORT}\n", "data = [1]"], ["# below\n", FAULTY])


def test_a_finding_names_the_cell_and_the_row_in_it(project: Project) -> None:
    project.write({"train.ipynb": TWO_CELLS})
    ran = project.lint("--output-format", "concise")
    assert ran.out.startswith("train.ipynb:cell 3:2:59: DL209 [*] ")
    shown = project.lint().out
    assert " --> train.ipynb:cell 3:2:59\n  |\n1 | # below\n2 | loader = " in shown
    [record] = project.lint_json().records
    assert (record["cell"], record["location"]["row"], record["noqa_row"]) == (3, 2, 2)
    [edit] = record["fix"]["edits"]
    assert (edit["cell"], edit["location"]["row"]) == (3, 2)


def test_services_that_show_the_file_get_the_line_of_its_json(project: Project) -> None:
    project.write({"train.ipynb": TWO_CELLS})
    line = 1 + TWO_CELLS[: TWO_CELLS.index("loader = ")].count("\n")
    github = project.lint("--output-format", "github").out
    assert f"file=train.ipynb,line={line},endLine={line}::train.ipynb:cell 3:2:59: DL209" in github
    assert "col=" not in github
    [issue] = json.loads(project.lint("--output-format", "gitlab").out)
    assert issue["location"] == {"path": "train.ipynb", "lines": {"begin": line, "end": line}}
    assert issue["description"].startswith("cell 3, line 2: ")
    [result] = json.loads(project.lint("--output-format", "sarif").out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": line, "endLine": line}
    assert result["locations"][0]["logicalLocations"] == [{"name": "cell 3, line 2", "kind": "member"}]
    assert "fixes" not in result


def test_a_message_names_cell_and_line_of_the_other_place(project: Project) -> None:
    loop = "for epoch in range(9):\n    for batch in loader:\n        print(batch)\n"
    text = document(f"{IMPORT}\nloader = DataLoader([1], num_workers=4)", MARKDOWN, f"# train\n{loop}")
    project.write({"train.ipynb": text})
    for _ in range(2):
        [record] = [one for one in project.lint_json().records if one["code"] == "DL204"]
        assert record["message"].startswith("the loop at cell 3, line 2 of train.ipynb iterates this loader")
        [related] = record["related"]
        assert (related["cell"], related["location"]["row"]) == (3, 2)
    for output_format in ("concise", "sarif", "github", "gitlab"):
        out = project.lint("--output-format", output_format).out
        assert "the loop at cell 3, line 2 of train.ipynb iterates" in out
        assert "ipynb:4" not in out
    project.write({"train.ipynb": text.replace("# train", "# then\\n# train")})
    assert "the loop at cell 3, line 3 of train.ipynb iterates" in project.lint("--output-format", "concise").out


@pytest.mark.slow
def test_no_rule_names_a_line_of_a_notebook_counted_through_its_cells(project: Project) -> None:
    shown = 0
    for path in sorted((Path(__file__).parents[1] / "cases").glob("*.py")):
        project.write({"case.ipynb": document("import os", path.read_text())})
        for record in project.lint_json("--select", "ALL", "--pedantic").records:
            said = f"{record['message']} {record['remedy']}"
            assert not re.search(r"ipynb:\d|\blines? \d+\b(?! of case.ipynb)", said), said
            shown += "line" in said and "cell 2, line" in said
    assert shown > 100


def test_a_fix_changes_its_line_and_no_other_byte(project: Project) -> None:
    odd = TWO_CELLS.replace("# below", "# caf\\u00e9 \\/ é").replace('"nbformat": 4', '"nbformat":\t4')
    project.write({"train.ipynb": odd.rstrip("\n")})
    assert "Fixed 1 finding; 0 left." in project.lint("--fix").out
    as_json = json.dumps(FAULTY)[1:-1]
    assert project.read("train.ipynb") == odd.rstrip("\n").replace(as_json, MENDED)


def test_a_diff_shows_the_cell(project: Project) -> None:
    project.write({"train.ipynb": TWO_CELLS})
    out = project.lint("--diff").out
    assert out.startswith("--- train.ipynb:cell 3\n+++ train.ipynb:cell 3\n@@ -1,2 +1,2 @@\n # below\n-loader")
    assert project.read("train.ipynb") == TWO_CELLS


def test_standard_input_may_be_a_notebook(project: Project) -> None:
    ran = project.command("--stdin-filename", "a.ipynb", "--fix", stdin=TWO_CELLS.encode())
    assert ran.out == TWO_CELLS.replace(json.dumps(FAULTY)[1:-1], MENDED)


def test_comments_in_cells_accept_findings(project: Project) -> None:
    project.write({"a.ipynb": document(IMPORT, f"{FAULTY}  # dl-lint: ignore[DL209] old driver")})
    assert project.lint().status == 0
    project.write({"a.ipynb": document(IMPORT, ["x = 1\n", "y = 2  # dl-lint: ignore[DL209]"])})
    assert project.lint_json().records[0]["code"] == "DL001"
    project.lint("--fix")
    assert json.loads(project.read("a.ipynb"))["cells"][1]["source"] == ["x = 1\n", "y = 2"]


def test_what_only_ipython_knows_is_passed_over(project: Project) -> None:
    cell = [
        "%matplotlib inline\n",
        "!pip install torch \\\n",
        "    torchvision\n",
        "files = !ls\n",
        "found = %sql select 1\n",
        "?DataLoader\n",
        "DataLoader??\n",
        "if files:\n",
        "    !echo here\n",
        'text = """\n',
        "%not a magic\n",
        '"""\n',
        "rest = (7\n",
        "% 4)\n",
        "await data\n",
        FAULTY,
    ]
    project.write({"a.ipynb": document(IMPORT, ["%%time\n", *cell])})
    ran = project.lint_json()
    assert ran.err == ""
    assert [(one["code"], one["cell"], one["location"]["row"]) for one in ran.records] == [("DL209", 2, 17)]


@pytest.mark.parametrize("magic", ["%%bash", "%%writefile data.py", "%%html", "\n%%sh -e"])
def test_a_cell_for_another_program_is_passed_over(project: Project, magic: str) -> None:
    project.write({"a.ipynb": document(IMPORT, f"{magic}\nfor x in 'oops", FAULTY)})
    assert [one["cell"] for one in project.lint_json().records] == [3]


@pytest.mark.parametrize(
    "text",
    [
        document(IMPORT, FAULTY, kernelspec={"name": "ir", "language": "R"}),
        document(IMPORT, FAULTY, language_info={"name": "julia"}),
        document(IMPORT, code(FAULTY, metadata={"vscode": {"languageId": "r"}})),
        document(IMPORT, {"cell_type": "raw", "source": FAULTY}),
        document(),
    ],
)
def test_what_is_not_python_is_passed_over(project: Project, text: str) -> None:
    project.write({"a.ipynb": text})
    assert (project.lint("a.ipynb").status, project.lint("a.ipynb").err) == (0, "")


def test_notebooks_of_format_3_are_read(project: Project) -> None:
    cells = [{"cell_type": "code", "language": "python", "input": text, "outputs": []} for text in (IMPORT, FAULTY)]
    project.write({"a.ipynb": json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}], "metadata": {}})})
    assert [(one["code"], one["cell"]) for one in project.lint_json().records] == [("DL209", 2)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"cells": [{"source": "DataLoader"', "a.ipynb:1: not a notebook: Expecting ',' delimiter"),
        ("DataLoader torch", "a.ipynb: not a notebook: it is no JSON object"),
        ('{"torch": "DataLoader"}', "a.ipynb: not a notebook: it has no cells"),
        ('{"cells": []} {"torch": "DataLoader"}', "a.ipynb:1: not a notebook: Extra data"),
        ('{"cells": "torch DataLoader"}', "a.ipynb: not a notebook: its cells are no list"),
        ("[" * 100_000 + "torch DataLoader", "a.ipynb: not a notebook: it is no JSON object"),
        ('{"torch": ' + '{"DataLoader":' * 100_000, "a.ipynb: not a notebook: nested too deeply"),
        ('<<<<<<< HEAD\n{"cells": "torch DataLoader"}', "a.ipynb: not a notebook: it is no JSON object"),
        (
            document([*IMPORT.splitlines(True), "\n", "y = = 2"]),
            f"a.ipynb: cell 1, line 2: syntax error for Python {VERSION}: invalid syntax",
        ),
        (document(IMPORT, "x = '\0'"), "a.ipynb: cell 2 holds characters that Python does not have"),
        (document(IMPORT, "x = '\ud800'"), "a.ipynb: cell 2 holds characters that Python does not have"),
    ],
)
def test_a_broken_notebook_could_not_be_checked(project: Project, text: str, said: str) -> None:
    project.write({"a.ipynb": text})
    ran = project.lint()
    assert (ran.status, ran.err) == (2, f"dl-lint: {said}\n")


def test_a_cell_that_is_no_python_is_told_and_the_others_are_checked(project: Project) -> None:
    project.write({"a.ipynb": document(IMPORT, ["x = 1\n", "y = = 2"], "await x\n", FAULTY)})
    for _ in range(2):  # from the cache, too
        ran = project.lint("--output-format", "concise")
        assert ran.err == "dl-lint: a.ipynb: cell 2, line 2: not checked: syntax error: invalid syntax\n"
        assert "a.ipynb:cell 4:" in ran.out
        assert ran.status == 1
    assert project.lint("--exit-zero").status == 0


def test_a_fix_leaves_a_cell_that_is_no_python_as_it_is(project: Project) -> None:
    project.write({"a.ipynb": document(IMPORT, "y = = 2 # DataLoader(pin_memory_device='cuda')", FAULTY)})
    assert project.lint("--fix").status == 0
    cells = json.loads(project.read("a.ipynb"))["cells"]
    assert cells[1]["source"] == "y = = 2 # DataLoader(pin_memory_device='cuda')"
    assert "pin_memory_device" not in str(cells[2]["source"])


def test_a_cell_is_no_module_that_runs_as_a_script(project: Project) -> None:
    project.write({"a.ipynb": document(IMPORT, "loader = DataLoader([1], num_workers=4)\nfor x in loader: print(x)")})
    assert "DL307" not in project.lint("--output-format", "concise").out


def test_a_notebook_is_read_alike_in_another_run(project: Project) -> None:
    project.write({"a.ipynb": TWO_CELLS})
    cold = project.lint_json()
    project.write({"b.py": "from torch.utils.data import DataLoader\n"})  # so that the run is not the same
    warm = project.command("--output-format", "json")
    assert warm.out == cold.out
    project.write({"same.py": TWO_CELLS})  # the same bytes, but they are no notebook here
    assert project.lint_json("a.ipynb", "same.py").places == [("a.ipynb", 2, "DL209")]


def edited(text: str, row: int, start: int, stop: int, new: str, *, end_row: int | None = None) -> str:
    source = Source.of("a.ipynb", text.encode())
    edit = Edit(Place("a.ipynb", (row, start, end_row or row, stop)), new)
    return apply(source, [edit]).decode()


def test_an_edit_may_neither_leave_its_cell_nor_touch_a_magic() -> None:
    text = document("a = 1", "%magic\nb = 2", "c = 3")
    with pytest.raises(ValueError, match="beyond its cell"):
        edited(text, 1, 0, 2, "", end_row=2)
    with pytest.raises(ValueError, match="only IPython knows"):
        edited(text, 2, 0, 3, "")
    assert json.loads(edited(text, 2, 0, 0, "z = 0\n"))["cells"][1]["source"] == "z = 0\n%magic\nb = 2"
    assert json.loads(edited(text, 3, 0, 0, "", end_row=4))["cells"][1]["source"] == "%magic"


def test_new_lines_become_elements_of_a_list() -> None:
    text = document(["a = 1\n", "b = 2\n", "c = 3"])
    after = edited(text, 2, 0, 0, "x = 0\n")
    assert json.loads(after)["cells"][0]["source"] == ["a = 1\n", "x = 0\n", "b = 2\n", "c = 3"]
    assert [line.strip() for line in after.splitlines() if "\\n" in line] == [
        r'"a = 1\n",',
        r'"x = 0\n",',
        r'"b = 2\n",',
    ]


LINES = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r")), min_size=1, max_size=4)


# Time says nothing on a machine that does other work.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@PATIENT
@given(
    cells=st.lists(st.tuples(LINES, st.booleans()), min_size=1, max_size=4),
    indent=st.sampled_from([None, 1, 2, "\t"]),
    is_ascii=st.booleans(),
    data=st.data(),
)
def test_an_edit_changes_one_cell_whatever_the_json_looks_like(
    cells: list[tuple[list[str], bool]], indent: int | str | None, is_ascii: bool, data: st.DataObject
) -> None:
    texts = ["".join(f"#{line}\n".replace("\n#\n", "\n") for line in lines).rstrip("\n") for lines, _ in cells]
    sources = [
        text.splitlines(keepends=True) if as_list else text for text, (_, as_list) in zip(texts, cells, strict=True)
    ]
    before = json.dumps({"cells": [code(one) for one in sources]}, indent=indent, ensure_ascii=is_ascii)
    found = notebook.read("a.ipynb", before)
    assert [text for _, text in found.parts()] == texts
    number = data.draw(st.integers(0, len(texts) - 1))
    cell = found.cells[number]
    start = data.draw(st.integers(cell.start, cell.stop))
    stop = data.draw(st.integers(start, cell.stop))
    after = found.replaced([(start, stop, "né\nw")])
    source = json.loads(after)["cells"][number]["source"]
    assert "".join(source) == f"{found.text[cell.start : start]}né\nw{found.text[stop : cell.stop]}"
    first, last = cell.value
    assert after[:first] == before[:first]
    assert after[len(after) - len(before) + last :] == before[last:]


@PATIENT
@given(st.text(st.sampled_from("%!?=x(#'\"\\\n \t[")))
def test_masking_moves_no_row(cell: str) -> None:
    code, rows = ipython.masked(cell)
    assert code.count("\n") == cell.count("\n")
    for row, (before, after) in enumerate(zip(cell.split("\n"), code.split("\n"), strict=True)):
        assert row in rows or before == after


def test_python_is_not_masked() -> None:
    text = "a = (b\n  % c)\nd = a \\\n % b\nassert a != b\ne = '%s' % '!'\nf = d % a\nx = {1: 2 != 3}\n"
    assert ipython.masked(text) == (text, set())


def test_a_source_that_is_no_notebook_says_so() -> None:
    with pytest.raises(SourceError, match="no cells"):
        Source.of("a.ipynb", b"{}")
    assert parse(Source.of("a.ipynb", document().encode())).module.body == []
