"""The data of a run's samples that a comparison reads: status, numbers, first request, and length of the answers. Rows,
prompts and answers themselves stay in the journal: a run of a hundred thousand samples is read in a second or two, and
samples that are shown in full are read again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from polymeter.core.media.sources import digest
from polymeter.core.records.attempts import with_estimates
from polymeter.core.task import SampleStatus
from polymeter.core.text.codec import compact_json, decode, is_nan, parse_json
from polymeter.store.exports.export import read_sample_file
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from polymeter.store.shown_media import SHOWN_MEDIA, digests_in

ScoreKey = tuple[str, str]
"""Metric and filter."""


@dataclass(slots=True)  # not frozen, because that takes several times as long to make
class SampleOutcome:
    """One sample that has ended.

    Attributes:
        id: Its id.
        cluster: The label that it shares with others.
        values: Its numbers; those of a value with keys are each under ``metric/key``.
        request: The fingerprint of the first request to the model; empty if there was none.
        characters: The mean length of the model's answers to it; ``None`` if it wrote no text.
        tokens: The same in tokens; ``None`` if the model does not count them.
        logprobs: The log-probabilities of its choices, for a request that has them.
        subset: The path of its subset; empty if it is in none.
        shown: The digests of the records of what was shown of the media in the first request; empty if there are none.
    """

    id: str
    cluster: str | None
    values: Mapping[ScoreKey, float]
    request: str = ""
    characters: float | None = None
    tokens: float | None = None
    logprobs: tuple[float, ...] | None = None
    subset: tuple[str, ...] = ()
    shown: tuple[str | None, ...] = ()


@dataclass(slots=True)
class _Answered:
    """The sums over a sample's answers."""

    request: str = ""
    n_texts: int = 0
    n_characters: int = 0
    n_counted: int = 0
    n_tokens: int = 0
    logprobs: tuple[float, ...] | None = None
    shown: tuple[str | None, ...] = ()

    @property
    def characters(self) -> float | None:
        """The mean length of the texts."""
        return self.n_characters / self.n_texts if self.n_texts else None

    @property
    def tokens(self) -> float | None:
        """The mean number of tokens of the answers whose tokens were counted."""
        return self.n_tokens / self.n_counted if self.n_counted else None


def has_journal(folder: RunFolder) -> bool:
    """Return whether the journal's fingerprints distinguish the requests of a run."""
    return folder.journal.exists()


def read_outcomes(folder: RunFolder, task: str, *, is_by_file: bool = False) -> list[SampleOutcome]:
    """The samples of a task that have ended, in order.

    Args:
        folder: The run.
        task: The task.
        is_by_file: Whether to read the file of samples, where a request's fingerprint is the digest of its text. If one
            of two runs has no journal, both are read in this way.
    """
    return [*(_of_file(folder, task) if is_by_file else _of_journal(folder, task))]


def read_requests(folder: RunFolder, task: str, wanted: Mapping[str, str], *, is_by_file: bool) -> dict[str, Any]:
    """The first requests of samples, by id, as data.

    Args:
        folder: The run.
        task: The task.
        wanted: The fingerprints by sample id.
        is_by_file: As for ``read_outcomes``.
    """
    if is_by_file:
        samples = (sample for sample in read_sample_file(folder, task) if str(sample["id"]) in wanted)
        return {str(sample["id"]): _first_request(sample) for sample in samples}
    with closing(Journal(folder.journal)) as journal:
        bodies = {name: journal.request(fingerprint) for name, fingerprint in wanted.items()}
    return {name: json.loads(body) for name, body in bodies.items() if body is not None}


def read_rows(folder: RunFolder, task: str) -> dict[str, str | None]:
    """The rows of a task's ended samples as JSON texts, by id."""
    if not has_journal(folder):
        return {str(sample["id"]): compact_json(sample["doc"]) for sample in read_sample_file(folder, task)}
    with closing(Journal(folder.journal)) as journal:
        return dict(journal.docs(task))


