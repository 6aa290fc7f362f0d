"""Marks in the body of a stored answer by which another run can reuse it, and the origin of an answer that was reused.

``content_key``
    The digest of what was sent, with media by their content. It is absent from a request of texts alone, whose
    fingerprint says the same.
``served``
    The model and version that the endpoint stated.
``reused``
    The origin of an answer that was copied from another run, as ``AnswerOrigin`` describes it. A copy of a copy names
    the first.

Two runs share an answer if one of them, or both, took it from elsewhere (``--reuse``, ``score``).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from polymeter.core.media.sources import digest
from polymeter.core.text.codec import parse_json
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal

CONTENT_KEY = "content_key"
SERVED = "served"
REUSED = "reused"
REUSE = "reuse"
"""The key, in ``run.json`` and in the record of a part, of the counts of answers that were reused, and were not."""
_MARKS = tuple(f',"{name}":' for name in (CONTENT_KEY, SERVED, REUSED))
IN_BODY = _MARKS[-1]
"""Stands in the body of each reused answer. The arguments of a tool call may hold the same, so a body that has it is
parsed.
"""


@dataclass(frozen=True, slots=True)
class AnswerOrigin:
    """The place where a reused answer was first given.

    Attributes:
        run: The name of its run folder.
        part: The id of the part of that run, in hexadecimal; empty for a run of an old version.
        at: The time at which that part began, ISO 8601.
        task: The task.
        sample: The index of the sample.
        answer: A digest that all copies of the answer share.
    """

    run: str
    part: str
    at: str
    task: str
    sample: int
    answer: str

    def document(self) -> dict[str, Any]:
        """The origin as plain data."""
        return asdict(self)

    def describe(self) -> str:
        """The origin in words, behind *reused from*."""
        day = f" of {self.at[:10]}" if self.at else ""
        return f"{self.run}, part {self.part or 'unknown'}{day}, sample {self.sample} of {self.task}"


def marks_in(body: str) -> Mapping[str, Any]:
    """The marks in the body of an answer by their names; empty for most, which need not be parsed for it.

    Raises:
        ValueError: if the body is damaged.
    """
    if not any(mark in body for mark in _MARKS):
        return {}
    parsed = parse_json(body)
    return {name: parsed[name] for name in (CONTENT_KEY, SERVED, REUSED) if name in parsed}


def origin_in(answer: Mapping[str, Any] | None) -> AnswerOrigin | None:
    """The origin in the body of an answer, parsed; ``None`` for one that was not reused."""
    found = (answer or {}).get(REUSED)
    if not isinstance(found, Mapping):
        return None
    names = AnswerOrigin.__slots__
    return AnswerOrigin(**{name: found.get(name, 0 if name == "sample" else "") for name in names})


def part_name(part: int | None, run: Path) -> str:
    """The name of a part of a run that no other part has, for ``answer_digest``: its id, or for a part of an old
    version the path of the run.
    """
    return str(run.resolve()) if part is None else f"{part:012x}"


def answer_digest(part: str, task: str, sample: int, role: str, fingerprint: str, occurrence: int) -> str:
    """The digest that all copies of an answer share, from its place in the run that asked for it.

    Args:
        part: The name of the part.
        task: The task.
        sample: The index of the sample.
        role: The role of the model.
        fingerprint: The fingerprint of the request.
        occurrence: Its number among equal requests.
    """
    return digest("\x1f".join([part, task, str(sample), role, fingerprint, str(occurrence)]).encode())


def may_share(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two runs may share answers, by their manifests: one has reused some, or both have the answers of
    one part.
    """
    parts = [_parts(manifest) for manifest in (one, other)]
    ids = [{part.get("id") for part in own} - {None} for own in parts]
    return not ids[0].isdisjoint(ids[1]) or any(REUSE in part for own in parts for part in own)


def answers_of_samples(folder: RunFolder, task: str) -> dict[str, frozenset[str]]:
    """The answers of the samples of a task in all roles, by id of the sample, each as the digest that its copies share.

    Raises:
        JournalError: if the journal cannot be read.
    """
    found: dict[str, set[str]] = {}
    with closing(Journal(folder.journal)) as journal:
        for sample, key, part, body in journal.answers_with_parts(task):
            origin = origin_in(parse_json(body)) if IN_BODY in body else None
            name = part_name(part, folder.path)
            digest = answer_digest(name, task, sample, key.role, key.fingerprint, key.occurrence)
            found.setdefault(str(sample), set()).add(digest if origin is None else origin.answer)
        return {name: frozenset(found.get(str(index), ())) for index, name in journal.ids(task)}


def _parts(manifest: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    source = manifest.get("scored_from") or {}
    return [*(source.get("sessions") or ()), *(manifest.get("sessions") or ())]
