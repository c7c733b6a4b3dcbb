"""Drives ``dl-lint server`` with random edits on a large project, and tells its memory and its longest answers.

    python benchmarks/lint_server_edits.py CHECKOUT... [--minutes 60] [--lines 100000] [--open 6] [--every 10]

The Python files of the checkouts are copied, side by side and at most so many lines, into a project of its own. A few
of them are open at a time. Each step changes some lines of one (drops, doubles, swaps, cuts or types), now and then
puts it back, saves it, or closes it and opens another, and waits for the diagnostics of just that version; then it may
ask for the actions of the whole file and the page under a finding, as an editor does. A row every ten minutes:

* answer: from the change to its diagnostics, the 0.3 s after the last key included; that of all steps, and the longest;
* CPU: what the server used for the answer that took most, which other load does not move;
* memory: what is resident at the end of the row, and the peak.

It fails where an answer does not come in ten minutes, or where the memory after the first half goes on to grow.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from lsprotocol import types as lsp

from tests.lint.test_server import Editor

LONGEST_SECONDS = 600
"""Longer is no end: beside other load an answer takes a minute."""
GROWTH = 1.15
"""Of the resident memory at the end over that at half time: more is growth and no noise of the allocator."""

TYPED = [
    "import torch",
    "loader = DataLoader(dataset, num_workers=0, pin_memory=True)",
    "for batch in DataLoader(dataset, batch_size=4, num_workers=8):",
    "    loss = model(batch.cuda()).item()",
    "    return torch.tensor(self.data[index])",
    "class Data(Dataset):",
    "def make(dataset, workers=(",
    "x = '''",
]


@dataclass
class Document:
    """An open file as the editor holds it."""

    path: Path
    lines: list[str]
    uri: str = ""
    version: int = 1


@dataclass
class Row:
    """What was seen in one stretch of time."""

    answers: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    findings: int = 0


def copy_project(checkouts: list[Path], target: Path, most_lines: int) -> int:
    """The lines that were copied."""
    lines = 0
    for checkout in checkouts:
        for path in sorted(checkout.rglob("*.py")):
            if path.is_symlink() or not path.is_file() or lines >= most_lines:
                continue
            copy = target / checkout.name / path.relative_to(checkout)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            lines += path.read_bytes().count(b"\n")
    (target / "pyproject.toml").write_text("[project]\nname = 'many'\n")
    return lines


def edited(lines: list[str], chance: random.Random) -> tuple[int, int, list[str]]:
    """Where lines are replaced, from and to, and by which."""
    at = chance.randrange(len(lines))
    end = min(at + chance.randint(1, 4), len(lines))
    match chance.randrange(5):
        case 0:
            return at, end, []
        case 1:
            return at, at, lines[at:end]
        case 2:
            return at, end, lines[at:end][::-1]
        case 3:
            return at, at + 1, [lines[at][: chance.randint(0, len(lines[at]))]]
        case _:
            return at, at, [chance.choice(TYPED)]


class Session:
    """An editor on one project for some time."""

    def __init__(self, editor: Editor, root: Path, chance: random.Random, wanted: int) -> None:
        self._editor, self._chance, self._wanted = editor, chance, wanted
        candidates = [path for path in sorted(root.rglob("*.py")) if 0 < path.stat().st_size < 200_000]
        loading = [path for path in candidates if b"DataLoader" in path.read_bytes()]
        self._paths = [*loading, *chance.sample(candidates, min(len(loading), len(candidates)))]
        self._open: list[Document] = []

    async def step(self) -> int:
        """Change one document and wait for what is said of it; the number of findings."""
        if len(self._open) < self._wanted:
            return await self._open_another()
        document = self._chance.choice(self._open)
        kind = self._chance.random()
        if kind < 0.03:
            self._close(document)
            return await self._open_another()
        if kind < 0.08:
            document.version += 1
            document.lines = self._text(document.path)
            self._editor.change(document.uri, document.version, "\n".join(document.lines))
        else:
            for _ in range(self._chance.choice([1, 1, 1, 8])):  # keys pressed faster than answers come
                self._change_lines(document)
        if kind > 0.95:
            params = lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(document.uri))
            self._editor.client.text_document_did_save(params)
        return await self._answer(document)

    async def ask(self) -> None:
        """For the actions of a document, and for the page of one of its findings."""
        document = self._chance.choice(self._open)
        everything = lsp.Range(lsp.Position(0, 0), lsp.Position(len(document.lines), 0))
        await self._editor.actions(document.uri, everything)
        for found in self._editor.published[document.uri].diagnostics[:1]:
            at = lsp.HoverParams(lsp.TextDocumentIdentifier(document.uri), found.range.start)
            await self._editor.client.text_document_hover_async(at)

    @staticmethod
    def _text(path: Path) -> list[str]:
        return path.read_text(encoding="utf-8", errors="replace").split("\n")

    async def _open_another(self) -> int:
        taken = {document.path for document in self._open}
        path = self._chance.choice([one for one in self._paths if one not in taken])
        document = Document(path, self._text(path))
        self._editor.published.pop(path.as_uri(), None)
        document.uri = self._editor.open(path, "\n".join(document.lines))
        self._open.append(document)
        return await self._answer(document)

    def _close(self, document: Document) -> None:
        params = lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(document.uri))
        self._editor.client.text_document_did_close(params)
        self._open.remove(document)

    def _change_lines(self, document: Document) -> None:
        document.version += 1
        begin, end, new = edited(document.lines, self._chance)
        last = len(document.lines)
        if end < last:
            at = lsp.Range(lsp.Position(begin, 0), lsp.Position(end, 0))
            changes = lsp.TextDocumentContentChangePartial(at, "".join(f"{line}\n" for line in new))
            identifier = lsp.VersionedTextDocumentIdentifier(document.version, document.uri)
            self._editor.client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [changes]))
        document.lines[begin:end] = new
        document.lines = document.lines or [""]
        if end >= last:
            self._editor.change(document.uri, document.version, "\n".join(document.lines))

    async def _answer(self, document: Document) -> int:
        found = await asyncio.wait_for(
            self._editor.diagnostics(document.uri, document.version), timeout=LONGEST_SECONDS
        )
        return len(found)


def used(server: psutil.Process) -> float:
    times = server.cpu_times()
    return float(times.user + times.system)


def peak_bytes(server: psutil.Process) -> int:
    status = Path(f"/proc/{server.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def tell(minutes: float, row: Row, server: psutil.Process) -> int:
    resident = int(server.memory_info().rss)
    answers = sorted(row.answers)
    cells = [
        f"{minutes:.0f}", f"{len(answers)}", f"{row.findings}", f"{statistics.median(answers):.2f}",
        f"{answers[int(0.95 * (len(answers) - 1))]:.2f}", f"{answers[-1]:.2f}", f"{max(row.cpu):.2f}",
        f"{resident / 1e6:.0f}", f"{peak_bytes(server) / 1e6:.0f}",
    ]  # fmt: skip
    print(f"| {' | '.join(cells)} |", flush=True)
    return resident


async def drive(root: Path, options: argparse.Namespace) -> int:
    chance = random.Random(options.seed)
    editor = Editor()
    await editor.start(root)
    [server] = [child for child in psutil.Process().children() if "dl_lint" in child.cmdline()]
    session = Session(editor, root, chance, options.open)
    print("| min | edits | findings | answer s | 95 % | longest | CPU s of the longest | MB | peak |")
    print("|---|---|---|---|---|---|---|---|---|")
    began = time.monotonic()
    memory: list[int] = []
    try:
        while time.monotonic() - began < options.minutes * 60:
            row, until = Row(), began + 60 * min(options.every * (len(memory) + 1), options.minutes)
            while not row.answers or time.monotonic() < until:
                before, asked = used(server), time.monotonic()
                row.findings += await session.step()
                row.answers.append(time.monotonic() - asked)
                row.cpu.append(used(server) - before)
                if chance.random() < 0.3:
                    await session.ask()
                await asyncio.sleep(chance.expovariate(2))
            memory.append(tell((time.monotonic() - began) / 60, row, server))
    finally:
        await editor.stop()
    grown = memory[-1] / memory[len(memory) // 2]
    print(f"memory at the end is {grown:.2f} times that of half time; messages shown: {len(editor.shown)}")
    return 1 if grown > GROWTH or editor.shown else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--open", type=int, default=6)
    parser.add_argument("--every", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "project"
        root.mkdir()
        lines = copy_project(options.checkouts, root, options.lines)
        os.environ["DL_LINT_CACHE_DIR"] = str(Path(name) / "cache")
        print(f"{lines} lines of Python, {options.open} documents open, {options.minutes:g} minutes", flush=True)
        return asyncio.run(drive(root, options))


if __name__ == "__main__":
    sys.exit(main())
