"""The form for a person's verdict: what a task allows, what is saved, and where it is shown and filtered."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from polymeter.store.verdicts import FILE, HumanVerdict, give_verdict, read_verdicts
from tests.helpers.viewed_runs import HOSTILE, TASK, exchange, sample, write_run

OWN = {"origin": "http://testserver"}
PAGE = f"/run/first/sample?task={TASK}&index=4"
FORM = {"task": TASK, "sample": "row-0004", "index": "4", "by": "Ada", "back": f"{PAGE}#verdict"}


def post(client, run: str = "first", **values: str):
    return client.post(f"/run/{run}/verdicts", data={**FORM, **values}, headers=OWN)


def digests(run: Path) -> dict[str, str]:
    """The content of all files that are not the verdicts or their lock."""
    files = [path for path in sorted(run.rglob("*")) if path.is_file() and "verdicts" not in path.name]
    return {str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_verdict_is_given_shown_filtered_and_undone(client, runs) -> None:
    run = runs / "first"
    client.get(PAGE)  # a reader's first look at a journal may change how it is kept
    before = digests(run)
    answer = post(client, right="exact_match")
    assert answer.status_code == 303
    assert answer.headers["location"] == FORM["back"]
    post(client, set="f1", **{"value:f1": "0,75"})
    post(client, action="exclude", reason="the label is wrong")
    assert [(one.kind, dict(one.values), one.reason, one.by) for one in read_verdicts(run).valid] == [
        ("score", {"exact_match": 1.0}, "", "Ada"),
        ("score", {"f1": 0.75}, "", "Ada"),
        ("exclude", {}, "the label is wrong", "Ada"),
    ]
    page = client.get(PAGE).text
    assert page.index("Excluded: the label is wrong") < page.index("Scored f1 = 0.75") < page.index("exact_match = 1")
    assert 'value="exact_match" aria-pressed="true"' in page
    listed = client.get("/run/first/samples?verdict=any").text
    assert "<strong>1 sample</strong>" in listed
    assert '<span class="tag">excluded</span>' in listed
    assert "1 excluded, 0 labelled" in client.get("/run/first").text
    for one in read_verdicts(run).verdicts:
        post(client, undo=one.id, by="Ben")
    assert client.get(PAGE).text.count("undone by Ben") == 3
    assert "<strong>0 samples</strong>" in client.get("/run/first/samples?verdict=any").text
    assert [*read_verdicts(run).valid] == []
    assert len((run / FILE).read_text().splitlines()) == 6
    assert digests(run) == before


@pytest.mark.parametrize(("verdict", "n"), [("scored", 2), ("labelled", 1), ("excluded", 1), ("any", 3)])
def test_samples_are_filtered_by_kind(client, runs, verdict, n) -> None:
    run = runs / "first"
    give_verdict(run, HumanVerdict("", TASK, "row-0001", "score", {"f1": 1.0}))
    give_verdict(run, HumanVerdict("", TASK, "row-0002", "score", {"f1": 1.0}))
    give_verdict(run, HumanVerdict("", TASK, "row-0002", "label", {"f1": 1.0}, label="B"))
    give_verdict(run, HumanVerdict("", TASK, "row-0003", "exclude", reason="x"))
    give_verdict(run, HumanVerdict("", "another", "row-0007", "exclude", reason="x"))
    said = "1 sample" if n == 1 else f"{n} samples"
    assert f"<strong>{said}</strong>" in client.get(f"/run/first/samples?verdict={verdict}").text


def test_a_new_verdict_is_found_at_once(client) -> None:
    assert "<strong>0 samples</strong>" in client.get("/run/first/samples?verdict=scored").text
    post(client, wrong="exact_match")
    assert "<strong>1 sample</strong>" in client.get("/run/first/samples?verdict=scored").text


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"set": "f1", "value:f1": "1.5"}, 400),
        ({"set": "f1", "value:f1": "nan"}, 400),
        ({"set": "f1", "value:f1": ""}, 400),
        ({"set": "nosuch", "value:nosuch": "1"}, 404),
        ({"right": "nosuch"}, 404),
        ({"action": "label", "label": "B"}, 404),
        ({"action": "exclude", "reason": " "}, 400),
        ({"right": "exact_match", "sample": "row-0005"}, 404),
        ({"right": "exact_match", "index": "999"}, 404),
        ({"right": "exact_match", "index": "x"}, 404),
        ({"right": "exact_match", "task": "nosuch"}, 404),
        ({"undo": "nosuch"}, 400),
        ({}, 404),
    ],
)
def test_what_the_task_does_not_allow_is_refused(client, runs, values, code) -> None:
    assert post(client, **values).status_code == code
    assert not (runs / "first" / FILE).exists()


def test_a_failed_sample_can_only_be_excluded(client, runs) -> None:
    page = client.get(f"/run/failing/sample?task={TASK}&index=1").text
    assert 'name="right"' not in page
    assert 'value="exclude"' in page
    failed = {"sample": "row-0001", "index": "1"}
    assert post(client, "failing", right="exact_match", **failed).status_code == 404
    assert post(client, "failing", action="exclude", reason="x", **failed).status_code == 303


def test_a_sample_with_repeats_can_only_be_excluded(tmp_path, open_viewer) -> None:
    values = {("exact_match", name): 1.0 for name in ("none", "maj@2", "repeat 1", "repeat 2")}
    choices = {"choices": ["Lyon", "Paris"]}
    write_run(tmp_path / "runs" / "often", [sample(0, scores=values, doc=choices)])
    client = open_viewer(tmp_path / "runs")
    page = client.get(f"/run/often/sample?task={TASK}&index=0").text
    assert 'name="right"' not in page
    assert "The answer means" not in page
    assert "the sample can only be excluded" in page
    first = {"sample": "row-0000", "index": "0"}
    assert post(client, "often", right="exact_match,maj@2", **first).status_code == 404
    assert post(client, "often", action="exclude", reason="x", **first).status_code == 303


def test_the_choices_of_a_row_are_labels_with_what_they_are_worth(tmp_path, open_viewer) -> None:
    row = {"choices": ["Lyon", "Paris", "Nice"]}
    letters = {"A": "Lyon", "B": "Paris"}
    write_run(
        tmp_path / "runs" / "choice",
        [sample(0, doc=row, target="Paris"), sample(1, doc=letters, target="B"), sample(2, doc=row, target="Rome")],
    )
    client = open_viewer(tmp_path / "runs")
    page = client.get(f"/run/choice/sample?task={TASK}&index=0").text
    assert [label in page for label in ("A. Lyon", "B. Paris", "C. Nice")] == [True] * 3
    assert "The answer means" not in client.get(f"/run/choice/sample?task={TASK}&index=2").text
    first = {"sample": "row-0000", "index": "0"}
    assert post(client, "choice", action="label", label="B. Paris", **first).status_code == 303
    second = {"sample": "row-0001", "index": "1"}
    assert post(client, "choice", action="label", label="A. Lyon", **second).status_code == 303
    given = [*read_verdicts(tmp_path / "runs" / "choice").valid]
    assert [(one.label, one.values["exact_match"]) for one in given] == [("B. Paris", 1.0), ("A. Lyon", 0.0)]


def test_hostile_verdicts_are_text(client, runs) -> None:
    label = HumanVerdict("", TASK, "row-0004", "label", {HOSTILE[2]: 1.0}, label=HOSTILE[0], by=HOSTILE[4])
    give_verdict(runs / "first", label)
    post(client, action="exclude", reason="\n".join(HOSTILE[:6]), by=HOSTILE[2])
    for path in (PAGE, "/run/first/samples?verdict=any", "/run/first"):
        page = client.get(path).text
        assert "<script>window" not in page
        assert "<img src=x" not in page
        assert "<svg onload" not in page


def test_a_damaged_file_is_reported_and_the_rest_is_shown(client, runs) -> None:
    post(client, right="exact_match")
    with (runs / "first" / FILE).open("a") as file:
        file.write("not a verdict\n")
    page = client.get(PAGE).text
    assert "Scored exact_match = 1" in page
    assert "1 line of verdicts.jsonl cannot be read" in page
    assert "line 2 of verdicts.jsonl cannot be read" in client.get("/run/first").text


def test_a_form_from_elsewhere_is_refused(client, runs) -> None:
    answer = client.post(
        "/run/first/verdicts", data={**FORM, "right": "exact_match"}, headers={"origin": "http://evil"}
    )
    assert answer.status_code == 403
    assert not (runs / "first" / FILE).exists()


GRADES = "Grade it.\n\nThe grades:\nA: CORRECT. It means the same.\nB: INCORRECT. It does not.\n"
SCHEMA = '{"properties": {"realism": {"maximum": 2, "minimum": 0, "type": "integer"}, "why": {"type": "string"}}}'


def judged(prompt: str, index: int = 0, **values):
    """A sample that was judged by a prompt."""
    return sample(index, exchanges=(exchange("What is it?", "Paris"), exchange(prompt, "A", "judge")), **values)


def test_the_grades_of_a_judge_are_labels(tmp_path, open_viewer) -> None:
    one = {"scores": {("judged", "none"): 1.0}}
    other = judged(f"{GRADES}C: NOT_ATTEMPTED. It is no answer.\n", 1, **one)
    write_run(tmp_path / "runs" / "judged", [judged(GRADES, **one), other, judged(GRADES, 2)])
    client = open_viewer(tmp_path / "runs")
    pages = [client.get(f"/run/judged/sample?task={TASK}&index={n}").text for n in range(3)]
    # A third grade has no known worth, and of two metrics the run does not record which one the judge decides.
    assert ["B. INCORRECT</option>" in page for page in pages] == [True, False, False]
    first = {"sample": "row-0000", "index": "0"}
    assert post(client, "judged", action="label", label="B. INCORRECT", **first).status_code == 303
    assert post(client, "judged", action="label", label="C. NOT_ATTEMPTED", **first).status_code == 404
    assert [dict(one.values) for one in read_verdicts(tmp_path / "runs" / "judged").valid] == [{"judged": 0.0}]


def test_a_mapping_of_grades_in_the_settings_counts_before_the_prompt(tmp_path, open_viewer) -> None:
    settings = {"judge_model_args": {"score_mapping": {"good": 1.0, "fair": 0.5, "poor": 0}}}
    run = tmp_path / "runs" / "judged"
    one = judged(GRADES, scores={("judged", "none"): 0.5})
    write_run(run, [one], options={"identity": settings, "runtime": {}})
    client = open_viewer(tmp_path / "runs")
    page = client.get(f"/run/judged/sample?task={TASK}&index=0").text
    assert [f">{label}</option>" in page for label in ("good", "fair", "poor", "A. CORRECT")] == [True] * 3 + [False]
    post(client, "judged", action="label", label="fair", sample="row-0000", index="0")
    assert [(one.label, dict(one.values)) for one in read_verdicts(run).valid] == [("fair", {"judged": 0.5})]


def test_the_levels_of_a_rubric_are_chosen(tmp_path, open_viewer) -> None:
    run = tmp_path / "runs" / "judged"
    scores = {("score", "none"): 0.7, ("realism", "none"): 1.0}
    write_run(run, [judged(f"Reply with one JSON object.\n{SCHEMA}\n", scores=scores)])
    client = open_viewer(tmp_path / "runs")
    page = client.get(f"/run/judged/sample?task={TASK}&index=0").text
    assert '<option value="1" selected>1</option>' in page
    assert 'type="number" name="value:realism"' not in page
    assert 'type="number" name="value:score"' in page
    first = {"sample": "row-0000", "index": "0"}
    assert post(client, "judged", set="realism", **{"value:realism": "1.5"}, **first).status_code == 400
    assert post(client, "judged", set="realism", **{"value:realism": "2"}, **first).status_code == 303
    assert [dict(one.values) for one in read_verdicts(run).valid] == [{"realism": 2.0}]
