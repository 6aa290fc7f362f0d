"""Files that task code reads and writes: default templates, submissions, media of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.media.sources import on_disk
from polymeter.core.text.yaml_text import parse_yaml


def load_default_template_yaml(task_file: str | Path) -> Any:
    """The content of ``_default_template_yaml`` beside a file of task code, without the lines that name functions."""
    file = Path(task_file).parent / "_default_template_yaml"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    return parse_yaml("".join(line for line in lines if "!function" not in line), where=str(file))


def generate_submission_file(file_name: str, args: Any, subpath: str = "submissions") -> str:
    """The absolute path of a submission file. Its folder is made below the run's ``artifacts``, or below the working
    directory if there is no run.
    """
    output = getattr(args, "output_path", None)
    folder = (Path(output) / subpath if output else Path(subpath)).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder / file_name)


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
    """The path of the existing file that a reference means; the reference itself if there is none, or it is a URL.

    A reference is a path, with or without a suffix. It is tried unchanged, then below each folder that ``env_vars``
    name, ``LMMS_EVAL_MEDIA_ROOT``, ``HF_HOME``, and the task's ``cache_dir`` there: first the whole path, then its last
    part alone.

    Args:
        reference: The row's value.
        media_type: ``video`` or ``audio``: decides which suffixes and folders are tried.
        cache_dir: The task's folder below ``HF_HOME``.
        env_vars: Environment variables that name folders.
        extra_subdirs: Folders to try below each of these.
    """
    if not isinstance(reference, str) or not reference.strip():
        return reference
    name = reference.strip()
    if name.lower().startswith(("http://", "https://")):
        return reference
    for plain in (Path(name).expanduser(), Path(name)):
        place = on_disk(str(plain))
        if os.path.exists(place):
            return place
    kind = "audio" if media_type == "audio" else "video"
    for root in _roots(cache_dir, env_vars, kind):
        for subdir in ("", *extra_subdirs):
            for relative in dict.fromkeys((name, Path(name).name)):
                for candidate in _spelled(root / subdir / relative, kind):
                    place = on_disk(str(candidate))
                    if os.path.exists(place):
                        return place
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
    """The possible spellings of a path: its suffix in either case, or any known suffix if it has none."""
    if path.suffix:
        yield from (path, path.with_suffix(path.suffix.lower()), path.with_suffix(path.suffix.upper()))
        return
    for ending in _ENDINGS[kind]:
        yield from (path.with_suffix(f".{ending}"), path.with_suffix(f".{ending.upper()}"))
