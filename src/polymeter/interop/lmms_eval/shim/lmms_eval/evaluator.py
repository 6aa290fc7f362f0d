"""``lmms_eval.evaluator``: a script's evaluation, run by Polymeter.

The evaluation has a run folder (under ``./runs``, or in ``use_cache``), so it can be resumed and has an HTML report.
The return value has lmms-eval's shape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import ModelError, PlanError
from polymeter.interop.lm_family.command import QUIET
from polymeter.interop.lmms_eval.flags import EVAL
from polymeter.interop.lmms_eval.models.base import lmms
from polymeter.interop.lmms_eval.shim.lmms_eval.logs import eval_logger

if TYPE_CHECKING:
    from polymeter.interop.lmms_eval.evaluation import LmmsEvalCommand

__all__ = ["evaluate", "request_caching_arg_to_dict", "simple_evaluate"]


def simple_evaluate(
    model: str | lmms,
    model_args: str | Mapping[str, Any] | None = None,
    launcher_args: str | None = None,
    tasks: Sequence[str] | str | None = None,
    *,
    num_fewshot: int | None = None,
    batch_size: int | str | None = None,
    max_batch_size: int | None = None,
    device: str | None = None,
    use_cache: str | None = None,
    cache_requests: bool = False,
    rewrite_requests_cache: bool = False,
    delete_requests_cache: bool = False,
    limit: float | None = None,
    offset: int = 0,
    bootstrap_iters: int = 100_000,
    check_integrity: bool = False,
    write_out: bool = False,
    log_samples: bool = True,
    evaluation_tracker: Any = None,
    system_instruction: str | None = None,
    apply_chat_template: bool = False,
    fewshot_as_multiturn: bool = False,
    gen_kwargs: str | None = None,
    task_manager: Any = None,
    verbosity: str = "INFO",
    predict_only: bool = False,
    random_seed: int | None = 0,
    numpy_random_seed: int | None = 1234,
    torch_random_seed: int | None = 1234,
    fewshot_random_seed: int | None = 1234,
    datetime_str: str | None = None,
    distributed_executor_backend: str = "accelerate",
    cli_args: Any = None,
    force_simple: bool = False,
    repeats: int = 1,
    baseline: str | None = None,
    max_tokens: int | None = None,
    process_docs_parallel: int = 4,
) -> dict[str, Any]:
    """Evaluate a model on some tasks.

    Args:
        model: A name (one of Polymeter's models, or a registered wrapper), or a wrapper.
        model_args: Arguments of a named model, as ``key=value,…`` or as a mapping.
        tasks: Names, globs, groups, tags, YAML files, or folders.
        task_manager: Names the folders of tasks.
        limit: Samples of each task; a number below 1 is a fraction, -1 means all.
        log_samples: Whether to return the samples too.
        cli_args: Its ``output_path`` is the folder for lmms-eval's files.

    The other arguments are the options of the command line. One without effect is logged; one that would change the
    results is refused.

    Returns:
        ``results``, ``groups``, ``configs``, ``n-samples``, …, and ``samples`` by task.

    Raises:
        PlanError: if it cannot run with these options.
        DataError: if a dataset cannot be opened.
        ModelError: if the run stopped before its end.
    """
    from polymeter.interop.lmms_eval.evaluation import LmmsEvalCommand

    noted_or_refused = {
        "launcher_args": launcher_args,
        "max_batch_size": max_batch_size,
        "cache_requests": "true" if cache_requests or rewrite_requests_cache or delete_requests_cache else None,
        "check_integrity": check_integrity,
        "write_out": write_out,
        "apply_chat_template": apply_chat_template,
        "fewshot_as_multiturn": fewshot_as_multiturn,
        "max_tokens": max_tokens,
    }
    for note in EVAL.notes_on(noted_or_refused):
        eval_logger.info(note)
    seeds = (random_seed, numpy_random_seed, torch_random_seed, fewshot_random_seed)
    options: dict[str, Any] = {
        "num_fewshot": num_fewshot,
        "batch_size": _batch_size(batch_size, model),
        "device": device,
        "output_path": getattr(cli_args, "output_path", None),
        "limit": limit,
        "offset": offset,
        "use_cache": use_cache,
        "system_instruction": system_instruction,
        "gen_kwargs": gen_kwargs or "",
        "predict_only": predict_only,
        "seed": ",".join(str(seed) for seed in seeds),
        "force_simple": force_simple,
        "repeats": repeats,
        "baseline": baseline,
    }
    command = LmmsEvalCommand(
        model if isinstance(model, str) else type(model).__name__,
        ",".join(_names(tasks)),
        _argument_string(model_args),
        include_path=getattr(task_manager, "include_path", None),
        arguments={**noted_or_refused, **options},
        **options,
    )
    return _evaluated(
        command,
        model,
        has_samples=log_samples or predict_only,
        is_quiet=verbosity.upper() in QUIET,
        tracker=evaluation_tracker,
    )


def evaluate(
    lm: lmms,
    task_dict: Mapping[str, Any],
    limit: float | None = None,
    offset: int = 0,
    log_samples: bool = True,
    system_instruction: str | None = None,
    cli_args: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """Evaluate a wrapper on the tasks that ``get_task_dict`` found; ``options`` as of ``simple_evaluate``."""
    ours = {name: value for name, value in options.items() if name not in ("eval_server_launcher", "response_cache")}
    return simple_evaluate(
        lm,
        tasks=[str(entry.file) if entry.is_user else name for name, entry in task_dict.items()],
        limit=limit,
        offset=offset,
        log_samples=log_samples,
        system_instruction=system_instruction,
        cli_args=cli_args,
        **ours,
    )


def request_caching_arg_to_dict(cache_requests: str | None) -> dict[str, bool]:
    """``--cache_requests`` as arguments of ``simple_evaluate``."""
    return {
        "cache_requests": cache_requests in ("true", "refresh"),
        "rewrite_requests_cache": cache_requests == "refresh",
        "delete_requests_cache": cache_requests == "delete",
    }


def _evaluated(
    command: LmmsEvalCommand, model: str | lmms, *, has_samples: bool, is_quiet: bool, tracker: Any
) -> dict[str, Any]:
    from polymeter.cli.progress import make_progress
    from polymeter.interop.lmms_eval.evaluation import evaluate_lmms_eval, lmms_eval_document
    from polymeter.interop.lmms_eval.models import LmmsModel

    with make_progress(is_quiet=is_quiet) as progress:
        result = evaluate_lmms_eval(
            command, progress=progress, model=None if isinstance(model, str) else LmmsModel.around(model)
        )
    for note in result.notes:
        eval_logger.info(note)
    if not result.run.is_complete:
        folder = result.run.folder.path
        raise ModelError(
            f"The run is {result.run.status}: there are no results.",
            where=str(folder),
            hint=f"Resume it with: polymeter resume {folder}",
        )
    if tracker is not None:
        tracker.general_config_tracker.log_experiment_args(
            command.model, command.model_args, command.system_instruction
        )
    return lmms_eval_document(result, has_samples=has_samples)


def _names(tasks: Any) -> list[str]:
    """The names of tasks.

    Raises:
        PlanError: if no task is named, or a name is not a string.
    """
    names = [tasks] if isinstance(tasks, str) else list(tasks or ())
    if not names:
        raise PlanError("No task is named.", where="tasks", hint="'polymeter tasks' lists them.")
    for name in names:
        if not isinstance(name, str):
            raise PlanError(
                f"A task is given as a {type(name).__name__}, not by its name.",
                where="tasks",
                hint="Write it as a YAML file in a folder, and name the folder with TaskManager(include_path=…).",
            )
    return names


def _batch_size(option: int | str | None, model: str | lmms) -> str | None:
    """The given batch size, else that of a wrapper that is made already."""
    size = option if option is not None else getattr(model, "batch_size", None)
    return None if size is None else str(size)


def _argument_string(arguments: str | Mapping[str, Any] | None) -> str:
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return ",".join(f"{name}={_argument(value)}" for name, value in arguments.items() if value is not None)


def _argument(value: Any) -> str:
    return json.dumps(value) if isinstance(value, (Mapping, list, tuple)) else str(value)
