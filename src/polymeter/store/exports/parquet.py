"""The samples of a run as Parquet, one file for each task, for tools that read tables.

Fields of every sample are typed columns, and so is each metric. Fields that differ from task to task (the row, the log,
the exchanges) are JSON text, so that a file has one schema for all rows, and contains everything of
``samples/*.jsonl``. The schema is that of ``datasets.Features``: with media as bytes, ``load_dataset("parquet", …)``
shows images.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from polymeter.core.machine.files import replacing
from polymeter.core.machine.places import stored_at
from polymeter.core.records.human_scores import HumanScores, with_verdicts
from polymeter.core.text.codec import compact_json
from polymeter.core.text.json_text import as_number
from polymeter.store.exports.export import read_sample, sample_file, sample_lines
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from polymeter.store.reading.exchanges import asked_of_model, media_paths, noted_of_media, outputs_of, prompt_of

MediaAs = Literal["paths", "bytes"]

SCORE = "score_"
"""The prefix of the name of a metric's column, so that no metric hides another column."""
_IMAGES = ("images", "video_strips", "generated")
_TYPED = ("id", "index", "subset", "cluster", "status", "target", "answer", "explanation")
_AS_JSON = ("scores", "error", "log", "doc", "exchanges")
_FURTHER = "further"
"""The column of all other fields of a sample's line, such as the questions to judges, as JSON."""
_MOST_SCORES = 256
"""Metrics with a column of their own. A value with a key for each row would otherwise make a column for each row."""
_ROWS = 1000
_BYTES = 32 * 1024 * 1024
"""A row group ends at either of these, so that one is never much larger than its largest sample."""


def parquet_file(folder: Path, run: RunFolder, task: str) -> Path:
    """The file for a task's samples among the Parquet files of a folder."""
    return folder / sample_file(run, task).with_suffix(".parquet").name


