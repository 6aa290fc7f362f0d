"""The page as text: self-contained, safe, bounded, the same every time. What it does in a browser: tests/browser."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from polymeter.report import make_html_report, table_lines
from polymeter.report.images import PageMedia, embed
from polymeter.report.run.extract import script_json
from polymeter.report.run.html_report import html_report
from polymeter.report.scales import Scale, bars, scale_of
from tests.report.synthetic import HOSTILE, SyntheticRun, exchange, receipt, result, sample, task


class Tags(HTMLParser):
    """All start tags of a page with their attributes, and the text of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.lasttag == "script" and self.scripts:
            self.scripts[-1] += data


@pytest.fixture(scope="module")
def run() -> SyntheticRun:
    return SyntheticRun()


@pytest.fixture(scope="module")
def page(run) -> str:
    return make_html_report(run.manifest, run.results, run.samples, run.media)


def embedded(page: str, name: str):
    return json.loads(re.search(f'<script type="application/json" id="{name}">(.*?)</script>', page, re.S)[1])


def test_nothing_is_fetched(page):
    for tag, attributes in Tags(page).tags:
        assert tag not in {"iframe", "object", "embed", "base"}
        for name in ("src", "href", "srcset", "data", "action", "poster"):
            value = attributes.get(name)
            assert value is None or value.startswith(("data:,", "#")), (tag, name, value)
    assert not re.search(r"@import|url\(", page.split("</style>")[0])


