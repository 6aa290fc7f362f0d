"""What commands of VLMEvalKit may say, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polymeter.core.errors import PlanError
from polymeter.interop.ulmeval.config import NamedObject
from polymeter.interop.ulmeval.vlmevalkit.flags import parse, parse_eval, reuse_aux_of

PAIR = ["--data", "MMStar", "--model", "GPT4o"]


def test_evaluate_gets_what_the_tool_gives_it() -> None:
    config, notes = parse(PAIR)
    assert notes == []
    assert (config.judge_nproc, config.judge_retry, config.judge_timeout) == (32, 6, 600)
    config, _ = parse([*PAIR, "--api-nproc", "4", "--retry", "2", "--judge-retry", "0"])
    assert (config.api_nproc, config.judge_nproc, config.retry, config.judge_retry) == (4, 4, 2, 0)
    config, _ = parse([*PAIR, "--judge-api-nproc", "3", "--judge-args", '{"nproc": 5, "retry": 1, "few": true}'])
    assert (config.judge_nproc, config.judge_retry, config.judge_args) == (5, 1, {"few": True})


def test_the_judges_flags_are_its_arguments() -> None:
    config, _ = parse([*PAIR, "--judge", "mine", "--judge-base-url", "http://here/v1", "--judge-key", "k"])
    assert config.judge == "mine"
    assert config.judge_args == {"api_base": "http://here/v1", "key": "k"}
    assert "'k'" not in repr(config)


def test_flags_of_an_endpoint() -> None:
    words = ["--base-url", "http://here/v1", "--key", "k", "--temperature", "0.5", "--top-k", "3", "--video-llm"]
    config, notes = parse([*PAIR, *words, "--extra-body", '{"thinking": true}', "--thinker", "--stream"])
    assert config.generation == {"temperature": 0.5, "top_k": 3, "max_new_tokens": 65536}
    assert config.endpoint == {"extra_body": {"thinking": True}, "video": "url"}
    assert (config.timeout, config.key) == (3600, "k")
    assert notes == ["--stream has no effect: answers are read whole, and are the same."]


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (["--key", "k"], "--key has no effect without --base-url."),
        (["--reuse-aux", "none"], "--reuse-aux has no effect without --reuse."),
        (["--reuse", "--mode", "eval"], "--reuse has no effect: the mode eval"),
        (["--api-mode"], "--api-mode has no effect: requests to endpoints are always concurrent"),
        (["--ignore"], "--ignore has no effect: failed samples are repeated"),
    ],
)
def test_flags_without_effect_say_so(words: list[str], note: str) -> None:
    _, notes = parse([*PAIR, *words])
    assert any(each.startswith(note) for each in notes)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dta", "x"], "no option '--dta'"),
        (["--num-generations", "2"], "no option '--num-generations'"),
        (["--use-vllm"], "--use-vllm cannot be used here"),
        (["--use-verifier"], "--use-verifier cannot be used here"),
        (["--custom-prompt", "internvl2"], "--custom-prompt cannot be used here"),
        (["--reuse-aux", "some"], "'some' is not a value of --reuse-aux"),
        (["--extra-body", "{"], "--extra-body"),
        (["--judge-args", "[1]"], "is not a JSON object"),
        (["--data-config", '{"MMStr": {}}'], "'MMStr' is not among --data. [--data-config] Did you mean 'MMStar'"),
        (["--data-config", '{"MMStar": 3}'], "must be an object, not 3"),
        (["--data-config", '{"MMStar": {"class": 3}}'], "'class' of 'MMStar' must be a text, not 3"),
        (["--config", "c.json"], "The file of --config names models and datasets"),
    ],
)
def test_mistakes(words: list[str], message: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse([*PAIR, *words])
    assert message in str(caught.value) or message in caught.value.where


def test_a_name_of_data_may_have_a_class_and_arguments() -> None:
    entry = {"class": "VideoMME", "dataset": "Video-MME", "nframe": 16}
    words = ["--data", "Video-MME-custom", "MMStar", "--model", "m", "--data-config"]
    config, _ = parse([*words, json.dumps({"Video-MME-custom": entry})])
    own = NamedObject("Video-MME-custom", "VideoMME", {"dataset": "Video-MME", "nframe": 16})
    assert config.datasets == (own, NamedObject("MMStar"))


def test_values_of_reuse_aux() -> None:
    for word, value in (("1", "all"), ("0", "none"), ("Infer", "infer"), ("yes", "all")):
        assert reuse_aux_of([*PAIR, "--reuse", "--reuse-aux", word]) == value
    assert not parse([*PAIR, "--reuse", "--reuse-aux", "infer"])[0].reuse_aux
    assert parse(PAIR)[0].reuse_aux


def test_eval_takes_the_judges_flags_alone() -> None:
    config = parse_eval(["--judge", "exact_matching", "--api-nproc", "2", "--include-path", "here"])
    assert (config.judge, config.judge_nproc, config.include_paths) == ("exact_matching", 2, (Path("here"),))
    with pytest.raises(PlanError, match="no option '--model'"):
        parse_eval(["--model", "x"])
