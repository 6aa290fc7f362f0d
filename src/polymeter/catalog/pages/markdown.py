"""Markdown from texts of benchmarks: nothing in them can become markup, HTML, or a link other than to a web address.

The result is CommonMark with tables in GitHub's syntax.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from polymeter.report.formatting import DASH, clean, one_line

_MARKUP = re.compile(r"[\\`*_{}\[\]<>#|!&~$]")
_NUMBERED = re.compile(r"^(\d{1,9})([.)])")
_URL = re.compile(r"https?://[A-Za-z0-9.-]+[A-Za-z0-9](?::\d+)?(?:/[^\s<>()\[\]{}\"'`\\|^*]*)?")
_END_OF_SENTENCE = ".,;:!?"
_PUNCTUATION = re.compile(r"[^\w ]|_")
_TICKS = re.compile(r"`+")


def escape(text: str) -> str:
    """A text on one line, shown literally. Web addresses become links."""
    return _escape_start(_inline(one_line(text)))


def paragraphs(text: str) -> str:
    """A longer text: empty lines separate its paragraphs, and line breaks stay."""
    blocks = re.split(r"\n[ \t]*\n", clean(text.replace("\r\n", "\n")).strip())
    return "\n\n".join(_with_line_breaks(block) for block in blocks if block.strip())


def code(text: str, *, in_table: bool = False) -> str:
    """A text as code on one line; a dash if it is empty."""
    text = one_line(text)
    if not text:
        return DASH
    if in_table and "|" in text:  # a table is split at its bars before code is recognised
        return f"<code>{_PUNCTUATION.sub(lambda match: f'&#{ord(match[0])};', text)}</code>"
    # A delimiter longer than any run of backticks in the text cannot be closed by it.
    ticks = "`" * (_longest_run(text) + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def fence(text: str, language: str = "text") -> str:
    """Return any text as a code block."""
    text = clean(text.replace("\r\n", "\n")).rstrip("\n")
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def link(text: str, target: str, anchor: str = "") -> str:
    """A link to a file beside or near the page.

    Args:
        text: Markdown.
        target: Relative path, with forward slashes.
        anchor: An anchor in the file.
    """
    return f"[{text}]({quote(target)}{f'#{anchor}' if anchor else ''})"


def _with_line_breaks(block: str) -> str:
    return "\\\n".join(escape(line) for line in block.splitlines() if line.strip())


def _inline(text: str) -> str:
    pieces, end = [], 0
    for match in _URL.finditer(text):
        address = match[0].rstrip(_END_OF_SENTENCE)
        pieces += [_escaped(text[end : match.start()]), f"<{address}>"]
        end = match.start() + len(address)
    return "".join([*pieces, _escaped(text[end:])])


def _escaped(text: str) -> str:
    return _MARKUP.sub(lambda match: "&lt;" if match[0] == "<" else f"\\{match[0]}", text)


def _escape_start(text: str) -> str:
    """Escape what would begin a list, a rule or a heading at the start of a line."""
    if text[:1] in ("-", "+", "="):
        return f"\\{text}"
    return _NUMBERED.sub(r"\1\\\2", text)


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
