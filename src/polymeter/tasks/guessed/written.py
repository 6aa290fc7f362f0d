"""The task YAML of a table, with comments. It gives the same task as the table itself.

The YAML of a table that is not a task by itself has a line to fill in for each missing column.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from polymeter.core.errors import PlanError
from polymeter.core.machine.places import from_here
from polymeter.core.names.installing import polymeter_command
from polymeter.data.opening.first_rows import SUFFIXES, FirstRows, read_first_rows
from polymeter.tasks.guessed.columns import roles_of
from polymeter.tasks.guessed.folders import folder_fields, is_media_folder, media_kind, metadata_of
from polymeter.tasks.guessed.guess import as_template, metrics, require_plain_name, source_fields, task_name
from polymeter.tasks.guessed.reader import fields_of, guess_of
from polymeter.tasks.table.index import is_meant

_WIDTH = 10_000
_FILL_IN = "CHANGE THIS"
_UNKNOWN = {"doc_to_text": "{{question}}", "doc_to_target": "{{answer}}"}
"""Values of lines that are to be filled in. A run refuses them, and lists the columns."""
_COMMENTS: Mapping[str, str] = {
    "test_split": "the rows that are measured",
    "output_type": "by log-probabilities of the options; --mcq text asks for a letter",
    "doc_to_visual": "the column with the media; paths are relative to the table",
    "doc_to_text": 'a template of the columns, such as "{{COLUMN}}\\nAnswer with one word."',
    "doc_to_choice": "the options: a column, a template, or a list",
    "doc_to_target": "the column with the reference answer",
}
_FREE = "Longer answers: anls, contains, or wer and cer; free answers: polymeter init DIR --kind judge."


@dataclass(frozen=True, slots=True)
class TaskText:
    """A task YAML for a table.

    Attributes:
        name: The name of the task.
        text: The YAML.
        summary: The guess, or the reason why there is none, in one line.
        is_guessed: Whether the table is a task by itself, so that the YAML runs unchanged.
        unknown: The fields that are to be filled in.
    """

    name: str
    text: str
    summary: str
    is_guessed: bool = True
    unknown: tuple[str, ...] = ()


def task_text(place: Path, home: Path) -> TaskText:
    """Write the task YAML of a table, or of a folder of media.

    Args:
        place: The table or folder.
        home: The folder that the YAML will lie in.

    Raises:
        PlanError: if it is something else, or a task of another format that needs no YAML, or the protocol beside it
            cannot be read.
        DataError: if it is empty or cannot be read.
    """
    place = place.resolve()
    _require_table(place)
    require_plain_name(place)
    fields: Mapping[str, Any]
    unknown: tuple[str, ...] = ()
    problem = ""
    try:
        guess = guess_of(place)
    except PlanError as error:
        fields, columns, unknown = _known_fields(place)
        summary = problem = error.what
    else:
        fields, columns, summary = fields_of(place), guess.columns, guess.summary
    fields = _seen_from(fields, place.parent, home.resolve())
    text = "\n".join((*_heading(place, columns, problem), *_field_lines(fields, unknown)))
    return TaskText(str(fields["task"]), text, summary, not problem, unknown)


def _require_table(place: Path) -> None:
    """Refuse a path that is neither a table nor a folder of media.

    Raises:
        PlanError: if it is neither.
    """
    if not place.exists():
        raise PlanError(f"There is no file or folder {from_here(place)!r}.", where="--from")
    if place.is_dir():
        if not is_media_folder(place):
            what = f"The folder {place.name!r} has no metadata.csv (or .jsonl, .parquet), and no folder for each class."
            raise PlanError(what, where="--from", hint="Name a table, or a folder of images with a metadata.csv.")
    elif place.suffix.lower() not in SUFFIXES:
        what = f"{place.name!r} is not a table."
        raise PlanError(what, where="--from", hint=f"Tables are files that end in {', '.join(SUFFIXES)}.")
    elif place.suffix == ".tsv" and is_meant(place):
        what = f"{place.name} is a task by itself, and has no form as YAML."
        raise PlanError(
            what,
            where="--from",
            hint=f"Run it: {polymeter_command()} run --model MODEL --tasks {shlex.quote(from_here(place))}",
        )


def _known_fields(place: Path) -> tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]:
    """Return the fields of a table that is not a task by itself, its columns, and the fields to fill in.

    Raises:
        DataError: if it is empty or cannot be read.
        PlanError: if a folder has no table and its folders are not classes.
    """
    table = metadata_of(place) if place.is_dir() else place
    if table is None:
        guess_of(place)  # raises the reason
        raise AssertionError(place)
    first = read_first_rows(table)
    roles = roles_of(first.columns)
    kind = media_kind(first) if place.is_dir() else ""
    fields = {
        "task": task_name(place),
        **(folder_fields(place, kind) if place.is_dir() else source_fields(place, first)),
        **({"doc_to_visual": kind or roles.media[0]} if kind or _may_be_shown(first, roles.media) else {}),
        "doc_to_text": as_template(roles.prompt) if roles.prompt else _UNKNOWN["doc_to_text"],
        "doc_to_target": roles.target or _UNKNOWN["doc_to_target"],
        "metric_list": metrics(is_choice=False),
    }
    found = {"doc_to_text": roles.prompt, "doc_to_target": roles.target}
    return fields, first.columns, tuple(name for name, column in found.items() if not column)


def _may_be_shown(first: FirstRows, media: tuple[str, ...]) -> bool:
    return bool(media) and all(isinstance(cell, (str, list, Mapping)) for cell in first.cells(media[0]))


def _seen_from(fields: Mapping[str, Any], data: Path, home: Path) -> dict[str, Any]:
    """Return the fields with the paths of data relative to another folder."""
    if data == home:
        return dict(fields)
    kwargs = dict(fields["dataset_kwargs"])
    if "data_dir" in kwargs:
        kwargs["data_dir"] = _path(data / kwargs["data_dir"], home)
    else:
        kwargs["data_files"] = {split: _path(data / name, home) for split, name in kwargs["data_files"].items()}
    return {**fields, "dataset_kwargs": kwargs}


def _path(file: Path, home: Path) -> str:
    try:
        return Path(os.path.relpath(file, home)).as_posix()
    except ValueError:  # it lies on another drive
        return file.as_posix()


def _heading(place: Path, columns: tuple[str, ...], problem: str) -> Iterator[str]:
    yield f"# The rows of {_one_line(place.name)}. Their columns: {', '.join(map(_one_line, columns))}."
    if problem:
        yield f"# Change this file before you run it. {_one_line(problem)}"
    yield "# 'polymeter check' reports mistakes in this file; docs/tasks.md describes every field."


def _field_lines(fields: Mapping[str, Any], unknown: tuple[str, ...]) -> Iterator[str]:
    prompt = next(name for name in ("doc_to_visual", "doc_to_text") if name in fields)
    for name, value in fields.items():
        if name in ("dataset_path", prompt, "metric_list"):
            yield ""
        if name == "metric_list" and "doc_to_choice" not in fields:
            yield f"# {_FREE}"
        comment = f"{_FILL_IN}: {_COMMENTS[name]}" if name in unknown else _COMMENTS.get(name, "")
        written = yaml.dump({name: value}, Dumper=_CommentedDumper, allow_unicode=True, sort_keys=False, width=_WIDTH)
        lines = written.rstrip("\n").split("\n")
        yield f"{lines[0]} # {comment}" if comment and len(lines) == 1 else "\n".join(lines)
    yield ""
    yield "# metadata:"
    yield "#   version: 1.0 # raise it when a score could change"
    yield ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


class _CommentedDumper(yaml.SafeDumper):
    """Indents the items of lists, and writes double quotes, in which line breaks can be written."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        return super().increase_indent(flow, False)


def _represent_text(dumper: _CommentedDumper, text: str) -> yaml.Node:
    is_plain = yaml.safe_dump(text, allow_unicode=True, width=_WIDTH).startswith(f"{text}\n")
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if is_plain else '"')


_CommentedDumper.add_representer(str, _represent_text)
