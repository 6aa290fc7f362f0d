"""What stands in for the world, the same in both tools: a hub with the rows of a case, and the key of its answers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.contained import read_rows
from conformance.evalscope_1.hub_files import FOLDER


class OutOfReach(Exception):
    """An adapter needs what a suite on one machine does not have."""


def serve_rows(place: Mapping[str, str]) -> None:
    """Let EvalScope's hub open local rows.

    Args:
        place: The folder of the rows under ``current``; the caller changes it.
    """
    import datasets
    from evalscope.api.dataset import DatasetHub

    datasets.disable_progress_bars()
    datasets.disable_caching()

    def load(self: Any, split: str, subset: str = "default", **_: Any) -> Any:
        folder = Path(place["current"])
        name = str(subset or "default").replace("/", "_")
        files = [folder / name / f"{str(split).replace('/', '_')}.parquet"]
        file = next((one for one in files if one.exists()), None)
        if file is None:
            raise FileNotFoundError(f"no rows of subset {subset!r}, split {split!r}")
        return read_rows(file)

    def file_of(self: Any, path: str = "", **_: Any) -> str:
        file = Path(place["current"]) / FOLDER / path
        if not file.exists():
            raise OutOfReach("files of its own from a hub")
        return str(file)

    DatasetHub.load = load
    DatasetHub.download_file = file_of
    DatasetHub.download_snapshot = lambda self, **_: _place_of(self) or file_of(self)


def _place_of(hub: Any) -> str:
    """A file of the user's that stands in place of a dataset's id."""
    return hub.data_id_or_path if Path(hub.data_id_or_path).is_file() else ""


def key_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """The digest of all text of a request."""
    text = "\n".join(part for message in messages for part in texts_of(message.get("content")))
    return hashlib.sha256(re.sub(r"\s+", " ", text).strip().encode("utf-8", "replace")).hexdigest()[:24]


def texts_of(content: Any) -> Iterator[str]:
    """The texts in a message's content, in order."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, Mapping) and part.get("type") == "text":
                yield part["text"]
