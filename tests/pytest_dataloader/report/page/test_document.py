"""The page in a real browser: what it asks of the network, what its user can do, and what hostile names cannot."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader.report import json as evidence_file
from pytest_dataloader.report.page import document

if TYPE_CHECKING:
    from pathlib import Path

    from tests.chromium import Page
    from tests.pytest_dataloader.conftest import Project

pytestmark = pytest.mark.xdist_group("browser")

MOST_BYTES = 6_000_000
HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror='window.pwned=1'>\u202e\x1b[31m\udcff{{ 7*7 }}"


@pytest.fixture
def opened(tab: Page, tmp_path: Path, evidence: dict[str, Any]) -> Page:
    """The page of the examples, at 1,280 pixels, in light."""
    document.write_page(tmp_path / "page.html", evidence, "2030-01-01 00:00 UTC")
    tab.look(1280)
    tab.open(tmp_path / "page.html")
    return tab


def draw_everything(page: Page) -> int:
    """Open all loaders and bring each chart into view; how many were drawn."""
    page.evaluate("document.querySelectorAll('details.loader').forEach(each => each.open = true)")
    number = int(page.evaluate("document.querySelectorAll('.plot').length"))
    for at in range(number):
        page.evaluate(f"document.querySelectorAll('.plot')[{at}].scrollIntoView()")
        page.until(f"'drawn' in document.querySelectorAll('.plot')[{at}].dataset")
    return number


def complaints(page: Page) -> list[str]:
    """Errors, console messages, and requests for anything but the file itself and what lies in it."""
    page.evaluate("0")  # takes in what was told meanwhile
    told = [
        json.dumps(event)
        for event in page.events
        if event["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
    ]
    requests = [
        event["params"]["request"]["url"] for event in page.events if event["method"] == "Network.requestWillBeSent"
    ]
    return told + [url for url in requests if not url.startswith(("file:", "blob:", "data:"))]


def download(page: Page, folder: Path) -> str:
    """What the button for the evidence saves."""
    folder.mkdir()
    page.save_downloads(folder)
    page.evaluate("document.getElementById('download').click()")
    path, deadline = folder / "dataloader.json", time.monotonic() + 30
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return path.read_text()


def verdicts(page: Page) -> list[list[str]]:
    """Loader, check and verdict of each row that is shown."""
    cells = "[...row.cells].slice(0, 3).map(cell => cell.textContent)"
    rows = "[...document.querySelectorAll('#table tbody tr')].filter(row => row.checkVisibility())"
    found: list[list[str]] = page.evaluate(f"{rows}.map(row => {cells})")
    return found


def test_it_draws_every_chart_and_asks_nobody_for_anything(opened: Page, tmp_path: Path) -> None:
    assert draw_everything(opened) == 12
    assert opened.evaluate("document.querySelectorAll('.main-svg').length") >= 12
    assert complaints(opened) == []
    assert tmp_path.joinpath("page.html").stat().st_size < MOST_BYTES / 2


def test_the_evidence_is_downloaded_as_the_json_report_has_it(
    opened: Page, tmp_path: Path, evidence: dict[str, Any]
) -> None:
    evidence_file.write_json(tmp_path / "seen.json", evidence)
    assert download(opened, tmp_path / "saved") == (tmp_path / "seen.json").read_text()
    assert complaints(opened) == []


def test_verdicts_are_filtered_and_sorted_by_keyboard(opened: Page) -> None:
    assert len(verdicts(opened)) == 23
    opened.evaluate("document.getElementById('words').focus()")
    for letter in "mem 91":  # words may stand anywhere in a row
        opened.press(letter)
    assert verdicts(opened) == []
    opened.evaluate("document.getElementById('words').value = ''")
    opened.press("d")
    opened.evaluate("document.getElementById('words').select()")
    for letter in "copies rows":
        opened.press(letter)
    assert verdicts(opened) == [["faulty", "memory", "✗ failed"]]
    assert opened.evaluate("document.getElementById('shown').textContent") == "1 of 23"
    opened.evaluate("document.getElementById('words').select()")
    opened.press("a")
    opened.press("Tab")  # to the verdicts to choose from, of which the first below "all" is "failed"
    opened.press("ArrowDown")
    opened.evaluate("document.getElementById('words').value = ''")
    opened.evaluate("document.getElementById('filter').dispatchEvent(new Event('input'))")
    assert {row[2] for row in verdicts(opened)} == {"✗ failed"}
    opened.evaluate("document.getElementById('verdict').value = ''")
    opened.evaluate("document.getElementById('filter').dispatchEvent(new Event('input'))")
    opened.evaluate("document.querySelector('[data-sort=\"2\"]').focus()")
    opened.press("Enter")
    assert [row[2] for row in verdicts(opened)][:2] == ["✗ failed", "✗ failed"]
    opened.press("Enter")
    found = [row[2] for row in verdicts(opened)]
    assert (found[0], found[-1]) == ("○ not measured", "✗ failed")
    assert opened.evaluate("document.querySelector('th[aria-sort]').getAttribute('aria-sort')") == "descending"


def test_a_loader_opens_by_keyboard_from_its_verdict_and_a_chart_has_a_table(opened: Page) -> None:
    opened.press("Tab")  # to the link that skips to the verdicts
    assert opened.evaluate("document.activeElement.className") == "skip"
    opened.evaluate("document.querySelector('#table a[href=\"#loader-1\"]').focus()")
    opened.press("Enter")
    opened.until("document.getElementById('loader-1').open")
    opened.until("document.activeElement === document.querySelector('#loader-1 > summary')")
    opened.press("Enter")
    assert not opened.evaluate("document.getElementById('loader-1').open")
    opened.press(" ")
    assert opened.evaluate("document.getElementById('loader-1').open")
    opened.evaluate("document.querySelector('#loader-1 .data summary').focus()")
    opened.press("Enter")
    opened.until("document.querySelector('#loader-1 .data table')")
    cells = opened.evaluate(
        "[...document.querySelectorAll('#loader-1 .data table td')].slice(0, 2).map(each => each.textContent)"
    )
    assert cells[0] == "wall time per sample"
    assert complaints(opened) == []


def test_a_link_to_a_loader_opens_it(tab: Page, tmp_path: Path, evidence: dict[str, Any]) -> None:
    healthy = evidence["loaders"][1]
    evidence["loaders"].append(healthy | {"id": "another"})
    document.write_page(tmp_path / "page.html", evidence, "")
    tab.open(tmp_path / "page.html", "#loader-1")
    opens = "[...document.querySelectorAll('details.loader')].map(each => each.open)"
    assert tab.evaluate(opens) == [True, True, False]  # the first has failed


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_is_legible_on_a_narrow_screen_in_either_theme(opened: Page, *, dark: bool) -> None:
    opened.look(400, 800, dark=dark, mobile=True)
    draw_everything(opened)
    opened.evaluate("document.querySelectorAll('.data').forEach(each => each.open = true)")
    assert opened.evaluate("document.documentElement.scrollWidth") == 400
    beyond = (
        "[...document.querySelectorAll('.plot svg')].filter(each => each.getBoundingClientRect().right > 400).length"
    )
    assert opened.evaluate(beyond) == 0
    faint = opened.evaluate("""(() => {
      const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
      const light = (color) => numbers(color).slice(0, 3).map((each) => each / 255)
        .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
        .reduce((sum, each, at) => sum + each * [0.2126, 0.7152, 0.0722][at], 0);
      const below = (each) => { // the first background that is not transparent
        while (each && (numbers(getComputedStyle(each).backgroundColor)[3] ?? 1) === 0) each = each.parentElement;
        return light(getComputedStyle(each ?? document.body).backgroundColor);
      };
      const contrast = (each, property) => {
        const pair = [light(getComputedStyle(each)[property]), below(each)].sort((a, b) => b - a);
        return (pair[0] + 0.05) / (pair[1] + 0.05);
      };
      const texts = [...document.querySelectorAll('body *')]
        .filter((each) => !each.closest('svg, .plot, script, noscript'))
        .filter((each) => each.textContent.trim() && each.checkVisibility());
      const labels = [...document.querySelectorAll('.plot .main-svg text')].filter((each) => each.textContent);
      return [...texts.map((each) => [each, 'color']), ...labels.map((each) => [each, 'fill'])]
        .filter(([each, property]) => contrast(each, property) < 4.5).map(([each]) => each.outerHTML.slice(0, 200));
    })()""")
    assert faint == []
    background = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")


def test_the_theme_can_be_chosen_and_is_kept(opened: Page, tmp_path: Path) -> None:
    for told in ("Theme: light", "Theme: dark"):
        opened.evaluate("document.getElementById('theme').click()")
        assert opened.evaluate("document.getElementById('theme').textContent") == told
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    opened.open(tmp_path / "page.html")
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"


def test_on_paper_it_is_black_on_white_without_its_tools(opened: Page) -> None:
    opened.look(1280, dark=True)
    draw_everything(opened)
    told = opened.call("Page.printToPDF", printBackground=True)
    assert len(told["data"]) > 50_000
    opened.call(
        "Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not opened.evaluate("document.getElementById('filter').checkVisibility()")
    assert complaints(opened) == []


def test_charts_that_nobody_scrolled_to_are_drawn_as_well_so_that_they_can_be_printed(opened: Page) -> None:
    opened.evaluate("document.getElementById('open').click()")
    opened.until("document.querySelectorAll('.plot[data-drawn]').length === document.querySelectorAll('.plot').length")
    assert opened.evaluate("scrollY") == 0
    assert complaints(opened) == []


def test_failures_come_first_and_are_open(opened: Page) -> None:
    shown = verdicts(opened)
    assert [row[2] for row in shown[:2]] == ["✗ failed", "✗ failed"]
    opens = "[...document.querySelectorAll('details.loader')].map(each => each.open)"
    assert opened.evaluate(opens) == [True, False]


def test_a_remedy_is_copied_by_its_button(opened: Page) -> None:
    opened.evaluate("document.querySelector('.copy').click()")
    opened.until("document.querySelector('.copy').textContent === 'Copied'")
    assert complaints(opened) == []


def test_code_of_a_remedy_is_set_as_code_and_copied_without_the_words_around_it(
    tab: Page, tmp_path: Path, evidence: dict[str, Any]
) -> None:
    advice = next(loader for loader in evidence["loaders"] if loader["checks"]["memory"]["advice"])["checks"]["memory"]
    advice["advice"] = [{"code": "DL301", "text": "keep it in an array:\n    a = [\n        1]\n    b = a\ntried: 0 %"}]
    document.write_page(tmp_path / "page.html", evidence, "2030-01-01 00:00 UTC")
    tab.open(tmp_path / "page.html")
    tab.evaluate("document.querySelector('li:has(code) .copy').click()")
    tab.until("document.querySelector('li:has(code) .copy').textContent === 'Copied'")
    assert tab.evaluate("document.querySelector('li code').textContent") == "a = [\n    1]\nb = a"
    assert tab.evaluate("getSelection().toString()") in ("", "a = [\n    1]\nb = a")
    shown = tab.evaluate("document.querySelector('li:has(code)').innerText").splitlines()
    assert "tried: 0 %" in shown[-1]
    assert shown[0].endswith("keep it in an array:")


def test_a_quick_run_says_so_above_and_at_each_chart(tab: Page, tmp_path: Path, evidence: dict[str, Any]) -> None:
    evidence["environment"] |= {"quick": True, "project": "photos", "commit": "1a2b3c4"}
    document.write_page(tmp_path / "page.html", evidence, "2030-01-01 00:00 UTC")
    tab.open(tmp_path / "page.html")
    assert tab.evaluate("document.querySelector('h1').textContent") == "photos @ 1a2b3c4"
    assert "1a2b3c4" in tab.evaluate("document.querySelector('.environment').textContent")
    assert tab.evaluate("document.title").startswith("photos @ 1a2b3c4: 2 failed")
    assert "quick run" in tab.evaluate("document.querySelector('header').textContent")
    captions = tab.evaluate("[...document.querySelectorAll('figcaption')].map(each => each.textContent)")
    assert all(caption.endswith("Quick run: few samples.") for caption in captions)
    evidence["environment"]["commit"] = None
    document.write_page(tmp_path / "page.html", evidence, "2030-01-01 00:00 UTC")
    tab.open(tmp_path / "page.html")
    assert "commit" not in tab.evaluate("document.querySelector('.environment').textContent")


def test_hostile_names_are_text(tab: Page, tmp_path: Path, evidence: dict[str, Any]) -> None:
    loader = evidence["loaders"][0]
    loader |= {"id": HOSTILE, "nodeid": HOSTILE, "description": HOSTILE}
    memory = loader["checks"]["memory"]
    memory |= {"reason": f"{HOSTILE}\n{HOSTILE}", "advice": [{"code": HOSTILE, "text": HOSTILE}]}
    memory["limits"] = {HOSTILE: HOSTILE}
    memory["evidence"]["attributes"][0] |= {"path": HOSTILE, "type": HOSTILE}
    loader["checks"]["stages"]["evidence"]["timeline"]["batches"][0]["indices"] = [HOSTILE]
    loader["tune"]["evidence"]["rows"][0]["change"] = HOSTILE
    evidence["environment"]["cpu_model"] = HOSTILE
    evidence["loaders"] = [loader]
    document.write_page(tmp_path / "page.html", evidence, "")
    tab.look(400, mobile=True)
    tab.open(tmp_path / "page.html")
    assert draw_everything(tab) == 6
    tab.evaluate("document.querySelectorAll('.data').forEach(each => each.open = true)")
    tab.until("document.querySelectorAll('.data table').length === 6")
    assert tab.evaluate("window.pwned") is None
    assert tab.evaluate("document.querySelectorAll('img[src=x]').length") == 0
    assert tab.evaluate("document.querySelector('#table a').textContent").endswith("\\u202e\\x1b[31m\\xff{{ 7*7 }}")
    assert tab.evaluate("document.documentElement.scrollWidth") == 400
    assert json.loads(download(tab, tmp_path / "saved")) == evidence
    assert complaints(tab) == []


def test_a_run_without_loaders_has_a_page(tab: Page, tmp_path: Path) -> None:
    document.write_page(tmp_path / "page.html", {"schema": 1, "environment": {}, "loaders": []}, "")
    tab.open(tmp_path / "page.html")
    assert tab.evaluate("document.querySelector('header p').textContent") == "0 loaders: nothing measured"
    assert complaints(tab) == []


@pytest.mark.slow
def test_fifty_loaders_stay_small_and_open(tab: Page, tmp_path: Path, evidence: dict[str, Any]) -> None:
    named = [each | {"id": f"{each['id']}-{number}"} for number in range(25) for each in evidence["loaders"]]
    document.write_page(tmp_path / "page.html", evidence | {"loaders": named}, "")
    assert tmp_path.joinpath("page.html").stat().st_size < MOST_BYTES
    tab.look(1280)
    tab.open(tmp_path / "page.html", "#loader-49")
    assert len(verdicts(tab)) == 25 * 23
    assert tab.evaluate("document.getElementById('loader-49').open")
    tab.until("document.querySelectorAll('#loader-49 .plot[data-drawn]').length > 0")
    assert not tab.evaluate("document.querySelectorAll('details:not([open]) .plot[data-drawn]').length")
    assert complaints(tab) == []


LOADERS = """
import time
import torch
from torch.utils.data import DataLoader, Dataset

