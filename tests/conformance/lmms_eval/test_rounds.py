"""Spec §2: several rounds, agents, visual chain of thought."""

import json

import pytest

from polymeter.core.errors import PlanError, ScoreError
from polymeter.core.identity import seed_for
from polymeter.core.model import ModelTraits
from polymeter.core.request import GenerateImage, Output, Response
from polymeter.core.task import Rollout
from tests.conformance.kit import evaluate, model, parquet, picture
from tests.tasks.yaml.kit import opened, write


def play(task, answers, index=0):
    """RolloutSteps a sample with given answers; what was asked, and what ``play`` returned."""
    generator = task.rollout(task.samples[index])
    asked, answers = [], list(answers)
    try:
        request = next(generator)
        while True:
            asked.append(request)
            answer = answers.pop(0)
            request = generator.send(answer if isinstance(answer, Response) else Response.of_text(answer))
    except StopIteration as stop:
        return asked, stop.value


ROUNDS = """
CALLS = []

def ask(doc, lmms_eval_specific_kwargs=None, previous_output=None, round_idx=None, previous_round_info=None):
    CALLS.append((dict(doc), lmms_eval_specific_kwargs, previous_output, round_idx, previous_round_info))
    if round_idx is None:
        return "first " + doc["q"]
    if previous_output[-1] == "stop" or doc["k"] == 3:
        return None, None, True, previous_output, None
    if previous_output[-1] == "replace":
        return None, "next", True, ["replaced", "answers"], None
    return None, f"round {round_idx} after {previous_output[-1]}", False, previous_output, {"n": round_idx}

def process(doc, results):
    assert isinstance(results, list) and isinstance(results[0], list), results
    return {"n_rounds": len(results[0]), "last": results[0][-1]}

def pictures(doc):
    return []

def early(doc, previous_output=None, round_idx=None, previous_round_info=None):
    return "x" if round_idx is None else (None, "x", True, [], None)

def bad(doc, previous_output=None, round_idx=None, previous_round_info=None):
    return "x" if round_idx is None else "no tuple"
"""
MULTI = """
output_type: generate_until_multi_round
process_results: !function utils.process
metric_list: [{metric: n_rounds, aggregation: mean}]
lmms_eval_specific_kwargs: {dir: /nowhere}
"""


def rounds(folder, extra=MULTI, function="ask", **kwargs):
    write(folder, {"utils.py": ROUNDS})
    return opened(folder, extra, text=f"!function utils.{function}", **kwargs)


def calls(task):
    from polymeter.guests import resolve

    return resolve(task.spec.config["doc_to_text"]).__globals__["CALLS"]


def test_round_arguments_have_the_types_of_the_protocol(tmp_path):
    task = rounds(tmp_path)
    calls(task).clear()
    asked, answers = play(task, ["a", "b", "stop"])
    assert [request.text for request in asked] == ["first q0", "round 1 after a", "round 2 after b"]
    assert answers == [["a", "b", "stop"]]
    seen = [call[2:] for call in calls(task)]
    assert seen == [
        (None, None, None),
        (["a"], 1, None),
        (["a", "b"], 2, {"n": 1}),
        (["a", "b", "stop"], 3, {"n": 2}),
    ]
    assert all(call[1] == {"dir": "/nowhere"} for call in calls(task))


def test_terminal_ends_before_generating_and_its_outputs_are_the_answer(tmp_path):
    asked, answers = play(rounds(tmp_path), ["replace"])
    assert len(asked) == 1
    assert answers == [["replaced", "answers"]]


def test_scoring_gets_the_list_of_rounds_as_its_first_result(tmp_path):
    task = rounds(tmp_path)
    score = task.score(task.samples[0], Rollout((), [["a", "<think>x</think>b"]]))
    assert score.values == {("n_rounds", "none"): 2}
    assert score.log == {"last": "b"}


def test_reasoning_that_the_prompt_opened_is_removed_from_each_round(tmp_path):
    task = rounds(tmp_path)
    score = task.score(task.samples[0], Rollout((), [["hm</think> a ", "x</think>y</think>\n b\n"]]))
    assert score.log == {"last": "b"}


def test_a_model_that_drives_rounds_gets_one_request_and_answers_with_all_rounds(tmp_path):
    task = rounds(tmp_path, traits=ModelTraits("m", kind="simple", drives_rounds=True))
    asked, answers = play(task, [Response.of_text("a", "b", "c")])
    assert [request.origin.protocol for request in asked] == ["multi_round"]
    assert answers == [["a", "b", "c"]]
    functions = task.row_functions
    found = functions.next_round(functions.full_doc(0), previous_output=["x"], round_idx=1, previous_round_info=None)
    assert found == (None, "round 1 after x", False, ["x"], {"n": 1})
    again = task.score(task.samples[0], Rollout((Response.of_text("a", "b", "c"),)))
    assert again.values == {("n_rounds", "none"): 3}


