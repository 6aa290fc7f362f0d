"""The rows of a task: from what its author gives (dictionaries, a dataset, a DataFrame, a file, an id of the hub, a
function) to rows and samples.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from polymeter.core.content import Audio, Image, Modality, Text, Video
from polymeter.core.errors import DataError, PlanError, did_you_mean, enumerated
from polymeter.core.format import HubSource, OpenContext
from polymeter.core.identity import seed_for
from polymeter.core.media.sources import digest, is_pil
from polymeter.core.task import Sample, SampleView, TaskSpec
from polymeter.core.text.codec import jsonable
from polymeter.data import ListRows, Rows, make_rows, mapped_anew
from polymeter.data.opening.local import TABLE_SUFFIXES, local_splits
from polymeter.data.rows import is_missing
from polymeter.data.source import Source, is_hub_id, local_place
from polymeter.guests import contained, seeded
from polymeter.guests.loading.load import authors_code
from polymeter.guests.loading.packages import GUEST_LOCK
from polymeter.tasks.guessed.folders import FILE_NAME, metadata_of
from polymeter.tasks.python.writing.records import PythonTask
from polymeter.tasks.yaml.prompts.rows import SplitReader, mirrors_of

_ONLY_SPLIT, _USUAL_SPLIT = "train", "test"
_MEDIA = (Image, Audio, Video)
_PLACES = "A dataset of the hub is named as 'org/name'."


@dataclass(frozen=True, slots=True)
class RowPlace:
    """The place of rows, in the form that the reader of splits takes.

    Attributes:
        dataset_path: A file, a folder, or an id of the hub.
        dataset_name: A configuration of a dataset of the hub.
        dataset_kwargs: None.
    """

    dataset_path: str
    dataset_name: str | None = None
    dataset_kwargs: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, written: str, folder: Path) -> RowPlace:
        """Read a place that an author writes as text: ``rows.csv``, ``photos``, ``org/name`` or ``org/name:config``."""
        path, mark, config = written.partition(":")
        if mark and config and is_hub_id(path, folder) and not _beside(written, folder):
            return cls(path, config)
        return cls(written)

    def is_of_hub(self, folder: Path) -> bool:
        """Return whether it can only be a dataset of the hub: no file, and with an owner's name."""
        path = self.dataset_path
        return "/" in path and Path(path).suffix not in TABLE_SUFFIXES and is_hub_id(path, folder)


def hub_sources(spec: TaskSpec) -> tuple[HubSource, ...] | None:
    """Return the dataset of the hub that the rows of a task name; ``None`` if only code shows it."""
    written, folder = spec.config.get("rows"), spec.file.parent
    if not isinstance(written, str):
        return None
    place = RowPlace.of(written, folder)
    if not place.is_of_hub(folder):
        return ()
    return (HubSource(place.dataset_path, place.dataset_name, {}, folder, mirrors=mirrors_of(spec)),)


def open_rows(task: PythonTask, spec: TaskSpec, context: OpenContext) -> Rows:
    """Open the rows of a task.

    Raises:
        PlanError: if the function that returns them fails, or they are of a kind that has no rows.
        DataError: if they are missing, empty or cannot be read.
    """
    given: Any = task.rows
    if inspect.isroutine(given) or isinstance(given, partial) or (callable(given) and not isinstance(given, Iterable)):
        given = _called(given, task.name, spec, context)
    if isinstance(given, (str, Path)):
        rows = _from_place(str(given), task, spec, context)
    else:
        rows = _from_object(given, task, context.cache_dir)
    if len(rows) == 0:
        raise DataError(f"Task {task.name!r} has no rows.", where=task.where, hint="Check what its rows= gives.")
    return rows


def _called(function: Callable[[], Any], name: str, spec: TaskSpec, context: OpenContext) -> Any:
    """Call a function of the author's. A generator is exhausted here, where its failures are attributed."""
    seed = seed_for(context.seed, name, "rows")
    doing = authors_code(PlanError, f"The function that returns the rows of task {name!r}")
    with GUEST_LOCK, contained(), seeded(seed), mapped_anew(spec.sources), doing:
        given = function()
        return list(given) if inspect.isgenerator(given) else given


