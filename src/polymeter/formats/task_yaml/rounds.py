"""Tasks that ask again: several rounds in which the task's own function says what comes next.

After a round the function gets the row, all answers so far, the number of the coming round and what it gave as
``info`` last time. When it says that it is done, nothing more is asked, and the answers *it* hands back are the
sample's.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.core.codec import jsonable
from polymeter.core.errors import ScoreError
from polymeter.core.identity import seed_for
from polymeter.core.parts import Part
from polymeter.core.request import Message, Request
from polymeter.core.task import Rollout, RolloutSteps, Sample
from polymeter.formats.task_yaml.forms import RoundHooks
from polymeter.formats.task_yaml.prompt import full_row
from polymeter.formats.task_yaml.task import GenerationTask
from polymeter.formats.task_yaml.visuals import from_chat, from_hook

MOST_ROUNDS = 64
MOST_STEPS = 12
Asking = Generator[Any, Any, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """What a task wants after a round.

    Attributes:
        messages: What to ask next; not looked at when ``is_last``.
        is_last: Whether the sample is done.
        outputs: The answers so far, as the task left them.
        info: What it wants to be told next time.
    """

    messages: tuple[Message, ...]
    is_last: bool
    outputs: list[Any]
    info: Any


class SteppedTask(GenerationTask):
    """A task whose samples take several requests, one after the other. What ``play`` returns is its answers, one for
    each repeat.
    """

    def play(self, sample: Sample) -> RolloutSteps:
        """Ask until the sample is done; repeats follow each other."""
        answers = []
        for repeat in range(self.config.repeats):
            answers.append((yield from self._one(sample, repeat)))
        return answers

    @abstractmethod
    def _one(self, sample: Sample, repeat: int) -> Asking:
        """One answer to a sample."""

    def _answers(self, played: Rollout) -> list[Any]:
        return played.returned if isinstance(played.returned, list) else super()._answers(played)

    def _seed(self, sample: Sample, repeat: int, step: int) -> int:
        """The seed of one request; the first one's is that of a task with a single request."""
        seed = self._run_seed
        if step == 0:
            return seed_for(seed, self.spec.name, sample.id, repeat)
        return seed_for(seed, self.spec.name, sample.id, repeat, f"round:{step}")