def test_each_round_has_its_own_seed_and_the_first_that_of_a_single_request(tmp_path):
    asked, _ = play(rounds(tmp_path, seed=7), ["a", "stop"])
    seeds = [request.parameters.seed for request in asked]
    assert seeds[0] == seed_for(7, "t", "0", 0)
    assert len(set(seeds)) == 2


def test_repeats_are_whole_conversations(tmp_path):
    task = rounds(tmp_path, MULTI + "repeats: 2\n")
    asked, answers = play(task, ["a", "stop", "stop"])
    assert answers == [["a", "stop"], ["stop"]]
    assert len({request.parameters.seed for request in asked}) == 3


def test_rounds_have_a_stated_limit(tmp_path):
    task = rounds(tmp_path, MULTI + "metadata: {max_rounds: 3}\n")
    with pytest.raises(ScoreError, match=r"not done after 3 rounds.*max_rounds"):
        play(task, ["a"] * 10)
    task = rounds(tmp_path / "default")
    with pytest.raises(ScoreError, match="not done after 64 rounds"):
        play(task, ["a"] * 100)


def test_a_round_function_that_gives_no_five_values_is_told_so(tmp_path):
    with pytest.raises(ScoreError, match=r"must give \(visuals, text, is_terminal, outputs_so_far, info\)"):
        play(rounds(tmp_path, function="bad"), ["a"])


def test_a_text_function_without_rounds_is_a_plan_error(tmp_path):
    with pytest.raises(PlanError, match=r"accepts no rounds.*previous_output"):
        rounds(tmp_path, function="pictures")


def test_rounds_that_end_without_an_answer_still_reach_the_scorer(tmp_path):
    asked, answers = play(rounds(tmp_path, function="early"), ["a"])
    assert (len(asked), answers) == (1, [[]])


CHAT = """
def turn(text):
    return [{"role": "user", "content": [{"type": "text", "text": text}]}]

def messages(doc, lmms_eval_specific_kwargs=None, round_idx=None, previous_output=None, previous_round_info=None):
    if round_idx is None:
        return turn("first")
    return turn(f"{round_idx}:{previous_output}:{previous_round_info}"), round_idx == 2, previous_output, round_idx

def process(doc, results):
    return {"n_rounds": len(results[0])}
"""


def test_chat_rounds_give_four_values(tmp_path):
    write(tmp_path, {"utils.py": CHAT})
    task = opened(tmp_path, MULTI + "doc_to_messages: !function utils.messages\n", text="q")
    asked, answers = play(task, ["a", "b"])
    assert [request.text for request in asked] == ["first", "1:['a']:None"]
    assert answers == [["a", "b"]]


def test_media_of_later_rounds_is_known_by_its_content(tmp_path):
    code = """
    from PIL import Image
    def ask(doc, previous_output=None, round_idx=None, previous_round_info=None):
        if round_idx is None:
            return "x"
        return [Image.new("RGB", (2, 2), previous_output[-1])], "look", round_idx == 2, previous_output, None
    """
    write(tmp_path, {"utils.py": code})
    task = opened(tmp_path, "output_type: generate_until_multi_round\n", text="!function utils.ask")
    (_, one), _ = play(task, ["red", "black"])
    (_, two), _ = play(task, ["blue", "black"])
    assert next(one.images()).key is None
    assert next(one.images()).content_hash() != next(two.images()).content_hash()


def test_rounds_run_in_the_engine_and_a_resume_scores_the_same(tmp_path):
    rounds(tmp_path)

    def answer(request):
        return "stop" if request.text.startswith("round 2") else "go"

    run = evaluate(tmp_path, tmp_path / "t.yaml", "t", model(answer))
    assert run.value("t", "n_rounds") == (3 + 3 + 3 + 1) / 4
    again = evaluate(tmp_path, tmp_path / "t.yaml", "t", model(lambda r: 1 / 0))
    assert again.value("t", "n_rounds") == run.value("t", "n_rounds")


# --- agents ----------------------------------------------------------------------------------------------------------

AGENT = """
def act(doc, previous_output=None, round_idx=None, previous_round_info=None):
    if round_idx is None:
        return "start"
    last = previous_output[-1]
    if last == "say":
        return f"plain {round_idx}"
    if last == "end":
        return None, None, True, [*previous_output[:-1], "final"], None
    return None, f"step {round_idx}", False, previous_output, {"cash": 10 * round_idx}

def process(doc, results):
    assert isinstance(results[0], str)
    return {"ok": float(results[0] == "final")}
"""
AGENTIC = """
output_type: generate_until_agentic
process_results: !function utils.process
metric_list: [{metric: ok}]
generation_kwargs: {max_agentic_steps: 3, max_new_tokens: 8}
"""


