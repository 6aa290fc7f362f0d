"""``lmms_eval.cli``: the command line as a function, and the sizes of tasks."""

from __future__ import annotations

import sys

from polymeter.core.errors import PlanError

__all__ = ["collect_task_sizes", "main"]


def main() -> None:
    """Run ``polymeter lmms-eval`` with the options of this process.

    Raises:
        SystemExit: Something went wrong; its code shows the kind.
    """
    from polymeter.cli.main import main as run

    code = run(["lmms-eval", *sys.argv[1:]])
    if code:
        raise SystemExit(code)


def collect_task_sizes(
    tasks_arg: str | None, *, verbosity: str = "WARNING", include_path: str | None = None
) -> dict[str, int]:
    """The number of samples of each task. Those that cannot be found or opened are left out, with a warning.

    Args:
        tasks_arg: Names and patterns, separated by commas.
        verbosity: Not used.
        include_path: A folder of tasks.
    """
    from polymeter.catalog.trying import open_named
    from polymeter.interop.lmms_eval.evaluation import patterns_and_paths
    from polymeter.interop.lmms_eval.shim.lmms_eval.logs import eval_logger

    sizes: dict[str, int] = {}
    for word in (tasks_arg or "").split(","):
        if not word.strip():
            continue
        try:
            patterns, paths = patterns_and_paths(word, include_path)
            sizes.update((task.spec.name, len(task.samples)) for task in open_named(patterns, paths))
        except PlanError as error:
            eval_logger.warning(f"{word.strip()} is left out: {error}")
    return sizes
