"""The frame of Polymeter's pages: one HTML file each, which fetches nothing.

Everything that came from a model or a dataset enters a page as text: escaped by the template, or as JSON that its
script writes with ``textContent``. A content security policy names the page's own style and script by their hashes, so
that nothing else could run even if something slipped through.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from polymeter.report.extract import script_json

if TYPE_CHECKING:
    from jinja2 import Environment

MAX_BYTES = 6_000_000
TEXT_SHARE = 0.5
"""What texts may take of a page; images take the rest."""


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
    """A page as one self-contained file.

    Args:
        template: A template that extends ``page.html``.
        title: The page's title and heading.
        kind: What kind of page it is, beside the mark.
        styles: Names of its style sheets, in order.
        scripts: Names of its scripts, in order.
        data: What its script reads, by ``script_json``.
        images: Data URLs by the names that the data gives them.
        **values: What the template is filled with.
    """
    style = "\n".join(_asset(name) for name in styles)
    script = '(() => {\n"use strict";\n' + "\n".join(_asset(name) for name in scripts) + "\n})();"
    html = (
        environment()
        .get_template(template)
        .render(
            title=title,
            mark=" · ".join(filter(None, ("Polymeter", kind))),
            style=style,
            style_hash=_csp_hash(style),
            script=script,
            script_hash=_csp_hash(script),
            data=data,
            images=script_json(images),
            **values,
        )
    )
    # A lone surrogate in a model's answer cannot be written as UTF-8.
    return html.encode("utf-8", "replace").decode()


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates of pages, which escape what they are given."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("polymeter.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _asset(name: str) -> str:
    return (files("polymeter.report") / "templates" / name).read_text(encoding="utf-8").strip()


def _csp_hash(text: str) -> str:
    """A style or script as a content security policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
