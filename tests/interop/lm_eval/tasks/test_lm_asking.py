"""Instances become requests, and responses come back to instances."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polymeter.core.content import Image, Text
from polymeter.core.errors import PlanError, UnfitError
from polymeter.core.format import OpenContext
from polymeter.core.model import ModelTraits
from polymeter.core.names.parity import parity_with
from polymeter.core.request import Generate, Loglikelihood, Response
from polymeter.core.task import Rollout
from polymeter.interop.lm_eval.tasks import FORMAT
from polymeter.run.dispatch.answers import AnswerReader, stops_of
from tests.helpers.differences import difference
from tests.interop.lm_eval.tasks.folders import ask, instances_of, load, logprobs, open_in, opened, task_text, write

CHOICE = "output_type: multiple_choice\ndoc_to_choice: [x, yy, z]\n"


def parameters(task: Any) -> Generate:
    found = ask(task)[0].parameters
    assert isinstance(found, Generate)
    return found


def test_choices_of_one_context_travel_together(tmp_path: Path) -> None:
    task = opened(tmp_path, CHOICE, target="k")
    (request,) = ask(task)
    assert request.parameters == Loglikelihood((" x", " yy", " z"), template="none")
    assert [part.text for part in request.messages[0].parts if isinstance(part, Text)] == ["q0"]
    made = instances_of(task, 0, logprobs(-3.0, -1.0, -2.0, greedy=1))
    assert [instance.resps for instance in made] == [[(-3.0, False)], [(-1.0, True)], [(-2.0, False)]]
    assert [(each.request_type, each.idx, each.args) for each in made][1] == ("loglikelihood", 1, ("q0", " yy"))


def test_bare_choices_are_a_request_of_their_own(tmp_path: Path) -> None:
    extra = "metric_list: [{metric: acc_mutual_info}]\n"
    task = opened(tmp_path, CHOICE + extra, target="k")
    with_context, bare = ask(task)
    assert (with_context.messages[0].text, bare.messages[0].text) == ("q0", "")
    assert bare.parameters == with_context.parameters
    made = instances_of(task, 0, logprobs(-1.0, -2.0, -3.0), logprobs(-4.0, -5.0, -6.0))
    assert [each.resps[0][0] for each in made] == [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]


def test_inputs_that_are_the_choices(tmp_path: Path) -> None:
    task = opened(tmp_path, CHOICE, text="k", target="a")
    asked = ask(task, 1)
    assert [request.messages[0].text for request in asked] == ["x", "yy", "z"]
    assert {request.parameters for request in asked} == {Loglikelihood((" a1",), template="none")}
    made = instances_of(task, 1, *(logprobs(-float(number)) for number in range(3)))
    assert [each.resps for each in made] == [[(0.0, False)], [(-1.0, False)], [(-2.0, False)]]


@pytest.mark.parametrize("parity", ["", "lm-eval"])
@pytest.mark.parametrize(("first", "second"), [(1, 0), (True, False)])
def test_of_inputs_that_are_the_choices_the_number_or_truth_of_the_row_is_right(
    tmp_path: Path, first: object, second: object, parity: str
) -> None:
    rows = [{"q": "q", "a": "end", "k": first}, {"q": "q", "a": "end", "k": second}]
    extra = "output_type: multiple_choice\ndoc_to_choice: [x, yy]\n"
    task = opened(tmp_path, extra, rows, text="k", target="a", parity=parity_with(parity))
    for index, expected in ((0, 1.0), (1, 0.0)):
        answers = (logprobs(-4.0), logprobs(-1.0))
        score = task.score(task.samples[index], Rollout(answers, instances_of(task, index, *answers)))
        assert score.values["acc", "none"] == expected


def test_one_text_has_no_delimiter_before_it(tmp_path: Path) -> None:
    task = opened(tmp_path, "output_type: loglikelihood\ntarget_delimiter: ' '\n")
    assert ask(task)[0].parameters == Loglikelihood(("a0",), template="none")


def test_whole_texts(tmp_path: Path) -> None:
    task = opened(tmp_path, "output_type: loglikelihood_rolling\nrepeats: 2\n", text="''", target='"{{a}}\\n"')
    (request,) = ask(task)
    assert request.parameters == Loglikelihood(("a0\n",), is_rolling=True)
    (instance,) = instances_of(task, 0, logprobs(-7.0))
    assert (instance.resps, instance.args) == ([-7.0, -7.0], ("a0\n",))


def test_a_target_that_is_no_text_cannot_be_measured(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="gives 0, not text"):
        opened(tmp_path, "output_type: loglikelihood\n", target="k")


def test_repeats_are_requests_with_seeds_of_their_own(tmp_path: Path) -> None:
    task = opened(tmp_path, "repeats: 3\ngeneration_kwargs: {do_sample: true, temperature: 0.5}\n")
    asked = ask(task)
    assert len({request.parameters.seed for request in asked if isinstance(request.parameters, Generate)}) == 3
    (instance,) = instances_of(task, 0, *(Response.of_text(text) for text in "abc"))
    assert (instance.resps, instance.repeats) == (["a", "b", "c"], 3)


@pytest.mark.parametrize(
    ("written", "plan", "expected"),
    [
        ("", {}, Generate(256, 0.0, stop=("\n\n",))),
        ("{until: ['.']}", {}, Generate(256, 0.0, stop=(".",))),
        ("{max_gen_toks: 8}", {}, Generate(8, 0.0, stop=("\n\n",))),
        ("{max_gen_toks: 8, max_new_tokens: 9, until: x}", {}, Generate(8, 0.0, stop=("x",))),
        ("{max_completion_tokens: 9, until: []}", {}, Generate(9, 0.0)),
        ("{do_sample: false, temperature: 0.7, until: []}", {}, Generate(256, 0.0)),
        ("{temperature: '0.7', until: []}", {}, Generate(256, 0.7)),
        ("{do_sample: true, until: []}", {}, Generate(256, None, extra={"do_sample": True})),
        (
            "{do_sample: true, temperature: 0.7, top_p: 0.9, top_k: 3, until: []}",
            {},
            Generate(256, 0.7, 0.9, extra={"top_k": 3}),
        ),
        ("{max_gen_toks: 8, until: [x]}", {"max_new_tokens": 4, "until": ["y"]}, Generate(4, 0.0, stop=("y",))),
        ("{max_new_tokens: 8, until: [x]}", {"max_gen_toks": 4}, Generate(4, 0.0, stop=("x",))),
        ("{temperature: 0.7, until: []}", {"do_sample": False}, Generate(256, 0.0)),
    ],
)
def test_what_generation_settings_mean(tmp_path: Path, written: str, plan: dict[str, Any], expected: Generate) -> None:
    extra = f"generation_kwargs: {written}\n" if written else ""
    found = parameters(opened(tmp_path, extra, generation=plan))
    assert found.template == "none"
    assert Generate(found.max_new_tokens, found.temperature, found.top_p, found.stop, extra=found.extra) == expected


@pytest.mark.parametrize(
    ("written", "plan", "expected"),
    [
        ("{until: ['.']}", {}, 512),
        ("{until: ['.'], max_gen_toks: 8}", {}, 8),
        ("{until: ['.']}", {"max_gen_toks": 4}, 4),
        ("", {}, 256),  # a task without settings has all of lm-eval's
    ],
)
def test_a_run_may_name_the_length_where_a_task_names_none(
    tmp_path: Path, written: str, plan: dict[str, Any], expected: int
) -> None:
    extra = f"generation_kwargs: {written}\n" if written else ""
    task = opened(tmp_path, extra, generation=plan, options={"max_gen_toks": 512})
    assert parameters(task).max_new_tokens == expected


def test_a_length_of_no_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="max_gen_toks cannot be 0"):
        opened(tmp_path, "", options={"max_gen_toks": 0})


@difference("temperature-alone", here=0.6, there=0.0)
def test_a_temperature_of_the_run_means_sampling(tmp_path: Path, parity: str, expected: float) -> None:
    extra = "generation_kwargs: {do_sample: false, temperature: 0.0}\n"
    task = opened(tmp_path, extra, generation={"temperature": 0.6}, parity=parity_with(parity))
    assert parameters(task).temperature == expected


@difference("stop-in-reasoning", here="c", there="<think>a")
def test_stop_strings_behind_reasoning(tmp_path: Path, parity: str, expected: str) -> None:
    task = opened(tmp_path, "generation_kwargs: {until: ['.']}\n", parity=parity_with(parity))
    answer = Response.of_text("<think>a. b</think>c. d")
    assert AnswerReader().read("model", stops_of(ask(task)[0]), answer, task.reading).text == expected


@difference("reasoning-kept", here="c", there="<think>a b</think>c")
def test_reasoning_is_removed_before_filters(tmp_path: Path, parity: str, expected: str) -> None:
    task = opened(tmp_path, "generation_kwargs: {until: ['.']}\n", parity=parity_with(parity))
    answer = Response.of_text("<think>a b</think>c. d")
    assert AnswerReader().read("model", stops_of(ask(task)[0]), answer, task.reading).text == expected


def test_a_setting_that_is_no_number_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="'max_new_tokens' must be a number, not 'many'") as caught:
        opened(tmp_path, "generation_kwargs: {max_gen_toks: many}\n")
    assert caught.value.where == f"{tmp_path / 't.yaml'}:7"


def test_wrapped_models_see_what_is_written(tmp_path: Path) -> None:
    task = opened(tmp_path, "generation_kwargs: {max_gen_toks: 8, temperature: 0}\n", generation={"top_k": 2})
    origin = ask(task)[0].origin
    assert origin is not None
    assert origin.generation_kwargs == {"max_gen_toks": 8, "temperature": 0.0, "until": ["\n\n"], "top_k": 2}


def test_chats(tmp_path: Path) -> None:
    extra = "num_fewshot: 1\nfewshot_split: train\nfewshot_config: {sampler: first_n}\ndescription: 'D {{q}}'\n"
    options = {"apply_chat_template": True}
    task = opened(tmp_path, extra, options=options, system_prompt="S")
    (request,) = ask(task, 2)
    assert [(message.role, message.text) for message in request.messages] == [
        ("system", "S\n\nD q2"),
        ("user", "q0"),
        ("assistant", "a0"),
        ("user", "q2"),
    ]
    assert request.parameters == Generate(
        256, 0.0, stop=("\n\n",), seed=parameters(task).seed and request.parameters.seed, template="chat"
    )
    together = open_in(tmp_path, options={**options, "fewshot_as_multiturn": False}, num_fewshot=1)
    assert [(message.role, message.text) for message in ask(together, 2)[0].messages] == [
        ("system", "D q2"),
        ("user", "q0 a0\n\nq2"),
    ]


def test_choices_behind_a_chat_have_no_delimiter(tmp_path: Path) -> None:
    options = {"apply_chat_template": "name"}
    task = opened(tmp_path, CHOICE, target="k", options=options)
    assert ask(task)[0].parameters == Loglikelihood(("x", "yy", "z"), template="chat")
    for prefix, delimiter in (("So", " "), ("So ", "")):
        task = opened(tmp_path, f"{CHOICE}gen_prefix: '{prefix}'\n", target="k", options=options)
        (request,) = ask(task)
        assert request.parameters == Loglikelihood(
            tuple(delimiter + text for text in ("x", "yy", "z")), template="chat"
        )
        assert (request.messages[-1].role, request.messages[-1].text) == ("assistant", prefix)


def test_turns_without_a_chat_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="fewshot_as_multiturn needs apply_chat_template"):
        opened(tmp_path, options={"fewshot_as_multiturn": True})
    with pytest.raises(PlanError, match="There is no option 'apply_template'"):
        opened(tmp_path, options={"apply_template": True})


@pytest.mark.parametrize(
    ("text", "expected"),
    [("look: {{q}}", ["image", "look: q0"]), ("before <image> after {{q}}", ["before ", "image", " after q0"])],
)
def test_images_stand_at_their_mark_or_before_the_text(tmp_path: Path, text: str, expected: list[str]) -> None:
    code = "from PIL import Image\ndef images(doc): return [Image.new('RGB', (2, 2))]\n"
    write(tmp_path, {"t.yaml": task_text("doc_to_image: !function utils.images\n", text=f"'{text}'"), "utils.py": code})
    for options in ({}, {"apply_chat_template": True}):
        task = open_in(tmp_path, options=options)
        parts = ask(task)[0].messages[-1].parts
        assert [part.text if isinstance(part, Text) else part.modality for part in parts] == expected
        assert [part.key for part in parts if isinstance(part, Image)] != [None]
    assert task.needs.modalities == {"text", "image"}


def test_choices_are_not_asked_as_text(tmp_path: Path) -> None:
    with pytest.raises(UnfitError, match="'t' is one of lm-eval's, which --mcq text cannot ask") as refused:
        opened(tmp_path, CHOICE, target="k", is_mcq_text=True)
    assert "mmlu_generative" in refused.value.hint
    assert ask(opened(tmp_path, is_mcq_text=True)), "other tasks are asked as always"


def test_a_chat_needs_a_model_with_a_template(tmp_path: Path) -> None:
    opened(tmp_path)
    spec, context = load(tmp_path, "t").tasks[0], OpenContext(options={"apply_chat_template": True})
    with pytest.raises(UnfitError, match="the model has no chat template"):
        FORMAT.compile(spec, ModelTraits("base", is_completion=True), context)
    assert FORMAT.compile(spec, ModelTraits("lm", is_completion=True, is_foreign=True), context).samples


def test_bare_choices_stand_in_no_chat(tmp_path: Path) -> None:
    extra = f"{CHOICE}metric_list: [{{metric: acc_mutual_info}}]\n"
    asked = ask(opened(tmp_path, extra, target="k", options={"apply_chat_template": True}))
    kinds = [(request.messages[-1].text, request.parameters) for request in asked]
    choices = ("x", "yy", "z")
    assert kinds == [("q0", Loglikelihood(choices, template="chat")), ("", Loglikelihood(choices, template="none"))]
