"""The task that a table is by itself: the fields of a task YAML, guessed from the names of its columns and its first
rows. ``polymeter init --from`` writes the same fields, so running the table and running that YAML is the same.
"""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from glob import has_magic
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, cast

from polymeter.core.content import Modality
from polymeter.core.errors import PlanError
from polymeter.core.machine.places import from_here
from polymeter.core.media.sources import sniff_modality
from polymeter.core.names.installing import polymeter_command
from polymeter.core.text.phrases import first_of, in_words, quoted
from polymeter.data.opening.first_rows import FirstRows, read_first_rows
from polymeter.metrics.choice_targets import letter_of
from polymeter.tasks.guessed.columns import (
    PROMPTS,
    TARGETS,
    ColumnRoles,
    Role,
    modality_of_column,
    roles_of,
    usual_names,
)
from polymeter.tasks.yaml.prompts.empty_options import listed

BUILDERS: Mapping[str, str] = MappingProxyType(
    {".csv": "csv", ".tsv": "csv", ".xlsx": "excel", ".jsonl": "json", ".json": "json", ".parquet": "parquet"}
)
"""The reader of a table: its ending → ``dataset_path``."""
_SPLIT = "test"
_SCALARS = (str, int, float, bool)
_MOST_COLUMNS, _LONGEST_CELL = 12, 60
_NEAR = 0.75
_SHORTEST_BASE64 = 64
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}")
_TAKEN_BY_TEMPLATES = frozenset({"range", "dict", "lipsum", "cycler", "joiner", "namespace", "true", "false", "none"})
_NO_NAME = re.compile(r"[\s,:*?\[\]]+")
_WITH_FILES = (
    "Save the files and write their paths, or save a .tsv with the columns index, question, answer and image; to write "
    "a task file instead"
)
_WITH_FUNCTION = "Write a task file whose doc_to_visual is a function that returns all of them"


@dataclass(frozen=True, slots=True)
class Guess:
    """A table, or a folder of media, as a task.

    Attributes:
        fields: The fields of its task YAML.
        summary: The roles of its columns, in one line.
        modality: The kind of media in its prompts; ``None``: no media, or an unknown kind.
        columns: The columns of its rows.
    """

    fields: Mapping[str, Any]
    summary: str
    modality: Modality | None = None
    columns: tuple[str, ...] = field(default=())


def task_name(place: Path) -> str:
    """Return the name of the task that a file or folder is."""
    stem = place.name if place.is_dir() else place.stem
    return _NO_NAME.sub("_", stem).strip("_") or "table"


def guess_table(file: Path) -> Guess:
    """Make a task of a table.

    Raises:
        PlanError: if the table has no columns with usual names, or these hold something else.
        DataError: if the table is empty or cannot be read.
    """
    require_plain_name(file)
    first = read_first_rows(file)
    return guess_rows(file, file, first, source_fields(file, first), "")


def require_plain_name(file: Path) -> None:
    """Refuse a name that ``data_files`` would read as a pattern of names.

    Raises:
        PlanError: if it is one.
    """
    if has_magic(file.name):
        what = f"The name of {file.name} is a pattern: it has *, ? or [."
        raise PlanError(what, where=str(file), hint="Rename the file.")


def source_fields(file: Path, first: FirstRows) -> dict[str, Any]:
    """Return the fields that name a table as the data of a task beside it."""
    kwargs: dict[str, Any] = {"data_files": {_SPLIT: file.name}}
    if first.separator != ",":
        kwargs["sep"] = first.separator
    return {"dataset_path": BUILDERS[file.suffix.lower()], "dataset_kwargs": kwargs, "test_split": _SPLIT}


def guess_rows(place: Path, table: Path, first: FirstRows, source: Mapping[str, Any], media: str) -> Guess:
    """Make a task of rows.

    Args:
        place: The path that the user names: that of the table, or of the folder of media that it describes.
        table: The table.
        first: Its first rows.
        source: The fields that name it as data.
        media: The column of media that a folder adds to those of the table; empty: none.

    Raises:
        PlanError: if the rows have no columns with usual names, or these hold something else.
    """
    roles = roles_of(first.columns)
    refusal = _Refusal(place, table, first)
    _require_columns(roles, refusal)
    _require_texts(first, roles, refusal)
    shown, modality = (media, modality_of_column(media)) if media else _medium(first, roles, refusal)
    choices = _choices(first, roles, refusal)
    fields: dict[str, Any] = {"task": task_name(place), **source}
    if choices is not None:
        fields["output_type"] = "multiple_choice"
    if shown:
        fields["doc_to_visual"] = shown
    fields["doc_to_text"] = as_template(roles.prompt)
    if choices is not None:
        fields["doc_to_choice"] = choices
    fields["doc_to_target"] = roles.target
    fields["metric_list"] = metrics(is_choice=choices is not None)
    summary = _summary(place, roles, shown, modality, is_choice=choices is not None)
    return Guess(fields, summary, modality, first.columns)


