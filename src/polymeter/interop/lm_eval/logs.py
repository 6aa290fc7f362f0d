"""Reads logs of lm-eval: ``results_<time>.json``, and beside it ``samples_<task>_<time>.jsonl`` if samples were logged.

A file of samples has one line for each row and filter, all rows of the first filter first. Where it lies is noted for
each line, so that the lines of one row are read together and no other is in memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, Literal

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

_TIME = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
_RESULTS = re.compile(rf"(?P<stem>.+)_(?P<time>{_TIME})\.json")
_SAMPLES = re.compile(rf"samples_(?P<task>.+)_(?P<time>{_TIME})\.jsonl")
_PARTS = ("results", "configs")
_NAMED_RESULTS = "results_"


def read(path: Path) -> LoggedRun:
    """The log at a path: a file of results, a file of samples, or the folder of one run.

    Raises:
        PlanError: if the folder holds several runs, or none.
        DataError: if a file is damaged.
    """
    file = _FILES.results_at(path)
    stated = StatedResults.of(file, _PARTS)
    stamp = _RESULTS.fullmatch(file.name)
    samples_in = partial(_samples_file, file, stamp["time"] if stamp else "")
    groups = stated.groups()
    tasks = tuple(stated.tasks(groups, partial(_samples_of, samples_in)))
    begun = stated.document.get("date")
    ended = begun + stated.seconds if isinstance(begun, (int, float)) and stated.seconds is not None else None
    return LoggedRun(
        "lm-eval",
        str(stated.document.get("lm_eval_version") or ""),
        stated.model,
        tasks,
        tuple(groups.values()),
        stated.settings("system_instruction", "chat_template", "fewshot_as_multiturn"),
        started=_moment(begun),
        ended=_moment(ended),
        seconds=stated.seconds,
        files=(file, *(place for task in tasks if (place := samples_in(task.name)).is_file())),
        notes=tuple(_notes(stated.document)),
    )


def _is_ours(file: Path) -> bool:
    """Return whether a file of such a name is lm-eval's by its content. Results that are cut off are, unless another
    tool names files so: reading them reports the error.
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


def _samples_file(results: Path, time: str, task: str) -> Path:
    return results.with_name(f"samples_{task}_{time}.jsonl")


def _samples_of(
    samples_in: Callable[[str], Path], name: str, config: Mapping[str, Any], stated: Sequence[StatedResult]
) -> Callable[[], Iterator[LoggedSample]] | None:
    place = samples_in(name)
    if not place.is_file():
        return None
    metrics = frozenset(one.metric for one in stated)
    return partial(_FILES.samples_in, place, partial(_sample, place, config, metrics))


def _notes(document: Mapping[str, Any]) -> Iterator[str]:
    if document.get("chat_template"):
        yield "The prompts in the log stand in the model's chat template."


def _moment(seconds: Any) -> str:
    if not isinstance(seconds, (int, float)):
        return ""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")


def _sample(
    path: Path,
    config: Mapping[str, Any],
    metrics: frozenset[str],
    row: int,
    lines: Lines,
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
        target=choice_text(exchanges[0], target) if is_choice else target,
        answer=likeliest(exchanges[0]) if is_choice else _answer(first),
    )


def _answer(line: Mapping[str, Any]) -> str | None:
    """Return the scored answer: the filtered one; for log-probabilities ``None``, since none can be shown."""
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
    """The media of a request: their number; the log does not name them."""
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


_FILES = LogFiles("lm-eval", _RESULTS, _SAMPLES, "*_{time}.json", "results_{time}.json", _is_ours)
READER = LogReader(_FILES.recognise, read, "the folder with results_….json and samples_….jsonl")
