"""EvalScope's prediction and review files, made from the samples of a run folder: one line for each sample.

A prediction is what the model gave, in the form of an OpenAI response; a review is the same with how each answer was
scored. A sample without an answer has no line in either, one that could not be scored none among the reviews; the run
folder has them all, with the reasons.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Sample = Mapping[str, Any]
_ROLE = "model"


def file_name(dataset: str, subset: str) -> str:
    """The name of a subset's file."""
    return "".join(sign if sign not in '/\\:*?"<>|' else "_" for sign in f"{dataset}_{subset}") + ".jsonl"


def prediction_records(samples: Iterable[Sample], model_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Subset and prediction of every sample that was answered, in sample order.

    Args:
        samples: As the run folder has them.
        model_id: The model's name in reports.
    """
    for sample in samples:
        asked = [exchange for exchange in sample["exchanges"] if exchange["role"] == _ROLE]
        if asked:
            yield subset_of(sample), _prediction(sample, asked, model_id)


def review_records(samples: Iterable[Sample], model_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Subset and review of every sample that was scored, in sample order; see ``prediction_records``."""
    for sample in samples:
        reviews = sample["log"].get("reviews")
        asked = [exchange for exchange in sample["exchanges"] if exchange["role"] == _ROLE]
        if sample["status"] == "ok" and reviews and asked:
            yield subset_of(sample), _review(sample, _prediction(sample, asked, model_id), reviews)


def subset_of(sample: Sample) -> str:
    """The subset that a sample belongs to."""
    return str(sample["subset"][0]) if sample["subset"] else "default"


def _prediction(sample: Sample, asked: list[Mapping[str, Any]], model_id: str) -> dict[str, Any]:
    request = asked[0]["request"]
    outputs = [output for exchange in asked for output in exchange["response"]["outputs"]]
    counts = [output["usage"] for output in outputs if output.get("usage")]
    inputs, answers = (sum(usage[place] or 0 for usage in counts) for place in (0, 1))
    return {
        "choices": _made(sample) or [_choice(number, output) for number, output in enumerate(outputs)],
        "model": model_id,
        "object": "chat.completion",
        "usage": {"prompt_tokens": inputs, "completion_tokens": answers, "total_tokens": inputs + answers},
        "model_spec": {"model_id": model_id, "generation_config": (request or {}).get("ask", {})},
        "answer_id": _digest([model_id, request]),
        "subset_name": subset_of(sample),
        "raw_input": sample["doc"],
        "index": _index(sample),
    }


def _review(sample: Sample, prediction: dict[str, Any], reviews: list[Any]) -> dict[str, Any]:
    choices = prediction["choices"]
    if len(choices) != len(reviews):  # several requests, or log-probabilities, that come to one answer
        message = {"role": "assistant", "content": sample.get("answer")}
        choices = [{"index": number, "message": message} for number in range(len(reviews))]
    return {
        **prediction,
        "choices": [{**choice, "review": review} for choice, review in zip(choices, reviews, strict=True)],
        "reviewed": True,
        "review_id": _digest([prediction["answer_id"], reviews]),
    }


def _made(sample: Sample) -> list[dict[str, Any]]:
    """Answers that were made of log-probabilities: the likeliest choice, or one number for each continuation."""
    return [
        {"index": number, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        for number, content in enumerate(sample["log"].get("contents", ()))
    ]


def _choice(number: int, output: Mapping[str, Any]) -> dict[str, Any]:
    content: Any = output.get("text")
    if content is None:
        content = output.get("logprobs") or output.get("images")
    message = {"role": "assistant", "content": content}
    if output.get("reasoning"):
        message["reasoning_content"] = output["reasoning"]
    return {"index": number, "finish_reason": output.get("finish_reason"), "message": message}


def _index(sample: Sample) -> int:
    place = str(sample["id"]).rpartition("/")[2]
    return int(place) if place.isdecimal() else int(sample["index"])


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).hexdigest()
