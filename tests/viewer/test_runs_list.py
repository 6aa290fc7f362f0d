"""The list of runs: its order, its groups, checkpoints of one training run as one row, and what its buttons refuse."""

from __future__ import annotations

import json
import re

import pytest

from tests.helpers.viewed_runs import TASK, sample, write_run
from tests.viewer.test_pages import second


def names(page: str) -> list[str]:
    """The runs of a page in their order."""
    return re.findall(r'<a href="/run/[^"]+" data-row title="([^"·]+?)(?: ·[^"]*)?">', page)


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", ["nested/second", "failing", "first", "hostile"]),
        ("run", ["failing", "first", "hostile", "nested/second"]),
        ("-run", ["nested/second", "hostile", "first", "failing"]),
        ("value", ["failing", "nested/second", "first", "hostile"]),
        ("-value", ["hostile", "first", "nested/second", "failing"]),
        ("n", ["hostile", "failing", "first", "nested/second"]),
        ("no such column", ["failing", "first", "hostile", "nested/second"]),
    ],
)
def test_runs_are_sorted_by_a_column_and_the_link_keeps_it(client, sort, order):
    page = client.get(f"/?sort={sort}").text
    assert names(page) == order
    headings = re.findall(r'aria-sort="(\w+)"><a href="([^"]+)"', page)
    assert len(headings) == 1
    direction, link = headings[0]
    assert direction == ("descending" if sort.startswith("-") or not sort else "ascending")
    turned = client.get(link.replace("&amp;", "&")).text
    assert f'aria-sort="{"ascending" if direction == "descending" else "descending"}"' in turned


def test_unknown_values_are_last_in_either_direction(runs, open_viewer):
    write_run(runs / "empty", [sample(n, status="error") for n in range(3)])
    client = open_viewer(runs)
    assert [names(client.get(f"/?sort={sort}").text)[-1] for sort in ("value", "-value")] == ["empty", "empty"]


def test_a_row_has_the_value_its_interval_and_what_it_took(client):
    row = client.get("/?q=small").text
    row = row[row.index('class="run"') :]
    assert '<span class="value v3">0.7500</span>' in row
    assert "0.6500 – 0.8500" in row
    assert "12 s" in row
    assert "970" in row


def test_what_is_not_known_is_never_0(runs, open_viewer):
    write_run(runs / "silent", [sample(0)], usage={"input_tokens": 0, "output_tokens": 0}, seconds=None)
    write_run(runs / "priced", [sample(0)], usage={"input_tokens": 5, "output_tokens": 7, "cost": 1.25})
    client = open_viewer(runs)
    page = client.get("/?q=silent").text
    assert re.search(r'class="run-usage right" title="unknown">–<', page)
    assert re.search(r'class="run-took right">–<', page)
    assert ">1.25<" in client.get("/?q=priced").text
    assert ">Cost<" in client.get("/?q=priced").text


def test_runs_are_grouped_by_folder_or_model(client):
    page = client.get("/?group=folder").text
    assert re.findall(r'group-title">([^<]+)<', page) == ["nested", "top folder"]
    page = client.get("/?group=model&sort=model").text
    assert re.findall(r'group-title">([^<]+)<', page)[1:] == ["broken", "large", "small"]
    assert "group-title" not in client.get("/").text


def track(folder, values):
    """Run folders as ``polymeter track`` writes them: one for each step, and their record."""
    for step, share in values.items():
        samples = [sample(n, right=n < share * 20) for n in range(20)]
        write_run(folder / str(step), samples, model=f"checkpoint-{step}", started=f"2026-06-01T10:00:0{step}+00:00")
    entries = [{"step": 100 * step, "name": f"c{step}", "status": "measured", "run": str(step)} for step in values]
    (folder / "track.json").write_text(json.dumps({"schema_version": 1, "settings": {}, "checkpoints": entries}))


def test_checkpoints_of_a_training_run_are_one_row_with_a_curve(runs, open_viewer):
    track(runs / "track" / "out", {1: 0.3, 2: 0.7, 3: 0.6})
    client = open_viewer(runs)
    page = client.get("/").text
    assert "3 checkpoints" in page
    assert "exact_match ↑: 0.3000 at step 100, 0.6000 at step 300, highest 0.7000 at step 200" in page
    assert len(re.findall(r'class="run member" hidden', page)) == 3
    link = re.search(r'<a href="([^"]+)" data-fold aria-expanded="false"', page)[1]
    opened = client.get(link.replace("&amp;", "&")).text
    assert 'aria-expanded="true"' in opened
    assert 'member" hidden' not in opened
    assert re.findall(r">(step \d+)<", opened) == ["step 300", "step 200", "step 100"]


@pytest.mark.parametrize(
    "record", ["{", "[]", '{"checkpoints": [{"run": "1", "step": "many"}]}', '{"checkpoints": [3]}']
)
def test_a_damaged_record_of_checkpoints_leaves_the_runs_in_the_list(runs, open_viewer, record):
    track(runs / "out", {1: 0.3, 2: 0.7})
    (runs / "out" / "track.json").write_text(record)
    assert {"out/1", "out/2"} <= {*names(open_viewer(runs).get("/").text)}


def test_a_task_is_chosen_whose_scores_are_shown(client):
    assert "Capitals" in client.get(f"/?task={TASK}").text
    assert "No run matches" in client.get("/?task=other").text


def test_selected_runs_are_compared_and_ranked(client):
    key = second(client)
    answer = client.get(f"/?do=compare&run=first&run={key}&sort=run")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/compare?run=first&run={key}")
    assert client.get("/?do=rank").headers["location"] == "/leaderboard"
    assert client.get("/?do=rank&run=first").headers["location"] == "/leaderboard?run=first"


def test_without_a_script_the_reason_is_shown_and_the_choice_stays(runs, open_viewer):
    other = [{**json.loads((runs / "first" / "run.json").read_text())["tasks"][0], "name": "rivers"}]
    write_run(runs / "apart", [sample(0)], tasks=other)
    client = open_viewer(runs)
    page = client.get("/?do=compare&run=first&sort=run").text
    assert "Select two or three runs to compare them. Selected: 1." in page
    assert re.search(r'value="first"[^>]* checked', page)
    page = client.get("/?do=compare&run=first&run=apart").text
    assert "have no task in common" in page
    assert len(re.findall(r'name="run"[^>]* checked', page)) == 2


def test_a_list_is_made_without_reading_runs_again(runs, open_viewer, monkeypatch):
    from polymeter.store.folder import RunFolder

    client = open_viewer(runs)
    client.get("/")
    read: list[str] = []
    monkeypatch.setattr(RunFolder, "read_results", lambda self: read.append(self.path.name))
    for query in ("sort=value", "group=model", "sort=-duration&group=folder"):
        assert client.get(f"/?{query}").status_code == 200
    assert read == []
