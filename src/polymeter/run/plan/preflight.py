"""One question to each endpoint before any dataset is opened: is it there, does it take the key, does it know the
model? A run whose journal holds every answer asks nobody, so its endpoints are not asked either.

The question takes as long as any answer. Meanwhile the run gets ready: it imports what tasks and reports are made
with. No data is opened before the answer, and nothing rests on what was done meanwhile.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, StorageError, boundary
from polymeter.core.model import AsyncModel
from polymeter.core.records.progress import Progress
from polymeter.core.task import SampleStatus
from polymeter.run.finish import manifest as manifests
from polymeter.run.finish.scoring_code import scoring_code
from polymeter.run.plan.plan import Plan
from polymeter.run.plan.selection import format_of
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal

_DEADLINE_S = 60.0
_SENDING_S = 0.005
"""The time for which an endpoint's question has the processor to itself on its way out."""
_WRITTEN = (".py", ".yaml", ".yml", "")
"""Endings of files that describe a benchmark, which included YAML often lacks; any other file is its data."""


def check_endpoints(
    plan: Plan, folder: RunFolder, progress: Progress, meanwhile: Callable[[], None] | None = None
) -> None:
    """Check that every endpoint of a plan answers; each once, for all of its roles. If the run in the folder has all of
    its answers, no endpoint is asked, and none if the caps have no room for that.

    Args:
        plan: The plan.
        folder: Its run folder.
        progress: Reports that endpoints are asked.
        meanwhile: Further work to do while they are. Nothing may depend on it, since it is not done if no endpoint is
            asked.

    Raises:
        PlanError: if one does not answer; the message gives the reason.
    """
    if has_all_answers(plan, folder):
        return
    models = {id(model): model for model in (plan.model, *plan.roles.values())}
    # One that has no address yet starts its server when the run needs it, and asks it then.
    endpoints = [model for model in models.values() if isinstance(model, AsyncModel) and model.instances]
    if not endpoints:
        return
    if plan.budget is not None and not plan.budget.may_greet(folder, endpoints):
        return
    progress.stage("asking the endpoint" if len(endpoints) == 1 else f"asking {len(endpoints)} endpoints")
    # A thread of its own: the caller may have an event loop running, as notebooks do. Nothing waits for it but the
    # lines below, so that an interrupted run does not hang with an endpoint that does.
    answers: list[Future[None]] = [Future() for _ in endpoints]
    is_asked = threading.Event()
    asking = threading.Thread(
        target=_ask_all, args=(endpoints, answers, is_asked), name="polymeter-preflight", daemon=True
    )
    asking.start()
    is_asked.wait()
    _get_ready(plan)
    if meanwhile is not None:
        meanwhile()
    for answer in answers:
        with boundary(PlanError, "Asking the endpoint before the run"):
            answer.result()


def may_miss_judge(plan: Plan) -> bool:
    """Return whether the plan has no model in a further role although one of its tasks may want one: its code speaks of
    a judge, or it is a table, whose columns say it. A sign is enough: it only decides what is looked at first.
    """
    if plan.roles:
        return False
    files = {file for spec in plan.selection.tasks for file in (spec.file, *spec.sources)}
    return any(file.suffix not in _WRITTEN or (file.suffix == ".py" and _speaks_of_judges(file)) for file in files)


def _speaks_of_judges(file: Path) -> bool:
    try:
        return b"judge" in file.read_bytes()
    except OSError:
        return False


def _get_ready(plan: Plan) -> None:
    """Do what the run will need whatever the endpoints say: imports, and the digest of the code that scores."""
    importlib.import_module("polymeter.run.dispatch.endpoint.dispatcher")
    for benchmarks in {spec.format: format_of(spec) for spec in plan.selection.tasks}.values():
        if benchmarks.get_ready is not None:
            benchmarks.get_ready()
    scoring_code()


def _ask_all(endpoints: Sequence[AsyncModel], answers: Sequence[Future[None]], is_asked: threading.Event) -> None:
    import asyncio

    for endpoint, answer in zip(endpoints, answers, strict=True):
        try:
            asyncio.run(_ask(endpoint, is_asked))
        except BaseException as error:  # noqa: BLE001  (whatever it is, the run that waits for it has to see it)
            answer.set_exception(error)
        else:
            answer.set_result(None)
        is_asked.set()


def has_all_answers(plan: Plan, folder: RunFolder) -> bool:
    """Return whether the journal of a resumed run holds all answers that its samples ask for: every sample has a score
    or, in a run without a judge, an answer. The requests of changed code are not known before it runs, so then the
    result is false.
    """
    if plan.options.is_restart or not folder.is_begun() or not folder.journal.exists():
        return False
    manifest = folder.read_manifest()
    if manifest["identity"] != manifests.identity_of(plan) or manifests.changed_tasks(manifest, plan):
        return False
    try:
        with closing(Journal(folder.journal)) as journal:
            return all(_is_answered(task, journal, is_judged=bool(plan.roles)) for task in manifest["tasks"])
    except StorageError:  # the run itself says what is wrong with its journal
        return False


def _is_answered(task: Mapping[str, Any], journal: Journal, *, is_judged: bool) -> bool:
    name, n_samples = task["name"], task.get("n_samples")
    statuses = journal.statuses(name)
    n_scored = statuses.get(SampleStatus.OK.value, 0)
    if n_scored == n_samples:
        return True
    has_failed = sum(statuses.values()) > n_scored
    return not (is_judged or has_failed) and sum(journal.marks(name, "answered", task.get("n_rows", 0))) == n_samples


async def _ask(endpoint: AsyncModel, is_asked: threading.Event) -> None:
    import asyncio

    answer = asyncio.ensure_future(endpoint.preflight())
    await asyncio.wait([answer], timeout=_SENDING_S)
    is_asked.set()
    try:
        await asyncio.wait_for(answer, _DEADLINE_S)
    except asyncio.TimeoutError:
        raise PlanError(
            f"The endpoint did not answer one small request within {_DEADLINE_S:g} s.",
            hint="Check its address, and whether the model is still being loaded.",
        ) from None
