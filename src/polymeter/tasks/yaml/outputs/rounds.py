"""``generate_until_multi_round`` and ``generate_until_agentic``: the task's own function makes the next request.

After a round the function gets the row, all answers so far, the number of the next round and the ``info`` that it
returned last time. When it reports that it is done, no further request is made, and the answers that *it* returns are
the sample's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from polymeter.core.content import Part
from polymeter.core.errors import PlanError, ScoreError
from polymeter.core.request import Message, OwnPrompt, Request, Response
from polymeter.core.task import Rollout, RolloutSteps, Sample, Score
from polymeter.core.text.codec import jsonable
from polymeter.tasks.yaml.config import YamlFields
from polymeter.tasks.yaml.outputs.generation import TextQuestions, text_functions, text_questions, texts_of
from polymeter.tasks.yaml.outputs.output_types import CompileSetup, TaskFunctions
from polymeter.tasks.yaml.pieces import Parts
from polymeter.tasks.yaml.prompts.forms import RoundHooks
from polymeter.tasks.yaml.prompts.rows import full_row
from polymeter.tasks.yaml.prompts.visuals import from_chat, from_hook
from polymeter.tasks.yaml.scoring.filters import Reading
from polymeter.tasks.yaml.scoring.readings import (
    TextScoring,
    refuse_no_answer,
    score_answers,
    score_readings,
    scored_rows,
    text_scoring,
)

MULTI_ROUND = "generate_until_multi_round"
AGENTIC = "generate_until_agentic"
_MOST_ROUNDS = 64
_MOST_STEPS = 12
_STATE_KEYS = ("cash", "days_elapsed", "inventory", "mobile_data_working")
Ends = Callable[[int | None, list[Any], Any], str]
"""``(steps used up, outputs, info) → answer``; the first is ``None`` if the task said that it is done."""
OneAnswer = Generator[Request | OwnPrompt, Response, Any]


@dataclass(frozen=True, slots=True)
class _Turn:
    """The return value of a task's function after a round.

    Attributes:
        messages: The next messages; ignored if ``is_last``.
        is_last: Whether the sample is done.
        outputs: The answers so far, as the task left them.
        info: Passed to the function as ``previous_round_info`` next time.
    """

    messages: tuple[Message, ...]
    is_last: bool
    outputs: list[Any]
    info: Any


def check_rounds(parts: Parts) -> None:
    """Refuse a task of several rounds without a function for what comes after the first.

    Raises:
        PlanError: if it has none.
    """
    output_type, rounds = parts.config.output_type, parts.rounds
    has_rounds = rounds.text is not None or (output_type == MULTI_ROUND and rounds.messages is not None)
    if output_type in (MULTI_ROUND, AGENTIC) and parts.compile_output is None and not has_rounds:
        raise PlanError(
            f"Task {parts.config.task!r} is {output_type}, but its doc_to_text accepts no rounds.",
            where=parts.binding.where("doc_to_text"),
            hint="Give it the parameters previous_output, round_idx and previous_round_info.",
        )


def compile_multi_round(setup: CompileSetup) -> TaskFunctions:
    """The functions of a task of several rounds: an answer is the list of the rounds' texts.

    Raises:
        PlanError: if its settings or filters make no sense.
    """
    questions, scoring = text_questions(setup), text_scoring(setup)
    if setup.traits.drives_rounds:
        one_answer = partial(_rounds_of_model, questions)
    else:
        one_answer = partial(_rounds, questions, setup.parts.rounds, _most_rounds(setup.parts.config))
    rollout = one_after_another(one_answer, questions.repeats)
    return text_functions(setup, questions, scoring, rollout, partial(_score_rounds, scoring, questions.repeats))


def compile_agentic(setup: CompileSetup) -> TaskFunctions:
    """The functions of a task that takes steps until it is done: an answer is one text, the last that it returns.

    Raises:
        PlanError: if its settings or filters make no sense.
    """
    questions, scoring = text_questions(setup), text_scoring(setup)
    most = int(questions.settings.raw.get("max_agentic_steps", _MOST_STEPS))
    ends = _by_last_output if setup.parity.on("agentic-end") else _as_told
    rollout = one_after_another(partial(_steps, questions, setup.parts.rounds, most, ends), questions.repeats)
    return text_functions(setup, questions, scoring, rollout, partial(_score_steps, scoring))


def one_after_another(one_answer: Callable[[Sample, int], OneAnswer], repeats: int) -> Callable[[Sample], RolloutSteps]:
    """A rollout that gets one answer after another, each from its own generator, and returns them."""

    def rollout(sample: Sample) -> RolloutSteps:
        answers = []
        for repeat in range(repeats):
            answers.append((yield from one_answer(sample, repeat)))
        return answers

    return rollout


def returned_answers(rollout: Rollout) -> list[Any]:
    """The answers of a sample: what the rollout returned, else the texts of its responses. If only stored responses are
    scored, there is no returned value.
    """
    return rollout.returned if isinstance(rollout.returned, list) else texts_of(rollout)


def step_label(step: int) -> str:
    """The part of a seed that differs between the requests of one answer, by their number from 0."""
    return f"round:{step}" if step else ""


def _most_rounds(config: YamlFields) -> int:
    return int(config.metadata.get("max_rounds", _MOST_ROUNDS))


def _rounds_of_model(questions: TextQuestions, sample: Sample, repeat: int) -> OneAnswer:
    """A model that drives the rounds itself gets one request and returns the texts of all rounds."""
    origin = questions.provenance.origin(sample, questions.settings.raw)
    messages = yield from questions.prompt.conversation(sample, origin)
    origin = questions.provenance.origin(sample, questions.settings.raw, "multi_round")
    seed = questions.provenance.seed(sample, repeat)
    response = yield Request(messages, questions.settings.with_seed(seed), origin)
    return [output.text or "" for output in response.outputs]


def _rounds(questions: TextQuestions, hooks: RoundHooks, most: int, sample: Sample, repeat: int) -> OneAnswer:
    settings, provenance = questions.settings, questions.provenance
    origin = provenance.origin(sample, settings.raw)
    messages = yield from questions.prompt.conversation(sample, origin)
    outputs: list[Any] = []
    info = None
    for number in range(1, most + 1):
        seed = provenance.seed(sample, repeat, step_label(number - 1))
        response = yield Request(messages, settings.with_seed(seed), origin)
        turn = _next_round(questions, hooks, sample, [*outputs, response.text], number, info)
        if turn.is_last:
            return turn.outputs
        messages, outputs, info = turn.messages, turn.outputs, turn.info
    raise ScoreError(
        f"Sample {sample.id} of task {questions.task!r} was not done after {most} rounds.",
        hint="Let doc_to_text return that it is done, or allow more rounds with metadata: {max_rounds: N}.",
    )


def _next_round(
    questions: TextQuestions, hooks: RoundHooks, sample: Sample, outputs: list[Any], number: int, info: Any
) -> _Turn:
    prompt = questions.prompt
    rounds = {"previous_output": list(outputs), "round_idx": number, "previous_round_info": info}
    # Media of a later round were made from answers, so their content is their identity and not the row.
    if prompt.messages_form is not None and hooks.messages is not None:
        returned = hooks.messages(full_row(sample), **rounds)
        messages, is_last, outputs_so_far, info = _unpacked(returned, "doc_to_messages", 4, questions.task)
        chat = () if is_last else prompt.system + from_chat(messages, None)
        return _Turn(chat, bool(is_last), _as_list(outputs_so_far), info)
    assert hooks.text is not None
    returned = hooks.text(full_row(sample), **rounds)
    visuals, text, is_last, outputs_so_far, info = _unpacked(returned, "doc_to_text", 5, questions.task)
    if is_last:
        return _Turn((), True, _as_list(outputs_so_far), info)
    return _Turn(prompt.of_parts(from_hook(visuals, None), _text(text)), False, _as_list(outputs_so_far), info)


def _unpacked(returned: Any, field: str, n: int, task: str) -> tuple[Any, ...]:
    if isinstance(returned, (tuple, list)) and len(returned) == n:
        return tuple(returned)
    parts = "visuals, text, is_terminal, outputs_so_far, info" if n == 5 else "messages, is_terminal, outputs, info"
    raise ScoreError(f"After a round, {field} of task {task!r} must give ({parts}), not {returned!r:.80}.")


def _score_rounds(scoring: TextScoring, repeats: int, sample: Sample, rollout: Rollout) -> Score:
    answers = returned_answers(rollout)
    if not isinstance(rollout.returned, list):
        size = max(1, len(answers) // repeats)
        answers = [answers[start : start + size] for start in range(0, len(answers), size)]
    refuse_no_answer(scoring, sample, answers)
    answers = scoring.separate(answers)

    def results_of(read: Reading) -> list[Any]:
        """The results for a reading. An answer is itself a list and stays whole as ``results[0]``."""
        filtered = scoring.strip_reasoning(read(answers, sample.doc))
        is_several = isinstance(filtered, list) and bool(filtered) and isinstance(filtered[0], list)
        return filtered if is_several else [filtered]

    return score_readings(scoring, sample, results_of, scored_rows(scoring, sample))


def _steps(
    questions: TextQuestions, hooks: RoundHooks, most: int, ends: Ends, sample: Sample, repeat: int
) -> OneAnswer:
    prompt, settings, provenance = questions.prompt, questions.settings, questions.provenance
    origin = provenance.origin(sample, settings.raw, "agentic")
    messages = yield from prompt.conversation(sample, origin)
    outputs: list[Any] = []
    info = None
    assert hooks.text is not None
    for number in range(1, most + 1):
        seed = provenance.seed(sample, repeat, step_label(number - 1))
        response = yield Request(messages, settings.with_seed(seed), origin)
        outputs = [*outputs, response.text]
        rounds = {"previous_output": list(outputs), "round_idx": number, "previous_round_info": info}
        returned = hooks.text(full_row(sample), **rounds)
        if isinstance(returned, str):
            messages = prompt.of_text(sample, returned)
            continue
        turn = _next_step(questions, sample, returned)
        if turn.is_last:
            return ends(None, turn.outputs, turn.info)
        messages, outputs, info = turn.messages, turn.outputs, turn.info
    return ends(most, outputs, info)


def _next_step(questions: TextQuestions, sample: Sample, returned: Any) -> _Turn:
    if not isinstance(returned, (tuple, list)) or len(returned) != 5:
        raise ScoreError(
            f"After a step, doc_to_text of task {questions.task!r} must give a text or "
            f"(visuals, text, is_terminal, outputs_so_far, info), not {returned!r:.80}."
        )
    visuals, text, is_last, outputs_so_far, info = returned
    parts: tuple[Part, ...] = ()
    if not is_last:
        parts = questions.prompt.visuals(sample) if visuals is None else from_hook(visuals, None)
    return _Turn(questions.prompt.of_parts(parts, _text(text)), bool(is_last), _as_list(outputs_so_far), info)


def _score_steps(scoring: TextScoring, sample: Sample, rollout: Rollout) -> Score:
    return score_answers(scoring, sample, returned_answers(rollout))


def _as_list(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, (list, tuple)) else [] if outputs is None else [outputs]


def _last(outputs: list[Any]) -> str:
    return "" if not outputs else outputs[-1] if isinstance(outputs[-1], str) else str(outputs[-1])


def _text(text: Any) -> str:
    return "" if text is None else str(text)


def _as_told(steps: int | None, outputs: list[Any], info: Any) -> str:
    """The answer of a sample: the last output, or if it used up its steps, JSON with the task's own last state, for its
    scorer to read.
    """
    if steps is None:
        return _last(outputs)
    state = jsonable(info) if isinstance(info, Mapping) else {}
    failure = {"success": False, "error": "max_agentic_steps", "steps": steps, "last_response": _last(outputs)}
    return json.dumps({**failure, **state}, ensure_ascii=False)


def _by_last_output(steps: int | None, outputs: list[Any], info: Any) -> str:
    """The answer of a sample as lmms-eval gives it: the last output if that is JSON or the task keeps no state, else
    JSON with fixed keys, as if the steps were used up.
    """
    last = _last(outputs)
    if info is None or last.strip().startswith("{"):
        return last
    told = info if isinstance(info, Mapping) else {}
    state = told.get("state", {})
    n_calls = float(told.get("tool_calls", 0)) if told else 0.0
    payload = {
        "success": False,
        "error": "max_agentic_steps_reached",
        "tool_calls": n_calls,
        "valid_tool_calls": float(told.get("valid_tool_calls", n_calls)),
        "invalid_steps": float(told.get("invalid_steps", 0.0)),
        "state": state,
        "last_model_output": last,
        "trace": outputs,
    }
    known = state if isinstance(state, Mapping) else {}
    return json.dumps({**payload, **{key: known[key] for key in _STATE_KEYS if key in known}}, ensure_ascii=False)