def metrics(*, is_choice: bool) -> list[dict[str, Any]]:
    """Return the metrics of a guessed task."""
    return [{"metric": "acc"}] if is_choice else [{"metric": "exact_match", "ignore_case": True}]


def as_template(column: str) -> str:
    """Write a column as a template, to which a user can add text; or as its name, if a template cannot name it."""
    return f"{{{{{column}}}}}" if _can_be_named(column) else column


def _can_be_named(column: str) -> bool:
    return column.isidentifier() and column.isascii() and column.lower() not in _TAKEN_BY_TEMPLATES


def _summary(place: Path, roles: ColumnRoles, medium: str, modality: Modality | None, *, is_choice: bool) -> str:
    said = [f"{roles.prompt} → prompt"]
    if roles.lettered:
        said.append(f"{roles.lettered[0]}–{roles.lettered[-1]} → options")
    elif roles.options:
        said.append(f"{roles.options} → options")
    said.append(f"{roles.target} → target")
    if medium:
        said.append(f"{medium} → {modality or 'media'}")
    said.append("acc" if is_choice else "exact_match (ignore_case)")
    unused = [*roles.unused, *(name for name in roles.media if medium and name not in (medium, "file_name"))]
    return f"{place.name}: {', '.join(said)}" + (f"; not used: {', '.join(unused)}" if unused else "")


