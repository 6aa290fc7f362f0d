"""``generate_visual_cot``: a drawing first, then an answer that looks at it.

The prompt holds both: ``[GEN_PROMPT]…[/GEN_PROMPT]`` describes the drawing, ``[QUESTION]…[/QUESTION]`` is the question.
A model that can draw and write gets two requests. A wrapper that runs both stages itself gets the prompt unchanged. Any
other model gets the question alone, with the sample's own media, because it could not follow the first part.
"""

from __future__ import annotations

import re
from functools import partial

from polymeter.core.content import Image
from polymeter.core.errors import ScoreError
from polymeter.core.model import ModelTraits
from polymeter.core.request import GenerateImage, Request
from polymeter.core.task import Rollout, Sample, Score
from polymeter.tasks.yaml.outputs.generation import TextQuestions, text_functions, text_questions
from polymeter.tasks.yaml.outputs.output_types import CompileSetup, TaskFunctions
from polymeter.tasks.yaml.outputs.rounds import OneAnswer, one_after_another, step_label
from polymeter.tasks.yaml.scoring.readings import TextScoring, score_answers, text_scoring

VISUAL_COT = "generate_visual_cot"
_DRAW = re.compile(r"\[GEN_PROMPT\](.*?)\[/GEN_PROMPT\]", re.DOTALL)
_ANSWER = re.compile(r"\[QUESTION\](.*?)\[/QUESTION\]", re.DOTALL)


def split_stages(text: str) -> tuple[str, str] | None:
    """The drawing prompt and the question; ``None`` if a prompt does not have both."""
    draw, answer = _DRAW.search(text), _ANSWER.search(text)
    return (draw.group(1).strip(), answer.group(1).strip()) if draw and answer else None


def can_draw(traits: ModelTraits) -> bool:
    """Return whether a model gets a request for the drawing: it can draw, and does not run the stages itself."""
    return traits.requests.get("generate_image") is True and not traits.drives_stages


def compile_visual_cot(setup: CompileSetup) -> TaskFunctions:
    """The functions of a task that asks for a drawing before the answer.

    Raises:
        PlanError: if its settings or filters make no sense.
    """
    questions, scoring = text_questions(setup), text_scoring(setup)
    draws = can_draw(setup.traits)
    if setup.traits.drives_stages:
        one_answer = partial(_whole_prompt, questions)
    else:
        one_answer = partial(_stages, questions, draws)
    rollout = one_after_another(one_answer, questions.repeats)
    return text_functions(setup, questions, scoring, rollout, partial(_score, scoring, draws))


def _whole_prompt(questions: TextQuestions, sample: Sample, repeat: int) -> OneAnswer:
    return (yield from _one_question(questions, sample, questions.prompt.text(sample), repeat, 0))


def _stages(questions: TextQuestions, draws: bool, sample: Sample, repeat: int) -> OneAnswer:
    prompt, provenance = questions.prompt, questions.provenance
    # If the model draws, every answer has the seed of a second step, also for prompts without a drawing, so that all
    # answers of a task are seeded alike.
    answer_step = 1 if draws else 0
    text = prompt.text(sample)
    stages = split_stages(text)
    if stages is None:
        return (yield from _one_question(questions, sample, text, repeat, answer_step))
    to_draw, question = stages
    visuals = prompt.visuals(sample)
    origin = provenance.origin(sample, questions.settings.raw, "visual_cot")
    if draws:
        drawing = GenerateImage(seed=provenance.seed(sample, repeat))
        response = yield Request(prompt.of_parts(visuals, to_draw), drawing, origin)
        images = [image for output in response.outputs for image in output.images]
        if not images:
            raise ScoreError(f"The model drew nothing for sample {sample.id} of task {questions.task!r}.")
        visuals = (*visuals, Image(images[0]))
    seed = provenance.seed(sample, repeat, step_label(answer_step))
    response = yield Request(prompt.of_parts(visuals, question), questions.settings.with_seed(seed), origin)
    return response.text


def _one_question(questions: TextQuestions, sample: Sample, text: str, repeat: int, step: int) -> OneAnswer:
    settings, provenance = questions.settings, questions.provenance
    origin = provenance.origin(sample, settings.raw, "visual_cot")
    seed = provenance.seed(sample, repeat, step_label(step))
    response = yield Request(questions.prompt.of_text(sample, text), settings.with_seed(seed), origin)
    return response.text


def _score(scoring: TextScoring, draws: bool, sample: Sample, rollout: Rollout) -> Score:
    if isinstance(rollout.returned, list):
        return score_answers(scoring, sample, rollout.returned)
    # Stored responses alone: a drawing among them is not an answer.
    outputs = [output for response in rollout.responses for output in response.outputs]
    return score_answers(scoring, sample, [output.text or "" for output in outputs if not (draws and output.images)])
