"""An evaluation with lm-eval's options, which writes lm-eval's result and sample files beside our run folder.

This module owns what the options mean (seeds, tasks, samples, folders); ``model_names`` owns which model a name means.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from polymeter.api.result import RunResult
from polymeter.api.running import evaluate
from polymeter.api.settings import parity_of
from polymeter.catalog.listing import build_catalog, named_tasks
from polymeter.core.errors import PlanError
from polymeter.core.format import OpenContext
from polymeter.core.identity import fingerprint
from polymeter.core.model import Model
from polymeter.core.names.catalog import Catalog
from polymeter.core.names.parity import parity_with
from polymeter.core.records.progress import Progress
from polymeter.core.task import TaskSpec
from polymeter.core.text.secrets import without_secrets
from polymeter.exchange.sending import make_trackers, send_to_all
from polymeter.interop.lm_eval.files.checkpoint import CheckpointFacts, read_checkpoint
from polymeter.interop.lm_eval.files.wrapper_template import kept_wrapper, template_of
from polymeter.interop.lm_eval.model_names import LmEvalRoute, route
from polymeter.interop.lm_eval.results import (
    NAME_KEYS,
    LmEvalFacts,
    LmEvalStoredRun,
    files_folder,
    model_name,
    results_document,
    time_stamp,
    write_files,
)
from polymeter.interop.lm_eval.tasks.dialect import NAME
from polymeter.interop.lm_eval.tasks.scoring.stated_errors import ITERATIONS
from polymeter.interop.lm_family.evaluation import (
    DEFAULT_SEEDS,
    Seeds,
    check_output_path,
    identity_options,
    parse_batch_size,
    run_folder,
)
from polymeter.run.plan.selection import SelectedTasks, select

_HUB = ("hub_results_org", "hub_repo_name", "results_repo_name", "details_repo_name")
_YAML = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class LmEvalCommand:
    """An evaluation in lm-eval's terms. Each field is the option of that name, as a value.

    Attributes:
        seeds: Those of Python, NumPy, torch and the examples.
        data: Local files in place of dataset ids.
    """

    model: str
    tasks: Sequence[str]
    model_args: Mapping[str, Any] = field(default_factory=dict)
    model_path: str = ""
    num_fewshot: int | None = None
    batch_size: int | str | None = None
    device: str | None = None
    limit: float | None = None
    samples: Mapping[str, Sequence[int]] | None = None
    output_path: str | None = None
    log_samples: bool = False
    use_cache: str | None = None
    system_instruction: str | None = None
    apply_chat_template: bool | str = False
    fewshot_as_multiturn: bool | None = None
    gen_kwargs: Mapping[str, Any] = field(default_factory=dict)
    include_path: Sequence[str] = ()
    predict_only: bool = False
    seeds: Seeds = DEFAULT_SEEDS
    bootstrap_iters: int = ITERATIONS
    trust_remote_code: bool = False
    confirm_run_unsafe_code: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    wandb_args: Mapping[str, Any] | None = None
    wandb_config_args: Mapping[str, Any] | None = None
    hf_hub_log_args: Mapping[str, Any] = field(default_factory=dict)
    server_args: str = ""
    parity: str | None = None
    data: Mapping[str, str] = field(default_factory=dict)
    offline: bool = False
    strict_resume: bool = False


@dataclass(frozen=True, slots=True)
class LmEvalResult:
    """A finished evaluation.

    Attributes:
        run: Ours.
        stored: Its folder, as lm-eval's documents are made from it; ``None``: it did not end.
        files: lm-eval's files, as written.
        notes: What the user should know about how the command was carried out.
    """

    run: RunResult
    stored: LmEvalStoredRun | None
    files: tuple[Path, ...]
    notes: tuple[str, ...]


def evaluate_lm_eval(
    command: LmEvalCommand,
    *,
    progress: Progress | None = None,
    typed: str = "",
    model: Model | None = None,
    keeps_files: bool = True,
) -> LmEvalResult:
    """Run a command of lm-eval.

    With an ``output_path``, the run folder lies beside the files. The same command again resumes a run that was
    interrupted or has failed samples; with ``use_cache`` it also reuses the answers of a complete one.

    Args:
        command: The command.
        progress: Receives the progress of the run.
        typed: What the user typed, for the record.
        model: An existing model, in place of the one that the command names.
        keeps_files: Whether samples and answers are for lm-eval's files, and not for a script.

    Raises:
        PlanError: if it cannot run with these options; nothing was spent.
        DataError: if a dataset cannot be opened; nothing was spent.
    """
    _check(command, keeps_files=keeps_files)
    arguments = dict(command.model_args)
    named = dict(arguments)
    if command.trust_remote_code:
        arguments["trust_remote_code"] = True
    is_chat = bool(command.apply_chat_template)
    if model is None:
        if command.device:
            arguments.setdefault("device", command.device)
        routed = route(command.model, arguments, model_path=command.model_path, is_chat=is_chat)
        if command.server_args:
            own = str(routed.arguments.get("server_args", ""))
            routed.arguments["server_args"] = f"{own} {command.server_args}".strip()
    else:
        routed = LmEvalRoute(command.model)
    paths = tuple(Path(f"lm-eval:{path}") for path in command.include_path)
    wrapper = kept_wrapper(routed, command.model_path, model) if is_chat else None
    made = model if wrapper is None else wrapper
    patterns, paths = patterns_and_paths(command.tasks, paths)
    # As there, tasks see the model's arguments.
    metadata = {**without_secrets(named), **command.metadata}
    options = {**_options(command, routed, metadata), "include_paths": paths}
    stamp, name = time_stamp(), model_name(arguments)
    folder = files_folder(command.output_path, name) if command.output_path else None
    log_to = _log_to(command, stamp)
    trackers = make_trackers(log_to)
    run = evaluate(
        routed.spec if made is None else made,
        patterns,
        model_path=command.model_path if made is None else "",
        model_args=routed.arguments if made is None else {},
        progress=progress,
        command=typed,
        output=_run_folder(command, routed, folder, stamp, patterns, options),
        **options,
    )
    stored: LmEvalStoredRun | None = None
    written: tuple[Path, ...] = ()
    if run.is_complete:
        chosen = _selected(patterns, paths, options)
        checkpoint = read_checkpoint(routed.spec, routed.arguments) if model is None else None
        facts = _facts(command, stamp, metadata, chosen, checkpoint)
        if wrapper is not None:
            facts = replace(facts, render=template_of(wrapper))
        stored = LmEvalStoredRun(run.folder, facts)
        if command.output_path:
            has_samples = command.log_samples or command.predict_only
            written = write_files(stored, command.output_path, name, has_samples=has_samples)
    run = send_to_all(run, trackers, log_to, {f"{name}/{path.name}": path for path in written[:1]})
    return LmEvalResult(run, stored, written, (*routed.notes, *_seed_notes(command.seeds)))


def lm_eval_document(result: LmEvalResult, *, has_samples: bool = True) -> dict[str, Any]:
    """Return the results as ``simple_evaluate`` of lm-eval returns them.

    Raises:
        PlanError: if the run did not end.
    """
    if result.stored is None:
        raise PlanError(
            "The run did not end, so there are no results.",
            where=str(result.run.folder.path),
            hint=f"'polymeter resume {result.run.folder.path}' continues it.",
        )
    return results_document(result.stored, has_samples=has_samples)


def parse_seeds(text: str) -> Seeds:
    """Parse ``--seed``: one number for all four, three of which the fourth is the default, or four; ``None`` leaves one
    unset.

    Raises:
        PlanError: if there are others, or one is neither a number nor ``None``.
    """
    hint = "Write one number, or four: 0,1234,1234,1234"
    try:
        seeds = [None if word.strip().lower() == "none" else int(word) for word in text.split(",")]
    except ValueError:
        raise PlanError(f"{text!r} holds something that is not a number.", where="--seed", hint=hint) from None
    whole = seeds * 4 if len(seeds) == 1 else [*seeds, DEFAULT_SEEDS[3]] if len(seeds) == 3 else seeds
    if len(whole) != 4:
        raise PlanError(f"{text!r} has {len(seeds)} seeds.", where="--seed", hint=hint)
    return (whole[0], whole[1], whole[2], whole[3])


def parse_samples(text: str) -> dict[str, list[int]]:
    """Parse ``--samples``: a JSON object from task to row numbers, or a file with one.

    Raises:
        PlanError: if it is neither.
    """
    hint = "Write '{\"task\": [0, 3, 6]}', or name a file with that."
    content = text
    if not text.lstrip().startswith("{"):
        try:
            content = Path(text).read_text("utf-8")
        except (OSError, ValueError) as error:
            raise PlanError(f"The samples cannot be read: {error}.", where="--samples", hint=hint) from None
    try:
        told = json.loads(content)
    except ValueError as error:
        raise PlanError(f"The samples are not valid JSON: {error}.", where="--samples", hint=hint) from None
    return checked_samples(told)


def checked_samples(told: Any) -> dict[str, list[int]]:
    """Row numbers by task.

    Raises:
        PlanError: if they are something else.
    """
    is_right = isinstance(told, Mapping) and all(
        isinstance(rows, Sequence) and not isinstance(rows, str) and all(type(row) is int for row in rows)
        for rows in told.values()
    )
    if not is_right:
        raise PlanError("The samples must be a list of row numbers for each task.", where="--samples")
    return {str(task): list(rows) for task, rows in told.items()}


def catalog_of(include_path: Sequence[str]) -> Catalog:
    """The benchmarks that names mean. Files of folders are read as lm-eval's.

    Raises:
        PlanError: if there is no such folder.
    """
    return build_catalog([Path(f"lm-eval:{path}") for path in include_path])


def patterns_and_paths(tasks: Sequence[str], include_paths: tuple[Path, ...]) -> tuple[list[str], tuple[Path, ...]]:
    """Task patterns, and the folders to search. A pattern of YAML files stands for the files that match it, and one
    folder among the tasks for all tasks in it, unless a task has its name.

    Raises:
        PlanError: if no task is named, or the folder contains none.
    """
    written = [word.strip() for listed in tasks for word in str(listed).split(",") if word.strip()]
    words = list(dict.fromkeys(file for word in written for file in _files_of(word)))
    if not words:
        raise PlanError("No task is named.", where="--tasks", hint="'polymeter lm-eval ls tasks' lists them.")
    files = [Path(word) for word in words if word.endswith(_YAML) and Path(word).is_file()]
    folder = Path(words[0])
    if len(words) > 1 or not folder.is_dir():
        return words, (*include_paths, *(Path(f"lm-eval:{file}") for file in files))
    catalog = build_catalog(include_paths)
    if words[0] in catalog.entries or words[0] in catalog.tags():
        return words, include_paths
    paths = (*include_paths, Path(f"lm-eval:{folder}"))
    place = folder.resolve()
    inside = [entry.name for entry in build_catalog(paths) if entry.kind == "task" and entry.file.parent == place]
    if not inside:
        raise PlanError(f"The folder {words[0]!r} contains no task.", where="--tasks")
    return inside, paths


def _files_of(word: str) -> Sequence[str]:
    """Return the YAML files that a pattern of paths matches; anything else, or a pattern without a match, unchanged."""
    is_pattern = word.endswith(_YAML) and has_magic(word) and not Path(word).is_file()
    return sorted(glob(word)) or [word] if is_pattern else [word]


def _check(command: LmEvalCommand, *, keeps_files: bool) -> None:
    if keeps_files:
        check_output_path(command.output_path, log_samples=command.log_samples, predict_only=command.predict_only)
    if command.samples and command.limit is not None:
        raise PlanError("--samples and --limit exclude each other.", where="--samples", hint="Give one of them.")
    if command.limit is not None and command.limit <= 0:
        raise PlanError(f"{command.limit:g} is not a limit.", where="--limit", hint="Write 100, or 0.1 for a tenth.")
    if command.fewshot_as_multiturn and not command.apply_chat_template:
        raise PlanError(
            "--fewshot_as_multiturn needs --apply_chat_template: only chats have turns.",
            where="--fewshot_as_multiturn",
            hint="Give both, or neither.",
        )


def _options(command: LmEvalCommand, routed: LmEvalRoute, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Our options for a command; those that it does not set keep their defaults."""
    dialect: dict[str, Any] = {
        "apply_chat_template": command.apply_chat_template or None,
        "fewshot_as_multiturn": command.fewshot_as_multiturn,
        "fewshot_seed": command.seeds[3],
        "numpy_seed": command.seeds[1],
        "predict_only": command.predict_only or None,
        "metadata": dict(metadata) or None,
        "samples": dict(command.samples) if command.samples else None,
        "think_end_token": routed.think_end or None,
        "max_gen_toks": routed.answer_length,
    }
    told = {name: value for name, value in dialect.items() if value is not None}
    size = command.batch_size if command.batch_size is not None else routed.options.get("batch_size")
    of_model = {name: value for name, value in routed.options.items() if name != "batch_size" and value is not None}
    options: dict[str, Any] = {
        **of_model,
        "limit": command.limit,
        "seed": command.seeds[0] or 0,
        "generation": dict(command.gen_kwargs) or None,
        "num_fewshot": command.num_fewshot,
        "system_prompt": command.system_instruction or None,
        "batch_size": parse_batch_size(size),
        "parity": parity_of(command.parity) or command.parity,
        "allow_generated_code": command.confirm_run_unsafe_code or None,
        "is_strict_resume": command.strict_resume or None,
        "is_offline": command.offline or None,
        "data": dict(command.data) or None,
        # A run that keeps answers alone does so for tasks of every format.
        "dialect_options": {NAME: told, **({"task_yaml": {"predict_only": True}} if command.predict_only else {})},
    }
    return {name: value for name, value in options.items() if value is not None}


