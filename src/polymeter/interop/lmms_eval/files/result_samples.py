"""lmms-eval's sample files, made from the samples of a run folder: one line for each scored sample and filter.

A sample without a score (it failed, or the judge gave no verdict) has no line, because readers of these files take
every line for an answer. The run folder's own samples contain it, and ``n-samples`` of the results counts it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.interop.lm_family.files.names import hash_text
from polymeter.interop.lmms_eval.files.efficiency import as_number
from polymeter.interop.lmms_eval.files.filtered_answers import FilteredAnswers
from polymeter.stats import PairedDifference, paired_difference, t_interval
from polymeter.tasks.yaml.scoring.item_errors import ItemErrors, number_of
from polymeter.tasks.yaml.scoring.item_errors import item_errors as errors_of

Sample = Mapping[str, Any]


def samples_file(folder: Path, stamp: str, task: str) -> Path:
    """The path of a task's sample file."""
    safe = "".join(character if character.isalnum() or character in "-_.@" else "_" for character in task)
    return folder / f"{stamp}_samples_{safe}.jsonl"


def sample_records(
    read: Callable[[], Iterable[Sample]],
    filters: Sequence[str],
    parity: Parity = NO_PARITY,
    filtered: Mapping[str, FilteredAnswers] = MappingProxyType({}),
) -> Iterator[dict[str, Any]]:
    """The samples as ``simple_evaluate`` gives them, in lmms-eval's order: all of one filter, then of the next.

    Args:
        read: Reads the run folder's samples from the start at each call.
        filters: Names of the filters.
        parity: Whether a doc's hash is lmms-eval's.
        filtered: What the filters make of answers, by name. Without one, only what the first filter made is known.
    """
    for number, name in enumerate(filters):
        for sample in read():
            if sample["status"] == "ok":
                record = _record(sample, name, parity, filtered.get(name), is_first=number == 0)
                yield record | {"filter": name} if len(filters) > 1 else record


def file_line(record: Mapping[str, Any]) -> dict[str, Any]:
    """A sample as its file has it: a list of what answers one request is that alone, and raw answers that are equal to
    the filtered ones are left out.
    """
    line = dict(record)
    for key in ("resps", "filtered_resps"):
        if isinstance(line[key], list) and len(line[key]) == 1:
            line[key] = line[key][0]
    if line["resps"] in (line["filtered_resps"], [line["filtered_resps"]]):
        del line["resps"]
    return line


def task_hash(read: Callable[[], Iterable[Sample]], parity: Parity = NO_PARITY) -> str:
    """Hash of a task's docs and their order."""
    state = hashlib.sha256()
    for number, sample in enumerate(read()):
        state.update(f"sample_{number}{doc_hash(sample['doc'], parity)}".encode())
    return state.hexdigest()


def doc_hash(doc: Any, parity: Parity = NO_PARITY) -> str:
    """Hash of one row without its media; lmms-eval's is that of no row."""
    if parity.on("doc-hash"):
        doc = None
    return hash_text(json.dumps(doc, indent=2, ensure_ascii=False))


def item_errors(
    read: Callable[[], Iterable[Sample]], score_key: str, cluster_key: str | None
) -> dict[tuple[str, str], ItemErrors]:
    """lmms-eval's own two standard errors of each metric and filter, whatever its aggregation: that of the mean of the
    samples' numbers, and the clustered one. A number is a sample's value, or what a dictionary holds under
    ``score_key``.

    ``None`` for fewer than two numbers or clusters. A sample's cluster is what such a dictionary holds under
    ``cluster_key``, else that of its row.

    Args:
        read: Reads the run folder's samples from the start.
        score_key: The task's ``score_key``.
        cluster_key: The task's ``cluster_key``.
    """
    numbers: dict[tuple[str, str], list[tuple[float, Any]]] = {}
    for sample in read():
        for score in sample["scores"]:
            number = number_of(score["value"], score_key, cluster_key, sample.get("cluster"))
            if number is not None:
                numbers.setdefault((score["metric"], score["filter"]), []).append(number)
    return {key: errors_of(own) for key, own in numbers.items()}


def paired_values(task: Mapping[str, Any], lines: Iterable[Mapping[str, Any]]) -> dict[Any, float]:
    """One number for each doc of a sample file, for a comparison: ``score``, else the first key that ends in
    ``_score``, else the task's first metric.
    """
    metric = task["results"][0]["metric"] if task["results"] else ""
    values: dict[Any, float] = {}
    for line in lines:
        names = ["score", *(key for key in line if key.endswith("_score")), metric]
        value = next((number for name in names if (number := as_number(line.get(name))) is not None), None)
        if value is not None:
            values.setdefault(line.get("doc_id"), value)
    return values


