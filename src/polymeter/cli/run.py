"""``polymeter run``: measure a model on some tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from polymeter.cli import run_options as option
from polymeter.cli.foreign_flags import count_or_share
from polymeter.cli.json_output import AsJson, stdout_kept
from polymeter.cli.options import number_or_auto, thresholds
from polymeter.cli.pairs import (
    parse_dialect_options,
    parse_model_args,
    parse_pairs,
    parse_places,
    require_paths,
    split_list,
)
from polymeter.cli.roles import JudgeArgs, judge_roles
from polymeter.cli.state import Debug, state_of
from polymeter.core.errors import PlanError

if TYPE_CHECKING:
    from polymeter.core.model import ModelSpec


def run(  # noqa: PLR0917  (one parameter for each option; they become one object below)
    context: typer.Context,
    model: option.Model,
    tasks: option.Tasks,
    model_path: option.ModelPath = "",
    model_args: option.ModelArgs = None,
    base_url: option.BaseURL = None,
    strip_prompt: option.StripPrompt = False,
    logprob_template: option.LogprobTemplate = None,
    judge: option.Judge = None,
    judge_args: JudgeArgs = None,
    include_path: option.IncludePath = None,
    imports: option.Imports = None,
    data: option.Data = None,
    weights: option.Weights = None,
    offline: option.Offline = False,
    allow_private_urls: option.AllowPrivateUrls = False,
    skip_unfit: option.SkipUnfit = False,
    limit: option.Limit = None,
    seed: option.Seed = None,
    gen_kwargs: option.GenKwargs = None,
    num_fewshot: option.NumFewshot = None,
    prompt_key: option.PromptKey = None,
    system_prompt: option.SystemPrompt = None,
    mcq: option.Mcq = None,
    parity: option.Parity = None,
    dialect_option: option.DialectOption = None,
    batch_size: option.BatchSize = None,
    concurrency: option.Concurrency = None,
    window: option.Window = None,
    score_workers: option.ScoreWorkers = None,
    score_timeout: option.ScoreTimeout = None,
    score_memory: option.ScoreMemory = None,
    decode_workers: option.DecodeWorkers = None,
    max_image_pixels: option.MaxImagePixels = None,
    timeout: option.Timeout = None,
    max_retries: option.MaxRetries = None,
    max_wait: option.MaxWait = None,
    max_errors: option.MaxErrors = None,
    strict: option.Strict = False,
    fail_under: option.FailUnder = None,
    output: option.Output = None,
    strict_resume: option.StrictResume = None,
    restart: option.Restart = False,
    media: option.Media = None,
    journal_dir: option.JournalDir = None,
    cache_dir: option.CacheDir = None,
    quiet: option.Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Measure a model on some tasks. The same command with the same --output continues where it stopped."""
    names = [name for text in tasks for name in _names(text)]
    if not names:
        raise PlanError("No task is named.", where="--tasks", hint="'polymeter tasks' lists them.")
    settings = {
        "limit": None if limit is None else count_or_share(limit, "--limit"),
        "seed": seed,
        "generation": parse_pairs(gen_kwargs or (), "--gen-kwargs"),
        "num_fewshot": num_fewshot,
        "prompt_key": prompt_key,
        "system_prompt": system_prompt,
        "mcq": mcq.value if mcq else None,
        "parity": parity,
        "data": parse_places(data or (), "--data"),
        "dialect_options": parse_dialect_options(dialect_option or (), "--dialect-option"),
        "weights": require_paths(parse_places(weights or (), "--weights"), "--weights"),
        "include_paths": tuple(include_path or ()),
        "imports": tuple(imports or ()),
        "output": output,
        "batch_size": number_or_auto(batch_size, "--batch-size"),
        "concurrency": number_or_auto(concurrency, "--concurrency"),
        "window": window,
        "score_workers": score_workers,
        "score_timeout_s": score_timeout,
        "score_memory_mb": score_memory,
        "decode_workers": decode_workers,
        "max_image_pixels": max_image_pixels,
        "timeout_s": timeout,
        "max_wait_s": max_wait,
        "max_retries": max_retries,
        "max_errors": None if max_errors is None else count_or_share(max_errors, "--max-errors"),
        "media": media.value if media else None,
        "journal_dir": journal_dir,
        "cache_dir": cache_dir,
        "is_offline": offline or None,
        "skip_unfit": skip_unfit or None,
        "is_strict_resume": strict_resume,
        "allow_private_urls": allow_private_urls or None,
        "is_restart": restart or None,
        "fail_under": thresholds(fail_under),
    }
    options = {name: value for name, value in settings.items() if value not in (None, (), {})}
    arguments = parse_model_args(model, model_args or ())
    arguments |= {"base_url": base_url} if base_url else {}
    arguments |= {"strip_prompt": True} if strip_prompt else {}
    arguments |= {"logprob_template": logprob_template.value} if logprob_template else {}
    return _evaluate(
        context,
        model,
        names,
        model_path,
        arguments,
        judge_roles(judge, judge_args),
        options,
        is_quiet=quiet,
        is_strict=strict,
        is_json=as_json,
    )


def _names(text: str) -> list[str]:
    """The tasks that ``--tasks`` names; a file may have a comma in its path."""
    return [text] if "," in text and Path(text).is_file() else split_list(text, "--tasks")


def _evaluate(
    context: typer.Context,
    model: str,
    names: list[str],
    model_path: str,
    model_args: dict[str, Any],
    roles: dict[str, str | ModelSpec],
    options: dict[str, Any],
    *,
    is_quiet: bool,
    is_strict: bool,
    is_json: bool,
) -> int:
    from polymeter.cli.outcome import resumable, show

    with stdout_kept(is_json=is_json), resumable(options.get("output")):
        from polymeter.api import evaluate
        from polymeter.cli.progress import make_progress

        with make_progress(is_quiet=is_quiet) as progress:
            result = evaluate(
                model,
                names,
                model_path=model_path,
                model_args=model_args,
                roles=roles,
                progress=progress,
                command=state_of(context).command,
                is_strict=is_strict,
                **options,
            )
    return show(result, is_json=is_json)