def test_the_policy_allows_only_the_pages_own_code(page):
    policy = next(a["content"] for tag, a in Tags(page).tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not any(name.startswith("on") or name == "style" for _, attributes in Tags(page).tags for name in attributes)


def test_hostile_strings_make_no_elements(page):
    parsed = Tags(page)
    assert len([tag for tag, _ in parsed.tags if tag == "script"]) == 3
    assert not [tag for tag, _ in parsed.tags if tag == "img"]
    assert "window.hacked" not in parsed.scripts[2]
    assert "<img src=x" not in page
    assert "</script><script>window" not in page


def test_hostile_strings_arrive_whole(page):
    samples = [one for one in embedded(page, "data")["samples"] if one["id"].startswith("h")]
    assert [one["target"] for one in samples] == list(HOSTILE)


@pytest.mark.parametrize("text", [*HOSTILE, "&amp;", "\u2028", "]]>"])
def test_script_json_ends_no_script_and_loses_nothing(text):
    made = script_json({text: text})
    assert not set(made) & set("<>&\u2028\u2029")
    assert json.loads(made) == {text: text}


def test_nan_and_nothing_are_shown_as_such(page):
    samples = embedded(page, "data")["samples"]
    nan = next(one for one in samples if one["id"].startswith("h1"))
    assert nan["scores"] == [["exact_match", "NaN", None]]
    assert "value" not in nan
    assert ">NaN<" in page
    assert nan["doc"] == {HOSTILE[1]: [HOSTILE[1], "∞"]}


def test_a_group_without_metrics_has_no_number_of_samples(run):
    empty = {"alias": "Empty", "members": [], "results": []}
    results = {
        **run.results,
        "groups": {**run.results.get("groups", {}), "empty": empty},
        "layout": [["group", "empty", 0], *run.results.get("layout", [])],
    }
    page = make_html_report(run.manifest, results, run.samples, run.media)
    assert ">Empty" in page
    assert not re.search(r'class="of">n </span>\s*</td>', page)


def test_lone_surrogates_do_not_break_the_file(page):
    page.encode("utf-8")


def test_the_same_run_makes_the_same_page(run, page):
    again = SyntheticRun()
    assert make_html_report(again.manifest, again.results, again.samples, again.media) == page


def test_the_head_tells_model_time_and_version(page):
    for text in (
        "<title>Demo (reading), Choice, &lt;img src=x onerror=&#39;window.hacked = 3&#39;&gt; · ocr · 2026-11-20 ·",
        '<p class="when">2026-11-20 13:40 UTC</p>',
        '<span class="value">0.8412</span><span>anls</span>',
        "95 % interval 0.8102 – 0.8722, n 38 of 40",
        "73 of 75 samples",
        "2026-11-20 13:40 UTC",
        "41 s",
        "0.1.0 (3f2a9c1e7…)",
        "41,200 in, 3,120 out",
    ):
        assert text in page


def test_the_first_number_of_a_report_has_the_colour_of_its_scale_and_many_tasks_are_counted():
    tasks = {f"t{n}": task(f"Task {n}", [result("acc", 0.9, 9, bounds=[0, 1])], 9) for n in range(5)}
    page = make_html_report({"model": {"name": "m"}}, {"tasks": tasks}, lambda name: [], lambda name: None)
    assert "<h1>Task 0, Task 1, 3 more · m</h1>" in page
    assert page.count('<span class="value v4">0.9000</span>') == 3
    alone = make_html_report(
        {"model": {"name": "m"}}, {"tasks": {"t0": tasks["t0"]}}, lambda name: [], lambda name: None
    )
    assert "<h1>Task 0 · m</h1>" in alone
    assert 'class="figure-of"' not in alone


def test_provenance_is_there(page):
    for text in (
        "polymeter run --model ocr --tasks demo,demo_choice",
        "rapidocr 3.10.1",
        "aa00bb with local changes",
        "b81d77",
    ):
        assert text in page


def test_an_empty_manifest_and_an_empty_run_make_a_page():
    page = make_html_report({}, {"tasks": {}, "status": "stopped"}, lambda name: [], lambda name: None)
    assert "Stopped before its end" in page
    assert 'id="list"' not in page


def test_every_image_is_embedded_once(run, page):
    images = embedded(page, "pictures")
    # That of the refused sample too, which was asked about; the broken one was never asked.
    assert set(images) == set(run.files) - {"0007receipt.png"}
    assert all(uri.startswith("data:image/png;base64,") for uri in images.values())


def noisy_run(n: int) -> tuple[SyntheticRun, dict[str, bytes]]:
    """A run with images that become much smaller when they are scaled down."""
    run = SyntheticRun(n)
    return run, {name: receipt(3)[0] + bytes(40_000) for name in run.files}


def noisy_page(run: SyntheticRun, files: dict[str, bytes], **limits: Any) -> str:
    return make_html_report(run.manifest, run.results, run.samples, lambda name: (files[name], "image/png"), **limits)


@pytest.mark.parametrize("max_bytes", [200_000, 400_000, 1_000_000])
def test_a_report_is_no_larger_than_its_budget_and_says_what_it_holds(max_bytes):
    page = noisy_page(*noisy_run(60), max_bytes=max_bytes)
    assert max_bytes * 0.8 < len(page.encode()) <= max_bytes
    data = embedded(page, "data")
    n = len(data["samples"])
    assert n == sum(one["shown"] for one in data["tasks"]) < 95
    assert f"{n} of 95 samples are in this report, as many as fit {max_bytes / 1e6:g} MB: first" in page
    assert "All are in samples/*.jsonl of the run folder, and in polymeter view." in page
    assert re.search(r"\d+ images scaled down to keep the report small", page)
    pictures = embedded(page, "pictures")
    asked = {
        part["image"]["file"]
        for one in data["samples"]
        for exchange in one.get("exchanges", ())
        for message in exchange["request"]["messages"]
        for part in message["parts"]
        if "image" in part
    }
    assert set(pictures) == asked


def test_a_scaled_down_image_keeps_the_size_of_its_file():
    pictures = embedded(noisy_page(*noisy_run(60), max_bytes=300_000), "pictures")
    assert {tuple(one[1:]) for one in pictures.values() if isinstance(one, list)} == {(300, 190)}


def test_tasks_share_the_budget_whatever_their_samples_take():
    data = embedded(noisy_page(*noisy_run(60), max_bytes=210_000), "data")
    shown = {one["name"]: (one["shown"], one["total"]) for one in data["tasks"]}
    # The two tasks of short texts are whole; the two with images share the rest.
    assert shown["demo_choice"] == (6, 6)
    assert shown["hostile"] == (5, 5)
    assert shown["demo_receipts"][0] > 4
    assert shown["demo_signs"][0] > 4


@pytest.mark.parametrize(("wanted", "n"), [("all", 95), (10, 31)])
def test_a_number_of_samples_counts_more_than_the_budget(wanted, n):
    page = noisy_page(*noisy_run(60), wanted=wanted, max_bytes=200_000)
    assert len(embedded(page, "data")["samples"]) == n
    assert re.search(r"\d+ images scaled down to keep the report small", page)
    assert "as many as fit" not in page


def test_what_fits_is_embedded_unchanged_and_never_decoded(monkeypatch):
    def refuse(*_: Any) -> None:
        raise AssertionError("an image was decoded")

    monkeypatch.setattr("polymeter.report.images._smaller", refuse)
    page = noisy_page(*noisy_run(60))
    assert len(embedded(page, "pictures")) == 60 - 1 + 24


def test_a_report_is_made_in_pieces_that_hold_few_media():
    run, files = noisy_run(60)
    media = PageMedia(lambda name: (files[name], "image/png"), lambda name: len(files[name]))
    pieces = [*html_report(run.manifest, run.results, run.samples, media)]
    assert "".join(pieces) == noisy_page(run, files)
    assert max(map(len, pieces)) < sum(map(len, pieces)) / 2


def test_media_of_one_sample_take_a_quarter_of_the_budget_at_most():
    large = {f"{number}.png": receipt(number)[0] + bytes(30_000) for number in range(9)}
    parts = [{"image": {"width": 300, "height": 190, "file": name}} for name in large]
    asked = exchange(None, "Compare.", "yes")
    asked["request"]["messages"][0]["parts"] = parts
    results = {"tasks": {"t": task("T", [result("exact_match", 1.0, 1)], 1)}}
    samples = [sample(0, exchanges=[asked])]
    page = make_html_report(
        {}, results, lambda name: samples, lambda name: (large[name], "image/png"), max_bytes=130_000
    )
    assert len(embedded(page, "data")["samples"]) == 1
    assert 0 < len(embedded(page, "pictures")) < 9
    assert re.search(r"\d images left out to keep the report small; see media/", page)


def test_missing_and_foreign_media_are_counted_and_not_embedded():
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>"
    found = embed(["a", "b", "a"], {"a": (svg, "image/svg+xml")}.get, 10_000)
    assert (found.uris, found.n_missing) == ({}, 2)


def test_a_long_run_shows_a_part_and_says_which():
    samples = [sample(i, status="error" if i % 50 == 0 else "ok") for i in range(1000)]
    results = {"tasks": {"t": task("T", [result("exact_match", 0.9, 980)], 1000, n_scored=980)}}
    page = make_html_report({}, results, lambda name: samples, lambda name: None, wanted=60)
    assert (
        "60 of 1,000 samples are in this report: first all without a score, the worst, and an even spread "
        "of the others." in page
    )
    data = embedded(page, "data")
    assert data["tasks"][0] | {"shown": 60, "total": 1000, "failed": 20, "failed_shown": 20} == data["tasks"][0]


def test_long_texts_are_cut_and_the_page_stays_small():
    samples = [sample(i, answer="a" * 50_000, log={"l": ["b" * 9000] * 200}) for i in range(300)]
    results = {"tasks": {"t": task("T", [result("exact_match", 0.9, 300)], 300)}}
    page = make_html_report({}, results, lambda name: samples, lambda name: None, max_bytes=1_000_000)
    assert len(page.encode()) <= 1_000_000
    assert "[44,000 more characters]" in page
    assert "of 300 samples are in this report" in page


def test_worst_first_follows_the_direction_of_the_metric():
    samples = [sample(i, scores=[{"metric": "cer", "filter": "none", "value": i / 10}]) for i in range(10)]
    results = {"tasks": {"t": task("T", [result("cer", 0.45, 10, higher_is_better=False, bounds=[0, 1])], 10)}}
    page = make_html_report({}, results, lambda name: samples, lambda name: None, wanted=1)
    (one,) = embedded(page, "data")["samples"]
    assert (one["id"], one["value"], one["at"]) == ("row-009", "0.9000", 0.9)
    assert embedded(page, "data")["tasks"][0]["is_lower_better"]
    assert embedded(page, "data")["tasks"][0]["lower"] == {"cer": True}


def test_a_score_inside_a_dictionary_orders_samples():
    scores = [{"metric": "judge", "filter": "none", "value": {"question": "q", "score": 0.25}}]
    results = {"tasks": {"t": task("T", [result("judge", 0.25, 1, bounds=[0, 1])], 1)}}
    page = make_html_report({}, results, lambda name: [sample(0, scores=scores)], lambda name: None)
    assert embedded(page, "data")["samples"][0]["at"] == 0.25


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([0.2, 0.9], (0, 1)),
        ([0.2, 1.3], (0, 2)),
        ([63.2], (0, 100)),
        ([1634.0], (0, 10_000)),
        ([-0.3, 0.4], (-1, 1)),
        ([], (0, 1)),
    ],
)
def test_scales_are_the_usual_ones(values, scale):
    assert scale_of(values) == Scale(*map(float, scale))


