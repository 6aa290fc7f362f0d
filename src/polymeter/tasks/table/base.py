"""The base classes of dataset classes: the methods that a benchmark's author overrides, and their defaults.

Names, arguments and the way in which each method is called are those of ULMEvalKit, and of VLMEvalKit where the two
agree. Authors' classes often set their attributes themselves and never call the constructor here, so nothing depends
on it: attributes that an instance lacks are computed on access.
"""

from __future__ import annotations

import logging
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from polymeter.core.errors import DataError, PlanError, ScoreError
from polymeter.core.media.sources import is_elsewhere, on_disk
from polymeter.data.fetching.fetch import fetched_image
from polymeter.data.tables.tsv import read_tsv, require_index, whole_numbers
from polymeter.guests.own_classes import own_class
from polymeter.tasks.table.files.cells import cell_name, read_images, read_paths
from polymeter.tasks.table.files.finding import table_file, table_here
from polymeter.tasks.table.files.image_files import is_empty, listed, write_images
from polymeter.tasks.table.files.localising import UNREADABLE, is_to_be_localised, localised
from polymeter.tasks.table.files.roots import image_root, is_offline_here
from polymeter.tasks.table.protocols import class_protocol

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)

Item = dict[str, str]
"""``{"type": "image" | "text", "value": path or text}``."""
TEXT_COLUMNS = ("question", "prompt", "text")
_DEFAULT = "MMBench"


@own_class
class _TableDataset:
    """The part that both base classes share: finding, verifying and reading a table with a column ``index``."""

    MODALITY: str
    DATASET_URL: ClassVar[dict[str, str]] = {}
    DATASET_MD5: ClassVar[dict[str, str]] = {}

    data: pd.DataFrame
    data_path = ""
    _is_localised = False
    _is_offline = False

    @cached_property
    def dataset_name(self) -> str:
        """The dataset's name, if no constructor has set it."""
        return next(iter(self.supported_datasets()), type(self).__name__)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, idx: int) -> dict[str, Any]:
        return dict(self.data.iloc[idx])

    @classmethod
    def supported_datasets(cls) -> list[str]:
        """The names of the datasets that this class can load; may be overridden."""
        return list(cls.DATASET_URL)

    def load_data(self, dataset: str) -> pd.DataFrame:
        """The table of a dataset; may be overridden.

        Raises:
            DataError: if there is none, or it is not the published one.
        """
        url = self.DATASET_URL.get(dataset) or ""
        if url and dataset not in self.DATASET_MD5:
            log.warning("%s has no DATASET_MD5 for %s: its table is not verified", type(self).__name__, dataset)
        md5 = self.DATASET_MD5.get(dataset)
        is_own = type(self).prepare_tsv is not _TableDataset.prepare_tsv
        local = table_here(dataset, url, md5) if is_own else None
        if local is None:
            return self.prepare_tsv(url, md5)
        self.data_path = str(local)  # an author's prepare_tsv reads the path that it gets, and looks nowhere else
        return self.prepare_tsv(self.data_path, md5)

    def prepare_tsv(self, url: str, file_md5: str | None = None) -> pd.DataFrame:
        """Find the table, fetch it if need be, and read it. Sets ``data_path``.

        Args:
            url: Where it is published; may be empty.
            file_md5: Its hex MD5; ``None``: any.

        Raises:
            DataError: if there is no such table, its MD5 is wrong, it cannot be read, or it has no column ``index`` or
                an index twice.
        """
        path = self._found(url or "", file_md5)
        table = self.read_table(localised(path, image_root(self.dataset_name)) if self._is_localised else path)
        require_index(table, str(path))
        return table

    def _found(self, url: str, file_md5: str | None) -> Path:
        """The file of the table, noted on the instance."""
        path = table_file(self.dataset_name, url, file_md5, type(self).__name__, _mirrors_of(self))
        self.data_path = str(path)
        self._is_offline = is_offline_here()  # for images that are fetched later, perhaps in another thread
        self._is_localised = is_to_be_localised(path)
        return path

    def _opened(self, dataset: str) -> pd.DataFrame:
        """The table of a dataset, its indices read."""
        return self._with_index(self.load_data(dataset), self.data_path or dataset)

    def read_table(self, path: Path | str) -> pd.DataFrame:
        """The table in a file; may be overridden.

        Raises:
            DataError: if there is no such file, or it is not a table.
        """
        return read_tsv(path)

    def post_build(self, dataset: str) -> None:
        """Called when the dataset is built; may be overridden."""

    def display(self, line: Any) -> None:
        """Log a row: its columns, and the files of its images."""
        row = self._row(line)
        shown = {key: value for key, value in dict(row).items() if key != "image" and not is_empty(value)}
        images = {"image": self.dump_image(row)} if "image" in row else {}
        log.info("%s", {**shown, **images})

    def dump_image(self, line: Any) -> list[str]:
        """The files of a row's images; see the subclasses."""
        raise NotImplementedError

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """Results of a file of predictions; for authors to override.

        Args:
            eval_file: ``{model}_{dataset}.pkl``, or the format that the class's authors expect: the table with a column
                ``prediction``.
            **judge_kwargs: The run's arguments for judging.

        Raises:
            ScoreError: if the class does not override it.
        """
        raise ScoreError(
            f"The dataset class {type(self).__name__} has no method for scoring {eval_file}.",
            hint="Override evaluate(self, eval_file, **judge_kwargs), or evaluate_sample(self, line, prediction).",
        )

    def _row(self, line: Any) -> Any:
        """Return a row by its position; a row is returned unchanged."""
        return self.data.iloc[int(line)] if hasattr(line, "__index__") else line

    def _text_of(self, row: Any) -> str:
        """The text of a row's prompt: its ``question``, else its ``prompt``, else its ``text``."""
        column = next((name for name in TEXT_COLUMNS if name in row), None)
        if column is None:
            raise DataError(
                f"The table of {self.dataset_name} has none of the columns {', '.join(TEXT_COLUMNS)}.",
                where=self.data_path,
                hint=f"Override build_prompt. Its columns: {', '.join(map(str, row.keys()))}.",
            )
        value = row[column]
        if is_empty(value):
            raise DataError(f"The text in {cell_name(_index_of(row), column)} is empty.", where=self.data_path)
        return str(value)

    @staticmethod
    def _with_index(data: pd.DataFrame, where: str) -> pd.DataFrame:
        """The table with indices as whole numbers if all are, else as texts."""
        require_index(data, where)
        texts = [str(value) for value in data["index"]]
        data["index"] = whole_numbers(texts) or texts
        return data


