"""Runs of an earlier run's plan without a part of its prompts, each in a folder beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polymeter.api.imports import import_file
from polymeter.api.result import RunResult
from polymeter.api.running import run_request
from polymeter.core.errors import PlanError, UnfitError
from polymeter.core.model import Model
from polymeter.core.records.progress import Progress
from polymeter.core.settings.ablations import ABLATIONS, Ablation
from polymeter.core.text.phrases import in_words
from polymeter.report.formatting import count, one_line
from polymeter.report.run.failures import failures_of
from polymeter.run.finish import manifest as manifests
from polymeter.run.plan.plan import Plan
from polymeter.run.plan.request import resume_request
from polymeter.store.exports.imported import refuse_imported
from polymeter.store.folder import RunFolder, open_folder

_NOT_TAKEN_OVER = {
    "is_strict": False,
    "is_strict_resume": False,
    "retry_errors": None,
    "pilot": None,
    "publish": "",
    "journal_dir": None,
    "reuse": (),
    "reuse_days": None,
}


@dataclass(frozen=True, slots=True)
class AblatedRun:
    """A run without a part of the prompts.

    Attributes:
        ablation: The ablation.
        path: Its folder.
        result: The run; ``None``: none of the tasks can be asked so.
        refused: Why not.
        skipped: The tasks that cannot be asked so, each with the reason.
    """

    ablation: Ablation
    path: Path
    result: RunResult | None = None
    refused: str = ""
    skipped: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_compared(self) -> bool:
        """True if it has ended with a score."""
        return self.status == "complete"

    @property
    def status(self) -> str:
        """Its status; ``refused`` without a run, and ``unscored`` if none of its samples has a score."""
        if self.result is None:
            return "refused"
        tasks = self.result.results.get("tasks", {}).values()
        is_unscored = self.result.is_complete and not any(task.get("n_scored") for task in tasks)
        return "unscored" if is_unscored else self.result.status

    @property
    def reason(self) -> str:
        """The reason why it was not run, was stopped, or has no score; empty if it has ended with one."""
        if self.result is None:
            return self.refused
        return (
            next(iter(failures_of(self.result.results).lines), "") if self.status == "unscored" else self.result.reason
        )


@dataclass(frozen=True, slots=True)
class WholeRun:
    """A finished run whose plan is run again without a part of its prompts.

    Attributes:
        folder: Its folder.
        manifest: The content of ``run.json``.
        limit: The samples of each task that are run again; ``None``: all of them.
        changes: Further options that are given anew.
        models: The models of roles that cannot be made from the manifest.
        model_args: Arguments of the model, instead of the original ones.
        command: The command to record.
    """

    folder: RunFolder
    manifest: Mapping[str, Any] = field(repr=False)
    limit: float | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, Model] = field(default_factory=dict)
    model_args: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""

    @classmethod
    def at(cls, path: Path, limit: float | None = None, **more: Any) -> WholeRun:
        """Return the run in a folder.

        Raises:
            PlanError: if there is none, it was imported, has not ended or is an ablation itself, its folder cannot be
                written, or the limit asks for more samples than it has.
        """
        folder = open_folder(path)
        manifest = folder.read_manifest(is_whole=True)
        refuse_imported(manifest, path)
        status = one_line(str(manifest["status"]))
        if status != "complete":
            hint = f"Continue it first: polymeter resume {path}"
            raise PlanError(f"The run has not ended (status {status}).", where=str(path), hint=hint)
        options = manifest["identity"].get("options") or {}
        if options.get("ablation"):
            raise PlanError(
                f"The run is itself an ablation ({options['ablation']}).",
                where=str(path),
                hint="Name the run that it was made of.",
            )
        n_most = max((int(task.get("n_samples") or 0) for task in manifest["tasks"]), default=0)
        if limit is not None and options.get("limit") is not None and (limit < 1 or limit > n_most):
            raise PlanError(
                f"A limit of {limit:g} is not part of the run, which has {count(n_most, 'sample')} of a task.",
                where="--limit",
                hint=f"Give a number up to {n_most}, or leave it out.",
            )
        for place in (folder.path, folder.path.resolve().parent):  # before anything is spent
            if not os.access(place, os.W_OK):
                hint = (
                    "Ablations are written beside the run, and their outcome into its folder: copy the run elsewhere."
                )
                raise PlanError("The folder cannot be written.", where=str(place), hint=hint)
        return cls(folder, manifest, limit, **more)

    def place_of(self, ablation: Ablation) -> Path:
        """Return the folder of an ablation: beside the run, and named after both."""
        whole = self.folder.path.resolve()
        limited = "" if self.limit is None else f"-limit-{self.limit:g}"
        return whole.with_name(f"{whole.name}-{ablation.name}{limited}")

    def run(self, name: str, progress: Progress) -> AblatedRun:
        """Run an ablation, continue it, or return its results if it is finished.

        Raises:
            PlanError: if the plan cannot be run as it was: its model, its tasks or their data have changed.
        """
        ablation = ABLATIONS[name]
        path = self.place_of(ablation)
        limit = {} if self.limit is None else {"limit": float(self.limit)}
        changes = {**_NOT_TAKEN_OVER, **self.changes, **limit}
        changes |= {"output": path, "ablation": name, "skip_unfit": True}
        request = resume_request(self.folder.path, changes, self.command, self.models, self.model_args)
        for file in request.options.imports:
            import_file(file)
        request = replace(
            request,
            is_resume=RunFolder(path).is_begun(),
            check_plan=self._refuse_changed_plan,
            check_opened=self._refuse_changed_data,
        )
        try:
            result = run_request(request, progress)
        except UnfitError as error:
            return AblatedRun(ablation, path, refused=error.what)
        return AblatedRun(ablation, path, result, skipped=result.folder.read_manifest().get("skipped") or {})

    def _refuse_changed_plan(self, plan: Plan) -> None:
        before, now = self.manifest["identity"], manifests.identity_of(plan)
        others = [name for name in ("model", "roles") if before.get(name) != now[name]]
        if others:
            what = "its model" if others == ["model"] else "its judge" if others == ["roles"] else "its models"
            raise self._changed(f"{what} is another one now" if len(others) == 1 else f"{what} are others now")
        if manifests.is_changed_unopened(self.manifest, plan):
            names = sorted(manifests.changed_tasks(self.manifest, plan)) or [one.name for one in plan.selection.tasks]
            raise self._changed(f"the files of {in_words(map(repr, names))} are others now")

    def _refuse_changed_data(self, plan: Plan) -> None:
        before = {task["name"]: task["dataset_fingerprint"] for task in self.manifest["tasks"]}
        names = [task.spec.name for task in plan.opened if before.get(task.spec.name) != task.fingerprint]
        if names:
            raise self._changed(f"the data of {in_words(map(repr, names))} are others now")

    def _changed(self, how: str) -> PlanError:
        return PlanError(
            f"The plan of the run cannot be run again: {how}, so a difference would have more than one cause.",
            where=str(self.folder.path),
            hint="Run it anew with 'polymeter run', then ablate that run.",
        )
