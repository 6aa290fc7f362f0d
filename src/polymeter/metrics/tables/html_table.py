"""Reading of a table in HTML as a tree of rows and cells, with the standard library's parser."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser

_CELL = "td"
_ROW = "tr"
_TABLE = "table"
_GROUPS = frozenset(("thead", "tbody", "tfoot"))
_ENDED_BY: dict[str, frozenset[str]] = {
    _CELL: frozenset((_CELL,)),
    _ROW: frozenset((_CELL, _ROW)),
    **dict.fromkeys(_GROUPS, _GROUPS | {_CELL, _ROW}),
}
"""The open elements that a tag ends, as in HTML, where their end tags may be missing."""
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)


@dataclass(slots=True)
class TableNode:
    """An element of a table.

    Attributes:
        tag: Its tag; ``td`` for header cells too.
        spans: Columns and rows of a cell; ``None`` for other elements.
        content: Characters and inner tags of a cell.
        children: The elements below it; empty for a cell.
        text: The content as one text, in which inner tags differ from the same characters.
    """

    tag: str
    spans: tuple[int, int] | None = None
    content: list[str] = field(default_factory=list)
    children: list[TableNode] = field(default_factory=list)
    text: str = ""


@dataclass(frozen=True, slots=True)
class HtmlTable:
    """A table.

    Attributes:
        root: The element ``table``.
        n_nodes: Number of all elements below it, those in cells too.
    """

    root: TableNode
    n_nodes: int


def read_table(text: str) -> HtmlTable | None:
    """Return the first table in a text; ``None`` if it has none. Missing end tags are supplied."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    if reader.root is None:
        return None
    reader.end()
    return HtmlTable(reader.root, reader.n_nodes)


class _Reader(HTMLParser):
    """A parser that builds the tree of the first table."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root: TableNode | None = None
        self.n_nodes = 0
        self._open: list[TableNode] = []
        self._inner: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        tag = _CELL if tag == "th" else tag
        if self.root is None and tag == _TABLE:
            self.root = TableNode(tag)
            self._open = [self.root]
            return
        if not self._open:
            return
        self.n_nodes += 1
        if self._is_in_cell and (tag not in _ENDED_BY or _TABLE in self._inner):
            self._cell_content((f"<{tag}>",))
            if tag in _VOID:
                self._cell_content((f"</{tag}>",))
            else:
                self._inner.append(tag)
            return
        while self._open[-1].tag in _ENDED_BY.get(tag, ()):
            self._end_last()
        node = TableNode(tag, _spans(dict(attrs)) if tag == _CELL else None)
        self._open[-1].children.append(node)
        if tag not in _VOID:
            self._open.append(node)

    def handle_endtag(self, tag: str) -> None:
        tag = _CELL if tag == "th" else tag
        if tag in self._inner:
            self._end_inner(tag)
        elif any(node.tag == tag for node in self._open):
            while self._end_last() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._is_in_cell:
            self._cell_content(data)

    def end(self) -> None:
        """End all elements that are still open."""
        while self._open:
            self._end_last()

    @property
    def _is_in_cell(self) -> bool:
        return bool(self._open) and self._open[-1].tag == _CELL

    def _cell_content(self, tokens: Iterable[str]) -> None:
        """Add to a cell's content, with one space for a run of white space."""
        content = self._open[-1].content
        for token in tokens:
            one = " " if token.isspace() else token
            if one != " " or (content and content[-1] != " "):
                content.append(one)

    def _end_inner(self, tag: str = "") -> None:
        """End the elements in a cell up to one with this tag, or all."""
        while self._inner:
            last = self._inner.pop()
            self._cell_content((f"</{last}>",))
            if last == tag:
                return

    def _end_last(self) -> str:
        """End the innermost element of the tree, and return its tag."""
        if self._is_in_cell:
            self._end_inner()
            content = self._open[-1].content
            if content[-1:] == [" "]:
                content.pop()
            self._open[-1].text = "\0".join(content)
        return self._open.pop().tag


def _spans(attributes: dict[str, str | None]) -> tuple[int, int]:
    columns, rows = (attributes.get(name) or "" for name in ("colspan", "rowspan"))
    return _count(columns), _count(rows)


def _count(text: str) -> int:
    text = text.strip()
    return int(text) if text.isdecimal() and len(text) < 6 else 1
