"""What a run says to all of its YAML tasks."""

from __future__ import annotations

import pytest

from polymeter.core.errors import PlanError
from tests.tasks.yaml.kit import opened, results, score


def test_repeats_win_over_the_tasks_own(tmp_path):
    task = opened(tmp_path, "repeats: 2", options={"repeats": 3})
    assert len(next(task.rollout(task.samples[0]))) == 3


def test_reasoning_tags_hold_where_the_task_names_none(tmp_path):
    tags = {"reasoning_tags": '[["<r>", "</r>"]]'}
    answer = f"<r>hm</r>{opened(tmp_path).samples[0].doc['a']}"
    values = {}
    for name, extra in (("told", ""), ("own", "reasoning_tags: none")):
        task = opened(tmp_path, extra, options=tags)
        values[name] = score(task, 0, answer).values["exact_match", "none"]
    assert values == {"told": 1.0, "own": 0.0}


def test_a_run_that_only_predicts_keeps_answers_and_looks_at_no_target(tmp_path):
    task = opened(tmp_path, "metric_list: [{metric: exact_match}]", options={"predict_only": True})
    assert score(task, 0, "anything").values == {("bypass", "none"): "anything"}
    assert results(task, ["a", "b"])["bypass", "none"].value == 999


def test_unknown_settings_name_the_nearest(tmp_path):
    with pytest.raises(PlanError, match="There is no option 'repeat'") as caught:
        opened(tmp_path, options={"repeat": 3})
    assert caught.value.hint == "Did you mean 'repeats'?"
