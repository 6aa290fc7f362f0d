"""The part that the built-in dataset classes share: how their tables are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from polymeter.core.guest_context import guest_context
from polymeter.data.tables import read_texts, read_words
from polymeter.data.text_tables import TextTable, read_text_table
from polymeter.formats.table.base import ImageBaseDataset
from polymeter.guests.own_classes import is_own_class, own_class

if TYPE_CHECKING:
    import pandas as pd


@own_class
class BuiltIn:
    """A mix-in for the base classes of dataset classes."""

    DATASET_URL: ClassVar[dict[str, str]] = {}
    DATASET_MD5: ClassVar[dict[str, str]] = {}

    data_path: str
    dataset_name: str

    if TYPE_CHECKING:

        def _row(self, line: Any) -> Any: ...
        def _found(self, url: str, file_md5: str | None) -> Path: ...
        def dump_image(self, line: Any) -> list[str]: ...

    def _opened(self, dataset: str) -> Any:
        """The table of a dataset. One that only Polymeter's code reads need not be a frame."""
        is_parity = guest_context().parity.on("missing-words")
        if self._is_own and not self.DATASET_URL.get(dataset) and not is_parity:
            table = read_text_table(self._found("", self.DATASET_MD5.get(dataset)))
            if table is not None:
                return table
        return super()._opened(dataset)  # type: ignore[misc]

    @property
    def data(self) -> pd.DataFrame:
        """The table, as every dataset class has it."""
        if isinstance(self._held, TextTable):
            return self._held.frame()
        return self._held

    @data.setter
    def data(self, table: pd.DataFrame | TextTable) -> None:
        self._held: pd.DataFrame | TextTable = table

    @property
    def is_thread_safe(self) -> bool:
        """Whether rows may be scored at the same time: not if a guest's class derives from this one."""
        return self._is_own

    def read_table(self, path: Path | str) -> pd.DataFrame:
        """The table of a file. Only empty cells are empty: "None" and "NA" are answers and options like any other.

        Cells stay texts, so that what is shown and compared is what is written: ``1.50`` is not shown as ``1.5``. A
        guest's class that derives from this one gets numbers where it expects them.

        Raises:
            DataError: if there is no such file, or it is not a table of text in UTF-8.
        """
        return read_texts(path) if self._is_own else read_words(path)

    @property
    def _is_own(self) -> bool:
        """Whether only Polymeter's code sees the table."""
        return is_own_class(type(self))

    def images_of(self, row: Any) -> list[dict[str, str]]:
        """The images of a row as items of a message."""
        return [{"type": "image", "value": str(path)} for path in self.dump_image(row)]


def held_table(instance: BuiltIn) -> pd.DataFrame | TextTable:
    """The table of an instance as it was read, for code that takes it in either form."""
    return instance._held


@own_class
class EveryRow(ImageBaseDataset):
    """A base with images that keeps rows without one: their prompts have no image.

    Args:
        dataset: The name of a table in the folder of tables.
        skip_noimg: Leave out rows whose ``image`` is empty.
    """

    def __init__(self, dataset: str, skip_noimg: bool = False) -> None:
        super().__init__(dataset, skip_noimg)
