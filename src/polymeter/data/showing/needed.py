"""The packages without which a medium cannot be shown: planning looks at the first prompts, so that a missing one does
not fail every sample.
"""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from polymeter.core.content import Image, Media, Video
from polymeter.core.errors import MissingPackageError, PolymeterError
from polymeter.core.names.installing import pip_install
from polymeter.core.names.registry import missing_package
from polymeter.data.audio import missing_decoder

_JPEG_2000 = (b"\0\0\0\x0cjP  ", b"\xff\x4f\xff\x51")


def check_packages_for(medium: Media, wanted_by: str) -> None:
    """Check that the packages are installed without which a medium cannot be decoded. What is decoded already needs
    none; a medium that cannot be read fails later, by itself.

    Args:
        medium: The medium.
        wanted_by: What shows it, for the message.

    Raises:
        MissingPackageError: if one is missing. It names the extra that brings it.
    """
    error = None
    with suppress(PolymeterError):
        if isinstance(medium, Video):
            is_encoded = isinstance(medium.origin(), (Path, str, bytes))
            error = missing_package("av", "videos", "video") if is_encoded and find_spec("av") is None else None
        elif not medium.is_url:
            data = medium.original_bytes()
            if data:
                error = _for_image(data) if isinstance(medium, Image) else missing_decoder(data)
    if error is not None:
        raise MissingPackageError(error.what, where=wanted_by, hint=error.hint)


def _for_image(data: bytes) -> MissingPackageError | None:
    """Return the error for a format that Pillow reads only if it was built with a library for it."""
    feature, name = _feature(data)
    if not feature:
        return None
    from PIL import features

    if features.check(feature):
        return None
    what = f"The package 'pillow' that is installed cannot read {name} images."
    return MissingPackageError(what, hint=f"Install another build of it with: {pip_install('--upgrade', 'pillow')}")


def _feature(data: bytes) -> tuple[str, str]:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp", "WebP"
    if data[4:8] == b"ftyp" and data[8:12] in (b"avif", b"avis"):
        return "avif", "AVIF"
    return ("jpg_2000", "JPEG 2000") if data.startswith(_JPEG_2000) else ("", "")