class Samples(Dataset):
    def __init__(self, objects):
        self.names = [str(number) for number in range(objects)] if objects else None
        self.data = torch.zeros(20_000, 16)
    def __len__(self):
        return len(self.data)
    def __getitem__(self, index):
        time.sleep(0.0002)
        return self.data[index], len(self.names[index]) if self.names else 0

def healthy():
    return DataLoader(Samples(0), batch_size=16, num_workers=2, shuffle=True)

def faulty():
    return DataLoader(Samples(20_000), batch_size=16, num_workers=2, shuffle=True)
"""


@pytest.mark.slow
@pytest.mark.xdist_group("time")
def test_a_run_of_a_healthy_and_a_faulty_loader_writes_its_page(project: Project, tab: Page) -> None:
    project.path.joinpath("loaders.py").write_text(LOADERS)
    checks = 'checks = ["throughput", "stages", "memory", "fds", "shm"]\nmin_samples_per_second = 1\n'
    project.declare(
        healthy=f'loader = "loaders:healthy"\n{checks}',
        faulty=f'loader = "loaders:faulty"\n{checks}max_worker_growth = 0',
    )
    done = project.bench("--dataloader-html=deep/page.html", "-p", "no:cacheprovider")
    done.stdout.fnmatch_lines([f"-* dataloader page: {project.path}/deep/page.html -*"])
    path = project.path / "deep" / "page.html"
    assert path.stat().st_size < MOST_BYTES / 2
    tab.look(1280)
    tab.open(path)
    told = {(loader, check): verdict for loader, check, verdict in verdicts(tab)}
    seen = project.loaders
    assert len(told) == 10
    for (loader, check), verdict in told.items():
        assert verdict[2:].replace(" ", "_") == seen[loader]["checks"][check]["verdict"]
    assert told["faulty", "memory"] == "✗ failed"
    assert told["healthy", "memory"] == "✓ passed"
    assert "DL301" in tab.evaluate("document.querySelector('#loader-1 .changes').textContent")
    titles = tab.evaluate("[...document.querySelectorAll('#loader-1 figcaption b')].map(each => each.textContent)")
    assert titles == ["Stages", "Rate by window", "Batches", "Memory", "Timeline", "Descriptors and segments"]
    assert draw_everything(tab) == 12
    assert complaints(tab) == []
    assert json.loads(download(tab, project.path / "saved")) == json.loads((project.path / "seen.json").read_text())
