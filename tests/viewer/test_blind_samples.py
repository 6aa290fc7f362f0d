"""Samples that were answered right without their media: their mark and filter, read beside a run."""

from __future__ import annotations

import json

import pytest

from polymeter.store.ablations import write_ablation
from polymeter.store.folder import RunFolder
from tests.helpers.viewed_runs import TASK


def mark(run, blind) -> None:
    write_ablation(RunFolder(run), {"kind": "ablation", "blind": {TASK: blind}})


def test_they_are_marked_counted_and_filtered(client, runs) -> None:
    assert "answered blind" not in client.get(f"/run/first/samples?task={TASK}").text
    mark(runs / "first", {"no-image": ["row-0001", "row-0004"], "no-media": ["row-0004"]})
    listed = client.get(f"/run/first/samples?task={TASK}&blind=yes").text
    assert "<strong>2 samples</strong>" in listed
    assert listed.count(">answered blind</span>") == 2
    assert 'title="Right in the ablation no-image, no-media"' in listed
    assert "answered blind <span" in listed, "the filter is named and can be removed"
    assert "<strong>118 samples</strong>" in client.get(f"/run/first/samples?task={TASK}&blind=no").text
    assert "<strong>1 sample</strong>" in client.get(f"/run/first/samples?task={TASK}&blind=yes&state=wrong").text
    page = client.get(f"/run/first/sample?task={TASK}&index=4&blind=yes").text
    assert "answered blind: right in the ablation no-image, no-media" in page
    assert "2 of 2 that pass" in page
    run = client.get("/run/first").text
    assert f"/run/first/samples?task={TASK}&amp;blind=yes" in run
    assert "2 samples</a>" in run


@pytest.mark.parametrize("value", ["", "maybe", "<script>"])
def test_another_value_filters_nothing(client, runs, value) -> None:
    mark(runs / "first", {"no-image": ["row-0001"]})
    assert "<strong>120 samples</strong>" in client.get(f"/run/first/samples?task={TASK}&blind={value}").text


def test_a_damaged_file_marks_nothing(client, runs) -> None:
    started = json.loads((runs / "first" / "run.json").read_text()).get("started")
    shapes = [{"blind": [1, 2], "run_started": started}, {"blind": {TASK: {"no-image": 1}}, "run_started": started}]
    for text in ('{"blind": ', "[]", "\ud800", *map(json.dumps, shapes)):
        (runs / "first" / "ablation.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        answer = client.get(f"/run/first/samples?task={TASK}")
        assert answer.status_code == 200
        assert "answered blind" not in answer.text
