"""Each switch of ``--parity lmms-eval``, both ways."""

from __future__ import annotations

import hashlib
import json
import random
import statistics
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import datasets
import pytest

from polymeter import RunResult, evaluate
from polymeter.core.errors import DataError, PlanError, UnscoredError
from polymeter.core.guest_context import answering_through, guest_context_with
from polymeter.core.model import ModelTraits
from polymeter.core.names.parity import parity_with
from polymeter.core.request import Generate, Message, Request, Response
from polymeter.core.rows import RowView
from polymeter.core.task import GroupSpec, Result
from polymeter.interop.lmms_eval import original_prompts, results
from polymeter.interop.lmms_eval.command import _winning
from polymeter.interop.lmms_eval.evaluation import LmmsEvalCommand, _options
from polymeter.interop.lmms_eval.files.result_samples import doc_hash
from polymeter.interop.lmms_eval.models.calls import make_calls
from polymeter.interop.lmms_eval.models.rows import WrapperRow, doc_to_messages
from polymeter.interop.lmms_eval.shim.lmms_eval import metrics, registry
from polymeter.interop.lmms_eval.shim.lmms_eval.judge_prompts import JudgePromptBuilder, ResponseParser
from polymeter.interop.lmms_eval.shim.lmms_eval.judge_servers import get_server
from polymeter.interop.lmms_eval.shim.lmms_eval.metrics import median
from polymeter.interop.lmms_eval.tasks.task_classes import ConfigurableMessagesTask
from polymeter.run.finish.groups import reduce_group
from polymeter.tasks.yaml.prompts.visuals import from_chat, from_hook
from tests.helpers.differences import difference
from tests.helpers.openai_stub import png
from tests.tasks.yaml.kit import ask, open_in, opened, task_text, write, write_rows

pytestmark = pytest.mark.needs_system("lmms_eval")

SIMPLE, CHAT = ModelTraits("m", "simple"), ModelTraits("m", "chat")
FIXED = """\
num_fewshot: 1
fewshot_split: train
fewshot_config:
  sampler: first_n
  samples:
  - {q: fixed, a: one}
  doc_to_text: 'Q {{q}}'
  doc_to_target: 'A {{a}}'
  target_delimiter: ' = '
  fewshot_delimiter: ' / '
"""
NAMED = {"q": "x", "a": "b"}


def run(folder: Path, extra: str, rows: list[Mapping[str, Any]], *, parity: str, **options: Any) -> RunResult:
    """Run a minimal task; the mock gives every row the answer in its column ``said``, else ``b``."""
    write_rows(folder, rows)
    (folder / "t.yaml").write_text(task_text(extra))
    return evaluate("mock", str(folder / "t.yaml"), output=folder / "run", parity=parity, **options)


# --- prompts ----------------------------------------------------------------------------------------------------------


@difference("fewshot-rows", here="Q fixed = A one / q3", there="q0 a0\n\nq3")
def test_examples_are_rows_of_the_split_in_the_form_of_the_task(tmp_path: Path, parity: str, expected: str) -> None:
    task = opened(tmp_path, FIXED, traits=SIMPLE, parity=parity_with(parity))
    assert ask(task, 3).text == expected


@difference("chat-prompt", here="About.q0 a0\n\nq3", there="q3")
def test_chat_models_get_the_question_alone(tmp_path: Path, parity: str, expected: str) -> None:
    extra = "description: About.\nnum_fewshot: 1\nfewshot_split: train\nfewshot_config: {sampler: first_n}\n"
    task = opened(tmp_path, extra, traits=CHAT, parity=parity_with(parity))
    assert ask(task, 3).text == expected
    simple = opened(tmp_path / "s", extra, traits=SIMPLE, parity=parity_with(parity))
    assert ask(simple, 3).text == "About.q0 a0\n\nq3"


@difference("chat-prompt", here="0 images", there="1 images")
def test_the_text_for_chat_models_is_made_of_the_whole_row(tmp_path: Path, parity: str, expected: str) -> None:
    picture = {"bytes": png(), "path": None}
    features = datasets.Features({"q": datasets.Value("string"), "pictures": datasets.List(datasets.Image())})
    rows = datasets.Dataset.from_dict({"q": ["a"], "pictures": [[picture]]}, features=features)
    rows.to_parquet(str(tmp_path / "rows.parquet"))
    hooks = "def text(doc):\n    return f\"{len(doc.get('pictures') or [])} images\"\n"
    text = task_text("doc_to_visual: pictures\n", text="!function utils.text", target="q")
    for old, new in (("dataset_path: json", "dataset_path: parquet"), ("rows.jsonl", "rows.parquet")):
        text = text.replace(old, new)
    write(tmp_path, {"utils.py": hooks, "t.yaml": text})
    assert ask(open_in(tmp_path, traits=CHAT, parity=parity_with(parity))).text == expected
    assert ask(open_in(tmp_path, traits=SIMPLE, parity=parity_with(parity))).text == "0 images"


