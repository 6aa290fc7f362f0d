"""lmms-eval's files, made from a run: every key that a reader may look for, with its value."""

from __future__ import annotations

import json
import math

import pytest

from polymeter.interop.lmms_eval import results as files
from polymeter.interop.lmms_eval.files import result_samples as samples
from polymeter.interop.lmms_eval.files.filtered_answers import filters_of_task
from tests.report.synthetic import exchange, result, sample, task

FACTS = files.LmmsEvalFacts(
    "qwen2_5_vl",
    "pretrained=org/name,max_pixels=1",
    "20260102_030405",
    (0, 1234, None, 7),
    {"batch_size": "1", "limit": 10.0, "device": None, "gen_kwargs": "temperature=0"},
)


def planned(name, config=None, **values):
    return {
        "name": name,
        "dialect": "task_yaml",
        "version": "",
        "config": config or {},
        "num_fewshot": 0,
        "n_rows": 100,
        "n_samples": 10,
    } | values


@pytest.fixture
def results():
    tasks = {
        "a": task(
            "Alias A",
            [
                result("acc", 0.5, 9, stderr=0.1, stderr_method="mean"),
                result("acc", 0.6, 9, filter="strict", stderr=0.2, stderr_method="clustered"),
                result("submission", None, 9, higher_is_better=None),
            ],
            10,
            n_scored=9,
        ),
        "b": task("b", [result("acc", 0.7, 10, stderr=0.3, stderr_method="bootstrap", higher_is_better=False)], 10),
        "alone": task("alone", [result("f1", math.nan, 10, subset=["x"])], 10, num_fewshot=5),
    }
    group = {"alias": "The group", "version": "2", "members": ["a", "b"], "results": [result("acc", 0.6, 19)]}
    blank = {**group, "alias": "", "members": ["g"], "results": []}
    layout = [["group", "blank", 0], ["group", "g", 1], ["task", "a", 2], ["task", "b", 2], ["task", "alone", 0]]
    return {"tasks": tasks, "groups": {"g": group, "blank": blank}, "layout": layout}


@pytest.fixture
def manifest():
    return {
        "tasks": [
            planned("a", {"doc_to_text": "!function utils.text", "metadata": [{"version": 0.0}]}),
            planned("b", {"output_type": "multiple_choice"}, version="1.5"),
            planned("alone"),
        ],
        "options": {"identity": {"system_prompt": "Be brief.", "dialect_options": {"task_yaml": {"repeats": 4}}}},
        "polymeter": {"version": "0.1.0", "commit": "abc"},
        "model": {"spec": {"backend": "lmms"}},
        "usage": {"input_tokens": 10, "output_tokens": 5},
        "started": "2026-01-01T00:00:00+00:00",
        "ended": "2026-01-01T00:01:00+00:00",
        "seconds": 59.5,
    }


@pytest.fixture
def document(manifest, results):
    return files.results_document(
        manifest,
        results,
        FACTS,
        {"a": "hash"},
        {"a": {("acc", "strict"): (0.15, 0.25), ("submission", "none"): (0.4, None)}},
    )


KEYS = [
    *(
        "results",
        "groups",
        "group_subtasks",
        "configs",
        "versions",
        "n-shot",
        "higher_is_better",
        "n-samples",
        "config",
    ),
    *("git_hash", "git_branch", "lmms_eval_version", "date", "throughput", "usage", "task_hashes", "model_source"),
    "model_name",
    *("model_name_sanitized", "system_instruction", "system_instruction_sha", "chat_template", "chat_template_sha"),
    *("fewshot_as_multiturn", "start_time", "end_time", "total_evaluation_time_seconds"),
]


