"""Requests that task code constructs itself: its instances as core requests, and the answers back in its order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.errors import ScoreError
from polymeter.core.repeats import repeats_of
from polymeter.core.request import Loglikelihood, Message, Request, Response
from polymeter.core.task import Rollout, RolloutSteps, Sample, Score
from polymeter.formats.task_yaml.forms import guest
from polymeter.formats.task_yaml.generation import plan_generation
from polymeter.formats.task_yaml.parts import Construct
from polymeter.formats.task_yaml.prompt import full_row
from polymeter.formats.task_yaml.scoring import as_text
from polymeter.formats.task_yaml.task import GenerationTask
from polymeter.formats.task_yaml.visuals import from_chat, from_hook
from polymeter.interop.lmms_eval.instance import Instance

_LIKELIHOODS = ("loglikelihood", "multiple_choice")


@dataclass(slots=True)
class _Asked:
    """One request of a sample, and the instances that it answers."""

    messages: tuple[Message, ...]
    continuations: list[str]
    settings: Mapping[str, Any] | None
    places: list[int]


class InstanceTask(GenerationTask):
    """A task that constructs its requests. Instances that ask for likelihoods after one context travel together."""

    def bind_construct(self, construct: Construct, plan: Mapping[str, Any], *, is_completion: bool) -> InstanceTask:
        """Give it the task's function; called once, by ``compile_task``."""
        self._construct = construct
        self._plan_settings = plan
        self._is_completion = is_completion
        return self

    def play(self, sample: Sample) -> RolloutSteps:
        """Ask all at once; repeats are asked together too."""
        instances = self._instances(sample)
        asked = self._merged(sample, instances)
        requests = [request for one in asked for request in self._requests(sample, one)]
        responses = yield tuple(requests)
        return self._in_order(asked, list(responses), len(instances))

    def score(self, sample: Sample, played: Rollout) -> Score:
        """Score the answers: each filter reads those of one instance at a time, and the scorer gets one item for each.

        Raises:
            ScoreError: The task's code raised.
        """
        answers = played.returned
        if answers is None:
            asked = self._merged(sample, self._instances(sample))
            answers = self._in_order(asked, list(played.responses), sum(len(one.places) for one in asked))
        doc = sample.doc
        score_doc = full_row(sample) if self._sees_media else doc
        values: dict[tuple[str, str], Any] = {}
        log: dict[str, Any] = {}
        shown: str | None = None
        for name, read in self._readings:
            results = [self._clean(read(item, doc)) for item in answers]
            shown = shown if shown is not None else as_text(results[0] if len(results) == 1 else results)
            for metric, value in self._scorer(score_doc, results).items():
                if metric in self._names:
                    values[metric, name] = value
                else:
                    log[metric] = value
        return Score(values, as_text(self._log_target(doc)), shown, None, log)

    def _instances(self, sample: Sample) -> list[Instance]:
        metadata = {**self._metadata, "doc_id": sample.index}
        made = self._construct(sample.index, self.prompt.text(sample), metadata=metadata)
        instances = list(made) if isinstance(made, (list, tuple)) else [made]
        if not instances:
            raise ScoreError(f"construct_requests of task {self.spec.name!r} made no request for sample {sample.id}.")
        return instances

    def _merged(self, sample: Sample, instances: Sequence[Instance]) -> list[_Asked]:
        merged: list[_Asked] = []
        last: tuple[Any, Any] | None = None
        for place, instance in enumerate(instances):
            arguments = instance.args
            if instance.request_type in _LIKELIHOODS:
                context, continuation, *rest = arguments
                visual = rest[0] if rest else None
                text = continuation(full_row(sample)) if callable(continuation) else continuation
                if last is not None and last == (context, visual):
                    merged[-1].continuations.append(str(text))
                    merged[-1].places.append(place)
                else:
                    merged.append(_Asked(self._messages(sample, context, visual), [str(text)], None, [place]))
                last = (context, visual)
            else:
                merged.append(self._generation_of(sample, arguments, place))
                last = None
        return merged

    def _generation_of(self, sample: Sample, arguments: tuple[Any, ...], place: int) -> _Asked:
        context = arguments[0]
        settings = next((item for item in arguments[1:3] if isinstance(item, Mapping)), {})
        if len(arguments) > 2 and arguments[2] is settings and callable(arguments[1]):
            chat = guest(arguments[1], "doc_to_messages", self.spec.name)(full_row(sample))
            return _Asked(self.prompt.system + from_chat(chat, self._prefix(sample)), [], settings, [place])
        visual = arguments[2] if len(arguments) > 2 else None
        return _Asked(self._messages(sample, context, visual), [], settings, [place])

    def _messages(self, sample: Sample, context: Any, visual: Any) -> tuple[Message, ...]:
        if not callable(visual):
            return self.prompt.of_parts((), str(context))
        found = guest(visual, "doc_to_visual", self.spec.name)(full_row(sample))
        return self.prompt.of_parts(from_hook(found, self._prefix(sample)), str(context))

    def _prefix(self, sample: Sample) -> str:
        return f"{self.prompt.fingerprint}:{sample.index}"

    def _requests(self, sample: Sample, one: _Asked) -> list[Request]:
        if one.settings is None:
            return [Request(one.messages, Loglikelihood(tuple(one.continuations)), self._origin(sample, {}))]
        plan = plan_generation(
            one.settings, {}, self._plan_settings, is_completion=self._is_completion, where="construct_requests"
        )
        origin = self._origin(sample, plan.raw)
        first = one.places[0]
        which = () if first == 0 else (f"request:{first}",)
        request = Request(one.messages, plan.ask, origin)
        return list(repeats_of(request, self.config.repeats, self._run_seed, self.spec.name, sample.id, *which))

    def _in_order(self, asked: Sequence[_Asked], responses: list[Response], n: int) -> list[list[Any]]:
        """For each instance its answers: texts, or ``(logprob, is_greedy)``."""
        answers: list[list[Any]] = [[] for _ in range(n)]
        for one in asked:
            if one.settings is None:
                given = responses.pop(0).outputs[0].logprobs
                for place, item in zip(one.places, given, strict=True):
                    answers[place] = [(item.logprob, item.is_greedy)]
            else:
                taken, responses = responses[: self.config.repeats], responses[self.config.repeats :]
                answers[one.places[0]] = [output.text or "" for response in taken for output in response.outputs]
        return answers
