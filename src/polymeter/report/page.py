"""The frame of Polymeter's pages: one HTML file each, which fetches nothing.

Everything that came from a model or a dataset enters a page as text: escaped by the template, or as JSON that its
script writes with ``textContent``. A content security policy names the page's own style and script by their hashes, so
that nothing else could run even if something slipped through.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from itertools import chain
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from polymeter.report.formatting import number
from polymeter.report.run.extract import script_json

if TYPE_CHECKING:
    from jinja2 import Environment

MAX_BYTES = 6_000_000
TEXT_SHARE = 0.5
"""The share of a page that texts may use; images use the rest."""


def make_page(
    template: str,
    *,
    title: str,
    kind: str = "",
    styles: Sequence[str],
    scripts: Sequence[str],
    data: str,
    images: Mapping[str, str],
    **values: Any,
) -> str:
    """A page as one self-contained file; see ``FramedPage``."""
    page = FramedPage(template, title, styles, scripts, kind, values)
    return "".join(page.pieces([data], [script_json(images)]))


@dataclass(frozen=True, slots=True)
class FramedPage:
    """A page without the data that its script reads.

    Attributes:
        template: A template that extends ``page.html``.
        title: The page's title and heading.
        styles: Names of its style sheets, in order.
        scripts: Names of its scripts, in order.
        kind: The kind of page, beside the mark.
        values: The values of the template.
    """

    template: str
    title: str
    styles: Sequence[str]
    scripts: Sequence[str]
    kind: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)

    def pieces(self, data: Iterable[str], images: Iterable[str]) -> Iterator[str]:
        """The self-contained file in pieces, so that one which is larger than the memory can be written.

        Args:
            data: The data that its script reads, by ``script_json``, in pieces of whole characters.
            images: A JSON object with data URLs by the names that the data gives them, in such pieces.
        """
        # Unguessable, so that no text of a model can stand for them.
        here, there = uuid4().hex, uuid4().hex
        style = "\n".join(_asset(name) for name in self.styles)
        script = '(() => {\n"use strict";\n' + "\n".join(_asset(name) for name in self.scripts) + "\n})();"
        html = (
            environment()
            .get_template(self.template)
            .render(
                title=self.title,
                mark=" · ".join(filter(None, ("Polymeter", self.kind))),
                style=style,
                style_hash=_csp_hash(style),
                script=script,
                script_hash=_csp_hash(script),
                data=here,
                images=there,
                **self.values,
            )
        )
        before, _, rest = html.partition(here)
        between, _, after = rest.partition(there)
        for piece in chain([before], data, [between], images, [after]):
            yield writable(piece)


def writable(text: str) -> str:
    """The text without lone surrogates, as in a model's answer that was cut off, which UTF-8 cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


# Kept for the life of the process: it holds the compiled templates, which are constants.
@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates of pages, which escape what they are given."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("polymeter.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["number"] = number
    return made


def _asset(name: str) -> str:
    return (files("polymeter.report") / "templates" / name).read_text(encoding="utf-8").strip()


def _csp_hash(text: str) -> str:
    """A style or script as a content security policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
