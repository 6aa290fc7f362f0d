"""Media in the forms that wrappers use: resampled audio, video frames, images as bytes and as data URLs.

``polymeter.data.video`` decodes frames with PyAV, whatever decoder a function is named after: the same numbers of
frames, upright if the container has the camera's rotation. Only the needed frames are decoded, also of WebM and
Matroska. The bytes of an unchanged image of the dataset that is in the right format already are used unchanged.
"""

from __future__ import annotations

import base64
import io
from collections.abc import MutableMapping, Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.media.pixels import opened_image
from polymeter.data.audio import samples
from polymeter.data.media import forget_bytes_if_touched
from polymeter.data.video import picked_frames

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image as PILImage


def downsample_audio(audio_array: NDArray[Any], original_sr: int, target_sr: int) -> NDArray[np.float32]:
    """Samples of shape ``(n,)`` or ``(channels, n)`` at another rate (Hz), resampled as ``polymeter.data.audio`` does:
    the same whether or not librosa is installed.
    """
    import numpy as np

    original = np.asarray(audio_array, dtype=np.float32)
    part = {"array": original, "sampling_rate": original_sr}
    return samples(part, rate=target_sr, mono=original.ndim == 1)[0]


def split_audio(audio_arrays: NDArray[Any], chunk_lim: int) -> list[NDArray[Any]]:
    """Pieces of ``chunk_lim`` samples, the last one shorter."""
    return [audio_arrays[start : start + chunk_lim] for start in range(0, len(audio_arrays), chunk_lim)]


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
    """Frames of shape ``(frames, height, width, 3)``: ``num_frm`` of them, but no more than the video has or ``fps``
    allows, and at least one.

    Args:
        video_path: The file; of several, the first.
        num_frm: Maximum number of frames.
        fps: Maximum number of frames per second of the video.
        format: Must be ``rgb24``.
        force_include_last_frame: Whether a single frame is the last one; several frames always include it.
        backend: The decoder that the author has tuned for. PyAV is used anyway.

    Raises:
        DataError: if the video is missing or broken.
        ValueError: if the format is another one, or the backend is unknown.
    """
    if format != "rgb24":
        raise ValueError(f"Frames come as rgb24, not as {format!r}.")
    if backend is not None and backend.strip().lower() not in _BACKENDS:
        raise ValueError(f"There is no decoder {backend!r}. Known: {', '.join(_BACKENDS)}.")

    def pick(times: Sequence[Fraction], end: Fraction) -> list[int]:
        n_frames = min(num_frm, len(times))
        if fps is not None:
            n_frames = min(n_frames, int(float(end) * fps))
        if n_frames <= 1:
            return [len(times) - 1 if force_include_last_frame else 0]
        return _evenly(len(times), n_frames)

    return _as_array(picked_frames(_path(video_path), pick))


read_video_pyav = read_video


def read_video_pyav_pil(
    video_path: str | Sequence[str],
    *,
    max_image_size: tuple[int, int] | int | None = None,
    resize_strategy: str = "resize",
    **options: Any,
) -> list[PILImage]:
    """The frames of ``read_video`` as images, resized to a size (``resize``) or shrunk to fit into it with their aspect
    ratio (``thumbnail``).
    """
    from PIL import Image as pil

    if resize_strategy not in ("resize", "thumbnail"):
        raise ValueError(f"There is no resize strategy {resize_strategy!r}. Known: resize, thumbnail.")
    images = [pil.fromarray(frame) for frame in read_video(video_path, **options)]
    if not max_image_size:
        return images
    size = (max_image_size, max_image_size) if isinstance(max_image_size, int) else max_image_size
    if resize_strategy == "resize":
        return [image.resize(size) for image in images]
    for image in images:
        image.thumbnail(size)
    return images


def read_video_pyav_base64(video_path: str | Sequence[str], *, img_format: str = "PNG", **options: Any) -> list[str]:
    """The frames of ``read_video_pyav_pil``, each an encoded image in base64."""
    encoded = []
    for image in read_video_pyav_pil(video_path, **options):
        buffer = io.BytesIO()
        image.save(buffer, format=img_format)
        encoded.append(base64.b64encode(buffer.getvalue()).decode())
    return encoded


def load_video_decord(video_path: str | Sequence[str], max_frames_num: int) -> NDArray[np.uint8]:
    """Exactly ``max_frames_num`` frames, shape ``(frames, height, width, 3)``; some repeat if the video has fewer."""
    return _as_array(picked_frames(_path(video_path), lambda times, end: _evenly(len(times), max_frames_num)))


def _evenly(n_frames: int, n: int) -> list[int]:
    """``n`` frame numbers, evenly spaced from the first to the last and rounded down as NumPy does."""
    import numpy as np

    return [int(number) for number in np.linspace(0, n_frames - 1, n, dtype=int)]


def _path(video_path: str | Sequence[str]) -> str:
    path = video_path[0] if isinstance(video_path, (tuple, list)) and video_path else video_path
    if not isinstance(path, str):
        raise TypeError(f"A video is given by its path, not by a {type(path).__name__}.")
    return path


def _as_array(images: Sequence[PILImage]) -> NDArray[np.uint8]:
    """Images of one size as an array of shape ``(images, height, width, 3)``."""
    import numpy as np

    return np.stack([np.asarray(image.convert("RGB"), dtype=np.uint8) for image in images])


