"""The page of a run: its result in one look, its settings, its parts, and why there is no result."""

from __future__ import annotations

import json
import re

import pytest

from polymeter.viewer.overview.settings import settings_of
from tests.helpers.viewed_runs import TASK, sample, write_run


def test_the_headline_has_task_model_score_interval_and_n(client):
    page = client.get("/run/first").text
    assert re.search(r"<h1>Capitals <span class=\"with\">with</span> small</h1>", page)
    head = page[page.index('class="headline"') : page.index("settings-box")]
    assert "0.7500" in head
    assert "0.6500 – 0.8500" in head
    assert "<strong>n = 120</strong> of 120 samples, all scored" in head


def test_several_tasks_have_a_line_each(runs, open_viewer):
    run = write_run(runs / "two", [sample(n) for n in range(4)])
    manifest, results = (json.loads((run / name).read_text()) for name in ("run.json", "results.json"))
    manifest["tasks"].append({**manifest["tasks"][0], "name": "more"})
    results["tasks"]["more"] = {**results["tasks"][TASK], "alias": "More"}
    (run / "run.json").write_text(json.dumps(manifest))
    (run / "results.json").write_text(json.dumps(results))
    page = open_viewer(runs).get("/run/two").text
    assert "<h1>2 tasks" in page
    assert re.findall(r'score-title">([^<]+)<', page) == ["Capitals", "More"]


def test_truncated_answers_are_linked_to_their_samples(runs, open_viewer):
    run = write_run(runs / "cut", [sample(n) for n in range(4)])
    results = json.loads((run / "results.json").read_text())
    results["tasks"][TASK]["truncation"] = {"n_answers": 4, "length": {"n": 1}}
    (run / "results.json").write_text(json.dumps(results))
    page = open_viewer(runs).get("/run/cut").text
    assert "WARNING: Capitals: 1 of 4 answers ended at the token limit (25.0 %): raise --gen-kwargs" in page
    assert f'<a href="/run/cut/samples?task={TASK}&amp;cut=length">See them</a>' in page


def test_command_and_settings_stand_beside_the_result(client):
    page = client.get("/run/first").text
    box = page[page.index("settings-box") : page.index('class="results"')]
    assert "<code>polymeter run</code>" in box
    assert "data-copy" in box
    assert "defaults of the model" in box


def test_settings_are_those_that_shaped_the_answers():
    task = {"name": "a", "file": "/x/a.yaml", "num_fewshot": 5, "config": {"generation_kwargs": {"temperature": 0}}}
    manifest = {
        "command": "polymeter run --model m",
        "tasks": [task, {**task, "name": "b"}],
        "options": {"identity": {"seed": 3, "limit": 0.25, "offset": 10, "generation": {"max_new_tokens": 9}}},
        "model": {"spec": {"args": {"dtype": "bf16"}}},
    }
    assert [(one.label, one.value) for one in settings_of(manifest)] == [
        ("Command", "polymeter run --model m"),
        ("Task file", "/x/a.yaml"),
        ("Seed", "3"),
        ("Limit", "0.25 of the rows, from row 10"),
        ("n-shot", "5"),
        ("Generation", "temperature 0, max_new_tokens 9"),
        ("Model arguments", "dtype bf16"),
    ]
    other = {**task, "num_fewshot": 0, "config": {}}
    differing = {one.label: one.value for one in settings_of({"tasks": [task, other]})}
    assert differing["n-shot"] == differing["Generation"] == "differs between tasks"
    assert differing["Command"] == "run from Python"


def test_subsets_and_categories_are_bars_with_links_to_their_samples(client):
    page = client.get("/run/first").text
    parts = page[page.index("breakdowns") :]
    assert "exact_match ↑ by subset" in parts
    assert "exact_match ↑ by continent" in parts
    assert f"/run/first/samples?task={TASK}&amp;subset=south%2Ffar" in parts
    assert f"/run/first/samples?task={TASK}&amp;category=continent%3AAsia" in parts
    link = re.search(r'class="b-name" href="([^"]+)" title="north"', parts)[1].replace("&amp;", "&")
    assert "60 samples" in client.get(link).text


