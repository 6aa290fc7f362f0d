"""A conversation with tools: the model answers, its calls are enacted, and it sees what came of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from polymeter.core.acting.episodes import Act, ActingRules, EpisodeScene, Observation
from polymeter.core.acting.schemas import argument_problem
from polymeter.core.acting.tools import Call, Tool, with_ids
from polymeter.core.content import Text
from polymeter.core.errors import did_you_mean
from polymeter.core.request import Message, OwnPrompt, Request, Response

Conversing = Generator[Request | OwnPrompt | Act, Response, "Attempt"]
Ask = Callable[[tuple[Message, ...], int, tuple[Tool, ...]], Request]
"""``(messages, number of the turn from 0, tools) → request``."""
_EMPTY = "The tool returned nothing."


@dataclass(slots=True)
class Attempt:
    """The outcome of one episode, as plain data that is stored with its sample.

    Attributes:
        answer: The text of the model's last answer.
        end: Why it ended: ``answer`` (the model called nothing), ``environment`` (the episode was over), ``turns`` or
            ``calls`` (a limit of the task).
        turns: How many answers the model gave.
        calls: How many calls it made.
        problems: How many of them had a problem.
        by_tool: How many of them named each tool.
        reward: The last reward that the environment stated; ``None``: none.
        state: The last state that the environment reported.
    """

    answer: str = ""
    end: str = "turns"
    turns: int = 0
    calls: int = 0
    problems: int = 0
    by_tool: dict[str, int] | None = None
    reward: float | None = None
    state: Mapping[str, Any] | None = None

    def as_data(self) -> dict[str, Any]:
        """The outcome as a mapping."""
        return asdict(self)

    def see(self, observation: Observation) -> None:
        """Take over what an observation states."""
        self.problems += bool(observation.problem)
        if observation.reward is not None:
            self.reward = observation.reward
        if observation.state is not None:
            self.state = observation.state


def converse(
    messages: tuple[Message, ...], ask: Ask, environment: str, scene: EpisodeScene, rules: ActingRules, episode: str
) -> Conversing:
    """Lead one episode to its end; returns its outcome.

    Args:
        messages: The prompt.
        ask: Makes the request of a turn.
        environment: The name of the environment.
        scene: What the episode begins with.
        rules: The limits of the protocol.
        episode: Distinguishes the episodes of a sample.
    """
    opened = _observation((yield Act(environment, scene, episode=episode)))
    tools = {tool.name: tool for tool in opened.tools}
    attempt = Attempt(by_tool={})
    attempt.see(opened)
    if opened.parts:
        messages = (*messages, Message("user", opened.parts))
    for turn in range(rules.max_turns):
        output = (yield ask(messages, turn, opened.tools)).outputs[0]
        attempt.turns += 1
        attempt.answer = output.text or ""
        calls = with_ids(output.calls, _ids_in(messages))
        if not calls:
            attempt.end = "answer"
            return attempt
        results: list[Message] = []
        for call in calls:
            if attempt.calls == rules.max_calls:
                attempt.end = "calls"
                return attempt
            observation = yield from _enacted(call, tools, Act(environment, scene, episode=episode))
            _count(attempt, call, observation)
            if observation.is_last:
                attempt.end = "environment"
                return attempt
            parts = observation.shown_parts() or (Text(_EMPTY),)
            results.append(Message("tool", parts, call_id=call.id))
        said = output.as_turn()
        messages = (*messages, Message("assistant", said.parts, calls=calls, carried=said.carried), *results)
    return attempt


def _enacted(call: Call, tools: Mapping[str, Tool], opening: Act) -> Generator[Act, Response, Observation]:
    """Enact a call that fits its tool; any other has a problem, and the environment never sees it."""
    tool = tools.get(call.name)
    if tool is None:
        known = did_you_mean(call.name, tools) or f"Tools: {', '.join(tools)}."
        return Observation(problem=call.problem or f"There is no tool {call.name[:80]!r}. {known}")
    problem = argument_problem(tool, call)
    if problem:
        return Observation(problem=f"The call of {call.name!r} was not made: {problem}.")
    return _observation((yield replace(opening, call=call, effect=tool.effect)))


def _observation(response: Response) -> Observation:
    observation = response.outputs[0].observation
    assert observation is not None  # what a rollout is sent for an act always has one
    return observation


def _count(attempt: Attempt, call: Call, observation: Observation) -> None:
    attempt.calls += 1
    if attempt.by_tool is not None and not observation.problem:
        attempt.by_tool[call.name] = attempt.by_tool.get(call.name, 0) + 1
    attempt.see(observation)


def _ids_in(messages: tuple[Message, ...]) -> set[str]:
    return {call.id for message in messages for call in message.calls}