def test_agentic_steps_a_text_is_the_next_prompt_and_the_last_output_the_answer(tmp_path):
    write(tmp_path, {"utils.py": AGENT})
    task = opened(tmp_path, AGENTIC, text="!function utils.act")
    asked, answers = play(task, ["go", "say", "end"])
    assert [request.text for request in asked] == ["start", "step 1", "plain 2"]
    assert answers == ["final"]
    assert asked[0].origin.protocol == "agentic"
    assert "max_agentic_steps" not in asked[0].parameters.extra


def test_agentic_cap_the_answer_is_json_with_the_tasks_own_last_state(tmp_path):
    write(tmp_path, {"utils.py": AGENT})
    task = opened(tmp_path, AGENTIC, text="!function utils.act")
    asked, answers = play(task, ["a", "b", "c"])
    assert len(asked) == 3
    assert json.loads(answers[0]) == {
        "success": False,
        "error": "max_agentic_steps",
        "steps": 3,
        "last_response": "c",
        "cash": 30,
    }


def test_agentic_default_cap_is_twelve_steps(tmp_path):
    write(tmp_path, {"utils.py": AGENT})
    extra = "output_type: generate_until_agentic\n"
    asked, _ = play(opened(tmp_path, extra, text="!function utils.act"), ["a"] * 20)
    assert len(asked) == 12


# --- visual chain of thought -----------------------------------------------------------------------------------------

COT = "output_type: generate_visual_cot\ngeneration_kwargs: {visual_cot: true}\n"
COT_TEXT = '"[GEN_PROMPT]Draw {{q}}[/GEN_PROMPT]\\n[QUESTION]What is {{q}}?[/QUESTION]"'


def test_visual_cot_a_model_that_draws_is_asked_for_a_drawing_then_shown_it(tmp_path):
    traits = ModelTraits("m", requests={"generate": True, "generate_image": True})
    task = opened(tmp_path, COT, text=COT_TEXT, traits=traits)
    assert task.needs.requests == {"generate", "generate_image"}
    drawing = Response((Output(images=(picture(9),)),))
    (draw, answer), answers = play(task, [drawing, "a0"])
    assert isinstance(draw.parameters, GenerateImage)
    assert (draw.text, answer.text) == ("Draw q0", "What is q0?")
    assert len(list(answer.images())) == 1
    assert answers == ["a0"]
    assert task.score(task.samples[0], Rollout((), answers)).values == {("exact_match", "none"): 1.0}


def test_visual_cot_a_wrapper_gets_the_prompt_as_it_is(tmp_path):
    task = opened(tmp_path, COT, text=COT_TEXT, traits=ModelTraits("m", kind="simple", drives_stages=True))
    (asked,), answers = play(task, ["a0"])
    assert asked.text == "[GEN_PROMPT]Draw q0[/GEN_PROMPT]\n[QUESTION]What is q0?[/QUESTION]"
    assert asked.origin.protocol == "visual_cot"
    assert asked.origin.generation_kwargs["visual_cot"] is True
    assert answers == ["a0"]


def test_visual_cot_other_models_get_the_question_alone(tmp_path):
    (asked,), _ = play(opened(tmp_path, COT, text=COT_TEXT), ["a0"])
    assert asked.text == "What is q0?"
    assert "visual_cot" not in asked.parameters.extra


LOOK = """
def ask(doc, previous_output=None, round_idx=None, previous_round_info=None):
    if round_idx is None:
        return "Describe it." if doc["picture"] is None else f"Describe {doc['picture'].size}."
    return None, None, True, previous_output, None

def look(doc):
    return [] if doc["picture"] is None else [doc["picture"]]

def process(doc, results):
    return {"n_rounds": len(results[0]), "sees": float("picture" in doc)}
"""


def test_a_task_with_rounds_sees_the_media_from_the_first_round_on(tmp_path):
    rows = [{"q": "x", "a": "y", "picture": picture(9)}, {"q": "x", "a": "y", "picture": None}]
    data = parquet(tmp_path / "data", "test", rows)
    write(tmp_path / "tasks", {"utils.py": LOOK})
    text = MULTI.replace("aggregation: mean}]", "aggregation: mean}, {metric: sees, aggregation: mean}]")
    (tmp_path / "tasks/t.yaml").write_text(
        "task: t\ndataset_path: some/where\ntest_split: test\ndoc_to_target: a\n"
        "doc_to_text: !function utils.ask\ndoc_to_visual: !function utils.look\n" + text.split("lmms_eval")[0]
    )
    seen = []

    def answer(request):
        seen.append((request.text, len(list(request.images()))))
        return "fine"

    run = evaluate(tmp_path, tmp_path / "tasks", "t", model(answer), data={"some/where": str(data)})
    assert sorted(seen) == [("Describe (6, 8).", 1), ("Describe it.", 0)]
    assert run.value("t", "n_rounds") == 1.0
    assert run.value("t", "sees") == 0.0, "scoring functions see no media unless they ask for them"