def _from_place(written: str, task: PythonTask, spec: TaskSpec, context: OpenContext) -> Rows:
    folder = spec.file.parent
    place = RowPlace.of(written, folder)
    ids = (place.dataset_path, *mirrors_of(spec))
    is_replaced = any(name.partition(":")[0] in ids for name in context.data)
    if not (is_replaced or _beside(written, folder) or place.is_of_hub(folder)):
        beside = [file.name for file in folder.iterdir()] if folder.is_dir() else []
        near = did_you_mean(Path(written).name, beside, n=1)
        raise DataError(
            f"The rows of task {task.name!r} do not exist: {written!r}.",
            where=task.where,
            hint=near or f"They are looked for in {folder} and in the working directory. {_PLACES}",
        )
    split = task.split or _split_of(place, folder, context, task)
    reader = SplitReader(spec, place, context, lambda key: task.where, as_read=False)
    rows = (reader.plain([split]) or reader.read([split], split, [(split, split, None)]))[split]
    _check_media(written, rows, task, folder)
    return rows


def _check_media(written: str, rows: Rows, task: PythonTask, folder: Path) -> None:
    """Refuse a folder whose table names media files while it holds none: ``datasets`` reads only the table then.

    Raises:
        DataError: if it is such a folder.
    """
    place = _beside(written, folder)
    table = metadata_of(place) if place is not None and place.is_dir() else None
    if table is not None and FILE_NAME in rows.columns:
        what = f"None of the files that {written}/{table.name} names exists: the folder holds no media, only the table."
        hint = f"Put the files into {place}, under the names in the column {FILE_NAME!r}."
        raise DataError(what, where=task.where, hint=hint)


def _split_of(place: RowPlace, folder: Path, context: OpenContext, task: PythonTask) -> str:
    """Return the split that is measured if the author names none."""
    replacement, _ = local_place(Source(place.dataset_path, place.dataset_name), context.data)
    local = replacement or _beside(place.dataset_path, folder)
    if local is None:
        return _USUAL_SPLIT
    names = local_splits(local, place.dataset_name)
    if _USUAL_SPLIT in names:
        return _USUAL_SPLIT
    if len(names) > 1:
        raise PlanError(
            f"The rows of task {task.name!r} have the splits {', '.join(names)}, and none of them is 'test'.",
            where=task.where,
            hint=f"Name one: split={names[0]!r}.",
        )
    return names[0] if names else _ONLY_SPLIT


def _beside(path: str, folder: Path) -> Path | None:
    places = (folder / os.path.expanduser(path), Path(os.path.expanduser(path)))
    return next((place for place in places if os.path.exists(place)), None)


def _from_object(given: Any, task: PythonTask, cache_dir: Path | None) -> Rows:
    what = f"task {task.name!r}"
    if hasattr(given, "features") and hasattr(given, "with_format"):
        if not hasattr(given, "__len__"):
            raise PlanError(
                f"The rows of {what} are a streamed dataset, whose length is not known.",
                where=task.where,
                hint="Give list(dataset.take(N)), or load it without streaming=True.",
            )
        return make_rows(given, what=what, cache_dir=cache_dir)
    if hasattr(given, "to_dicts"):  # a DataFrame of Polars
        given = given.to_dicts()
    elif hasattr(given, "iloc") and hasattr(given, "to_dict"):  # one of pandas
        given = [{str(name): _cell(value) for name, value in row.items()} for row in given.to_dict("records")]
    if isinstance(given, Mapping):
        names = ", ".join(map(repr, list(given)[:5]))
        hint = f"Choose a split, one of {names}." if all(hasattr(one, "features") for one in given.values()) else ""
        raise PlanError(
            f"The rows of {what} are a {type(given).__name__}, not a list of rows.",
            where=task.where,
            hint=hint or "Give a list with a dictionary for each row.",
        )
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
        raise PlanError(
            f"The rows of {what} are a {type(given).__name__}.",
            where=task.where,
            hint="Give a list of dictionaries, a dataset, a DataFrame, a path, or a function that returns one of them.",
        )
    rows = list(given)
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise PlanError(
                f"Row {number} of {what} is a {type(row).__name__}, not a dictionary.",
                where=task.where,
                hint="Give a dictionary for each row: {'question': …, 'answer': …}.",
            )
    return MemoryRows(rows)


def _cell(value: Any) -> Any:
    """Return a cell of a DataFrame: a Python number, or ``None`` if it is missing."""
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value


