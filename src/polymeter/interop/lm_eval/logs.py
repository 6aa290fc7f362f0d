"""Reads logs of lm-eval: ``results_<time>.json``, and beside it ``samples_<task>_<time>.jsonl`` if samples were logged.

A file of samples has one line for each row and filter, all rows of the first filter first. Where it lies is noted for
each line, so that the lines of one row are read together and no other is in memory.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, Literal

from polymeter.core.errors import PlanError
from polymeter.core.logs import (
    LoggedChoice,
    LoggedExchange,
    LoggedGroup,
    LoggedMedium,
    LoggedMessage,
    LoggedOutput,
    LoggedRun,
    LoggedSample,
    LoggedTask,
    LogReader,
    StatedResult,
    damaged,
    generation_settings,
    is_whole,
    lines_by_row,
    read_json,
)

_TIME = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
_RESULTS = re.compile(rf"(?P<stem>.+)_(?P<time>{_TIME})\.json")
_SAMPLES = re.compile(rf"samples_(?P<task>.+)_(?P<time>{_TIME})\.jsonl")
_PARTS = ("results", "configs")
_NAMED_RESULTS = "results_"


def recognise(path: Path) -> bool:
    """Whether a path is a file of results or samples, or a folder with one, that lm-eval has written."""
    return any(_is_ours(file) for file in _candidates(path))


def read(path: Path) -> LoggedRun:
    """The log at a path: a file of results, a file of samples, or the folder of one run.

    Raises:
        PlanError: if the folder holds several runs, or none.
        DataError: if a file is damaged.
    """
    file = _results_file(path)
    document = read_json(file)
    for part in _PARTS:
        if not isinstance(document.get(part), dict):
            raise damaged(file, f"it has no {part!r}")
    stamp = _RESULTS.fullmatch(file.name)
    time = stamp["time"] if stamp else ""
    groups = _groups(document)
    tasks = [_task(name, document, file, time) for name in document["results"] if name not in groups]
    config = document.get("config") or {}
    samples = [place for task in tasks if (place := _samples_file(file, task.name, time)).is_file()]
    begun = document.get("date")
    seconds = _number(document.get("total_evaluation_time_seconds"))
    ended = begun + seconds if isinstance(begun, (int, float)) and seconds is not None else None
    return LoggedRun(
        "lm-eval",
        str(document.get("lm_eval_version") or ""),
        str(document.get("model_name") or config.get("model") or ""),
        tuple(tasks),
        tuple(groups.values()),
        _settings(document, config),
        started=_moment(begun),
        ended=_moment(ended),
        seconds=seconds,
        files=(file, *samples),
        notes=tuple(_notes(document)),
    )


READER = LogReader(recognise, read, "the folder with results_….json and samples_….jsonl")


def _candidates(path: Path) -> list[Path]:
    """The files at a path that have the names of lm-eval's: at the path, or in it and up to two folders below."""
    if path.is_file():
        return [path] if _SAMPLES.fullmatch(path.name) or _RESULTS.fullmatch(path.name) else []
    found = [file for below in ("", "*/", "*/*/") for file in path.glob(f"{below}*.json")] if path.is_dir() else []
    return sorted(file for file in found if _RESULTS.fullmatch(file.name))


def _is_ours(file: Path) -> bool:
    """Whether a file of such a name is lm-eval's by its content. Results that are cut off are, unless another tool
    names files so: reading them says what is wrong.
    """
    if file.suffix == ".jsonl":
        with suppress(OSError), file.open("rb") as opened:
            head = opened.readline()
            return b'"arguments"' in head and b'"filtered_resps"' in head
        return False
    with suppress(OSError):
        text = file.read_bytes()
        # Versions before 0.4.4 do not name themselves.
        is_named = b'"lm_eval_version"' in text or b'"model_name_sanitized"' in text
        is_damaged = file.name.startswith(_NAMED_RESULTS) and not is_whole(text)
        return is_damaged or (is_named and b'"lmms_eval_version"' not in text and b'"configs"' in text)
    return False


def _results_file(path: Path) -> Path:
    """The file of results that a path means."""
    if path.is_file():
        named = _SAMPLES.fullmatch(path.name)
        if named is None:
            return path
        beside = [file for file in path.parent.glob(f"*_{named['time']}.json") if _RESULTS.fullmatch(file.name)]
        if not beside:
            raise PlanError(
                f"The file of results that belongs to {path.name} is not beside it.",
                where=str(path.parent),
                hint=f"Put results_{named['time']}.json there: it says what the samples come to.",
            )
        return beside[0]
    found = [file for file in _candidates(path) if _is_ours(file)]
    if len(found) > 1:
        names = ", ".join(str(file.relative_to(path)) for file in found[-3:])
        raise PlanError(f"{path} holds {len(found)} runs of lm-eval.", hint=f"Name the file of one: {names}.")
    if not found:
        raise PlanError(f"There are no results of lm-eval in {path}.", hint="Name the folder with results_….json.")
    return found[0]


