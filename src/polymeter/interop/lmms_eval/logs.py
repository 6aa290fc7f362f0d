"""Reads logs of lmms-eval: ``<time>_results.json``, and beside it ``<time>_samples_<task>.jsonl`` if samples were
logged.

A file of samples has one line for each row and filter, all rows of the first filter first; a line does not name its
filter. Rows themselves are not in the log, and of prompts only the text. Numbers of choices are losses, as lmms-eval
scores them, unless they are negative.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from polymeter.core.logs import (
    LoggedChoice,
    LoggedExchange,
    LoggedMedium,
    LoggedMessage,
    LoggedOutput,
    LoggedRun,
    LoggedSample,
    LogReader,
    StatedResult,
    damaged,
    generation_settings,
    is_whole,
)
from polymeter.interop.lm_family.logs import Lines, LogFiles, choice_text, likeliest
from polymeter.tasks.yaml.stated_results import StatedResults

_TIME = r"\d{8}_\d{6}"
_RESULTS = re.compile(rf"(?P<time>{_TIME})_results\.json")
_SAMPLES = re.compile(rf"(?P<time>{_TIME})_samples_(?P<task>.+)\.jsonl")
_PARTS = ("results", "configs", "n-samples")
_OF_LINE = frozenset(
    {
        "doc_id", "doc", "target", "resps", "filtered_resps", "filter", "token_counts", "doc_hash", "input",
        "input_media",
    }
)  # fmt: skip
_OF_CHOICES = frozenset({"multiple_choice", "loglikelihood"})
_LONGEST_SOURCE = 300


def read(path: Path) -> LoggedRun:
    """The log at a path: a file of results, a file of samples, or the folder of one run.

    Raises:
        PlanError: if the folder holds several runs, or none.
        DataError: if a file is damaged.
    """
    file = _FILES.results_at(path)
    stated = StatedResults.of(file, _PARTS)
    groups = stated.groups()
    tasks = tuple(stated.tasks(groups, partial(_samples_of, file)))
    begun, seconds = _begun(stated.document), stated.seconds
    version = str(stated.document.get("lmms_eval_version") or "").partition("@")[0]
    return LoggedRun(
        "lmms-eval",
        "" if version == "unknown" else version,
        stated.model,
        tasks,
        tuple(groups.values()),
        stated.settings(
            *("system_instruction", "chat_template", "fewshot_as_multiturn", "date"), without="resolved_cli_args"
        ),
        started="" if begun is None else begun.isoformat(),
        ended="" if begun is None or seconds is None else (begun + timedelta(seconds=round(seconds))).isoformat(),
        seconds=seconds,
        files=(file, *(place for task in tasks if (place := _samples_file(file, task.name)) is not None)),
        notes=tuple(_notes(stated.document)),
    )


def _is_ours(file: Path) -> bool:
    """Return whether a file of such a name is lmms-eval's by its content. Results that are cut off are: reading them
    reports the error.
    """
    with suppress(OSError):
        if file.suffix == ".jsonl":
            with file.open("rb") as opened:
                head = opened.readline()
            return b'"filtered_resps"' in head and b'"prompt_hash"' not in head
        text = file.read_bytes()
        return not is_whole(text) or (b'"lmms_eval_version"' in text and b'"n-samples"' in text)
    return False


def _samples_file(results: Path, task: str) -> Path | None:
    """The file of a task's samples, whose name may be without characters that file systems refuse."""
    named = _RESULTS.fullmatch(results.name)
    safe = "".join(sign if sign.isalnum() or sign in "-_.@" else "_" for sign in task)
    for name in (task, safe) if named else ():
        place = results.with_name(f"{named['time']}_samples_{name}.jsonl") if named else results
        if place.is_file():
            return place
    return None


def _samples_of(
    file: Path, name: str, config: Mapping[str, Any], stated: Sequence[StatedResult]
) -> Callable[[], Iterator[LoggedSample]] | None:
    place = _samples_file(file, name)
    if place is None:
        return None
    metrics = frozenset(one.metric for one in stated)
    return partial(_FILES.samples_in, place, partial(_sample, place, config, _filters(config, stated), metrics))


def _filters(config: Mapping[str, Any], stated: Sequence[StatedResult]) -> tuple[str, ...]:
    """The names of the filters, in the order in which the lines were written."""
    listed = config.get("filter_list")
    names = [str(one.get("name")) for one in listed or () if isinstance(one, dict)] if isinstance(listed, list) else []
    return tuple(dict.fromkeys(names or [one.filter for one in stated])) or ("none",)


def _begun(document: Mapping[str, Any]) -> datetime | None:
    """When the run began: the time in the file names, which is that of the time zone which the command was given."""
    zone = ((document.get("config") or {}).get("resolved_cli_args") or {}).get("timezone")
    with suppress(
        TypeError, ValueError, LookupError, OSError
    ):  # no such date, or a zone that is missing on this machine
        day, hour = str(document.get("date")).split("_")
        begun = datetime.fromisoformat(f"{day[:4]}-{day[4:6]}-{day[6:]}T{hour[:2]}:{hour[2:4]}:{hour[4:]}")
        return begun.replace(tzinfo=ZoneInfo(str(zone)))
    return None