class MemoryRows(ListRows):
    """Rows held in memory, which may hold images and parts. Columns are those of all rows.

    Args:
        rows: The rows.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        super().__init__((), base_fingerprint="")
        self._rows = [{str(name): value for name, value in row.items()} for row in rows]
        self.columns = tuple(dict.fromkeys(name for row in self._rows for name in row))
        self.media: dict[str, Modality] = {
            name: kind for row in self._rows for name, value in row.items() if (kind := _modality(value)) is not None
        }
        self.fingerprint = digest(f"rows:{_digest_of(self._rows)}".encode())


def _modality(value: Any) -> Modality | None:
    if isinstance(value, (list, tuple)):
        return next((kind for item in value if (kind := _modality(item)) is not None), None)
    if type(value) is not str and is_pil(value):
        return "image"
    return value.modality if isinstance(value, _MEDIA) else None


def _digest_of(rows: Iterable[Mapping[str, Any]]) -> str:
    """Hash rows in memory. An image in memory counts by its content, one in a file by the name of the file."""
    state = hashlib.blake2b(digest_size=16)
    for row in rows:
        for name, value in row.items():
            state.update(f"{name}={json.dumps(_mark(value), sort_keys=True)}\0".encode(errors="surrogatepass"))
        state.update(b"\1")
    return state.hexdigest()


def _mark(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_mark(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _mark(item) for key, item in value.items()}
    if isinstance(value, Text):
        return value.text
    if isinstance(value, _MEDIA):
        is_named = isinstance(value.source, (str, Path))
        return [value.modality, str(value.source) if is_named else value.content_hash()]
    if isinstance(value, (bytes, bytearray)):
        return digest(bytes(value))
    if isinstance(value, Path):
        return str(value)
    return Image(value).content_hash() if type(value) is not str and is_pil(value) else jsonable(value)


class PythonSamples(SampleView):
    """The samples of a task, made from its rows on access.

    Args:
        task: The task.
        rows: Its rows.

    Raises:
        PlanError: if a column that it names does not exist, or an id stands in two rows.
    """

    def __init__(self, task: PythonTask, rows: Rows) -> None:
        self._task, self._rows = task, rows
        for key in ("id", "subset", "cluster"):
            require_column(getattr(task, key), key, task, rows)
        self._ids = _ids(task, rows) if task.id else None

    def __len__(self) -> int:
        return len(self._rows)

    def _sample(self, index: int) -> Sample:
        doc, task = self._rows.doc(index), self._task
        return Sample(
            task.name,
            str(index) if self._ids is None else self._ids[index],
            index,
            doc,
            (_label(doc.get(task.subset)),) if task.subset else (),
            _label(doc.get(task.cluster)) if task.cluster and not is_missing(doc.get(task.cluster)) else None,
            partial(self._rows.full_doc, index),
        )


def row_of(sample: Sample) -> dict[str, Any]:
    """Return a copy of a row with its media, for one call of a function."""
    return {**sample.full_doc(), **copy.deepcopy(dict(sample.doc))}


def require_column(name: str, key: str, task: PythonTask, rows: Rows) -> None:
    """Refuse the name of a column that no row has.

    Raises:
        PlanError: if there is no such column; the message names the nearest.
    """
    if name and name not in rows.columns:
        near = did_you_mean(name, rows.columns, n=1)
        raise PlanError(
            f"{key} of task {task.name!r} names the column {name!r}, which its rows do not have.",
            where=task.where,
            hint=f"{near} They have: {', '.join(rows.columns)}.".strip(),
        )


def _ids(task: PythonTask, rows: Rows) -> list[str]:
    ids = [_label(doc.get(task.id)) for doc in rows.docs(0, len(rows))]
    seen: dict[str, int] = {}
    for number, name in enumerate(ids):
        if not name or name in seen:
            what = (
                f"is empty in {enumerated('row', [number])}"
                if not name
                else (f"is {name!r} in rows {seen[name]} and {number}")
            )
            raise PlanError(
                f"Column {task.id!r}, the id of task {task.name!r}, {what}.",
                where=task.where,
                hint="Each row needs an id of its own. Leave id= out to number the rows.",
            )
        seen[name] = number
    return ids


def _label(value: Any) -> str:
    return "" if is_missing(value) else str(value)