@own_class
class TextBaseDataset(_TableDataset):
    """A benchmark whose prompts are text.

    Args:
        dataset: One of ``supported_datasets()``, or the name of a table in the folder of tables.
        **kwargs: Ignored; a subclass may take further arguments.
    """

    MODALITY = "TEXT"

    def __init__(self, dataset: str = _DEFAULT, **kwargs: Any) -> None:
        self.dataset_name = dataset
        self.data = self._opened(dataset)
        self.post_build(dataset)

    def dump_image(self, line: Any) -> list[str]:
        """No files: there are no images."""
        return []

    def build_prompt(self, line: Any) -> list[Any]:
        """The message for one row; may be overridden.

        Args:
            line: A row, or its position.

        Returns:
            One text: the row's ``question``, else ``prompt``, else ``text``.

        Raises:
            DataError: if the row has none.
        """
        return [{"type": "text", "value": self._text_of(self._row(line))}]


@own_class
class ImageBaseDataset(_TableDataset):
    """A benchmark whose prompts hold images.

    Args:
        dataset: One of ``supported_datasets()``, or the name of a table in the folder of tables.
        skip_noimg: Leave out rows whose ``image`` is empty.
    """

    MODALITY = "IMAGE"
    dumped_again_as = ".jpg"
    """At parity, the format in which ``dump_image`` encodes a single image again; VLMEvalKit's is ``.png``."""
    skip_noimg = True

    def __init__(self, dataset: str = _DEFAULT, skip_noimg: bool = True) -> None:
        self.dataset_name = dataset
        self.img_root = str(image_root(dataset))
        self.skip_noimg = skip_noimg
        data = self._with_index(self.load_data(dataset), self.data_path or dataset)
        self.meta_only = "image" not in data
        needed = "image_path" if self._is_localised else "image"
        self.data = _with_images(data, dataset, needed=needed if skip_noimg else None)
        self.post_build(dataset)

    @cached_property
    def img_root(self) -> str:
        """The folder that images are written to, if no constructor has set it."""
        return str(image_root(self.dataset_name))

    @cached_property
    def meta_only(self) -> bool:
        """True if the table itself holds no images, if no constructor has set it."""
        return "image" not in self.data

    def dump_image(self, line: Any) -> list[str]:
        """The files of a row's images, below ``img_root``. They are written by this call.

        Bytes are written exactly as they are encoded in the table: no image is decoded and saved again, so a PNG
        loses nothing. Files are named ``<index>`` (several: ``<index>_<i>``) with the suffix of their real format, or
        by ``image_path`` if that is a path below ``img_root``. Existing files are never overwritten: one with other
        bytes stays, and the new file's name gets a digest.

        Args:
            line: A row, or its position.

        Returns:
            Paths in order; none for a row without an image.

        Raises:
            DataError: if a cell is not an image, or a file or URL that it names cannot be read; the message names row
                and column.
        """
        row = self._row(line)
        images = row.get("image")
        paths = row.get("image_path")
        if not is_empty(images):
            files = write_images(_index_of(row), images, paths, Path(self.img_root), self.dumped_again_as)
            return [self._fetched(file, row, "image") if is_elsewhere(file) else file for file in files]
        if not is_empty(paths):
            return [self._existing(path, row) for path in listed(paths, _index_of(row), "image_path")]
        if "image" not in row and "image_path" not in row:
            raise DataError(
                f"Row {str(_index_of(row))!r} of {self.dataset_name} has neither a column 'image' nor 'image_path'.",
                where=self.data_path,
            )
        return []

    def build_prompt(self, line: Any) -> list[Any]:
        """The message for one row; may be overridden.

        Args:
            line: A row, or its position.

        Returns:
            The row's images as local files, then its ``question``, else ``prompt``, else ``text``.

        Raises:
            DataError: if an image cannot be read, or there is no text.
        """
        row = self._row(line)
        images = [{"type": "image", "value": path} for path in self.dump_image(row)]
        return [*images, {"type": "text", "value": self._text_of(row)}]

    def _existing(self, path: str, row: Any) -> str:
        """Return the file of a path: the path itself, below ``img_root``, or beside the table."""
        if is_elsewhere(path):
            return self._fetched(path, row, "image_path")
        if path.startswith(UNREADABLE):
            raise DataError(path.removeprefix(UNREADABLE), where=self.data_path)
        beside = Path(self.data_path).parent if self.data_path else Path(self.img_root)
        tried = [Path(path).expanduser(), Path(self.img_root, path), beside / path]
        places = (Path(on_disk(str(candidate))) for candidate in tried)
        file = next((place for place in places if place.is_file()), None)
        if file is None:
            where = cell_name(_index_of(row), "image_path")
            raise DataError(
                f"The image {path!r} in {where} does not exist.",
                where=self.data_path,
                hint=f"Looked for it there, in {self.img_root} and in {beside}.",
            )
        return str(file.absolute())

    def _fetched(self, url: str, row: Any, column: str) -> str:
        try:
            is_offline = self._is_offline or is_offline_here()
            return str(fetched_image(url, Path(self.img_root, "fetched"), is_offline=is_offline))
        except DataError as error:
            raise DataError(
                f"The image in {cell_name(_index_of(row), column)} is not available: {error.what}",
                where=error.where or self.data_path,
                hint=error.hint,
            ) from error