# --- tables that are not tasks


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Refuses a table.

    Attributes:
        place: The path that the user names.
        table: The table.
        first: Its first rows.
    """

    place: Path
    table: Path
    first: FirstRows

    def __call__(self, what: str, advice: str) -> NoReturn:
        has_lines = self.table.suffix.lower() in (".csv", ".tsv")
        where = f"{self.table}:1" if has_lines else str(self.table)
        raise PlanError(what, where=where, hint=f"{advice}: {init_command(self.place)}")

    def cell(self, column: str, cell: Any, holds: str) -> NoReturn:
        """Refuse the table because of a cell."""
        what = f"Column {column!r} of {self.table.name} must hold {holds}, but it holds {quoted(cell, _LONGEST_CELL)}."
        self(what, "Change the column, or write a task file for it")

    def require_name(self, column: str) -> None:
        """Refuse the table if a template cannot name a column."""
        if not _can_be_named(column):
            self(
                f"The column name {column!r} of {self.table.name} has characters other than letters, digits and _.",
                "Rename the column, or write a task file for it",
            )

    def shown_columns(self) -> str:
        """List the columns of the table."""
        return first_of([name or "''" for name in self.first.columns], _MOST_COLUMNS)


def init_command(place: Path) -> str:
    """Return the command that writes a task YAML for a table."""
    return f"{polymeter_command()} init --from {shlex.quote(from_here(place))}"


def _require_columns(roles: ColumnRoles, refusal: _Refusal) -> None:
    missing: list[Role] = [role for role in ("prompt", "target") if not getattr(roles, role)]
    if not missing:
        return
    nouns = {"prompt": "the prompt", "target": "the reference answer"}
    renaming = " ".join(_renamings(refusal.first.columns, missing))
    refusal(
        f"{refusal.table.name} has no column for {in_words([nouns[role] for role in missing], 'or')}. "
        f"It has: {refusal.shown_columns()}.",
        f"{renaming} Usual names {usual_names(*missing)}. Rename the columns, or write a task file that names "
        "yours".lstrip(),
    )


def _renamings(columns: Sequence[str], missing: Sequence[Role]) -> Iterator[str]:
    """Give a sentence for each column whose name is nearly a usual one that is missing."""
    names = [name for role in missing for name in (PROMPTS if role == "prompt" else TARGETS)]
    for column in columns:
        near = get_close_matches(column.strip().casefold(), names, n=1, cutoff=_NEAR)
        if near:
            yield f"Rename {column!r} to {near[0]!r}?"


def _require_texts(first: FirstRows, roles: ColumnRoles, refusal: _Refusal) -> None:
    for cell in first.cells(roles.prompt):
        if not isinstance(cell, _SCALARS):
            refusal.cell(roles.prompt, cell, "text")
    for cell in first.cells(roles.target):
        if not isinstance(cell, _SCALARS) and not _is_list_of_scalars(cell):
            refusal.cell(roles.target, cell, "text, a number or a list of these")


def _is_list_of_scalars(cell: Any) -> bool:
    return isinstance(cell, list) and all(isinstance(item, _SCALARS) for item in cell)


# --- options


def _choices(first: FirstRows, roles: ColumnRoles, refusal: _Refusal) -> str | None:
    """Return ``doc_to_choice``; ``None`` if there are no options."""
    if roles.lettered:
        for name in roles.lettered:
            refusal.require_name(name)
        _refuse_letters(first, roles, refusal)
        return f"{{{{ [{', '.join(roles.lettered)}] }}}}"
    if not roles.options:
        return None
    cells = first.cells(roles.options)
    for cell in cells:
        if not _are_options(listed(cell) if isinstance(cell, str) else cell):
            refusal.cell(roles.options, cell, 'a list of options, such as ["red", "blue"]')
    if not any(isinstance(cell, str) for cell in cells):
        return roles.options
    refusal.require_name(roles.options)  # only a template reads a list that is written as text
    return as_template(roles.options)


def _refuse_letters(first: FirstRows, roles: ColumnRoles, refusal: _Refusal) -> None:
    """Refuse options that are letters if the answers are letters too: an answer may name a column or an option."""
    options = [str(cell) for name in roles.lettered for cell in first.cells(name)]
    letter = next(filter(letter_of, options), "")
    if letter and all(letter_of(str(cell)) for cell in first.cells(roles.target)):
        what = f"Options of {refusal.table.name} are letters, such as {letter!r}, and so are the answers."
        refusal(what, "Write a task file whose doc_to_target makes clear whether an answer is an option or its column")


def _are_options(value: Any) -> bool:
    """Check if a value is a list of options, or has options by their letters."""
    if isinstance(value, Mapping):
        letters = [str(key) for key in value]
        return letters == sorted(letters) and _is_list_of_scalars(
            [*filter(lambda one: one is not None, value.values())]
        )
    return bool(value) and _is_list_of_scalars(
        [one for one in value if one is not None] if isinstance(value, list) else value
    )


# --- media


def _medium(first: FirstRows, roles: ColumnRoles, refusal: _Refusal) -> tuple[str, Modality | None]:
    """Return ``doc_to_visual`` and the kind of its media; empty if the table has no media."""
    kinds = {
        name: kind for name in roles.media if (kind := _kind_of(first, name, refusal, is_only=len(roles.media) == 1))
    }
    known = set(kinds.values())
    if len(known) > 1:
        shown = in_words([f"{name!r} ({kind})" for name, kind in kinds.items()])
        refusal(f"{refusal.table.name} has media of several kinds: {shown}.", _WITH_FUNCTION)
    if not kinds:
        return "", None
    name, kind = next(iter(kinds.items()))
    if any(isinstance(cell, str) and _is_base64(cell) for cell in first.cells(name)):
        what = f"Column {name!r} of {refusal.table.name} holds {kind}s as text (base64), and not paths of files."
        refusal(what, _WITH_FILES)
    return name, kind


def _kind_of(first: FirstRows, column: str, refusal: _Refusal, *, is_only: bool) -> Modality | None:
    """Return the kind of media of a column; ``None`` if it names files that are not media."""
    if column in first.media:
        return first.media[column]
    cells = first.cells(column)
    kind = modality_of_column(column)
    if kind is None:  # a column of names of files
        names = [str(cell) for cell in cells]
        kinds = {(mimetypes.guess_type(name)[0] or "").partition("/")[0] for name in names}
        found = kinds.pop() if len(kinds) == 1 else ""
        return cast(Modality, found) if found in ("image", "audio", "video") else None
    for cell in cells:
        if not isinstance(cell, (str, list, Mapping)):
            if not is_only:
                return None
            refusal.cell(column, cell, "media, or paths of files")
    return kind


def _is_base64(text: str) -> bool:
    """Check if a cell is a medium written as text, and not the path of a file."""
    if len(text) < _SHORTEST_BASE64 or not _BASE64.fullmatch(text):
        return False
    try:
        return sniff_modality(base64.b64decode(text[:_SHORTEST_BASE64])) is not None
    except (binascii.Error, ValueError):
        return False