def test_the_document_has_exactly_these_keys(document):
    assert list(document) == KEYS


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("group_subtasks", {"g": ["a", "b"], "blank": ["g"], "alone": []}),
        ("versions", {"a": 0.0, "alone": "Yaml", "b": "1.5", "g": 2}),
        ("n-shot", {"a": 0, "alone": 5, "b": 0}),
        ("git_hash", "abc"),
        ("git_branch", None),
        ("lmms_eval_version", "polymeter 0.1.0"),
        ("date", "20260102_030405"),
        ("usage", {"total": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}),
        ("task_hashes", {"a": "hash"}),
        ("throughput", {"total_gen_tokens": 5, "total_elapsed_time": 59.5, "avg_speed": 5 / 59.5}),
        ("model_source", "qwen2_5_vl"),
        ("model_name", "org/name"),
        ("model_name_sanitized", "org__name"),
        ("system_instruction", "Be brief."),
        ("chat_template", None),
        ("chat_template_sha", None),
        ("fewshot_as_multiturn", False),
        ("total_evaluation_time_seconds", "59.5"),
    ],
)
def test_key(document, key, expected):
    assert document[key] == expected


def test_results_hold_a_value_and_its_errors_for_each_metric_and_filter(document):
    assert document["results"]["a"] == {
        "alias": "  - Alias A",
        "acc,none": 0.5,
        "acc_stderr,none": 0.1,
        "acc_stderr_clt,none": 0.1,
        "acc_stderr_clustered,none": "N/A",
        "acc,strict": 0.6,
        "acc_stderr,strict": 0.2,
        "acc_stderr_clt,strict": 0.15,
        "acc_stderr_clustered,strict": 0.25,
        "submission,none": None,
        "submission_stderr,none": "N/A",
        "submission_stderr_clt,none": 0.4,
        "submission_stderr_clustered,none": "N/A",
    }
    assert document["results"]["b"]["acc_stderr,none"] == 0.3
    assert math.isnan(document["results"]["alone"]["f1/x,none"])


def scored(cluster, **values):
    scores = [{"metric": metric, "filter": "none", "value": value} for metric, value in values.items()]
    return {"cluster": cluster, "scores": scores}


def test_own_errors_are_made_from_the_numbers_of_the_samples():
    lines = [
        scored(None, plain=1.0, held={"score": 1, "video": "x"}, text="-"),
        scored(None, plain=0.0, held={"score": 1, "video": "x"}, text="-"),
        scored(None, plain=True, held={"score": 0, "video": "y"}, text="-"),
        scored(None, plain=0, held={"other": 5}, text="-", once=2.0),
    ]
    errors = samples.item_errors(lambda: lines, "score", "video")
    # plain: deviations of 1/2, variance 1/3, over 4.
    assert errors["plain", "none"] == (pytest.approx(math.sqrt(1 / 12)), None)
    # held: deviations 1/3, 1/3, -2/3; variance 1/3, over 3; the members of x share 2 * 1/9, over 3 squared.
    assert errors["held", "none"] == (pytest.approx(1 / 3), pytest.approx(math.sqrt(1 / 9 + 2 / 81)))
    assert errors["once", "none"] == (None, None)
    assert ("text", "none") not in errors
    assert samples.item_errors(lambda: lines, "score", None)["held", "none"] == (pytest.approx(1 / 3), None)
    assert samples.item_errors(lambda: lines, "other", None)["held", "none"] == (None, None)


def test_a_sample_s_row_names_its_cluster_where_its_value_does_not():
    lines = [scored("x", acc=1.0), scored("x", acc=1.0), scored("y", acc=0.0)]
    (errors,) = samples.item_errors(lambda: lines, "score", "video").values()
    assert errors == (pytest.approx(1 / 3), pytest.approx(math.sqrt(1 / 9 + 2 / 81)))


def test_groups_stand_in_results_too_and_one_without_numbers_is_blank(document):
    # Nothing else: errors of single samples are the tasks', and a group without numbers has no version either.
    assert document["results"]["g"] == {"alias": " - The group", "acc,none": 0.6, "acc_stderr,none": "N/A"}
    assert document["groups"] == {"g": document["results"]["g"]}
    assert document["results"]["blank"] == {" ": " ", "alias": "blank"}


def test_without_numbers_of_groups_there_is_no_groups_key(manifest, results):
    results["groups"] = {}
    assert "groups" not in files.results_document(manifest, results, FACTS)


def test_the_direction_of_a_group_is_unknown_where_its_tasks_differ(document):
    directions = document["higher_is_better"]
    assert directions["a"] == {"acc": True, "submission": None}
    assert directions["g"] == {"acc": None, "submission": None} == directions["blank"]


