"""Pages are short, and pages, messages and docstrings are plain English.

``tests.docs.words`` lists the forms to avoid. What has some of them still, or is still too long, is named here, and is
taken off the list when it is done: an entry that is clean already fails.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from polymeter import __version__
from tests.docs.words import FORMS
from tests.helpers.guides import DOCS, ROOT

PACKAGE = ROOT / "src" / "polymeter"
WORDS = {
    "README.md": 900,
    "CHANGELOG.md": 600,
    "CONTRIBUTING.md": 1_500,
    "docs/index.md": 300,
    "docs/getting-started.md": 900,
    "docs/recipes.md": 1_200,
    "docs": 40_000,
}
"""The most words that a page, or all pages of a folder, may have."""

TOO_LONG: tuple[str, ...] = ()
PAGES_TO_DO: tuple[str, ...] = ()
MESSAGES_TO_DO: tuple[str, ...] = ()
DOCSTRINGS_TO_DO: tuple[str, ...] = ()
OPENINGS_TO_DO: tuple[str, ...] = ()

_PATTERNS = {form: re.compile(form.pattern, re.IGNORECASE) for form in FORMS if form.pattern}
_CODE = re.compile(r"``[^`]*``|`[^`\n]*`")
_COMMENT = re.compile(r"/\*.*?\*/|\{#.*?#\}|<!--.*?-->|(?<![:\w])//[^\n]*", re.DOTALL)
_OPENING = re.compile(r"\s*(What|Who|Whose|Whether|How|Where|Which|Why|Whatever|Whoever)\b")
_SENT_TO_MODELS = ("judge/prompts.py", "judge/rubrics.py")
"""Files with the texts of prompts, which cannot be changed without changing answers."""
_IN_FINGERPRINTS = ("interop/evalscope/library/mmlu_pro/mmlu_pro_adapter.py", "library/demo_vlm/utils.py")
"""Files of benchmarks, whose bytes are part of fingerprints: with another docstring, unfinished runs ask again."""


def pages() -> list[str]:
    """All pages that are written for readers, by path."""
    found = [
        *ROOT.glob("*.md"),
        *DOCS.glob("*.md"),
        *PACKAGE.glob("interop/*/README.md"),
        PACKAGE / "viewer" / "README.md",
    ]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def packages() -> list[str]:
    """The parts of the package: its folders and modules, and the folder of each system."""
    found = [path for path in PACKAGE.iterdir() if path.name != "interop"] + list((PACKAGE / "interop").iterdir())
    return sorted(
        path.relative_to(PACKAGE).as_posix()
        for path in found
        if path.suffix == ".py" or (path.is_dir() and next(path.rglob("*.py"), None))
    )


def bad_forms(text: str) -> list[str]:
    """The forms to avoid in a text, each with better words. Code between backticks is left out."""
    plain = " ".join(_CODE.sub("code", text).split())
    return [
        f"{plain[max(0, found.start() - 40) : found.end() + 20]!r}: rather {form.better}"
        for form, pattern in _PATTERNS.items()
        for found in pattern.finditer(plain)
    ]


def in_page(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    if page == "CONTRIBUTING.md":
        before, _, words = text.partition("\n## Words\n")
        text = before + words.partition("\n## ")[2]
    return bad_forms(text)


def files_of(package: str, *suffixes: str) -> Iterator[Path]:
    place = PACKAGE / package
    for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
        if path.suffix in suffixes and "vendor" not in path.parts:
            yield path


@cache
def strings_of(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts in a module: docstrings of all kinds, and the other strings (and parts of f-strings) with a blank."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bodies = [body for node in ast.walk(tree) if isinstance(body := getattr(node, "body", None), list)]
    docstrings = {id(line.value) for body in bodies for line in body if isinstance(line, ast.Expr)}
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return (
        tuple(str(text.value) for text in texts if id(text) in docstrings),
        tuple(str(text.value) for text in texts if id(text) not in docstrings and " " in str(text.value)),
    )


def in_messages(package: str) -> list[str]:
    found = []
    for path in files_of(package, ".py", ".html", ".js", ".jinja"):
        name = path.relative_to(PACKAGE).as_posix()
        if name in _SENT_TO_MODELS:
            continue
        texts = strings_of(path)[1] if path.suffix == ".py" else (_COMMENT.sub(" ", path.read_text(encoding="utf-8")),)
        found += [f"{name}: {form}" for text in texts for form in bad_forms(text)]
    return found


def in_docstrings(package: str) -> list[str]:
    return [
        f"{path.relative_to(PACKAGE)}: {form}"
        for path in files_of(package, ".py")
        if path.relative_to(PACKAGE).as_posix() not in _IN_FINGERPRINTS
        for text in strings_of(path)[0]
        for form in bad_forms(text)
    ]


def bad_openings(package: str) -> list[str]:
    return [
        f"{path.relative_to(PACKAGE)}: {text.strip().splitlines()[0]}"
        for path in files_of(package, ".py")
        for text in strings_of(path)[0]
        if _OPENING.match(text)
    ]


def check(name: str, found: list[str], to_do: tuple[str, ...]) -> None:
    """Fail if something is found in what should be clean, or nothing in what is still to do."""
    if name in to_do:
        assert found, f"{name} is clean: take it off the list"
    else:
        assert not found, "\n".join(found)


@pytest.mark.parametrize("name", WORDS)
def test_nothing_is_longer_than_it_may_be(name: str) -> None:
    place = ROOT / name
    texts = [path.read_text(encoding="utf-8") for path in (place.glob("*.md") if place.is_dir() else [place])]
    n_words = sum(len(text.split()) for text in texts)
    check(name, [f"{n_words} words, not {WORDS[name]}"] if n_words > WORDS[name] else [], TOO_LONG)


@pytest.mark.parametrize("page", pages())
def test_a_page_is_plain_english(page: str) -> None:
    check(page, in_page(page), PAGES_TO_DO)


@pytest.mark.parametrize("package", packages())
def test_messages_are_plain_english(package: str) -> None:
    check(package, in_messages(package), MESSAGES_TO_DO)


@pytest.mark.parametrize("package", packages())
def test_docstrings_are_plain_english(package: str) -> None:
    check(package, in_docstrings(package), DOCSTRINGS_TO_DO)


@pytest.mark.parametrize("package", packages())
def test_a_docstring_begins_with_a_verb_or_a_noun(package: str) -> None:
    check(package, bad_openings(package), OPENINGS_TO_DO)


@pytest.mark.needs_system("lmms_eval", "lm_eval", "evalscope", "ulmeval", "inspect_ai")
def test_the_lists_name_what_exists() -> None:
    assert set(TOO_LONG) <= set(WORDS)
    assert set(PAGES_TO_DO) <= set(pages())
    assert {*MESSAGES_TO_DO, *DOCSTRINGS_TO_DO, *OPENINGS_TO_DO} <= set(packages())


def test_the_forms_are_those_that_contributors_read() -> None:
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("\n## Words\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("|")]
    assert rows[2:] == [[form.avoid, form.better] for form in FORMS]


def test_a_form_is_found_in_what_it_stands_for() -> None:
    for form, pattern in _PATTERNS.items():
        assert pattern.search(form.avoid), form.avoid


def test_the_changelog_has_this_version_and_room_for_the_next() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.M)[:2] == ["Unreleased", __version__]
