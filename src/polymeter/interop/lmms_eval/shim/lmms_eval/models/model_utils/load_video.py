"""Stand-in for ``lmms_eval.models.model_utils.load_video``: frames at even distances, first and last among them.

Frames are decoded by ``polymeter.data.video``, with PyAV, whatever decoder a function is named after: the same numbers
of frames, upright where the container says how the camera was held. Only the frames that are wanted are decoded, of
WebM and Matroska too.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from polymeter.data.video import picked_frames

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image as PILImage

_BACKENDS = ("pyav", "torchcodec", "dali")


def read_video(
    video_path: str | Sequence[str],
    *,
    num_frm: int = 8,
    fps: float | None = None,
    format: str = "rgb24",
    force_include_last_frame: bool = False,
    backend: str | None = None,
) -> NDArray[np.uint8]:
    """Frames of shape ``(frames, height, width, 3)``: ``num_frm`` of them, but no more than the video has, nor than
    ``fps`` a second would be; at least one.

    Args:
        video_path: The file; of several, the first.
        num_frm: Most frames.
        fps: Most frames per second of the video.
        format: ``rgb24``.
        force_include_last_frame: Nothing to be done: the last frame is among several anyway. Of a single one it makes
            the last.
        backend: Which decoder the author has tuned for. PyAV is used.

    Raises:
        DataError: The video is missing or broken.
        ValueError: Another format, or an unknown backend.
    """
    if format != "rgb24":
        raise ValueError(f"Frames come as rgb24, not as {format!r}.")
    if backend is not None and backend.strip().lower() not in _BACKENDS:
        raise ValueError(f"There is no decoder {backend!r}. Known: {', '.join(_BACKENDS)}.")

    def pick(times: Sequence[Fraction], end: Fraction) -> list[int]:
        wanted = min(num_frm, len(times))
        if fps is not None:
            wanted = min(wanted, int(float(end) * fps))
        if wanted <= 1:
            return [len(times) - 1 if force_include_last_frame else 0]
        return _evenly(len(times), wanted)

    return _as_array(picked_frames(_path(video_path), pick))


read_video_pyav = read_video


def read_video_pyav_pil(
    video_path: str | Sequence[str],
    *,
    max_image_size: tuple[int, int] | int | None = None,
    resize_strategy: str = "resize",
    **options: Any,
) -> list[PILImage]:
    """The frames that ``read_video`` gives, as images, brought to a size (``resize``) or at most to it, keeping their
    shape (``thumbnail``).
    """
    from PIL import Image as pil

    if resize_strategy not in ("resize", "thumbnail"):
        raise ValueError(f"There is no resize strategy {resize_strategy!r}. Known: resize, thumbnail.")
    pictures = [pil.fromarray(frame) for frame in read_video(video_path, **options)]
    if not max_image_size:
        return pictures
    size = (max_image_size, max_image_size) if isinstance(max_image_size, int) else max_image_size
    if resize_strategy == "resize":
        return [picture.resize(size) for picture in pictures]
    for picture in pictures:
        picture.thumbnail(size)
    return pictures


def read_video_pyav_base64(video_path: str | Sequence[str], *, img_format: str = "PNG", **options: Any) -> list[str]:
    """The frames that ``read_video_pyav_pil`` gives, each an encoded image in base64."""
    encoded = []
    for picture in read_video_pyav_pil(video_path, **options):
        buffer = io.BytesIO()
        picture.save(buffer, format=img_format)
        encoded.append(base64.b64encode(buffer.getvalue()).decode())
    return encoded


def load_video_decord(video_path: str | Sequence[str], max_frames_num: int) -> NDArray[np.uint8]:
    """Exactly ``max_frames_num`` frames of shape ``(frames, height, width, 3)``; of a video with fewer, some twice."""
    return _as_array(picked_frames(_path(video_path), lambda times, end: _evenly(len(times), max_frames_num)))


def _evenly(n_frames: int, n: int) -> list[int]:
    """``n`` numbers at even distances from the first frame to the last, rounded down as NumPy does."""
    import numpy as np

    return [int(number) for number in np.linspace(0, n_frames - 1, n, dtype=int)]


def _path(video_path: str | Sequence[str]) -> str:
    path = video_path[0] if isinstance(video_path, (tuple, list)) and video_path else video_path
    if not isinstance(path, str):
        raise TypeError(f"A video is given by its path, not by a {type(path).__name__}.")
    return path


def _as_array(pictures: Sequence[PILImage]) -> NDArray[np.uint8]:
    import numpy as np

    return np.stack([np.asarray(picture.convert("RGB"), dtype=np.uint8) for picture in pictures])