def _mirrors_of(instance: _TableDataset) -> tuple[str, ...]:
    """The further addresses of a class's table.

    Raises:
        PlanError: if its protocol is wrong, or a mirror is no address.
    """
    name = type(instance).__name__
    protocol = class_protocol(instance, instance.dataset_name, name)
    mirrors = () if protocol is None else protocol.mirrors
    for mirror in mirrors:
        if "://" not in mirror:
            hint = "Write the address of the same table: https://…/TABLE.tsv."
            raise PlanError(f"The mirror {mirror!r} of {name} is no address.", where="protocol.mirrors", hint=hint)
    return mirrors


BASES = (_TableDataset, TextBaseDataset, ImageBaseDataset)
"""Classes whose ``evaluate`` only reminds authors to write one."""


def _with_images(data: pd.DataFrame, dataset: str, *, needed: str | None) -> pd.DataFrame:
    """A table with the columns of images as authors expect them, without rows where the ``needed`` one is empty."""
    import pandas as pd

    from polymeter.data.stored_column import column_of, held_cells

    if "image" in data:
        cells = read_images(list(data["index"]), held_cells(data["image"]))
        data["image"] = column_of(cells, data.index)
    if "image_path" in data:
        paths = [read_paths(cell) for cell in data["image_path"]]
        data["image_path"] = pd.Series(paths, index=data.index, dtype=object)
    if needed in data:
        kept = data[needed].notna()
        if not kept.all():
            log.warning("%d of %d rows of %s have no image and are left out", (~kept).sum(), len(data), dataset)
            data = data[kept].copy()
    return data


def _index_of(row: Any) -> Any:
    return row["index"] if "index" in row else getattr(row, "name", "?")
