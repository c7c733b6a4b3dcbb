"""One run: what was read, what is asked of it, and the report, from the cache if the same was asked before."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dl_lint.engine import files, report
from dl_lint.engine.cache import tool_version
from dl_lint.engine.report import Failure, Report
from dl_lint.source.disk import digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dl_lint.engine.cache import Cache
    from dl_lint.engine.question import Question, Tree
    from dl_lint.engine.reading import Before


def lint(tree: Tree, question: Question, cache: Cache, before: Before) -> Report:
    """All findings in the files asked about, in the order of their places; what ``before`` knows is not read again."""
    if not tree.files:
        return Report((), (*tree.failures, *_nothing_read(tree)), 0)
    key = digest(
        tool_version(),
        question.key(),
        digest(*tree.beside),
        *(f"{digest(tree.data[file.path])}{file.asked:d}{file.by_name:d}{file.path}" for file in tree.files),
    )
    known = cache.read("runs", key)
    if known is not None:
        with suppress(KeyError, TypeError, ValueError, AttributeError):
            if all(_digest_now(path) == seen for path, seen in known["outside"].items()):
                return _with_failures(report.decode(known["report"], question.known), tree)
    found, outside = _analysed(tree, question, cache, before)
    if outside is not None:
        cache.write("runs", key, {"report": report.encode(found), "outside": outside})
    return _with_failures(found, tree)


def _analysed(tree: Tree, question: Question, cache: Cache, before: Before) -> tuple[Report, Mapping[str, str] | None]:
    """The report, and on which files beyond the tree it rests; None if the same tree might fare otherwise next time."""
    from dl_lint.engine import relevance

    relevant = relevance.relevant(tree, question.config.hints)
    asked = [file for file in tree.files if file.asked]
    if not relevant and not any(relevance.is_doubtful(file, tree.data[file.path]) for file in asked):
        return Report((), (), len(asked)), {}
    from dl_lint.engine.analysis import Analysis

    analysis = Analysis(tree, question, cache, before)
    found = analysis.report(relevant)
    return found, analysis.outside if analysis.repeatable else None


def _digest_now(path: str) -> str:
    if path.endswith("/"):
        from dl_lint.source.packaging import digest_of_names

        return digest_of_names(path)
    seen = files.read(files.File(path, path, asked=False))
    return digest(seen) if isinstance(seen, bytes) else ""


def _with_failures(found: Report, tree: Tree) -> Report:
    """The failures to read are of this run, not of the content that the cache knows."""
    return found._replace(failures=(*tree.failures, *_nothing_read(tree), *found.failures))


def _nothing_read(tree: Tree) -> Iterator[Failure]:
    """That nothing was read is no clean bill."""
    if tree.left_out:
        said = ", ".join(f"{count} left out by {by}" for by, count in tree.left_out)
        yield Failure("", f"no Python file was read: {said}", partial=True)
