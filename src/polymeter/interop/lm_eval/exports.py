"""A run of any format as lm-evaluation-harness's files: ``MODEL/results_TIME.json`` and
``MODEL/samples_TASK_TIME.jsonl``.

Every number comes from ``results.json``. What a run does not have (the tokenizer's tokens, PyTorch's environment) is
left out, as the harness itself leaves out what it does not know.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from polymeter.core.exporting import ExportJob
from polymeter.core.files import replacing
from polymeter.core.json_text import json_text
from polymeter.core.places import stored_at
from polymeter.core.stored_samples import (
    StoredSample,
    answer_text,
    first_messages,
    images_of,
    media_of,
    messages_of,
    model_exchanges,
    numbers_of,
    text_of,
)

_UNSAFE = re.compile(r"[\"<>:/|\\?*\[\]]+")
_NO_ERROR = "N/A"
_NO_VERSION = "Yaml"


def write_export(job: ExportJob) -> None:
    """Write the files of ``lm_eval run --log_samples --output_path``.

    Args:
        job: The run.
    """
    name = _UNSAFE.sub("__", job.model)
    # The reader takes what follows the last underscore for the time, and for the task what stands before it.
    stamp = datetime.fromisoformat(job.stamp).replace(tzinfo=None).isoformat().replace(":", "-")
    folder = job.folder / name
    hashes = {}
    for task in job.results["tasks"]:
        state = hashlib.sha256()
        path = folder / f"samples_{_UNSAFE.sub('__', task)}_{stamp}.jsonl"
        with stored_at(path, "Writing samples"), replacing(path) as file:
            for line in _lines(job, task):
                state.update((line["doc_hash"] + line["prompt_hash"] + line["target_hash"]).encode())
                file.write(json_text(line, nan=None, is_compact=True))
                file.write("\n")
        hashes[task] = state.hexdigest()
    path = folder / f"results_{stamp}.json"
    with stored_at(path, "Writing results"), replacing(path) as file:
        file.write(json_text(_document(job, name, hashes), nan=None, indent=2))
    job.leave_out_usual()


def _lines(job: ExportJob, task: str) -> Iterator[dict[str, Any]]:
    """The samples of a task with a score: all of one filter, then of the next, as the harness writes them."""
    results = job.results["tasks"][task]["results"]
    for name in dict.fromkeys(result["filter"] for result in results) or ("none",):
        for sample in job.read(task):
            if sample["status"] == "ok":
                if any(media_of(first_messages(sample))) or images_of(sample):
                    job.leave_out("images and other media")
                yield _line(sample, name)


def _line(sample: StoredSample, name: str) -> dict[str, Any]:
    requests = [list(same) for _, same in groupby(model_exchanges(sample), key=_asked)]
    arguments, responses = _choices(requests) or _generations(requests)
    filtered = [of_request[0] for of_request in responses if of_request]
    if responses and isinstance(filtered[0], str):
        filtered = [answer_text(sample) or ""]
    numbers = {metric: value for (metric, of), value in numbers_of(sample).items() if of == name}
    prompt = text_of(first_messages(sample))
    return {
        "doc_id": sample["index"],
        "doc": sample["doc"],
        "target": str(sample["target"]),
        "arguments": {f"gen_args_{number}": pair for number, pair in enumerate(arguments)},
        "resps": responses,
        "filtered_resps": filtered,
        "filter": name,
        "metrics": list(numbers),
        "doc_hash": _hash(json.dumps(sample["doc"], indent=2, ensure_ascii=False)),
        "prompt_hash": _hash(prompt),
        "target_hash": _hash(str(sample["target"])),
        **numbers,
    }


def _asked(exchange: Mapping[str, Any]) -> Any:
    """What repeats of one request have in common."""
    return messages_of(exchange)


def _choices(requests: Sequence[Sequence[Mapping[str, Any]]]) -> tuple[list[Any], list[Any]] | None:
    """Arguments and responses of a request for log-probabilities: one for each continuation. ``None``: it is none."""
    for exchange in (same[0] for same in requests):
        continuations = ((exchange["request"] or {}).get("ask") or {}).get("continuations")
        outputs = exchange["response"]["outputs"]
        if continuations and outputs and outputs[0].get("logprobs"):
            context = text_of(messages_of(exchange))
            pairs = [{"arg_0": context, "arg_1": continuation} for continuation in continuations]
            return pairs, [[[str(item[0]), str(item[1])]] for item in outputs[0]["logprobs"]]
    return None


def _generations(requests: Sequence[Sequence[Mapping[str, Any]]]) -> tuple[list[Any], list[Any]]:
    """Arguments and responses of requests for text: a list of the repeats for each. Images are named."""
    arguments, responses = [], []
    for same in requests:
        asked = dict((same[0]["request"] or {}).get("ask") or {})
        settings = {key: value for key, value in asked.items() if key not in ("kind", "extra", "seeds")}
        arguments.append({"arg_0": text_of(messages_of(same[0])), "arg_1": {**settings, **(asked.get("extra") or {})}})
        outputs = [output for exchange in same for output in exchange["response"]["outputs"]]
        responses.append([_said(output) for output in outputs])
    return arguments, responses


def _said(output: Mapping[str, Any]) -> str:
    return str(output["text"]) if output.get("text") is not None else " ".join(output.get("images") or ())


def _document(job: ExportJob, name: str, hashes: Mapping[str, str]) -> dict[str, Any]:
    manifest, tasks, groups = job.manifest, job.results["tasks"], job.results["groups"]
    planned = {task: job.planned(task) for task in tasks}
    rows = {task: _row(task, own, own["n_scored"]) for task, own in tasks.items()}
    of_groups = {group: _row(group, own, None) for group, own in groups.items()}
    options, began = manifest["options"]["identity"], datetime.fromisoformat(manifest["started"])
    return {
        "results": {**rows, **of_groups},
        **({"groups": of_groups} if of_groups else {}),
        "group_subtasks": {group: list(own["members"]) for group, own in groups.items()},
        "configs": {
            task: {"task": task, **planned[task]["config"], "num_fewshot": own["num_fewshot"]}
            for task, own in tasks.items()
        },
        "versions": {task: _version(own["version"]) for task, own in tasks.items()},
        "n-shot": {task: own["num_fewshot"] for task, own in tasks.items()},
        "higher_is_better": {
            task: {result["metric"]: result["higher_is_better"] for result in own["results"]}
            for task, own in tasks.items()
        },
        "n-samples": {
            task: {"original": planned[task]["n_rows"], "effective": own["n_scored"]} for task, own in tasks.items()
        },
        "config": {
            "model": job.backend,
            "model_args": job.model_args,
            "batch_size": None,
            "batch_sizes": [],
            "device": None,
            "use_cache": None,
            "limit": options.get("limit"),
            "bootstrap_iters": None,
            "gen_kwargs": options.get("generation") or None,
            **dict.fromkeys(("random_seed", "numpy_seed", "torch_seed", "fewshot_seed"), options.get("seed")),
        },
        "git_hash": manifest["polymeter"].get("commit"),
        "date": began.timestamp(),
        "lm_eval_version": f"polymeter {manifest['polymeter']['version']}",
        "task_hashes": dict(hashes),
        "model_source": job.backend,
        "model_name": job.model,
        "model_name_sanitized": name,
        "system_instruction": options.get("system_prompt") or None,
        "fewshot_as_multiturn": None,
        "chat_template": None,
        "total_evaluation_time_seconds": str(manifest.get("seconds")),
    }


def _row(name: str, owner: Mapping[str, Any], n_samples: int | None) -> dict[str, Any]:
    """A task's or group's numbers under ``metric,filter``, with their standard errors."""
    row: dict[str, Any] = {"name": name, "alias": owner["alias"] or name}
    if n_samples is not None:
        row["sample_len"] = n_samples
    for result in owner["results"]:
        if result["value"] is None:  # only the author's own code can tell it, when the run has ended
            continue
        metric = "/".join([result["metric"], *map(str, result["subset"])])
        row[f"{metric},{result['filter']}"] = result["value"]
        error = result["stderr"]
        row[f"{metric}_stderr,{result['filter']}"] = _NO_ERROR if error is None else error
    return row


def _version(text: str) -> float | str:
    """A version as YAML reads it, if that is the same text when it is printed: most are numbers."""
    for number in (int, float):
        try:
            if str(number(text)) == text:
                return number(text)
        except ValueError:
            pass
    return text or _NO_VERSION


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
