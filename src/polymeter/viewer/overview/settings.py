"""The settings of a run that a reader asks for first: its command, its task files, and what shaped its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.report.formatting import clean, clip, count, one_line

_MOST_FILES = 3
_LONGEST = 300
_DIFFERS = "differs between tasks"
_GENERATION = ("generation_kwargs", "generation")
"""The keys under which a task's configuration has generation settings."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting: its label and its value; code is printed in a fixed-width face and can be copied."""

    label: str
    value: str
    is_code: bool = False


def settings_of(manifest: Mapping[str, Any]) -> list[Setting]:
    """The settings of a run, in the order of a reader's interest."""
    return [*_command(manifest), *_files(manifest), *_options(manifest)]


def _command(manifest: Mapping[str, Any]) -> Iterator[Setting]:
    if command := clean(str(manifest.get("command") or "")):
        yield Setting("Command", command, is_code=True)
    elif manifest.get("imported"):
        yield Setting("Command", "imported from another tool")
    else:
        yield Setting("Command", "run from Python")


def _files(manifest: Mapping[str, Any]) -> Iterator[Setting]:
    files = [*dict.fromkeys(str(task["file"]) for task in _tasks(manifest) if task.get("file"))]
    for number, file in enumerate(files[:_MOST_FILES]):
        yield Setting("Task file" if not number else "", clean(file), is_code=True)
    if len(files) > _MOST_FILES:
        yield Setting("", f"and {len(files) - _MOST_FILES:,} more, on the page Manifest")


def _options(manifest: Mapping[str, Any]) -> Iterator[Setting]:
    options = (manifest.get("options") or {}).get("identity") or {}
    tasks = _tasks(manifest)
    if options.get("seed") is not None:
        yield Setting("Seed", str(options["seed"]))
    if "limit" in options:
        yield Setting("Limit", _limit(options["limit"], options.get("offset")))
    shots = {task.get("num_fewshot") for task in tasks} - {None}
    if shots:
        yield Setting("n-shot", str(shots.pop()) if len(shots) == 1 else _DIFFERS)
    yield Setting("Generation", _generation(options.get("generation") or {}, tasks))
    arguments = ((manifest.get("model") or {}).get("spec") or {}).get("args") or {}
    if arguments:
        yield Setting("Model arguments", _pairs(arguments))
    if options.get("system_prompt"):
        yield Setting("System prompt", clip(clean(str(options["system_prompt"])), _LONGEST))


def _limit(limit: Any, offset: Any) -> str:
    if limit is None:
        text = "none: all rows"
    elif isinstance(limit, float) and 0 < limit < 1:
        text = f"{limit:.4g} of the rows"
    else:
        text = count(int(limit), "row")
    return f"{text}, from row {int(offset):,}" if offset else text


def _generation(own: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]]) -> str:
    """The settings of the tasks with those of the run over them; those of the tasks only if they agree."""
    of_tasks = [_of_task(task) for task in tasks]
    if any(one != of_tasks[0] for one in of_tasks[1:]):
        return f"{_pairs(own)}; the rest {_DIFFERS}" if own else _DIFFERS
    merged = {**(of_tasks[0] if of_tasks else {}), **own}
    return _pairs(merged) if merged else "defaults of the model"


def _of_task(task: Mapping[str, Any]) -> Mapping[str, Any]:
    config = task.get("config") or {}
    found: Mapping[str, Any] = next((config[key] for key in _GENERATION if isinstance(config.get(key), Mapping)), {})
    return dict(found)


def _pairs(values: Mapping[str, Any]) -> str:
    return clip(one_line(", ".join(f"{name} {value}" for name, value in values.items())), _LONGEST)


def _tasks(manifest: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*(manifest.get("tasks") or ())]
