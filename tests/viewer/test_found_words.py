"""The words of a search in the texts that it found."""

from __future__ import annotations

import pytest

from polymeter.viewer.found_words import gist, marked
from tests.helpers.viewed_runs import HOSTILE, TASK, sample, write_run


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("What is it?", [], "What is it?"),
        ("The Capital, a capital", ["capital"], "The <mark>Capital</mark>, a <mark>capital</mark>"),
        ("capital capitals", ["capital", "capitals"], "<mark>capital</mark> <mark>capitals</mark>"),
        ("the capital of it", ["capital  of"], "the <mark>capital of</mark> it"),
        ("a.c abc", ["a.c"], "<mark>a.c</mark> abc"),
        (
            "<b>b</b>",
            ["b", "<"],
            "<mark>&lt;</mark><mark>b</mark>&gt;<mark>b</mark><mark>&lt;</mark>/<mark>b</mark>&gt;",
        ),
        ("x & <script>", ["&"], "x <mark>&amp;</mark> &lt;script&gt;"),
        ("text", ["  "], "text"),
    ],
)
def test_words_are_marked_and_all_else_is_escaped(text, words, expected) -> None:
    assert str(marked(text, words)) == expected


def test_a_long_text_is_cut_around_the_first_word() -> None:
    text = f"{'before ' * 100}the needle\nis here {'after ' * 100}"
    assert gist(text, 200) == gist(text, 200, ["absent"]) == gist(text, 200, ["before", "needle"])
    cut = gist(text, 200, ["NEEDLE"])
    assert cut.startswith("…")
    assert "the needle is here" in cut
    assert len(cut) == 200
    assert gist("short needle", 200, ["needle"]) == "short needle"


@pytest.mark.parametrize("view", ["", "dense", "grid"])
def test_the_list_and_the_search_mark_what_they_found(tmp_path, open_viewer, view) -> None:
    write_run(tmp_path / "runs/one", [sample(n) for n in range(4)])
    client = open_viewer(tmp_path / "runs")
    listed = client.get(f"/run/one/samples?task={TASK}&q=COUNTRY+2&view={view}").text
    assert ("What is the capital of <mark>country 2</mark>?" in listed) == (view != "grid")
    assert "<mark>" not in client.get(f"/run/one/samples?task={TASK}&view={view}").text
    assert "<mark>2</mark>" in client.get("/search?q=row+2").text
    # A word that was looked for in answers is not marked elsewhere.
    assert "<mark>" not in client.get(f"/run/one/samples?task={TASK}&q=country&in=target&view={view}").text


def test_hostile_words_and_texts_stay_text(tmp_path, open_viewer) -> None:
    write_run(tmp_path / "runs/one", [sample(0, answer=HOSTILE[0])])
    client = open_viewer(tmp_path / "runs")
    page = client.get(f"/run/one/samples?task={TASK}", params={"q": "<script>"}).text
    assert "<mark>&lt;script&gt;</mark>window.hacked" in page
    assert "<script>window" not in page
