"""The samples of a run as lm-eval logs them: all rows of one chain of filters, then all of the next.

A run folder holds requests, answers and values. What it does not hold (an author's own target, what each chain of
filters made of the answers) is worked out again where the task is one of lm-eval's (``Rereading``); for other tasks,
what is shown of a sample takes its place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from polymeter.core.machine.files import replacing
from polymeter.core.machine.places import stored_at
from polymeter.core.records.stored_samples import (
    StoredSample,
    answer_text,
    first_messages,
    messages_of,
    model_exchanges,
    numbers_of,
    text_of,
)
from polymeter.core.text.codec import json_encoder
from polymeter.core.text.json_text import json_text
from polymeter.interop.lm_family.files.names import hash_text

Arguments = list[tuple[Any, ...]]
"""The arguments of each of a row's requests: ``(context, continuation)``, ``(context, settings)`` or ``(text,)``."""
Record = dict[str, Any]
"""A sample as ``simple_evaluate`` returns it."""


_SCALARS = frozenset({str, int, float, bool, type(None)})
_BEFORE_ARGUMENTS = ("doc_id", "doc", "target")
"""The keys of a record before its arguments."""
_NO_SETTINGS = frozenset({"kind", "extra", "seeds", "template"})
"""Parameters of a stored request that are not generation settings."""
Render = Callable[[list[dict[str, str]]], str]
"""A conversation as the text that the model continues."""