def test_a_text_that_doc_to_visual_returns_is_one_medium() -> None:
    (part,) = from_hook("film.mp4", "k")
    assert part.source == "film.mp4"


@difference("fewshot-draw", here=[], there=["q3 a3\n\nq0", "q0 a0\n\nq1", "q0 a0\n\nq2"])
def test_examples_are_drawn_for_one_sample_after_the_other(tmp_path: Path, parity: str, expected: list[str]) -> None:
    extra = "num_fewshot: 1\nfewshot_split: train\nfewshot_config: {sampler: default}\n"
    task = opened(tmp_path, extra, traits=SIMPLE, parity=parity_with(parity))
    prompts = [ask(task, index).text for index in (2, 0, 1)]
    assert [prompts[1], prompts[2], prompts[0]] == expected or not expected
    first = opened(tmp_path / "first", extra.replace("default", "first_n"), traits=SIMPLE, parity=parity_with(parity))
    assert ask(first, 0).text == "q1 a1\n\nq0"
    again = opened(tmp_path / "again", extra, traits=SIMPLE, parity=parity_with(parity), offset=2)
    # The draw belongs to the place in the run, or to the sample.
    assert (ask(again, 2).text == prompts[0]) is (parity == "none")


@difference("fewshot-draw", here="q1 a1\n\nq0", there="q0 a0\n\nq0")
def test_an_example_that_asks_the_same_question(tmp_path: Path, parity: str, expected: str) -> None:
    write_rows(tmp_path, [{"q": f"q{i}", "a": f"a{i}", "k": i + 7} for i in range(2)], "shots.jsonl")
    write_rows(tmp_path, [{"q": "q0", "a": "a0", "k": 0}])
    extra = "num_fewshot: 1\nfewshot_split: shots\nfewshot_config: {sampler: first_n}\n"
    files = "{train: rows.jsonl, shots: shots.jsonl}"
    (tmp_path / "t.yaml").write_text(task_text(extra).replace("rows.jsonl", files))
    assert ask(open_in(tmp_path, traits=SIMPLE, parity=parity_with(parity))).text == expected


@pytest.mark.parametrize(("parity", "seed"), [("none", None), ("lmms-eval", 7)])
def test_the_fourth_seed_is_that_of_the_examples(parity: str, seed: int | None) -> None:
    command = LmmsEvalCommand("mock", "t", parity=parity)
    assert _options(command, (0, 1, 2, 7)).get("dialect_options", {}).get("task_yaml", {}).get("fewshot_seed") == seed


@difference("fewshot-split", here=PlanError, there="q0 a0\n\nq3")
def test_examples_may_come_from_the_measured_split(tmp_path: Path, parity: str, expected: Any) -> None:
    made: dict[str, Any] = {"traits": SIMPLE, "parity": parity_with(parity)}
    extra = "num_fewshot: 1\nfewshot_config: {sampler: first_n}\n"
    if expected is PlanError:
        with pytest.raises(PlanError, match="no split to draw 1 examples from"):
            opened(tmp_path, extra, **made)
    else:
        assert ask(opened(tmp_path, extra, **made), 3).text == expected


@difference("system-text", here=["Be brief.", "d.q0"], there=["Be brief.\n\nd.q0"])
def test_the_system_prompt_is_the_beginning_of_the_text(tmp_path: Path, parity: str, expected: list[str]) -> None:
    made: dict[str, Any] = {"system_prompt": "Be brief.", "parity": parity_with(parity)}
    task = opened(tmp_path, "description: d.\n", traits=SIMPLE, **made)
    assert [message.text for message in ask(task).messages] == expected
    bare = opened(tmp_path / "bare", traits=SIMPLE, **made)
    assert ask(bare).text == ("Be brief.q0" if parity != "none" else "Be brief.\n\nq0")
    chat = opened(tmp_path / "chat", traits=CHAT, **made)
    assert [message.text for message in ask(chat).messages][-1:] == ["q0"]
    assert len(ask(chat).messages) == len(expected)


# --- generation settings ----------------------------------------------------------------------------------------------


def wrapped_until(request: Request, kind: Any, parity: str) -> list[str]:
    """What a wrapper gets as ``until``."""
    (call,) = make_calls([request], kind, None, parity_with(parity))
    (instance,) = call.instances
    settings: dict[str, Any] = instance.args[2 if kind == "chat" else 1]
    return list(settings["until"])


