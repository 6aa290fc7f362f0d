"""Another tool's log in neutral words: the run, the results of its tasks, and each sample.

A system's ``logs`` names a ``LogReader``, which recognises a log of its tool and reads it into these records. What a
log does not say stays unset: ``None`` and empty mean *not known*, never zero. Samples are read one after the other when
they are used, so that a log of any size needs little memory; a second pass reads the files again.

A reader knows no run folder: ``exchange.importing`` checks what the log states against what its samples give, and
``store.exports.imported`` writes the folder. So a reader is tested with its tool's own files and nothing else.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from polymeter.core.acting.tools import Call
from polymeter.core.errors import DataError, PlanError, did_you_mean
from polymeter.core.machine.places import stored_at
from polymeter.core.names.systems import System, load, systems
from polymeter.core.task import MetricKey

_BEFORE_LINE = 4096
_SETTINGS = {
    **dict.fromkeys(("until", "stop", "stop_sequences"), "stop"),
    **dict.fromkeys(("max_new_tokens", "max_gen_toks", "max_tokens", "max_completion_tokens"), "max_new_tokens"),
    **{name: name for name in ("temperature", "top_p")},
}


@dataclass(frozen=True, slots=True)
class LoggedMedium:
    """A medium in a prompt, as far as the log describes it.

    Attributes:
        kind: Its modality.
        source: The file or address that the log names; empty if it names none.
    """

    kind: Literal["image", "audio", "video"]
    source: str = ""


@dataclass(frozen=True, slots=True)
class LoggedMessage:
    """One turn of a prompt.

    Attributes:
        role: Whose turn it is: ``system``, ``user``, ``assistant`` or ``tool``.
        parts: Texts and media in order.
        calls: The calls of tools in a turn of the assistant.
        call_id: The id of the call whose result it is.
    """

    role: str
    parts: tuple[str | LoggedMedium, ...]
    calls: tuple[Call, ...] = ()
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class LoggedChoice:
    """The log-probability of one continuation, by the natural logarithm; whether it is the greedy one, and its length
    in tokens, if the log says so.
    """

    logprob: float
    is_greedy: bool | None = None
    n_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class LoggedOutput:
    """One answer.

    Attributes:
        text: What was generated.
        choices: For a request of log-probabilities, one for each continuation.
        reasoning: What was set apart from the answer.
        finish_reason: Why it ended: ``length`` at the limit of tokens.
        input_tokens: Tokens of the prompt.
        output_tokens: Tokens of the answer.
        reasoning_tokens: Those of them that are reasoning.
        calls: The calls of tools in it.
    """

    text: str | None = None
    choices: tuple[LoggedChoice, ...] = ()
    reasoning: str | None = None
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class LoggedExchange:
    """One request and what came back. Repeats of a request are several of these, or one with several outputs.

    Attributes:
        outputs: The answers.
        messages: The prompt; ``None``: the log does not hold it.
        kind: What was asked for.
        settings: Settings of the generation under Polymeter's names where it has them (``max_new_tokens``,
            ``temperature``, ``top_p``, ``stop``), others under ``extra``.
        continuations: The texts whose log-probabilities were asked for.
        role: ``model``, or the role of a judge.
        model: Which model answered, for roles other than ``model``.
    """

    outputs: tuple[LoggedOutput, ...] = ()
    messages: tuple[LoggedMessage, ...] | None = None
    kind: Literal["generate", "loglikelihood", "generate_image"] = "generate"
    settings: Mapping[str, Any] = field(default_factory=dict)
    continuations: tuple[str, ...] = ()
    role: str = "model"
    model: str = ""


@dataclass(frozen=True, slots=True)
class LoggedSample:
    """One sample.

    Attributes:
        id: The id that the same row has in a run of Polymeter, so that both are compared as a pair.
        index: Its place in the task's order.
        doc: The row without media; ``None``: the log does not hold it.
        exchanges: What was asked and answered.
        scores: Values by metric and filter. Leave out what the log has no value for: a missing score is none.
        target: What was expected, as text to show.
        answer: What was scored, as text to show.
        explanation: Why, as text to show.
        subset: Path of its subset; empty if there is only one.
        cluster: What it shares with others; ``None``: nothing.
        status: How it ended. Only ``ok`` has scores.
        error: Why it has none, if it did not end ``ok``.
        log: Further values of the log for this sample.
    """

    id: str
    index: int
    doc: Mapping[str, Any] | None = None
    exchanges: tuple[LoggedExchange, ...] = ()
    scores: Mapping[MetricKey, Any] = field(default_factory=dict)
    target: str | None = None
    answer: str | None = None
    explanation: str | None = None
    subset: tuple[str, ...] = ()
    cluster: str | None = None
    status: Literal["ok", "error", "refused", "truncated", "unscored"] = "ok"
    error: str | None = None
    log: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StatedResult:
    """A number as the tool states it.

    Attributes:
        metric: Its name.
        filter: Which reading of the answers it rests on; ``none`` where the tool knows no filters.
        value: The number.
        subset: Path of the subset; empty for the whole task.
        stderr: The standard error that the tool states.
        n: How many samples it rests on.
        higher_is_better: Its direction; ``None``: unknown.
        decimals: To how many decimals the tool rounds; ``None``: it does not.
    """

    metric: str
    filter: str
    value: Any
    subset: tuple[str, ...] = ()
    stderr: float | None = None
    n: int | None = None
    higher_is_better: bool | None = None
    decimals: int | None = None


def _no_samples() -> Iterator[LoggedSample]:
    return iter(())


@dataclass(frozen=True, slots=True)
class LoggedTask:
    """One benchmark of a log.

    Attributes:
        name: Its name, which is also that of the same benchmark in a run of Polymeter.
        results: What the tool states, the main metric first. Empty: the means of the samples are taken.
        samples: Reads the samples; gives none for a task of which the log has no samples.
        alias: The name to print.
        version: The author's version, as printed; empty: not known.
        num_fewshot: Number of few-shot examples; ``None``: not known.
        n_samples: How many samples the tool ran; ``None``: not known.
        config: What the log says about how the task is defined.
    """

    name: str
    results: tuple[StatedResult, ...] = ()
    samples: Callable[[], Iterator[LoggedSample]] = _no_samples
    alias: str = ""
    version: str = ""
    num_fewshot: int | None = None
    n_samples: int | None = None
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoggedGroup:
    """A group of a log: ``members`` are names of its tasks and groups."""

    name: str
    members: tuple[str, ...]
    results: tuple[StatedResult, ...] = ()
    alias: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """One run of another tool.

    Attributes:
        title: The tool's usual name.
        version: Its version; empty: not known.
        model: The model's name.
        tasks: Its tasks, in the order of its table.
        groups: Its groups, outer ones first.
        settings: What the log says about the whole run: the model's arguments, limits, seeds.
        started: When it began, in ISO 8601; empty: not known.
        ended: When it ended.
        seconds: How long it took; ``None``: not known.
        files: The files that were read.
        notes: What a reader of the numbers must know, one sentence each.
    """

    title: str
    version: str
    model: str
    tasks: tuple[LoggedTask, ...]
    groups: tuple[LoggedGroup, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    started: str = ""
    ended: str = ""
    seconds: float | None = None
    files: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LogReader:
    """A reader of one tool's logs.

    Attributes:
        recognise: Whether a path holds a log of the tool. It looks at names and at the beginning of few files.
        read: The log at a path. It raises PlanError if the path does not say which of several logs is meant, and
            DataError if a file is damaged; so does reading the samples.
        holds: What a user can name, for messages: "the folder with results_*.json".
    """

    recognise: Callable[[Path], bool]
    read: Callable[[Path], LoggedRun]
    holds: str


def reader_of(path: Path, name: str = "") -> tuple[System, LogReader]:
    """The system whose log lies at a path, and what reads it.

    Args:
        path: A file or folder.
        name: The system, by its name or that of its command; empty: the one that recognises the log.

    Raises:
        PlanError: if there is nothing at the path, no system of that name reads logs, or none or several recognise it.
    """
    able = [system for system in systems() if system.logs]
    names = [system.log_name for system in able]
    if name:
        asked = [system for system in able if name.replace("-", "_").lower() in _spellings(system)]
        if not asked:
            hint = did_you_mean(name, names) or f"It takes {', '.join(names)}."
            raise PlanError(f"No tool called {name!r} is known whose logs can be read.", where="--from", hint=hint)
        able = asked
    with stored_at(path, "Reading the log"):
        if not path.exists():
            raise PlanError(f"There is no log at {path}.", hint="Name a file or folder that the tool has written.")
        found = [(system, reader) for system in able if (reader := _reader(system)).recognise(path) or name]
    if not found:
        known = "; ".join(f"{system.title}: {_reader(system).holds}" for system in able)
        raise PlanError(f"No tool is known whose log lies at {path}.", hint=f"Logs that can be read: {known}.")
    if len(found) > 1:
        them = " and ".join(system.log_name for system, _ in found)
        raise PlanError(f"The log at {path} could be one of {them}.", hint="Say which with --from.")
    return found[0]


def _spellings(system: System) -> set[str]:
    return {one.replace("-", "_").lower() for one in (*system.names, system.title)}


def _reader(system: System) -> LogReader:
    reader = load(system.logs)
    if not isinstance(reader, LogReader):
        raise PlanError(f"What the system {system.name!r} names for its logs is not a LogReader.", where=system.logs)
    return reader


def damaged(path: Path, why: str, line: int | None = None) -> DataError:
    """The error for a file of a log that cannot be read, or does not hold what such a file holds."""
    return DataError(
        f"{path.name} is damaged: {why}.",
        where=str(path) if line is None else f"{path}:{line}",
        hint="Copy the log again, or make it anew with the tool that wrote it.",
    )


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        DataError: if there is none.
        StorageError: if the file cannot be read.
    """
    with stored_at(path, f"Reading {path.name}"):
        data = path.read_bytes()
    try:
        content = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"it is not valid JSON: {error}") from None
    if not isinstance(content, dict):
        raise damaged(path, f"it holds a {type(content).__name__} and not an object")
    return content


