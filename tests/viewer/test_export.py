"""What is filtered as a file."""

from __future__ import annotations

import csv
import io
import json

import pyarrow.parquet as pq
import pytest

from polymeter.store.verdicts import HumanVerdict, give_verdict
from tests.helpers.viewed_runs import TASK, hostile_sample, sample, write_run

WRONG = [f"row-{n:04}" for n in range(0, 120, 4)]


def rows(client, query: str) -> list[dict[str, str]]:
    answer = client.get(f"/run/first/export.csv?{query}")
    assert answer.headers["content-disposition"] == f'attachment; filename="first-{TASK}.csv"'
    return [*csv.DictReader(io.StringIO(answer.text))]


def test_csv(client):
    found = rows(client, "state=wrong")
    assert [row["id"] for row in found] == WRONG
    assert found[1] | {"run": "first", "status": "ok", "answer": "Lyon", "score_exact_match": "0.0"} == found[1]
    assert "capital of country 4" in found[1]["prompt"]


def test_the_order_is_that_of_the_page(client):
    assert [row["id"] for row in rows(client, "sort=best")][-30:] == WRONG


def test_parquet_has_types(client):
    found = pq.read_table(io.BytesIO(client.get("/run/first/export.parquet?state=wrong").content))
    assert found.column("id").to_pylist() == WRONG
    assert found.column("score_f1").to_pylist()[1] == 0.2
    assert str(found.schema.field("index").type) == "int64"


def test_json_lines_hold_everything(client):
    lines = client.get("/run/first/export.jsonl?q=country+17").text.splitlines()
    (only,) = map(json.loads, lines)
    assert only["exchanges"][0]["request"]["messages"][0]["role"] == "system"
    assert only["doc"]["country"] == "country 17"


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_more_samples_than_are_read_at_once_and_hostile_ones(runs, open_viewer, kind, monkeypatch):
    from polymeter.viewer.pages import export

    monkeypatch.setattr(export, "_AT_ONCE", 7)
    write_run(runs / "more", [hostile_sample(0, text="=1+1"), *(sample(n) for n in range(1, 40))])
    answer = open_viewer(runs).get(f"/run/more/export.{kind}")
    assert answer.status_code == 200
    if kind == "csv":
        table = [*csv.DictReader(io.StringIO(answer.text))]
        assert len(table) == 40
        assert table[0]["answer"] == "'=1+1"
    elif kind == "jsonl":
        assert len(answer.text.splitlines()) == 40
    else:
        assert pq.read_table(io.BytesIO(answer.content)).num_rows == 40


def test_nothing_and_an_unknown_kind(client):
    assert rows(client, "q=nowhere") == []
    assert pq.read_table(io.BytesIO(client.get("/run/first/export.parquet?q=nowhere").content)).num_rows == 0
    assert client.get("/run/first/export.exe").status_code == 404


def test_verdicts_of_people_stand_beside_the_scores(tmp_path, open_viewer) -> None:
    run = write_run(tmp_path / "runs" / "one", [sample(n, right=n != 1) for n in range(3)])
    client = open_viewer(tmp_path / "runs")
    before = client.get(f"/run/one/export.csv?task={TASK}").text
    assert "verdict" not in before
    give_verdict(run, HumanVerdict("", TASK, "row-0001", "score", {"exact_match": 1.0}))
    give_verdict(run, HumanVerdict("", TASK, "row-0002", "exclude", reason="the label is wrong"))
    rows = [*csv.DictReader(io.StringIO(client.get(f"/run/one/export.csv?task={TASK}").text))]
    names = ("score_exact_match", "verdict", "why_excluded", "human_exact_match")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("1.0", "", "", ""),
        ("0.0", "scored", "", "1.0"),
        ("1.0", "excluded", "the label is wrong", ""),
    ]
    lines = [json.loads(line) for line in client.get(f"/run/one/export.jsonl?task={TASK}").text.splitlines()]
    assert [line.get("human") for line in lines] == [
        None,
        {"scores": {"exact_match": 1.0}, "why_excluded": None},
        {"scores": {}, "why_excluded": "the label is wrong"},
    ]
    table = pq.read_table(io.BytesIO(client.get(f"/run/one/export.parquet?task={TASK}").content))
    assert table["human_exact_match"].to_pylist() == [None, 1.0, None]