@pytest.mark.parametrize(
    ("bounds", "scale"), [([0, 1], [0, 1]), ([0, 10], [0, 10]), ([0, None], None), ([None, None], None), (None, None)]
)
def test_a_samples_scale_is_the_declared_range_or_unknown(bounds, scale):
    scores = [{"metric": "m", "filter": "none", "value": 0.4}]
    declared = {} if bounds is None else {"bounds": bounds}
    results = {"tasks": {"t": task("T", [result("m", 0.4, 9, **declared)], 9)}}
    samples = [sample(number, scores=scores) for number in range(9)]
    page = make_html_report({}, results, lambda name: samples, lambda name: None)
    assert embedded(page, "data")["tasks"][0]["scales"] == {"m": scale}


def test_an_interval_beyond_the_bounds_does_not_stretch_the_scale():
    (bar,) = bars(
        table_lines({"tasks": {"t": task("T", [result("anls", 0.95, 9, interval=[0.85, 1.05], bounds=[0, 1])], 9)}})
    )
    assert (bar.low_px + bar.width_px, bar.ends) == (164.0, "")


def test_bars_say_in_words_what_they_show():
    lines = table_lines(
        {
            "tasks": {
                "t": task("T", [result("a", 0.5, 9, interval=[0.4, 0.6], bounds=[0, 1]), result("b", math.nan, 0)], 9)
            }
        }
    )
    bar, nothing = bars(lines)
    assert bar.label == "0.5000, 95 % interval 0.4000 to 0.6000"
    assert (bar.low_px, bar.value_px, bar.width_px) == (68.0, 84.0, 32.0)
    assert nothing is None