def test_configs_hold_functions_as_text_and_what_the_run_changed(document):
    config = document["configs"]["a"]
    assert (config["task"], config["doc_to_text"]) == ("a", "!function utils.text")
    assert (config["output_type"], config["repeats"]) == ("generate_until", 4)
    assert document["configs"]["b"]["output_type"] == "multiple_choice"


def test_counts_say_how_many_were_scored(document):
    assert document["n-samples"]["a"] == {"original": 100, "effective": 10, "scored": 9}


def test_config_holds_the_command(document):
    config = document["config"]
    assert config["model"] == "qwen2_5_vl"
    assert config["model_args"] == "pretrained=org/name,max_pixels=1"
    assert (config["random_seed"], config["torch_seed"], config["fewshot_seed"]) == (0, None, 7)
    assert config["limit"] == 10.0
    assert config["resolved_cli_args"] == dict(FACTS.arguments)


def test_times_are_seconds(document):
    assert document["end_time"] - document["start_time"] == 60


def test_the_document_is_json(document):
    assert json.loads(json.dumps(document))["results"]["a"]["acc,none"] == 0.5


@pytest.mark.parametrize(
    ("model_args", "folder"),
    [
        ("pretrained=org/name", "org__name"),
        ("pretrained=/data/models/org/name/", "org__name"),
        ("a=1,model_version=gpt-4o:mini", "gpt-4o__mini"),
        ("pretrained=base,peft=org/adapter", "org__adapter"),
        ("mode=gold", ""),
        ("submodel=x", ""),
    ],
)
def test_the_folder_is_named_after_the_last_two_parts_of_the_model(model_args, folder):
    assert files.model_folder(files.model_name(model_args)) == folder


def records(*made, filters=("none",)):
    return list(map(samples.file_line, samples.sample_records(lambda: made, filters)))


def test_a_line_has_these_keys_and_no_row():
    (record,) = records(sample(3, exchanges=[exchange(None, "The question", "yes")], log={"extra": {"a": 1}}))
    assert record == {
        "doc_id": 3,
        "target": "yes",
        "filtered_resps": "yes",
        "token_counts": [{"input_tokens": 412, "output_tokens": 31, "reasoning_tokens": None}],
        "doc_hash": samples.doc_hash({"row": 3, "kind": "plain"}),
        "input": "The question",
        "exact_match": 1.0,
        "extra": {"a": 1},
    }


def test_raw_answers_stand_beside_what_was_made_of_them_where_they_differ():
    (record,) = records(sample(0, answer="yes", exchanges=[exchange(None, "q", "<think>hm</think>yes")]))
    assert record["resps"] == "<think>hm</think>yes"
    assert record["filtered_resps"] == "yes"


def test_several_answers_stand_in_one_list():
    asked = [exchange(None, "q", text) for text in ("a", "b", "c")]
    (first,) = records(sample(0, answer="a", exchanges=asked))
    assert (first["resps"], first["filtered_resps"]) == (["a", "b", "c"], "a")
    (kept,) = records(sample(0, answer="a | b", exchanges=asked))
    assert kept["filtered_resps"] == ["a", "b"]
    (every,) = records(sample(0, answer="a | b | c", exchanges=asked))
    assert every["filtered_resps"] == ["a", "b", "c"]
    assert "resps" not in every


def test_likelihoods_stand_as_pairs_of_text():
    output = {"logprobs": [[-0.5, True, 1], [-2.0, False, 1]]}
    asked = {**exchange(None, "q", ""), "response": {"outputs": [output]}}
    (record,) = records(sample(0, answer="first", exchanges=[asked]))
    assert record["filtered_resps"] == [["-0.5", "True"], ["-2.0", "False"]]
    assert "resps" not in record
    assert record["token_counts"] == [None]


def test_media_are_listed_and_the_judge_is_not():
    asked = [exchange("abc.png", "look", "yes"), exchange(None, "is it right?", "no", role="judge")]
    (record,) = records(sample(0, exchanges=asked))
    assert record["input"] == "look"
    assert record["input_media"] == [{"type": "image", "width": 300, "height": 190, "file": "media/ab/abc.png"}]
    assert record["filtered_resps"] == "yes"


