"""``polymeter score``: score a run again without using its model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from polymeter.cli import run_options as option
from polymeter.cli.json_output import AsJson, stdout_kept
from polymeter.cli.options import (
    AllowGeneratedCode,
    FailUnder,
    LogTo,
    Parity,
    Quiet,
    ReportSamples,
    Strict,
    StrictResume,
    count_or_all,
    number_or_auto,
    thresholds,
)
from polymeter.cli.pairs import parse_dialect_options, parse_trackers
from polymeter.cli.roles import JudgeArgs, PanelWay, Quorum, judge_roles
from polymeter.cli.state import Debug, state_of


def score(  # noqa: PLR0917  (one parameter for each option)
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="The run folder.", metavar="RUN", show_default=False)],
    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            help="The model that judges, replacing the run's; several are a panel.",
            metavar="SPEC",
            rich_help_panel="What to measure",
        ),
    ] = None,
    judge_args: JudgeArgs = None,
    panel: PanelWay = None,
    panel_quorum: Quorum = None,
    parity: Parity = None,
    reasoning_tags: option.ReasoningTags = None,
    dialect_option: Annotated[
        list[str] | None,
        typer.Option(
            "--dialect-option",
            help="A setting of one benchmark format that affects scoring: tsv.detector=….",
            metavar="FORMAT.NAME=VALUE",
        ),
    ] = None,
    allow_generated_code: AllowGeneratedCode = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The new run folder; default: beside the run.", metavar="FOLDER"),
    ] = None,
    concurrency: Annotated[
        str | None,
        typer.Option(
            "--concurrency",
            help="The maximum number of requests in flight at the judge's endpoint, or auto.",
            metavar="N",
        ),
    ] = None,
    executor: option.Executor = None,
    judge_replicas: option.JudgeReplicas = None,
    gpus_per_replica: option.GpusPerReplica = None,
    cpus_per_replica: option.CpusPerReplica = None,
    address: option.Address = None,
    lease_timeout: option.LeaseTimeout = None,
    score_workers: Annotated[
        int | None, typer.Option("--score-workers", help="Threads for hooks and scoring.", metavar="N")
    ] = None,
    score_timeout: Annotated[
        float | None,
        typer.Option("--score-timeout", help="Time limit of scoring a sample; default 60.", metavar="SECONDS"),
    ] = None,
    score_memory: Annotated[
        int | None,
        typer.Option("--score-memory", help="Memory limit of scoring a sample; default 2048.", metavar="MB"),
    ] = None,
    strict_resume: StrictResume = None,
    report_samples: ReportSamples = None,
    strict: Strict = False,
    fail_under: FailUnder = None,
    log_to: LogTo = None,
    on_end: option.OnEnd = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Score a run again from its stored answers, if you like with another judge. Its model gets no requests."""
    from polymeter.api import score as score_run
    from polymeter.cli.outcome import show
    from polymeter.cli.progress import make_progress

    options: dict[str, Any] = {
        "concurrency": number_or_auto(concurrency, "--concurrency"),
        "executor": executor.value if executor else None,
        "judge_replicas": judge_replicas,
        "gpus_per_replica": gpus_per_replica,
        "cpus_per_replica": cpus_per_replica,
        "address": address,
        "lease_timeout_s": lease_timeout,
        "score_workers": score_workers,
        "is_strict_resume": strict_resume,
        "report_samples": count_or_all(report_samples, "--report-samples"),
        "score_timeout_s": score_timeout,
        "score_memory_mb": score_memory,
        "allow_generated_code": allow_generated_code or None,
        "parity": parity,
        "reasoning_tags": reasoning_tags,
        "panel": panel.value if panel else None,
        "panel_quorum": panel_quorum,
        "dialect_options": parse_dialect_options(dialect_option or (), "--dialect-option") or None,
        "fail_under": thresholds(fail_under) or None,
        "log_to": parse_trackers(log_to or (), "--log-to") or None,
        "on_end": on_end or None,
    }
    with stdout_kept(is_json=as_json), make_progress(is_quiet=quiet) as progress:
        result = score_run(
            run,
            roles=judge_roles(judge, judge_args),
            output=output,
            progress=progress,
            command=state_of(context).command,
            is_strict=strict,
            **{name: value for name, value in options.items() if value is not None},
        )
    return show(result, is_json=as_json)
