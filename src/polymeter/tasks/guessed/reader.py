"""Tables and folders of media in the form in which the engine of task YAML reads its files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polymeter.core.format import Outline
from polymeter.core.task import TaskSpec
from polymeter.tasks.guessed.folders import guess_folder, metadata_of
from polymeter.tasks.guessed.guess import Guess, guess_table
from polymeter.tasks.table.protocols import protocol_beside, protocol_file
from polymeter.tasks.yaml.files.dialects import Dialect
from polymeter.tasks.yaml.files.reader import Resolved, YamlReader
from polymeter.tasks.yaml.own import OWN_DIALECT

NAME = "guessed"


def guess_of(place: Path) -> Guess:
    """Make a task of a table or a folder of media.

    Raises:
        PlanError: if it has no columns with usual names.
        DataError: if it is empty or cannot be read.
    """
    return guess_folder(place) if place.is_dir() else guess_table(place)


def table_of(place: Path) -> Path:
    """Return the table of a place: itself, or that of a folder of media, beside which its protocol may be stated."""
    return (metadata_of(place) or place) if place.is_dir() else place


def fields_of(place: Path) -> dict[str, Any]:
    """Return the guessed fields, with the protocol that a file beside the table states.

    Raises:
        PlanError: if it has no columns with usual names, or the protocol cannot be read.
        DataError: if it is empty or cannot be read.
    """
    fields = dict(guess_of(place).fields)
    stated, _ = protocol_beside(table_of(place))
    return fields if stated is None else {**fields, "protocol": stated}


@dataclass(slots=True)
class GuessingReader(YamlReader):
    """Reads a table as the task YAML that ``polymeter init --from`` would write for it. Its rows are data, so the file
    is not among the sources of its task.
    """

    def read(self, file: Path) -> Resolved:
        """Return the guessed fields. Their place is the line with the names of the columns.

        Raises:
            PlanError: if the file has no columns with usual names, or the protocol beside it cannot be read.
            DataError: if it is empty or cannot be read.
        """
        fields, table = fields_of(file), table_of(file)
        places = dict.fromkeys(fields, (table, 1))
        if "protocol" in fields:
            places["protocol"] = (protocol_file(table), 1)
        return Resolved(file, fields, places, ())


def _outline(spec: TaskSpec) -> Outline:
    outline = OWN_DIALECT.outline(spec)
    modality = guess_of(spec.file).modality
    return outline if modality is None else replace(outline, modalities=("text", modality))


DIALECT: Dialect = replace(
    OWN_DIALECT,
    format=NAME,
    title="a task YAML",
    make_reader=lambda parity: GuessingReader(),
    outline=_outline,
)
"""Our own dialect, over files that hold rows and no fields."""