def bars_of(*results):
    return bars(table_lines({"tasks": {"t": task("T", [*results], 9)}}))


def test_an_axis_comes_from_the_declared_range():
    (rated,) = bars_of(result("judge_score", 4.0, 9, bounds=[0, 10]))
    assert (rated.value_px, rated.ends) == (68.0, "0 – 10")
    (signed,) = bars_of(result("mcc", 0.5, 9, bounds=[-1, 1]))
    assert (signed.value_px, signed.ends) == (124.0, "-1 – 1")


@pytest.mark.parametrize("bounds", [None, [None, None], [0, None]])
def test_no_axis_is_made_up_from_one_value(bounds):
    assert bars_of(result("score", 4.2, 9, **({"bounds": bounds} if bounds else {}))) == [None]
    first, second = bars_of(result("score", 4.2, 9), result("score", 7.5, 9, subset=["a"]))
    assert (first.ends, second.ends) == ("0 – 10", "0 – 10")


def test_an_interval_is_written_as_its_value_is():
    results = {"tasks": {"t": task("T", [result("bytes", 98333.3, 30, interval=[97930.0, 98690.0])], 30)}}
    page = make_html_report({}, results, lambda name: [], lambda name: None)
    assert "97930.0 – 98690.0" in page


def test_a_number_without_an_axis_is_still_shown_with_its_interval():
    results = {"tasks": {"t": task("T", [result("score", 4.2, 9, interval=[3.5, 5.0])], 9)}}
    page = make_html_report({}, results, lambda name: [], lambda name: None)
    assert "3.5000 – 5.0000" in page
    assert "on a scale of" not in page
