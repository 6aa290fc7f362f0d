"""Assignment of the files of a VLMEvalKit folder to datasets, and tables in any of the tools' formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from polymeter.core.errors import DataError
from polymeter.core.logs import damaged, starts_with
from polymeter.core.machine.places import stored_at

if TYPE_CHECKING:
    import pandas as pd

TABLES = (".xlsx", ".tsv", ".json", ".pkl")
INDEX, PREDICTION = "index", "prediction"
SCORE_COLUMNS = ("hit", "eval_score", "score")
_NUMBERS = (".csv", ".json", ".xlsx", ".tsv")
_HELPERS = ("_PREV", "_checkpoint", "_structs", "_tmp", "_response")
_OF_SCORING = ("result", "results", "auxmatch", "acc", "score", "rating", "judge", "fine", "metrics")
_JUDGES = ("gpt", "chatgpt", "openai", "exact_matching", "claude", "gemini", "qwen", "deepseek")


@dataclass(slots=True)
class Files:
    """The files of one dataset.

    Attributes:
        dataset: Its name.
        predictions: The answers.
        scored: The table with a score for each row; ``None``: none exists.
        numbers: The table of results; ``None``: none exists.
    """

    dataset: str
    predictions: Path
    scored: Path | None = None
    numbers: Path | None = None


def found_in(folder: Path, only: Path | None = None) -> tuple[str, list[Files]] | None:
    """Return the model that a folder belongs to, and the files of each dataset; ``None`` for any other folder.

    Files that score answers begin with the name of the file with the answers, so the shortest of such names are those
    of the answers.
    """
    files = sorted(file for file in folder.iterdir() if file.is_file())
    model = model_of(folder, files)
    if model is None:
        return None
    own = [file for file in files if file.stem.startswith(f"{model}_") and not file.stem.endswith(_HELPERS)]
    answers: dict[str, Path] = {}
    for file in sorted(own, key=lambda file: (len(file.stem), file.suffix not in TABLES, file.name)):
        is_other = any(file.stem == stem or _is_of_scoring(file, stem) for stem in answers)
        if may_hold_answers(file) and not is_other:
            answers[file.stem] = file
    beside: dict[str, list[Path]] = {stem: [] for stem in answers}
    for file in own:
        whose = max((stem for stem in answers if file.stem.startswith(f"{stem}_")), key=len, default=None)
        if whose is not None and file not in answers.values():
            beside[whose].append(file)
    datasets = [
        Files(stem.removeprefix(f"{model}_"), file, _scored(beside[stem], stem), _numbers_file(beside[stem], stem))
        for stem, file in sorted(answers.items())
        if only is None or only.stem == stem
    ]
    return (model, datasets) if datasets else None


def _is_of_scoring(file: Path, stem: str) -> bool:
    """Return whether a file is named like one that scoring writes beside a file of answers."""
    if not file.stem.startswith(f"{stem}_"):
        return False
    return file.stem.rpartition("_")[2] in _OF_SCORING or _names_scoring(file, stem)


def _names_scoring(file: Path, stem: str) -> bool:
    """Return whether the name of a file extends that of a file of answers by the scorer or the kind of content."""
    rest = file.stem.removeprefix(f"{stem}_")
    return rest in _OF_SCORING or rest.lower().startswith(_JUDGES)


def may_hold_answers(file: Path) -> bool:
    """Return whether a file may be a table of answers, by its name and its beginning."""
    if file.suffix == ".json":
        return starts_with(file, INDEX, PREDICTION)
    return file.suffix in TABLES


def model_of(folder: Path, files: Sequence[Path]) -> str | None:
    """The name of the model, which is that of its folder or, in the folder of one run, of the folder above."""
    for name in (folder.resolve().name, folder.resolve().parent.name):
        if name and any(file.stem.startswith(f"{name}_") and may_hold_answers(file) for file in files):
            return name
    return None


def _scored(beside: Sequence[Path], stem: str) -> Path | None:
    """Return the table with a score for each row. Files named for the scorer alone come first: any other name may be
    that of another dataset without answers.
    """
    for suffix in (".xlsx", ".tsv", ".json"):
        for file in sorted(beside, key=lambda file: not _names_scoring(file, stem)):
            if file.suffix == suffix and _is_table(file):
                return file
    return None


def _has_scores(file: Path) -> bool:
    content = table_of(file)
    has_known = any(column in content for column in SCORE_COLUMNS)
    return INDEX in content and (has_known or file.stem.endswith(("_result", "_results")))


def numbers_beside(table: pd.DataFrame, answers: pd.DataFrame) -> list[str]:
    """The columns of numbers that a table has beyond those of the answers."""
    return [str(name) for name in table.select_dtypes("number").columns if name not in answers]


def _numbers_file(beside: Sequence[Path], stem: str) -> Path | None:
    """Return the table with the results of the whole dataset. If a judge has a table of its own, this is that of the
    rules.
    """
    found = [
        file
        for file in beside
        if file.suffix in _NUMBERS and file.stem.endswith(("_acc", "_score", "_rating")) and not _is_table(file)
    ]
    return min(found, key=lambda file: (len(file.stem), _NUMBERS.index(file.suffix)), default=None)


def table_of(file: Path, *needs: str) -> pd.DataFrame:
    """A table that has certain columns.

    Raises:
        DataError: if the file is damaged, or holds no such table.
        PlanError: if it is an Excel file and the package for these is not installed.
    """
    table = _table_in(file)
    missing = [name for name in needs if name not in table]
    if missing:
        raise damaged(file, f"it has no column {missing[0]!r}")
    return table


def _is_table(file: Path) -> bool:
    """Return whether a file has a score for each row, and not results over all of them."""
    return file.suffix in TABLES and (file.suffix != ".json" or may_hold_answers(file)) and _has_scores(file)


def _table_in(file: Path) -> pd.DataFrame:
    with stored_at(file, f"Reading {file.name}"):
        facts = file.stat()
    return _loaded(file, facts.st_mtime_ns, facts.st_size)


# Kept for the life of the process, the last few; a changed file is read again.
@lru_cache(maxsize=8)
def _loaded(file: Path, changed: int, size: int) -> pd.DataFrame:
    """The table in a file, which is looked at several times. ``json`` files hold a list of rows, or columns."""
    import pandas as pd

    from polymeter.data.formats import load

    try:
        content = load(file)
        return content if isinstance(content, pd.DataFrame) else pd.DataFrame(content)
    except DataError as error:
        raise damaged(file, error.what.rstrip(".")) from error
    except ValueError as error:  # pandas: columns of different lengths, or single values
        raise damaged(file, f"it holds no table: {error}") from error
