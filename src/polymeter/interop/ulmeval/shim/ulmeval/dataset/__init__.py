"""Stand-in for ``ulmeval.dataset``: the base classes, and datasets by name."""

from __future__ import annotations

from typing import Any

from polymeter.interop.ulmeval.shim.ulmeval.dataset._known import (
    DATASET_CLASSES,
    DATASET_MODALITY,
    DATASET_TYPE,
    IMAGE_DATASET,
    TEXT_DATASET,
    build_dataset,
    class_named,
    infer_dataset_basename,
    supported_datasets,
)
from polymeter.interop.ulmeval.shim.ulmeval.dataset.image_base import ImageBaseDataset, img_root_map
from polymeter.interop.ulmeval.shim.ulmeval.dataset.text_base import TextBaseDataset
from polymeter.interop.ulmeval.shim.ulmeval.dataset.utils import DEBUG_MESSAGE, build_judge

__all__ = [
    "DATASET_CLASSES",
    "DATASET_MODALITY",
    "DATASET_TYPE",
    "DEBUG_MESSAGE",
    "IMAGE_DATASET",
    "SUPPORTED_DATASETS",
    "TEXT_DATASET",
    "ImageBaseDataset",
    "TextBaseDataset",
    "build_dataset",
    "build_judge",
    "img_root_map",
    "infer_dataset_basename",
]


def __getattr__(name: str) -> Any:
    if name == "SUPPORTED_DATASETS":  # asked for anew each time: files of the user's may have come
        return supported_datasets()
    found = None if name.startswith("_") else class_named(name)
    if found is not None:
        return found
    raise AttributeError(f"module 'ulmeval.dataset' has no attribute {name!r}")
