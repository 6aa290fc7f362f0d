"""The pages of the documentation site that code makes: the public names and the commands.

A page of names lists them and leaves their text to ``mkdocstrings``, which reads the docstrings from the source. The
modules say which names are public, so none is forgotten; the command line says which options a command has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

import polymeter
from polymeter import extend

_OF_POLYMETER = {
    "Evaluating": (
        "evaluate",
        "open_run",
        "resume",
        "score",
        "rerun",
        "verify",
        "agree",
        "compare",
        "Comparison",
        "import_log",
        "export",
        "Exported",
        "leaderboard",
        "Leaderboard",
        "estimate_cost",
        "CostEstimate",
        "ablate",
        "AblationReport",
        "power",
        "PowerAnalysis",
        "track",
        "Curve",
        "TrackCallback",
        "log_run",
        "Logged",
        "Published",
        "pairwise",
        "Pairwise",
        "RunResult",
        "SampleRecord",
        "RunOptions",
    ),
    "Benchmarks": ("task", "PythonTask", "scorer", "Scorer", "Scored", "Row", "Prompt", "Rounds"),
    "Models": ("BatchModel", "AsyncModel", "ModelTraits", "ModelSpec", "register_model"),
    "Requests": ("Request", "Message", "Text", "Image", "Audio", "Video", "Generate", "Loglikelihood", "GenerateImage"),
    "Responses": ("Response", "Output", "Usage", "ModelUsage"),
    "Tools": ("Tool", "Call"),
    "Metrics": ("Metric", "Aggregation", "register_metric", "register_aggregation"),
    "Errors": ("PolymeterError", "PlanError", "DataError", "ModelError", "ScoreError", "StorageError", "TrackerError"),
}
_TOOLS = {
    "polymeter.data.video": ("frames", "timed_frames"),
    "polymeter.data.audio": ("samples", "wav_bytes"),
    "polymeter.metrics.image": ("psnr", "ssim", "lpips"),
    "polymeter.metrics.image_text": (),
    "polymeter.metrics.fid": (),
    "polymeter.metrics.composition": (),
    "polymeter.metrics.detectors": (),
    "polymeter.judge.agreement": (),
}
"""Modules whose names documentation uses; without names, all that the module defines and does not begin with ``_``."""


def reference_pages() -> dict[str, str]:
    """The pages, by their place in the site.

    Raises:
        ValueError: if a public name of ``polymeter`` stands on no page.
    """
    return {
        "api/polymeter.md": _polymeter_page(),
        "api/extend.md": _extend_page(),
        "api/judge.md": _judge_page(),
        "api/tools.md": _tools_page(),
        "commands.md": _commands_page(),
    }


def _polymeter_page() -> str:
    listed = [name for names in _OF_POLYMETER.values() for name in names]
    if missing := set(polymeter.__all__) ^ set(listed):
        raise ValueError(f"scripts/docs_reference.py and polymeter.__all__ differ: {', '.join(sorted(missing))}")
    lines = ["# `polymeter`", "", "What `import polymeter` offers. [From Python](../python.md) shows it in use.", ""]
    for heading, names in _OF_POLYMETER.items():
        lines += [f"## {heading}", "", *_described("polymeter", names)]
    return "\n".join(lines)


def _extend_page() -> str:
    """The names in the order and under the headings of the module's own docstring, which a test holds complete."""
    introduction, _, table = (extend.__doc__ or "").partition("\nErrors\n")
    lines = ["# `polymeter.extend`", "", introduction.strip(), "", "[Extending](../extending.md) shows it in use.", ""]
    for heading, prose in re.findall(r"^(\w+)\n((?:    .*\n?)+)", "Errors\n" + table, re.M):
        names = dict.fromkeys(name for name in re.findall(r"``(\w+)``", prose) if name in extend.__all__)
        lines += [f"## {heading}", "", " ".join(prose.split()), ""]
        if known := [name for name in names if name in polymeter.__all__]:
            links = ", ".join(f"[`{name}`][polymeter.{name}]" for name in known)
            lines += [f"Described under [`polymeter`](polymeter.md): {links}.", ""]
        lines += _described("polymeter.extend", [name for name in names if name not in known])
    return "\n".join(lines)


def _judge_page() -> str:
    judge = import_module("polymeter.judge")
    lines = [
        "# `polymeter.judge`",
        "",
        "For code of a benchmark that asks a judge. [Judges](../judges.md) shows it in use.",
        "",
    ]
    return "\n".join([*lines, *_described("polymeter.judge", judge.__all__, level=2)])


def _tools_page() -> str:
    lines = ["# Metrics and media", "", "Functions that hooks and models call, one module after the other.", ""]
    for module, names in _TOOLS.items():
        lines += [f"## `{module}`", "", *_described(module, names or _defined(module))]
    return "\n".join(lines)


def _described(module: str, names: Iterable[str], *, level: int = 3) -> Iterator[str]:
    for name in names:
        yield f"::: {module}.{name}\n    options:\n      heading_level: {level}\n"


def _defined(module: str) -> list[str]:
    loaded = import_module(module)
    return [
        name
        for name, value in vars(loaded).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", "") == module
    ]


# --- commands --------------------------------------------------------------------------------------------------------


def _commands_page() -> str:
    import typer

    from polymeter.cli.main import build_app

    app: Any = typer.main.get_command(build_app())
    lines = ["# Commands", "", "What `polymeter COMMAND --help` prints, on one page.", ""]
    for name, command in app.commands.items():
        lines += [f"## `polymeter {name}`", "", *_help(command.help), ""]
        arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
        options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
        if not arguments and not options:
            lines += [f"Its options: `polymeter {name} --help`.", ""]
        if arguments:
            lines += _table("argument", [(f"`{parameter.metavar}`", parameter.help) for parameter in arguments])
        if options:
            lines += _table(
                "option", [(_flags(parameter), parameter.help) for parameter in options if not parameter.hidden]
            )
    return "\n".join(lines)


def _help(text: str | None) -> list[str]:
    return [" ".join(paragraph.split()) + "\n" for paragraph in (text or "").split("\n\n")]


def _flags(parameter: Any) -> str:
    value = f" {parameter.metavar}" if parameter.metavar else ""
    names = [f"`{name}{value}`" if name.startswith("--") else f"`{name}`" for name in parameter.opts]
    return ", ".join([*names, *(f"`{name}`" for name in parameter.secondary_opts)])


def _table(head: str, rows: list[tuple[str, str | None]]) -> list[str]:
    lines = [f"| {head} | meaning |", "|---|---|"]
    for left, right in rows:
        meaning = " ".join((right or "").split()).replace("|", r"\|").replace("<", "&lt;")
        lines.append(f"| {left.replace('|', '&#124;')} | {meaning} |")
    return [*lines, ""]
