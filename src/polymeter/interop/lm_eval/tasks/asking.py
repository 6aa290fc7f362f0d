"""From lm-eval's instances to requests, and from responses back to instances.

A YAML's fields or a class of the task's code make the instances, and this module asks them: log-likelihoods of one row
that share a context travel in one request, and each repeat of a generated answer is a request with a seed of its own. A
log-likelihood is asked once however often it is repeated, because a model always gives the same.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from polymeter.core.content import Modality, Part, Text
from polymeter.core.errors import PlanError, ScoreError
from polymeter.core.names.parity import Parity
from polymeter.core.request import Generate, Loglikelihood, Message, Request, Response
from polymeter.core.settings.generation import text_parameters
from polymeter.core.settings.repeats import repeats_of
from polymeter.core.task import Sample
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_eval.tasks.config import GENERATE, LIKELIHOOD, MOST_TOKENS, MULTIPLE_CHOICE, ROLLING
from polymeter.interop.lm_eval.tasks.contexts.prompts import ChatText
from polymeter.tasks.yaml.outputs.output_types import Provenance
from polymeter.tasks.yaml.prompts.visuals import from_hook, modalities_of

_LENGTHS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""The names of the longest answer; the first that is given counts."""
_PLACES: tuple[tuple[str, str], ...] = (("visual", "<image>"), ("audio", "<audio>"))
"""Keys of media in an instance's arguments, each with the mark that shows their place in the text."""
_MEDIA_KEYS = frozenset(key for key, _ in _PLACES)


@dataclass(slots=True)
class Asking:
    """The properties of a task that its requests need.

    Attributes:
        provenance: The origin and the seeds of its requests.
        plan: The run's generation settings, which win over the task's.
        fingerprint: Identity of the rows and of the task's code; with the row's number it identifies media.
        is_chat: Whether contexts are put into the model's chat template.
        think_end: An answer is what follows the last of these in it; empty: all of it.
        parity: The system whose values are used where Polymeter differs from it.
        where: ``file:line`` of the generation settings, for messages.
        length: Of an answer in tokens where its settings state none.
    """

    provenance: Provenance
    plan: Mapping[str, Any]
    fingerprint: str
    is_chat: bool
    think_end: str
    parity: Parity
    where: str
    length: int = MOST_TOKENS
    _settings: list[tuple[Any, Mapping[str, Any], Generate]] = field(default_factory=list)

    @property
    def template(self) -> Literal["chat", "none"]:
        """The way that a checkpoint on this machine reads a context."""
        return "chat" if self.is_chat else "none"

    def settings(self, written: Mapping[str, Any]) -> tuple[Mapping[str, Any], Generate]:
        """Settings as wrapped models see them, and what they mean. Those of a task are worked out once.

        Raises:
            PlanError: if one is not of its type.
        """
        for known, raw, parameters in self._settings:
            if known is written or known == written:
                return raw, parameters
        raw, parameters = generation_settings(
            written, self.plan, self.template, self.parity, self.where, length=self.length
        )
        self._settings.append((written, raw, parameters))
        return raw, parameters


def generation_settings(
    written: Mapping[str, Any],
    plan: Mapping[str, Any],
    template: Literal["chat", "none"],
    parity: Parity,
    where: str,
    *,
    length: int = MOST_TOKENS,
) -> tuple[Mapping[str, Any], Generate]:
    """Settings as wrapped models see them, and what they mean: greedy without a temperature above 0 or ``do_sample``,
    and of the run's length unless one is given.

    Args:
        written: The task's settings, with stop strings.
        plan: The run's; they win. A temperature among them means sampling, unless ``do_sample`` stands there too.
        template: How a checkpoint reads the context.
        parity: The system whose values are used where Polymeter differs from it.
        where: ``file:line`` of the task's settings, for messages.
        length: In tokens, where neither states one.

    Raises:
        PlanError: if one is not of its type.
    """
    own = dict(written)
    if plan.get("temperature") and "do_sample" not in plan and not parity.on("temperature-alone"):
        own.pop("do_sample", None)
    lengths = [own.pop(name) for name in _LENGTHS if name in own]
    own["max_new_tokens"] = next((given for given in lengths if given is not None), length)
    # Read once without the plan's settings, so that an author's mistake is reported with its line in the file.
    try:
        text_parameters({}, own)
    except PlanError as error:
        raise PlanError(error.what, where=where, hint=error.hint) from None
    parameters, _ = text_parameters(plan, own)
    extra = dict(parameters.extra)
    does_sample = extra.pop("do_sample", None)
    temperature = parameters.temperature
    if does_sample is False or (does_sample is None and not temperature):
        temperature = 0.0
    elif does_sample and temperature is None:
        extra["do_sample"] = True
    raw = {**written, **plan}
    if "temperature" in raw and raw["temperature"] is not None:
        raw["temperature"] = float(raw["temperature"])
    return raw, Generate(
        parameters.max_new_tokens, temperature, parameters.top_p, parameters.stop, extra=extra, template=template
    )


