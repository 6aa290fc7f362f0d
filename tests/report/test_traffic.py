"""What a report says about endpoints."""

from __future__ import annotations

from typing import Any

from polymeter.report import make_html_report
from polymeter.report.run.provenance import endpoints, histories
from tests.report.synthetic import SyntheticRun


def record(**values: Any) -> dict[str, Any]:
    calm = {"most_in_flight": 16, "rate_limits": 0, "failures": 0, "timeouts": 0, "paused_s": 0.0}
    return {**calm, "history": [[0.0, 8, "start"], [0.25, 16, "slow start"]], **values}


def manifest(*sessions: dict[str, Any]) -> dict[str, Any]:
    return {"sessions": [{"lanes": {role: {"concurrency": made} for role, made in one.items()}} for one in sessions]}


def test_a_calm_run_is_told_in_a_few_words() -> None:
    told = {"model": record(), "own_prompt": record()}  # a model's own prompts are no requests of an endpoint
    assert endpoints(manifest(told)) == {"model": "at most 16 requests in flight"}


def test_parts_of_a_run_are_added_up() -> None:
    first = record(rate_limits=2, timeouts=1, paused_s=3.0)
    second = record(most_in_flight=40, rate_limits=3, failures=1)
    assert endpoints(manifest({"model": first}, {"model": second}))["model"] == (
        "at most 40 requests in flight, 5 rate limits, 1 transient failure, 1 timeout, "
        "paused for 3.0 s at the endpoint's request"
    )


def test_the_history_is_told_by_part_and_role() -> None:
    told = dict(histories(manifest({"model": record(), "judge": record()}, {"model": record()})))
    assert told.keys() == {"model, part 1", "model, part 2", "judge"}
    assert told["judge"] == "0.0 s: 8 (at the start)\n0.2 s: 16 (raised: all were in use)"


def test_models_on_this_machine_have_no_traffic() -> None:
    batch = {"sessions": [{"lanes": {"model": {"batch_size": {"largest": 8}}}}, {"status": "complete"}]}
    assert endpoints(batch) == endpoints({}) == {}
    assert not list(histories(batch))


def test_the_page_tells_it() -> None:
    run = SyntheticRun()
    page = make_html_report(
        {**run.manifest, **manifest({"model": record(failures=2)})}, run.results, run.samples, run.media
    )
    assert "at most 16 requests in flight, 2 transient failures" in page
    assert "Requests in flight over time" in page
