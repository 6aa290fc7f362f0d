"""The page of a comparison, as text."""

from __future__ import annotations

import json
import re
from typing import Any

from polymeter.report.comparison.page import SideBySide, make_comparison_page
from tests.report.synthetic import SyntheticRun

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


def score(**values: Any) -> dict[str, Any]:
    return {
        "kind": "task", "name": "signs", "title": "Signs", "metric": "anls", "filter": "none", "is_main": True,
        "higher_is_better": True, "n": 40, "first": 0.5, "second": 0.8, "difference": 0.3, "interval": [0.1, 0.5],
        "no_interval": "", "p_value": 0.001, "p_corrected": 0.001, "p_method": "permutation, exact", "family": 1,
        "wins": 12, "ties": 28, "losses": 0, "verdict": "better", "detectable": 0.2, "gained": [], "lost": [],
        **values,
    }  # fmt: skip


def document(**values: Any) -> dict[str, Any]:
    other = {
        "name": "after", "model": "m", "warnings": [f"Rows differ: {HOSTILE}"], "scores": [score(**values)],
        "not_compared": [], "answers": [],
    }  # fmt: skip
    return {"paired": True, "first": {"name": "before", "model": "m"}, "others": [other]}


def pairs() -> tuple[SyntheticRun, list[SideBySide]]:
    run = SyntheticRun()
    listed = run.samples(next(iter(run.results["tasks"])))[:6]
    spoilt = [{**sample, "answer": HOSTILE, "status": "ok"} for sample in listed]
    return run, [
        SideBySide("signs", one["id"], [one, two], [0.2, 0.9], ("even", "odd")[place % 2 : place % 2 + 1])
        for place, (one, two) in enumerate(zip(listed, spoilt, strict=True))
    ]


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def test_a_page_holds_numbers_answers_and_each_medium_once() -> None:
    run, samples = pairs()
    page = make_comparison_page(document(), samples, 40, run.media)
    data = data_of(page)
    assert [card["gains"] for card in data["samples"]] == [[0.7]] * 6 or data["samples"][0]["gains"][0] > 0
    assert data["samples"][0]["won"] == [1]
    assert "after is better than before on Signs, by 0.300 anls (95 % interval 0.100 to 0.500; p = 0.001)." in page
    assert all(f"{word} in {n}</span>" in page for word, n in {"better": 12, "worse": 0, "equal": 28}.items())
    assert "6 of 40 samples" in page
    pictures = re.search(r'id="pictures">(.*?)</script>', page, re.S)
    assert pictures is not None
    uris = list(json.loads(pictures[1]).values())
    assert len(uris) == len(set(uris)) == page.count("data:image/png;base64")
    assert page == make_comparison_page(document(), samples, 40, run.media)


def test_texts_of_others_stay_texts() -> None:
    run, samples = pairs()
    page = make_comparison_page(document(title=HOSTILE), samples, 40, run.media)
    assert "<script>window" not in page
    assert "<img src=x" not in page


def test_a_page_stays_within_its_size() -> None:
    run, samples = pairs()
    many = samples * 200
    page = make_comparison_page(document(), many, len(many), run.media, max_bytes=300_000)
    assert len(page.encode()) < 400_000
    assert len(data_of(page)["samples"]) < len(many)


def test_lower_is_better_turns_who_won() -> None:
    run, samples = pairs()
    page = make_comparison_page(document(higher_is_better=False, verdict="worse"), samples, 6, run.media)
    assert data_of(page)["samples"][0]["won"] == [0]
    assert "before is better" in page
