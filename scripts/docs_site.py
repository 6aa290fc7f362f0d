"""Collect the pages of the documentation site: ``python -m scripts.docs_site FOLDER``.

The pages are written for GitHub and stay where they are: in ``docs``, at the root, and in the folders of the systems.
A site has one tree, so they are copied into one, and each link follows its page there. What only a site can have is
added: the reference of the public names, from their docstrings (``mkdocstrings`` fills it in), and of the commands,
from their options. ``make docs`` then builds the tree; whatever leads nowhere is an error here or there.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.docs_reference import reference_pages

ROOT = Path(__file__).parents[1]
_ELSEWHERE = {
    "README.md": "overview.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "src/polymeter/viewer/README.md": "pages.md",
}
_FENCED = re.compile(r"^```.*?^```[ ]*$", re.M | re.S)
_LINK = re.compile(r"(?P<text>!?\[[^\]]*\])\((?P<target>[^()\s#]*)(?P<anchor>#[^()\s]*)?\)")
_TOP_HEADING = re.compile(r"^# ", re.M)
_HEADING = re.compile(r"^#+ ", re.M)
_OUTSIDE = re.compile(r"^(https?:|mailto:)")


class DeadLinkError(Exception):
    """A link leads to no file."""


def pages() -> dict[Path, str]:
    """Every page that is written by hand, and its place in the site."""
    named = {ROOT / name: place for name, place in _ELSEWHERE.items()}
    named |= {path: path.name for path in sorted((ROOT / "docs").glob("*.md"))}
    for path in sorted((ROOT / "src" / "polymeter" / "interop").glob("*/README.md")):
        named[path] = f"systems/{path.parent.name}.md"
    return named


def write_tree(folder: Path) -> None:
    """Write all pages and images below a folder, which is emptied first.

    Raises:
        DeadLinkError: if a link of a page leads to no file.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    places = pages()
    for path in (ROOT / "docs").iterdir():
        if path.suffix in (".png", ".svg"):
            shutil.copy(path, folder / path.name)
            places[path] = path.name
    for path, place in places.items():
        if path.suffix == ".md":
            _write(folder / place, page_for_site(path.read_text("utf-8"), path, places))
    for place, text in reference_pages().items():
        _write(folder / place, text)
    shutil.copytree(ROOT / "docs" / "assets", folder / "assets")
    _write(folder / "assets" / "tokens.css", viewer_tokens())


def viewer_tokens() -> str:
    """Return the colours and fonts of the viewer as a style sheet of the site, where the reader chooses dark mode."""
    base = (ROOT / "src" / "polymeter" / "report" / "templates" / "base.css").read_text("utf-8")
    light, dark = (" ".join(found.split()) for found in re.findall(r":root \{([^}]*)\}", base))
    return f'[data-md-color-scheme] {{ {light} }}\n[data-md-color-scheme="slate"] {{ {dark} color-scheme: dark; }}\n'


def page_for_site(text: str, path: Path, places: dict[Path, str]) -> str:
    """A page as the site needs it: links between places of the site, one top heading, tables without escapes in code.

    Raises:
        DeadLinkError: if a link leads to no file.
    """
    parts = []
    for is_code, part in _split(text):
        if not is_code:
            part = _LINK.sub(lambda found: _moved(found, path, places), part)
            part = "".join(_table_line(line) for line in part.splitlines(keepends=True))
        parts.append((is_code, part))
    if sum(len(_TOP_HEADING.findall(part)) for is_code, part in parts if not is_code) > 1:
        parts = _one_top_heading(parts)
    return "".join(part for _, part in parts)


def _split(text: str) -> Iterator[tuple[bool, str]]:
    """The page in pieces, each with whether it is a fenced block, in which nothing is changed."""
    place = 0
    for found in _FENCED.finditer(text):
        yield False, text[place : found.start()]
        yield True, found.group()
        place = found.end()
    yield False, text[place:]


def _moved(found: re.Match[str], path: Path, places: dict[Path, str]) -> str:
    target, anchor = found["target"], found["anchor"] or ""
    if not target or _OUTSIDE.match(target):
        return found.group()
    leads_to = (path.parent / target).resolve()
    if not leads_to.exists():
        raise DeadLinkError(f"{path.relative_to(ROOT)}: {target} leads nowhere")
    if leads_to not in places:
        return found["text"][1:-1]  # source code: it has its name in the text, and no place in the site
    here = Path(places[path]).parent
    return f"{found['text']}({Path(os.path.relpath(places[leads_to], here)).as_posix()}{anchor})"


def _table_line(line: str) -> str:
    r"""GitHub reads ``\|`` in the code of a table as ``|``; Python-Markdown keeps the backslash."""
    if not line.startswith("|"):
        return line
    return re.sub(r"`[^`]*`", lambda code: code.group().replace(r"\|", "|"), line)


def _one_top_heading(parts: list[tuple[bool, str]]) -> list[tuple[bool, str]]:
    """All headings after the first one level lower: a page of a site has one title."""
    lowered, is_title = [], True
    for is_code, part in parts:
        if not is_code:
            head = ""
            if is_title and (title := _TOP_HEADING.search(part)):
                head, part, is_title = part[: title.end()], part[title.end() :], False
            part = head + _HEADING.sub(lambda found: "#" + found.group(), part)
        lowered.append((is_code, part))
    return lowered


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def main() -> int:
    """Write the tree into the folder that is named on the command line."""
    try:
        write_tree(Path(sys.argv[1]).resolve())
    except DeadLinkError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
