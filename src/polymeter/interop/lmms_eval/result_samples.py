"""lmms-eval's sample files, made from the samples of a run folder: one line for each scored sample and filter.

A sample without a score (it failed, or nobody could judge it) has no line: a reader of these files takes every line
for an answer. It stands in the run folder's own samples, and ``n-samples`` of the results counts it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.stats import PairedDifference, paired_difference

Sample = Mapping[str, Any]


def samples_file(folder: Path, stamp: str, task: str) -> Path:
    """Where a task's samples go."""
    safe = "".join(sign if sign.isalnum() or sign in "-_.@" else "_" for sign in task)
    return folder / f"{stamp}_samples_{safe}.jsonl"


def filters_of(task: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of a task's filters, from its part of ``results.json``; the first is the one whose answers were kept."""
    return tuple(dict.fromkeys(result["filter"] for result in task["results"])) or ("none",)


def sample_records(read: Callable[[], Iterable[Sample]], filters: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The lines of a sample file, as plain data, in upstream's order: all samples for one filter after another.

    Args:
        read: Reads the samples as the run folder has them, anew at each call.
        filters: Names of the filters.
    """
    for number, name in enumerate(filters):
        for sample in read():
            if sample["status"] == "ok":
                record = _record(sample, name, is_first=number == 0)
                yield record | {"filter": name} if len(filters) > 1 else record


def task_hash(read: Callable[[], Iterable[Sample]]) -> str:
    """Hash over the docs of a task: changes when any of them does, or their order."""
    state = hashlib.sha256()
    for number, sample in enumerate(read()):
        state.update(f"sample_{number}{doc_hash(sample['doc'])}".encode())
    return state.hexdigest()


def doc_hash(doc: Any) -> str:
    """Hash of one row without its media."""
    return hash_text(json.dumps(doc, indent=2, ensure_ascii=False))


def hash_text(text: str) -> str:
    """SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def paired_values(task: Mapping[str, Any], lines: Iterable[Mapping[str, Any]]) -> dict[Any, float]:
    """One number for each doc of a sample file, for a comparison: ``score``, else a key that ends in ``_score``, else
    the task's first metric.
    """
    metric = task["results"][0]["metric"] if task["results"] else ""
    found: dict[Any, float] = {}
    for line in lines:
        names = ["score", *(key for key in line if key.endswith("_score")), metric]
        value = next((number for name in names if (number := _number(line.get(name))) is not None), None)
        if value is not None:
            found.setdefault(line.get("doc_id"), value)
    return found


def paired_row(ours: Mapping[Any, float], baseline: Mapping[Any, float], name: str) -> dict[str, Any]:
    """The ``paired_*`` keys of a task: a paired t-test over the docs that both have, in hundredths; empty without
    two of them.
    """
    docs = [doc for doc in ours if doc in baseline]
    if len(docs) < 2:
        return {}
    before = [baseline[doc] for doc in docs]
    test: PairedDifference = paired_difference([ours[doc] for doc in docs], before)
    low, high = test.interval or (None, None)
    return {
        "paired_baseline": name,
        "paired_baseline_score": 100 * sum(before) / len(before),
        "paired_ci_lower": None if low is None else 100 * low,
        "paired_ci_upper": None if high is None else 100 * high,
        "paired_pvalue": test.p_value,
    }


def _record(sample: Sample, filter_name: str, *, is_first: bool) -> dict[str, Any]:
    asked = [exchange for exchange in sample["exchanges"] if exchange["role"] == "model"]
    raw = _responses(asked)
    filtered = _filtered(sample["answer"], raw) if is_first else None
    record: dict[str, Any] = {
        "doc_id": sample["index"],
        "target": str(sample["target"]),
        "resps": raw,
        "filtered_resps": filtered,
        "token_counts": [_tokens(exchange) for exchange in asked],
        "doc_hash": doc_hash(sample["doc"]),
        "input": _text(asked),
    }
    if filtered is not None and (filtered == raw or (raw and filtered == raw[0])):
        del record["resps"]
    media = _media(asked)
    if media:
        record["input_media"] = media
    record.update({score["metric"]: score["value"] for score in sample["scores"] if score["filter"] == filter_name})
    return record | dict(sample["log"])


def _responses(asked: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Raw answers: the text; a list of texts for several answers or rounds; pairs of texts for likelihoods."""
    outputs = [output for exchange in asked for output in exchange["response"]["outputs"]]
    pairs = [[str(item[0]), str(item[1])] for output in outputs for item in output.get("logprobs", ())]
    if pairs:
        return pairs
    texts = [output.get("text") if output.get("text") is not None else output.get("images") for output in outputs]
    return [texts] if len(texts) > 1 else texts


def _filtered(answer: str | None, raw: list[Any]) -> list[Any]:
    """What was scored. Several answers are kept as one text for people, and are taken apart again."""
    if raw and isinstance(raw[0], list):
        if isinstance(raw[0][0], str) and len(raw) > 1:
            return raw
        for n_kept in range(2, len(raw[0]) + 1):
            kept = raw[0][:n_kept]
            if all(isinstance(text, str) for text in kept) and " | ".join(kept) == answer:
                return list(kept)
    return [] if answer is None else [answer]


def _tokens(exchange: Mapping[str, Any]) -> dict[str, int | None] | None:
    usage = [output["usage"] for output in exchange["response"]["outputs"] if output.get("usage")]
    if not usage:
        return None
    names = ("input_tokens", "output_tokens", "reasoning_tokens")
    return dict(zip(names, usage[0], strict=True))


def _text(asked: Sequence[Mapping[str, Any]]) -> str:
    """The first prompt's text, without its media and the system message."""
    parts = [part["text"] for part in _parts(asked) if "text" in part]
    return "\n\n".join(parts)


def _media(asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The first prompt's media: type, and what the run folder kept of each; files relative to the run folder."""
    found = []
    for part in _parts(asked):
        for kind, kept in part.items():
            if kind != "text":
                file = kept.get("file")
                place = {"file": f"media/{file[:2]}/{file}"} if file else {}
                found.append({"type": kind, **kept, **place})
    return found


def _parts(asked: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    request = asked[0]["request"] if asked else None
    for message in request["messages"] if request else ():
        if message["role"] != "system":
            yield from message["parts"]


def _number(value: Any) -> float | None:
    if isinstance(value, Mapping):
        value = value.get("score")
    return float(value) if isinstance(value, (int, float)) else None
