"""The list of samples: its rows, its views, its orders, and the names of files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import polymeter
from polymeter.core.logs import LoggedExchange, LoggedMedium, LoggedMessage, LoggedOutput
from polymeter.core.records.stored_samples import media_names
from polymeter.report.sample_values import short_sample_value
from tests.helpers.viewed_runs import hostile_sample, sample, write_run
from tests.tasks.yaml.kit import task_text, write_rows


def about_file(source: str) -> tuple[LoggedExchange, ...]:
    """A question about an image."""
    system = LoggedMessage("system", ("Answer in one word.",))
    asked = LoggedMessage("user", (LoggedMedium("image", source), "What is on it?"))
    return (LoggedExchange((LoggedOutput(text="a cat", finish_reason="stop"),), (system, asked)),)


@pytest.fixture
def photos(tmp_path) -> Path:
    """A run whose samples are about files, with eight metrics of which two stand in its results."""
    more = {(f"extra_{n}", "none"): n / 10 for n in range(6)}
    samples = [
        sample(
            n,
            right=n != 1,
            exchanges=about_file(f"photos/holiday-{n}.JPG"),
            scores={("exact_match", "none"): float(n != 1), ("f1", "none"): n / 5, **more},
        )
        for n in range(6)
    ]
    return write_run(tmp_path / "photos" / "run", samples)


def rows_of(page: str) -> list[str]:
    """The rows of a list, without markup between their texts."""
    return re.findall(r'<a class="row".*?</a>', page, re.DOTALL)


@pytest.mark.parametrize(
    ("note", "name"),
    [
        ({"name": "cat.png", "source": "/data/other.png"}, "cat.png"),
        ({"source": "/data/sounds/tone 1.wav"}, "tone 1.wav"),
        ({"source": r"C:\data\clip.mp4"}, "clip.mp4"),
        ({"url": "https://example.org/a/b.jpeg?size=2#top"}, "b.jpeg"),
        ({"url": "https://example.org/image"}, ""),
        ({"url": "data:image/png;base64,AAAA.png"}, ""),
        ({"source": "JpegImageFile"}, ""),
        ({"file": "0123456789abcdef0123456789abcdef.png", "width": 3}, ""),
    ],
)
def test_a_file_has_the_name_that_the_dataset_gives_it(note, name):
    messages = [{"role": "user", "parts": [{"image": note}, {"text": "What is it?"}]}]
    assert media_names(messages) == ([name] if name else [])


def test_files_are_named_once_and_in_order():
    parts = [{"image": {"name": "b.png"}}, {"video": {"name": "a.mp4"}}, {"image": {"name": "b.png"}}]
    assert media_names([{"role": "user", "parts": parts}]) == ["b.png", "a.mp4"]
    assert media_names([{"role": "user", "parts": [{"text": "a.png"}]}]) == []


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (0.0, "0"), (0.25, "0.25"), (2 / 3, "0.6667"), (100, "100"), (1e-7, "1.00e-07")]
)
def test_values_of_one_sample_have_no_zeros_that_mean_nothing(value, text):
    assert short_sample_value("exact_match", value) == text


def test_values_with_parts_name_them(tmp_path, open_viewer):
    write_rows(tmp_path, [{"q": "Say it.", "a": "one two three four"}])
    (tmp_path / "t.yaml").write_text(task_text("metric_list: [corpus_wer]\n"))
    runs = tmp_path / "runs"
    polymeter.evaluate("mock", ["t"], model_args={"answer": "four"}, include_paths=[tmp_path], output=runs / "run")
    client = open_viewer(runs)
    for address in ("/run/run/samples", "/run/run/sample?index=0"):
        assert "3 errors / 4 words" in client.get(address).text


def test_a_row_shows_question_file_answer_target_and_values(photos, open_viewer):
    page = open_viewer(photos.parent).get("/run/run/samples").text
    row = rows_of(page)[1]
    assert "What is on it?" in row
    assert "Answer in one word" not in row
    assert '<span class="row-file">holiday-1.JPG</span>' in row
    assert re.search(r"answer</span>\s*Lyon", row)
    assert re.search(r"expected</span>\s*Paris", row)
    assert re.search(r'exact_match</span>\s*<span class="value v0">0</span><span class="unseen"> wrong', row)
    assert re.search(r'f1</span>\s*<span class="value v1">0\.2</span>', row)
    # Only two metrics have an axis in the results; the last ones are named in a title.
    assert re.search(r'extra_0</span>\s*<span class="value">0</span>', row)
    assert re.search(r'title="extra_2 0\.2, extra_3 0\.3, extra_4 0\.4, extra_5 0\.5">\+4<', row)


def test_a_value_of_which_less_is_better_is_coloured_and_sorted_by_its_own_direction(photos, open_viewer):
    results = json.loads((photos / "results.json").read_text())
    results["tasks"]["capitals"]["results"][1]["higher_is_better"] = False
    (photos / "results.json").write_text(json.dumps(results))
    client = open_viewer(photos.parent)
    rows = rows_of(client.get("/run/run/samples?sort=worst:f1").text)
    assert "holiday-5" in rows[0]
    assert '<span class="value v0">1</span>' in rows[0]
    # The metric that rows are sorted by stands first.
    assert rows[0].index("f1</span>") < rows[0].index("exact_match</span>")
    assert "holiday-0" in rows_of(client.get("/run/run/samples?sort=best:f1").text)[0]


def test_file_names_are_searched(photos, open_viewer):
    client = open_viewer(photos.parent)
    for query, n in (
        ("q=HOLIDAY-3.jpg", 1),
        ("q=holiday&in=file", 6),
        ("q=cat&in=file", 0),
        ("q=holiday&in=answer", 0),
    ):
        assert len(rows_of(client.get(f"/run/run/samples?{query}").text)) == n, query
    assert '<option value="file">' in client.get("/run/run/samples").text


def test_samples_without_files_offer_no_search_for_them(client):
    page = client.get("/run/first/samples").text
    assert '<option value="file">' not in page
    assert client.get("/run/first/samples?q=row&in=file").status_code == 200


def test_all_texts_of_an_address_must_occur(client):
    page = client.get("/run/first/samples?q=lyon&q=row-0004").text
    assert len(rows_of(page)) == 1
    assert '<input type="hidden" name="q" value="lyon">' in page
    assert 'value="row-0004" placeholder' in page


def test_views_stand_in_the_link_and_are_kept(photos, open_viewer):
    client = open_viewer(photos.parent)
    dense = client.get("/run/run/samples?view=dense&state=right").text
    assert 'class="dense scores-6"' in dense
    assert len(re.findall(r'<a class="dense-link line" href="[^"]*view=dense[^"]*"', dense)) == 5
    assert '<input type="hidden" name="view" value="dense">' in dense
    assert "Remove: " in dense
    assert re.search(r'href="[^"]*view=dense[^"]*"><span class="unseen">Remove', dense)
    assert '<th scope="col" class="d-more" title="A row of the normal view shows more of them">+2</th>' in dense
    tiles = client.get("/run/run/samples?view=grid").text
    assert len(re.findall(r'<span class="tile-text">What is on it\?', tiles)) == 6
    assert "holiday-0.JPG" in tiles
    for other in ("rows", "", "nonsense"):
        assert len(rows_of(client.get(f"/run/run/samples?view={other}").text)) == 6


def test_the_dense_table_sorts_by_each_metric_and_turns_the_order(photos, open_viewer):
    client = open_viewer(photos.parent)
    page = client.get("/run/run/samples?view=dense&sort=worst:extra_5").text
    assert re.search(r'aria-sort="ascending"><a href="[^"]*sort=best%3Aextra_5"', page)
    assert client.get("/run/run/samples?sort=worst:none&view=dense").status_code == 200
    assert 'value="best:f1"' in page


def test_tiles_show_the_images_that_the_run_keeps(tmp_path, open_viewer):
    import polymeter
    from polymeter.models.mock import MockBatch
    from tests.helpers.viewing import paint

    painter = MockBatch(paint, identity={"backend": "mock", "name": "painter"})
    polymeter.evaluate(painter, ["demo_edit"], output=tmp_path / "runs" / "drawn", limit=2)
    client = open_viewer(tmp_path / "runs")
    page = client.get("/run/drawn/samples?view=grid").text
    images = re.findall(r'class="tile-image"><img src="([^"]+)"', page)
    assert len(images) == 2
    assert client.get(images[0]).headers["content-type"] == "image/png"
    assert "0.png" in page


def test_states_say_how_many_samples_they_have(client):
    page = client.get("/run/failing/samples").text
    states = dict(re.findall(r'name="state" value="(\w+)"> \w+ <span class="state-n">(\d+)<', page))
    n_failed, n_unscored = int(states["failed"]), int(states["unscored"])
    assert (n_failed, n_unscored) == (5, 20)
    assert int(states["right"]) + int(states["wrong"]) + n_failed + n_unscored == 30
    assert 'value="failed"' not in client.get("/run/first/samples").text


@pytest.mark.parametrize("view", ["", "dense", "grid"])
def test_hostile_texts_are_inert_in_every_view(client, view):
    page = client.get(f"/run/hostile/samples?view={view}&sort=worst:f1").text
    assert "<script>window" not in page
    assert "<img src=x" not in page
    assert "<svg onload" not in page


def test_another_task_is_chosen_without_the_filters_of_this_one(tmp_path, open_viewer):
    import polymeter

    run = tmp_path / "runs" / "two"
    polymeter.evaluate("mock", ["demo_signs", "demo_receipt_total"], output=run, limit=2)
    page = open_viewer(run.parent).get("/run/two/samples?task=demo_receipt_total&q=total&view=dense").text
    form = re.search(r'<form class="task-form".*?</form>', page, re.DOTALL)[0]
    assert '<option value="demo_receipt_total" selected>' in form
    assert 'name="q"' not in form
    assert 'name="view" value="dense"' in form


def test_a_hostile_file_name_is_text(tmp_path, open_viewer):
    named = sample(0, exchanges=about_file("<img src=x onerror=window.hacked=1>.png"))
    run = write_run(tmp_path / "runs" / "run", [named, hostile_sample(1)])
    page = open_viewer(run.parent).get("/run/run/samples").text
    assert "&lt;img src=x onerror=window.hacked=1&gt;.png" in page
    assert "<img src=x" not in page


def test_a_sample_whose_request_is_not_stored_shows_the_question_of_its_row(tmp_path, open_viewer):
    doc = {"image": "a.png", "question": "Which sign is it?"}
    run = write_run(tmp_path / "runs" / "run", [sample(0, status="error", exchanges=(), doc=doc)])
    row = rows_of(open_viewer(run.parent).get("/run/run/samples").text)[0]
    assert "Which sign is it?" in row
    assert "the endpoint failed for 0" in row
