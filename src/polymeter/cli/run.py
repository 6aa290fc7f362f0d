"""``polymeter run``: measure a model on some tasks."""

from __future__ import annotations

import typer

from polymeter.cli import run_options as option
from polymeter.cli.asked import Asked, read_options
from polymeter.cli.json_output import AsJson, stdout_kept
from polymeter.cli.options import AllowGeneratedCode
from polymeter.cli.roles import JudgeArgs, PanelWay, Quorum
from polymeter.cli.state import Debug, state_of


def run(  # noqa: PLR0917  (one parameter for each option; they become one object below)
    context: typer.Context,
    model: option.Model,
    tasks: option.Tasks,
    model_path: option.ModelPath = "",
    model_args: option.ModelArgs = None,
    base_url: option.BaseURL = None,
    server_args: option.ServerArgs = None,
    strip_prompt: option.StripPrompt = False,
    logprob_template: option.LogprobTemplate = None,
    judge: option.Judge = None,
    judge_args: JudgeArgs = None,
    panel: PanelWay = None,
    panel_quorum: Quorum = None,
    include_path: option.IncludePath = None,
    imports: option.Imports = None,
    data: option.Data = None,
    weights: option.Weights = None,
    offline: option.Offline = False,
    allow_private_urls: option.AllowPrivateUrls = False,
    allow_generated_code: AllowGeneratedCode = False,
    skip_unfit: option.SkipUnfit = False,
    limit: option.Limit = None,
    seed: option.Seed = None,
    gen_kwargs: option.GenKwargs = None,
    num_fewshot: option.NumFewshot = None,
    revision: option.Revision = None,
    prompt_key: option.PromptKey = None,
    system_prompt: option.SystemPrompt = None,
    mcq: option.Mcq = None,
    reasoning_tags: option.ReasoningTags = None,
    parity: option.Parity = None,
    dialect_option: option.DialectOption = None,
    batch_size: option.BatchSize = None,
    concurrency: option.Concurrency = None,
    executor: option.Executor = None,
    replicas: option.Replicas = None,
    judge_replicas: option.JudgeReplicas = None,
    gpus_per_replica: option.GpusPerReplica = None,
    cpus_per_replica: option.CpusPerReplica = None,
    address: option.Address = None,
    lease_timeout: option.LeaseTimeout = None,
    window: option.Window = None,
    score_workers: option.ScoreWorkers = None,
    score_timeout: option.ScoreTimeout = None,
    score_memory: option.ScoreMemory = None,
    decode_workers: option.DecodeWorkers = None,
    max_image_pixels: option.MaxImagePixels = None,
    server_timeout: option.ServerTimeout = None,
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
    report_samples: option.ReportSamples = None,
    journal_dir: option.JournalDir = None,
    publish: option.Publish = None,
    cache_dir: option.CacheDir = None,
    log_to: option.LogTo = None,
    on_end: option.OnEnd = None,
    quiet: option.Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Measure a model on some tasks. The same command with the same --output continues where it stopped."""
    return _evaluate(context, read_options(locals()), is_quiet=quiet, is_strict=strict, is_json=as_json)


def _evaluate(context: typer.Context, asked: Asked, *, is_quiet: bool, is_strict: bool, is_json: bool) -> int:
    from polymeter.cli.outcome import resumable, show

    with stdout_kept(is_json=is_json), resumable(asked.options.get("output")):
        from polymeter.api import evaluate
        from polymeter.cli.progress import make_progress

        with make_progress(is_quiet=is_quiet) as progress:
            result = evaluate(
                asked.model,
                asked.tasks,
                model_path=asked.model_path,
                model_args=asked.model_args,
                roles=asked.roles,
                progress=progress,
                command=state_of(context).command,
                is_strict=is_strict,
                **asked.options,
            )
    return show(result, is_json=is_json)
