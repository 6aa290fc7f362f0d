"""``TaskConfig``: its forms, what it refuses, and what it never shows."""

import copy
import json
import os
import re
from argparse import Namespace
from pathlib import Path

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.model import ModelSpec
from polymeter.interop.evalscope import evaluation as terms
from polymeter.interop.evalscope import model_names as models
from polymeter.interop.evalscope.config import TaskConfig, parse_task_config
from polymeter.interop.evalscope.evaluation import evaluate_evalscope
from polymeter.interop.evalscope.models.custom import CustomBackend

KEY = "sk-do-not-tell"


def config(**fields: object) -> TaskConfig:
    return TaskConfig(**{"model": "org/name", "datasets": ["mmlu_pro"], **fields})


def test_all_forms_give_the_same(tmp_path: Path) -> None:
    told = {"model": "mock", "datasets": ["a"], "limit": 3, "dataset_args": {"a": {"few_shot_num": 1}}}
    (tmp_path / "c.json").write_text(json.dumps(told))
    (tmp_path / "c.yaml").write_text("model: mock\ndatasets: [a]\nlimit: 3\ndataset_args: {a: {few_shot_num: 1}}\n")
    made = TaskConfig(**told)
    forms = [made, told, Namespace(**told, api_url=None, func=1), tmp_path / "c.json", str(tmp_path / "c.yaml")]
    assert [parse_task_config(form) for form in forms] == [made] * 5
    assert TaskConfig(**made.to_dict()) == made


def test_the_callers_dictionaries_are_never_changed() -> None:
    told = {"model": "mock", "datasets": ["a"], "dataset_args": {"a": {"local_path": "x", "subset_list": ["s"]}}}
    before = copy.deepcopy(told)
    made = TaskConfig(**told)
    made.dataset_args["a"]["subset_list"].append("t")
    made.update({"datasets": ["b"]})
    assert told == before