ImageInput = Any
EncodeCache = MutableMapping[tuple[object, ...], str]

_FILES_KEPT = 64
_HAS_QUALITY = ("JPEG", "WEBP")


def encode_image_to_bytes(
    image: ImageInput,
    *,
    image_format: str = "PNG",
    convert_rgb: bool = False,
    quality: int | None = None,
    copy_if_pil: bool = False,
) -> bytes:
    """An image, or the image at a path, encoded. The image itself is never changed, whatever ``copy_if_pil`` is."""
    pil_format = _format(image_format)
    original = _original_bytes(image, pil_format, convert_rgb) if quality is None else None
    return original if original is not None else _encoded(_opened(image, convert_rgb), pil_format, quality)


def encode_image_to_base64(
    image: ImageInput,
    *,
    image_format: str = "PNG",
    convert_rgb: bool = False,
    quality: int | None = None,
    copy_if_pil: bool = False,
    cache: EncodeCache | None = None,
    use_path_cache: bool = True,
) -> str:
    """The encoded image in base64. Recently encoded files are cached as long as they do not change. ``cache`` is the
    caller's own cache, also for image objects, which must live as long as it does.
    """
    pil_format = _format(image_format)
    if isinstance(image, str):
        stat = Path(image).stat()
        key: tuple[object, ...] = (str(Path(image).resolve()), stat.st_mtime_ns, stat.st_size)
    else:
        key = (id(image),)
    key = (*key, pil_format, convert_rgb, quality)
    if cache is not None and key in cache:
        return cache[key]
    if isinstance(image, str) and use_path_cache:
        text = _file_in_base64(image, pil_format, convert_rgb, quality, key)
    else:
        data = encode_image_to_bytes(image, image_format=pil_format, convert_rgb=convert_rgb, quality=quality)
        text = base64.b64encode(data).decode()
    if cache is not None:
        cache[key] = text
    return text


def encode_image_to_data_url(
    image: ImageInput, *, image_format: str = "PNG", mime_type: str | None = None, **options: Any
) -> str:
    """The encoded image as a data URL; ``options`` are those of ``encode_image_to_base64``."""
    kind = mime_type or f"image/{_format(image_format).lower()}"
    return f"data:{kind};base64,{encode_image_to_base64(image, image_format=image_format, **options)}"


def encode_image_to_base64_with_size_limit(
    image: ImageInput,
    *,
    max_size_bytes: int,
    image_format: str = "PNG",
    convert_rgb: bool = True,
    quality: int | None = None,
    copy_if_pil: bool = True,
    resize_factor: float = 0.75,
    min_side: int = 100,
    resample: Any = None,
) -> str:
    """The image in base64, scaled down by ``resize_factor`` until its encoded bytes (before base64) are no more than
    ``max_size_bytes``, or a side is no longer than ``min_side`` pixels. ``resample`` is Pillow's; default: Lanczos.
    """
    from PIL import Image as pil

    pil_format = _format(image_format)
    original = _original_bytes(image, pil_format, convert_rgb) if quality is None else None
    if original is not None and len(original) <= max_size_bytes:
        return base64.b64encode(original).decode()
    scaled = _opened(image, convert_rgb)
    data = _encoded(scaled, pil_format, quality)
    while len(data) > max_size_bytes and min(scaled.size) > min_side:
        size = (int(scaled.width * resize_factor), int(scaled.height * resize_factor))
        scaled = scaled.resize(size, pil.Resampling.LANCZOS if resample is None else resample)
        data = _encoded(scaled, pil_format, quality)
    return base64.b64encode(data).decode()


# Kept for the life of the process, as lmms-eval does: wrappers pass no object that could hold it.
@lru_cache(maxsize=_FILES_KEPT)
def _file_in_base64(
    path: str, image_format: str, convert_rgb: bool, quality: int | None, version: tuple[object, ...]
) -> str:
    """A file's image in base64. ``version`` is part of the cache key, so that a changed file is encoded again."""
    return base64.b64encode(_encoded(_opened(path, convert_rgb), image_format, quality)).decode()


def _format(name: str) -> str:
    return "JPEG" if name.upper() == "JPG" else name.upper()


def _original_bytes(image: ImageInput, image_format: str, convert_rgb: bool) -> bytes | None:
    """The bytes that an unchanged image of the dataset was read from, if they have the right format and mode."""
    if isinstance(image, str) or image.format != image_format or (convert_rgb and image.mode != "RGB"):
        return None
    data = getattr(forget_bytes_if_touched(image), "polymeter_bytes", None)
    return data if isinstance(data, bytes) else None


def _opened(image: ImageInput, convert_rgb: bool) -> PILImage:
    opened: PILImage
    if isinstance(image, str):
        with opened_image(image) as file:
            file.load()
            opened = file
    else:
        opened = image
    return opened.convert("RGB") if convert_rgb and opened.mode != "RGB" else opened


def _encoded(image: PILImage, image_format: str, quality: int | None) -> bytes:
    buffer = io.BytesIO()
    options = {} if quality is None or image_format not in _HAS_QUALITY else {"quality": quality}
    image.save(buffer, format=image_format, **options)
    return buffer.getvalue()
