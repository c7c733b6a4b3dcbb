"""``dl-lint server``: findings in editors, over the language server protocol on standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer

from dl_lint import __version__, fixes
from dl_lint.config import locate
from dl_lint.edits import spelled_out
from dl_lint.engine import catalogue
from dl_lint.engine.report import Failure
from dl_lint.engine.selection import ConfigError
from dl_lint.output.rules import explanation
from dl_lint.session import Session, Wishes
from dl_lint.silencing import silenced
from dl_lint.source.file import encoded
from dl_lint.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dl_lint.engine.reading import Before
    from dl_lint.engine.report import Entry, Reported
    from dl_lint.rule import Edit
    from dl_lint.source.positions import Place

# After the last key; a warm run over 300 files takes less.
QUIET_SECONDS = 0.3

LARGEST_BYTES = 2_000_000
"""Of a document: a run takes 100 times as much memory, and half a second for each 100,000 lines."""

SEVERITIES = {
    "bug": lsp.DiagnosticSeverity.Error,
    "slow": lsp.DiagnosticSeverity.Warning,
    "advice": lsp.DiagnosticSeverity.Information,
}
QUICK_FIX = lsp.CodeActionKind.QuickFix.value
FIX_ALL = f"{lsp.CodeActionKind.SourceFixAll.value}.dl-lint"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run found in one open document, as it was then."""

    version: int | None
    texts: Texts
    findings: tuple[Reported, ...] = ()
    failures: tuple[Failure, ...] = ()


def lint(
    documents: Mapping[str, tuple[int | None, bytes]], rules: Mapping[str, Entry], before: Before
) -> dict[str, Seen]:
    """What is to be said of open documents, by absolute path; each project is linted as it would be with them saved."""
    found: dict[str, Seen] = {}
    by_home: dict[str | None, list[str]] = {}
    for path, (version, data) in documents.items():
        if len(data) > LARGEST_BYTES:
            failure = Failure(path, f"more than {LARGEST_BYTES / 1e6:.0f} MB, which is too much while somebody types")
            found[path] = Seen(version, Texts({}), failures=(failure,))
            continue
        by_home.setdefault(locate([path]).root, []).append(path)
    for paths in by_home.values():
        outcome = Session(Wishes(given={path: documents[path][1] for path in paths}), rules, before).lint()
        for path in paths:
            findings = tuple(one for one in outcome.report.findings if one.path == path)
            failures = tuple(one for one in outcome.report.failures if one.path == path)
            found[path] = Seen(documents[path][0], outcome.texts, findings, failures)
    return found


