"""Verdicts of people in comparisons and agreements: what counts, what is left out, and what results say of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import polymeter
from polymeter.core.errors import PlanError
from polymeter.exchange.verdicts import judged_run
from polymeter.store.verdicts import FILE, HumanVerdict, give_verdict
from tests.analysis.test_comparing import METRIC, write_run
from tests.helpers import viewed_runs

N = 40


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return write_run(tmp_path / "first", {"t": [0.0] * N})


@pytest.fixture
def second(tmp_path: Path) -> Path:
    return write_run(tmp_path / "second", {"t": [float(n % 2) for n in range(N)]})


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A run with a journal, half of whose answers are right."""
    samples = [viewed_runs.sample(n, right=bool(n % 2)) for n in range(N)]
    return viewed_runs.write_run(tmp_path / "judged", samples)


def score(run: Path, sample: str, value: float, metric: str = METRIC, task: str = "t") -> None:
    give_verdict(run, HumanVerdict("", task, sample, "score", {metric: value}))


def exclude(run: Path, sample: str, task: str = "t") -> None:
    give_verdict(run, HumanVerdict("", task, sample, "exclude", reason="blurred"))


def ids(run: Path) -> list[str]:
    return [json.loads(line)["id"] for line in next((run / "samples").iterdir()).read_text().splitlines()]


def line_of(comparison: polymeter.Comparison):
    return comparison.others[0].scores[0]


def test_scores_of_people_replace_those_of_a_run_on_request(first: Path, second: Path) -> None:
    before = line_of(polymeter.compare(first, second))
    for name in ids(first)[:10]:
        score(first, name, 1.0)
    found = polymeter.compare(first, second, verdicts=True)
    assert line_of(found).first == pytest.approx(10 / N)
    assert line_of(found).second == pytest.approx(0.5)
    assert line_of(found).n == N
    assert found.document()["verdicts"] == {"first": "0 excluded, 10 labelled", "second": "0 excluded, 0 labelled"}
    note = "Verdicts of people: first: 0 excluded, 10 labelled; second: 0 excluded, 0 labelled."
    assert note in found.others[0].warnings
    assert note in repr(found)
    unchanged = polymeter.compare(first, second)
    assert line_of(unchanged) == before
    assert "verdicts" not in unchanged.document()


def test_a_sample_that_one_run_excludes_is_left_out_of_all(first: Path, second: Path) -> None:
    odd = ids(second)[1:8:2]
    for name in odd:
        exclude(second, name)
    found = polymeter.compare(first, second, verdicts=True)
    assert line_of(found).n == N - len(odd)
    assert line_of(found).second == pytest.approx(16 / 36)
    warnings = found.others[0].warnings
    assert "4 excluded samples are left out of all runs." in warnings
    assert any("0.0% in first and 10.0% in second" in warning for warning in warnings)
    unpaired = polymeter.compare(first, second, verdicts=True, unpaired=True, allow=["samples"])
    assert line_of(unpaired).n == 2 * (N - len(odd))


def test_equal_shares_are_not_remarked(first: Path, second: Path) -> None:
    exclude(first, ids(first)[0])
    exclude(second, ids(second)[2])
    warnings = polymeter.compare(first, second, verdicts=True).others[0].warnings
    assert not any("differs" in warning for warning in warnings)
    assert "2 excluded samples are left out of all runs." in warnings


def test_groups_use_them_too(tmp_path: Path) -> None:
    groups = {"g": (["t", "u"], False)}
    tasks = {"t": [0.0] * N, "u": [0.0] * N}
    runs = [write_run(tmp_path / name, tasks, groups=groups) for name in ("first", "second")]
    for name in ids(runs[1]):
        score(runs[1], name, 1.0)
    lines = {one.name: one for one in polymeter.compare(*runs, verdicts=True).others[0].scores}
    assert lines["t"].second == 1.0
    assert lines["g"].second == pytest.approx(0.5)


@pytest.mark.parametrize(("is_weighted", "expected"), [(False, 0.5), (True, N / (N + 10))])
def test_an_export_has_the_means_of_groups(tmp_path: Path, is_weighted: bool, expected: float) -> None:
    groups = {"g": (["t", "u"], is_weighted)}
    run = write_run(tmp_path / "run", {"t": [0.0] * N, "u": [0.0] * 10}, groups=groups)
    for name in ids(run):
        score(run, name, 1.0)
    found = judged_run(run)
    (result,) = found.results["groups"]["g"]["results"]
    assert (result["value"], result["n"], result["interval"]) == (pytest.approx(expected), N + 10, None)
    assert result["no_interval"] == "'polymeter score --verdicts' computes it"
    assert not any("no value" in note for note in found.notes)


