"""A run of any format as Inspect's logs: one ``.eval`` file for each task, in version 2 of their format.

Such a file is a zip archive: ``header.json`` (what was run, and its results), ``summaries.json`` and one file below
``samples/`` for each sample. Each metric under each filter is a score of its own; a sample without one has an error.
Nothing in a log is of the moment of the export, so the same run gives the same bytes.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from polymeter.core.acting.tools import Call
from polymeter.core.machine.files import replacing
from polymeter.core.machine.places import stored_at
from polymeter.core.media.sources import digest
from polymeter.core.records.exporting import ExportJob
from polymeter.core.records.stored_samples import (
    StoredSample,
    answer_text,
    error_text,
    first_messages,
    messages_of,
    model_outputs,
    named,
    numbers_of,
    tokens_of,
)
from polymeter.core.text.chat_logs import chat_choices, chat_messages, last_exchanges
from polymeter.core.text.json_text import json_text

_VERSION = 2
_STATUS = {"complete": "success", "interrupted": "cancelled", "stopped": "error", "failed": "error"}
"""The status of a log, by the status of the run. A run that is still running, or was killed, is ``started``."""
_LONGEST_SUMMARY = 1000
_NO_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of a member of an archive: the earliest that a zip file can hold."""


def write_export(job: ExportJob) -> None:
    """Write a log for each task.

    Args:
        job: The run.
    """
    for task in job.results["tasks"]:
        key = _key(job, task)
        # Inspect separates the parts of such a name by underscores, and so has none in the name of a task.
        name = _safe_name(task).replace("_", "-")
        path = job.folder / f"{_file_time(job.manifest['started'])}_{name}_{key}.eval"
        with (
            stored_at(path, "Writing the log"),
            replacing(path, binary=True) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            _write_log(job, task, key, archive)
    if any(result.get("interval") for task in job.results["tasks"].values() for result in task["results"]):
        job.leave_out("intervals")
    if job.results["groups"]:
        job.leave_out("numbers of groups")


def _write_log(job: ExportJob, task: str, key: str, archive: zipfile.ZipFile) -> None:
    summaries, ids = [], []
    for sample in job.read(task):
        entry = _sample(job, sample, key)
        _add(archive, f"samples/{_safe_name(entry['id'])}_epoch_1.json", entry)
        summaries.append(_summary(entry))
        ids.append(entry["id"])
    _add(archive, "summaries.json", summaries)
    _add(archive, "header.json", _header(job, task, key, ids))


def _add(archive: zipfile.ZipFile, name: str, value: Any) -> None:
    member = zipfile.ZipInfo(name, _NO_TIME)
    member.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(member, json_text(value, nan=None, is_compact=True).encode("utf-8", "backslashreplace"))


def _header(job: ExportJob, task: str, key: str, ids: Sequence[str]) -> dict[str, Any]:
    manifest = job.manifest
    planned = job.planned(task)
    own = job.results["tasks"][task]
    options = manifest["options"]["identity"]
    scores = _scores(own)
    status = _STATUS.get(str(manifest["status"]), "started")
    header: dict[str, Any] = {
        "version": _VERSION,
        "status": status,
        "eval": {
            "eval_id": _identity("eval", key),
            "run_id": _identity("run", str(manifest["started"]), job.model),
            "created": _time(manifest["started"]),
            "task": task,
            "task_id": key,
            "task_version": str(own["version"] or 0),
            "task_display_name": own["alias"] or task,
            "task_attribs": {},
            "task_args": {},
            "task_args_passed": {},
            "dataset": {
                "name": str(planned["config"].get("dataset_path") or task),
                "samples": own["n_samples"],
                "sample_ids": list(ids),
                "shuffled": False,
            },
            "model": job.model,
            "model_generate_config": {},
            "model_args": job.model_args,
            "config": {"epochs": 1, **({"limit": options["limit"]} if isinstance(options.get("limit"), int) else {})},
            "packages": {"polymeter": str(manifest["polymeter"]["version"])},
            "scorers": [{"name": score["name"], "options": {}, "metrics": [], "metadata": {}} for score in scores],
            "metadata": {"polymeter_format": planned["dialect"], "polymeter_source_hash": planned["source_hash"]},
        },
        "plan": {"name": "plan", "steps": [{"solver": "polymeter", "params": {}}], "config": {}},
        "results": {
            "total_samples": own["n_samples"],
            "completed_samples": sum(own["statuses"].values()),
            "scores": scores,
        },
        "stats": {
            "started_at": _time(manifest["started"]),
            "completed_at": _time(manifest["ended"]) if manifest.get("ended") else "",
            "model_usage": {},
        },
    }
    if status == "error":
        header["error"] = _error("The run was stopped.")
    return header


def _scores(own: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The results of a task: each metric under each filter with its mean, its standard error and those of subsets."""
    scores: dict[str, dict[str, Any]] = {}
    for result in own["results"]:
        name = named(result["metric"], result["filter"])
        score = scores.setdefault(
            name,
            {
                "name": name,
                "scorer": name,
                "scored_samples": own["n_scored"],
                "unscored_samples": own["n_samples"] - own["n_scored"],
                "params": {},
                "metrics": {},
            },
        )
        way = "mean" if result["stderr_method"] == "mean" else "value"
        for kind, value in ((way, result["value"]), ("stderr", result["stderr"])):
            if isinstance(value, (int, float)) and abs(value) < float("inf"):
                metric = "/".join([*map(str, result["subset"]), kind])
                score["metrics"][metric] = {"name": metric, "value": value, "params": {}}
    return list(scores.values())


def _written_call(call: Call) -> dict[str, Any]:
    return {"function": call.name, "arguments": dict(call.arguments or {})}


def _sample(job: ExportJob, sample: StoredSample, key: str) -> dict[str, Any]:
    asked = chat_messages(first_messages(sample), job, _written_call)
    ended = last_exchanges(sample)
    choices = chat_choices(sample, job, _written_call)
    said = chat_messages(messages_of(ended[0]), job, _written_call) if ended else []
    answer = answer_text(sample)
    tokens = tokens_of(sample)
    outputs = model_outputs(sample)
    usage = {} if tokens is None else {"usage": _usage(tokens)}
    is_text = len(asked) == 1 and isinstance(asked[0]["content"], str)
    continuations = next((_continuations(exchange) for exchange in ended), None)
    ranked = next((output["logprobs"] for output in outputs if output.get("logprobs")), None)
    entry = {
        "id": str(sample["id"]),
        "epoch": 1,
        "input": asked[0]["content"] if is_text else asked,
        **({"choices": continuations} if continuations else {}),
        "target": "" if sample["target"] is None else str(sample["target"]),
        "messages": [*said, *(choice["message"] for choice in choices[:1])],
        "output": {
            "model": job.model,
            "choices": choices,
            "completion": "" if answer is None else answer,
            **usage,
        },
        "scores": {
            named(*name): {
                "value": value,
                "answer": answer,
                "explanation": sample["explanation"],
                "history": [],
            }
            for name, value in numbers_of(sample).items()
        },
        "metadata": {
            "index": sample["index"],
            "subset": list(sample["subset"]),
            "cluster": sample["cluster"],
            "status": sample["status"],
            "doc": sample["doc"],
            **({"logprobs": ranked} if ranked else {}),
        },
        "store": {},
        "events": [],
        "model_usage": {} if tokens is None else {job.model: _usage(tokens)},
        "uuid": _identity(key, str(sample["id"])),
        "attachments": {},
    }
    if sample["status"] != "ok":
        entry["error"] = _error(error_text(sample) or f"The sample ended as {sample['status']}.")
    return entry


def _summary(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sample as the viewer lists it: no rows, no media, and the beginning of long texts."""
    given = entry["input"]
    if not isinstance(given, str):
        texts = [message["content"] for message in given if isinstance(message["content"], str)]
        parts = [part for message in given if not isinstance(message["content"], str) for part in message["content"]]
        given = "\n".join([*texts, *(part.get("text", f"[{part['type']}]") for part in parts)])
    return {
        "id": entry["id"],
        "epoch": 1,
        "input": given[:_LONGEST_SUMMARY],
        "target": entry["target"][:_LONGEST_SUMMARY],
        "scores": entry["scores"],
        "model_usage": entry["model_usage"],
        "uuid": entry["uuid"],
        "completed": True,
        "message_count": len(entry["messages"]),
        **({"error": entry["error"]["message"]} if "error" in entry else {}),
    }


def _continuations(exchange: Mapping[str, Any]) -> list[str] | None:
    found = ((exchange.get("request") or {}).get("ask") or {}).get("continuations")
    return None if found is None else [str(text) for text in found]


def _usage(tokens: tuple[int, int]) -> dict[str, int]:
    return {"input_tokens": tokens[0], "output_tokens": tokens[1], "total_tokens": sum(tokens)}


def _error(message: str) -> dict[str, str]:
    return {"message": message, "traceback": "", "traceback_ansi": ""}


def _key(job: ExportJob, task: str) -> str:
    return _identity(str(job.manifest["started"]), job.model, task)


def _identity(*words: str) -> str:
    """A name as Inspect gives things: 22 characters, here derived from what is named."""
    return digest("\0".join(words).encode("utf-8", "surrogatepass"))[:22]


def _safe_name(name: str) -> str:
    """A name within a file name; the digest keeps apart what differs only in the replaced characters."""
    safe = re.sub(r"[^\w.@-]", "-", name)[:120]
    return safe if safe == name else f"{safe}-{digest(name.encode('utf-8', 'surrogatepass'))[:8]}"


def _time(moment: Any) -> str:
    return datetime.fromisoformat(str(moment)).isoformat()


def _file_time(moment: Any) -> str:
    return re.sub(r"[:+.]", "-", _time(moment))
