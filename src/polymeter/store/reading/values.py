"""One number of each sample of a task, read as fast as the journal allows: for comparing many runs at once."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b

from polymeter.core.text.codec import decode
from polymeter.store.exports.export import sample_file
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from polymeter.store.reading.outcomes import SampleOutcome, ScoreKey, has_journal, numbers_of, read_outcomes, read_rows


@dataclass(frozen=True, slots=True)
class SampleValues:
    """The samples of a task with one number each.

    Attributes:
        ids: Their ids, in order; those without a value are left out.
        clusters: The label that each shares with others.
        values: Their values.
    """

    ids: tuple[str, ...]
    clusters: tuple[str | None, ...]
    values: tuple[float, ...]


def read_values(folder: RunFolder, task: str, key: ScoreKey) -> SampleValues:
    """The values of one metric of all samples of a task that have one.

    Raises:
        StorageError: if they cannot be read.
    """
    if not has_journal(folder):
        return _of_outcomes(read_outcomes(folder, task, is_by_file=True), key)
    with closing(Journal(folder.journal)) as journal:
        rows = journal.scores(task)
    ids = []
    clusters = []
    values = []
    for name, cluster, body in rows:
        found = numbers_of(decode(body)["values"]).get(key)
        if found is not None:
            ids.append(name)
            clusters.append(cluster)
            values.append(found)
    return SampleValues(tuple(ids), tuple(clusters), tuple(values))


def rows_digest(folder: RunFolder, task: str) -> str:
    """A digest of the ids and rows of a task's ended samples: the same rows in two places have the same one.

    Raises:
        StorageError: if they cannot be read.
    """
    found = blake2b(digest_size=16)
    for name, row in sorted(read_rows(folder, task).items()):
        found.update(f"{name}\0{row}\0".encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def has_samples(folder: RunFolder, task: str) -> bool:
    """Return whether a run still has the samples of a task, in its journal or in a file."""
    return has_journal(folder) or sample_file(folder, task).exists()


def _of_outcomes(outcomes: list[SampleOutcome], key: ScoreKey) -> SampleValues:
    scored = [own for own in outcomes if key in own.values]
    return SampleValues(
        tuple(own.id for own in scored),
        tuple(own.cluster for own in scored),
        tuple(own.values[key] for own in scored),
    )
