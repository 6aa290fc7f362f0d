"""The manifest of a run: its identity, written at its start, and compared when it resumes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from polymeter.core.errors import PlanError, boundary
from polymeter.core.identity import canonical, fingerprint, source_hash
from polymeter.core.machine.places import file_name, stored_at
from polymeter.core.model import AsyncModel, Model, ModelSpec
from polymeter.core.names.catalog import LIBRARY
from polymeter.core.names.installed import installed_packages
from polymeter.core.names.registries import stored_format
from polymeter.core.names.registry import place_of
from polymeter.core.names.stable_names import OWN_PROMPT_ROLE, TASK_FORMAT
from polymeter.core.names.systems import told_system
from polymeter.core.options import CAPS, RunOptions
from polymeter.core.task import ReadingRules
from polymeter.core.text.codec import jsonable
from polymeter.core.text.phrases import in_words
from polymeter.core.text.secrets import HIDDEN, without_secrets
from polymeter.guests.opened_sources import hash_opened, hash_with_opened, opened_behind
from polymeter.run.finish.provenance import git_state, hardware, software
from polymeter.run.finish.sessions import now, rules, rules_of
from polymeter.run.plan.plan import Plan, model_name, role_names, selected_samples
from polymeter.run.plan.selection import describe_selection, file_and_name, is_task_file, named_place
from polymeter.run.plan.stored import StoredAnswers, describe_traits
from polymeter.store.exports.imported import refuse_imported
from polymeter.store.folder import RUNS, RunFolder

_OPENED = "opened_sources"
_LAST = ("report_samples", "price", "prices", "gpu_price")
_NOTHING_ACTED: Mapping[str, Any] = MappingProxyType({})


def default_folder(plan: Plan) -> Path:
    """A new place under ``./runs`` named after the model, the tasks and the time."""
    first, chosen = file_and_name(plan.patterns[0])
    if chosen:
        first = chosen
    elif Path(first).is_absolute():  # a file or folder of tasks
        first = Path(first).stem if is_task_file(first) else Path(first).name
    words = [model_name(plan), first if len(plan.patterns) == 1 else f"{len(plan.patterns)}-tasks"]
    name = "-".join("".join(sign if sign.isalnum() or sign in "._" else "_" for sign in word) for word in words)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    number = 1
    while True:
        ending = f"-{stamp}" if number == 1 else f"-{stamp}-{number}"
        folder = RUNS / file_name(name, ending)
        with stored_at(folder, "Making the run folder"):
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                if not folder.exists():  # what is in the way is one of its parents
                    raise
                number += 1
            else:
                return folder


def identity_of(plan: Plan) -> dict[str, Any]:
    """Everything that can change a number of this run, apart from the tasks' own sources and data. Secrets are not part
    of it: another key gives the same answers.
    """
    whole = {
        "model": _identity(plan.model),
        "roles": {role: _identity(model) for role, model in sorted(plan.roles.items())},
        "tasks": sorted([*(spec.name for spec in plan.selection.tasks), *plan.skipped]),
        "options": plan.options.identity(),
    }
    return without_secrets(whole)  # type: ignore[no-any-return]


def _identity(model: Model) -> Any:
    """The identity of a model as plain data.

    Raises:
        PlanError: if it raises, or is not plain data.
    """
    cls = type(model)
    with boundary(PlanError, f"The identity of {cls.__name__}"):
        given = model.identity
    if isinstance(given, Mapping):
        try:
            return canonical(given)
        except TypeError as error:
            why = str(error)
    else:
        why = f"It is a {type(given).__name__}."
    raise PlanError(
        f"The identity of {cls.__name__} is not plain data: {why}",
        where=place_of(cls),
        hint="Return a dict of texts, numbers and lists that names everything that can change an answer.",
    )


def completion_identity(plan: Plan) -> dict[str, Any]:
    """Return the inputs of a completed sample besides its own task: models, options, and the registrations of imported
    files.
    """
    whole = identity_of(plan)
    return {name: whole[name] for name in ("model", "roles", "options")} | {
        "imports": hash_with_opened(source_hash(plan.options.imports), opened_behind(plan.options.imports))
    }


def model_fingerprints(plan: Plan) -> dict[str, str]:
    """Fingerprint of the model in each role, as the journal keys its answers."""
    own = fingerprint_of(plan.model.identity)
    return {"model": own, OWN_PROMPT_ROLE: own} | {
        role: fingerprint_of(model.identity) for role, model in plan.roles.items()
    }


def fingerprint_of(identity: Mapping[str, Any]) -> str:
    """Fingerprint of a model's identity, the same for every key."""
    return fingerprint(without_secrets(canonical(identity)))


