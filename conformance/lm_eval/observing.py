"""Turns what both tools keep of a case into observations of one form.

A sample's scores go by ``metric,filter``; each of its requests gives a prompt, what follows it (a continuation, or the
settings of generation in one form) and an answer (a log-probability and whether it is greedy, or a text).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from conformance.frame import Observation, plain

_ABOUT = {
    "arguments", "doc", "doc_hash", "doc_id", "filter", "filtered_resps", "metrics", "prompt_hash", "resps", "target",
    "target_hash",
}  # fmt: skip
_Asked = tuple[str, str]
_LENGTHS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
_DEFAULT_LENGTH = 256
"""What lm-eval's models generate at most where nobody says it."""


def observed_values(task: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """What a result document says of a task or group: its numbers with their errors, and what stands beside them."""
    row = document["results"][task]
    made = {name: plain(value) for name, value in row.items() if "," in name or name == "alias"}
    made["n"] = row.get("sample_len")
    for about in ("versions", "n-shot", "higher_is_better", "n-samples"):
        made[about] = plain(document[about].get(task))
    made["versions"] = str(made["versions"])
    return made


def observed_there(case: str, task: str, model: str, document: Mapping[str, Any]) -> Observation:
    """One case in lm-eval.

    Args:
        case: The case's name.
        task: The task's.
        model: Who answered.
        document: What ``simple_evaluate`` returned.
    """
    made = Observation(case, model, values=observed_values(task, document))
    for line in document["samples"][task]:
        number = str(line["doc_id"])
        scores = made.samples.setdefault(number, {})
        scores |= {f"{name},{line['filter']}": plain(value) for name, value in line.items() if name not in _ABOUT}
        for place, (given, answers) in enumerate(zip(line["arguments"], line["resps"], strict=True)):
            _note(made, number, place, _asked_there(given), answers)
    return made


def _asked_there(given: Sequence[Any]) -> tuple[str, str]:
    if len(given) == 1:
        return "", str(given[0])
    return (str(given[0]), given[1]) if isinstance(given[1], str) else (str(given[0]), _settings(dict(given[1])))


def observed_here(
    case: str,
    task: str,
    model: str,
    document: Mapping[str, Any],
    samples: Iterable[Mapping[str, Any]],
    render: Callable[[Sequence[Mapping[str, str]]], str],
) -> Observation:
    """One case in Polymeter.

    Args:
        case: The case's name.
        task: The task's.
        model: Who answered.
        document: The results in lm-eval's form.
        samples: The stored samples, with the answers that the task got.
        render: Makes one text of messages.
    """
    made = Observation(case, model, values=observed_values(task, document))
    errors = []
    for sample in samples:
        number = str(sample["index"])
        if sample["error"]:
            errors.append(str(sample["error"]["message"]))
        scores = {f"{one['metric']},{one['filter']}": plain(one["value"]) for one in sample["scores"]}
        made.samples[number] = scores
        asked = ((what, answers) for one in sample["exchanges"] for what, answers in _asked_here(one, render))
        for place, (what, answers) in enumerate(_with_repeats(asked)):
            _note(made, number, place, what, answers)
    if errors:
        made.failure = f"{len(errors)} samples failed: {errors[0]}"[:400]
    return made


def _with_repeats(asked: Iterable[tuple[_Asked, list[Any]]]) -> Iterator[tuple[_Asked, list[Any]]]:
    """Requests with all their answers: the repeats of a prompt for text are requests of their own here."""
    for (what, is_text), alike in groupby(asked, key=lambda one: (one[0], isinstance(one[1][0], str))):
        answers = [each for _, each in alike]
        if is_text:
            yield what, [one for each in answers for one in each]
        else:
            yield from ((what, each) for each in answers)


def _asked_here(
    exchange: Mapping[str, Any], render: Callable[[Sequence[Mapping[str, str]]], str]
) -> Iterator[tuple[_Asked, list[Any]]]:
    messages = [
        {"role": message["role"], "content": "".join(part.get("text", "") for part in message["parts"])}
        for message in exchange["request"]["messages"]
    ]
    asked, outputs = dict(exchange["request"]["ask"]), exchange["response"]["outputs"]
    if asked["kind"] == "loglikelihood":
        # What stands for itself is in no template: a whole text, or a continuation of nothing.
        is_plain = asked.get("is_rolling") or asked.get("template") == "none"
        shown = "".join(one["content"] for one in messages) if is_plain else render(messages)
        for continuation, answer in zip(asked["continuations"], outputs[0]["logprobs"], strict=True):
            yield (shown, continuation), [answer[0] if asked.get("is_rolling") else answer[:2]]
        return
    settings = {**asked.get("extra", {}), **{key: asked[key] for key in ("temperature", "top_p") if key in asked}}
    settings |= {"until": asked.get("stop", []), "max_gen_toks": asked.get("max_new_tokens")}
    yield (render(messages), _settings(settings)), [output["text"] for output in outputs]


def _note(made: Observation, number: str, place: int, asked: tuple[str, str], answers: Sequence[Any]) -> None:
    made.prompts[f"{number}.{place}"], made.prompts[f"{number}.{place} settings"] = asked
    made.samples[number][f"answers {place}"] = plain([list(one) if isinstance(one, tuple) else one for one in answers])


def _settings(given: Mapping[str, Any]) -> str:
    """Settings of generation in one form: the names that both tools have for a thing are one."""
    rest = dict(given)
    lengths = [rest.pop(name) for name in _LENGTHS if name in rest]
    stops = rest.pop("until", None) or []
    temperature = rest.pop("temperature", None) or 0.0
    if rest.pop("do_sample", None) is False:
        temperature = 0.0
    made = {
        "stop": [stops] if isinstance(stops, str) else list(stops),
        "length": next((one for one in lengths if one is not None), _DEFAULT_LENGTH),
        "temperature": float(temperature),
        **({} if temperature == 0.0 else {"top_p": rest.pop("top_p", None)}),
    }
    rest.pop("top_p", None)
    return json.dumps({**made, **plain(rest)}, sort_keys=True, ensure_ascii=False)
