"""``polymeter resume``: continue a run that stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

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
    thresholds,
)
from polymeter.cli.pairs import parse_trackers
from polymeter.cli.run_options import OnEnd, Publish
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
    allow_generated_code: AllowGeneratedCode = False,
    strict_resume: StrictResume = None,
    report_samples: ReportSamples = None,
    strict: Strict = False,
    fail_under: FailUnder = None,
    log_to: LogTo = None,
    publish: Publish = None,
    on_end: OnEnd = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Continue a run that was interrupted. Completed samples are not run again."""
    from polymeter.cli.outcome import resumable, show

    options: dict[str, Any] = {
        "retry_errors": retry_errors,
        "allow_generated_code": allow_generated_code or None,
        "is_strict_resume": strict_resume,
        "report_samples": count_or_all(report_samples, "--report-samples"),
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