def read_json_lines(path: Path) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The JSON objects in a file of lines, empty lines left out: number of the line from 1, where it begins in bytes,
    and the object. Only one is in memory.

    Raises:
        DataError: if a line holds none.
        StorageError: if the file cannot be read.
    """
    with stored_at(path, f"Reading {path.name}"), path.open("rb") as file:
        start = 0
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield number, start, _object_in_line(path, number, line)
            start += len(line)


def lines_by_row(path: Path, name: str) -> Iterator[tuple[int, list[tuple[int, dict[str, Any]]]]]:
    """The lines of a file of JSON objects by the whole number that they hold under a name, smallest number first: the
    number, and for each of its lines the number of the line and the object. Where each line lies is noted first, so
    that only the lines of one number are in memory.

    Raises:
        DataError: if a line holds no object, or no whole number under the name.
        StorageError: if the file cannot be read.
    """
    places: dict[int, array[int]] = {}
    for number, start, line in read_json_lines(path):
        row = line.get(name)
        if not isinstance(row, int):
            raise damaged(path, f"line {number} has no number under {name!r}", number)
        places.setdefault(row, array("q")).extend((number, start))
    with stored_at(path, f"Reading {path.name}"), path.open("rb") as file:
        for row in sorted(places):
            own = []
            for number, start in zip(places[row][::2], places[row][1::2], strict=True):
                file.seek(start)
                own.append((number, _object_in_line(path, number, file.readline())))
            yield row, own


def generation_settings(given: Any) -> dict[str, Any]:
    """Settings of a generation under the names that ``LoggedExchange`` has for them; nothing if they are no mapping."""
    found: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for name, value in (given if isinstance(given, Mapping) else {}).items():
        if name in _SETTINGS:
            found[_SETTINGS[name]] = [value] if _SETTINGS[name] == "stop" and isinstance(value, str) else value
        else:
            more[name] = value
    return found | ({"extra": more} if more else {})


def starts_with(path: Path, *marks: str) -> bool:
    """Return whether all of some texts occur in the first 4 kB of a file."""
    try:
        with path.open("rb") as file:
            head = file.read(_BEFORE_LINE).decode("utf-8", "replace")
    except OSError:
        return False
    return all(mark in head for mark in marks)


def is_whole(text: bytes) -> bool:
    """Return whether a JSON object may be whole: it begins and ends as one."""
    return text.lstrip()[:1] == b"{" and text.rstrip()[-1:] == b"}"


def _object_in_line(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        content = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"line {number} is not valid JSON: {error}", number) from None
    if not isinstance(content, dict):
        raise damaged(path, f"line {number} holds a {type(content).__name__} and not an object", number)
    return content
