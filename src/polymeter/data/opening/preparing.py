"""Preparing datasets of Parquet files, which ``datasets`` writes to Arrow files once, in bounded memory.

By default Arrow reads a Parquet file ahead, whole, and its allocator keeps freed buffers on each thread that has used
some: together more than twice the size of a file with 300 MB of images. Here a file is read as written, and what
is freed goes back to the system.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from polymeter.data.fetching.expansion import check_expansion
from polymeter.data.opening.explaining import in_other_encoding
from polymeter.data.origins import note_origins

_TO_PREPARE = ("download_config", "download_mode", "verification_mode", "num_proc")
_ALSO_TO_FIND = ("download_config", "download_mode")
_NOT_OURS = ("streaming", "keep_in_memory", "save_infos", "storage_options", "trust_remote_code")
_SAVED = "state.json"
_PREPARED = "dataset_info.json"
_TEXTS = (".csv", ".tsv", ".json", ".jsonl")
_PACKED = (".gz", ".tgz", ".bz2", ".xz", ".zst", ".lz4", ".zip")


def load_dataset(path: str, name: str | None = None, **kwargs: Any) -> Any:
    """``datasets.load_dataset``: the same dataset, in the same cache."""
    import datasets

    is_refused = Path(path, _SAVED).exists() or kwargs.get("data_files", "any") in ("", [], {})
    if is_refused or any(option in kwargs for option in _NOT_OURS):
        return datasets.load_dataset(path, name, **kwargs)
    split = kwargs.pop("split", None)
    preparing = {option: kwargs[option] for option in _TO_PREPARE if option in kwargs}
    finding = {option: value for option, value in kwargs.items() if option not in preparing or option in _ALSO_TO_FIND}
    builder = datasets.load_dataset_builder(path, name, **finding)
    _check_files(builder, preparing.get("download_config"), kwargs.get("cache_dir"))
    if getattr(builder.config, "fragment_scan_options", "") is None:
        from pyarrow.dataset import ParquetFragmentScanOptions

        # The name of the cache was computed from the arguments, so this does not change it.
        builder.config.fragment_scan_options = ParquetFragmentScanOptions(pre_buffer=False)
        builder.download_and_prepare(**preparing)
    else:
        with _sounds_as_files():
            builder.download_and_prepare(**preparing)
    is_copied = datasets.utils.info_utils.is_small_dataset(builder.info.dataset_size)
    loaded = builder.as_dataset(split=split, in_memory=is_copied)
    if builder.config.data_files and getattr(builder.config, "features", None) is None:
        note_origins(loaded, builder.config.data_files, _starts(split, builder.info.splits))
    return loaded


def _check_files(builder: Any, download_config: Any, cache_dir: str | Path | None) -> None:
    """Refuse packed files that would become far too large, before ``datasets`` unpacks them; those that lie elsewhere
    are fetched for it, to where ``datasets`` finds them. Refuse local files of text that are not UTF-8 too: readers of
    JSON do not notice, and each row with such text would fail by itself. What is prepared already needs no check.

    Raises:
        DataError: if there is such a file.
    """
    import datasets

    if not builder.config.data_files or Path(builder.cache_dir, _PREPARED).exists():
        return
    files = [str(file) for listed in builder.config.data_files.values() for file in listed]
    elsewhere = [file for file in files if "://" in file and file.lower().endswith(_PACKED)]
    if elsewhere:
        token, storage = builder.token, builder.storage_options
        # Where ``datasets`` looks for them, so that they are not fetched twice.
        cache = Path(cache_dir, datasets.config.DOWNLOADED_DATASETS_DIR).expanduser() if cache_dir else None
        fetching = download_config or datasets.DownloadConfig(
            cache_dir=cache, use_etag=False, token=token, storage_options=storage
        )
        files += datasets.DownloadManager(download_config=fetching).download(elsewhere)
    # The media of a folder are not unpacked, and there may be a million of them.
    plain = builder.EXTENSIONS if hasattr(builder.config, "drop_metadata") else ()
    is_utf8 = str(getattr(builder.config, "encoding", None) or "utf-8").lower() in ("utf-8", "utf8", "utf-8-sig")
    for file in map(Path, files):
        if file.suffix.lower() not in plain and file.is_file():
            check_expansion(file)
            problem = in_other_encoding(file) if is_utf8 and not plain and file.suffix in _TEXTS else None
            if problem is not None:
                raise problem


def _starts(split: Any, splits: Mapping[str, Any]) -> dict[str, int] | None:
    """The split that an instruction such as ``test[10:20]`` takes rows of, and where they start; ``None`` if it takes
    all, empty if it takes several pieces.
    """
    import datasets

    if split is None or not any(mark in str(split) for mark in "[+"):
        return None
    sizes = {name: info.num_examples for name, info in splits.items()}
    parts = datasets.ReadInstruction.from_spec(str(split)).to_absolute(sizes)
    return {part.splitname: part.from_ or 0 for part in parts} if len(parts) == 1 else {}


@contextmanager
def _sounds_as_files() -> Iterator[None]:
    """Let ``datasets`` note where audio lies without the package that writes audio. It asks for that package
    even then: a folder of audio files has nothing to write.
    """
    import datasets

    encode = datasets.Audio.encode_example

    def noted(feature: Any, value: Any) -> Any:
        return {"bytes": None, "path": value} if isinstance(value, str) else encode(feature, value)

    datasets.Audio.encode_example = noted
    try:
        yield
    finally:
        datasets.Audio.encode_example = encode
