"""``polymeter lm-eval``: its flags, configurations, listings and refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from polymeter.interop.lm_eval.models.base import LM_MODELS
from polymeter.interop.lm_family.files.names import hash_text
from tests.cli.kit import Typing
from tests.helpers.openai_stub import OpenAIStub, chat
from tests.interop.lm_eval.house import results, runs, samples, write_house

pytestmark = pytest.mark.needs_system("lm_eval")
RUN = "lm-eval --model counts-letters --model_path model.py --include_path tasks -v WARNING"


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(LM_MODELS, "_models", dict(LM_MODELS._models))
    write_house(tmp_path)
    return Typing(tmp_path, capsys)


def test_a_group_gives_files_and_a_table(typing: Typing) -> None:
    done = typing(f"{RUN} --tasks both --output_path out --log_samples")
    assert done.code == 0, done.said
    rows = [line.split("|") for line in done.out.splitlines() if line.startswith("|")]
    names = [row[1].rstrip() for row in rows if row[1].strip(" -") and "Version" not in row[2]]
    assert names == ["Both", " - choice", " - Says", "Both"], "members are indented, and a second table has groups"
    document = results(typing.folder / "out")
    assert document["results"]["says"]["exact_match,last"] == 1.0
    assert document["results"]["says"]["exact_match,raw"] == 0.0
    assert document["groups"]["both"]["acc,none"] == document["results"]["choice"]["acc,none"] == pytest.approx(2 / 3)
    assert document["n-samples"] == {
        "choice": {"original": 3, "effective": 3},
        "says": {"original": 3, "effective": 3},
    }
    assert len(samples(typing.folder / "out", "says")) == 6, "each row for each filter"


def test_run_may_be_written_and_options_shortened(typing: Typing) -> None:
    done = typing(RUN.replace("lm-eval", "lm-eval run") + " --tasks choice --lim 2")
    assert done.code == 0, done.said
    assert "limit: 2.0" in done.out


def test_a_pattern_of_yaml_files_stands_for_them(typing: Typing) -> None:
    (typing.folder / "tasks").rename(typing.folder / "apart")
    for file in (typing.folder / "apart").glob("*.yaml"):
        file.write_text(file.read_text().replace("/tasks/", "/apart/"))
    run = RUN.replace(" --include_path tasks", "")
    done = typing(f"{run} --tasks apart/[rs]*s.yaml,apart/choice.yaml --output_path out")
    assert done.code == 0, done.said
    assert set(results(typing.folder / "out")["results"]) == {"choice", "rolls", "says"}
    assert "There is no file 'apart/x*.yaml'" in typing(f"{run} --tasks apart/x*.yaml").err


def test_numbers_of_rows_may_be_named(typing: Typing) -> None:
    (typing.folder / "rows.json").write_text('{"says": [2, 0]}')
    done = typing(f"{RUN} --tasks says --samples rows.json --output_path out --log_samples")
    assert done.code == 0, done.said
    assert [line["doc_id"] for line in samples(typing.folder / "out", "says")] == [0, 2, 0, 2], "the rows' own numbers"


def test_a_chat_template_is_the_models(typing: Typing) -> None:
    done = typing(
        f"{RUN} --tasks says --num_fewshot 1 --apply_chat_template --system_instruction Hello --output_path out "
        "--log_samples --seed 1,2,3,4 --gen_kwargs temperature=0.5 do_sample=True"
    )
    assert done.code == 0, done.said
    document, line = results(typing.folder / "out"), samples(typing.folder / "out", "says")[0]
    prompt = line["arguments"]["gen_args_0"]["arg_0"]
    turns = ["system", "user", "assistant", "user", "assistant"]
    assert re.findall("<(.*?)>", prompt) == turns, "examples are turns by default"
    assert prompt.startswith("<system>Hello<user>Say ")
    assert prompt.endswith("<user>Say cat<assistant> ")
    assert line["prompt_hash"] == hash_text(prompt)
    assert line["arguments"]["gen_args_0"]["arg_1"]["temperature"] == 0.5
    assert document["fewshot_as_multiturn"] is True
    assert document["system_instruction"] == "Hello"
    config = document["config"]
    assert [config[f"{name}_seed"] for name in ("random", "numpy", "torch", "fewshot")] == [1, 2, 3, 4]
    assert "The seed of torch (3) has no effect" in done.err


def test_a_chat_template_is_the_models_where_all_answers_are_stored(typing: Typing) -> None:
    for place in ("out", "again"):
        words = f"{RUN} --tasks choice --apply_chat_template --use_cache answers --output_path {place} --log_samples"
        assert typing(words).code == 0
        (first, *_) = samples(typing.folder / place, "choice")
        assert first["arguments"]["gen_args_1"] == {"arg_0": "<user>Is cat short?<assistant> ", "arg_1": "yes"}


def test_a_chat_whose_template_fails_by_then_is_written_as_its_turns(typing: Typing) -> None:
    model = typing.folder / "model.py"
    count = "CountsLetters.n_written += 1"
    once = f"        if CountsLetters.n_written == 3:\n            raise RuntimeError\n        {count}\n"
    head = "    n_written = 0\n\n    def __init__"
    text = model.read_text("utf-8").replace("    def __init__", head)
    model.write_text(text.replace("        turns = ", f"{once}        turns = "), "utf-8")
    done = typing(f"{RUN} --tasks says --apply_chat_template --output_path out --log_samples")
    assert done.code == 0, done.said
    line = samples(typing.folder / "out", "says")[0]
    assert json.loads(line["arguments"]["gen_args_0"]["arg_0"]) == [{"role": "user", "content": "Say cat"}]


def test_answers_alone(typing: Typing) -> None:
    done = typing(f"{RUN} --tasks says --predict_only --output_path out")
    assert done.code == 0, done.said
    assert samples(typing.folder / "out", "says")[0]["resps"] == [["I say cat"]]


def test_a_length_of_the_model_counts_where_a_task_states_none(typing: Typing) -> None:
    short = typing.folder / "tasks" / "says.yaml"
    text = short.read_text(encoding="utf-8").replace("task: says", "task: open").replace(", max_gen_toks: 5", "")
    (typing.folder / "tasks" / "open.yaml").write_text(text, encoding="utf-8")
    with OpenAIStub(lambda received: chat("cat")) as stub:
        done = typing(
            "lm-eval --model local-chat-completions --include_path tasks --tasks open,says --limit 1 "
            f"--apply_chat_template --model_args model=m,base_url={stub.base_url},max_gen_toks=512"
        )
    assert done.code == 0, done.said
    asked = [body for body in stub.bodies if "Say cat" in str(body)]  # the others see whether the server is there
    assert {body.get("max_tokens", body.get("max_completion_tokens")) for body in asked} == {512, 5}


def test_metadata_and_arguments_reach_the_task(typing: Typing) -> None:
    done = typing(f"{RUN} --tasks says --metadata length=[1,2] --model_args bonus=2 --output_path out")
    assert done.code == 0, done.said
    metadata = results(typing.folder / "out")["configs"]["says"]["metadata"]
    assert (metadata["length"], metadata["bonus"], metadata["version"]) == ([1, 2], 2, 1)


def test_a_key_reaches_no_file_and_no_output(typing: Typing) -> None:
    secret = "sk-0123456789abcdef"
    done = typing(
        f"lm-eval --model dummy --model_args auth_token={secret} --metadata api_key={secret} --include_path tasks "
        "--tasks says --output_path out --log_samples --show_config"
    )
    assert done.code == 0, done.said
    assert secret not in done.said
    written = [path for path in (typing.folder / "out").rglob("*") if path.is_file()]
    assert len(written) > 4
    assert [path for path in written if secret.encode() in path.read_bytes()] == []


def test_a_configuration_file_and_the_command_line_wins(typing: Typing) -> None:
    typing.write(
        {
            "run.yaml": "model: counts-letters\nmodel_path: model.py\ninclude_path: tasks\ntasks: [choice]\nlimit: 1\n"
            "model_args: bonus=1\nseed: 7\nlog_samples: false\nverbosity: WARNING\n"
        }
    )
    done = typing("lm-eval run --config run.yaml --limit 2 --output_path out")
    assert done.code == 0, done.said
    document = results(typing.folder / "out")
    assert document["n-samples"]["choice"]["effective"] == 2
    assert document["config"]["model_args"] == {"bonus": 1}
    assert document["config"]["numpy_seed"] == 7


def test_the_same_command_with_a_cache_asks_nothing_again(typing: Typing) -> None:
    command = f"{RUN} --tasks says --use_cache kept"
    assert typing(command).code == 0
    (run,) = runs(typing.folder / "kept")
    before = json.loads((run / "run.json").read_text())["started"]
    assert typing(command).code == 0
    assert [*runs(typing.folder / "kept")] == [run]
    assert json.loads((run / "run.json").read_text())["started"] == before


def test_code_runs_only_if_that_is_confirmed(typing: Typing) -> None:
    refused = typing(f"{RUN} --tasks runs_code")
    assert refused.code == 2
    assert "runs the code that the model writes" in refused.said
    done = typing(f"{RUN} --tasks runs_code --confirm_run_unsafe_code")
    assert done.code == 0, done.said
    assert "|runs_code|" in done.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--tasks says --log_samples", "--log_samples needs a place to write to"),
        ("--tasks says --limit 2 --samples {}", ""),
        ('--tasks says --limit 2 --samples {"says":[0]}', "--samples and --limit exclude each other"),
        ("--tasks says --samples nowhere.json", "The samples cannot be read"),
        ('--tasks says --samples {"says":["a"]}', "must be a list of row numbers"),
        ("--tasks says --fewshot_as_multiturn", "--fewshot_as_multiturn needs --apply_chat_template"),
        ("--tasks says --seed 1,2", "has 2 seeds"),
        ("--tasks says --seed a", "holds something that is not a number"),
        ("--tasks says --model_args bonus", "not of the form name=value"),
        ("--tasks says --model_args bonos=1", "bonus"),
        ("--tasks says --limit 0", "0 is not a limit"),
        ("--tasks says --trackio_args project=a", "there is no tracker for Trackio"),
        ("--tasks sais", "says"),
        ("--tasks says --verbosity LOUD", "There is no verbosity"),
        ("--tasks says --num_fewshots 2", "--num_fewshot"),
        ("--tasks says --config nowhere.yaml", "There is no configuration file"),
        ("", "No task is named"),
    ],
)
def test_a_mistake_is_refused_with_what_to_do(typing: Typing, words: str, message: str) -> None:
    done = typing(f"{RUN} {words}")
    assert done.code == (0 if not message else 2), done.said
    assert message in done.said


def test_an_unknown_key_of_a_configuration_names_the_nearest(typing: Typing) -> None:
    typing.write({"run.yaml": "modell: hf\n"})
    done = typing("lm-eval --config run.yaml")
    assert done.code == 2
    assert "'model'" in done.said


def test_what_has_no_effect_is_said(typing: Typing) -> None:
    done = typing(f"{RUN} --tasks says --cache_requests --check_integrity --max_batch_size 4")
    assert done.code == 0, done.said
    for name in ("--cache_requests", "--check_integrity", "--max_batch_size"):
        assert f"{name} has no effect" in done.err


def test_first_prompts_and_the_document_are_printed(typing: Typing) -> None:
    done = typing(f"{RUN} --tasks says --write_out --show_config")
    assert done.code == 0, done.said
    assert "Say cat" in done.out
    assert '"higher_is_better"' in done.out


def test_first_prompts_are_those_that_are_asked(typing: Typing) -> None:
    options = "--tasks says --limit 1 --num_fewshot 1 --system_instruction Hello --write_out --log_samples"
    done = typing(f"{RUN} {options} --output_path text")
    assert done.code == 0, done.said
    asked = samples(typing.folder / "text", "says")[0]["arguments"]["gen_args_0"]["arg_0"]
    assert asked.startswith("HelloSay ")
    assert f"{asked}\n" in done.out
    done = typing(f"{RUN} {options} --output_path chat --apply_chat_template")
    assert done.code == 0, done.said
    asked = samples(typing.folder / "chat", "says")[0]["arguments"]["gen_args_0"]["arg_0"]
    turns = re.findall("<(.*?)>([^<]+)", asked)[:-1]
    assert "\n\n".join(f"{role}: {content}" for role, content in turns) in done.out


@pytest.mark.parametrize(
    ("what", "names"),
    [("groups", ["both"]), ("subtasks", ["choice", "rolls", "runs_code", "says"])],
)
def test_listings(typing: Typing, what: str, names: list[str]) -> None:
    done = typing(f"lm-eval ls {what} --include_path tasks")
    assert done.code == 0, done.said
    assert set(names) <= set(done.out.split())


def test_names_are_validated_without_running_anything(typing: Typing) -> None:
    done = typing("lm-eval validate --tasks both,says --include_path tasks")
    assert (done.code, done.out.split("\n")[:2]) == (0, ["both: 2 tasks", "says: 1 task"])
    done = typing("lm-eval validate --tasks sais --include_path tasks")
    assert done.code == 2
    assert "says" in done.said


def test_help_shows_every_flag_of_its_own(typing: Typing) -> None:
    done = typing("lm-eval run --help")
    assert done.code == 0
    for flag in ("--model_args", "--apply_chat_template", "--confirm_run_unsafe_code", "--trackio_args"):
        assert flag in done.out


def test_it_runs_as_the_module_of_its_name(typing: Typing) -> None:
    done = typing(f"python -m {RUN.replace('lm-eval', 'lm_eval')} --tasks choice")
    assert done.code == 0, done.said
    assert "|choice|" in done.out
