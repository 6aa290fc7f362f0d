"""Stand-in for ``lmms_eval.tasks._task_utils.media_resolver``: where a row's video or sound lies on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_ENDINGS = {
    "video": ("mp4", "webm", "mkv", "mov", "avi", "flv", "wmv"),
    "audio": ("wav", "mp3", "m4a", "aac", "flac", "ogg", "opus", "webm"),
}
_FOLDERS = {"video": ("video", "videos", "clips"), "audio": ("audio", "audios", "clips")}


def resolve_media_reference(
    reference: Any,
    media_type: str = "video",
    cache_dir: str | None = None,
    env_vars: Sequence[str] = (),
    extra_subdirs: Sequence[str] = (),
) -> Any:
    """The path of an existing file that a reference means; the reference itself if none is found, or it is a URL.

    A reference is a path, with or without an ending. It is looked for as it is, then below each folder that
    ``env_vars`` name, ``LMMS_EVAL_MEDIA_ROOT``, ``HF_HOME``, and the task's ``cache_dir`` there, whole first and then
    by its name alone.

    Args:
        reference: What the row says.
        media_type: ``video`` or ``audio``: which endings and folders are tried.
        cache_dir: The task's folder below ``HF_HOME``.
        env_vars: Environment variables that hold folders.
        extra_subdirs: Folders to try below each of these.
    """
    if not isinstance(reference, str) or not reference.strip():
        return reference
    name = reference.strip()
    if name.lower().startswith(("http://", "https://")):
        return reference
    for plain in (Path(name).expanduser(), Path(name)):
        if plain.exists():
            return str(plain)
    kind = "audio" if media_type == "audio" else "video"
    for root in _roots(cache_dir, env_vars, kind):
        for subdir in ("", *extra_subdirs):
            for asked in dict.fromkeys((name, Path(name).name)):
                for candidate in _spelled(root / subdir / asked, kind):
                    if candidate.exists():
                        return str(candidate)
    return reference


def _roots(cache_dir: str | None, env_vars: Sequence[str], kind: str) -> Iterator[Path]:
    for variable in (*env_vars, "LMMS_EVAL_MEDIA_ROOT"):
        value = os.environ.get(variable, "").strip()
        if value:
            yield Path(value).expanduser()
    home = Path(os.environ.get("HF_HOME", "~/.cache/huggingface")).expanduser()
    yield home
    if cache_dir:
        caches = (home / cache_dir, home / "datasets" / cache_dir)
        yield from caches
        yield from (cache / folder for cache in caches for folder in _FOLDERS[kind])


def _spelled(path: Path, kind: str) -> Iterator[Path]:
    """A path as it may be spelled: the ending in either case, or any known one if it has none."""
    if path.suffix:
        yield from (path, path.with_suffix(path.suffix.lower()), path.with_suffix(path.suffix.upper()))
        return
    for ending in _ENDINGS[kind]:
        yield from (path.with_suffix(f".{ending}"), path.with_suffix(f".{ending.upper()}"))