@difference("blank-line-stop", here=[["\n\n"], []], there=[["##"], ["##"]])
def test_wrappers_get_the_delimiter_of_examples_as_until(
    tmp_path: Path, parity: str, expected: list[list[str]]
) -> None:
    until = []
    for kind, traits in (("simple", SIMPLE), ("chat", CHAT)):
        task = opened(tmp_path / kind, "fewshot_delimiter: '##'\n", traits=traits, parity=parity_with(parity))
        until.append(wrapped_until(ask(task), kind, parity))
    assert until == expected


@difference("stop-strings", here=(".",), there=())
def test_chat_models_ignore_stop_strings(tmp_path: Path, parity: str, expected: tuple[str, ...]) -> None:
    extra = "generation_kwargs: {until: ['.']}\n"
    chat = opened(tmp_path, extra, traits=CHAT, parity=parity_with(parity))
    assert ask(chat).parameters.stop == expected
    simple = opened(tmp_path / "s", extra, traits=SIMPLE, parity=parity_with(parity))
    assert ask(simple).parameters.stop == (".",)


@difference("generation-aliases", here=((".",), 5), there=(("\n\n",), None))
def test_other_names_of_settings_do_not_count(tmp_path: Path, parity: str, expected: tuple[Any, Any]) -> None:
    extra = "generation_kwargs: {stop: ['.'], max_tokens: 5}\n"
    parameters = ask(opened(tmp_path, extra, traits=SIMPLE, parity=parity_with(parity))).parameters
    assert isinstance(parameters, Generate)
    assert (parameters.stop, parameters.max_new_tokens) == expected
    assert not {"stop", "max_tokens"} & set(parameters.extra)


@difference("chat-text", here="q1", there="S\n\nd.q0 a0\n\nq1")
def test_chat_wrappers_get_the_whole_text_beside_the_messages(tmp_path: Path, parity: str, expected: str) -> None:
    extra = "description: d.\nnum_fewshot: 1\nfewshot_split: train\nfewshot_config: {sampler: first_n}\n"
    switches = parity_with(parity)
    made: dict[str, Any] = {"system_prompt": "S", "parity": switches, "traits": CHAT}
    task = opened(tmp_path, extra if parity != "none" else "", **made)
    handle = RowView(1, task.row_functions, lambda step: nullcontext())
    (call,) = make_calls([ask(task, 1)], "chat", lambda origin: handle, switches)
    assert call.instances[0].args[0].endswith(expected)
    assert len(call.instances[0].args) == 6


SOUND = {"array": [0.0, 0.5], "sampling_rate": 2}
CELL = {"bytes": b"RIFF....WAVE", "path": "tone.wav"}


@difference(
    "chat-media",
    here=[("audio", SOUND), ("audio", CELL), ("video", "a.webm"), ("image", "a.tif"), ("audio", "a.wav")],
    there=[("video", SOUND), ("video", "tone.wav"), ("audio", "a.webm"), ("video", "a.tif"), ("audio", "a.wav")],
)
def test_what_chat_wrappers_are_told_of_media(parity: str, expected: list[tuple[str, Any]]) -> None:
    parts = from_hook([SOUND, CELL, "a.webm", "a.tif", "a.wav"], "row")
    (message,) = doc_to_messages(WrapperRow(Request((Message("user", parts),), Generate()), None, parity_with(parity)))
    assert [(item["type"], item["url"]) for item in message["content"]] == expected


@difference("chat-media", here="b'1 2 3' is not an image, audio or video", there="video")
def test_a_medium_of_unknown_kind(parity: str, expected: str) -> None:
    with guest_context_with(parity=parity_with(parity)):
        try:
            (part,) = from_hook([b"1 2 3"], "row")
            found: str = part.modality
        except DataError as error:
            found = error.what.partition(" by ")[0]
    assert found == expected


@difference(
    "chat-media",
    here=[{"type": "audio", "url": SOUND}, {"type": "image", "url": "a.tif"}],
    there=[{"type": "video", "url": SOUND}, {"type": "video", "url": "a.tif"}],
)
def test_what_a_class_makes_of_media_for_chat_wrappers(parity: str, expected: list[Any]) -> None:
    class Own(ConfigurableMessagesTask):
        eval_docs = ({"q": "x"},)
        doc_to_visual = staticmethod(lambda doc: [SOUND, "a.tif"])
        doc_to_text = staticmethod(lambda doc: "q")

    task = Own(config={"task": "t", "dataset_path": "x"})
    with guest_context_with(parity=parity_with(parity)):
        messages = task.doc_to_messages({})
    assert messages[0]["content"][:-1] == expected
    (message,) = doc_to_messages(WrapperRow(Request(from_chat(messages, "row"), Generate()), None, parity_with(parity)))
    assert message["content"][:-1] == expected


