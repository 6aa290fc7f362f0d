"""Parts of EvalScope 1.x's reviews that no score holds: the place of a sample among its repeats, what was expected of
a sample without a score and what its judge said, the conversation that an adapter led, and the values that an adapter
gave to many samples at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from polymeter.core.acting.tools import Call
from polymeter.core.names.stable_names import TASK_FORMAT
from polymeter.core.records.exporting import ExportJob
from polymeter.core.records.stored_samples import StoredSample, messages_of
from polymeter.core.text.chat_logs import chat_messages
from polymeter.interop.evalscope.export_parts import index_of
from polymeter.interop.evalscope.tasks.index import NAME_1X
from polymeter.interop.evalscope.v1.constants import DataCollection
from polymeter.interop.evalscope.v1.tasks.reduction import BATCH_SCORES

_JUDGE = "judge"


class RepeatPlace(NamedTuple):
    """The question that a sample repeats, and which of its repeats it is."""

    group: int
    number: int


class RepeatPlaces:
    """The places of samples among their repeats, which are neighbours."""

    def __init__(self) -> None:
        self._cluster: Any = None
        self._number = 0

    def next(self, sample: StoredSample) -> RepeatPlace:
        """Return the place of the next sample in order."""
        cluster = sample["cluster"]
        self._number = self._number + 1 if cluster is not None and cluster == self._cluster else 0
        self._cluster = cluster
        question = str(cluster or "").rpartition("/")[2]
        return RepeatPlace(int(question) if question.isdecimal() else index_of(sample), self._number)


def is_task_of_1x(job: ExportJob, task: str) -> bool:
    """Return whether the rows of a task are samples of EvalScope 1.x, each with its target and its metadata."""
    formats = {entry["name"]: entry.get(TASK_FORMAT) for entry in job.manifest["tasks"]}
    if task != DataCollection.NAME:
        return formats.get(task) == NAME_1X
    first = next(iter(job.read(task)), None)
    return first is not None and is_of_collection(first)


def is_of_collection(sample: StoredSample) -> bool:
    """Return whether a sample was drawn from a benchmark of EvalScope 1.x, whose metadata says from which."""
    doc = sample["doc"] if isinstance(sample["doc"], Mapping) else {}
    metadata = doc.get("metadata")
    return isinstance(metadata, Mapping) and DataCollection.INFO in metadata


def targets_of(sample: StoredSample, *, is_of_1x: bool) -> list[str] | None:
    """Return what was expected of a sample; a row of EvalScope 1.x says it even where there is no score."""
    expected = sample["target"]
    if not expected and is_of_1x and isinstance(sample["doc"], Mapping):
        expected = sample["doc"].get("target")
    listed = expected if isinstance(expected, list) else [expected]
    plain = dict.fromkeys(str(one).strip() for one in listed if one)
    return [one for one in plain if one] or None


def judged_in_vain(sample: StoredSample, job: ExportJob) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the summary of judges that gave no verdict on a sample, and their replies; nothing if none was asked."""
    asked = [exchange for exchange in sample["exchanges"] if str(exchange["role"]).startswith(_JUDGE)]
    why = sample["error"]
    error = str(why.get("message", why)) if isinstance(why, Mapping) else str(why or "")
    if not asked:
        return None, {"error": error} if error else {}
    attempts = []
    for exchange in asked:
        outputs = (exchange.get("response") or {}).get("outputs") or ()
        replies = [str(output["text"]) for output in outputs if output.get("text") is not None]
        attempts.append(
            {
                "judge_id": str(exchange["role"]),
                "messages": chat_messages(messages_of(exchange), job, written_call),
                "raw_response": replies[0] if replies else None,
            }
        )
    summary = {
        "status": "excluded",
        "scored": 0,
        "total": 1,
        "coverage": 0.0,
        "judge_models": list(dict.fromkeys(attempt["judge_id"] for attempt in attempts)),
        "valid_observations": 0,
        "total_observations": len(attempts),
        "failures": {},
        "disagreement": {},
        "error": error or None,
    }
    return summary, {"source": "llm_judge", "judge_attempts": attempts}


def written_call(call: Call) -> dict[str, Any]:
    """A call as EvalScope 1.x writes one."""
    return {"function": {"name": call.name, "arguments": dict(call.arguments or {})}}


def led_messages(led: Sequence[Mapping[str, Any]], sample: StoredSample, job: ExportJob) -> Iterator[dict[str, Any]]:
    """The messages of a conversation that an adapter led, as its score has noted them, with the media that stand in the
    requests of the sample.

    Args:
        led: Of each message its role and its parts: texts, and the kinds of media.
        sample: The sample.
        job: The run.
    """
    sent = [message for exchange in sample["exchanges"] for message in messages_of(exchange)]
    for message in led:
        parts = message["parts"]
        same = next((one for one in sent if one["role"] == message["role"] and _kinds(one["parts"]) == parts), None)
        if same is not None:
            yield from chat_messages([same], job, written_call)
            continue
        texts = [part if kind == "text" else f"[{kind}]" for kind, part in parts]
        content = texts[0] if len(texts) == 1 else [{"type": "text", "text": text} for text in texts]
        yield {"role": message["role"], "content": content}


def _kinds(parts: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The parts of a stored message as ``led_messages`` has them."""
    return [[kind, str(kept) if kind == "text" else ""] for part in parts for kind, kept in part.items()]


def batch_scores(artifacts: Path, task: str) -> Mapping[str, Mapping[str, Any]]:
    """Return what ``batch_match_score`` has added to the scores of a task's samples, by sample."""
    file = artifacts / BATCH_SCORES / f"{task}.json"
    found: Mapping[str, Mapping[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found