def planned_context(command: LmEvalCommand, spec: TaskSpec) -> OpenContext:
    """The settings of a command that make a task's prompts, without places of data and parity.

    Raises:
        PlanError: if the command has options that make no sense.
    """
    metadata = {**without_secrets(dict(command.model_args)), **command.metadata}
    options = _options(command, LmEvalRoute(command.model), metadata)
    return OpenContext(
        seed=options["seed"],
        generation=options.get("generation", {}),
        num_fewshot=command.num_fewshot,
        system_prompt=options.get("system_prompt", ""),
        limit=command.limit,
        options=options["dialect_options"].get(spec.format, {}),
    )


def _selected(patterns: Sequence[str], paths: tuple[Path, ...], options: Mapping[str, Any]) -> SelectedTasks:
    named = named_tasks(patterns, paths, parity=str(options.get("parity", "")))
    return select(named.patterns, named.catalog)


def _facts(
    command: LmEvalCommand,
    stamp: str,
    metadata: Mapping[str, Any],
    selection: SelectedTasks,
    checkpoint: CheckpointFacts | None,
) -> LmEvalFacts:
    multiturn = command.fewshot_as_multiturn
    is_rendered = checkpoint is not None and bool(command.apply_chat_template)
    return LmEvalFacts(
        model=command.model,
        model_args=without_secrets(dict(command.model_args)),
        stamp=stamp,
        specs={spec.name: spec for spec in selection.tasks},
        groups={group.name: group for group in selection.groups},
        metadata=without_secrets(dict(metadata)),
        seeds=command.seeds,
        bootstrap_iters=command.bootstrap_iters,
        settings={
            "batch_size": command.batch_size if command.batch_size is not None else 1,
            "device": command.device,
            "use_cache": command.use_cache,
            "limit": command.limit,
            "gen_kwargs": without_secrets(dict(command.gen_kwargs)),
            "system_instruction": command.system_instruction,
            "fewshot_as_multiturn": True if multiturn is None and command.apply_chat_template else multiturn,
            "chat_template": checkpoint.template if checkpoint is not None and is_rendered else None,
        },
        checkpoint={} if checkpoint is None else checkpoint.facts(),
        render=checkpoint.render(parity_with(parity_of(command.parity)))
        if checkpoint is not None and is_rendered
        else None,
    )


