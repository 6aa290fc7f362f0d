"""All answers of a journal by some models, streamed and compared with their checksums."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass

from polymeter.core.errors import PlanError
from polymeter.core.names.stable_names import OWN_PROMPT_ROLE
from polymeter.store.checksums import checksum
from polymeter.store.database import check_readable, connect
from polymeter.store.folder import RunFolder
from polymeter.store.schema import SCHEMA_VERSION, check_schema


@dataclass(slots=True)  # not frozen, because that takes several times as long to make
class StoredAnswer:
    """An answer, with its key in the journal. ``part`` is ``None`` in the rows of an old version."""

    task: int
    sample: int
    role: str
    model: str
    fingerprint: str
    occurrence: int
    turn: int
    body: str
    part: int | None


def answering_models(folder: RunFolder) -> set[str]:
    """The fingerprints of the models that gave the answers of a run.

    Raises:
        PlanError: if it has no journal, or one of another schema version.
        JournalError: if the journal cannot be read.
    """
    check_readable(folder.journal)
    with closing(connect(folder.journal)) as db:
        check_schema(db, folder.journal)
        return {model for (model,) in db.execute("SELECT DISTINCT model FROM responses")}


def stored_answers(folder: RunFolder, models: Collection[str]) -> Iterator[StoredAnswer]:
    """The answers of some models in a run, also those that no sample uses any more; models' own prompts are left out.

    Raises:
        PlanError: if an answer does not match its checksum.
        JournalError: if the journal cannot be read.
    """
    with closing(connect(folder.journal)) as db:
        has_parts = check_schema(db, folder.journal) == SCHEMA_VERSION
        names = dict(db.execute("SELECT id, name FROM tasks"))
        marks = ",".join("?" * len(models))
        rows = db.execute(
            "SELECT task, sample, role, model, fingerprint, occurrence, turn, body,"
            f" {'part, checksum' if has_parts else 'NULL, NULL'} FROM responses WHERE model IN ({marks}) AND role!=?",
            (*models, OWN_PROMPT_ROLE),
        )
        for *values, stored in rows:
            if stored is not None and checksum((names.get(values[0], values[0]), *values[1:])) != stored:
                raise PlanError(
                    "The journal is damaged: an answer does not match its checksum.",
                    where=str(folder.journal),
                    hint=f"'polymeter verify {folder.path}' shows the damage, and 'polymeter resume' repairs it.",
                )
            yield StoredAnswer(*values)