def test_a_sample_without_a_score_has_no_line():
    assert [record["doc_id"] for record in records(sample(0), sample(1, status="error", scores=[]))] == [0]


def test_each_filter_has_its_lines_with_its_values():
    scores = [{"metric": "acc", "filter": name, "value": value} for name, value in (("loose", 1.0), ("strict", 0.0))]
    made = [sample(index, scores=scores, exchanges=[exchange(None, "q", "yes")]) for index in range(2)]
    lines = records(*made, filters=("loose", "strict"))
    assert [(line["filter"], line["doc_id"], line["acc"]) for line in lines] == [
        ("loose", 0, 1.0),
        ("loose", 1, 1.0),
        ("strict", 0, 0.0),
        ("strict", 1, 0.0),
    ]
    assert lines[2]["filtered_resps"] is None


FILTERS = [
    {"name": "strict", "filter": [{"function": "regex", "regex_pattern": "(\\d+)"}, {"function": "take_first"}]},
    {"name": "every", "filter": [{"function": "take_first_k", "k": 2}]},
    {"name": "vote", "filter": ["majority_vote"]},
]


def test_filters_are_read_again_from_the_stored_answers():
    made = sample(0, answer="7", exchanges=[exchange(None, "q", text) for text in ("a</think>it is 7", "9", "9")])
    filtered = filters_of_task(planned("t", {"filter_list": FILTERS}))
    found = list(samples.sample_records(lambda: [made], ("strict", "every", "vote"), filtered=filtered))
    assert [line["filtered_resps"] for line in found] == [["7"], [["it is 7", "9"]], [["9"]]]
    assert found[0]["resps"] == [["a</think>it is 7", "9", "9"]]
    assert [samples.file_line(line)["filtered_resps"] for line in found] == ["7", ["it is 7", "9"], ["9"]]
    (kept,) = samples.sample_records(lambda: [made], ("none",), filtered=filters_of_task(planned("t"), "none"))
    assert kept["filtered_resps"] == ["a</think>it is 7"]


@pytest.mark.parametrize(
    "config",
    [
        {"filter_list": [{"name": "own", "filter": [{"function": "!function utils.Own"}]}]},
        {"output_type": "multiple_choice"},
    ],
)
def test_a_filter_of_the_task_s_own_is_not_run_again(config):
    assert filters_of_task(planned("t", config)) == {}
    assert filters_of_task(planned("t", dialect="adapter")) == {}


def test_hashes_tell_docs_and_their_order_apart():
    one, other = sample(0), sample(1)
    assert samples.doc_hash(one["doc"]) != samples.doc_hash(other["doc"])
    assert samples.task_hash(lambda: [one, other]) != samples.task_hash(lambda: [other, one])


def test_a_baseline_is_compared_doc_by_doc_in_hundredths():
    of_task = task("t", [result("acc", 0.5, 4)], 4)
    ours = samples.paired_values(of_task, [{"doc_id": i, "acc": float(i % 4 > 0)} for i in range(30)])
    theirs = samples.paired_values(of_task, [{"doc_id": i, "acc": float(i % 3 > 1)} for i in range(36)])
    row = samples.paired_row(ours, theirs, "old")
    assert row["paired_baseline"] == "old"
    assert row["paired_baseline_score"] == pytest.approx(100 / 3)
    assert row["paired_ci_lower"] < 40 < row["paired_ci_upper"]
    assert 0 < row["paired_pvalue"] < 1
    assert samples.paired_row(ours, {9: 1.0}, "old") == {}


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ({"score": 0.5, "acc": 1}, 0.5),
        ({"score": {"score": 0.25}}, 0.25),
        ({"mm_score": {"score": 2}, "acc": 1}, 2.0),
        ({"acc": 1}, 1.0),
        ({"acc": "text"}, None),
    ],
)
def test_what_is_compared_is_the_score_else_the_first_metric(line, value):
    found = samples.paired_values(task("t", [result("acc", 0.5, 4)], 4), [{"doc_id": 0, **line}])
    assert found.get(0) == value
