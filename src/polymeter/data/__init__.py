"""Sources of rows and media: datasets, their splits, images, audio and videos.

Opens data and gives out rows, lazily; what a row means is up to the formats. Heavy packages are imported inside the
functions that need them.
"""

from polymeter.data.opening.explaining import refuse_equal_names
from polymeter.data.opening.map_cache import mapped_anew
from polymeter.data.opening.media_folders import media_folder_notes
from polymeter.data.opening.plain import PlainRows, open_plain
from polymeter.data.rows import DatasetRows, ListRows, Rows, make_rows
from polymeter.data.source import Source, open_splits
from polymeter.data.tables.known_rows import Opening, know_written, rows_from_files
from polymeter.data.tables.written import written_cell

__all__ = [
    "DatasetRows",
    "ListRows",
    "Opening",
    "PlainRows",
    "Rows",
    "Source",
    "know_written",
    "make_rows",
    "mapped_anew",
    "media_folder_notes",
    "open_plain",
    "open_splits",
    "refuse_equal_names",
    "rows_from_files",
    "written_cell",
]
