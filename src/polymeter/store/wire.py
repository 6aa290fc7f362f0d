"""Requests, responses and scores as JSON text in the journal, and back.

Requests are written for readers and exports, with media as references; only their fingerprint is ever compared.
Responses and scores are restored exactly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.acting.episodes import Act, Observation
from polymeter.core.acting.tools import Tool, stored_calls, write_call
from polymeter.core.content import Audio, Image, Media, Part, Text, Video
from polymeter.core.identity import OfParameters, OfSettings
from polymeter.core.machine.opened_files import FileState
from polymeter.core.media.sources import digest
from polymeter.core.request import (
    PROMPT_VERSION,
    ChoiceLogprob,
    Generate,
    GenerateImage,
    Loglikelihood,
    Message,
    Output,
    Parameters,
    Request,
    Response,
    Usage,
)
from polymeter.core.task import MetricKey, Score
from polymeter.core.text.codec import (
    NotExactError,
    compact_json,
    decode,
    encode,
    encode_plain,
    json_encoder,
    json_string,
    jsonable,
    parse_json,
    scalar_json,
)
from polymeter.core.text.secrets import without_secrets
from polymeter.store.shown_media import SHOWN_MEDIA

LoadImage = Callable[[str], Any]
PathOf = Callable[[str], Path]
Describe = Callable[[Media], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class WrittenScore:
    """A score as text. ``is_exact``: it can be restored; otherwise it must be computed again."""

    body: str
    is_exact: bool


def write_request(request: Request, describe: Describe) -> str:
    """A request as JSON. ``describe`` gives the description of a medium (its preview's file, its size)."""
    messages = []
    for message in request.messages:
        parts = [
            f'{{"text":{scalar_json(part.text)}}}'
            if isinstance(part, Text)
            else compact_json({part.modality: describe(part)})
            for part in message.parts
        ]
        beside = _written_calls(message)
        messages.append(f'{{"role":{scalar_json(message.role)},"parts":[{",".join(parts)}]{beside}}}')
    version = ""
    if request.origin is not None and PROMPT_VERSION in request.origin.metadata:
        version = f',"{PROMPT_VERSION}":{json_string(str(request.origin.metadata[PROMPT_VERSION]))}'
    return f'{{"messages":[{",".join(messages)}],"ask":{_write_parameters(request.parameters)}{version}}}'


@dataclass(frozen=True, slots=True)
class FilesBehind:
    """The files that an answer rests on.

    Attributes:
        states: The files that its sample had read by then.
        shown: Digests of the content of the media in its request that the request identifies by their place in the
            dataset.
    """

    states: tuple[FileState, ...]
    shown: tuple[str, ...] = ()


BEGUN = '{"outputs":[],"begun":true}'
"""The body in place of the observation of an act with effects outside, from before it begins until it has ended."""
_FILES = ',"files":'
_EXACT = frozenset({str, int, float})
_SHOWN = frozenset({"values", "target", "answer"})
_COUNTS = frozenset({int, type(None)})


def write_response(
    response: Response,
    keep_image: Callable[[Any], str],
    files: FilesBehind | None = None,
    sent: Mapping[str, float | None] | None = None,
    shown: Sequence[str | None] = (),
    marks: Mapping[str, Any] | None = None,
) -> str:
    """An answer as JSON.

    Args:
        response: The answer.
        keep_image: Stores a generated image and returns its file name.
        files: The files that it rests on, if any.
        sent: The media of its request as ``ModelUsage`` counts them; empty if it had none.
        shown: The digests of the records of what was shown of them; empty if there is no record.
        marks: The marks for reuse (``polymeter.store.reading.reused``); empty if it has none.

    Raises:
        ValueError: if it is an error: those are never written as answers.
    """
    if response.error is not None:
        raise ValueError("an error is not an answer")
    if files is None and not (sent or shown or marks) and (text := _written_text(response)) is not None:
        return text
    outputs = [_write_output(output, keep_image) | _observed(output.observation) for output in response.outputs]
    body: dict[str, Any] = {"outputs": outputs}
    if response.latency_ms is not None:
        body["latency_ms"] = round(response.latency_ms, 3)
    if sent:
        body["sent"] = dict(sent)
    body |= marks or {}
    if files is not None:
        body["files"] = {"states": [state.as_list() for state in files.states], "shown": list(files.shown)}
    if shown:
        body[SHOWN_MEDIA] = list(shown)  # last, where it is found without parsing the rest
    return _response_json(body)


def _written_text(response: Response) -> str | None:
    """Write an answer that is only one text, as most are, in half the time; ``None`` if it is not, or has numbers that
    are not Python's.
    """
    if len(response.outputs) != 1 or type(response.latency_ms) is not float:
        return None
    output = response.outputs[0]
    usage = None if output.usage is None else _write_usage(output.usage)
    if (
        type(output.text) is not str
        or output.images
        or output.logprobs
        or output.reasoning is not None
        or output.calls
        or output.carried
        or output.note is not None
        or output.messages is not None
        or output.cut
        or output.observation is not None
        or (usage is not None and not _COUNTS.issuperset(map(type, usage)))
        or (output.usage is not None and _billed(output.usage))
    ):
        return None
    reason = "" if output.finish_reason is None else f',"finish_reason":{scalar_json(output.finish_reason)}'
    used = "" if usage is None else ",".join(["null" if count is None else repr(count) for count in usage])
    counts = f',"usage":[{used}]' if used else ""
    latency_ms = scalar_json(round(response.latency_ms, 3))
    return f'{{"outputs":[{{"text":{json_string(output.text)}{reason}{counts}}}],"latency_ms":{latency_ms}}}'


def read_response(body: str, load_image: LoadImage, path_of: PathOf = Path) -> Response:
    """The answer in a text from ``write_response``. ``path_of`` gives the path of a kept input by its name."""
    value = parse_json(body)
    outputs = tuple(_read_output(output, load_image, path_of) for output in value["outputs"])
    return Response(outputs, latency_ms=value.get("latency_ms"), is_cached=True)


def read_files(body: str) -> FilesBehind | None:
    """The files that the answer in a text from ``write_response`` rests on; ``None`` if it names none."""
    if _FILES not in body:  # most answers rest on no file, and need not be read for it
        return None
    files = json.loads(body).get("files")
    if files is None:
        return None
    return FilesBehind(tuple(FileState(*state) for state in files["states"]), tuple(files["shown"]))


def write_states(states: Iterable[FileState]) -> str:
    """The states of files as JSON."""
    return compact_json([state.as_list() for state in states])


def read_states(text: str) -> tuple[FileState, ...]:
    """The states in a text from ``write_states``; none if it is not such a text."""
    return tuple(FileState(*state) for state in json.loads(text))


def write_score(score: Score) -> WrittenScore:
    """A score as JSON; an approximation if a value cannot be restored exactly."""
    values, is_exact = _write_values(score.values)
    pieces = [f'{{"values":{values}']
    if score.target is not None:
        pieces.append(f'"target":{json_string(str(score.target))}')
    if score.answer is not None:
        pieces.append(f'"answer":{json_string(str(score.answer))}')
    if score.explanation is not None:
        pieces.append(f'"explanation":{json_string(str(score.explanation))}')
    if score.log:
        pieces.append(f'"log":{encode_plain(jsonable(dict(score.log)))}')
    if score.judge_calls:
        pieces.append(f'"judge_calls":{compact_json(list(score.judge_calls))}')
    if score.judge_rules:
        pieces.append(f'"judge_rules":{compact_json(list(score.judge_rules))}')
    if score.scorers:
        pieces.append(f'"scorers":{compact_json([list(scorer) for scorer in score.scorers])}')
    if score.n_unfinished:
        pieces.append(f'"n_unfinished":{score.n_unfinished}')
    return WrittenScore(f"{','.join(pieces)}}}", is_exact)


def _write_values(values: Mapping[MetricKey, Any]) -> tuple[str, bool]:
    """The values of a score as JSON, and whether they can be restored exactly."""
    pairs, is_plain = [], True
    for (metric, name), value in values.items():
        pairs.append([metric, name, value])
        is_plain = is_plain and type(value) in _EXACT and type(metric) is str and type(name) is str
    if is_plain:
        return compact_json(pairs), True
    try:
        return encode(pairs), True
    except NotExactError:
        return encode(jsonable(pairs)), False


def read_score(body: str) -> Score:
    """The score in a text from ``write_score``."""
    value = decode(body)
    values = {(metric, name): item for metric, name, item in value["values"]}
    if value.keys() <= _SHOWN:  # as of most samples
        return Score(values, value.get("target"), value.get("answer"))
    return Score(
        values,
        target=value.get("target"),
        answer=value.get("answer"),
        explanation=value.get("explanation"),
        log=value.get("log", {}),
        judge_calls=tuple(value.get("judge_calls", ())),
        judge_rules=tuple(value.get("judge_rules", ())),
        scorers=tuple((by, instead_of) for by, instead_of in value.get("scorers", ())),
        n_unfinished=value.get("n_unfinished", 0),
    )


def _written_calls(message: Message) -> str:
    """The calls of a message and the id of the call that it answers, as the end of an object; empty if it has none."""
    if not message.calls and not message.call_id:
        return ""
    calls = f',"calls":{compact_json([write_call(call) for call in message.calls])}' if message.calls else ""
    return calls + (f',"call_id":{json_string(message.call_id)}' if message.call_id else "")


def _write_parameters(parameters: Parameters) -> str:
    body: dict[str, Any] = {"kind": parameters.kind}
    if isinstance(parameters, Loglikelihood):
        told: dict[str, Any] = {} if parameters.template == "auto" else {"template": parameters.template}
        told |= {"is_last_token": True} if parameters.is_last_token else {}
        told |= {"is_rolling": True} if parameters.is_rolling else {}
        return compact_json({**body, "continuations": list(parameters.continuations), **told})
    if isinstance(parameters, Generate):
        before, after = _around_seeds(parameters)
    else:
        size = {"size": list(parameters.size)} if parameters.size else {}
        before, after = compact_json({**body, **size})[:-1], _write_extra(parameters)
    seeds = "" if parameters.seed is None else f',"seeds":[{scalar_json(parameters.seed)}]'
    return f"{before}{seeds}{after}"


def _write_around_seeds(parameters: Generate) -> tuple[str, str]:
    """Return the parts before and behind the seeds in parameters as JSON."""
    body: dict[str, Any] = {"kind": parameters.kind}
    for name in ("max_new_tokens", "temperature", "top_p"):
        value = getattr(parameters, name)
        if value is not None:
            body[name] = value
    if parameters.stop:
        body["stop"] = list(parameters.stop)
    if parameters.template != "auto":
        body["template"] = parameters.template
    if parameters.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "schema": jsonable(tool.schema)}
            for tool in parameters.tools
        ]
        body |= {} if parameters.tool_choice == "auto" else {"tool_choice": parameters.tool_choice}
    return compact_json(body)[:-1], _write_extra(parameters)


