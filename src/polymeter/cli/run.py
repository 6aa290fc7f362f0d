"""``polymeter run``: measure a model on some tasks."""

from __future__ import annotations

from typing import Any

import typer

from polymeter.cli import run_options as option
from polymeter.cli.asked import read_asked, read_ending
from polymeter.cli.json_output import AsJson, stdout_kept
from polymeter.cli.roles import JudgeArgs
from polymeter.cli.run_flags import takes_options
from polymeter.cli.state import Debug, state_of


@takes_options("run")
def run(  # noqa: PLR0917  (one parameter for each flag that is not an option of the run)
    context: typer.Context,
    model: option.Model,
    tasks: option.Tasks,
    options: dict[str, Any],
    model_path: option.ModelPath = "",
    model_args: option.ModelArgs = None,
    base_url: option.BaseURL = None,
    server_args: option.ServerArgs = None,
    server_timeout: option.ServerTimeout = None,
    strip_prompt: option.StripPrompt = False,
    logprob_template: option.LogprobTemplate = None,
    judge: option.Judge = None,
    judge_args: JudgeArgs = None,
    fail_under: option.FailUnder = None,
    log_to: option.LogTo = None,
    on_end: option.OnEnd = None,
    quiet: option.Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Measure a model on some tasks. The same command with the same --output continues where it stopped."""
    from polymeter.cli.outcome import resumable, show

    asked = read_asked(
        model,
        tasks,
        model_path=model_path,
        model_args=model_args,
        base_url=base_url,
        server_args=server_args,
        server_timeout=server_timeout,
        strip_prompt=strip_prompt,
        logprob_template=logprob_template,
        judge=judge,
        judge_args=judge_args,
    )
    ending = read_ending(fail_under=fail_under, log_to=log_to, on_end=on_end)
    with stdout_kept(is_json=as_json), resumable(options.get("output")):
        from polymeter.api import evaluate
        from polymeter.cli.progress import make_progress

        with make_progress(is_quiet=quiet) as progress:
            result = evaluate(
                asked.model,
                asked.tasks,
                model_path=asked.model_path,
                model_args=asked.model_args,
                roles=asked.roles,
                progress=progress,
                command=state_of(context).command,
                **ending,
                **options,
            )
    return show(result, is_json=as_json)