def _samples_file(results: Path, task: str, time: str) -> Path:
    return results.with_name(f"samples_{task}_{time}.jsonl")


def _groups(document: Mapping[str, Any]) -> dict[str, LoggedGroup]:
    """The groups by name. A name that has members is one; a task that stands in no group has none."""
    members = document.get("group_subtasks") or {}
    stated = {**{name: document["results"].get(name) for name in members}, **(document.get("groups") or {})}
    return {
        name: LoggedGroup(
            name,
            tuple(own),
            _stated(name, stated.get(name) or {}, document),
            _alias(stated.get(name) or {}, name),
            _version(document, name),
        )
        for name, own in members.items()
        if own and name not in document["configs"]
    }


def _task(name: str, document: Mapping[str, Any], file: Path, time: str) -> LoggedTask:
    row = document["results"][name]
    if not isinstance(row, dict):
        raise damaged(file, f"the results of {name!r} are no object")
    config = document["configs"].get(name) or {}
    n_shot = (document.get("n-shot") or {}).get(name)
    n_samples = ((document.get("n-samples") or {}).get(name) or {}).get("effective")
    place = _samples_file(file, name, time)
    stated = _stated(name, row, document, _metric_order(config))
    metrics = frozenset(one.metric for one in stated)
    samples = partial(_samples, place, config, metrics) if place.is_file() else None
    return LoggedTask(
        name,
        stated,
        **({} if samples is None else {"samples": samples}),
        alias=_alias(row, name),
        version=_version(document, name),
        num_fewshot=n_shot if isinstance(n_shot, int) else None,
        n_samples=n_samples if isinstance(n_samples, int) else None,
        config=config,
    )


def _metric_order(config: Mapping[str, Any]) -> list[str]:
    return [str(entry.get("metric")) for entry in config.get("metric_list") or () if isinstance(entry, dict)]


def _stated(
    name: str, row: Mapping[str, Any], document: Mapping[str, Any], order: Sequence[str] = ()
) -> tuple[StatedResult, ...]:
    """The stated numbers of a task or group, under ``metric,filter`` and ``metric_stderr,filter``; in the author's
    order.
    """
    directions = (document.get("higher_is_better") or {}).get(name) or {}
    n_samples = row.get("sample_len")
    found = []
    for key, value in row.items():
        metric, comma, filtered = key.rpartition(",")
        if not comma or metric.endswith("_stderr"):
            continue
        found.append(
            StatedResult(
                metric,
                filtered,
                value,
                stderr=_number(row.get(f"{metric}_stderr,{filtered}")),
                n=n_samples if isinstance(n_samples, int) else None,
                higher_is_better=directions.get(metric),
            )
        )
    places = {metric: place for place, metric in enumerate(order)}
    return tuple(sorted(found, key=lambda one: places.get(one.metric, len(places))))


def _alias(row: Mapping[str, Any], name: str) -> str:
    return str(row.get("alias") or name).lstrip(" -")


def _version(document: Mapping[str, Any], name: str) -> str:
    version = (document.get("versions") or {}).get(name)
    return "" if version in (None, "Yaml", "N/A") else str(version)


