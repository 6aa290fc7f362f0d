"""The page of ablations, as text."""

from __future__ import annotations

from typing import Any

from polymeter.report.ablation.page import BlindSample, BlindSamples, make_ablation_page
from polymeter.report.ablation.tables import sentences, troubles
from tests.report.synthetic import SyntheticRun

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


def score(task: str, **values: Any) -> dict[str, Any]:
    return {
        "how": "no-image", "words": "without images", "is_blind": True, "kind": "task", "name": task, "title": task,
        "metric": "anls", "filter": "none", "is_main": True, "n": 40, "with": 0.8, "without": 0.3, "gain": 0.5,
        "interval": [0.4, 0.6], "p_value": 0.0001, "p_corrected": 0.0002, "p_method": "", "family": 2,
        "verdict": "helps", "n_unchanged": 0, "chance": 0.25, "n_only_with": 0, "n_only_without": 0, **values,
    }  # fmt: skip


def document(task: str = "signs", **values: Any) -> dict[str, Any]:
    run = {"how": "no-image", "words": "without images", "status": "complete", "reason": "", "path": "x", "skipped": {}}
    return {
        "run": {"name": f"run {HOSTILE}", "path": "run", "model": "m"},
        "llm": {"name": "llm", "model": "language"},
        "runs": [
            run,
            {**run, "how": "blank", "status": "stopped", "reason": "the endpoint is down"},
            {**run, "how": "no-video", "status": "refused", "reason": "Its prompts show no videos."},
        ],
        "scores": [score(task, **values)],
        "leakage": [{**score(task), "llm": 0.2, "leakage": 0.1}],
        "notes": [f"no-image: {HOSTILE}"],
        "n_samples": {task: 40},
        "blind": {task: {"no-image": ["1", "2", "3"]}},
    }


def page() -> str:
    run = SyntheticRun()
    task = next(iter(run.results["tasks"]))
    listed = run.samples(task)[:3]
    shown = [BlindSample(one, {**one, "answer": HOSTILE}) for one in listed]
    return make_ablation_page(
        document(task), run.results, [BlindSamples(task, "no-image", "run-no-image", shown)], run.media
    )


def test_it_holds_numbers_and_samples_with_links_and_runs_no_text() -> None:
    made = page()
    assert "What each part of the prompts is worth" in made
    assert "What leaks without media" in made
    assert "3 of 40 samples are answered right without images." in made
    assert 'href="../run-no-image/report.html#' in made
    assert "<script>window.hacked" not in made
    assert "<img src=x" not in made
    assert made == page(), "the same ablations give the same page"


def test_the_sentences() -> None:
    (first, blind) = sentences(document())
    assert first == (
        "signs: anls is 0.800 with the whole prompt and 0.300 without images; guessing gets 0.250: the gain is +0.500 "
        "(95 % interval +0.400 to +0.600; p < 0.001)."
    )
    assert blind == "signs: 3 of 40 samples, 8 % are answered right without images."
    (unsure, _) = sentences(document(verdict="not shown", p_corrected=0.4, interval=None, chance=None))
    assert unsure.endswith("the gain is +0.500 (p 0.400). No difference is shown.")
    (none, _) = sentences(document(gain=None, without=None))
    assert none == "signs: cannot tell; no sample has a score both ways."


def test_what_was_not_done_is_told() -> None:
    assert [*troubles(document(n_unchanged=4))][:3] == [
        "blank has not ended (status stopped): the endpoint is down. The same command continues it.",
        "no-video was not run: Its prompts show no videos.",
        f"no-image: {HOSTILE}",
    ]
    assert "signs: 4 of 40 samples have no such part, and were asked the same (no-image)." in [
        *troubles(document(n_unchanged=4))
    ]
