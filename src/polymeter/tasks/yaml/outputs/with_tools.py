"""``generate_with_tools``: the model may call tools before it answers, and sees what came of each call."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from polymeter.core.acting.episodes import ActingRules, Environment, EpisodeScene
from polymeter.core.acting.tools import Tool
from polymeter.core.content import Image
from polymeter.core.errors import PlanError
from polymeter.core.request import Message, Request
from polymeter.core.task import MetricKey, Rollout, RolloutSteps, Sample, Score
from polymeter.metrics.acting import ACTING_VALUES, OF_SUCCESS
from polymeter.tasks.acting.conversation import Attempt, converse
from polymeter.tasks.acting.toolbox import environment_of
from polymeter.tasks.yaml.config import YamlFields
from polymeter.tasks.yaml.files.dialects import Locate
from polymeter.tasks.yaml.outputs.generation import TextQuestions, text_functions, text_questions
from polymeter.tasks.yaml.outputs.output_types import CompileSetup, TaskFunctions
from polymeter.tasks.yaml.outputs.rounds import step_label
from polymeter.tasks.yaml.scoring.readings import TextScoring, score_answers, text_scoring

WITH_TOOLS = "generate_with_tools"
_FIELDS = ("tools", "environment", "max_turns", "max_calls")


@dataclass(frozen=True, slots=True)
class ToolQuestions:
    """The fields of a task that offers tools.

    Attributes:
        text: What it has in common with a task that asks for text.
        environment: The name of its environment.
        rules: The limits of its protocol.
    """

    text: TextQuestions
    environment: str
    rules: ActingRules

    def request(
        self, sample: Sample, repeat: int, messages: tuple[Message, ...], turn: int, tools: tuple[Tool, ...]
    ) -> Request:
        """The request of one turn."""
        questions = self.text
        seed = questions.provenance.seed(sample, repeat, step_label(turn))
        parameters = replace(questions.settings.with_seed(seed), tools=tools)
        return Request(messages, parameters, questions.provenance.origin(sample, questions.settings.raw))


def task_environment(config: YamlFields, locate: Locate) -> Environment | None:
    """Return the environment of a task; ``None`` if it offers no tools. Runs none of its code.

    Raises:
        PlanError: if it names a tool that does not exist, or tools without the output type for them.
    """
    written = next((name for name in _FIELDS if getattr(config, name)), None)
    if config.output_type != WITH_TOOLS:
        if written is not None:
            raise PlanError(
                f"Task {config.task!r} has {written!r}, but its output_type offers no tools.",
                where=locate(written),
                hint=f"Write output_type: {WITH_TOOLS}.",
            )
        return None
    return environment_of(config.tools, config.environment, locate(written or "output_type"))


def compile_with_tools(setup: CompileSetup) -> TaskFunctions:
    """The functions of a task that offers tools: an answer is the text of the model's last turn.

    Raises:
        PlanError: if its settings or filters make no sense.
    """
    config = setup.parts.config
    environment = task_environment(config, setup.parts.binding.where)
    assert environment is not None
    usual = ActingRules()
    rules = ActingRules(config.max_turns or usual.max_turns, config.max_calls or usual.max_calls)
    questions = ToolQuestions(text_questions(setup), environment.name, rules)
    scoring = text_scoring(setup)
    success = next((metric.name for metric in setup.parts.metrics if metric.name not in ACTING_VALUES), "")
    rollout = partial(_attempts, questions)
    return text_functions(setup, questions.text, scoring, rollout, partial(_score, scoring, success))


def _attempts(questions: ToolQuestions, sample: Sample) -> RolloutSteps:
    """Lead one episode after another; returns their outcomes as data."""
    text = questions.text
    outcomes = []
    for repeat in range(text.repeats):
        origin = text.provenance.origin(sample, text.settings.raw)
        messages = yield from text.prompt.conversation(sample, origin)
        images = tuple(part for message in messages for part in message.parts if isinstance(part, Image))
        scene = EpisodeScene(sample.doc, images, text.provenance.seed(sample, repeat, "episode"))
        ask = partial(questions.request, sample, repeat)
        attempt: Attempt = yield from converse(
            messages, ask, questions.environment, scene, questions.rules, str(repeat)
        )
        outcomes.append(attempt.as_data())
    return outcomes


def _score(scoring: TextScoring, success: str, sample: Sample, rollout: Rollout) -> Score:
    outcomes: Sequence[Mapping[str, Any]] = rollout.returned
    score = score_answers(scoring, sample, [outcome["answer"] for outcome in outcomes])
    values: dict[MetricKey, Any] = {}
    for (metric, name), value in score.values.items():
        compute = ACTING_VALUES.get(metric)
        values[metric, name] = value if compute is None else compute(outcomes)
        if metric == OF_SUCCESS:
            values[metric, name] = (_tokens(rollout), _success(score, success, name, outcomes))
    first = outcomes[0]
    log = {name: first[name] for name in _LOGGED if first[name] not in (None, {})}
    return replace(score, values=values, log={**score.log, **log})


_LOGGED = ("end", "turns", "calls", "problems", "by_tool", "reward", "state")


def _success(score: Score, metric: str, name: str, outcomes: Sequence[Mapping[str, Any]]) -> float:
    """Return how much of a sample is a success: the value of the task's first metric, else that of the environment."""
    value = score.values.get((metric, name))
    return float(value) if isinstance(value, (int, float)) else ACTING_VALUES["success"](outcomes)


def _tokens(rollout: Rollout) -> float:
    """Return the tokens that a sample has read and written; not a number if one of them is unknown."""
    counts = [output.usage for response in rollout.responses for output in response.outputs]
    known = [
        (usage.input_tokens or 0) + usage.output_tokens
        for usage in counts
        if usage is not None and usage.input_tokens is not None and usage.output_tokens is not None
    ]
    return float(sum(known)) if len(known) == len(counts) else math.nan