def write_parquet(
    run: RunFolder,
    task: str,
    path: Path,
    *,
    media: MediaAs = "paths",
    limit: int | None = None,
    human: HumanScores | None = None,
) -> int:
    """Write the ended samples of a task as a Parquet file, in sample order; one row group is in memory at a time.

    Args:
        run: The run.
        task: The task.
        path: The file; it is replaced whole.
        media: ``paths``: the names of media files are paths from the run folder. ``bytes``: the files are in the
            table, as ``datasets.Image`` keeps them. These are the run's previews of what the model was shown, and its
            generated images.
        limit: Only the first samples; default: all.
        human: The verdicts of people that replace scores.

    Returns:
        The number of samples.

    Raises:
        StorageError: if the file cannot be written, or the run cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    scores = _score_columns(run, task, human)
    schema = _features(scores, media).arrow_schema
    n_samples = 0
    with (
        stored_at(path, f"Writing {path.name}"),
        replacing(path, binary=True) as file,
        pq.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for rows in _groups(islice(_sample_rows(run, task, scores, media, human), limit)):
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
            n_samples += len(rows)
    return n_samples


def _score_columns(run: RunFolder, task: str, human: HumanScores | None) -> list[str]:
    """The columns of metrics: a table has one schema, and only the samples show the metrics."""
    found: dict[str, None] = {}
    for sample in with_verdicts(map(read_sample, _sample_lines(run, task)), human):
        for name in _numbers(sample["scores"]):
            if len(found) < _MOST_SCORES:
                found[name] = None
    return list(found)


def _sample_lines(run: RunFolder, task: str) -> Iterator[str]:
    """The samples as strict JSON: from their file, as others read it, or while there is none, from the journal."""
    path = sample_file(run, task)
    if path.exists() and (run.read_manifest()["status"] == "complete" or not run.journal.exists()):
        with path.open(encoding="utf-8") as file:
            yield from file
    elif run.journal.exists():
        with closing(Journal(run.journal)) as journal:
            yield from sample_lines(journal, task, is_strict=True)


def _features(scores: list[str], media: MediaAs) -> Any:
    from datasets import Features, Image, Value

    text, whole, number = Value("string"), Value("int64"), Value("float64")
    medium = {"bytes": Value("binary"), "path": text}
    images, audio = ([Image()], [medium]) if media == "bytes" else ([text], [text])
    columns = {
        **dict.fromkeys(("task", "id"), text),
        "index": whole,
        "subset": [text],
        **dict.fromkeys(("cluster", "status", "error_message", "prompt", "answer"), text),
        "answers": [text],
        **dict.fromkeys(("target", "explanation", "finish_reason"), text),
        **dict.fromkeys(("input_tokens", "output_tokens"), whole),
        "latency_ms": number,
        "n_requests": whole,
        **dict.fromkeys(scores, number),
        **dict.fromkeys(_IMAGES, images),
        "audio": audio,
        **dict.fromkeys((*_AS_JSON, _FURTHER), text),
    }
    return Features(columns)


def _sample_rows(
    run: RunFolder, task: str, scores: list[str], media: MediaAs, human: HumanScores | None
) -> Iterator[dict[str, Any]]:
    for sample in with_verdicts(map(json.loads, _sample_lines(run, task)), human):
        asked = asked_of_model(sample)
        outputs = outputs_of(asked)
        numbers = _numbers(sample["scores"])
        names = {
            "images": noted_of_media(asked, modality="image"),
            "video_strips": noted_of_media(asked, modality="video"),
            "audio": noted_of_media(asked, modality="audio"),
            "generated": (name for output in outputs for name in output.get("images") or ()),
        }
        further = {name: value for name, value in sample.items() if name not in (*_TYPED, *_AS_JSON)}
        row = {
            "task": task,
            **{name: sample.get(name) for name in _TYPED},
            "error_message": (sample.get("error") or {}).get("message"),
            "prompt": prompt_of(asked),
            "answers": [output["text"] for output in outputs if output.get("text") is not None],
            "finish_reason": next((o["finish_reason"] for o in reversed(outputs) if o.get("finish_reason")), None),
            "input_tokens": _tokens(outputs, 0),
            "output_tokens": _tokens(outputs, 1),
            "latency_ms": _sum(exchange["response"].get("latency_ms") for exchange in asked),
            "n_requests": len(asked),
            **{name: numbers.get(name) for name in scores},
            **{name: _media(run, media_paths(run.media, found), media) for name, found in names.items()},
            **{name: compact_json(sample.get(name)) for name in _AS_JSON},
            _FURTHER: compact_json(further),
        }
        yield {name: _encodable(value) for name, value in row.items()}


def _numbers(scores: Any) -> dict[str, float]:
    """The numbers of a sample by column: ``score_acc``, ``score_acc,filter``, ``score_acc/key``."""
    found: dict[str, float] = {}
    for score in scores:
        name = str(score.get("filter") or "none")
        filtered = "" if name == "none" else f",{name}"
        _spread(f"{SCORE}{score['metric']}", filtered, as_number(score.get("value")), found)
    return found


def _spread(name: str, filtered: str, value: Any, found: dict[str, float]) -> None:
    if isinstance(value, Mapping):
        for key, item in value.items():
            _spread(f"{name}/{key}", filtered, as_number(item), found)
    elif isinstance(value, (int, float)):
        with suppress(OverflowError):  # a whole number beyond every float is in the JSON of the scores alone
            found[f"{name}{filtered}"] = float(value)


def _tokens(outputs: list[Mapping[str, Any]], place: int) -> int | None:
    counts = [(output.get("usage") or (None, None))[place] for output in outputs]
    total = _sum(counts)
    return None if total is None else int(total)


def _sum(values: Any) -> float | None:
    """The sum of the known values; ``None`` if none is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _media(run: RunFolder, paths: tuple[Path, ...], media: MediaAs) -> list[Any]:
    """Return media files that exist: previews may have been turned off, or deleted to save space."""
    there = [path for path in paths if path.is_file()]
    if media == "paths":
        return [path.relative_to(run.path).as_posix() for path in there]
    return [{"bytes": path.read_bytes(), "path": path.name} for path in there]


def _encodable(value: Any) -> Any:
    """The value, with half surrogate pairs, which UTF-8 cannot hold, as their escapes: an answer may be cut there."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    return value


def _groups(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    group: list[dict[str, Any]] = []
    n_bytes = 0
    for row in rows:
        group.append(row)
        n_bytes += _rough_bytes(row)
        if len(group) >= _ROWS or n_bytes >= _BYTES:
            yield group
            group, n_bytes = [], 0
    if group:
        yield group


def _rough_bytes(value: Any) -> int:
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_rough_bytes, value.values()))
    return sum(map(_rough_bytes, value)) if isinstance(value, list) else 8
