"""Reducing a finished run again, from the rows of its journal, beside it: nothing in its folder changes."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.core.guest_context import guest_context_with, weights_from
from polymeter.core.records.progress import Progress
from polymeter.guests.door import random_state_kept
from polymeter.guests.generators import dispatched
from polymeter.run.execution import Execution
from polymeter.run.finish import manifest as manifests
from polymeter.run.finish import sessions
from polymeter.run.finish.rescore import ScoreRequest, plan_over_answers, stored_options
from polymeter.run.plan.plan import Plan, cache_folder, compile_tasks
from polymeter.store.database import connect, journal_at
from polymeter.store.folder import RunFolder


@dataclass(frozen=True, slots=True)
class ReducedAgain:
    """The totals of the rows of a run.

    Attributes:
        results: As in ``results.json``.
        changed: Tasks whose sources or data changed since the run, so that their rows are reduced by other code, each
            with what changed.
    """

    results: Mapping[str, Any]
    changed: Mapping[str, str] = field(default_factory=dict)


def reduce_again(folder: RunFolder, progress: Progress) -> ReducedAgain:
    """Reduce the rows of a finished run again. Nobody is asked.

    Raises:
        PlanError: if its tasks cannot be compiled any more.
        DataError: if a dataset cannot be opened.
        JournalError: if the journal cannot be read.
    """
    manifest = folder.read_manifest()
    options = stored_options(folder.path)
    with dispatched(), random_state_kept(), weights_from(options.weights), tempfile.TemporaryDirectory() as place:
        beside = RunFolder(Path(place) / "run")
        beside.path.mkdir()
        with (
            journal_at(folder.journal),
            closing(connect(folder.journal)) as source,
            closing(sqlite3.connect(beside.journal)) as target,
        ):
            source.backup(target)
        if folder.media.is_dir():
            os.symlink(folder.media.resolve(), beside.media)
        plan = plan_over_answers(manifest, ScoreRequest(folder.path, beside.path, options))
        progress.stage("opening tasks")
        compile_tasks(plan, cache_folder(plan.options), is_begun=True)
        changed = _changed(manifest, plan)
        record = sessions.new_part(plan, manifests.software_of(manifest), "", "verify")
        whole = {**manifest, "sessions": [*manifest["sessions"], record]}
        progress.stage("reducing again")
        data, cache_dir = plan.options.data, cache_folder(plan.options)
        with guest_context_with(parity=plan.parity, data=data, cache_dir=cache_dir):
            outcome = Execution(plan, beside, whole, changed, progress).reduce_again()
        return ReducedAgain(outcome.results, changed)


def _changed(manifest: Mapping[str, Any], plan: Plan) -> dict[str, str]:
    """Tasks that are not what they were when they were run, and what is different."""
    before = {task["name"]: task for task in manifest["tasks"]}
    found = dict.fromkeys(manifests.changed_tasks(manifest, plan), "its sources changed")
    for task in plan.opened:
        if before[task.spec.name]["dataset_fingerprint"] != task.fingerprint:
            found[task.spec.name] = "its data changed"
    return found
