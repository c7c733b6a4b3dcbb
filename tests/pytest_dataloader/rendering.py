"""What GitHub makes of Markdown and of workflow commands, read back for tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from markdown_it.token import Token

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


@dataclass(frozen=True)
class Page:
    """Tables as rows of cells of plain text, the HTML between them, headings, and every kind of markup."""

    tables: list[list[list[str]]]
    html: str
    headings: list[str]
    markup: set[str]

    @property
    def rows(self) -> list[list[str]]:
        """The rows of all tables but their heads."""
        return [row for table in self.tables for row in table[1:]]

    @property
    def summaries(self) -> list[str]:
        """The titles of what is folded, as they are shown."""
        found = re.findall(r"<summary>(.*?)</summary>", self.html, re.DOTALL)
        return [unescape(re.sub(r"</?b>", "", each)) for each in found]

    @property
    def drawings(self) -> str:
        return unescape("\n".join(re.findall(r"<pre>\n(.*?)</pre>", self.html, re.DOTALL)))


def page(text: str) -> Page:
    """Markdown as it is shown; fails where what is folded is not unfolded again."""
    tokens = PARSER.parse(text)
    tables: list[list[list[str]]] = []
    headings, html = [], []
    for number, token in enumerate(tokens):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type in ("td_open", "th_open"):
            tables[-1][-1].append(shown(tokens[number + 1]))
        elif token.type == "heading_open":
            headings.append(shown(tokens[number + 1]))
        elif token.type == "html_block":
            html.append(token.content)
    all_html = "".join(html)
    assert all_html.count("<details>") == all_html.count("</details>") == all_html.count("<summary>")
    assert all(len(row) == len(table[0]) for table in tables for row in table)
    markup = {child.type for token in tokens for child in token.children or ()} | {token.type for token in tokens}
    return Page(tables, all_html, headings, markup)


def shown(inline: Token) -> str:
    """The text of a cell; markup of its own is left out, HTML but line ends stays."""
    return "".join("\n" if child.content == "<br>" else child.content for child in inline.children or ())


@dataclass(frozen=True)
class Annotation:
    """A workflow command as GitHub's runner reads it."""

    level: str
    properties: dict[str, str]
    message: str


def annotations_in(output: str) -> list[Annotation]:
    """The annotations among the lines of a log."""
    found = []
    for line in output.splitlines():
        command = re.fullmatch(r"::(error|warning|notice)(?: ([^:]*))?::(.*)", line.strip())
        if command:
            pairs = [each.partition("=") for each in (command[2] or "").split(",") if each]
            properties = {key: unescaped(value, {"%3A": ":", "%2C": ","}) for key, _, value in pairs}
            found.append(Annotation(command[1], properties, unescaped(command[3], {})))
    return found


def unescaped(text: str, more: dict[str, str]) -> str:
    known = {"%25": "%", "%0D": "\r", "%0A": "\n", **more}
    return re.sub("|".join(known), lambda found: known[found[0]], text)
