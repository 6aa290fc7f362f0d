"""An evaluation as asked for, from its first start or from a run folder that is to continue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.model import Model, ModelSpec
from polymeter.core.options import RunOptions
from polymeter.core.text.secrets import HIDDEN
from polymeter.run.finish import manifest as manifests
from polymeter.run.pilot.drawing import AfterPilot
from polymeter.run.plan.plan import Plan
from polymeter.store.exports.imported import refuse_imported
from polymeter.store.folder import RunFolder, open_folder


@dataclass(frozen=True, slots=True)
class RunRequest:
    """An evaluation as asked for.

    Attributes:
        model: A model's name or spec, or a model.
        patterns: Names, globs, groups, tags and files of tasks.
        options: Every setting.
        roles: Further models by role.
        command: What the user typed, for the record.
        is_resume: Whether this continues a run that must be there.
        check_plan: Called with the plan before anything is opened or sent; refuses it by raising PlanError.
        check_opened: Called with the plan once its tasks are open, before any of their requests is sent; refuses it in
            the same way.
        typed_data: The ids of datasets that the user has named a place for, for this run.
        pinned: As in the plan.
        meanwhile: What else is to be done while endpoints are asked before the run. Nothing may rest on it.
        began: Called with the run folder once the run has begun there.
        after_pilot: Called when the pilot of the run has ended, if its options ask for one.
    """

    model: ModelSpec | Model
    patterns: tuple[str, ...]
    options: RunOptions
    roles: Mapping[str, ModelSpec | Model] = field(default_factory=dict)
    command: str = ""
    is_resume: bool = False
    check_plan: Callable[[Plan], None] | None = None
    check_opened: Callable[[Plan], None] | None = None
    typed_data: tuple[str, ...] = ()
    pinned: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    meanwhile: Callable[[], None] | None = None
    began: Callable[[RunFolder], None] | None = None
    after_pilot: AfterPilot | None = None


def resume_request(
    path: Path,
    changes: Mapping[str, Any] | None = None,
    command: str = "",
    models: Mapping[str, Model] | None = None,
    model_args: Mapping[str, Any] | None = None,
) -> RunRequest:
    """Return the request that continues a run.

    Args:
        path: The run folder.
        changes: Options that cannot change a result, instead of those that the run was started with. The permission to
            run code that a model wrote is not copied from the run: give it again to resume.
        command: The user's command line; default: the command that started the run.
        models: The models of roles (``model`` is the run's own) that cannot be made from the manifest.
        model_args: Arguments of the run's own model, instead of the original ones.

    Raises:
        PlanError: The run is missing, it was imported, or its model was given as a Python object that is not among
            ``models``.
    """
    folder = open_folder(path)
    manifest = folder.read_manifest(is_whole=True)
    refuse_imported(manifest, path)
    given = dict(models or {})
    roles = {role: given.get(role) or _spec_of(entry, path) for role, entry in manifest["roles"].items()}
    options = manifests.options_of(manifest, path)
    # What was installed since then may have tasks of the same names.
    prefer = (*options.prefer, *manifests.origins_of(manifest))
    again = {"prefer": prefer, "allow_generated_code": False, **(changes or {})}
    model = given.get("model") or _spec_of(manifest["model"], path)
    if model_args and isinstance(model, ModelSpec):
        model = replace(model, args={**model.args, **model_args})
    return RunRequest(
        model,
        tuple(manifest["patterns"]),
        options.model_copy(update=again),
        roles,
        command or manifest["command"],
        is_resume=True,
        pinned={task["name"]: task.get("dataset_revisions") or {} for task in manifest["tasks"]},
    )


def _spec_of(entry: Mapping[str, Any], path: Path) -> ModelSpec:
    spec = entry["spec"]
    if spec is None:
        raise PlanError(
            "This run's model was a Python object, which cannot be made again from here.",
            where=str(path),
            hint="Give the same object again: polymeter.resume(path, model=…), or evaluate with the same output.",
        )
    hidden = [name for name, value in spec["args"].items() if HIDDEN in str(value)]
    if hidden:
        raise PlanError(
            f"The model's argument {hidden[0]!r} is a secret and was not stored.",
            where=str(path),
            hint="Give the original command with the same --output; it resumes where it stopped.",
        )
    return ModelSpec(spec["backend"], spec["name"], spec["args"], spec["path"])
