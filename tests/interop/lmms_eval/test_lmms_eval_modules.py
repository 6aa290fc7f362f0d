"""Modules of lmms-eval that scripts import beside tasks and wrappers: what they mean here, or what to do instead."""

from __future__ import annotations

import importlib
import sys

import pytest

from polymeter.core.errors import PlanError
from polymeter.guests.shims.finder import switch_on_shims
from polymeter.interop.lmms_eval.files.efficiency import build_efficiency_summary
from polymeter.interop.lmms_eval.tasks import FilterEnsemble, LowercaseFilter, TakeFirstFilter
from tests.e2e.kit import capitals


@pytest.fixture(autouse=True)
def shims():
    switch_on_shims()


@pytest.mark.parametrize(
    ("module", "name", "hint"),
    [
        ("lmms_eval.caching.response_cache", "ResponseCache", "--use_cache"),
        ("lmms_eval.caching.cache", "load_from_cache", "made anew"),
        ("lmms_eval.entrypoints", "EvalClient", r"polymeter\.evaluate"),
        ("lmms_eval.entrypoints.http_server", "launch_server", r"polymeter\.evaluate"),
        ("lmms_eval.llm_judge.launcher", "get_launcher", "--judge"),
    ],
)
def test_what_has_no_meaning_here_says_what_has(module, name, hint):
    thing = getattr(importlib.import_module(module), name)
    with pytest.raises(PlanError, match=hint):
        thing("x")


def test_the_command_line_as_a_function(monkeypatch, capsys):
    main = importlib.import_module("lmms_eval.cli.dispatch").main
    monkeypatch.setattr(sys, "argv", ["lmms-eval", "version"])
    main()
    assert "lmms-eval's command line" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["lmms-eval", "nothing"])
    with pytest.raises(SystemExit):
        main()


def test_sizes_of_tasks_leave_out_what_cannot_be_found(tmp_path):
    sizes = importlib.import_module("lmms_eval.cli.power_utils").collect_task_sizes
    capitals(tmp_path)
    assert sizes("capitals, nothing", include_path=str(tmp_path)) == {"capitals": 3}
    assert sizes(None) == {}


def test_providers_have_modules_of_their_own():
    assert importlib.import_module("lmms_eval.llm_judge.providers.openai").OpenAIProvider().is_available()


def test_tokens_per_right_answer():
    samples = [
        {"score": 1, "token_counts": [{"input_tokens": 10, "output_tokens": 4}, None]},
        {"own": {"score": 0.5}, "token_counts": [{"output_tokens": 2}]},
        {"gpt_score": -1, "token_counts": [None]},
    ]
    found = build_efficiency_summary({"samples": {"t": samples}, "configs": {"t": {"score_key": "own"}}})
    expected = {
        "docs": 3.0,
        "docs_with_token_counts": 2.0,
        "total_input_tokens": 10.0,
        "total_output_tokens": 6.0,
        "total_tokens": 16.0,
        "total_correct_score": 1.5,
        "avg_output_tokens_per_sample": 3.0,
        "tokens_per_correct_answer": 4.0,
    }
    assert found == {"by_task": {"t": expected}, "overall": expected}
    assert build_efficiency_summary({"results": {}}) == {}


def test_an_ensemble_takes_the_rows_beside_the_instances():
    class Instance:
        resps = ("Yes",)
        doc = None

        def __init__(self):
            self.filtered_resps = {}

    class Row(LowercaseFilter):
        def apply(self, resps, docs):
            return [f"{doc['q']}: {text}" for text, doc in zip(resps, docs, strict=True)]

    instance = Instance()
    FilterEnsemble("own", [TakeFirstFilter, Row()]).apply([instance], [{"q": "here"}])
    assert instance.filtered_resps == {"own": "here: Yes"}
