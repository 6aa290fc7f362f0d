"""The documentation site has every page, and its links lead where they lead on GitHub.

That it builds without a warning is for ``make docs`` to say.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from scripts import docs_reference
from scripts.docs_site import ROOT, DeadLinkError, page_for_site, pages, write_tree
from tests.helpers.guides import DOCS, blocks

pytestmark = pytest.mark.needs_system("lmms_eval", "lm_eval", "evalscope", "ulmeval")  # the site has a page for each


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    write_tree(folder)
    return folder


def config() -> dict[str, object]:
    class Loader(yaml.SafeLoader):
        """MkDocs builds the slugs with a function, which is none of a test's business."""

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)
    return yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)


def listed(nav: object) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [page for item in (nav.values() if isinstance(nav, dict) else nav) for page in listed(item)]  # type: ignore[union-attr]


def test_the_navigation_lists_every_page_once(tree: Path) -> None:
    assert sorted(listed(config()["nav"])) == sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*.md"))


def test_no_page_of_docs_is_lost(tree: Path) -> None:
    assert {path.name for path in DOCS.glob("*.md")} <= {path.name for path in tree.iterdir()}


def test_the_site_has_the_colours_of_the_viewer_in_both_modes(tree: Path) -> None:
    tokens = (tree / "assets" / "tokens.css").read_text("utf-8")
    assert [line.partition(" {")[0] for line in tokens.splitlines()] == [
        "[data-md-color-scheme]",
        '[data-md-color-scheme="slate"]',
    ]
    assert all("--accent: #" in line for line in tokens.splitlines())


def test_a_link_follows_its_page() -> None:
    text = (
        "[a](../SECURITY.md#keys) and [b](../README.md), ![c](report.png), "
        "[d](../src/polymeter/interop/evalscope/README.md)\n"
        "[e](../src/polymeter/extend.py) [f](#here) [g](https://example.com)\n"
    )
    places = pages() | {DOCS / "report.png": "report.png"}
    assert page_for_site(text, DOCS / "runs.md", places) == (
        "[a](security.md#keys) and [b](overview.md), ![c](report.png), [d](systems/evalscope.md)\n"
        "e [f](#here) [g](https://example.com)\n"
    )
    readme = ROOT / "src" / "polymeter" / "interop" / "evalscope" / "README.md"
    assert page_for_site("[a](../../../../docs/runs.md)", readme, places) == "[a](../runs.md)"


def test_a_dead_link_is_an_error() -> None:
    with pytest.raises(DeadLinkError, match=r"docs/runs\.md: nowhere\.md leads nowhere"):
        page_for_site("[a](nowhere.md)", DOCS / "runs.md", pages())


def test_blocks_are_left_alone() -> None:
    text = "```console\n$ echo [a](nowhere.md)\n# c\n```\n"
    assert page_for_site(text, DOCS / "runs.md", pages()) == text


def test_a_page_has_one_title() -> None:
    assert (
        page_for_site("# A\n\n## B\n\n# C\n\n### D\n", DOCS / "runs.md", pages()) == "# A\n\n### B\n\n## C\n\n#### D\n"
    )


def test_pipes_in_the_code_of_a_table_lose_their_escape() -> None:
    assert page_for_site("| `a\\|b` | c \\| d |\n", DOCS / "runs.md", pages()) == "| `a|b` | c \\| d |\n"


def test_the_reference_has_every_public_name(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from polymeter import __all__ as public
    from polymeter.extend import __all__ as extending

    described = {
        page: set(re.findall(r"^::: polymeter\.(?:extend\.)?(\w+)$", (tree / "api" / page).read_text(), re.M))
        for page in ("polymeter.md", "extend.md")
    }
    assert described["polymeter.md"] == set(public)
    assert described["extend.md"] == set(extending) - set(public)
    monkeypatch.setattr("polymeter.__all__", [*public, "brand_new"])
    with pytest.raises(ValueError, match="brand_new"):
        docs_reference.reference_pages()


def test_the_commands_have_their_options(tree: Path) -> None:
    page = (tree / "commands.md").read_text(encoding="utf-8")
    assert "## `polymeter run`" in page
    assert "| `--model SPEC`, `-m` |" in page


def test_every_recipe_has_a_section() -> None:
    assert len({block.section for block in blocks("recipes.md") if block.section != "top"}) == 10
