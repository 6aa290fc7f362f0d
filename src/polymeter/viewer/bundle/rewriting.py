"""Turns a page of the viewer into one that needs no server: links become relative, and everything that would ask one
(forms, exports, pages that a bundle leaves out) is removed or becomes text.

The page is parsed, so this depends on HTML and not on the markup of single pages. Texts stay escaped.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html.parser import HTMLParser

from polymeter.viewer.guard import POLICY

Attributes = Sequence[tuple[str, str | None]]
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_CONTROLS = frozenset(("input", "select", "textarea", "button", "datalist", "output"))
_MEDIA = frozenset(("img", "video", "audio"))
_LINKS = ("href", "src", "poster", "xlink:href", "action", "formaction", "data")
_SHELLS = frozenset(("p", "li", "label", "fieldset", "details", "nav", "ul", "ol", "section"))
"""Elements that are removed if they hold no more than a heading once something in them was removed."""
_HEADINGS = re.compile(r"<(summary|legend)\b.*?</\1>", re.S)
_TAG = re.compile(r"<[^>]*>")
_SEEN = re.compile(r"<(?:img|video|audio|svg|progress|hr|input)\b")
_FOR_SCRIPTS = re.compile(r"data-(?:\w+-)*(?:href|src|url|address)")
"""The names of attributes that hold an address for a script."""
_DROPPED = ("srcset", "action", "formaction", "crossorigin", "integrity")
_OF_HTMX = re.compile(r"(?:data-)?hx-.*")
_ATTRIBUTE = r"""([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?"""
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_UNNAMED = re.sub(r"\((?!\?)", "(?:", _ATTRIBUTE)
_TOKEN = re.compile(
    rf"([^<]*)(?:<(/?)([A-Za-z][\w:.-]*)((?:\s+{_UNNAMED})*)\s*(/?)>|<!--.*?-->|<!([A-Za-z][^>]*)>|\Z)", re.S
)
"""Text, and then a tag, a comment, a declaration or the end of the page."""
_RAW = frozenset(("script", "style"))
_SPECIAL = _CONTROLS | _MEDIA | _VOID | _RAW | frozenset(("form", "a", "head", "main", "source"))
_NOT_IN_META = "frame-ancestors"
STATIC_POLICY = "; ".join(
    {"connect-src": "connect-src 'none'", "form-action": "form-action 'none'"}.get(part.split(" ")[0], part)
    for part in POLICY.split("; ")
    if not part.startswith(_NOT_IN_META)
)
"""The viewer's policy, less what a meta element cannot set and what only a server needs."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings of a page.

    Attributes:
        link: Returns the relative link for an address of the viewer; ``None`` if the bundle has no such page or file.
        part: Returns the part of a page that a script would load, or ``None``.
        head: HTML that is added to the head.
        top: HTML that is added to the beginning of the main part.
    """

    link: Callable[[str], str | None]
    part: Callable[[str], str | None]
    head: str = ""
    top: str = ""


@dataclass(slots=True)
class _Open:
    """An open element.

    Attributes:
        tag: Its name.
        shown_as: The name under which it is written; empty: it is not.
        start: The number of pieces that were written before it.
        inner: The number of pieces that were written before its content.
        is_removed: Whether it is removed with its content.
        has_lost: Whether something in it was removed.
        has_rows: Whether it holds rows of a list, with links.
        has_links: Whether it holds links.
        instead: What is written instead of its content; ``None``: its content.
    """

    tag: str
    shown_as: str
    start: int
    inner: int = 0
    is_removed: bool = False
    has_lost: bool = False
    has_rows: bool = False
    has_links: bool = False
    instead: str | None = None


def static_page(text: str, around: Surroundings) -> str:
    """Return a page, or a part of one, as it is written to a file."""
    writer = _Rewriter(around)
    writer.feed(text)
    return writer.finish()


class _Rewriter(HTMLParser):
    def __init__(self, around: Surroundings) -> None:
        super().__init__(convert_charrefs=False)
        self._around = around
        self._pieces: list[str] = []
        self._stack: list[_Open] = []
        self._start_text = ""

    def feed(self, data: str) -> None:
        """Read a page. Python's parser, which is some times slower, reads one that has anything but whole tags."""
        tokens = _tokens(data)
        if tokens is None:
            super().feed(data)
            return
        for match in tokens:
            text, slash, tag, attributes, is_empty, declaration = match.groups()
            if text:
                self._pieces.append(text)
            if tag and slash:
                self.handle_endtag(tag.lower())
            elif tag and not is_empty and _is_plain(tag, attributes):
                start = len(self._pieces)
                self._pieces.append(match[0][len(text) :])
                self._stack.append(_Open(tag, tag, start, start + 1))
            elif tag:
                self._start_text = match[0][len(text) :]
                handle = self.handle_startendtag if is_empty else self.handle_starttag
                handle(tag.lower(), [*_parsed(attributes)])
            elif declaration:
                self.handle_decl(declaration)

    def get_starttag_text(self) -> str | None:
        """The start of the element that is read."""
        return self._start_text or super().get_starttag_text()

    def finish(self) -> str:
        self.close()
        while self._stack:
            self._end(self._stack.pop())
        return "".join(self._pieces)

    # --- what passes unchanged ----------------------------------------------------------------------------------------

    def handle_data(self, data: str) -> None:
        self._pieces.append(data)

    def handle_entityref(self, name: str) -> None:
        self._pieces.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._pieces.append(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._pieces.append(f"<!{decl}>")

    def handle_comment(self, data: str) -> None:
        """Leave comments out."""

    # --- elements -----------------------------------------------------------------------------------------------------

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            self._void(tag, attrs)
            return
        self._open(tag, attrs)
        if tag == "head":
            policy = html.escape(STATIC_POLICY, quote=False)
            self._pieces.append(f'\n<meta http-equiv="content-security-policy" content="{policy}">')
        elif tag == "main":
            self._pieces.append(f"\n{self._around.top}")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            self._void(tag, attrs)
        else:
            self._pieces.append(_start(tag, self._attributes(tag, attrs))[:-1] + "/>")

    def handle_endtag(self, tag: str) -> None:
        if self._stack and self._stack[-1].tag == tag:
            self._end(self._stack.pop())
            return
        if tag in _VOID or all(one.tag != tag for one in self._stack):
            return
        while self._stack:
            ended = self._stack.pop()
            self._end(ended)
            if ended.tag == tag:
                return

    def _void(self, tag: str, attrs: Attributes) -> None:
        told = dict(attrs)
        if tag == "input" and self._is_of_form(told):
            if any(one.tag in ("li", "tr") for one in self._stack):  # a box in front of a row keeps its column
                self._pieces.append(_start("span", [("class", told.get("class") or "")]) + "</span>")
            self._lose()
            return
        if tag == "meta" and (told.get("name") == "htmx-config" or (told.get("http-equiv") or "").lower() == "refresh"):
            return
        kept = self._attributes(tag, attrs)
        if tag == "link" and "href" not in dict(kept):
            return
        if tag in ("img", "source") and "src" not in dict(kept):
            self._pieces.append(_absent(told) if tag == "img" else "")
            return
        self._pieces.append(self._raw(tag, attrs, kept))

    def _open(self, tag: str, attrs: Attributes) -> None:
        told, start = dict(attrs), len(self._pieces)
        opened = _Open(tag, tag, start)
        self._stack.append(opened)
        kept = self._attributes(tag, attrs)
        if tag == "form" and (told.get("method") or "").lower() != "dialog":
            opened.shown_as, kept = "div", []
        elif tag in _CONTROLS and self._is_of_form(told):
            opened.is_removed = True
        elif tag == "script":
            opened.is_removed = told.get("type") != "application/json" and "src" not in dict(kept)
        elif tag == "a":
            kept = self._anchor(opened, told, kept)
        elif tag in _MEDIA and "src" in told and "src" not in dict(kept):
            opened.shown_as, opened.instead = "", _absent(told)
        if "hx-get" in told and "load" in (told.get("hx-trigger") or "") and "hx-target" not in told:
            opened.instead = self._around.part(told["hx-get"] or "")
        if opened.shown_as:
            self._pieces.append(
                self._raw(opened.shown_as, attrs, kept) if tag == opened.shown_as else _start(opened.shown_as, kept)
            )
        opened.inner = len(self._pieces)
        if "data-row" in told:
            self._mark_rows()

    def _anchor(self, opened: _Open, told: dict[str, str | None], kept: Attributes) -> Attributes:
        """Return the attributes of a link. One that leads nowhere becomes text, or is removed with its text."""
        if "href" not in told:
            return kept
        if "href" in dict(kept):
            for one in self._stack:
                one.has_links = True
            if any(one.tag in ("li", "tr") for one in self._stack):
                self._mark_rows()
            return kept
        if "download" in told or any(one.tag == "nav" for one in self._stack):
            opened.is_removed = True
        opened.shown_as = "span"
        left_out = ("download", "rel", "data-row", "data-c-zoom", "title", "target", "hreflang", "type")
        return [(name, value) for name, value in kept if name not in left_out]

    def _end(self, ended: _Open) -> None:
        if ended.instead is not None:
            self._pieces[ended.inner :] = [ended.instead]
        if ended.shown_as:
            if ended.tag == "head":
                self._pieces.append(self._around.head)
            self._pieces.append(f"</{ended.shown_as}>")
        is_left_out = ended.is_removed or (ended.tag == "form" and ended.shown_as == "div" and not ended.has_rows)
        if is_left_out or (ended.has_lost and self._is_empty(ended)):
            del self._pieces[ended.start :]
            self._lose()

    def _is_empty(self, ended: _Open) -> bool:
        """Return whether nothing is left of an element but words about what was removed."""
        is_in_form = any(one.tag == "form" for one in self._stack)
        if is_in_form and ended.tag in ("div", "p", "label", "fieldset") and not ended.has_links:
            return True
        if ended.tag not in _SHELLS:
            return False
        left = _HEADINGS.sub("", "".join(self._pieces[ended.start :]))
        return not _SEEN.search(left) and not _TAG.sub("", left).strip()

    def _lose(self) -> None:
        for one in self._stack[-3:]:
            one.has_lost = True

    def _mark_rows(self) -> None:
        for one in self._stack:
            one.has_rows = one.has_links = True

    def _is_of_form(self, told: dict[str, str | None]) -> bool:
        """Return whether a control belongs to a form that asks the server; a dialog closes by itself."""
        if "form" in told or "formaction" in told:
            return True
        form = next((one for one in reversed(self._stack) if one.tag == "form"), None)
        return form is not None and form.shown_as == "div"

    # --- attributes ---------------------------------------------------------------------------------------------------

    def _attributes(self, tag: str, attrs: Attributes) -> Attributes:
        """Return the attributes that are kept, with links rewritten."""
        kept: list[tuple[str, str | None]] = []
        is_module = tag == "script" and dict(attrs).get("type") == "module"
        for name, value in attrs:
            if _OF_HTMX.fullmatch(name) or name in _DROPPED:
                continue
            if is_module and name == "type":  # a browser loads no module from a file
                kept.append(("defer", None))
                continue
            # The slider over two images has their addresses as the values of its choices.
            is_choice = tag == "option" and name == "value" and (value or "").startswith("/run/")
            if name not in _LINKS and not _FOR_SCRIPTS.fullmatch(name) and not is_choice:
                kept.append((name, value))
            elif (found := self._link(tag, value or "")) is not None:
                kept.append((name, found))
        return kept

    def _link(self, tag: str, address: str) -> str | None:
        if address.startswith("#"):
            return address
        if address.startswith("data:"):
            return address if tag == "link" or (tag == "img" and address.startswith("data:image/")) else None
        if not address.startswith("/") or address.startswith(("//", "/\\")):
            return None
        return self._around.link(address)

    def _raw(self, tag: str, attrs: Attributes, kept: Attributes) -> str:
        """The start of an element: as it was read if its attributes have not changed."""
        return self.get_starttag_text() or "" if list(attrs) == list(kept) else _start(tag, kept)


def _tokens(text: str) -> list[re.Match[str]] | None:
    """The tags of a page, each with the text before it; ``None`` if there is anything else in it."""
    found, place = [], 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            return None
        found.append(match)
        place = match.end()
        tag = (match[3] or "").lower()
        if tag in _RAW and not match[2]:  # the text of a script may hold anything but its end
            end = text.find(f"</{tag}", place)
            if end < 0 or "<" in text[place:end]:
                return None
    return found


# Kept for the life of the process: the result depends on the arguments alone, and only the last ones are held.
@lru_cache(maxsize=4096)
def _parsed(attributes: str) -> Attributes:
    """The attributes of a tag."""
    return tuple(
        (name.lower(), None if "=" not in whole else html.unescape(double or single or bare))
        for whole, name, double, single, bare in (
            (match[0], *match.groups(default="")) for match in _ATTRIBUTES.finditer(attributes)
        )
    )


# Kept for the life of the process: the result depends on the arguments alone, and only the last ones are held.
@lru_cache(maxsize=4096)
def _is_plain(tag: str, attributes: str) -> bool:
    """Return whether the start of an element is always written unchanged."""
    if tag in _SPECIAL or not tag.islower():
        return False
    names = [name for name, _ in _parsed(attributes)]
    return not any(
        name in _LINKS
        or name in _DROPPED
        or name == "data-row"
        or name.startswith(("hx-", "data-hx-"))
        or _FOR_SCRIPTS.fullmatch(name)
        or (tag == "option" and name == "value")
        for name in names
    )


def _start(tag: str, attrs: Attributes) -> str:
    told = "".join(f" {name}" if value is None else f' {name}="{html.escape(value)}"' for name, value in attrs)
    return f"<{tag}{told}>"


def _absent(told: dict[str, str | None]) -> str:
    """The text instead of a medium that the bundle does not have; nothing for one that only decorates."""
    name = told.get("alt") if "alt" in told else told.get("aria-label")
    if name == "":
        return ""
    shown = f"{html.escape(name)}: media not included" if name else "Media not included"
    classes = html.escape(f"absent-medium {told.get('class') or ''}".strip())
    return f'<span class="{classes}">{shown}</span>'