@difference(
    "chat-form",
    here=[
        [{"type": "text", "text": "Be brief."}],
        [{"type": "image", "image": "a.png", "url": "a.png"}, {"type": "video", "url": "a.mp4"}],
        [{"type": "text", "text": "7"}],
    ],
    there=[
        "Be brief.",
        [{"type": "image", "image": "a.png"}, {"type": "video", "url": Path("a.mp4")}],
        [{"type": "text", "text": 7}],
    ],
)
def test_messages_in_other_forms_for_chat_wrappers(parity: str, expected: list[Any]) -> None:
    media = [{"type": "image", "image": "a.png"}, {"type": "video", "url": Path("a.mp4")}]
    written = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": media},
        {"role": "user", "content": [{"type": "text", "text": 7}]},
    ]
    made = doc_to_messages(WrapperRow(Request(from_chat(written, "row"), Generate()), None, parity_with(parity)))
    assert [message["content"] for message in made] == expected


AGENTIC = """\
def text(doc, previous_output=None, round_idx=None, previous_round_info=None, lmms_eval_specific_kwargs=None):
    if round_idx is None:
        return doc["q"]
    info = {"state": {"cash": 3, "own": 1}, "tool_calls": 2}
    return [], "again", doc["q"] == "y", previous_output, info

def score(doc, results):
    return {"n": 1.0, "said": results[0]}
"""


@difference(
    "agentic-end",
    here=[{"error": "max_agentic_steps", "last_response": "b", "steps": 2, "success": False}, "b"],
    there=[
        {
            "cash": 3,
            "error": "max_agentic_steps_reached",
            "invalid_steps": 0.0,
            "last_model_output": "b",
            "success": False,
            "tool_calls": 2.0,
            "valid_tool_calls": 2.0,
        }
    ],
)
def test_the_end_of_agentic_steps(tmp_path: Path, parity: str, expected: list[Any]) -> None:
    write(tmp_path, {"own.py": AGENTIC})
    text = task_text(
        "output_type: generate_until_agentic\ngeneration_kwargs: {max_agentic_steps: 2}\n"
        "process_results: !function own.score\nmetric_list:\n- metric: n\n",
        text="!function own.text",
    )
    write_rows(tmp_path, [{"q": "x", "a": "1"}, {"q": "y", "a": "1"}])
    (tmp_path / "t.yaml").write_text(text)
    made: dict[str, Any] = {"output": tmp_path / "run", "parity": parity, "model_args": {"answer": "b"}}
    result = evaluate("mock", str(tmp_path / "t.yaml"), **made)
    lines = (result.folder.samples / "t.jsonl").read_text().splitlines()
    first, second = (json.loads(line)["log"]["said"] for line in lines)
    found = json.loads(first)
    assert {key: found[key] for key in expected[0]} == expected[0]
    assert second == expected[1] if len(expected) > 1 else json.loads(second)["trace"] == ["b"]


# --- numbers ----------------------------------------------------------------------------------------------------------


@difference("median-order", here=2.0, there=1.0)
def test_the_median_is_of_the_values_as_they_come(tmp_path: Path, parity: str, expected: float) -> None:
    code = "def score(doc, results):\n    return {'n': doc['k']}\n"
    write(tmp_path, {"own.py": code})
    extra = "process_results: !function own.score\nmetric_list:\n- {metric: n, aggregation: median}\n"
    rows: list[Mapping[str, Any]] = [{**NAMED, "k": k} for k in (3, 1, 2)]
    assert run(tmp_path, extra, rows, parity=parity).value("t", "n") == expected
    with guest_context_with(parity=parity_with(parity)):
        assert median([3, 1, 2]) == expected


@difference("number-targets", here=1.0, there=0.0)
def test_a_number_as_target_equals_no_text(tmp_path: Path, parity: str, expected: float) -> None:
    result = run(tmp_path, "", [{"q": "x", "a": 7}], parity=parity, model_args={"answer": 7})
    assert result.value("t", "exact_match") == expected


@difference("csv-targets", here=["007", "12.50", "NA"], there=["7.0", "12.5", None])
def test_targets_in_a_csv_are_what_pandas_reads(tmp_path: Path, parity: str, expected: list[str | None]) -> None:
    write(tmp_path, {"rows.csv": "q,a\nx,007\ny,12.50\nz,NA\n", "t.yaml": task_text().replace("json", "csv")})
    text = (tmp_path / "t.yaml").read_text().replace("rows.csvl", "rows.csv")
    (tmp_path / "t.yaml").write_text(text)
    run = evaluate("mock", str(tmp_path / "t.yaml"), output=tmp_path / "run", parity=parity)
    assert [sample.target for sample in run.samples()] == expected


