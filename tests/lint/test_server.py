"""The language server, driven over its pipes by a client of pygls."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.client import LanguageClient

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.lint.conftest import Project

# pygls 2.1 calls it whenever a message comes, and swallows what is raised then; Python 3.14 deprecates it.
pytestmark = pytest.mark.filterwarnings("ignore:'asyncio.iscoroutinefunction' is deprecated:DeprecationWarning:pygls")

DATA = """\
from torch.utils.data import DataLoader


def make(dataset, workers):
    return DataLoader(dataset, num_workers=workers, pin_memory=True)
"""
TRAIN = """\
from data import make

loader = make([1], 0)
for batch in loader:
    print(batch)
"""


class Editor:
    """A client that remembers the last diagnostics of each file."""

    def __init__(self) -> None:
        self.client = LanguageClient("test", "1")
        self.published: dict[str, lsp.PublishDiagnosticsParams] = {}
        self.shown: list[str] = []
        self._news = asyncio.Event()

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]  # of pygls
        def publish(params: lsp.PublishDiagnosticsParams) -> None:
            self.published[params.uri] = params
            self._news.set()

        @self.client.feature(lsp.WINDOW_SHOW_MESSAGE)  # type: ignore[untyped-decorator]  # of pygls
        def show(params: lsp.ShowMessageParams) -> None:
            self.shown.append(params.message)
            self._news.set()

    async def start(self, root: Path) -> None:
        await self.client.start_io(sys.executable, "-m", "dl_lint", "server")
        capabilities = lsp.ClientCapabilities()
        await self.client.initialize_async(lsp.InitializeParams(capabilities, root_uri=root.as_uri()))
        self.client.initialized(lsp.InitializedParams())

    def open(self, path: Path, text: str) -> str:
        item = lsp.TextDocumentItem(path.as_uri(), "python", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return item.uri

    def change(self, uri: str, version: int, text: str) -> None:
        document = lsp.VersionedTextDocumentIdentifier(version, uri)
        whole = lsp.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [whole]))

    async def until(self, met: Callable[[], bool]) -> None:
        while not met():
            self._news.clear()
            await self._news.wait()

    async def diagnostics(self, uri: str, version: int) -> list[lsp.Diagnostic]:
        await self.until(lambda: uri in self.published and self.published[uri].version == version)
        return list(self.published[uri].diagnostics)

    async def actions(self, uri: str, at: lsp.Range, *only: str) -> list[Any]:
        context = lsp.CodeActionContext([], only=list(only) or None)
        params = lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), at, context)
        return list(await self.client.text_document_code_action_async(params) or [])

    async def stop(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()  # type: ignore[no-untyped-call]  # of pygls


def drive(root: Path, play: Callable[[Editor], Awaitable[None]]) -> None:
    async def session() -> None:
        editor = Editor()
        await editor.start(root)
        try:
            await play(editor)
        finally:
            await editor.stop()

    asyncio.run(asyncio.wait_for(session(), timeout=120))


def test_diagnostics_follow_what_is_typed_and_fixes_can_be_applied(project: Project, faulty: str, mended: str) -> None:
    project.write({"data.py": mended})
    faulty = faulty.replace("def make_loader(dataset):", 'def make_loader(dataset, mark="🙂"):')
    faulty = faulty.replace("return DataLoader(", 'return "🙂" and DataLoader(')

    async def play(editor: Editor) -> None:
        uri = editor.open(project.root / "data.py", faulty)
        [found] = await editor.diagnostics(uri, 1)
        assert (found.code, found.source, found.severity) == ("DL209", "dl-lint", lsp.DiagnosticSeverity.Warning)
        line = faulty.splitlines()[4]
        start = len(line[: line.index("pin_memory_device")].encode("utf-16-le")) // 2
        assert found.range.start == lsp.Position(4, start)
        assert found.code_description is not None
        assert found.code_description.href.endswith("/rules/DL209/")
        fix, accept = await editor.actions(uri, found.range, "quickfix")
        assert (fix.title, fix.is_preferred) == ("DL209: leave `pin_memory_device` out", True)
        [edit] = fix.edit.changes[uri]
        lines = faulty.splitlines(keepends=True)
        units = lines[4].encode("utf-16-le")
        assert edit.range.start.line == edit.range.end.line == 4
        new = units[: 2 * edit.range.start.character] + units[2 * edit.range.end.character :]
        assert new.decode("utf-16-le") == lines[4].replace(', pin_memory_device="cuda"', "")
        assert accept.edit.changes[uri][0].new_text == "  # dl-lint: ignore[DL209]"
        [everything] = await editor.actions(uri, found.range, "source.fixAll")
        assert everything.kind == "source.fixAll.dl-lint"
        assert everything.edit.changes == fix.edit.changes
        editor.change(uri, 2, mended)
        assert await editor.diagnostics(uri, 2) == []
        assert await editor.actions(uri, found.range) == []

    drive(project.root, play)


@pytest.mark.slow
def test_hovering_shows_the_page_of_the_rule(project: Project, faulty: str) -> None:
    async def play(editor: Editor) -> None:
        uri = editor.open(project.root / "data.py", faulty)
        [found] = await editor.diagnostics(uri, 1)
        at = lsp.HoverParams(lsp.TextDocumentIdentifier(uri), found.range.start)
        hover = await editor.client.text_document_hover_async(at)
        assert hover is not None
        assert isinstance(hover.contents, lsp.MarkupContent)
        assert hover.contents.value.startswith("# DL209 ignored-pin-memory-device (slow)\n")
        elsewhere = lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(0, 0))
        assert await editor.client.text_document_hover_async(elsewhere) is None

    drive(project.root, play)


def test_an_unsaved_change_in_one_file_is_seen_from_another(project: Project) -> None:
    project.write({"data.py": DATA, "train.py": TRAIN})

    async def play(editor: Editor) -> None:
        train = editor.open(project.root / "train.py", TRAIN)
        assert await editor.diagnostics(train, 1) == []
        data = editor.open(project.root / "data.py", DATA)
        assert await editor.diagnostics(data, 1) == []
        editor.published.clear()
        editor.change(data, 2, DATA.replace("num_workers=workers", "num_workers=4"))
        assert [one.code for one in await editor.diagnostics(train, 1)] == ["DL307"]

    drive(project.root, play)


def test_what_cannot_be_parsed_and_what_cannot_be_meant_is_said(project: Project, faulty: str) -> None:
    async def play(editor: Editor) -> None:
        uri = editor.open(project.root / "data.py", faulty + "def (:\n")
        [found] = await editor.diagnostics(uri, 1)
        assert (found.range.start.line, found.message[:27]) == (5, "not checked: syntax error f")
        project.write({"pyproject.toml": "[tool.dl-lint]\nslect = []\n"})
        editor.change(uri, 2, faulty)
        await editor.until(lambda: bool(editor.shown))
        assert 'has no key "slect" (did you mean "select"?)' in editor.shown[0]
        project.write({"pyproject.toml": "[tool.dl-lint]\nignore = ['DL209']\n"})
        document = lsp.TextDocumentIdentifier(uri)
        editor.client.text_document_did_save(lsp.DidSaveTextDocumentParams(document))
        assert await editor.diagnostics(uri, 2) == []
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(document))
        await editor.until(lambda: editor.published[uri].version is None)

    drive(project.root, play)


@pytest.mark.slow
def test_a_file_in_another_encoding_is_read_as_it_would_be_saved(project: Project, faulty: str) -> None:
    text = "# -*- coding: latin-1 -*-\n" + faulty.replace("dataset,", 'dataset or "é",')

    async def play(editor: Editor) -> None:
        uri = editor.open(project.root / "data.py", text)
        [found] = await editor.diagnostics(uri, 1)
        assert found.range.start.character == text.splitlines()[5].index("pin_memory_device")

    drive(project.root, play)


def test_the_server_says_what_it_needs(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.delitem(sys.modules, "dl_lint.server", raising=False)
    ran = project.lint("server")
    assert (ran.status, ran.err) == (
        2,
        "dl-lint: error: the server needs pygls: pip install 'dl-lint[server]'\n",
    )
    assert "usage: dl-lint server" in project.lint("server", "--help").out
    assert uris.to_fs_path((project.root / "server").as_uri()) == str(project.root / "server")


ANSWER = """
import gc, sys
from dl_lint.engine import catalogue
from dl_lint.project import Project
from dl_lint.server import lint

