"""The files that frames of videos are written to, for models that are shown images.

Classes write frames themselves and trust every file that exists. The folder of a video's frames is therefore named by
the video's content too, so that another video of the same name never gets its frames, and a file that a killed process
left unfinished is deleted before a class sees it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from polymeter.core.machine.files import replacing
from polymeter.core.media.sources import digest

_BLOCK = 1 << 16
_MARK = 12
_PATHS = ("video_path", "video_file")
_END_OF_JPEG = b"\xff\xd9"
_SUFFIXES = frozenset({".mp4", ".mkv", ".webm", ".avi", ".mov", ".m4v", ".mpg", ".mpeg", ".gif", ".flv", ".ts", ".wmv"})


class VideoFiles:
    """The video files below a folder, found by the names that benchmarks have for them.

    Args:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._marks: dict[tuple[Path, ...], str] = {}

    def mark(self, video: str, row: Mapping[str, Any]) -> str:
        """Return a mark of the content of a video, or of all that it may be; empty if there is none.

        Args:
            video: Its name: a path below the folder, or the end of one, with or without a suffix. It may also be that
                of a folder of frames.
            row: The row that is asked about, whose further cells tell videos of one name apart; may be empty.
        """
        files = tuple(self._nearest(self._found(video), row))
        if files not in self._marks:
            states = [content_state(path) for path in files]
            self._marks[files] = digest("\n".join(states).encode())[:_MARK] if states else ""
        return self._marks[files]

    def mark_of(self, row: Mapping[str, Any]) -> str:
        """Return a mark of the content of a row's video, and of the part of it that is shown if the row states one
        (``bound``, ``start``, ``end``); empty if the video is not found.
        """
        places = [self._root / str(row[name]) for name in _PATHS if isinstance(row.get(name), str)]
        place = next((path for path in places if path.is_file()), None)
        name = str(place) if place is not None else str(row.get("video") or "")
        mark = self.mark(name, row) if name else ""
        part = [row.get("start"), row.get("end")] if mark and row.get("bound") in (True, "True") else []
        return digest(f"{mark}{part}".encode())[:_MARK] if part else mark

    def _nearest(self, files: list[Path], row: Mapping[str, Any]) -> list[Path]:
        """Of several files those whose paths have the most cells of a row in them, such as the folder of the video."""
        if len(files) < 2:
            return files
        cells = {os.path.normpath(cell) for cell in row.values() if isinstance(cell, str) and cell and "\n" not in cell}
        shared = {file: sum(f"/{cell}/" in f"/{file.relative_to(self._root)}/" for cell in cells) for file in files}
        return [file for file in files if shared[file] == max(shared.values())]

    def _found(self, video: str) -> list[Path]:
        name = os.path.normpath(video)
        plain = [self._root / name, *(self._root / f"{name}{suffix}" for suffix in sorted(_SUFFIXES))]
        files = [path for path in plain if path.is_file()]
        if files:
            return files
        base = os.path.basename(name)
        found = [*self._by_name.get(base, ()), *self._by_name.get(os.path.splitext(base)[0], ())]
        ending = [path for path in found if str(path).endswith((name, *(f"{name}{suffix}" for suffix in _SUFFIXES)))]
        if ending or found:
            return sorted(set(ending or found))
        folder = self._root / name
        return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []

    @cached_property
    def _by_name(self) -> dict[str, list[Path]]:
        found: dict[str, list[Path]] = {}
        for folder, _, files in os.walk(self._root, followlinks=True):
            for file in files:
                stem, suffix = os.path.splitext(file)
                if suffix.lower() in _SUFFIXES:
                    found.setdefault(stem, []).append(Path(folder, file))
        return found


def content_state(path: Path) -> str:
    """Return a text that differs where the content of a video file does: its size, and a digest of its beginning,
    middle and end. The table of contents of a container, which lists the size of every frame, is at one of the ends.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        read = []
        for place in sorted({0, max(0, size // 2 - _BLOCK // 2), max(0, size - _BLOCK)}):
            file.seek(place)
            read.append(file.read(_BLOCK))
    return f"{size}:{digest(b''.join(read))}"


def without_unfinished(paths: Sequence[str]) -> list[str]:
    """Delete those files of frames that were not written whole, and return all paths."""
    for path in paths:
        if os.path.exists(path) and not _is_whole(path):
            os.unlink(path)
    return list(paths)


def write_frames(images: Iterable[tuple[str, object]]) -> None:
    """Write frames as JPEG, of Pillow's default quality, each whole or not at all.

    Args:
        images: Paths, and Pillow images.
    """
    for path, image in images:
        with replacing(Path(path), binary=True) as file:
            image.save(file, format="JPEG")  # type: ignore[attr-defined]


def _is_whole(path: str) -> bool:
    if not path.endswith((".jpg", ".jpeg")):
        return True
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - len(_END_OF_JPEG)))
        return file.read() == _END_OF_JPEG