def read_shown(folder: RunFolder, task: str, wanted: Collection[str], *, is_by_file: bool) -> dict[str, Any]:
    """The records of what was shown in a task, as data, by digest; without those that the run does not have.

    Args:
        folder: The run.
        task: The task.
        wanted: The digests.
        is_by_file: As for ``read_outcomes``.
    """
    if not wanted:
        return {}
    if is_by_file:
        records = (sample.get(SHOWN_MEDIA, {}).items() for sample in read_sample_file(folder, task))
        return {name: record for found in records for name, record in found if name in wanted}
    with closing(Journal(folder.journal)) as journal:
        return {name: json.loads(body) for name, body in journal.shown(wanted).items()}


def _of_journal(folder: RunFolder, task: str) -> Iterator[SampleOutcome]:
    with closing(Journal(folder.journal)) as journal:
        answered = _by_sample(journal, task)
        index, found = next(answered, (-1, None))
        for row in journal.rows(task):
            while found is not None and index < row.index:
                index, found = next(answered, (-1, None))
            own = found if found is not None and index == row.index else _Answered()
            values: Mapping[ScoreKey, float] = {}
            if row.status is SampleStatus.OK and row.score is not None:
                values = numbers_of(decode(row.score)["values"])
            yield SampleOutcome(
                row.id,
                row.cluster,
                values,
                own.request,
                own.characters,
                own.tokens,
                own.logprobs,
                row.subset,
                own.shown,
            )


def _by_sample(journal: Journal, task: str) -> Iterator[tuple[int, _Answered]]:
    for index, answers in groupby(journal.model_answers(task), key=lambda answer: answer[0]):
        own = _Answered()
        for _, fingerprint, body in answers:
            if not own.request:
                own.request, own.shown = fingerprint, tuple(digests_in(body))
            _add_outputs(own, parse_json(body)["outputs"])
        yield index, own


def _of_file(folder: RunFolder, task: str) -> Iterator[SampleOutcome]:
    for sample in read_sample_file(folder, task):
        own = _Answered(_request_digest(_first_request(sample)))
        for exchange in sample["exchanges"]:
            if exchange["role"] == "model":
                _add_outputs(own, exchange["response"]["outputs"])
        values = numbers_of((score["metric"], score["filter"], score["value"]) for score in sample["scores"])
        cluster = None if sample["cluster"] is None else str(sample["cluster"])
        yield SampleOutcome(
            str(sample["id"]),
            cluster,
            values,
            own.request,
            own.characters,
            own.tokens,
            own.logprobs,
            tuple(str(part) for part in sample.get("subset") or ()),
            tuple(_first_exchange(sample).get("response", {}).get(SHOWN_MEDIA, ())),
        )


def _first_request(sample: Mapping[str, Any]) -> Any:
    return _first_exchange(sample).get("request")


def _first_exchange(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((exchange for exchange in sample["exchanges"] if exchange["role"] == "model"), {})


def _request_digest(request: Any) -> str:
    return "" if request is None else digest(compact_json(request).encode("utf-8", "surrogatepass"))


def _add_outputs(own: _Answered, outputs: list[Any]) -> None:
    for output in outputs:
        text = output.get("text")
        if text is not None:
            own.n_texts += 1
            own.n_characters += len(text)
        usage = output.get("usage")
        if usage and usage[1] is not None:
            own.n_counted += 1
            own.n_tokens += usage[1]
        choices = output.get("logprobs")
        if choices and own.logprobs is None:
            own.logprobs = tuple(choice[0] for choice in choices)


def numbers_of(values: Any) -> dict[ScoreKey, float]:
    """The numbers of a score and the estimates of its repeats, without NaN. A repeat whose value is NaN is known to be
    missing only before that is left out.
    """
    return {key: value for key, value in with_estimates(dict(_flat(values))).items() if not is_nan(value)}


def _flat(values: Any) -> Iterator[tuple[ScoreKey, float]]:
    """Yield the numbers of a score, also those under keys of a value."""
    for metric, name, value in values:
        if isinstance(value, Mapping):
            yield from _flat((f"{metric}/{key}", name, item) for key, item in value.items())
        elif isinstance(value, (int, float)):
            yield (metric, name), float(value)
        elif hasattr(value, "dtype") and getattr(value, "shape", None) == ():
            yield from _flat([(metric, name, value.item())])