class MultiRoundTask(SteppedTask):
    """``generate_until_multi_round``: an answer is the list of the rounds' texts."""

    def bind_rounds(self, hooks: RoundHooks, *, is_driven_by_model: bool) -> MultiRoundTask:
        """Say who asks again; called once, by ``compile_task``."""
        self._hooks = hooks
        self._is_driven_by_model = is_driven_by_model
        self._most = int(self.config.metadata.get("max_rounds", MOST_ROUNDS))
        return self

    def _one(self, sample: Sample, repeat: int) -> Asking:
        plan = self._generation
        messages = yield from self.prompt.asked(sample, self._origin(sample, plan.raw))
        if self._is_driven_by_model:
            origin = self._origin(sample, plan.raw, "multi_round")
            response = yield Request(messages, plan.with_seed(self._seed(sample, repeat, 0)), origin)
            return [output.text or "" for output in response.outputs]
        origin = self._origin(sample, plan.raw)
        outputs: list[Any] = []
        info = None
        for number in range(1, self._most + 1):
            response = yield Request(messages, plan.with_seed(self._seed(sample, repeat, number - 1)), origin)
            turn = self._next(sample, [*outputs, response.text], number, info)
            if turn.is_last:
                return turn.outputs
            messages, outputs, info = turn.messages, turn.outputs, turn.info
        raise ScoreError(
            f"Sample {sample.id} of task {self.spec.name!r} was not done after {self._most} rounds.",
            hint="Let doc_to_text say that it is done, or allow more rounds with metadata: {max_rounds: N}.",
        )

    def _next(self, sample: Sample, outputs: list[Any], number: int, info: Any) -> Turn:
        rounds = {"previous_output": list(outputs), "round_idx": number, "previous_round_info": info}
        if self.prompt.messages_form is not None and self._hooks.messages is not None:
            found = self._hooks.messages(full_row(sample), **rounds)
            messages, is_last, told, info = self._unpacked(found, "doc_to_messages", 4)
            chat = () if is_last else self.prompt.system + from_chat(messages, None)
            return Turn(chat, bool(is_last), _as_list(told), info)
        assert self._hooks.text is not None
        found = self._hooks.text(full_row(sample), **rounds)
        visuals, text, is_last, told, info = self._unpacked(found, "doc_to_text", 5)
        if is_last:
            return Turn((), True, _as_list(told), info)
        parts = from_hook(visuals, None)
        return Turn(self.prompt.of_parts(parts, _text(text)), False, _as_list(told), info)

    def _unpacked(self, found: Any, field: str, n: int) -> tuple[Any, ...]:
        if isinstance(found, (tuple, list)) and len(found) == n:
            return tuple(found)
        parts = "visuals, text, is_terminal, outputs_so_far, info" if n == 5 else "messages, is_terminal, outputs, info"
        raise ScoreError(f"After a round, {field} of task {self.spec.name!r} must give ({parts}), not {found!r:.80}.")

    def _answers(self, played: Rollout) -> list[Any]:
        if isinstance(played.returned, list):
            return played.returned
        texts = super()._answers(played)
        size = max(1, len(texts) // self.config.repeats)
        return [texts[start : start + size] for start in range(0, len(texts), size)]

    def _as_results(self, filtered: Any) -> list[Any]:
        """An answer is itself a list: it stays whole as ``results[0]``."""
        is_several = isinstance(filtered, list) and bool(filtered) and isinstance(filtered[0], list)
        return filtered if is_several else [filtered]


class AgenticTask(SteppedTask):
    """``generate_until_agentic``: steps until the task is done; an answer is one text, the last that it hands back."""

    def bind_steps(self, hooks: RoundHooks) -> AgenticTask:
        """Say who asks again; called once, by ``compile_task``."""
        self._hooks = hooks
        self._most = int(self._generation.raw.get("max_agentic_steps", MOST_STEPS))
        return self

    def _one(self, sample: Sample, repeat: int) -> Asking:
        plan = self._generation
        origin = self._origin(sample, plan.raw, "agentic")
        messages = yield from self.prompt.asked(sample, origin)
        outputs: list[Any] = []
        info = None
        assert self._hooks.text is not None
        for number in range(1, self._most + 1):
            response = yield Request(messages, plan.with_seed(self._seed(sample, repeat, number - 1)), origin)
            outputs = [*outputs, response.text]
            found = self._hooks.text(
                full_row(sample), previous_output=list(outputs), round_idx=number, previous_round_info=info
            )
            if isinstance(found, str):
                messages = self.prompt.of_text(sample, found)
                continue
            turn = self._turn(sample, found)
            if turn.is_last:
                return _last(turn.outputs)
            messages, outputs, info = turn.messages, turn.outputs, turn.info
        return _unfinished(self._most, outputs, info)

    def _turn(self, sample: Sample, found: Any) -> Turn:
        if not isinstance(found, (tuple, list)) or len(found) != 5:
            raise ScoreError(
                f"After a step, doc_to_text of task {self.spec.name!r} must give a text or "
                f"(visuals, text, is_terminal, outputs_so_far, info), not {found!r:.80}."
            )
        visuals, text, is_last, told, info = found
        parts: tuple[Part, ...] = ()
        if not is_last:
            parts = self.prompt.visuals(sample) if visuals is None else from_hook(visuals, None)
        return Turn(self.prompt.of_parts(parts, _text(text)), bool(is_last), _as_list(told), info)


def _as_list(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, (list, tuple)) else [] if outputs is None else [outputs]


def _last(outputs: list[Any]) -> str:
    return "" if not outputs else outputs[-1] if isinstance(outputs[-1], str) else str(outputs[-1])


def _text(text: Any) -> str:
    return "" if text is None else str(text)


def _unfinished(steps: int, outputs: list[Any], info: Any) -> str:
    """The answer of a sample that used up its steps: JSON with the task's own last state, which its scorer can read."""
    state = jsonable(info) if isinstance(info, Mapping) else {}
    told = {"success": False, "error": "max_agentic_steps", "steps": steps, "last_response": _last(outputs)}
    return json.dumps({**told, **state}, ensure_ascii=False)
