"""A run of any format as lm-evaluation-harness's files: ``MODEL/results_TIME.json`` and
``MODEL/samples_TASK_TIME.jsonl``.

Every number comes from ``results.json``. What a run does not have (the tokenizer's tokens, PyTorch's environment) is
left out, as the harness itself leaves out what it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from polymeter.core.machine.files import replacing
from polymeter.core.machine.places import stored_at
from polymeter.core.records.exporting import ExportJob
from polymeter.core.records.stored_samples import StoredSample, first_messages, images_of, media_of
from polymeter.core.text.json_text import json_text
from polymeter.interop.lm_eval.files.sample_lines import sample_records, write_lines
from polymeter.interop.lm_family.files.names import filters_of, safe_name

_NO_ERROR = "N/A"
_NO_VERSION = "Yaml"


def write_export(job: ExportJob) -> None:
    """Write the files of ``lm_eval run --log_samples --output_path``.

    Args:
        job: The run.
    """
    name = safe_name(job.model)
    # The reader takes what follows the last underscore for the time, and for the task what stands before it.
    stamp = datetime.fromisoformat(job.stamp).replace(tzinfo=None).isoformat().replace(":", "-")
    folder = job.folder / name
    hashes = {
        task: write_lines(folder / f"samples_{safe_name(task)}_{stamp}.jsonl", _records(job, task))
        for task in job.results["tasks"]
    }
    path = folder / f"results_{stamp}.json"
    with stored_at(path, "Writing results"), replacing(path) as file:
        file.write(json_text(_document(job, name, hashes), nan=None, indent=2))
    job.leave_out_usual()


def _records(job: ExportJob, task: str) -> Iterator[dict[str, Any]]:
    """The samples of a task with a score."""

    def read() -> Iterator[StoredSample]:
        for sample in job.read(task):
            if sample["status"] == "ok" and (any(media_of(first_messages(sample))) or images_of(sample)):
                job.leave_out("images and other media")
            yield sample

    return sample_records(read, filters_of(job.results["tasks"][task]))


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
