"""Preparing datasets of Parquet files, which ``datasets`` writes to Arrow files once, in bounded memory.

By default Arrow reads a Parquet file ahead, whole, and its allocator keeps freed buffers on each thread that has used
some: together more than twice the size of a file with 300 MB of images. Here a file is read as it is written, and what
is freed goes back to the system.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from polymeter.core.memory import map_large_blocks

_TO_PREPARE = ("download_config", "download_mode", "verification_mode", "num_proc")
_ALSO_TO_FIND = ("download_config", "download_mode")
_NOT_OURS = ("streaming", "keep_in_memory", "save_infos", "storage_options", "trust_remote_code")
_SAVED = "state.json"


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
    if getattr(builder.config, "fragment_scan_options", "") is None:
        from pyarrow.dataset import ParquetFragmentScanOptions

        # The name of the cache was computed from the arguments, so this does not change it.
        builder.config.fragment_scan_options = ParquetFragmentScanOptions(pre_buffer=False)
        with unpooled():
            builder.download_and_prepare(**preparing)
    else:
        with _sounds_as_files():
            builder.download_and_prepare(**preparing)
    is_copied = datasets.utils.info_utils.is_small_dataset(builder.info.dataset_size)
    return builder.as_dataset(split=split, in_memory=is_copied)


@contextmanager
def unpooled() -> Iterator[None]:
    """Let Arrow take its memory from the C library, which gives large blocks back as soon as they are freed."""
    import pyarrow

    before = pyarrow.default_memory_pool()
    if map_large_blocks():
        pyarrow.set_memory_pool(pyarrow.system_memory_pool())
    try:
        yield
    finally:
        pyarrow.set_memory_pool(before)


@contextmanager
def _sounds_as_files() -> Iterator[None]:
    """Let ``datasets`` note where a sound lies without the package that it would write sounds with, which it asks for
    even then: a folder of sounds has nothing to write.
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