def test_subsets_of_the_results_are_drawn_with_their_own_intervals(runs, open_viewer):
    run = runs / "first"
    results = json.loads((run / "results.json").read_text())
    own = results["tasks"][TASK]["results"]
    own += [
        {**own[0], "subset": ["continent", name], "value": value, "n": 40} for name, value in (("Asia", 0.2), ("Oz", 1))
    ]
    (run / "results.json").write_text(json.dumps(results))
    page = open_viewer(runs).get("/run/first").text
    assert "exact_match ↑ by continent" in page
    assert re.search(r'title="Asia">Asia</a>.*?v1">0.2000<', page)
    assert "subset=continent%2FAsia" in page
    assert page.count("exact_match ↑ by") == 1


def test_samples_by_outcome_add_up_to_all_and_lead_to_them(client):
    page = client.get("/run/failing").text
    found = re.findall(r'<a href="([^"]+)"><strong>(\d+)</strong> (right|wrong|without a score)</a>', page)
    assert sum(int(n) for _, n, _ in found) == 30
    for link, n, _ in found:
        assert f"{n} sample" in client.get(link.replace("&amp;", "&")).text


def test_a_run_whose_samples_all_failed_says_why_and_what_helps(runs, open_viewer):
    run = write_run(runs / "lost", [sample(n, status="error") for n in range(6)])
    page = open_viewer(runs).get("/run/lost").text
    assert "No result: none of 6 samples has a score" in page
    assert "the endpoint failed for 0" in page
    assert f"<code>polymeter resume {run}</code>" in page
    assert "6 errors" in page


def test_samples_without_a_verdict_are_scored_again(runs, open_viewer):
    run = write_run(runs / "silent", [sample(n, status="unscored") for n in range(6)])
    page = open_viewer(runs).get("/run/silent").text
    assert page.index(f"polymeter score {run}") < page.index(f"polymeter resume {run}")


def test_a_run_that_stopped_before_its_samples_says_so(runs, open_viewer):
    session = {"status": "failed", "reason": "The key was refused."}
    run = write_run(runs / "none", [], status="failed", n_planned=40, sessions=[session])
    page = open_viewer(runs).get("/run/none").text
    assert "This run failed: no result: none of 40 samples has a score" in page
    assert "The key was refused." in page
    assert "40 not run" in page
    assert f"polymeter resume {run}" in page


def test_a_good_run_has_no_such_notice(client):
    assert "refusal" not in client.get("/run/first").text


def test_bar_table_and_headline_of_a_live_run_agree(runs, open_viewer):
    write_run(runs / "going", [sample(n) for n in range(10)], status="running", n_planned=40)
    page = open_viewer(runs).get("/run/going").text
    live = page[page.index('id="live"') : page.index("breakdowns")]
    assert 'max="40" value="10"' in live
    assert "<strong>n = 10</strong> of 40 samples" in live
    assert "10 of 40</td>" in live
    assert live.count("<dt>Duration</dt>") == 1
    assert re.search(r"<dt>Time left</dt><dd>about \d+ h", live)


def test_a_run_that_writes_nothing_has_no_time_left(runs, open_viewer):
    import os

    run = write_run(runs / "going", [sample(n) for n in range(10)], status="running", n_planned=40)
    client = open_viewer(runs)
    client.get("/run/going")  # SQLite may write what is left of the journal's log when it is first opened
    for file in run.iterdir():
        os.utime(file, (1_780_000_000, 1_780_000_000))
    page = client.get("/run/going/progress").text
    assert "it may have been killed" in page
    assert "unknown: nothing is being written" in page


def test_a_manifest_begins_with_what_was_measured_and_cuts_hashes(runs, open_viewer):
    digest = "0123456789abcdef" * 2
    write_run(runs / "hashed", [sample(0)], polymeter={"version": "0.1.0", "commit": digest}, python="3.12.1")
    page = open_viewer(runs).get("/run/hashed/manifest").text
    titles = [
        page.index(title) for title in ("What was measured", "Machine and versions", "Everything that is recorded")
    ]
    assert titles == sorted(titles)
    assert f'title="0.1.0 ({digest})">0.1.0 (0123456789…)<' in page
    assert "3.12.1" in page


@pytest.mark.parametrize("key", ["nosuch", "<b>"])
def test_a_missing_run_is_not_found(client, key):
    answer = client.get(f"/run/{key}")
    assert answer.status_code == 404
    assert "<h1>Run not found</h1>" in answer.text
    assert "deleted or renamed" not in answer.text
    assert "<b>" not in answer.text