def _notes(document: Mapping[str, Any]) -> Iterator[str]:
    types = {config.get("output_type") for config in document["configs"].values() if isinstance(config, dict)}
    if types & _OF_CHOICES:
        yield "The log's numbers of choices are taken for losses, as lmms-eval scores them, unless they are negative."


def _sample(
    path: Path,
    config: Mapping[str, Any],
    filters: Sequence[str],
    metrics: frozenset[str],
    row: int,
    lines: Lines,
) -> LoggedSample:
    if len(lines) > len(filters):
        number = lines[len(filters)][0]
        raise damaged(path, f"line {number} has row {row} once more", number)
    scores = {
        (metric, str(line.get("filter", name))): value
        for name, (_, line) in zip(filters, lines, strict=False)
        for metric, value in line.items()
        if metric in metrics and metric not in _OF_LINE and value is not None
    }
    _, first = lines[0]
    exchanges = tuple(_exchanges(first, config))
    asked = exchanges[0] if exchanges else LoggedExchange()
    doc = first.get("doc")
    return LoggedSample(
        str(row),
        row,
        doc if isinstance(doc, dict) else None,
        exchanges,
        scores,
        target=choice_text(asked, str(first.get("target"))),
        answer=likeliest(asked) if asked.kind == "loglikelihood" else _answer(first),
        log={name: value for name, value in first.items() if name not in _OF_LINE and name not in metrics},
    )


def _exchanges(line: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[LoggedExchange]:
    """The requests of a row: one with all choices, or one for each answer."""
    messages = _prompt(line)
    if config.get("output_type") in _OF_CHOICES:
        pairs = line["filtered_resps"]
        pairs = [pairs] if pairs and not isinstance(pairs[0], list) else pairs
        numbers = [float(pair[0]) for pair in pairs]
        sign = -1.0 if all(number >= 0 for number in numbers) else 1.0
        choices = tuple(
            LoggedChoice(sign * number, str(pair[1]) == "True") for number, pair in zip(numbers, pairs, strict=True)
        )
        yield LoggedExchange((LoggedOutput(choices=choices),), messages, "loglikelihood", {}, _choices(config, pairs))
        return
    answers = line.get("resps", line["filtered_resps"])
    answers = answers if isinstance(answers, list) else [answers]
    if len(answers) == 1 and isinstance(answers[0], list):
        answers = answers[0]
    counts = [one for one in line.get("token_counts") or () if isinstance(one, dict)]
    settings = generation_settings(config.get("generation_kwargs"))
    for place, answer in enumerate(answers):
        tokens = counts[place] if len(counts) == len(answers) else {}
        output = LoggedOutput(
            str(answer),
            input_tokens=tokens.get("input_tokens"),
            output_tokens=tokens.get("output_tokens"),
            reasoning_tokens=tokens.get("reasoning_tokens"),
        )
        yield LoggedExchange((output,), messages, settings=settings)


def _prompt(line: Mapping[str, Any]) -> tuple[LoggedMessage, ...] | None:
    """The prompt: its text, after the media that the log names. Tasks that make their own messages log none."""
    text = line.get("input")
    if not isinstance(text, str):
        return None
    media = [one for one in line.get("input_media") or () if isinstance(one, (str, dict))]
    return (LoggedMessage("user", (*map(_medium, media), text)),)


def _medium(named: Any) -> LoggedMedium:
    """A medium as its source: a file or address. One that is written out in the log is not repeated."""
    if isinstance(named, dict):
        kind = named.get("type")
        source = str(named.get("file") or named.get("url") or "")
        return LoggedMedium(kind if kind in ("image", "audio", "video") else "image", source)
    return LoggedMedium("image", "" if named.startswith("data:") or len(named) > _LONGEST_SOURCE else named)


def _choices(config: Mapping[str, Any], pairs: Sequence[Any]) -> tuple[str, ...]:
    """The texts of the choices, if they are the same for every row; else the log does not hold them."""
    listed = config.get("doc_to_choice")
    if not isinstance(listed, list) or len(listed) != len(pairs):
        return ()
    delimiter = str(config.get("target_delimiter", " "))
    return tuple(f"{delimiter}{choice}" for choice in listed)


def _answer(line: Mapping[str, Any]) -> str:
    """Return the scored answer, by the first filter."""
    filtered = line["filtered_resps"]
    return " | ".join(map(str, filtered)) if isinstance(filtered, list) else str(filtered)


_FILES = LogFiles("lmms-eval", _RESULTS, _SAMPLES, "{time}_results.json", "{time}_results.json", _is_ours)
READER = LogReader(_FILES.recognise, read, "the folder with …_results.json and …_samples_….jsonl")
