"""Tables and folders of media in the form in which the engine of task YAML reads its files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from polymeter.core.format import Outline
from polymeter.core.task import TaskSpec
from polymeter.tasks.guessed.folders import guess_folder, metadata_of
from polymeter.tasks.guessed.guess import Guess, guess_table
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


@dataclass(slots=True)
class GuessingReader(YamlReader):
    """Reads a table as the task YAML that ``polymeter init --from`` would write for it. Its rows are data, so the file
    is not among the sources of its task.
    """

    def read(self, file: Path) -> Resolved:
        """Return the guessed fields. Their place is the line with the names of the columns.

        Raises:
            PlanError: if the file has no columns with usual names.
            DataError: if it is empty or cannot be read.
        """
        fields = dict(guess_of(file).fields)
        table = metadata_of(file) if file.is_dir() else file
        return Resolved(file, fields, dict.fromkeys(fields, (table or file, 1)), ())


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