@difference("written-values", here=["1969-07-20", "5", "007"], there=["1969-07-20 00:00:00", "5.0", "7"])
def test_values_are_what_the_library_reads(tmp_path: Path, parity: str, expected: list[str]) -> None:
    rows = [{"q": "1969-07-20", "a": 5, "c": "007"}, {"q": "1970-01-01", "a": 2.5, "c": 2}]
    result = run(tmp_path, 'doc_to_text: "{{q}} {{a}} {{c}}"\n', rows, parity=parity)
    assert next(iter(result.samples())).prompt == " ".join(expected)


@difference("written-values", here=["cat", "dog"], there=["cat", "None", "dog"])
def test_an_empty_option_is_an_option(tmp_path: Path, parity: str, expected: list[str]) -> None:
    extra = "output_type: multiple_choice\ndoc_to_choice: c\nmetric_list: [{metric: acc}]\n"
    task = opened(tmp_path, extra, [{"q": "x", "a": 0, "c": ["cat", None, "dog"]}], parity=parity_with(parity))
    assert [text.strip() for text in ask(task).parameters.continuations] == expected


@difference("missing-targets", here=1, there=2)
def test_a_row_without_a_target_is_scored(tmp_path: Path, parity: str, expected: int) -> None:
    result = run(tmp_path, "", [{"q": "x", "a": "b"}, {"q": "y", "a": None}], parity=parity)
    assert result.result("t", "exact_match").n == expected


@difference("several-targets", here=0.0, there=1.0)
def test_our_metrics_get_one_target_at_a_time(tmp_path: Path, parity: str, expected: float) -> None:
    extra = "metric_list:\n- metric: cer\n- metric: anls\n"
    result = run(tmp_path, extra, [{"q": "x", "a": ["abcd", "ab"]}], parity=parity, model_args={"answer": "ab"})
    assert result.value("t", "cer") == expected
    assert result.value("t", "anls") == 1.0


@difference("texts-as-written", here=[1.0, 1.0, 0.0, 1.0], there=[0.0, 0.0, 1.0, 0.6])
def test_texts_are_compared_code_point_by_code_point(tmp_path: Path, parity: str, expected: list[float]) -> None:
    decomposed = "cafe\u0301"
    rows = [
        ("exact_match", "", "café", decomposed),
        ("exact_match", ", ignore_case: true", "Straße", "STRASSE"),
        ("exact_match", ", ignore_punctuation: true", "C", "C++"),
        ("anls", "", "café", decomposed),
    ]
    for number, (metric, more, target, answer) in enumerate(rows):
        extra = f"metric_list:\n- {{metric: {metric}{more}}}\n"
        row: list[Mapping[str, Any]] = [{"q": "x", "a": target}]
        folder = tmp_path / str(number)
        result = run(folder, extra, row, parity=parity, model_args={"answer": answer})
        assert result.value("t", metric) == pytest.approx(expected[number])


def test_code_of_guests_compares_code_point_by_code_point() -> None:
    case = {"references": ["café"], "predictions": ["cafe\u0301"]}
    assert metrics.exact_match_fn(**case) == {"exact_match": 0.0}
    assert metrics.anls(**case) == {"anls": pytest.approx(0.6)}
    assert [registry.get_metric(name)(**case) for name in ("exact_match", "anls")] == [0.0, pytest.approx(0.6)]  # type: ignore[misc]


@difference("printed-lists", here=(1.0, 0.0), there=(0.0, 1.0))
def test_a_printed_list_is_several_targets(tmp_path: Path, parity: str, expected: tuple[float, float]) -> None:
    def value(target: str, answer: str) -> float | None:
        folder = tmp_path / str(len(answer))
        write_rows(folder, [{"q": "x", "a": target}])
        (folder / "t.yaml").write_text(task_text(target='"{{a}}"'))
        args = {"model_args": {"answer": answer}, "parity": parity}
        return evaluate("mock", str(folder / "t.yaml"), output=folder / "run", **args).value("t", "exact_match")

    assert (value("[3, 5]", "[3, 5]"), value("[3, 'a']", "a")) == expected


def test_the_gold_of_a_printed_list_is_what_was_printed(tmp_path: Path) -> None:
    write_rows(tmp_path, [{"q": "x", "a": "[3,5]"}, {"q": "y", "a": "['a', 'b']"}])
    (tmp_path / "t.yaml").write_text(task_text(target='"{{a}}"'))
    result = evaluate("mock", str(tmp_path / "t.yaml"), output=tmp_path / "run", model_args={"mode": "gold"})
    assert result.value("t", "exact_match") == 1.0
    assert [sample.target for sample in result.samples()] == ["[3,5]", "a | b"]


