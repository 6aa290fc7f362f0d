"""Base classes and utilities of models and tasks: what their authors rely on."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from PIL import Image

from polymeter.core.errors import PlanError
from polymeter.interop.lm_family.models.base import CacheHook
from polymeter.interop.lmms_eval.models.base import (
    LMMS_MODELS,
    GenerationResult,
    TokenCounts,
    lmms,
    unwrap_generation_output,
)
from polymeter.interop.lmms_eval.shim.lmms_eval import filters as reasoning
from polymeter.interop.lmms_eval.shim.lmms_eval import metrics, registry, utils
from polymeter.interop.lmms_eval.shim.lmms_eval.filters import (
    SimpleMultiChoiceRegexFilter,
    build_filter_ensemble,
    get_filter,
)
from polymeter.interop.lmms_eval.shim.lmms_eval.groups import ConfigurableGroup, get_sample_size, get_subtask_list
from polymeter.interop.lmms_eval.shim.lmms_eval.loggers import GeneralConfigTracker
from polymeter.interop.lmms_eval.shim.lmms_eval.logs import StandardLogger
from polymeter.interop.lmms_eval.shim.lmms_eval.protocol import ChatMessages
from polymeter.interop.lmms_eval.tasks import Instance


class Wrapper(lmms):
    is_simple = False

    def __init__(self, pretrained: str = "", batch_size: int = 1, **kwargs: Any) -> None:
        super().__init__()
        self.given = {"pretrained": pretrained, "batch_size": batch_size, **kwargs}

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool]]:
        return []

    def generate_until(self, requests: Sequence[Any]) -> list[Any]:
        return []

    def generate_until_multi_round(self, requests: Sequence[Any]) -> list[Any]:
        return []


def test_a_wrapper_from_an_argument_string() -> None:
    made = Wrapper.create_from_arg_string(
        'pretrained=org/name,use_cache=True,max=12,share=0.5,neg=-3,extra={"a": 1, "b": [2]},quoted=\'x,y\'',
        {"batch_size": 4, "device": None},
    )
    assert made.given == {
        "pretrained": "org/name", "batch_size": 4, "use_cache": True, "max": 12, "share": 0.5, "neg": -3.0,
        "extra": '{"a": 1, "b": [2]}', "quoted": "'x,y'",
    }  # fmt: skip
    assert (made.rank, made.world_size, made.task_dict) == (0, 1, {})
    made.cache_hook.add_partial("generate_until", ("a",), "b")
    made.set_cache_hook(CacheHook(None))
    made.clean()
    with pytest.raises(NotImplementedError):
        made.generate_visual_cot([])
    with pytest.raises(NotImplementedError, match="lmms generates no text"):
        lmms().generate_until([])


def test_system_prompts_of_wrappers(tmp_path: Any) -> None:
    (tmp_path / "p.txt").write_text(" Be short. \n")
    made = Wrapper()
    assert made._resolve_system_prompt(str(tmp_path / "p.txt")) == "Be short."
    assert made._resolve_system_prompt("Be short.") == "Be short."
    plain = made._apply_system_prompt([{"role": "user", "content": "q"}], "p")
    assert plain[0] == {"role": "system", "content": "p"}
    listed = made._apply_system_prompt([{"role": "system", "content": []}, {"role": "user", "content": []}], "p")
    assert listed[0]["content"] == [{"type": "text", "text": "p"}]


def test_registering_models() -> None:
    registry.register_model("conformance_wrapper", "conformance_alias")(Wrapper)
    assert registry.get_model("conformance_alias") is Wrapper
    assert "conformance_wrapper" in LMMS_MODELS
    with pytest.raises(PlanError, match="conformance_wrapper"):
        registry.get_model("conformance_wraper")
    with pytest.raises(TypeError):
        registry.register_model("no")(dict)  # type: ignore[type-var]


def test_outputs_of_wrappers() -> None:
    assert unwrap_generation_output("a") == ("a", None)
    assert unwrap_generation_output(GenerationResult("a", TokenCounts(1))) == ("a", TokenCounts(1))
    assert unwrap_generation_output(("a", {"output_tokens": 3})) == ("a", TokenCounts(None, 3))
    assert unwrap_generation_output((-0.5, True)) == ((-0.5, True), None)
    assert TokenCounts(1, None, 2).to_dict() == {"input_tokens": 1, "reasoning_tokens": 2}


def test_collating_gives_back_the_order() -> None:
    requests = [(f"{'x' * n}", {"max": n % 2}) for n in (3, 1, 4, 1, 5)]
    collator = utils.Collator(requests, lambda request: -len(request[0]), grouping=True)
    batches = list(collator.get_batched(n=2))
    assert [len(batch) for batch in batches] == [2, 2, 1]
    assert all(len({request[1]["max"] for request in batch}) == 1 for batch in batches)
    answers = [request[0].upper() for batch in batches for request in batch]
    assert collator.get_original(answers) == [request[0].upper() for request in requests]
    assert len(collator) == 5
    with pytest.raises(AssertionError):
        collator.get_original(answers[:-1])


def test_other_orders() -> None:
    reorderer = utils.Reorderer([3, 1, 2], lambda item: item)
    assert reorderer.get_reordered() == [1, 2, 3]
    assert reorderer.get_original(["a", "b", "c"]) == ["c", "a", "b"]
    grouper = utils.Grouper([1, 2, 3], lambda item: item % 2)
    assert grouper.get_grouped() == {1: [1, 3], 0: [2]}
    assert grouper.get_original({1: ["a", "c"], 0: ["b"]}) == ["a", "b", "c"]
    assert list(utils.chunks(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(utils.chunks(range(5), fn=lambda place, items: 3)) == [[0, 1, 2], [3, 4]]
    assert list(utils.create_iterator(range(10), 1, 2, limit=6)) == [1, 3, 5]


def test_names_and_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHERE", "/data")
    assert utils.resolve_cache_dir("vids", base_dir="/hf") == "/hf/vids"
    assert utils.resolve_cache_dir("$WHERE/vids", base_dir="/hf") == "/data/vids"
    assert utils.sanitize_model_name("/root/org/na:me") == "org__na__me"
    assert utils.sanitize_model_name("/root/org/name", full_path=True) == "__root__org__name"
    assert utils.sanitize_list([1, (None, ["a"])]) == ["1", ("None", ["a"])]
    assert json.dumps({"a": np.int64(3), "b": {1}}, default=utils.handle_non_serializable) == '{"a": 3, "b": [1]}'
    assert utils.is_multimodal_content(Image.new("L", (1, 1)))
    assert utils.is_multimodal_content({"array": [], "sampling_rate": 1})
    assert not utils.is_multimodal_content("text")
    assert utils.sanitize_long_string("x" * 50, 10) == "xxxxx...xxxxx"
    assert utils.is_json("[1]")
    assert not utils.is_json("[")
    assert len(utils.get_datetime_str()) == 15


def test_tables_show_each_metric_once() -> None:
    table = utils.make_table(
        {
            "results": {"t": {"alias": "T", "acc,none": 0.5, "acc_stderr,none": 0.1, "acc_stderr_clt,none": 0.1}},
            "versions": {"t": "1"},
            "n-shot": {"t": 0},
            "higher_is_better": {"t": {"acc": True}},
        }
    )
    assert table.splitlines()[2:] == ["|T|1|none|0|acc|↑|0.5000|±|0.1000|"]


def test_the_logger_takes_loguru_s_calls(caplog: pytest.LogCaptureFixture) -> None:
    logger = StandardLogger()
    with caplog.at_level("DEBUG", logger="lmms-eval"):
        logger.info("{} of {total}", 1, total=2)
        logger.success("50% {as it is}")
        logger.opt(depth=1).bind(a=1).warning("careful")
        logger.log("INFO", "said")
    assert caplog.messages == ["1 of 2", "50% {as it is}", "careful", "said"]


def test_metrics_under_their_foreign_names() -> None:
    assert metrics.levenshtein_distance("kitten", "sitting") == 3
    assert metrics.anls(["abc"], ["abd"]) == {"anls": pytest.approx(2 / 3)}
    assert metrics.anls(["abc"], ["xyz"]) == {"anls": 0.0}
    assert metrics.median([3, 1, 2]) == 2
    assert metrics.mean_stderr([0, 1]) == pytest.approx(0.5)
    assert metrics.weighted_mean([(1, 2), (3, 2)]) == 1.0
    assert metrics.exact_match_fn(references=["A"], predictions=["a"], ignore_case=True) == {"exact_match": 1.0}
    assert registry.get_aggregation("mean")([1, 2]) == 1.5
    assert registry.is_higher_better("perplexity") is False
    assert reasoning.strip_reasoning_tags("<a>x</a> y", [["<a>", "</a>"]]) == "y"
    assert reasoning.parse_reasoning_tags_config("none") is None


def test_filters_are_built_by_name() -> None:
    made = build_filter_ensemble("none", [("regex", {"regex_pattern": r"(\d+)"}), ("take_first", None)])
    instance = Instance("generate_until", (), 0, {"task": "t", "doc_id": 0, "repeats": 1}, resps=["a 12", "b"])
    made.apply([instance])
    assert instance.filtered_resps == {"none": "12"}
    assert get_filter("strip_thinking")().apply([["<think>x</think>y"]], [{}]) == [["y"]]
    simple = SimpleMultiChoiceRegexFilter()
    doc = {"question": "Which?\nA. red car\nB. blue bus"}
    assert simple.apply([["a blue bus!"], ["perhaps."]], [doc, doc]) == ["B", "perhaps"]


def test_walking_groups() -> None:
    outer, inner = ConfigurableGroup({"group": "outer"}), ConfigurableGroup({"group": "inner"})

    class Leaf:
        def __init__(self, name: str) -> None:
            self.task_name = name

    tree = {outer: {inner: {"a": Leaf("a"), "b": Leaf("b")}, "c": Leaf("c")}, "d": Leaf("d")}
    assert get_subtask_list(tree) == {"outer": ["inner", "c"], "inner": ["a", "b"], "d": []}
    assert get_sample_size(type("T", (), {"eval_docs": range(5)}), 0.5) == 3
    group = ConfigurableGroup({"group": "g", "aggregate_metric_list": {"metric": "acc"}, "metadata": {"version": 2}})
    assert group.config["aggregate_metric_list"][0].filter_list == ["none"]
    assert group.version == 2


def test_the_tracker_finds_the_model_s_name() -> None:
    assert GeneralConfigTracker._get_model_name("dtype=auto,pretrained=org/name,x=1") == "org/name"
    assert GeneralConfigTracker._get_model_name("x=1") == ""
    tracker = GeneralConfigTracker()
    tracker.log_experiment_args("mock", "model=org/m", "sys", None, False)
    tracker.log_end_time()
    assert tracker.model_name_sanitized == "org__m"
    assert float(tracker.total_evaluation_time_seconds or -1) >= 0


def test_conversations() -> None:
    picture = Image.new("RGB", (2, 2))
    chat = ChatMessages(
        messages=[
            {"role": "system", "content": [{"type": "text", "text": "s"}]},
            {
                "role": "user",
                "content": [
                    {"type": "image", "url": picture, "detail": "dropped"},
                    {"type": "video", "url": "v.mp4", "start_time": 1.5},
                    {"type": "audio", "url": {"array": [0.0], "sampling_rate": 1}},
                    {"type": "text", "text": "q"},
                ],
            },
        ]
    )  # type: ignore[arg-type]
    assert chat.extract_media() == ([picture], ["v.mp4"], [{"array": [0.0], "sampling_rate": 1}])
    shown = chat.to_hf_messages({"nframes": 8}, {"max_pixels": 4})[1]["content"]
    assert shown[0] == {"type": "image", "image": picture, "max_pixels": 4}
    assert shown[1] == {"type": "video", "video": "v.mp4", "nframes": 8, "video_start": 1.5}
    asked = chat.to_openai_messages(pass_video_url=True)[1]["content"]
    assert asked[0]["image_url"]["url"].startswith("data:image/png;base64,")
    assert asked[1] == {"type": "video_url", "video_url": {"url": "v.mp4"}}
    if importlib.util.find_spec("qwen_vl_utils") is None:
        with pytest.raises(PlanError, match="qwen-vl-utils"):
            chat.to_openai_messages()