class Rereading(Protocol):
    """A stored sample, as a task's own files see it."""

    def number(self, sample: StoredSample) -> int:
        """The number of its row."""

    def target(self, sample: StoredSample) -> Any:
        """Return the value of its author's ``doc_to_target``."""

    def settings(self, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """The generation settings as lm-eval passes them on.

        Args:
            told: Those of the stored request.
        """

    def filtered(self, name: str, sample: StoredSample, responses: list[Any]) -> list[Any]:
        """Apply a chain of filters to the answers of each request."""


def sample_records(
    read: Callable[[], Iterable[StoredSample]],
    filters: Sequence[str],
    reread: Rereading | None = None,
    render: Render | None = None,
) -> Iterator[Record]:
    """The samples of a task that have a score, as lm-eval's Python interface gives them.

    Args:
        read: Reads the stored samples, once for each filter.
        filters: The names of the filters.
        reread: The view of the task's own files; ``None``: the task is not one of lm-eval's.
        render: The chat template that conversations were put into; ``None``: their turns are written as JSON.
    """
    for name in filters or ("none",):
        for sample in read():
            if sample["status"] == "ok":
                yield _record(sample, name, reread, render)


def file_line(record: Record) -> Record:
    """A sample as a line of ``samples_*.jsonl``: its answers as texts, its arguments by their numbers."""
    arguments = {
        f"gen_args_{number}": {f"arg_{place}": item for place, item in enumerate(arguments)}
        for number, arguments in enumerate(record["arguments"])
    }
    return {**_with_texts(record), "arguments": arguments}


def line_text(record: Record) -> str:
    """``file_line`` as JSON. A context that all requests of a row share becomes text once: with examples in it, it is
    nearly all of the line.
    """
    arguments = record["arguments"]
    shared = arguments[0][0] if len(arguments) > 1 else None
    if shared is None or any(each[0] is not shared for each in arguments):
        return _as_json(file_line(record))
    context = _as_json(shared)
    numbered = []
    for number, (_, *others) in enumerate(arguments):
        behind = "".join([f',"arg_{place}":{_as_json(item)}' for place, item in enumerate(others, 1)])
        numbered.append(f'"gen_args_{number}":{{"arg_0":{context}{behind}}}')
    line = _with_texts(record)
    before = {key: line.pop(key) for key in _BEFORE_ARGUMENTS}
    del line["arguments"]
    return f'{_as_json(before)[:-1]},"arguments":{{{",".join(numbered)}}},{_as_json(line)[1:]}'


def _with_texts(record: Record) -> Record:
    return {
        **record,
        "resps": as_texts(record["resps"]),
        "filtered_resps": as_texts(record["filtered_resps"]),
        "target": str(record["target"]),
    }


def _as_json(value: Any) -> str:
    return json_text(value, nan=None, is_compact=True)


def as_texts(value: Any) -> Any:
    """Nested lists of values as nested lists of texts."""
    if not isinstance(value, (list, tuple)):
        return str(value)
    return [item if type(item) is str else as_texts(item) for item in value]


class TaskHash:
    """The hash of a task's samples, added one after another."""

    def __init__(self) -> None:
        self._state = hashlib.sha256()

    def add(self, line: Record) -> None:
        """Add the next sample."""
        self._state.update((line["doc_hash"] + line["prompt_hash"] + line["target_hash"]).encode())

    def hexdigest(self) -> str:
        """The hash of all that were added."""
        return self._state.hexdigest()


def write_lines(path: Path, records: Iterable[Record]) -> str:
    """Write the samples of a task as ``samples_*.jsonl``.

    Returns:
        Their hash.
    """
    state = TaskHash()
    with stored_at(path, "Writing samples"), replacing(path) as file:
        for record in records:
            state.add(record)
            file.write(f"{line_text(record)}\n")
    return state.hexdigest()


def indented(doc: Any, margin: str = "\n") -> str:
    """Return the text of ``json.dumps(doc, indent=2, ensure_ascii=False)`` for plain JSON data, in a fraction of the
    time: Python's compiled encoder cannot indent, but writes whatever holds no other list or dictionary.

    Args:
        doc: A row, or a part of one.
        margin: What a line of it begins with, after the line break that this begins with itself.
    """
    if not doc or not isinstance(doc, (dict, list)):
        return _encoder(", ")(doc)
    inner = f"{margin}  "
    items = doc.values() if isinstance(doc, dict) else doc
    if _SCALARS.issuperset(map(type, items)):
        text = _encoder(f",{inner}")(doc)
        return f"{text[0]}{inner}{text[1:-1]}{margin}{text[-1]}"
    if isinstance(doc, list):
        return f"[{inner}{f',{inner}'.join([indented(item, inner) for item in doc])}{margin}]"
    members = [f"{_encoder(', ')(name)}: {indented(item, inner)}" for name, item in doc.items()]
    return f"{{{inner}{f',{inner}'.join(members)}{margin}}}"


def _record(sample: StoredSample, name: str, reread: Rereading | None, render: Render | None) -> Record:
    arguments, responses = _asked_and_answered(sample, render)
    prompt = arguments[0][0] if arguments else text_of(first_messages(sample))
    if reread is None:
        target, number = str(sample["target"]), sample["index"]
        filtered = [of_request[0] for of_request in responses if of_request]
        if responses and isinstance(filtered[0], str):
            filtered = [answer_text(sample) or ""]
        values: Mapping[str, Any] = {metric: value for (metric, of), value in numbers_of(sample).items() if of == name}
    else:
        target, number = reread.target(sample), reread.number(sample)
        arguments = [_as_written(pair, reread) for pair in arguments]
        filtered = reread.filtered(name, sample, responses)
        values = {score["metric"]: score["value"] for score in sample["scores"] if score["filter"] == name}
    return {
        "doc_id": number,
        "doc": sample["doc"],
        "target": target,
        "arguments": arguments,
        "resps": responses,
        "filtered_resps": filtered,
        "filter": name,
        "metrics": list(values),
        "doc_hash": hash_text(indented(sample["doc"])),
        "prompt_hash": hash_text(prompt),
        "target_hash": hash_text(str(target)),
        **values,
    }


# Kept for the life of the process: an encoder has no state, and each part of a row needs one.
@lru_cache(maxsize=64)
def _encoder(separator: str) -> Callable[[Any], str]:
    return json_encoder(separators=(separator, ": "))


def _as_written(arguments: tuple[Any, ...], reread: Rereading) -> tuple[Any, ...]:
    return tuple([dict(reread.settings(item)) if isinstance(item, Mapping) else item for item in arguments])


def _asked_and_answered(sample: StoredSample, render: Render | None) -> tuple[Arguments, list[Any]]:
    """The arguments of each of lm-eval's requests for a row, and its answers: one for each repeat."""
    arguments: Arguments = []
    responses: list[Any] = []
    asked_all = model_exchanges(sample)
    of_requests = [asked_all] if len(asked_all) == 1 else [list(own) for _, own in groupby(asked_all, key=_asked_alike)]
    for exchanges in of_requests:
        asked: Mapping[str, Any] = (exchanges[0]["request"] or {}).get("ask") or {}
        context = _context(messages_of(exchanges[0]), asked, render)
        if asked.get("continuations"):
            for exchange in exchanges:
                told = (exchange["request"] or {}).get("ask") or {}
                outputs = exchange["response"]["outputs"]
                logprobs = (outputs[0].get("logprobs") if outputs else None) or ()
                for continuation, answer in zip(told["continuations"], logprobs, strict=False):
                    is_rolling = bool(told.get("is_rolling"))
                    arguments.append((continuation,) if is_rolling else (context, continuation))
                    responses.append([answer[0] if is_rolling else (answer[0], answer[1])])
            continue
        arguments.append((context, _settings(asked)))
        responses.append([_said(output) for exchange in exchanges for output in exchange["response"]["outputs"]])
    return arguments, responses


def _asked_alike(exchange: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the properties that the repeats of one request share: its messages, its kind, and the settings of a
    generated answer. Continuations of one context that do not come together are one request's too.
    """
    asked: Mapping[str, Any] = (exchange["request"] or {}).get("ask") or {}
    is_measured = bool(asked.get("continuations"))
    return messages_of(exchange), asked.get("kind"), None if is_measured else _settings(asked)


def _settings(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The generation settings of a stored request."""
    settings = {key: value for key, value in asked.items() if key not in _NO_SETTINGS}
    return {**settings, **asked["extra"]} if asked.get("extra") else settings


def _context(messages: Sequence[Mapping[str, Any]], asked: Mapping[str, Any], render: Render | None) -> str:
    """The text before an answer; of a conversation, in the model's template or as JSON."""
    if asked.get("template") == "chat":
        turns = [{"role": message["role"], "content": text_of([message])} for message in messages]
        return render(turns) if render is not None else json.dumps(turns, ensure_ascii=False)
    return text_of(messages)


def _said(output: Mapping[str, Any]) -> str:
    return str(output["text"]) if output.get("text") is not None else " ".join(output.get("images") or ())
