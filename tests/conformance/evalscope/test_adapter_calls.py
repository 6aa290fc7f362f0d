"""In which order and with which arguments an adapter's methods are called."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from polymeter.api import RunResult
from tests.conformance.kit import evaluate, guests_of, model

FOLDER = guests_of("evalscope") / "adapter_recorder"


class Calls:
    """What the recorder wrote down in one run."""

    def __init__(self, where: Path, **options: Any) -> None:
        log = where / "calls.jsonl"
        (where / "data").mkdir()
        told = {
            "dataset_args": {"recorder": {"extra_params": {"log": str(log)}, **options.pop("args", {})}},
            **options.pop("told", {}),
        }
        self.run: RunResult = evaluate(
            where,
            FOLDER,
            "recorder",
            model(lambda request: "1"),
            data={"example/recorder": str(where / "data")},
            dialect_options={"adapter": told},
            **options,
        )
        self.all: list[dict[str, Any]] = [json.loads(line) for line in log.read_text().splitlines()]

    def of(self, name: str) -> list[dict[str, Any]]:
        return [call for call in self.all if call["name"] == name]

    def shape(self, name: str) -> tuple[int, list[str]]:
        found = {(call["n"], tuple(call["keys"])) for call in self.of(name)}
        assert len(found) == 1, found
        n, keys = found.pop()
        return n, list(keys)


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Calls:
    return Calls(tmp_path_factory.mktemp("recorder"))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Calls:
    judge = {"judge": model(lambda request: "A")}
    return Calls(tmp_path_factory.mktemp("judged"), told={"judge_strategy": "llm"}, roles=judge)


def test_load_by_keywords_work_dir_and_datasets_hub(calls: Calls) -> None:
    assert calls.shape("load") == (0, ["work_dir", "datasets_hub"])


def test_load_from_disk_by_three_positionals(calls: Calls) -> None:
    assert calls.shape("load_from_disk") == (3, ["trust_remote_code", "datasets_hub"])
    assert "'trust_remote_code': False" in calls.of("load_from_disk")[0]["args"]


def test_gen_prompts_by_keyword_data_dict(calls: Calls) -> None:
    assert calls.shape("gen_prompts") == (0, ["data_dict"])


def test_gen_prompt_by_keywords(calls: Calls) -> None:
    assert calls.shape("gen_prompt") == (0, ["input_d", "subset_name", "few_shot_list"])


def test_get_gold_answer_by_one_positional(calls: Calls) -> None:
    assert calls.shape("get_gold_answer") == (1, [])


def test_parse_pred_result_by_two_positionals_and_eval_type(calls: Calls) -> None:
    assert calls.shape("parse_pred_result") == (2, ["eval_type"])
    assert "'eval_type': 'checkpoint'" in calls.of("parse_pred_result")[0]["args"]


def test_llm_parse_pred_result_by_keywords(judged: Calls) -> None:
    assert judged.shape("llm_parse_pred_result") == (0, ["result", "raw_input_d", "eval_type"])
    assert not judged.of("parse_pred_result")


def test_match_by_two_positionals(calls: Calls) -> None:
    assert calls.shape("match") == (2, [])
    assert ast.literal_eval(calls.of("match")[0]["args"]) == (("0", "1"), {})


def test_llm_match_by_gold_pred_judge_and_raw_input(judged: Calls) -> None:
    assert judged.shape("llm_match") == (3, ["raw_input"])
    assert not judged.of("match")
    assert judged.run.value("recorder", "AverageAccuracy") == 1.0


def test_compute_metric_by_keywords_per_subset(calls: Calls) -> None:
    assert calls.shape("compute_metric") == (0, ["review_res_list", "reviews_list"])
    assert len(calls.of("compute_metric")) == 2
    assert "'review_res_list': [0.0, 1.0, 0.0]" in calls.of("compute_metric")[0]["args"]


def test_gen_report_by_keywords(calls: Calls) -> None:
    assert calls.shape("gen_report") == (0, ["subset_score_map", "model_name"])


def test_post_process_report_by_report_and_path_and_its_failure_ends_nothing(calls: Calls) -> None:
    assert calls.shape("post_process_report") == (1, ["report_path"])
    report = next(calls.run.folder.artifacts.glob("reports/*/recorder.json"))
    assert f"'report_path': '{report.parent}'" in calls.of("post_process_report")[0]["args"]
    assert calls.run.status == "complete"
    assert calls.all[-1]["name"] == "post_process_report"


def test_order_of_stages(calls: Calls) -> None:
    order = list(dict.fromkeys(call["name"] for call in calls.all))
    assert order[:4] == ["load", "load_from_disk", "gen_prompts", "gen_prompt"]
    assert order[-3:] == ["compute_metric", "gen_report", "post_process_report"]


def test_every_record_is_prompted_before_the_limit_takes_the_first_of_each_subset(tmp_path: Path) -> None:
    calls = Calls(tmp_path, limit=1)
    assert len(calls.of("gen_prompt")) == 5
    assert len(calls.of("match")) == 2
    assert {tuple(i["subset"]): i["n"] for i in calls.run.results["tasks"]["recorder"]["results"]} == {
        (): 2,
        ("one",): 1,
        ("two",): 1,
    }


def test_a_share_is_taken_of_each_subset_and_rounded_down(tmp_path: Path) -> None:
    assert len(Calls(tmp_path, limit=0.5).of("match")) == 2


def test_examples_are_drawn_once_for_each_subset(calls: Calls) -> None:
    drawn = {call["args"].partition("few_shot_list")[2] for call in calls.of("gen_prompt")}
    assert len(drawn) == 2


def test_a_record_is_one_object_from_prompt_to_score(calls: Calls) -> None:
    # the recorder's own assertions compare identities, and a value that gen_prompt put in
    assert calls.run.results["tasks"]["recorder"]["n_scored"] == 5


def test_llm_recall_asks_the_judge_where_the_rule_says_wrong(tmp_path: Path) -> None:
    calls = Calls(tmp_path, told={"judge_strategy": "llm_recall"}, roles={"judge": model(lambda request: "A")})
    assert len(calls.of("match")) == 5
    assert len(calls.of("llm_match")) == 3
    assert calls.run.value("recorder", "AverageAccuracy") == 1.0


def test_auto_asks_no_judge_unless_the_benchmark_wants_one(tmp_path: Path) -> None:
    calls = Calls(tmp_path, args={"llm_as_a_judge": True}, roles={"judge": model(lambda request: "B")})
    assert len(calls.of("llm_match")) == 5
    assert calls.run.value("recorder", "AverageAccuracy") == 0.0
    rule = tmp_path / "rule"
    rule.mkdir()
    by_rule = Calls(rule, args={"llm_as_a_judge": True}, told={"judge_strategy": "rule"})
    assert not by_rule.of("llm_match")


def test_an_unusable_verdict_leaves_the_sample_unscored(tmp_path: Path) -> None:
    judge = {"judge": model(lambda request: "I cannot say.")}
    calls = Calls(tmp_path, told={"judge_strategy": "llm"}, roles=judge)
    task = calls.run.results["tasks"]["recorder"]
    assert (task["n_samples"], task["n_scored"]) == (5, 0)
    assert calls.run.value("recorder", "AverageAccuracy") is None
