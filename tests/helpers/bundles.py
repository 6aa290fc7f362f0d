"""Every link of a bundle, and whether it leads to a file of it."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINKS = ("href", "src", "poster", "action", "formaction", "srcset", "xlink:href", "data", "cite", "background")


class Elements(HTMLParser):
    """The elements of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def links(self) -> Iterator[tuple[str, str]]:
        """The addresses that elements name: the attribute and its value."""
        for tag, attributes in self.found:
            if tag == "option" and "/" in (attributes.get("value") or ""):
                yield "value", attributes["value"] or ""
            yield from ((name, attributes[name] or "") for name in LINKS if name in attributes)


def pages(bundle: Path) -> Iterator[tuple[Path, Elements]]:
    """The pages of a bundle."""
    for path in sorted(bundle.rglob("*.html")):
        yield path, Elements(path.read_text(encoding="utf-8"))


def dead_links(bundle: Path) -> list[str]:
    """The links that lead out of a bundle, to a server, or to nothing."""
    found = []
    for path, page in pages(bundle):
        for name, address in page.links():
            if address.startswith("data:"):
                continue
            parts = urlsplit(address)
            target = path if not parts.path else path.parent / unquote(parts.path)
            is_local = not parts.scheme and not parts.netloc and not address.startswith("/") and not parts.query
            if not (is_local and target.resolve().is_relative_to(bundle.resolve()) and target.is_file()):
                found.append(f"{path.relative_to(bundle)}: {name}={address}")
    return found


def unreached(bundle: Path) -> set[str]:
    """The pages of a bundle to which no links lead from its first page."""
    waiting, met = [bundle / "index.html"], {bundle / "index.html"}
    while waiting:
        path = waiting.pop()
        for name, address in Elements(path.read_text(encoding="utf-8")).links():
            target = (path.parent / unquote(urlsplit(address).path)).resolve()
            if name == "href" and target.suffix == ".html" and target not in met and target.is_file():
                met.add(target)
                waiting.append(target)
    return {str(path.relative_to(bundle)) for path in bundle.rglob("*.html")} - {
        str(path.relative_to(bundle)) for path in met
    }
