"""What a report says about replicas."""

from __future__ import annotations

from typing import Any

from polymeter.report import make_html_report
from polymeter.report.run.replicas import replica_lines, replica_summary
from tests.report.synthetic import SyntheticRun

SLOT = {"slot": 0, "n_items": 1200, "n_leases": 40, "busy_s": 90, "ready_s": 100, "n_lost": 0, "reason": ""}


def part(**values: Any) -> dict[str, Any]:
    return {"planned": 2, "utilisation": 0.914, "mean_wait_s": 0.25, "n_lost": 0, "slots": [SLOT], **values}


def manifest(*records: dict[str, Any]) -> dict[str, Any]:
    lanes = [{"model": {"replicas": record}, "own_prompt": {"replicas": record}} for record in records]
    return {"sessions": [{"lanes": one} for one in lanes]}


def test_a_calm_run_is_told_in_a_few_words() -> None:
    assert replica_summary(manifest(part())) == "2, busy 91% of the time; a request waits 0.2 s for a free one"


def test_parts_are_added_up_and_losses_told() -> None:
    told = replica_summary(
        manifest(part(n_lost=2, n_returned=1), part(planned=8, n_lost=1, n_returned=4, n_given_up=1))
    )
    assert told.startswith("2 and 8, busy 91% of the time")
    assert told.endswith("3 lost, 5 requests asked again, 1 request given up")


def test_each_replica_is_told() -> None:
    lost = {**SLOT, "slot": 1, "n_lost": 3, "reason": "its node died.", "is_given_up": True}
    ((label, text),) = replica_lines(manifest(part(slots=[SLOT, lost])))
    assert label == "model"
    assert text.splitlines()[1] == "0: 1,200 requests in 40 leases, busy for 1 min 30 s of 1 min 40 s"
    assert text.splitlines()[2].endswith("lost 3 times, at last: its node died., given up")
    assert [label for label, _ in replica_lines(manifest(part(), part()))] == ["part 1", "part 2"]


def test_a_model_in_the_process_of_the_run_has_none() -> None:
    batch = {"sessions": [{"lanes": {"model": {"batch_size": {"largest": 8}}}}, {"status": "complete"}]}
    assert replica_summary(batch) == replica_summary({}) == ""
    assert not list(replica_lines(batch))


def test_the_page_tells_it() -> None:
    run = SyntheticRun()
    page = make_html_report({**run.manifest, **manifest(part())}, run.results, run.samples, run.media)
    assert "2, busy 91% of the time" in page
    assert "Replicas of the model" in page