def paired_row(ours: Mapping[Any, float], baseline: Mapping[Any, float], name: str) -> dict[str, Any]:
    """The ``paired_*`` keys of a task: a paired t-test over the docs that both have, in percent; empty if they have
    fewer than two in common.
    """
    docs = [doc for doc in ours if doc in baseline]
    if len(docs) < 2:
        return {}
    before = [baseline[doc] for doc in docs]
    test: PairedDifference = paired_difference([ours[doc] for doc in docs], before)
    # The interval of the t-test, whatever the number of docs: it is lmms-eval's own number.
    low = high = None
    if test.difference is not None and test.stderr is not None and test.df is not None:
        low, high = t_interval(test.difference, test.stderr, test.df)
    return {
        "paired_baseline": name,
        "paired_baseline_score": 100 * sum(before) / len(before),
        "paired_ci_lower": None if low is None else 100 * low,
        "paired_ci_upper": None if high is None else 100 * high,
        "paired_pvalue": test.p_value,
    }


def _record(
    sample: Sample, filter_name: str, parity: Parity, read: FilteredAnswers | None, *, is_first: bool
) -> dict[str, Any]:
    exchanges = [exchange for exchange in sample["exchanges"] if exchange["role"] == "model"]
    raw = _responses(exchanges)
    filtered = _filtered(sample["answer"], raw) if is_first else None
    texts = raw[0] if raw and isinstance(raw[0], list) else raw
    if read is not None and texts and all(isinstance(text, str) for text in texts):
        filtered = [read(texts, sample["doc"])]
    record: dict[str, Any] = {
        "doc_id": sample["index"],
        "target": str(sample["target"]),
        "resps": raw,
        "filtered_resps": filtered,
        "token_counts": [_tokens(exchange) for exchange in exchanges],
        "doc_hash": doc_hash(sample["doc"], parity),
        "input": _text(exchanges),
    }
    media = _media(exchanges)
    if media:
        record["input_media"] = media
    record.update({score["metric"]: score["value"] for score in sample["scores"] if score["filter"] == filter_name})
    return record | dict(sample["log"])


def _responses(exchanges: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Raw answers: the text; a list of texts for several answers or rounds; pairs of texts for log-likelihoods."""
    outputs = [output for exchange in exchanges for output in exchange["response"]["outputs"]]
    pairs = [[str(item[0]), str(item[1])] for output in outputs for item in output.get("logprobs", ())]
    if pairs:
        return pairs
    texts = [output.get("text") if output.get("text") is not None else output.get("images") for output in outputs]
    return [texts] if len(texts) > 1 else texts


def _filtered(answer: str | None, raw: list[Any]) -> list[Any]:
    """Return the scored answers. The run folder joins several answers into one readable text, which is split again
    here.
    """
    if raw and isinstance(raw[0], list):
        if isinstance(raw[0][0], str) and len(raw) > 1:
            return raw
        for n_kept in range(2, len(raw[0]) + 1):
            kept = raw[0][:n_kept]
            if all(isinstance(text, str) for text in kept) and " | ".join(kept) == answer:
                return [list(kept)]
    return [] if answer is None else [answer]


def _tokens(exchange: Mapping[str, Any]) -> dict[str, int | None] | None:
    usage = [output["usage"] for output in exchange["response"]["outputs"] if output.get("usage")]
    if not usage:
        return None
    names = ("input_tokens", "output_tokens", "reasoning_tokens")
    return dict(zip(names, usage[0], strict=True))


def _text(exchanges: Sequence[Mapping[str, Any]]) -> str:
    """The text of the first prompt, without the system message."""
    parts = [part["text"] for part in _parts(exchanges) if "text" in part]
    return "\n\n".join(parts)


def _media(exchanges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The media of the first prompt: type, and what the run folder keeps of each; files relative to the run folder."""
    media = []
    for part in _parts(exchanges):
        for kind, kept in part.items():
            if kind != "text":
                file = kept.get("file")
                path = {"file": f"media/{file[:2]}/{file}"} if file else {}
                media.append({"type": kind, **kept, **path})
    return media


def _parts(exchanges: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    request = exchanges[0]["request"] if exchanges else None
    for message in request["messages"] if request else ():
        if message["role"] != "system":
            yield from message["parts"]