def _log_to(command: LmEvalCommand, stamp: str) -> dict[str, dict[str, Any]]:
    """Trackers with their arguments."""
    log_to: dict[str, dict[str, Any]] = {}
    if command.wandb_args is not None:
        given = {"name": f"{command.model}_{stamp}", **command.wandb_args}
        extra = {"config": dict(command.wandb_config_args)} if command.wandb_config_args else {}
        log_to["wandb"] = {**given, **extra}
    hub = command.hf_hub_log_args
    if hub.get("push_results_to_hub") or hub.get("push_samples_to_hub"):
        repository = next((str(hub[key]) for key in _HUB[1:] if hub.get(key)), "lm-eval-results")
        owner = hub.get("hub_results_org")
        log_to["hub"] = {
            "repo": f"{owner}/{repository}" if owner else repository,
            "is_private": not hub.get("public_repo", False),
        }
    return log_to


def _run_folder(
    command: LmEvalCommand,
    routed: LmEvalRoute,
    folder: Path | None,
    stamp: str,
    patterns: Sequence[str],
    options: Mapping[str, Any],
) -> Path | None:
    """Return the place of our run: in the cache, beside the files, or (``None``) in a new folder of its own."""
    named = identity_options(options)
    paths = [str(path) for path in options["include_paths"]]
    arguments = without_secrets(routed.arguments)
    identity = fingerprint([routed.spec, command.model_path, arguments, sorted(patterns), named, paths])[:8]
    if folder is not None and not any(key in command.model_args for key in NAME_KEYS):
        folder = files_folder(str(command.output_path), ".")  # its folder has another name every time
    return run_folder(command.use_cache, folder, "run_{stamp}_{identity}", identity, stamp)


def _seed_notes(seeds: Seeds) -> Sequence[str]:
    if seeds[2] in (seeds[0], DEFAULT_SEEDS[2]):
        return ()
    return (f"The seed of torch ({seeds[2]}) has no effect: each request has a seed, derived from the run's.",)