path, text = sys.argv[1:]
found = lint({path: (1, text.encode())}, catalogue.entries(), {})
gc.collect()
print(len(found[path].findings), sum(isinstance(each, Project) for each in gc.get_objects()))
"""


def test_what_was_said_does_not_keep_the_project_in_memory(project: Project, faulty: str) -> None:
    project.write({"train.py": faulty})
    text = f"{faulty}# another text than any cache knows: {project.root}\n"
    command = [sys.executable, "-c", ANSWER, str(project.root / "train.py"), text]
    findings, projects = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert int(findings) >= 1
    assert int(projects) == 0


class Wire:
    """A server started elsewhere than in its workspace, and spoken to byte by byte, to see how its process ends."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dl_lint", "server"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def send(self, method: str, parameters: Any, number: int | None = None) -> None:
        identity = {} if number is None else {"id": number}
        message = json.dumps({"jsonrpc": "2.0", **identity, "method": method, "params": parameters}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(message), message))
        self.process.stdin.flush()

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        assert self.process.stdout is not None
        while True:
            length = 0
            while line := self.process.stdout.readline().strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            message: dict[str, Any] = json.loads(self.process.stdout.read(length))
            if wanted(message):
                return message


def test_the_server_ends_with_0_after_shutdown_and_names_files_from_the_workspace(project: Project) -> None:
    makes = "from torch.utils.data import DataLoader\n\n\ndef make(data):\n    return DataLoader(data, num_workers=4)\n"
    copies = (
        "from makers import make\n\n\ndef train(model, data, device):\n    for images in make(data):\n"
        "        model(images.to(device, non_blocking=True))\n"
    )
    project.write({"pyproject.toml": "", "makers.py": makes, "data.py": copies})
    root = project.root
    wire = Wire(root.parent)
    workspace: dict[str, Any] = {"processId": None, "rootUri": root.as_uri(), "capabilities": {}}
    wire.send("initialize", workspace, 1)
    wire.until(lambda message: message.get("id") == 1)
    wire.send("initialized", {})
    document = {"uri": (root / "data.py").as_uri(), "languageId": "python", "version": 1, "text": copies}
    wire.send("textDocument/didOpen", {"textDocument": document})
    said = wire.until(lambda message: message.get("method") == "textDocument/publishDiagnostics")
    [finding] = said["params"]["diagnostics"]
    assert "(makers.py:5)" in finding["message"]
    wire.send("shutdown", None, 2)
    wire.until(lambda message: message.get("id") == 2)
    wire.send("exit", None)
    wire.process.communicate(timeout=60)
    assert wire.process.returncode == 0
