"""``TaskConfig`` with the fields of EvalScope 1.x: each works, or is refused with its reason and what to do."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from polymeter.cli.main import main
from polymeter.core.errors import PlanError
from polymeter.interop.evalscope import flags
from polymeter.interop.evalscope.config import TaskConfig, check, parse_task_config
from polymeter.interop.evalscope.evaluation import EvalscopeResult, evaluate_evalscope, run_options
from polymeter.interop.evalscope.model_names import JUDGE_KEY, MODEL_KEY, choose_judges, choose_model
from polymeter.interop.evalscope.v1.judging.settings import JudgeConfig, JudgeModelConfig
from polymeter.interop.evalscope.v1.nested_settings import SandboxTaskConfig
from polymeter.interop.evalscope.v1.types.generation import GenerateConfig
from polymeter.interop.evalscope.v1.types.outputs import ModelOutput
from tests.helpers.adapters_1x import write_adapter
from tests.helpers.openai_stub import OpenAIStub, chat

FIVE = Path(__file__).parent / "from_specification"
KEY, OTHER_KEY = "sk-do-not-tell", "sk-nor-this"
RIGHT = ["Paris", "Rome", "Madrid"]


@pytest.fixture
def capitals(tmp_path: Path) -> Path:
    """A folder with the benchmark ``capitals``."""
    write_adapter(tmp_path / "benchmarks")
    return tmp_path / "benchmarks"


def scripted(outputs: Any = RIGHT, **fields: Any) -> TaskConfig:
    """A configuration for a stand-in for a model that says these answers."""
    arguments = {} if outputs is None else {"custom_outputs": outputs}
    given = {"datasets": ["capitals"], "eval_type": "mock_llm", "model": "stand-in", "model_args": arguments}
    return TaskConfig(**{**given, **fields})


def run(config: Any, folder: Path, **options: Any) -> EvalscopeResult:
    return evaluate_evalscope(config, include_paths=(folder,), **options)


def value(result: EvalscopeResult, name: str = "capitals") -> Any:
    return result.reports[name].metrics[0].score


def texts(folder: Path) -> str:
    """The content of all files."""
    return "\n".join(file.read_text("utf-8", "replace") for file in folder.rglob("*") if file.is_file())


# The model -------------------------------------------------------------------------------------------------------


def test_a_stand_in_says_its_outputs_in_order(capitals: Path, tmp_path: Path) -> None:
    said = [ModelOutput.from_content("m", "Paris"), "Rome", "Lisbon"]
    config = scripted(said, work_dir=str(tmp_path / "out"), no_timestamp=True)
    assert value(run(config, capitals)) == pytest.approx(2 / 3, abs=1e-4)
    assert (tmp_path / "out/reports/stand-in/capitals.json").is_file()
    usual = scripted(None, work_dir=str(tmp_path / "usual"), no_timestamp=True)
    assert value(run(usual, capitals)) == 0
    assert "Default output from mockllm/model" in texts(tmp_path / "usual/predictions")


def test_outputs_that_are_too_few_fail_their_samples(capitals: Path, tmp_path: Path) -> None:
    result = run(scripted(["Paris"], work_dir=str(tmp_path / "out")), capitals)
    assert result.run.n_failed == 2
    assert value(result) == 1


def test_notes_of_a_run_reach_its_user(tmp_path: Path) -> None:
    write_adapter(tmp_path / "benchmarks", aggregation="mean_and_pass_at_k")
    result = run(scripted(["Paris"], work_dir=str(tmp_path / "out")), tmp_path / "benchmarks")
    told = "\n".join(result.notes)
    assert "capitals: 2 of 3 samples without a score (2 errors)." in told
    assert "The report of benchmark 'capitals' raised ValueError: 2 metrics grade, and none is primary" in told
    assert "has no report: it is not a data adapter" not in told
    assert f"The HTML report shows the reasons of samples without a score: {result.run.folder.report}." in told


@pytest.mark.parametrize(
    ("fields", "backend", "arguments"),
    [
        ({"model": "org/m", "eval_type": "llm_ckpt"}, "hf:org/m", {}),
        (
            {"model": "m", "api_url": "http://h/v1/chat/completions", "eval_type": "openai_api", "api_key": KEY},
            "openai:m",
            {"base_url": "http://h/v1", "api_key_env": MODEL_KEY},
        ),
        ({"model": "m", "api_url": "http://h/v1"}, "openai:m", {"base_url": "http://h/v1", "api_key_env": MODEL_KEY}),
        ({"model": "m", "api_url": "http://h/v1", "eval_type": "server"}, "openai:m", None),
        (
            {"model": "claude", "api_url": "http://h", "eval_type": "anthropic_api", "api_key": KEY},
            "anthropic:claude",
            {"base_url": "http://h", "api_key_env": MODEL_KEY},
        ),
        ({"model": "claude", "eval_type": "anthropic_api"}, "anthropic:claude", {}),
        ({"model": "org/painter", "eval_type": "text2image"}, "diffusers:org/painter", {}),
        ({"model": "org/painter", "eval_type": "image_editing"}, "diffusers:org/painter", {}),
    ],
)
def test_kinds_of_models(fields: dict[str, Any], backend: str, arguments: Any) -> None:
    chosen = choose_model(TaskConfig(datasets=["a"], **fields))
    assert str(chosen.model) == backend
    assert arguments is None or dict(chosen.model.args) == arguments  # type: ignore[union-attr]
    assert dict(chosen.keys) == ({MODEL_KEY: KEY} if "api_key" in fields else {})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"eval_type": "litellm"}, "without LiteLLM.*openai_api"),
        ({"eval_type": "openai_responses_api"}, "chat completions.*openai_api"),
        ({"eval_type": "text2speech"}, "speech"),
        ({"eval_type": "autotrust_api"}, "decision services"),
        ({"eval_type": "openai_apy"}, "no eval_type 'openai_apy'.*openai_api"),
        ({"agent_config": {"mode": "native"}}, "no agents.*(Leave it out|refused)|agent_config cannot be used"),
        ({"dry_run": True}, "dry_run cannot be used here.*check --prompts"),
        ({"rerun_review": True}, "use_cache"),
        ({"repeats": 0}, "1 or more"),
        ({"repeats": True}, "1 or more"),
        ({"eval_backend": "OpenCompass"}, "Native"),
        ({"limit": -1}, "'limit' must be"),
        ({"limit": 1.5}, "'limit' must be"),
        ({"judge": {"aggregation": "median", "models": [{"model_id": "a"}, {"model_id": "b"}]}}, "no median.*mean"),
        (
            {"judge": {"models": [{"model_id": "a", "generation_config": {"top_p": 1}}, {"model_id": "b"}]}},
            "same generation_config",
        ),
        ({"datasets": []}, "No dataset"),
        ({"generation_config": {"extra_headers": {"a": "b"}}}, "no extra_headers.*proxy"),
        ({"generation_config": {"response_schema": {"name": "a"}}}, "no response_schema.*extra_body"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(fields: dict[str, Any], message: str) -> None:
    config = TaskConfig(**{"model": "m", "datasets": ["a"], **fields})
    with pytest.raises(PlanError, match=f"(?s){message}"):
        check(config)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"repeat": 2}, "no field 'repeat'.*'repeats'"),
        ({"judge": {"strategie": "llm"}}, "no setting 'strategie'.*'strategy'"),
        ({"judge": {"models": [{"model_id": "a", "api_keys": KEY}]}}, "no setting 'api_keys'.*'api_key'"),
        ({"judge": {"contract": {"score_typ": "numeric"}}}, "no setting 'score_typ'.*'score_type'"),
        ({"judge": {"strategy": "never"}}, "strategy"),
        ({"judge": {"models": [{"api_url": "http://h"}]}}, "model_id"),
        ({"judge": {"models": [{"model_id": "a"}, {"model_id": "a"}]}}, "judge_id"),
        ({"judge": {"models": [{"model_id": "a"}], "min_valid_judges": 2}}, "(?i)min_valid_judges"),
        ({"judge": {"strategy": "llm"}, "judge_strategy": "rule"}, "older words"),
        ({"judge": {"models": {"model_id": "a"}}, "judge_model_args": {"model_id": "b"}}, "older words"),
        ({"judge": "gpt"}, "mapping or a JudgeConfig"),
        ({"sandbox": {"enable": True}}, "no setting 'enable'.*'enabled'"),
        ({"sandbox": True}, "mapping"),
        ({"generation_config": 3}, "mapping"),
        ({"limit": "many"}, "number"),
    ],
)
def test_invalid_fields_are_errors_with_the_nearest_name(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError) as caught:
        TaskConfig(**fields)
    assert re.search(message, " ".join(str(caught.value).split())), str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(("limit", "expected"), [(2, 2), (1.0, 1), ("1.0", 1), (0.7, 0.7), (0, None), (None, None)])
def test_limits_are_whole_numbers_or_shares(limit: Any, expected: Any) -> None:
    found = TaskConfig(limit=limit).limit
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(("limit", "n"), [(1.0, 1), (0.7, 2), (2, 2)])
def test_limits_count(limit: Any, n: int, capitals: Path, tmp_path: Path) -> None:
    result = run(scripted(limit=limit, work_dir=str(tmp_path / "out")), capitals)
    assert result.reports["capitals"].metrics[0].num == n


# Objects, and the forms of a configuration ---------------------------------------------------------------------------


def test_objects_of_1x_are_what_mappings_are() -> None:
    objects = TaskConfig(
        model="m",
        generation_config=GenerateConfig(temperature=0.5, max_tokens=3),
        judge=JudgeConfig(strategy="llm", models=[JudgeModelConfig(model_id="j", api_key=KEY, api_url="http://h")]),
        sandbox=SandboxTaskConfig(enabled=True),
    )
    mappings = TaskConfig(
        model="m",
        generation_config={"temperature": 0.5, "max_tokens": 3},
        judge={"strategy": "llm", "models": {"model_id": "j", "api_key": KEY, "api_url": "http://h"}},
        sandbox={"enabled": True, "engine": "docker"},
    )
    assert objects == mappings
    assert TaskConfig(**objects.to_dict()) == objects
    assert TaskConfig(judge=JudgeConfig()) == TaskConfig()
    assert KEY not in repr(objects) + str(objects)


def test_a_configuration_has_five_forms(tmp_path: Path) -> None:
    fields = {"model": "m", "datasets": ["a"], "repeats": 2, "judge": {"strategy": "rule"}, "no_timestamp": True}
    (tmp_path / "a.json").write_text(json.dumps({**fields, "resolved_benchmarks": {}, "evaluation_identity": {}}))
    (tmp_path / "a.yaml").write_text(
        "model: m\ndatasets: [a]\nrepeats: 2\njudge: {strategy: rule}\nno_timestamp: true\n"
    )
    forms = [
        fields,
        TaskConfig(**fields),
        Namespace(**fields, func=None),
        tmp_path / "a.json",
        str(tmp_path / "a.yaml"),
    ]
    assert all(parse_task_config(form) == TaskConfig(**fields) for form in forms)


def test_a_new_judge_replaces_the_old_one_whole() -> None:
    config = TaskConfig(judge={"strategy": "llm", "models": [{"model_id": "a"}]})
    config.update({"judge": {"models": [{"model_id": "b"}]}})
    assert (config.judge_strategy, config.judge_model_args) == ("auto", {"model_id": "b"})


def test_flags_are_fields() -> None:
    words = [
        "--judge",
        '{"strategy": "rule"}',
        "--repeats",
        "3",
        "--no-collect-perf",
        "--no-timestamp",
        "--rerun-review",
    ]
    words += ["--sandbox", '{"enabled": true}', "--use-cache", "out", "--limit", "0.5", "--eval-type", "openai_api"]
    fields, ours = flags.parse([*words, "--model", "m", "--datasets", "a", "b", "--parity", "evalscope"])
    config = TaskConfig(**fields)
    check(config)
    assert (config.judge_strategy, config.repeats, config.collect_perf, config.rerun_review) == ("rule", 3, False, True)
    assert (config.datasets, config.limit, ours) == (["a", "b"], 0.5, {"parity": "evalscope"})


# Judges --------------------------------------------------------------------------------------------------------------


def test_a_judge_in_all_its_forms_is_the_same_judge() -> None:
    own = {"model_id": "j", "api_url": "http://h/v1", "api_key": KEY}
    forms = [
        {"judge": {"strategy": "llm", "models": [own]}},
        {"judge": {"strategy": "llm", "models": own}},
        {"judge": JudgeConfig(strategy="llm", models=[JudgeModelConfig(**own)])},
        {"judge": {"judge_strategy": "llm", "judge_model_args": own}},
        {"judge_strategy": "llm", "judge_model_args": own},
    ]
    for form in forms:
        (judge,) = choose_judges(TaskConfig(**form))
        assert str(judge.model) == "openai:j"
        assert dict(judge.model.args) == {"base_url": "http://h/v1", "api_key_env": JUDGE_KEY}  # type: ignore[union-attr]
        assert dict(judge.keys) == {JUDGE_KEY: KEY}


def test_a_judge_has_a_kind_and_arguments_as_a_model_has() -> None:
    said = {"custom_outputs": ["so"]}
    first, second, third = choose_judges(
        TaskConfig(
            judge={
                "models": [
                    {"model_id": "a", "eval_type": "mock_llm", "model_args": said},
                    {"model_id": "b", "eval_type": "anthropic_api", "api_key": KEY},
                    {"model_id": "c", "api_url": "http://h/v1", "api_key": OTHER_KEY},
                ]
            }
        )
    )
    assert first.model.identity["backend"] == "mock_llm"  # type: ignore[union-attr]
    assert str(second.model) == "anthropic:b"
    assert dict(second.keys) == {f"{JUDGE_KEY}_2": KEY}
    assert dict(third.keys) == {f"{JUDGE_KEY}_3": OTHER_KEY}
    with pytest.raises(PlanError, match="LiteLLM"):
        choose_judges(TaskConfig(judge={"models": [{"model_id": "a", "eval_type": "litellm"}]}))


def essays(tmp_path: Path, judge: Any, name: str = "out", **fields: Any) -> EvalscopeResult:
    config = scripted(
        None,
        datasets=["essays"],
        judge=judge,
        work_dir=str(tmp_path / name),
        no_timestamp=True,
        dataset_args={"essays": {"local_path": str(FIVE / "data/essays"), "subset_list": ["short"]}},
        **fields,
    )
    return run(config, FIVE)


def saying(verdict: str, name: str) -> dict[str, Any]:
    """A judge whose verdict is always the same."""
    outputs = {"custom_outputs": [json.dumps({"reasoning": name, "verdict": verdict})] * 9}
    return {"model_id": name, "eval_type": "mock_llm", "model_args": outputs}


def test_several_judges_are_a_panel(tmp_path: Path) -> None:
    judges = [saying("good", "a"), saying("good", "b"), saying("poor", "c")]
    assert value(essays(tmp_path, {"models": judges}), "essays") == pytest.approx(2 / 3, abs=1e-4)
    most = essays(tmp_path, {"models": judges, "aggregation": "majority_vote", "min_valid_judges": 3}, "most")
    assert value(most, "essays") == 1
    silent = {**judges[2], "model_args": {"custom_outputs": []}}
    fewer = essays(tmp_path, {"models": [*judges[:2], silent], "min_valid_judges": 2}, "fewer")
    assert (value(fewer, "essays"), fewer.run.n_failed) == (1, 0)
    none = [*judges[:1], silent]
    with_none = essays(tmp_path, {"models": none, "min_valid_judges": 2}, "none")
    assert with_none.run.n_failed == 2


def test_another_judge_scores_the_same_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = essays(tmp_path, {"models": [saying("poor", "a")]})
    again = essays(tmp_path, {"models": [saying("good", "b")]}, use_cache=str(first.folder))
    both = essays(tmp_path, {"models": [saying("good", "b"), saying("poor", "a")]}, use_cache=str(first.folder))
    assert [value(one, "essays") for one in (first, again, both)] == [0, 1, 0.5]
    assert all(one.run.folder.read_manifest()["scored_from"] for one in (again, both))


def test_a_pattern_for_a_judges_reply_is_refused_of_1x(tmp_path: Path) -> None:
    own = {"model_id": "mock", "score_pattern": "x"}
    config = scripted(None, datasets=["essays"], judge_model_args=own, work_dir=str(tmp_path / "out"))
    with pytest.raises(PlanError, match="score_mapping"):
        run(config, FIVE, data={"made/essays": str(FIVE / "data/essays")})


# Repeats, resume, keys -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{"repeats": 2}, {"generation_config": {"n": 2, "temperature": 1.0}}])
def test_repeats_ask_again(fields: dict[str, Any], capitals: Path, tmp_path: Path) -> None:
    said = ["Paris", "?", "Rome", "Rome", "?", "?"]
    result = run(scripted(said, work_dir=str(tmp_path / "out"), **fields), capitals)
    assert result.reports["capitals"].metrics[0].num == 6
    assert value(result) == 0.5


def test_a_work_folder_is_resumed_in_and_scored_again(capitals: Path, tmp_path: Path) -> None:
    first = run(scripted(work_dir=str(tmp_path / "out")), capitals)
    assert first.folder.parent == tmp_path / "out"
    again = run(scripted(use_cache=str(first.folder)), capitals)
    assert again.run.folder.path == first.run.folder.path
    scored = run(scripted(use_cache=str(first.folder), rerun_review=True), capitals)
    assert scored.run.folder.path != first.run.folder.path
    assert scored.run.folder.read_manifest()["scored_from"]["run"] == str(first.run.folder.path)
    assert value(first) == value(again) == value(scored) == 1


def test_other_filters_score_the_same_answers(capitals: Path, tmp_path: Path) -> None:
    said = ["A: Paris", "A: Rome", "A: Lisbon"]
    first = run(scripted(said, work_dir=str(tmp_path / "out")), capitals)
    filters = {"capitals": {"filters": {"remove_until": "A: "}}}
    filtered = run(scripted(said, use_cache=str(first.folder), rerun_review=True, dataset_args=filters), capitals)
    again = run(scripted(said, use_cache=str(first.folder), rerun_review=True), capitals)
    assert [value(one) for one in (first, filtered, again)] == [0, pytest.approx(2 / 3, abs=1e-4), 0]
    sources = [one.run.folder.read_manifest()["scored_from"]["run"] for one in (filtered, again)]
    assert sources == [str(first.run.folder.path)] * 2


def test_a_review_of_answers_that_a_folder_lacks_begins_a_run(capitals: Path, tmp_path: Path) -> None:
    first = run(scripted(work_dir=str(tmp_path / "out"), limit=1), capitals)
    whole = run(scripted(use_cache=str(first.folder), rerun_review=True), capitals)
    assert whole.folder == first.folder
    assert whole.reports["capitals"].num == 3


def test_keys_are_in_no_file_and_transport_is_no_part_of_requests(capitals: Path, tmp_path: Path) -> None:
    with OpenAIStub(lambda received: chat("Paris\nit is")) as server:
        config = TaskConfig(
            model="m",
            api_url=server.base_url,
            api_key=KEY,
            datasets=["capitals"],
            limit=1,
            work_dir=str(tmp_path / "out"),
            judge={"models": [{"model_id": "j", "api_url": server.base_url, "api_key": OTHER_KEY}]},
            generation_config={
                "temperature": 0.5,
                "timeout": 60,
                "stream": True,
                "retries": 2,
                "retry_interval": 1,
                "batch_size": 3,
                "extra_body": {"top_k": 7},
                "stop_seqs": ["\n"],
            },
            sandbox={"enabled": True, "manager_config": {"api_key": OTHER_KEY}},
            stream=True,
            timeout=50,
            enable_progress_tracker=True,
        )
        result = run(config, capitals)
    assert value(result) == 1
    (asked,) = [one for one in server.received if "capital of France" in one.raw.decode()]
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    body = asked.body
    assert body["temperature"] == 0.5
    assert not {"timeout", "retries", "retry_interval", "batch_size", "stream", "extra_body"} & body.keys()
    assert body["top_k"] == 7
    options = run_options(config, choose_model(config))
    assert (options["timeout_s"], options["max_retries"]) == (50, 2)
    written = texts(tmp_path / "out")
    assert KEY not in written
    assert OTHER_KEY not in written
    assert any("sandbox opens no container" in note for note in result.notes)


SCRIPT = """
from evalscope.config import JudgeConfig, SandboxTaskConfig, TaskConfig
from evalscope.run import run_task

def config(outputs, **more):
    more["model_args"] = {"custom_outputs": outputs}
    return TaskConfig(model="m", eval_type="mock_llm", datasets=["capitals"], no_timestamp=True, **more)

judge = JudgeConfig(strategy="rule")
configs = [config(["Paris", "Rome", "?"], work_dir="a", judge=judge), config(["?"] * 3, work_dir="b")]
configs[1].update({"sandbox": SandboxTaskConfig(), "limit": 1})
print([report["capitals"].metrics[0].score for report in run_task(configs)])
"""


def test_a_script_runs_a_list_of_configurations(
    capitals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script.py").write_text(SCRIPT)
    assert main(["python", "--include-path", str(capitals), "script.py"]) == 0
    assert "[0.6667, 0.0]" in capsys.readouterr().out
    assert (tmp_path / "b/reports/m/capitals.json").is_file()
