"""``polymeter resume``: continue a run that stopped."""

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
    Quiet,
    ReportSamples,
    Strict,
    StrictResume,
    count_or_all,
    number_or_auto,
    thresholds,
)
from polymeter.cli.pairs import parse_trackers
from polymeter.cli.state import Debug, state_of


def resume(  # noqa: PLR0917  (one parameter for each option)
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="The run folder.", metavar="RUN", show_default=False)],
    retry_errors: Annotated[
        bool | None,
        typer.Option(
            "--retry-errors/--no-retry-errors",
            help="Which samples without a score are run again. Default: those that failed, but not those that the "
            "model refused; --retry-errors: all of them; --no-retry-errors: none.",
            show_default=False,
        ),
    ] = None,
    base_url: option.BaseURL = None,
    server_args: option.ServerArgs = None,
    server_timeout: option.ServerTimeout = None,
    allow_generated_code: AllowGeneratedCode = False,
    strict_resume: StrictResume = None,
    report_samples: ReportSamples = None,
    executor: option.Executor = None,
    replicas: option.Replicas = None,
    judge_replicas: option.JudgeReplicas = None,
    gpus_per_replica: option.GpusPerReplica = None,
    cpus_per_replica: option.CpusPerReplica = None,
    address: option.Address = None,
    lease_timeout: option.LeaseTimeout = None,
    strict: Strict = False,
    fail_under: FailUnder = None,
    log_to: LogTo = None,
    publish: option.Publish = None,
    on_end: option.OnEnd = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Continue a run that was interrupted. Completed samples are not run again."""
    from polymeter.cli.outcome import resumable, show

    served = {"base_url": base_url, "server_args": server_args, "start_timeout_s": server_timeout}
    options: dict[str, Any] = {
        "model_args": {name: value for name, value in served.items() if value is not None} or None,
        "retry_errors": retry_errors,
        "allow_generated_code": allow_generated_code or None,
        "is_strict_resume": strict_resume,
        "report_samples": count_or_all(report_samples, "--report-samples"),
        "executor": executor.value if executor else None,
        "replicas": number_or_auto(replicas, "--replicas"),
        "judge_replicas": judge_replicas,
        "gpus_per_replica": gpus_per_replica,
        "cpus_per_replica": cpus_per_replica,
        "address": address,
        "lease_timeout_s": lease_timeout,
        "fail_under": thresholds(fail_under) or None,
        "log_to": parse_trackers(log_to or (), "--log-to") or None,
        "publish": publish,
        "on_end": on_end or None,
    }
    with stdout_kept(is_json=as_json), resumable(run):
        from polymeter.api import resume as resume_run
        from polymeter.cli.progress import make_progress

        with make_progress(is_quiet=quiet) as progress:
            result = resume_run(
                run,
                progress=progress,
                command=state_of(context).command,
                is_strict=strict,
                **{name: value for name, value in options.items() if value is not None},
            )
    return show(result, is_json=as_json)