def new_manifest(plan: Plan, folder: RunFolder, command: str) -> dict[str, Any]:
    """The manifest of a run that begins."""
    options = plan.options
    runtime = _runtime(options, options.runtime())
    return {
        "status": "running",
        "started": now(),
        "ended": None,
        "seconds": 0.0,
        "command": command,
        "model": {
            "name": model_name(plan),
            "spec": _spec(plan.model_spec),
            "identity": canonical(plan.model.identity),
            "traits": describe_traits(plan.model.traits),
            **_opened(plan.model),
        },
        "roles": {
            role: {
                "name": role_names(plan)[role],
                "spec": _spec(plan.role_specs.get(role)),
                "identity": canonical(model.identity),
                "fingerprint": fingerprint_of(model.identity),
                **_opened(model),
            }
            for role, model in plan.roles.items()
        },
        "patterns": list(plan.patterns),
        "selection": describe_selection(plan.selection),
        "tasks": [_task(plan, number) for number in range(len(plan.opened))],
        **_skipped(plan),
        "identity": identity_of(plan),
        "options": {"identity": options.identity(), "runtime": runtime},
        **_parity(plan),
        "include_paths": [
            {"path": str(named_place(path)), **git_state(told_system(path)[1])} for path in options.include_paths
        ],
        "data": dict(options.data),
        "weights": dict(options.weights),
        **software(),
        "hardware": hardware(),
        "journal_dir": str(folder.journal_dir) if folder.journal_dir else None,
        "rules": rules(),
        **decided_stops(plan, {}),
        "usage": {"input_tokens": 0, "output_tokens": 0},
        "cache": {"hits": 0},
        "sessions": [],
        "notes": list(plan.notes),
    }


def decided_stops(plan: Plan, before: Mapping[str, Any]) -> dict[str, Any]:
    """Record for each role whether stop strings are sent to its model, if that was decided; part of a manifest."""
    models = {"model": plan.model, **plan.roles}
    decided = {role: model.sends_stops for role, model in models.items() if isinstance(model, AsyncModel)}
    told = {**(before.get("sends_stops") or {}), **{role: one for role, one in decided.items() if one is not None}}
    return {"sends_stops": told} if told else {}


def keep_stops(manifest: Mapping[str, Any], plan: Plan) -> None:
    """Have a run that is resumed send stop strings as it did when it began."""
    for role, is_sent in (manifest.get("sends_stops") or {}).items():
        model = plan.model if role == "model" else plan.roles.get(role)
        if isinstance(model, AsyncModel):
            model.sends_stops = is_sent


def check_same_run(manifest: Mapping[str, Any], plan: Plan, folder: RunFolder) -> None:
    """Refuse to resume a different run.

    Raises:
        PlanError: if it differs; the message lists the differences.
    """
    old, new = manifest["identity"], identity_of(plan)
    differing = _differences(old, new) or _reading_differently(manifest, plan)
    if differing:
        raise PlanError(
            f"The run folder holds another run: {', '.join(differing)} differ{'s' if len(differing) == 1 else ''}.",
            where=str(folder.path),
            hint="Choose another --output, or delete the old run with --restart.",
        )
    shown = {task["name"]: task.get("showing", {}) for task in manifest["tasks"]}
    before = {task["name"]: task["dataset_fingerprint"] for task in manifest["tasks"]}
    for task in plan.opened:
        before_it, now_it = shown.get(task.spec.name, {}), task.showing.stated()
        if before_it != now_it:
            kinds = [name for name in ("video", "image", "audio") if before_it.get(name) != now_it.get(name)]
            raise PlanError(
                f"What task {task.spec.name!r} shows of its media changed since this run began: {in_words(kinds)}.",
                where=str(folder.path),
                hint="Choose another --output, or delete the old run with --restart.",
            )
        if before.get(task.spec.name) != task.fingerprint:
            raise PlanError(
                f"The data of task {task.spec.name!r} changed since this run began.",
                where=str(folder.path),
                hint="Start a new run, or --restart this one.",
            )