@difference("function-error", here="mean", there=None)
def test_a_function_has_no_standard_error(tmp_path: Path, parity: str, expected: str | None) -> None:
    code = "def mine(values):\n    return sum(values) / len(values)\n"
    write(tmp_path, {"own.py": code})
    extra = "metric_list:\n- {metric: exact_match, aggregation: !function own.mine}\n"
    rows: list[Mapping[str, Any]] = [{"q": "x", "a": "1"}, {"q": "y", "a": "2"}]
    result = run(tmp_path, extra, rows, parity=parity, model_args={"answer": 1}).result("t", "exact_match")
    assert (result.value, result.stderr_method) == (0.5, expected)


@difference("bootstrap-error", here=("bootstrap", True), there=("bootstrap", False))
def test_resampled_errors_are_drawn_in_seeded_chunks(tmp_path: Path, parity: str, expected: tuple[str, bool]) -> None:
    write(tmp_path, {"own.py": "def score(doc, results):\n    return {'n': doc['k'], 'b': (1, doc['k'])}\n"})
    extra = (
        "process_results: !function own.score\nmetric_list:\n- {metric: n, aggregation: median}\n"
        "- {metric: b, aggregation: bits_per_byte}\n"
    )
    values = [1, 5, 2, 9]
    rows: list[Mapping[str, Any]] = [{**NAMED, "k": k} for k in values]
    result = run(tmp_path, extra, rows, parity=parity)
    found = result.result("t", "n")
    assert (found.stderr_method, result.result("t", "b").stderr is not None) == expected
    if parity != "none":
        drawn = []
        for seed in range(100):
            generator = random.Random(seed)
            drawn += [generator.choices(values, k=4)[2] for _ in range(1000)]
        assert found.stderr == pytest.approx(statistics.stdev(drawn))


