"""Copies of the answers of one run in another run's folder, to score them again."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

from polymeter.core.machine.files import is_temporary
from polymeter.core.machine.places import stored_at
from polymeter.core.names.stable_names import ACT_ROLE, OWN_PROMPT_ROLE
from polymeter.store.database import check_readable, connect
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from polymeter.store.journal_writer import JournalWriter
from polymeter.store.schema import FAILED_TRIES, SCHEMA_VERSION, SHOWN, check_schema, has_table

_OF_MODEL = f"(r.role IN ('model', '{OWN_PROMPT_ROLE}') OR substr(r.role, 1, {len(ACT_ROLE)})='{ACT_ROLE}')"
"""The condition that a row is of the measured model, or of what it acted in."""
_TAKE = """
INSERT OR IGNORE INTO main.requests SELECT fingerprint, body, {checksum} FROM taken.requests;
INSERT OR IGNORE INTO main.responses
    SELECT here.id, r.sample, r.role, r.model, r.fingerprint, r.occurrence, r.turn, r.body, {part}, {checksum}
    FROM taken.responses r JOIN taken.tasks there ON there.id = r.task JOIN main.tasks here ON here.name = there.name
    WHERE {which};
"""
_TAKE_PARTS = "INSERT OR IGNORE INTO main.parts SELECT * FROM taken.parts;"
_TAKE_FAILED_TRIES = """
INSERT OR IGNORE INTO main.failed_tries SELECT here.id, r.sample, r.role, r.model, r.number, r.part, r.checksum
    FROM taken.failed_tries r JOIN taken.tasks there ON there.id = r.task JOIN main.tasks here ON here.name = there.name
    WHERE {which};
"""
_TAKE_SHOWN = "INSERT OR IGNORE INTO main.shown SELECT * FROM taken.shown;"


def take_answers(source: RunFolder, target: RunFolder, *, with_judges: bool = True) -> None:
    """Copy all answers that ``target`` does not have yet, of models and of judges, the media they refer to, the records
    of what was shown, and the failed tries.

    Scores and completion digests are not copied. The source may be in use; it is not changed.

    Args:
        source: The run that has answers.
        target: The run that receives them.
        with_judges: Whether answers of judges and of models in other roles are copied too.

    Raises:
        PlanError: if the source has no journal, or one with another schema version.
        JournalError: if a journal cannot be read.
    """
    check_readable(source.journal)
    with closing(connect(source.journal)) as db:
        has_parts = check_schema(db, source.journal) == SCHEMA_VERSION
    with closing(Journal(source.journal)) as journal:
        names = [*journal.task_ids]
    if source.media.exists():
        with stored_at(target.media, "Copying the run's media"):
            shutil.copytree(source.media, target.media, copy_function=_link, dirs_exist_ok=True, ignore=_temporaries)
    JournalWriter(target.journal, names).close()
    with closing(connect(target.journal)) as db:
        db.execute("ATTACH DATABASE ? AS taken", (str(source.journal),))
        of_later = {FAILED_TRIES: _TAKE_FAILED_TRIES, SHOWN: _TAKE_SHOWN}
        take = _TAKE + "".join(taken for table, taken in of_later.items() if has_table(db, table, "taken"))
        taking = take.format(
            which="TRUE" if with_judges else _OF_MODEL,
            part="r.part" if has_parts else "NULL",
            checksum="checksum" if has_parts else "NULL",
        )
        db.executescript(f"BEGIN;{taking}{_TAKE_PARTS if has_parts else ''}COMMIT;")
        db.execute("DETACH DATABASE taken")


def _link(source: str, target: str) -> str:
    """Share a media file between both runs, which is safe because none is ever changed; copy it if links are not
    supported.
    """
    if Path(target).exists():
        return target
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def _temporaries(folder: str, names: list[str]) -> set[str]:
    """The files of a folder that somebody is still writing, or left half-written."""
    return {name for name in names if is_temporary(name)}
