"""``generate_until``: a question that is answered with text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from polymeter.core.request import Request
from polymeter.core.settings.repeats import repeats_of
from polymeter.core.task import Rollout, RolloutSteps, Sample, Score
from polymeter.tasks.yaml.outputs.output_types import CompileSetup, Provenance, TaskFunctions
from polymeter.tasks.yaml.outputs.parameters import StopRules, TextSettings, text_settings
from polymeter.tasks.yaml.prompts.prompt import PromptBuilder
from polymeter.tasks.yaml.scoring.readings import TextScoring, score_answers, text_scoring
from polymeter.tasks.yaml.scoring.reduction import reduction
from polymeter.tasks.yaml.settings import generation_kwargs


@dataclass(frozen=True, slots=True)
class TextQuestions:
    """The fields of a task that asks for text.

    Attributes:
        task: Its name, for messages.
        prompt: Builds its messages.
        provenance: The origin and the seeds of its requests.
        settings: Its generation settings.
        repeats: How many times each question is asked.
    """

    task: str
    prompt: PromptBuilder
    provenance: Provenance
    settings: TextSettings
    repeats: int


def compile_generation(setup: CompileSetup) -> TaskFunctions:
    """The functions of a task that asks each question once, or once for each repeat.

    Raises:
        PlanError: if its settings or filters make no sense.
    """
    questions = text_questions(setup)
    scoring = text_scoring(setup)
    return text_functions(setup, questions, scoring, partial(_ask, questions), partial(_score, scoring))


def text_questions(setup: CompileSetup) -> TextQuestions:
    """Return the questions of a task that asks for text.

    Raises:
        PlanError: if its generation settings make no sense.
    """
    config = setup.parts.config
    block = generation_kwargs(config.model_specific_generation_kwargs, setup.prompt_key)
    merged = text_settings(
        config.generation_kwargs,
        block,
        setup.plan_settings,
        is_completion=setup.traits.is_completion,
        rules=StopRules(
            default=(config.fewshot_delimiter,) if setup.parity.on("blank-line-stop") else None,
            has_aliases=not setup.parity.on("generation-aliases"),
            is_cut=setup.traits.kind == "simple" or not setup.parity.on("stop-strings"),
        ),
        where=setup.parts.binding.where("generation_kwargs"),
    )
    return TextQuestions(setup.spec.name, setup.prompt, setup.provenance, merged, config.repeats)


def text_functions(
    setup: CompileSetup,
    questions: TextQuestions,
    scoring: TextScoring,
    rollout: Callable[[Sample], RolloutSteps],
    score: Callable[[Sample, Rollout], Score],
) -> TaskFunctions:
    """The functions of a task whose answers are texts."""
    filters = tuple(name for name, _ in scoring.readings)
    return TaskFunctions(rollout, score, reduction(setup, filters), (questions.settings.parameters,))


def texts_of(rollout: Rollout) -> list[Any]:
    """The raw answers of a sample, one for each repeat."""
    return [output.text or "" for response in rollout.responses for output in response.outputs]


def _ask(questions: TextQuestions, sample: Sample) -> RolloutSteps:
    settings, provenance = questions.settings, questions.provenance
    origin = provenance.origin(sample, settings.raw)
    messages = yield from questions.prompt.conversation(sample, origin)
    seeds = [provenance.seed(sample, number) for number in range(questions.repeats)]
    requests = repeats_of(Request(messages, settings.parameters, origin), seeds)
    yield requests[0] if len(requests) == 1 else requests


def _score(scoring: TextScoring, sample: Sample, rollout: Rollout) -> Score:
    return score_answers(scoring, sample, texts_of(rollout))
