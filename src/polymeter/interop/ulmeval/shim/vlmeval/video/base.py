"""``vlmeval.dataset.video_base``: the base class of benchmarks over videos."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from polymeter.core.content import Video
from polymeter.core.errors import DataError
from polymeter.core.media.showing import VideoRule
from polymeter.data.showing.opened import opened
from polymeter.data.showing.rules import choose_frames, segment_of
from polymeter.guests.own_classes import own_class
from polymeter.interop.ulmeval.shim.ulmeval.smp.file import load
from polymeter.interop.ulmeval.shim.vlmeval.video.frame_files import VideoFiles, without_unfinished, write_frames
from polymeter.interop.ulmeval.tasks.absent_data import naming_its_repository
from polymeter.tasks.table.files.finding import table_file
from polymeter.tasks.table.files.roots import LMUDataRoot

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["VideoBaseDataset"]

_NEEDED = ("question", "video")
_ROOT = "frame_root"


@own_class
class VideoBaseDataset:
    """A benchmark over videos: a table with a row for each question, and a folder of videos.

    Models that take videos are shown whole ones, others frames, which are written as files.

    Args:
        dataset: One of ``supported_datasets()``.
        pack: Ask all questions about a video at once.
        nframe: The number of frames; 0: not stated.
        fps: The number of frames per second; -1: not stated.

    Raises:
        DataError: if the data is not on this machine and cannot be fetched, or its table has no questions or videos.
        ValueError: if both numbers are stated.
    """

    MODALITY = "VIDEO"
    DATASET_URL: ClassVar[dict[str, str]] = {}
    DATASET_MD5: ClassVar[dict[str, str]] = {}
    DEFAULT_JUDGE: ClassVar[str | list[str]] = "gpt-4o-mini"

    data: pd.DataFrame
    data_path = ""
    _row: Mapping[str, Any] = {}
    """The row for which a prompt is being made, as far as that is known."""

    def __init__(self, dataset: str = "MMBench-Video", pack: bool = False, nframe: int = 0, fps: float = -1) -> None:
        if fps > 0 and nframe > 0:
            raise ValueError("fps and nframe should not be set at the same time")
        self.dataset_name = dataset
        with naming_its_repository(dataset):
            found = self.prepare_dataset(dataset)
        if not found:
            raise DataError(f"prepare_dataset of {type(self).__name__} returned nothing.")
        self.frame_root = os.path.join(LMUDataRoot(), "images", dataset)
        os.makedirs(self.frame_root, exist_ok=True)
        self.frame_tmpl = "frame-{}-of-{}.jpg"
        self.frame_tmpl_fps = "frame-{}-of-{}-{}fps.jpg"
        self.data_root = found["root"]
        self.data_file = found["data_file"]
        self.data = _checked(load(self.data_file), str(self.data_file))
        self.videos = sorted(set(self.data["video"]))
        self.pack = pack
        self.nframe = nframe
        self.fps = fps
        self.split_frame = fps > 0 or nframe > 0

    def __len__(self) -> int:
        return len(self.videos) if self.pack else len(self.data)

    def __getitem__(self, idx: int) -> Any:
        """A row as a mapping; if questions are packed, the rows about one video."""
        if self.pack:
            return self.data[self.data["video"] == self.videos[idx]]
        return dict(self.data.iloc[idx])

    @classmethod
    def supported_datasets(cls) -> list[str]:
        """The names of the datasets that this class can load; may be overridden."""
        return list(cls.DATASET_URL)

    def show_row(self, row: Mapping[str, Any]) -> None:
        """Note the row for which a prompt is made next. Every folder of frames that the class has, whatever it calls
        the files in it, becomes one for the content of the row's video.
        """
        roots: dict[str, str] | None = vars(self).get("_frame_roots")
        if roots is None:
            roots = {name: root for name, root in vars(self).items() if _ROOT in name and isinstance(root, str)}
            self._frame_roots = roots
        self._row = dict(row)
        mark = self._files.mark_of(self._row)
        for name, root in roots.items():
            setattr(self, name, os.path.join(root, mark))

    def frame_paths(self, video: str) -> list[str]:
        """The files for the frames of a video, by count. Their folder exists."""
        folder = self._frame_folder(video)
        names = (self.frame_tmpl.format(number, self.nframe) for number in range(1, self.nframe + 1))
        return without_unfinished([os.path.join(folder, name) for name in names])

    def frame_paths_fps(self, video: str, num_frames: int) -> list[str]:
        """The same by rate."""
        folder = self._frame_folder(video)
        names = (self.frame_tmpl_fps.format(number, num_frames, self.fps) for number in range(1, num_frames + 1))
        return without_unfinished([os.path.join(folder, name) for name in names])

    def save_video_frames(self, video: str) -> list[str]:
        """Write the frames of ``<root>/<video>.mp4`` that are shown, unless they are there. By count these are the
        numbers ``int(i * N / (nframe + 1))`` for ``i`` from 1, by rate ``int(i * own rate / fps)`` for ``i`` from 0.

        Returns:
            Their files.

        Raises:
            DataError: if the video is missing or broken.
            PlanError: if PyAV is not installed.
        """
        is_by_rate = self.fps > 0
        paths = [] if is_by_rate else self.frame_paths(video)
        if paths and all(map(os.path.exists, paths)):
            return paths
        rule = VideoRule(rule="rate", fps=self.fps) if is_by_rate else VideoRule(rule="inner", frames=self.nframe)
        with opened(Video(Path(self.data_root, f"{video}.mp4"))) as source:
            chosen = choose_frames(segment_of(source.times, source.end, rate=source.rate), rule).numbers
            paths = paths or self.frame_paths_fps(video, len(chosen))
            if not all(map(os.path.exists, paths)):
                write_frames(
                    (path, image)
                    for number, image in source.images(sorted(set(chosen)))
                    for path, wanted in zip(paths, chosen, strict=True)
                    if wanted == number
                )
        return paths

    @abstractmethod
    def prepare_dataset(self, dataset: str) -> dict[str, str]:
        """Return the folder of videos as ``root``, and the table as ``data_file``; for authors to write."""
        raise NotImplementedError

    @abstractmethod
    def build_prompt(self, line: Any, video_llm: bool) -> Sequence[Any]:
        """The message for one row; for authors to write.

        Args:
            line: The position of the row, or the row.
            video_llm: Whether the model is shown whole videos.
        """
        raise NotImplementedError

    @abstractmethod
    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """Results of a file of predictions; for authors to write."""
        raise NotImplementedError

    def prepare_tsv(self, url: str, file_md5: str | None = None) -> pd.DataFrame:
        """Find a table, fetch it if need be, and read it. Sets ``data_path``.

        Raises:
            DataError: if there is no such table, or its MD5 is wrong.
        """
        self.data_path = str(table_file(self.dataset_name, url, file_md5, type(self).__name__))
        table: pd.DataFrame = load(self.data_path)
        return table

    def _frame_folder(self, video: str) -> str:
        folder = os.path.join(self.frame_root, video, self._files.mark(video, self._row))
        os.makedirs(folder, exist_ok=True)
        return folder

    @cached_property
    def _files(self) -> VideoFiles:
        return VideoFiles(Path(self.data_root))


def _checked(data: Any, where: str) -> pd.DataFrame:
    """A table with questions and videos, and an index.

    Raises:
        DataError: if it is none.
    """
    table: pd.DataFrame = data
    missing = [name for name in _NEEDED if name not in table]
    if missing:
        raise DataError(f"The table has no column {' and no column '.join(map(repr, missing))}.", where=where)
    if "index" not in table:
        table["index"] = range(len(table))
    return table