def _write_extra(parameters: Generate | GenerateImage) -> str:
    """The end of parameters as JSON."""
    return f',"extra":{_written_extra(parameters.extra)}}}' if parameters.extra else "}"


_written_extra = OfSettings(lambda extra: compact_json(without_secrets(jsonable(dict(extra)))))
_around_seeds = OfParameters(_write_around_seeds)


def _write_output(output: Output, keep_image: Callable[[Any], str]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if output.text is not None:
        body["text"] = output.text
    if output.finish_reason is not None:
        body["finish_reason"] = output.finish_reason
    if output.reasoning is not None:
        body["reasoning"] = output.reasoning
    if output.logprobs:
        body["logprobs"] = [[choice.logprob, choice.is_greedy, choice.n_tokens] for choice in output.logprobs]
    if output.images:
        body["images"] = [keep_image(image) for image in output.images]
    if output.calls:
        body["tool_calls"] = [write_call(call) for call in output.calls]
    if output.carried:
        body["carried"] = dict(output.carried)
    if output.usage is not None:
        body |= _usage_entries(output.usage)
    if output.note is not None:
        body["note"] = output.note
    if output.messages is not None:
        body["messages"] = [
            {"role": message.role, "parts": [_write_part(part) for part in message.parts]}
            for message in output.messages
        ]
    if output.cut:
        body["cut"] = dict(output.cut)
    return body


def write_act(act: Act) -> str:
    """An act as JSON, for readers."""
    call = {} if act.call is None else {"call": write_call(act.call)}
    return compact_json({"messages": [], "ask": {"kind": "act", "environment": act.environment, **call}})


def observation_mark(observation: Observation) -> str:
    """A digest of an observation whose media are kept files: the same if nothing in it differs."""
    return digest(compact_json(_write_observation(observation)).encode())


def attempt_of(body: str) -> int:
    """The attempt at its sample in which an observation was made, from a text of ``write_response``."""
    if '"attempt"' not in body:  # as almost always
        return 0
    outputs = parse_json(body)["outputs"]
    return int(outputs[0]["observation"].get("attempt", 0)) if outputs else 0


def is_begun(body: str) -> bool:
    """Return whether a text is ``BEGUN``."""
    return body == BEGUN


def _observed(observation: Observation | None) -> dict[str, Any]:
    """The observation of an act as part of its output; nothing for the answer to a request."""
    if observation is None:
        return {}
    attempt = {"attempt": observation.attempt} if observation.attempt else {}
    return {"observation": {**_write_observation(observation), **attempt}}


def _write_observation(observation: Observation) -> dict[str, Any]:
    body: dict[str, Any] = {"parts": [_write_part(part) for part in observation.parts]}
    if observation.problem:
        body["problem"] = observation.problem
    if observation.is_last:
        body["is_last"] = True
    if observation.reward is not None:
        body["reward"] = observation.reward
    if observation.state is not None:
        body["state"] = jsonable(dict(observation.state))
    if observation.tools:
        body["tools"] = [{**tool.as_function(), "effect": tool.effect} for tool in observation.tools]
    return body


def _read_observation(body: Mapping[str, Any], path_of: PathOf) -> Observation:
    return Observation(
        tuple(_read_part(part, path_of) for part in body["parts"]),
        body.get("problem", ""),
        body.get("is_last", False),
        body.get("reward"),
        body.get("state"),
        tuple(
            Tool(tool["name"], tool["description"], tool["parameters"], tool["effect"])
            for tool in body.get("tools", ())
        ),
        body.get("attempt", 0),
    )


def _write_part(part: Part) -> dict[str, Any]:
    """A part of a model's own prompt. Its medium is a kept file by now (``MediaStore.keep_input``), or at a URL."""
    if isinstance(part, Text):
        return {"text": part.text}
    bounds = {"start_s": part.start_s, "end_s": part.end_s} if isinstance(part, Video) else {}
    source = {"url": part.source} if part.is_url else {"file": Path(str(part.source)).name}
    return {part.modality: {**source, **{name: value for name, value in bounds.items() if value is not None}}}


def _read_part(body: Mapping[str, Any], path_of: PathOf) -> Part:
    kind, value = next(iter(body.items()))
    if kind == "text":
        return Text(value)
    source = value["url"] if "url" in value else path_of(value["file"])
    if kind == "image":
        return Image(source)
    return Audio(source) if kind == "audio" else Video(source, None, value.get("start_s"), value.get("end_s"))


def _write_usage(usage: Usage) -> list[int | None]:
    counts = [usage.input_tokens, usage.output_tokens, usage.reasoning_tokens]
    if usage.cache_write_tokens is not None:
        return [*counts, usage.cached_tokens, usage.cache_write_tokens]
    return counts if usage.cached_tokens is None else [*counts, usage.cached_tokens]


_BILLED = {
    "audio": "audio_tokens",
    "image": "image_tokens",
    "image_output": "image_output_tokens",
    "cost": "cost",
    "tier": "service_tier",
}
"""The facts about the price of an answer, by their names in the journal. Most backends state none."""


def _usage_entries(usage: Usage) -> dict[str, Any]:
    billed = _billed(usage)
    return {"usage": _write_usage(usage), **({"billed": billed} if billed else {})}


def _billed(usage: Usage) -> dict[str, Any]:
    return {name: value for name, field in _BILLED.items() if (value := getattr(usage, field)) is not None}


def _plain_number(value: Any) -> Any:
    """Convert a number of NumPy or torch, which models often leave in log-probabilities and counts, to Python's."""
    if hasattr(value, "item") and hasattr(value, "dtype"):
        return value.item()
    raise TypeError(f"A {type(value).__name__} cannot be part of an answer.")


_response_json = json_encoder(default=_plain_number)


def _read_output(body: Mapping[str, Any], load_image: LoadImage, path_of: PathOf) -> Output:
    usage = body.get("usage")
    return Output(
        text=body.get("text"),
        images=tuple(load_image(name) for name in body.get("images", ())),
        logprobs=tuple(ChoiceLogprob(*choice) for choice in body.get("logprobs", ())),
        reasoning=body.get("reasoning"),
        calls=stored_calls(body.get("tool_calls")),
        carried=body.get("carried"),
        finish_reason=body.get("finish_reason"),
        usage=Usage(*usage, **{_BILLED[name]: value for name, value in body.get("billed", {}).items()})
        if usage
        else None,
        note=body.get("note"),
        messages=None
        if "messages" not in body
        else tuple(
            Message(message["role"], tuple(_read_part(part, path_of) for part in message["parts"]))
            for message in body["messages"]
        ),
        cut=body.get("cut"),
        observation=_read_observation(body["observation"], path_of) if "observation" in body else None,
    )
