"""Turns the results and samples of both tools, which have one form, into observations."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from conformance.frame import Observation, plain

# What a line of samples says beside its scores.
_ABOUT = {
    "arguments", "doc", "doc_hash", "doc_id", "filter", "filtered_resps", "metrics", "prompt_hash", "resps", "target",
    "target_hash",
}  # fmt: skip


def observed(
    task: str, model: str, row: Mapping[str, Any], lines: Iterable[Mapping[str, Any]], about: Mapping[str, Any]
) -> Observation:
    """One case with one model.

    Args:
        task: The case's name.
        model: Who answered.
        row: The task's row of results.
        lines: Its samples; with several filters, a sample has a line for each.
        about: What else the results say of the task and is to be the same.
    """
    values = {name: plain(value) for name, value in row.items() if "," in name or name == "sample_len"}
    made = Observation(task, model, values={**values, **{name: plain(value) for name, value in about.items()}})
    seen = Counter[Any]()
    for line in lines:
        number = line["doc_id"]
        place = f"{number}.{seen[number]}"
        seen[number] += 1
        scores = {name: plain(value) for name, value in line.items() if name not in _ABOUT}
        answers = {"resps": _numbers(line["resps"]), "filtered": _numbers(line["filtered_resps"])}
        made.samples[place] = {**scores, **answers, "target": str(line["target"])}
        if seen[number] == 1:
            for place_of_request, given in enumerate(_given(line["arguments"])):
                made.prompts[f"{number}.{place_of_request}"] = str(given[0])
                rest = json.dumps(plain(given[1:]), sort_keys=True, ensure_ascii=False)
                made.prompts[f"{number}.{place_of_request} settings"] = rest
    return made


def _given(arguments: Any) -> list[list[Any]]:
    """The arguments of each request of a sample: as the API has them, or as the file of samples names them."""
    if isinstance(arguments, Mapping):
        return [list(one.values()) for one in arguments.values()]
    return [list(one) for one in arguments]


def _numbers(value: Any) -> Any:
    """Answers in one form: what the file of samples holds as text is read back."""
    value = plain(value)
    if isinstance(value, list):
        return [_numbers(one) for one in value]
    if isinstance(value, str) and value in {"True", "False"}:
        return value == "True"
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value
