"""Where rows and media come from: datasets, their splits, images, audio and videos.

Opens data and gives out rows, lazily; what a row means is up to the formats. Heavy packages are imported inside the
functions that need them.
"""

from polymeter.data.media_folders import media_folder_notes
from polymeter.data.plain import PlainRows, open_plain
from polymeter.data.rows import DatasetRows, ListRows, Rows, make_rows
from polymeter.data.source import Source, open_splits, open_written
from polymeter.data.written import written_cell

__all__ = [
    "DatasetRows",
    "ListRows",
    "PlainRows",
    "Rows",
    "Source",
    "make_rows",
    "media_folder_notes",
    "open_plain",
    "open_splits",
    "open_written",
    "written_cell",
]