def ask(
    asking: Asking, sample: Sample, instances: Sequence[Instance]
) -> Generator[tuple[Request, ...], tuple[Response, ...], Sequence[Instance]]:
    """Ask all instances of a row together, as steps of a rollout, and put the answers into their ``resps``.

    Raises:
        ScoreError: if an instance is of a kind that cannot be asked.
    """
    requests: list[Request] = []
    places: list[tuple[Instance, int, int]] = []  # the request with an instance's answer, and the place in it
    contexts: dict[Any, tuple[int, list[str]]] = {}
    for instance in instances:
        context, *rest = instance.args
        media = rest[-1] if rest and isinstance(rest[-1], Mapping) and _has_media(rest[-1]) else None
        if instance.request_type in (LIKELIHOOD, MULTIPLE_CHOICE):
            key = (context, None if media is None else id(media))
            if key not in contexts:
                contexts[key] = (len(requests), [])
                messages = _messages(asking, sample, context, media)
                requests.append(Request(messages, Loglikelihood(()), asking.provenance.origin(sample, {})))
            number, continuations = contexts[key]
            places.append((instance, number, len(continuations)))
            continuations.append(rest[0] if isinstance(rest[0], str) else str(rest[0]))
        elif instance.request_type == ROLLING:
            places.append((instance, len(requests), 0))
            requests.append(_rolling(asking, sample, str(context)))
        elif instance.request_type == GENERATE:
            places.append((instance, len(requests), -1))
            written = rest[0] if rest and isinstance(rest[0], Mapping) else {}
            requests.extend(_generations(asking, sample, instance, context, media, written, len(requests)))
        else:
            raise ScoreError(f"lm-eval knows no request of the type {instance.request_type!r}.")
    for (context, _), (number, continuations) in contexts.items():
        before = requests[number]
        # What is not a conversation is not a turn of one: choices without a question, whose likelihood is taken off.
        template = asking.template if isinstance(context, ChatText) else "none"
        parameters = Loglikelihood(tuple(continuations), template=template)
        requests[number] = Request(before.messages, parameters, before.origin)
    responses = yield tuple(requests)
    for instance, number, place in places:
        instance.resps = _answers(instance, responses, number, place, asking.think_end)
    return instances


def behind(text: str, think_end: str) -> str:
    """Return the text after the last of a mark, without leading white space; all of it if the text has no such mark."""
    return text.rpartition(think_end)[2].lstrip() if think_end in text else text


def modalities(instances: Sequence[Instance]) -> frozenset[Modality]:
    """The modalities that a model must take for instances."""
    parts: list[Part] = []
    for instance in instances:
        last = instance.args[-1]
        if isinstance(last, Mapping) and _has_media(last):
            parts.extend(part for key, _ in _PLACES for part in from_hook(last.get(key), None))
    return modalities_of(parts)


def _answers(
    instance: Instance, responses: Sequence[Response], number: int, place: int, think_end: str = ""
) -> list[Any]:
    """Return the values that lm-eval's models return for an instance, once for each repeat."""
    repeats = instance.repeats or 1
    if place < 0:
        texts = [responses[number + repeat].outputs[0].text or "" for repeat in range(repeats)]
        return [behind(text, think_end) for text in texts] if think_end else texts
    given = responses[number].outputs[0].logprobs[place]
    answer: Any = given.logprob if instance.request_type == ROLLING else (given.logprob, given.is_greedy)
    return [answer] * repeats


def _rolling(asking: Asking, sample: Sample, text: str) -> Request:
    parameters = Loglikelihood((text,), is_rolling=True)
    return Request((Message("user", (Text(""),)),), parameters, asking.provenance.origin(sample, {}))


def _generations(
    asking: Asking,
    sample: Sample,
    instance: Instance,
    context: str,
    media: Any,
    written: Mapping[str, Any],
    n_before: int,
) -> Sequence[Request]:
    raw, parameters = asking.settings(written)
    first = Request(_messages(asking, sample, context, media), parameters, asking.provenance.origin(sample, raw))
    seeds = [asking.provenance.seed(sample, n_before + number) for number in range(instance.repeats or 1)]
    return repeats_of(first, seeds)


def _messages(asking: Asking, sample: Sample, context: str, media: Any) -> tuple[Message, ...]:
    if isinstance(context, ChatText):
        history = context.history
        if media is None:
            return tuple([Message(role, (Text(content),)) for role, content in history])
        # Media belong to the question: the last thing that the user says.
        place = max((number for number, (role, _) in enumerate(history) if role == "user"), default=len(history) - 1)
        return tuple(
            Message(role, _with_media(asking, sample, content, media) if number == place else (Text(content),))
            for number, (role, content) in enumerate(history)
        )
    if media is None:
        return (Message("user", (Text(context),)),)
    return (Message("user", _with_media(asking, sample, context, media)),)


def _with_media(asking: Asking, sample: Sample, text: str, media: Mapping[str, Any]) -> tuple[Part, ...]:
    """A text with its media: each at its mark if there is a mark for every one, else all before the text."""
    parts: list[Part] = [Text(text)]
    for key, mark in _PLACES:
        prefix = f"{asking.fingerprint}:{sample.index}:{key}"
        given = list(from_hook(media.get(key), prefix))
        if not given:
            continue
        n_marks = sum(part.text.count(mark) for part in parts if isinstance(part, Text))
        parts = _at_marks(parts, mark, given) if n_marks == len(given) else [*given, *parts]
    return tuple(part for part in parts if not isinstance(part, Text) or part.text)


def _at_marks(parts: Sequence[Part], mark: str, media: list[Part]) -> list[Part]:
    placed: list[Part] = []
    waiting = iter(media)
    for part in parts:
        if not isinstance(part, Text):
            placed.append(part)
            continue
        first, *others = part.text.split(mark)
        placed.append(Text(first))
        for piece in others:
            placed.extend((next(waiting), Text(piece)))
    return placed


def _has_media(value: Mapping[str, Any]) -> bool:
    return not _MEDIA_KEYS.isdisjoint(value)