def changed_tasks(manifest: Mapping[str, Any], plan: Plan) -> set[str]:
    """Tasks whose sources changed since the run began or last went on."""
    before = {task["name"]: task["source_hash"] for task in manifest["tasks"]}
    return {spec.name for spec in plan.selection.tasks if before.get(spec.name) != spec.source_hash}


def is_changed_unopened(manifest: Mapping[str, Any], plan: Plan) -> bool:
    """Return whether the sources of a task have changed, told before any task is opened: the files that its code opens
    while it loads are those that it opened then.
    """
    before = {task["name"]: task for task in manifest["tasks"]}
    for spec in plan.selection.tasks:
        task = before.get(spec.name)
        if task is None:
            return True
        opened = [Path(file) for file in task["sources"] if Path(file) not in spec.sources]
        if not all(file.is_file() for file in opened):
            return True
        if hash_with_opened(spec.source_hash, opened) != task["source_hash"]:
            return True
    return False


def continued(manifest: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Return the manifest of a run that resumes."""
    acted = {task["name"]: task["environment"] for task in manifest["tasks"] if "environment" in task}
    tasks = [_task(plan, number, acted) for number in range(len(plan.opened))]
    return {
        **manifest,
        "status": "running",
        "ended": None,
        "tasks": tasks,
        "options": {
            **manifest["options"],
            # Of the options that cannot change a number, those that are used when the run has ended or is resumed.
            "runtime": {**manifest["options"]["runtime"], **_runtime(plan.options, (*_LAST, *CAPS))},
        },
        **_skipped(plan),
        **_parity(plan),
        **software(),
        # What scores stored answers sends no media to the model.
        "rules": {**rules(), **({"media": rules_of(manifest)["media"]} if "scored_from" in manifest else {})},
        **decided_stops(plan, manifest),
        "hardware": hardware(),
    }


def software_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The versions and the commit in a manifest, which are those of the part that wrote it last."""
    return {name: manifest[name] for name in ("polymeter", "python", "packages")}


def options_of(manifest: Mapping[str, Any], output: Path) -> RunOptions:
    """The options that a run was started with.

    Raises:
        PlanError: if one was a secret and was not stored, or the run was imported.
    """
    refuse_imported(manifest, output)
    values = {**manifest["options"]["identity"], **manifest["options"]["runtime"]}
    hidden = [name for name in ("generation", "dialect_options", "data", "weights") if HIDDEN in str(values.get(name))]
    if hidden:
        setting = "generation setting" if hidden[0] == "generation" else f"value of {hidden[0]!r}"
        raise PlanError(
            f"A {setting} of this run is a secret and was not stored.",
            where=str(output),
            hint="Give the original command with the same --output; it resumes where it stopped.",
        )
    values |= {"output": output, "is_restart": False, "include_paths": tuple(values["include_paths"])}
    return RunOptions.make(values, where=str(output))


def origins_of(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the qualifiers of the names of a run's tasks, once each."""
    qualifiers = {package.record.package: package.qualifier for package in installed_packages()}
    brought = (str(task.get("package") or "").partition(" ")[0] for task in manifest["tasks"])
    return tuple(dict.fromkeys(qualifiers.get(name, name) if name else LIBRARY for name in brought))


def _runtime(options: RunOptions, names: Iterable[str]) -> dict[str, Any]:
    """Return some options as a manifest has them."""
    return {name: jsonable(_named_places(getattr(options, name))) for name in names}


def _skipped(plan: Plan) -> dict[str, Any]:
    """The tasks that the model cannot do; nothing if none was left out."""
    return {"skipped": dict(plan.skipped)} if plan.skipped else {}


def _parity(plan: Plan) -> dict[str, Any]:
    """Return the system whose values the run uses; empty without parity."""
    parity = plan.parity
    if not parity.system:
        return {}
    return {
        "parity": {"system": parity.system, "version": parity.version, "switched": sorted(parity.switched)},
    }


def _environment(plan: Plan, name: str, before: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a task's environment. What only scores stored answers keeps that of the run that acted."""
    described = plan.environments.get(name)
    if described is None:
        return dict(before.get(name) or {})
    of, (effect, identity) = described
    return {"name": of, "effect": effect, "identity": canonical(identity), "digest": fingerprint([of, identity])}


def _task(plan: Plan, number: int, acted: Mapping[str, Any] = _NOTHING_ACTED) -> dict[str, Any]:
    task = plan.opened[number]
    spec = task.spec
    environment = _environment(plan, spec.name, acted)
    return {
        "name": spec.name,
        "alias": spec.alias,
        TASK_FORMAT: stored_format(spec.format),
        "version": spec.version,
        **({"package": spec.package} if spec.package else {}),
        **({"protocol": spec.protocol.as_data()} if spec.protocol else {}),
        "file": str(spec.file),
        "config": jsonable(dict(spec.config)),
        "sources": [str(path) for path in spec.sources],
        "source_hash": spec.source_hash,
        "score_digest": task.score_digest,
        "reading": _reading(task.reading),
        "dataset_fingerprint": task.fingerprint,
        **({"dataset_revisions": dict(task.revisions)} if task.revisions else {}),
        **({"showing": task.showing.stated()} if task.showing else {}),
        **({"environment": environment} if environment else {}),
        "num_fewshot": task.num_fewshot,
        "n_rows": len(task.samples),
        "n_samples": len(selected_samples(task, plan.options)),
    }


def _reading(rules: ReadingRules) -> dict[str, Any]:
    """Return the rules for reading a task's answers. The tags are null for the usual ones."""
    is_removed = rules.is_separated or rules.is_scored_apart
    return {
        "reasoning": "removed" if is_removed else "left to the task's own code",
        "reasoning_tags": None if rules.tags is None else [list(pair) for pair in rules.tags],
        "stop_strings": "anywhere" if rules.stops_anywhere else "behind the reasoning",
    }


def _spec(spec: ModelSpec | None) -> dict[str, Any] | None:
    if spec is None:
        return None
    return {
        "backend": spec.backend,
        "name": spec.name,
        "args": without_secrets(jsonable(dict(spec.args))),
        "path": spec.path,
    }


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    found = [name for name in ("model", "roles", "tasks") if old.get(name) != new.get(name)]
    options = {*old.get("options", {}), *new["options"]}
    return found + sorted(name for name in options if old.get("options", {}).get(name) != new["options"].get(name))


def _opened(model: Model) -> dict[str, str]:
    """Return a digest of the files that a wrapper's code opened while it was loaded; empty if it opened none."""
    return {_OPENED: hash_opened(model.opened_sources)} if model.opened_sources else {}


def _reading_differently(manifest: Mapping[str, Any], plan: Plan) -> list[str]:
    """Return the models whose code has read other files than at the start of the run. Runs of versions that kept no
    record of the files count as unchanged.
    """
    entries = {"model": (manifest["model"], plan.model)}
    entries |= {role: (manifest["roles"].get(role, {}), model) for role, model in plan.roles.items()}
    return [
        f"a file that the code of the {role} reads"
        for role, (entry, model) in entries.items()
        if _OPENED in entry
        and not isinstance(model, StoredAnswers)
        and entry[_OPENED] != hash_opened(model.opened_sources)
    ]


def _named_places(value: Any) -> Any:
    if isinstance(value, Path):
        return str(named_place(value))
    if isinstance(value, tuple):
        return [_named_places(item) for item in value]
    return value