@pytest.mark.parametrize(("limit", "meant"), [("10", 10), (10.0, 10), (0.1, 0.1), ("0.5", 0.5), (None, None)])
def test_a_limit_is_a_count_or_a_share(limit: object, meant: object) -> None:
    assert config(limit=limit).limit == meant
    assert type(config(limit=limit).limit) is type(meant)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Qwen/Qwen2.5-0.5B-Instruct", "Qwen2.5-0.5B-Instruct"),
        ("/data/models/mine/", "mine"),
        ("qwen2.5:0.5b", "qwen2.5-0.5b"),
        ("hf:org/name", "name"),
        ("openai:gpt-x", "gpt-x"),
        ("mock", "mock"),
        (None, "custom_model"),
    ],
)
def test_a_model_is_named_by_the_last_part_of_its_name(model: object, name: str) -> None:
    assert config(model=model).model_id == name


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"eval-batch-size": 4}, "no field 'eval-batch-size'. .*'eval_batch_size'"),
        ({"datasts": []}, "no field 'datasts'. .*'datasets'"),
        ({"limit": "many"}, "'limit' must be a number"),
        ({"dataset_args": {"mmlu_pro": 3}}, "dataset_args of 'mmlu_pro' must be a mapping"),
        ({"generation_config": "a=1"}, "'generation_config' must be a mapping"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_said(fields: dict[str, object], message: str) -> None:
    with pytest.raises(PlanError) as raised:
        config(**fields)
    said = f"{raised.value.what} {raised.value.hint}"
    assert re.search(message, said), said


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"judge_strategy": "lmm"}, "no judge_strategy 'lmm'. .*'llm'"),
        ({"stage": "infr"}, "no stage 'infr'. .*'infer'"),
        ({"eval_type": "servce"}, "no eval_type 'servce'. .*'service'"),
        ({"dataset_hub": "modelscop"}, "no dataset_hub 'modelscop'. .*'modelscope'"),
        ({"eval_backend": "VLMEvalKit"}, "Other evaluation tools are not called from here"),
        ({"template_type": "qwen"}, "template_type cannot be used here: .*chat_template"),
        ({"mem_cache": True}, "mem_cache cannot be used here: .*use_cache"),
        ({"outputs": "x"}, "outputs cannot be used here: .*work_dir"),
        ({"dry_run": True}, "dry_run cannot be used here: .*polymeter check"),
        ({"analysis_report": True}, "analysis_report needs a judge, and none is named. .*judge_model_args"),
        ({"datasets": []}, "No dataset is named"),
        ({"datasets": ["data_collection"]}, "No file of the collection is named. .*local_path"),
        ({"stage": "review"}, "no folder with answers is named. .*use_cache"),
        ({"model_id": "../x"}, "cannot name a folder"),
        ({"use_cache": __file__}, "is a file, and an evaluation needs a folder"),
        ({"model": 3}, "A int is not a model"),
        ({"eval_type": "custom"}, "'custom' takes a model that is an object"),
        ({"eval_type": "service"}, "needs the address of an endpoint"),
        ({"chat_template": "x", "model": "mock"}, "'mock' takes no chat_template"),
        ({"chat_template": "x", "api_url": "http://localhost:1/v1"}, "'openai' takes no chat_template"),
        ({"model_task": "image_generation", "chat_template": "x", "model": "org/x"}, "takes no chat_template"),
        ({"judge_model_args": {"modelid": "x"}}, "no argument 'modelid'. .*'model_id'"),
        ({"judge_strategy": "llm"}, "needs a judge, and none is named. .*judge_model_args"),
        ({"judge_strategy": "llm", "judge_model_args": {"model_id": "x/y"}}, "needs a key. .*MODELSCOPE_SDK_TOKEN"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_spent(
    fields: dict[str, object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MODELSCOPE_SDK_TOKEN", "MODELSCOPE_API_BASE", "MODELSCOPE_JUDGE_LLM", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PlanError) as raised:
        evaluate_evalscope(config(**fields))
    said = f"{raised.value.what} {raised.value.hint}"
    assert re.search(message, said), said
    assert not list(tmp_path.iterdir())


def test_a_key_is_in_nothing_that_is_shown(tmp_path: Path) -> None:
    made = config(api_key=KEY, judge_model_args={"api_key": KEY, "model_id": "j"}, model_args={"token": KEY})
    assert made.api_key == KEY
    shown = [repr(made), str(made), json.dumps(made.shown()), made.dump_yaml(tmp_path).read_text()]
    assert [KEY in text for text in shown] == [False] * 4
    assert "model_id: j" in shown[-1]


def test_fields_without_an_effect_are_told() -> None:
    made = config(stream=True, judge_worker_num=4, dataset_args={"mmlu_pr": {}})
    said = list(terms.notes(made))
    assert [text.split(" ")[0] for text in said] == ["dataset_args", "stream", "judge_worker_num"]
    assert "Did you mean 'mmlu_pro'?" in said[0]


# --- models and judges ------------------------------------------------------------------------------------------------


def test_which_model_is_meant() -> None:
    def spec(**fields: object) -> object:
        return models.choose_model(config(**fields)).model

    url = "http://localhost:8000/v1/chat/completions"
    assert spec() == ModelSpec("hf", "org/name")
    assert spec(model_args={"revision": "master", "precision": "torch.float16"}) == ModelSpec(
        "hf", "org/name", {"dtype": "float16"}
    )
    assert spec(model="hf:org/name") == ModelSpec("hf", "org/name")
    assert spec(chat_template="{{ x }}") == ModelSpec("hf", "org/name", {"chat_template": "{{ x }}"})
    assert spec(model="mock", model_args={"answer": "x"}) == ModelSpec("mock", "", {"answer": "x"})
    there = {"base_url": "http://localhost:8000/v1", "api_key_env": models.MODEL_KEY}
    assert spec(api_url=url) == ModelSpec("openai", "org/name", there), "never the key that OPENAI_API_KEY holds"
    assert spec(api_url=url, model="qwen2.5:0.5b") == ModelSpec("openai", "qwen2.5:0.5b", there)
    openai = {"base_url": "https://api.openai.com/v1"}
    assert spec(api_url="https://api.openai.com/v1") == ModelSpec("openai", "org/name", openai)
    assert isinstance(spec(model=None), CustomBackend)


def test_a_key_goes_through_the_environment_and_not_into_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(models.MODEL_KEY, raising=False)
    chosen = models.choose_model(config(api_url="http://localhost:8000/v1", api_key=KEY))
    assert isinstance(chosen.model, ModelSpec)
    assert chosen.model.args["api_key_env"] == models.MODEL_KEY
    assert KEY not in repr(chosen)
    with models.keys_set(chosen, None):
        assert os.environ[models.MODEL_KEY] == KEY
    assert models.MODEL_KEY not in os.environ


def test_which_judge_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MODELSCOPE_SDK_TOKEN", "MODELSCOPE_API_BASE", "MODELSCOPE_JUDGE_LLM"):
        monkeypatch.delenv(name, raising=False)
    assert models.choose_judge(config()) is None
    assert models.choose_judge(config(judge_strategy="rule", judge_model_args={"model_id": "mock"})) is None
    mock = models.choose_judge(config(judge_model_args={"model_id": "mock", "score_type": "numeric"}))
    assert mock is not None
    assert mock.model == ModelSpec("mock")
    assert models.judge_prompts(config(judge_model_args={"model_id": "m", "score_type": "numeric"})) == {
        "score_type": "numeric"
    }
    there = {"api_url": "http://localhost:9/v1", "model_id": "j"}
    elsewhere = models.choose_judge(config(judge_model_args=there))
    assert elsewhere is not None
    assert isinstance(elsewhere.model, ModelSpec)
    assert elsewhere.model.args["api_key_env"] == models.JUDGE_KEY, "never the key that OPENAI_API_KEY holds"
    monkeypatch.setenv("MODELSCOPE_SDK_TOKEN", KEY)
    default = models.choose_judge(config(judge_strategy="llm_recall"))
    assert default is not None
    assert isinstance(default.model, ModelSpec)
    assert default.model.name == "Qwen/Qwen3-235B-A22B"
    assert default.keys == {models.JUDGE_KEY: KEY}