def _settings(document: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    names = ("system_instruction", "chat_template", "fewshot_as_multiturn")
    found = {**config, **{name: document[name] for name in names if document.get(name) is not None}}
    return {name: value for name, value in found.items() if value not in (None, [], {}, "")}


def _notes(document: Mapping[str, Any]) -> Iterator[str]:
    if document.get("chat_template"):
        yield "The prompts in the log stand in the model's chat template."


def _moment(seconds: Any) -> str:
    if not isinstance(seconds, (int, float)):
        return ""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")


def _samples(path: Path, config: Mapping[str, Any], metrics: frozenset[str]) -> Iterator[LoggedSample]:
    """The samples in a file, by the number of their row."""
    for row, lines in lines_by_row(path, "doc_id"):
        try:
            yield _sample(path, row, lines, config, metrics)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise damaged(path, f"line {lines[0][0]} is not a sample of lm-eval: {error!r}", lines[0][0]) from None


def _sample(
    path: Path,
    row: int,
    lines: Sequence[tuple[int, Mapping[str, Any]]],
    config: Mapping[str, Any],
    metrics: frozenset[str],
) -> LoggedSample:
    scores: dict[tuple[str, str], Any] = {}
    seen: set[str] = set()
    for number, line in lines:
        name = str(line.get("filter", "none"))
        if name in seen:
            raise damaged(path, f"line {number} has row {row} with filter {name!r} once more", number)
        seen.add(name)
        for metric in line.get("metrics", metrics & line.keys()):  # older versions do not list them
            scores[metric, name] = line[metric]
    _, first = lines[0]
    doc = first.get("doc")
    exchanges = tuple(_exchanges(first, config))
    is_choice = config.get("output_type") == "multiple_choice" and len(exchanges) == 1
    target = str(first.get("target"))
    return LoggedSample(
        str(row),
        row,
        doc if isinstance(doc, dict) else None,
        exchanges,
        {key: value for key, value in scores.items() if value is not None},
        target=_choice_text(exchanges[0], target) if is_choice else target,
        answer=_likeliest(exchanges[0]) if is_choice else _answer(first),
    )


def _choice_text(exchange: LoggedExchange, target: str) -> str:
    """A target that is the number of a choice, as the choice."""
    if target.isdecimal() and int(target) < len(exchange.continuations):
        return exchange.continuations[int(target)].strip()
    return target


def _likeliest(exchange: LoggedExchange) -> str:
    """The continuation with the largest log-probability."""
    choices = exchange.outputs[0].choices
    return exchange.continuations[max(range(len(choices)), key=lambda place: choices[place].logprob)].strip()


def _answer(line: Mapping[str, Any]) -> str | None:
    """What was scored: the filtered answer; for log-probabilities nothing that could be shown as one."""
    filtered = line.get("filtered_resps") or []
    texts = [one for one in filtered if isinstance(one, str)]
    if texts and len(texts) == len(filtered) and not _is_rolling(line):
        return " | ".join(texts)
    return None


def _is_rolling(line: Mapping[str, Any]) -> bool:
    return all(set(arguments) == {"arg_0"} for arguments in _arguments(line))


def _arguments(line: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The arguments of each request of a row, by name; older versions list them."""
    given = line["arguments"]
    if isinstance(given, dict):
        return [*given.values()]
    return [{f"arg_{place}": one for place, one in enumerate(arguments)} for arguments in given]


def _exchanges(line: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[LoggedExchange]:
    """The requests of a row. Those of log-probabilities that follow each other with one context are one request."""
    requests = [(arguments, line["resps"][place]) for place, arguments in enumerate(_arguments(line))]
    if config.get("output_type", "generate_until") == "generate_until":
        for arguments, answers in requests:
            messages = _prompt(arguments["arg_0"], _media(arguments.get("arg_2")))
            settings = generation_settings(arguments.get("arg_1"))
            for answer in answers:
                yield LoggedExchange((LoggedOutput(str(answer)),), messages, settings=settings)
        return
    at = 0
    while at < len(requests):
        context = _context(requests[at][0])
        end = at
        while end < len(requests) and _context(requests[end][0]) == context:
            end += 1
        own = requests[at:end]
        choices = tuple(_choice(answers[0]) for _, answers in own)
        continuations = tuple(str(arguments.get("arg_1", arguments["arg_0"])) for arguments, _ in own)
        yield LoggedExchange((LoggedOutput(choices=choices),), _prompt(context), "loglikelihood", {}, continuations)
        at = end


def _context(arguments: Mapping[str, Any]) -> str:
    """The context of a request of log-probabilities; of a whole text's there is none."""
    return str(arguments["arg_0"]) if "arg_1" in arguments else ""


def _media(given: Any) -> list[LoggedMedium]:
    """The media of a request: how many there are; the log does not say which."""
    kinds: dict[str, Literal["image", "audio"]] = {"visual": "image", "audio": "audio"}
    return [
        LoggedMedium(kind)
        for name, kind in kinds.items()
        for _ in (given.get(name) if isinstance(given, dict) else None) or ()
    ]


def _prompt(context: Any, media: Sequence[LoggedMedium] = ()) -> tuple[LoggedMessage, ...]:
    """The messages of a context. For a chat model at an endpoint it is JSON text of them."""
    text = str(context)
    if text.startswith("[{"):
        with suppress(ValueError, TypeError, KeyError):
            return tuple(LoggedMessage(str(one["role"]), (str(one["content"]),)) for one in json.loads(text))
    return (LoggedMessage("user", (*media, text)),)


def _choice(answer: Any) -> LoggedChoice:
    """A log-probability, as texts: with whether it is the greedy one, or alone for a whole text."""
    if isinstance(answer, (list, tuple)):
        return LoggedChoice(float(answer[0]), str(answer[1]) == "True")
    return LoggedChoice(float(answer))


def _number(value: Any) -> float | None:
    """A number, also one written as text; ``None`` for what is none, such as ``N/A``."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