@difference("cluster-error", here="clustered", there="mean")
def test_a_column_names_no_clusters(tmp_path: Path, parity: str, expected: str) -> None:
    rows: list[Mapping[str, Any]] = [{"q": str(i), "a": str(i // 4), "c": i // 4} for i in range(12)]
    result = run(tmp_path, "cluster_key: c\n", rows, parity=parity, model_args={"answer": 1}).result("t", "exact_match")
    assert result.stderr_method == expected


@difference("limit-of-first-task", here=(2, 1), there=(2, 2))
def test_a_share_is_the_number_of_the_first_task(tmp_path: Path, parity: str, expected: tuple[int, int]) -> None:
    for name, n in (("a", 4), ("b", 2)):
        write_rows(tmp_path / name, [{**NAMED, "q": str(i)} for i in range(n)])
        (tmp_path / name / f"{name}.yaml").write_text(task_text(name=name))
    made: dict[str, Any] = {"include_paths": [tmp_path], "parity": parity, "limit": 0.5, "output": tmp_path / "run"}
    result = evaluate("mock", ["a", "b"], **made)
    assert tuple(result.results["tasks"][name]["n_samples"] for name in "ab") == expected
    again = evaluate("mock", ["a", "b"], **made)
    assert again.results == result.results


# --- groups -----------------------------------------------------------------------------------------------------------


def number(metric: str, value: float, n: int, stderr: float | None = 0.1, filter: str = "none") -> Result:
    return Result(metric, filter, value, n, (), stderr, higher_is_better=True)


@difference("group-metric", here={("acc", "none")}, there={("acc", "none"), ("acc_norm", "none"), ("acc", "strict")})
def test_a_group_takes_every_metric_whose_name_contains_its_own(parity: str, expected: set[tuple[str, str]]) -> None:
    members = {"a": [number("acc", 0.5, 4), number("acc_norm", 0.9, 4), number("acc", 0.1, 4, filter="strict")]}
    group = GroupSpec("g", "", ("a",), ({"metric": "acc", "filter_list": ("none",)},))
    found = reduce_group(group, members, (), parity_with(parity))
    assert {(result.metric, result.filter) for result in found} == expected


@difference("group-error", here=(0.4**2 + 2.4**2) ** 0.5 / 16, there=((12 * 0.01 + 132 * 0.04) / 14 / 16) ** 0.5)
def test_a_groups_error_is_that_of_pooled_samples(parity: str, expected: float) -> None:
    members = {"a": [number("acc", 0.5, 4, 0.1)], "b": [number("acc", 0.7, 12, 0.2)]}
    group = GroupSpec("g", "", ("a", "b"), ({"metric": "acc", "weight_by_size": True},))
    (found,) = reduce_group(group, members, (), parity_with(parity))
    assert found.value == pytest.approx(0.65)
    assert found.stderr == pytest.approx(expected)


@difference("group-of-tasks", here=0.75, there=2 / 3)
def test_a_group_in_a_group_counts_as_its_tasks(tmp_path: Path, parity: str, expected: float) -> None:
    for name, answer in (("a", "1"), ("b", "2"), ("c", "1")):
        write_rows(tmp_path / name, [{"q": name, "a": answer}])
        (tmp_path / name / f"{name}.yaml").write_text(task_text(name=name))
    shape = "group: {}\ntask: [{}]\naggregate_metric_list:\n- metric: exact_match\n"
    (tmp_path / "g.yaml").write_text(shape.format("inner", "a, b"))
    (tmp_path / "h.yaml").write_text(shape.format("outer", "inner, c"))
    result = evaluate(
        "mock", "outer", model_args={"answer": 1}, include_paths=[tmp_path], output=tmp_path / "run", parity=parity
    )
    assert result.value("outer", "exact_match") == pytest.approx(expected)


@difference("group-direction", here={"m": True}, there={"m": True, "n": False})
def test_every_group_lists_the_directions_of_all(parity: str, expected: dict[str, bool]) -> None:
    def task(metric: str, *, is_higher: bool) -> dict[str, Any]:
        return {"results": [{"metric": metric, "higher_is_better": is_higher}]}

    tasks = {"a": task("m", is_higher=True), "b": task("n", is_higher=False)}
    groups = {"g": {"members": ["a"]}, "h": {"members": ["b"]}}
    found = results._directions(tasks, groups, parity_with(parity))
    assert found["g"] == expected


# --- reading a task ---------------------------------------------------------------------------------------------------


@difference("full-docs", here=2.0, there=-1.0)
def test_full_docs_is_not_read(tmp_path: Path, parity: str, expected: float) -> None:
    code = "def score(doc, results, full_docs=None):\n    return {'n': -1 if full_docs is None else len(full_docs)}\n"
    write(tmp_path, {"own.py": code})
    extra = "full_docs: true\nprocess_results: !function own.score\nmetric_list:\n- metric: n\n"
    assert run(tmp_path, extra, [NAMED, {**NAMED, "q": "y"}], parity=parity).value("t", "n") == expected


@difference("metadata-list", here="2.5", there="")
def test_metadata_in_a_list_is_not_read(tmp_path: Path, parity: str, expected: str) -> None:
    result = run(tmp_path, "metadata:\n- version: 2.5\n", [NAMED], parity=parity)
    assert result.results["tasks"]["t"]["version"] == expected
    planned = {task["name"]: task for task in result.folder.read_manifest()["tasks"]}
    assert results._versions(planned, {}, parity_with(parity)) == {"t": 2.5 if expected else "Yaml"}


@difference("include-order", here="beside q0", there="here q0")
def test_an_include_is_looked_for_in_the_working_directory_first(
    tmp_path: Path, parity: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here/base.yaml").write_text("doc_to_text: 'here {{q}}'\n")
    rows = write_rows(tmp_path / "task").parent
    (rows / "base.yaml").write_text("doc_to_text: 'beside {{q}}'\n")
    (rows / "t.yaml").write_text("include: base.yaml\n" + "\n".join(
        line for line in task_text().splitlines() if not line.startswith("doc_to_text")
    ))  # fmt: skip
    result = evaluate("mock", str(rows / "t.yaml"), output=tmp_path / "run", parity=parity)
    assert expected in (result.folder.samples / "t.jsonl").read_text()


@difference("later-file", here=PlanError, there="second")
def test_the_later_of_two_files_counts(tmp_path: Path, parity: str, expected: Any) -> None:
    for name, word in (("a", "first"), ("b", "second")):
        write_rows(tmp_path / name)
        (tmp_path / name / "t.yaml").write_text(task_text(text=word))
    made: dict[str, Any] = {"include_paths": [tmp_path], "output": tmp_path / "run", "parity": parity}
    if expected is PlanError:
        with pytest.raises(PlanError, match="Two files define 't'"):
            evaluate("mock", "t", **made)
    else:
        assert expected in (evaluate("mock", "t", **made).folder.samples / "t.jsonl").read_text()


@difference("module-per-function", here=1.0, there=0.0)
def test_each_function_has_a_module_of_its_own(tmp_path: Path, parity: str, expected: float) -> None:
    code = (
        "seen = []\n\n\ndef text(doc):\n    seen.append(doc['q'])\n    return doc['q']\n\n\n"
        "def score(doc, results):\n    return {'seen': float(doc['q'] in seen)}\n"
    )
    write(tmp_path, {"own.py": code})
    text = task_text("process_results: !function own.score\nmetric_list:\n- metric: seen\n", text="!function own.text")
    write_rows(tmp_path)
    (tmp_path / "t.yaml").write_text(text)
    result = evaluate("mock", str(tmp_path / "t.yaml"), output=tmp_path / "run", parity=parity)
    assert result.value("t", "seen") == expected


@difference("config-default", here={"limit": None, "batch_size": "2"}, there={"limit": 5.0, "batch_size": "2"})
def test_a_default_on_the_command_line_does_not_win(parity: str, expected: dict[str, Any]) -> None:
    configured = {"limit": 5.0, "batch_size": "9"}
    given = {"limit": None, "batch_size": "2", "parity": parity}
    assert {**configured, **_winning(given, configured)} == {**expected, "parity": parity}


# --- files and judges -------------------------------------------------------------------------------------------------


@difference("doc-hash", here=True, there=False)
def test_hashes_of_docs(parity: str, expected: bool) -> None:
    one, two = (doc_hash({"q": word}, parity_with(parity)) for word in "xy")
    assert (one != two) is expected
    assert expected or one == hashlib.sha256(b"null").hexdigest()


@difference("loose-verdict", here=UnscoredError, there=(1, 0, True, False, 0.0, 2.0, (-1.0, -1.0), {}))
def test_verdicts_are_read_loosely(parity: str, expected: Any) -> None:
    read = ResponseParser
    with guest_context_with(parity=parity_with(parity)):
        if expected is UnscoredError:
            for parse in (read.parse_binary_response, read.parse_score_response, read.parse_json_response):
                with pytest.raises(UnscoredError):
                    parse("well, perhaps")
            return
        assert expected == (
            read.parse_binary_response("10 of 10"),
            read.parse_binary_response("well"),
            read.parse_binary_response("Yes and no", "yes/no"),
            read.parse_binary_response("surely yes", "yes/no"),
            read.parse_score_response("well"),
            read.parse_score_response("well", (2.0, 5.0)),
            read.parse_comparative_response("well"),
            read.parse_json_response("well"),
        )


@difference("loose-verdict", here=(False, None, 1), there=(True, 1, 0))
def test_a_judge_that_was_cut_off_in_its_reasoning(parity: str, expected: tuple[bool, int | None, int]) -> None:
    class Client:
        def __init__(self) -> None:
            self.refused: list[str] = []

        def __call__(self, role: str, request: Any) -> Response:
            return Response.of_text("<think>It could be 1, or")

        def refuse(self, why: str) -> None:
            self.refused.append(why)

    client = Client()
    with guest_context_with(parity=parity_with(parity)), answering_through(client):
        verdict = get_server("openai").evaluate_binary("q", "a", "p", custom_prompt="{pred}?")
    assert (verdict["success"], verdict["result"], len(client.refused)) == expected
    assert all("ended inside its reasoning" in why for why in client.refused)


@difference("loose-verdict", here=UnscoredError, there=(1, 7.0, (1.0, 2.0), {"a": 1}))
def test_a_verdict_inside_unfinished_reasoning(parity: str, expected: Any) -> None:
    read = ResponseParser
    with guest_context_with(parity=parity_with(parity)):
        parsers = [
            (read.parse_binary_response, "<think>1"),
            (read.parse_score_response, "<think>7"),
            (read.parse_comparative_response, "<think>1 2"),
            (read.parse_json_response, '<think>{"a": 1}'),
        ]
        if expected is UnscoredError:
            for parse, said in parsers:
                with pytest.raises(UnscoredError, match="ended inside its reasoning"):
                    parse(said)
            return
        assert tuple(parse(said) for parse, said in parsers) == expected


@difference("judge-prompts", here="<candidate>\np", there="Theirs: q a p 1 0")
def test_default_judge_prompts_are_read_from_the_installed_package(
    tmp_path: Path, parity: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "lmms_eval/llm_judge"
    package.mkdir(parents=True)
    (tmp_path / "lmms_eval/__init__.py").touch()
    text = "BINARY_JUDGE_PROMPT = '''Theirs: {question} {answer} {prediction} {positive} {negative}'''\n"
    (package / "prompt.py").write_text(text)
    (package / "base.py").write_text(
        "class S:\n    def evaluate_with_rubric(self, question, prediction, rubric):\n"
        "        rubric_text = ''\n        prompt = f'''{question} | {prediction} | {rubric_text} | {{}}'''\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(original_prompts, "version", lambda name: "0.7.2")
    original_prompts.original_prompt.cache_clear()
    with guest_context_with(parity=parity_with(parity)):
        assert expected in JudgePromptBuilder.build_binary_prompt("q", "a", "p")
        assert (expected in JudgePromptBuilder.build_binary_prompt("q", "a", "[THINK]?[/THINK]p")) is (parity == "none")
        rubric = JudgePromptBuilder.build_rubric_prompt("q", "p", {"one": "two"})
        assert parity == "none" or rubric == "q | p | - one: two | {}"
    original_prompts.original_prompt.cache_clear()


def test_missing_judge_prompts_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(original_prompts, "version", lambda name: "0.6.0")
    original_prompts.original_prompt.cache_clear()
    with pytest.raises(PlanError, match=r"0\.6\.0 is installed") as caught:
        original_prompts.original_prompt("BINARY_JUDGE_PROMPT")
    assert "lmms_eval==0.7.2" in caught.value.hint