def test_a_group_of_a_member_without_samples_has_no_value_and_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"t": [0.0] * N, "u": [0.0] * 2}, groups={"g": (["t", "u"], False)})
    for line in (run / "samples" / "u.jsonl").read_text().splitlines():
        exclude(run, json.loads(line)["id"], "u")
    found = judged_run(run)
    assert [result["value"] for result in found.results["groups"]["g"]["results"]] == [None]
    assert any("'g'" in note and "have no value" in note for note in found.notes)


def test_unknown_samples_and_metrics_are_reported(first: Path, second: Path) -> None:
    score(first, ids(first)[0], 1.0, metric="nosuch")
    exclude(first, "gone")
    warnings = " ".join(polymeter.compare(first, second, verdicts=True).others[0].warnings)
    assert "Verdicts on 1 sample that the run does not have were not used: 't/gone'." in warnings
    assert "scores of people for 'nosuch' were not used" in warnings
    assert "first: 0 excluded, 1 labelled" in warnings


def test_an_unfinished_line_is_reported(first: Path, second: Path) -> None:
    score(first, ids(first)[0], 1.0)
    with (first / FILE).open("a") as file:
        file.write('{"id":"x","task":"t","sam')
    assert "Line 2 of verdicts.jsonl is unfinished" in " ".join(
        polymeter.compare(first, second, verdicts=True).others[0].warnings
    )


def test_a_damaged_file_is_an_error_and_never_no_verdicts(judged: Path, tmp_path: Path) -> None:
    other = viewed_runs.write_run(tmp_path / "other", [viewed_runs.sample(n) for n in range(N)])
    score(judged, "row-0001", 1.0, "exact_match", viewed_runs.TASK)
    with (judged / FILE).open("a") as file:
        file.write("not a verdict\n")
    for use in (
        lambda: polymeter.compare(judged, other, verdicts=True),
        lambda: polymeter.agree(judged, verdicts=True),
        lambda: polymeter.export(judged, "csv", verdicts=True),
    ):
        with pytest.raises(PlanError) as caught:
            use()
        assert caught.value.where == f"{judged / FILE}:2"
    assert line_of(polymeter.compare(judged, other)).n == N


def test_no_verdicts_are_an_error(judged: Path, tmp_path: Path) -> None:
    other = viewed_runs.write_run(tmp_path / "other", [viewed_runs.sample(n) for n in range(N)])
    for use in (
        lambda: polymeter.compare(judged, other, verdicts=True),
        lambda: polymeter.agree(judged, verdicts=True),
    ):
        with pytest.raises(PlanError, match="No sample has a verdict") as caught:
            use()
        assert "polymeter view" in caught.value.hint


def test_agreement_with_verdicts_is_that_with_a_file_of_the_same_labels(judged: Path, tmp_path: Path) -> None:
    names = [f"row-{n:04}" for n in range(N)]
    labels = {name: float(place % 3 == 0) for place, name in enumerate(names[:25])}
    for name, value in labels.items():
        score(judged, name, value, "exact_match", viewed_runs.TASK)
    score(judged, names[30], 1.0, "another", viewed_runs.TASK)
    file = tmp_path / "labels.csv"
    file.write_text("id,label\n" + "".join(f"{name},{value:g}\n" for name, value in labels.items()))
    by_file = polymeter.agree(judged, labels=file, metric="exact_match")
    by_verdicts = polymeter.agree(judged, verdicts=True)
    assert [one.metric for one in by_verdicts.compared] == ["exact_match"]
    assert by_verdicts.compared[0].agreement == by_file.compared[0].agreement
    assert by_verdicts.corrected[0].corrected == by_file.corrected[0].corrected
    assert by_verdicts.compared[0].second == "verdicts"
    assert "judged: Verdicts of people: 0 excluded, 26 labelled." in by_verdicts.document()["notes"]
    assert any("'another' were not used" in note for note in by_verdicts.notes)


def test_excluded_samples_are_left_out_of_an_agreement(judged: Path) -> None:
    for n in range(N):
        score(judged, f"row-{n:04}", 1.0, "exact_match", viewed_runs.TASK)
        if n % 2 == 0:
            exclude(judged, f"row-{n:04}", viewed_runs.TASK)
    (compared,) = polymeter.agree(judged, verdicts=True).compared
    assert compared.agreement.n == N // 2
    assert compared.agreement.raw.value == 1.0
    assert compared.agreement.n_left_out == 0


def test_labels_come_from_one_source(judged: Path) -> None:
    with pytest.raises(PlanError, match="from a column or from verdicts, not from both"):
        polymeter.agree(judged, column="x", verdicts=True)