class Desk:
    """The open documents and what was last said of them."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._rules = catalogue.entries()
        self._before: Before = {}
        self._seen: dict[str, Seen] = {}
        self._asked = 0
        self._running = asyncio.Lock()
        self._complaint = ""

    async def refresh(self, delay_seconds: float) -> None:
        """Lint what is open, unless somebody asks again before it begins."""
        loop = asyncio.get_running_loop()
        self._asked += 1
        mine = self._asked
        await asyncio.sleep(delay_seconds)
        async with self._running:
            if mine != self._asked:
                return
            documents = self._documents()
            try:
                found = await loop.run_in_executor(None, lint, documents, self._rules, self._before)
            except ConfigError as error:
                self._complain(f"dl-lint: {error}")
                return
            self._complaint = ""
            self._seen = found
            for path, seen in found.items():
                self._publish(path, seen)
            await loop.run_in_executor(None, _tidy)

    def forget(self, uri: str) -> None:
        self._seen.pop(uris.to_fs_path(uri) or "", None)
        self._server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def _documents(self) -> dict[str, tuple[int | None, bytes]]:
        found = {}
        for document in self._server.workspace.text_documents.values():
            path = uris.to_fs_path(document.uri)
            if path and (document.language_id == "python" or path.endswith(".py")):
                found[os.path.abspath(path)] = (document.version, encoded(document.source))
        return found

    def _complain(self, text: str) -> None:
        """Once, not after every key."""
        if text != self._complaint:
            self._complaint = text
            self._server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, text))

    # --- diagnostics -------------------------------------------------------------------

    def _publish(self, path: str, seen: Seen) -> None:
        shown = [self._diagnostic(seen.texts, one) for one in seen.findings]
        shown += [_failed(one) for one in seen.failures]
        uri = uris.from_fs_path(path)
        self._server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, shown, seen.version))

    def _diagnostic(self, texts: Texts, reported: Reported) -> lsp.Diagnostic:
        finding, rule = reported.finding, reported.rule
        related = [
            lsp.DiagnosticRelatedInformation(
                lsp.Location(uris.from_fs_path(os.path.abspath(one.place.path)), self._range(texts, one.place)),
                one.message,
            )
            for one in finding.related
        ]
        return lsp.Diagnostic(
            range=self._range(texts, finding.place),
            message=f"{finding.message}\nhelp: {finding.remedy}",
            severity=SEVERITIES[reported.severity],
            code=rule.code,
            code_description=lsp.CodeDescription(catalogue.url(rule)),
            source="dl-lint",
            tags=[lsp.DiagnosticTag.Unnecessary] if rule == catalogue.UNUSED_SUPPRESSION else None,
            related_information=related,
        )

    def _range(self, texts: Texts, place: Place) -> lsp.Range:
        """In the units of the client, which are mostly those of UTF-16."""
        row, column, end_row, end_column = place.span
        codec, lines = self._server.workspace.position_codec, texts.lines(place.path)
        return lsp.Range(
            codec.position_to_client_units(lines, lsp.Position(row - 1, column)),
            codec.position_to_client_units(lines, lsp.Position(end_row - 1, end_column)),
        )

    # --- actions and pages -------------------------------------------------------------

    def actions(self, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        path = os.path.abspath(uris.to_fs_path(uri) or "")
        seen = self._seen.get(path)
        if seen is None or seen.version != self._server.workspace.get_text_document(uri).version:
            return []  # positions are of a text that is gone
        wanted = params.context.only
        found: list[lsp.CodeAction] = []
        findings = [one._replace(finding=spelled_out(one.finding, seen.texts.lines)) for one in seen.findings]
        if _is_wanted(QUICK_FIX, wanted):
            for reported in findings:
                if _touch(self._range(seen.texts, reported.finding.place), params.range):
                    found += self._quick_fixes(seen, reported)
        if _is_wanted(FIX_ALL, wanted):
            chosen = fixes.choose(findings, unsafe=False, paths={path})
            if chosen:
                edits = [edit for edits in fixes.edits_by_path(chosen).values() for edit in edits]
                title = "Fix all that dl-lint can fix safely"
                found.append(lsp.CodeAction(title, FIX_ALL, edit=self._edit(seen, edits)))
        return found

    def _quick_fixes(self, seen: Seen, reported: Reported) -> Iterator[lsp.CodeAction]:
        kind, diagnostics = QUICK_FIX, [self._diagnostic(seen.texts, reported)]
        finding, code = reported.finding, reported.rule.code
        if finding.fix is not None:
            risk = "" if finding.fix.safe else ", which may change what the code does"
            title = f"{code}: {finding.fix.message}{risk}"
            edit = self._edit(seen, finding.fix.edits)
            yield lsp.CodeAction(title, kind, diagnostics, is_preferred=finding.fix.safe, edit=edit)
        comment = silenced(seen.texts.lines(reported.path), reported)
        if comment is not None:
            yield lsp.CodeAction(f"{code}: accept it here", kind, diagnostics, edit=self._edit(seen, [comment]))

    def _edit(self, seen: Seen, edits: Iterable[Edit]) -> lsp.WorkspaceEdit:
        changes: dict[str, list[lsp.TextEdit]] = {}
        for edit in edits:
            uri = uris.from_fs_path(os.path.abspath(edit.place.path))
            changes.setdefault(uri, []).append(lsp.TextEdit(self._range(seen.texts, edit.place), edit.text))
        return lsp.WorkspaceEdit(changes=changes)

    def page(self, params: lsp.HoverParams) -> lsp.Hover | None:
        """The page of the rule whose finding is pointed at."""
        seen = self._seen.get(os.path.abspath(uris.to_fs_path(params.text_document.uri) or ""))
        for reported in seen.findings if seen is not None else ():
            at = self._range(seen.texts, reported.finding.place) if seen is not None else None
            if at is not None and _touch(at, lsp.Range(params.position, params.position)):
                text = lsp.MarkupContent(lsp.MarkupKind.Markdown, explanation(reported.rule))
                return lsp.Hover(text, at)
        return None


def _tidy() -> None:
    """Free what a run leaves in cycles, and count what is kept, which is the syntax of every file, out of the next."""
    gc.collect()
    gc.freeze()


def _failed(failure: Failure) -> lsp.Diagnostic:
    line = (failure.line or 1) - 1
    at = lsp.Range(lsp.Position(line, 0), lsp.Position(line + 1, 0))
    message = f"not checked: {failure.message}"
    return lsp.Diagnostic(at, message, severity=lsp.DiagnosticSeverity.Information, source="dl-lint")


def _touch(one: lsp.Range, other: lsp.Range) -> bool:
    return one.start <= other.end and other.start <= one.end


def _is_wanted(kind: str, wanted: Iterable[str] | None) -> bool:
    return wanted is None or any(f"{kind}.".startswith(f"{str.__str__(one)}.") for one in wanted)


def serve() -> None:
    """Until the editor says goodbye."""
    server = LanguageServer("dl-lint", __version__)
    desk = Desk(server)

    @server.feature(lsp.INITIALIZED)
    def begun(_params: lsp.InitializedParams) -> None:
        """Paths in messages are relative to the workspace, wherever the editor started the server."""
        with contextlib.suppress(OSError):  # a folder that is not on this machine
            os.chdir(server.workspace.root_path or ".")

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(_params: lsp.DidOpenTextDocumentParams) -> None:
        await desk.refresh(0)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(_params: lsp.DidChangeTextDocumentParams) -> None:
        await desk.refresh(QUIET_SECONDS)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def saved(_params: lsp.DidSaveTextDocumentParams) -> None:
        await desk.refresh(0)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def written(_params: lsp.DidChangeWatchedFilesParams) -> None:
        await desk.refresh(QUIET_SECONDS)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        desk.forget(params.text_document.uri)

    kinds = lsp.CodeActionOptions(code_action_kinds=[QUICK_FIX, FIX_ALL])

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, kinds)
    def act(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return desk.actions(params)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        return desk.page(params)

    server.start_io()
