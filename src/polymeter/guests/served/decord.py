"""The package ``decord`` for guests, where it is not installed: single frames of videos, read with PyAV.

Many benchmarks over videos open them with decord, which has no wheels for newer versions of Python. A guest's ``import
decord`` leads here if Python would not find the package; for any other code it stays absent, so that libraries that
look for it behave as before. Frames have the numbers that decord gives them, in order of display.

Source of the interface: https://github.com/dmlc/decord (0.6.0), as benchmarks use it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeter.core.errors import DataError
from polymeter.data.showing.opened import rate_of
from polymeter.data.video_container import Cursor, opened_video, read_index, upright
from polymeter.guests.served.packages import DECORD

_BRIDGES = ("native", "torch")
_bridge = ["native"]  # of the process, as there: a benchmark sets it for all of its readers


class FrameArray(NDArray[np.uint8]):
    """Pixels as decord returns them: an array that also has ``asnumpy``."""

    def asnumpy(self) -> NDArray[np.uint8]:
        """The pixels as a plain array."""
        return np.asarray(self)


class VideoReader:
    """A video, of which frames are read by their numbers.

    Args:
        uri: The file.
        ctx: Not used: frames are decoded by the processor.
        width: Width of the frames; -1: that of the video.
        height: Their height; -1: that of the video.
        num_threads: Not used.
        fault_tol: Not used: a broken frame is an error.

    Raises:
        DataError: if the file is missing or broken, or holds no video.
        PlanError: if PyAV is not installed.
    """

    def __init__(
        self, uri: Any, ctx: Any = None, width: int = -1, height: int = -1, num_threads: int = 0, fault_tol: int = -1
    ) -> None:
        self._name = str(uri)
        self._size = width, height
        self._next = 0
        with ExitStack() as opening:
            source = uri.read() if hasattr(uri, "read") else Path(uri)
            container, stream = opening.enter_context(opened_video(source, self._name))
            self._index = read_index(container, stream)
            self._rate = float(rate_of(self._index, stream))
            self._cursor = Cursor(container, stream, self._index)
            self._opened = opening.pop_all()

    def __len__(self) -> int:
        return len(self._index.times)

    def __getitem__(self, number: Any) -> Any:
        """A frame, of shape ``(height, width, 3)``; for a slice several, with their number before it.

        Raises:
            IndexError: if there is no such frame.
            DataError: if it cannot be decoded.
        """
        if isinstance(number, slice):
            return self.get_batch(range(*number.indices(len(self))))
        return _handed_out(self._frame(self._checked(number)))

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    def __del__(self) -> None:
        opened = vars(self).get("_opened")
        if opened is not None:
            opened.close()

    def get_batch(self, indices: Any) -> Any:
        """Frames by their numbers, of shape ``(n, height, width, 3)``.

        Raises:
            IndexError: if there is no such frame.
            DataError: if one cannot be decoded.
        """
        numbers = [self._checked(number) for number in np.asarray(indices).tolist()]
        frames = {number: self._frame(number) for number in sorted(set(numbers))}
        return _handed_out(np.stack([frames[number] for number in numbers]))

    def next(self) -> Any:
        """The next frame.

        Raises:
            StopIteration: after the last one.
        """
        if self._next >= len(self):
            raise StopIteration
        self._next += 1
        return self[self._next - 1]

    def seek(self, pos: int) -> None:
        """Go to a frame, which ``next`` returns."""
        self._next = self._checked(pos)

    seek_accurate = seek

    def skip_frames(self, num: int = 1) -> None:
        """Leave out frames."""
        self._next += num

    def get_avg_fps(self) -> float:
        """Frames per second."""
        return self._rate

    def get_key_indices(self) -> list[int]:
        """The numbers of key frames."""
        places = {stamp: number for number, stamp in enumerate(self._index.stamps)}
        return [places[stamp] for stamp in self._index.keys]

    def get_frame_timestamp(self, idx: Any) -> Any:
        """When frames appear and disappear, in seconds: of shape ``(2,)``, for several numbers ``(n, 2)``."""
        times = [float(time) for time in (*self._index.times, self._index.end)]
        numbers = range(*idx.indices(len(self))) if isinstance(idx, slice) else idx
        if isinstance(numbers, (int, np.integer)):
            number = self._checked(numbers)
            return np.array(times[number : number + 2], dtype=np.float32)
        return np.array([times[number : number + 2] for number in map(self._checked, numbers)], dtype=np.float32)

    def _checked(self, number: Any) -> int:
        count = len(self)
        place = int(number)
        if not -count <= place < count:
            raise IndexError(f"Out of bound indices: {place}; the video has {count} frames")
        return place % count

    def _frame(self, number: int) -> NDArray[np.uint8]:
        try:
            image = upright(self._cursor.frame(number))
        except DataError as error:
            raise DataError(error.what, where=self._name, hint=error.hint) from error
        width, height = self._size
        if width > 0 or height > 0:
            image = image.resize((width if width > 0 else image.width, height if height > 0 else image.height))
        return np.array(image)


def cpu(dev_id: int = 0) -> str:
    """The processor, on which every video is decoded."""
    return f"cpu({dev_id})"


def gpu(dev_id: int = 0) -> str:
    """The processor too: no video is decoded elsewhere."""
    return cpu(dev_id)


def set_bridge(new_bridge: str) -> None:
    """Choose what frames are returned as: ``native`` or ``torch``.

    Raises:
        ValueError: if it is another one.
    """
    if new_bridge not in _BRIDGES:
        raise ValueError(f"Frames are returned as {' or '.join(_BRIDGES)}, not as {new_bridge!r}.")
    _bridge[:] = [new_bridge]


def reset_bridge() -> None:
    """Return frames as arrays again."""
    set_bridge(_BRIDGES[0])


def modules() -> dict[str, ModuleType]:
    """The modules that stand for the package, by their names."""
    package, bridge = ModuleType(DECORD), ModuleType(f"{DECORD}.bridge")
    vars(bridge).update(set_bridge=set_bridge, reset_bridge=reset_bridge)
    vars(package).update(
        VideoReader=VideoReader, cpu=cpu, gpu=gpu, bridge=bridge, DECORDError=DataError, __version__="0.6.0"
    )
    made = {DECORD: package, bridge.__name__: bridge}
    for name, parts in {"video_reader": ("VideoReader",), "ndarray": ("cpu", "gpu")}.items():
        module = made[f"{DECORD}.{name}"] = ModuleType(f"{DECORD}.{name}")
        vars(module).update({part: getattr(package, part) for part in parts})
        setattr(package, name, module)
    return made


def _handed_out(pixels: NDArray[np.uint8]) -> Any:
    """Pixels as the bridge says."""
    if _bridge[0] == "torch":
        import torch

        return torch.from_numpy(pixels)
    return pixels.view(FrameArray)
