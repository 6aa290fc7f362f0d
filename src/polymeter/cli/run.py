"""``polymeter run``: measure a model on some tasks."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymeter.cli.foreign_flags import count_or_share
from polymeter.cli.pairs import parse_dialect_options, parse_model_args, parse_pairs, parse_places, split_list
from polymeter.cli.roles import JudgeArgs, judge_roles
from polymeter.cli.state import Debug, state_of
from polymeter.core.errors import PlanError

if TYPE_CHECKING:
    from polymeter.core.model import ModelSpec

_WHAT, _HOW, _SPEED, _OUTPUT = "What to measure", "Settings that can change results", "Speed and failures", "Output"


class MediaKept(str, Enum):
    """What is kept of the media that models receive."""

    PREVIEWS = "previews"
    NONE = "none"


class LogprobTemplates(str, Enum):
    """What log-probabilities of a checkpoint are taken behind."""

    AUTO = "auto"
    CHAT = "chat"
    NONE = "none"


def _option(*names: str, help: str, panel: str, metavar: str | None = None, **rules: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, metavar=metavar, show_default=False, **rules)


def run(  # noqa: PLR0917  (one parameter for each option; they become one object below)
    context: typer.Context,
    model: Annotated[
        str, _option("--model", "-m", help="The model: ocr, mock, backend:name.", panel=_WHAT, metavar="SPEC")
    ],
    tasks: Annotated[
        list[str],
        _option(
            "--tasks",
            "-t",
            help="Tasks, groups, tags, globs or YAML files, separated by commas.",
            panel=_WHAT,
            metavar="NAMES",
        ),
    ],
    model_path: Annotated[
        str, _option("--model-path", help="File or package that defines the model.", panel=_WHAT, metavar="FILE")
    ] = "",
    model_args: Annotated[
        list[str] | None,
        _option("--model-args", "-a", help="Arguments for the model: key=value,…", panel=_WHAT, metavar="PAIRS"),
    ] = None,
    base_url: Annotated[
        str | None,
        _option("--base-url", help="Address of the model's endpoint, up to /v1.", panel=_WHAT, metavar="URL"),
    ] = None,
    strip_prompt: Annotated[
        bool, _option("--strip-prompt", help="Remove the prompt from answers of a wrapper that repeats it.", panel=_HOW)
    ] = False,
    logprob_template: Annotated[
        LogprobTemplates | None,
        _option(
            "--logprob-template",
            help="What log-probabilities of a checkpoint are taken behind: chat (its chat template), none (the text "
            "alone), or auto (the template if it has one); default auto.",
            panel=_HOW,
        ),
    ] = None,
    judge: Annotated[str | None, _option("--judge", help="The model that judges.", panel=_WHAT, metavar="SPEC")] = None,
    judge_args: JudgeArgs = None,
    include_path: Annotated[
        list[Path] | None, _option("--include-path", help="A folder of benchmarks.", panel=_WHAT, metavar="FOLDER")
    ] = None,
    imports: Annotated[
        list[Path] | None,
        _option("--import", help="A Python file to load first, for its registrations.", panel=_WHAT, metavar="FILE"),
    ] = None,
    data: Annotated[
        list[str] | None,
        _option(
            "--data",
            help="Local files that replace a dataset: id=path or id:config=path.",
            panel=_WHAT,
            metavar="ID=PATH",
        ),
    ] = None,
    weights: Annotated[
        list[str] | None,
        _option("--weights", help="Local files that replace a model id.", panel=_WHAT, metavar="ID=PATH"),
    ] = None,
    offline: Annotated[
        bool, _option("--offline", help="Fetch no data and no weights; endpoints are still used.", panel=_WHAT)
    ] = False,
    allow_private_urls: Annotated[
        bool,
        _option(
            "--allow-private-urls",
            help="Fetch images that data names by URL from private addresses too, not only from public ones.",
            panel=_WHAT,
        ),
    ] = False,
    limit: Annotated[
        float | None,
        _option(
            "--limit", help="The maximum number of samples of each task; below 1: a share.", panel=_HOW, metavar="N"
        ),
    ] = None,
    seed: Annotated[int | None, _option("--seed", help="Seed of the run; default 0.", panel=_HOW)] = None,
    gen_kwargs: Annotated[
        list[str] | None,
        _option(
            "--gen-kwargs",
            help="Generation settings that override the tasks': key=value,…",
            panel=_HOW,
            metavar="PAIRS",
        ),
    ] = None,
    num_fewshot: Annotated[
        int | None,
        _option(
            "--num-fewshot", help="The number of few-shot examples; overrides the tasks'.", panel=_HOW, metavar="N"
        ),
    ] = None,
    prompt_key: Annotated[
        str | None, _option("--prompt-key", help="The model-specific prompts to use.", panel=_HOW, metavar="NAME")
    ] = None,
    system_prompt: Annotated[
        str | None, _option("--system-prompt", help="Text put before every conversation.", panel=_HOW, metavar="TEXT")
    ] = None,
    parity: Annotated[
        str | None,
        _option(
            "--parity",
            help="Where Polymeter differs from another system on purpose, take that system's values.",
            panel=_HOW,
            metavar="SYSTEM",
        ),
    ] = None,
    dialect_option: Annotated[
        list[str] | None,
        _option(
            "--dialect-option",
            help="A setting of one benchmark format: tsv.circular=true.",
            panel=_HOW,
            metavar="FORMAT.NAME=VALUE",
        ),
    ] = None,
    batch_size: Annotated[
        str | None,
        _option(
            "--batch-size", "-b", help="Requests in a batch, or auto: determined by trial.", panel=_SPEED, metavar="N"
        ),
    ] = None,
    concurrency: Annotated[
        str | None,
        _option(
            "--concurrency",
            help="The maximum number of requests in flight at an endpoint, or auto (the default): raised until it "
            "refuses.",
            panel=_SPEED,
            metavar="N",
        ),
    ] = None,
    window: Annotated[
        int | None, _option("--window", help="Samples processed at the same time.", panel=_SPEED, metavar="N")
    ] = None,
    score_workers: Annotated[
        int | None, _option("--score-workers", help="Threads for hooks and scoring.", panel=_SPEED, metavar="N")
    ] = None,
    score_timeout: Annotated[
        float | None,
        _option("--score-timeout", help="Time limit of scoring a sample; default 60.", panel=_SPEED, metavar="SECONDS"),
    ] = None,
    score_memory: Annotated[
        int | None,
        _option("--score-memory", help="Memory limit of scoring a sample; default 2048.", panel=_SPEED, metavar="MB"),
    ] = None,
    decode_workers: Annotated[
        int | None, _option("--decode-workers", help="Threads that decode media in advance.", panel=_SPEED, metavar="N")
    ] = None,
    max_image_pixels: Annotated[
        int | None,
        _option(
            "--max-image-pixels",
            help="A larger image is an error of its sample; default: 178,956,970.",
            panel=_HOW,
            metavar="N",
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        _option("--timeout", help="Time limit of a request to an endpoint.", panel=_SPEED, metavar="SECONDS"),
    ] = None,
    max_retries: Annotated[
        int | None,
        _option("--max-retries", help="The number of retries of a failed request.", panel=_SPEED, metavar="N"),
    ] = None,
    max_wait: Annotated[
        float | None,
        _option(
            "--max-wait",
            help="The longest wait before another attempt at an endpoint, whatever it asks for; default 60.",
            panel=_SPEED,
            metavar="SECONDS",
        ),
    ] = None,
    max_errors: Annotated[
        float | None,
        _option(
            "--max-errors", help="Stop after this many failed samples; below 1: a share.", panel=_SPEED, metavar="N"
        ),
    ] = None,
    strict: Annotated[
        bool, _option("--strict", help="Exit with 1 if a number lacks a whole member or subset.", panel=_SPEED)
    ] = False,
    output: Annotated[
        Path | None,
        _option("--output", "-o", help="The run folder; default: a new one in runs/.", panel=_OUTPUT, metavar="FOLDER"),
    ] = None,
    strict_resume: Annotated[
        bool | None,
        _option(
            "--strict-resume/--no-strict-resume",
            help="Refuse to continue the run in --output if its endpoint, task sources or Polymeter code changed.",
            panel=_OUTPUT,
        ),
    ] = None,
    restart: Annotated[
        bool, _option("--restart", help="Discard the contents of the run folder.", panel=_OUTPUT)
    ] = False,
    media: Annotated[
        MediaKept | None, _option("--media", help="What to keep of input media; default previews.", panel=_OUTPUT)
    ] = None,
    journal_dir: Annotated[
        Path | None,
        _option("--journal-dir", help="A local folder for the live journal.", panel=_OUTPUT, metavar="FOLDER"),
    ] = None,
    cache_dir: Annotated[
        Path | None, _option("--cache-dir", help="Where prepared data is kept.", panel=_OUTPUT, metavar="FOLDER")
    ] = None,
    quiet: Annotated[
        bool, _option("--quiet", "-q", help="Print only the results, no progress.", panel=_OUTPUT)
    ] = False,
    debug: Debug = False,
) -> int:
    """Measure a model on some tasks. The same command with the same --output continues where it stopped."""
    names = [name for text in tasks for name in split_list(text, "--tasks")]
    if not names:
        raise PlanError("No task is named.", where="--tasks", hint="'polymeter tasks' lists them.")
    settings = {
        "limit": None if limit is None else count_or_share(limit, "--limit"),
        "seed": seed,
        "generation": parse_pairs(gen_kwargs or (), "--gen-kwargs"),
        "num_fewshot": num_fewshot,
        "prompt_key": prompt_key,
        "system_prompt": system_prompt,
        "parity": parity,
        "data": parse_places(data or (), "--data"),
        "dialect_options": parse_dialect_options(dialect_option or (), "--dialect-option"),
        "weights": parse_places(weights or (), "--weights"),
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
        "is_strict_resume": strict_resume,
        "allow_private_urls": allow_private_urls or None,
        "is_restart": restart or None,
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
    )


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
) -> int:
    from polymeter.cli.outcome import resumable, show

    with resumable(options.get("output")):
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
    return show(result)


def number_or_auto(text: str | None, option: str) -> int | str | None:
    """A whole number of at least 1, or ``auto``."""
    if text is None or text == "auto":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise PlanError(f"{text!r} is not a positive whole number.", where=option, hint="Write a number, or auto.")
    return int(text)
